//! The client without an async runtime.
//!
//! Any number of threads share a [`Channel`]. There is no thread of its own behind it: whoever calls sends,
//! for all that have queued meanwhile, and one of those that wait reads for all of them, and runs what the server
//! [calls](ChannelBuilder::serve).

mod calls;
mod connection;
mod streams;

pub use streams::{Answer, Receiver, Sender, Streamed, Upload};

pub(crate) use connection::{Connection, Driver};

use super::dial::{Dial, Failed};
use super::moving::PATIENCE;
use super::nested::Nested;
use super::options::{Options, handle, settings};
use super::outgoing::{ObjectCall, Outgoing};
use super::places::{Place, Places};
use super::retries::Retries;
use super::security::{Security, place, protocol};
use super::{Answered, by_name, decode, decode_into, read_objects, typed};
use crate::block_on::block_on;
use crate::link::Link;
use crate::objects::{ObjectPlace, ObjectRef, Remote, local, no_reference, wrong_channel};
use crate::reply::ReplySlot;
use crate::server::Local;
use crate::transport::{Connector, TlsConnector};
use crate::{Address, Code, Exceptions, Method, Service, ServiceDescriptor, Status, Wire};
use dovetail_wire::{Decode, Encode, FieldValue, WriteParams};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A blocking connection to a server. Cheap to clone; safe to share between threads.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
    options: Arc<Options>,
}

/// The settings of a channel that is being made.
#[must_use = "a builder does nothing before `build`"]
pub struct ChannelBuilder {
    connector: Arc<dyn Connector>,
    options: Options,
}

/// What is called.
enum Shared {
    /// A server, on connections that are made when they are needed.
    Server(Server),
    /// The other end of a connection that is there.
    Caller(Connection),
    /// An object of the other end's, as one of this service.
    Object(Connection, Arc<Remote>, &'static ServiceDescriptor),
    /// An object of this process.
    Local(Arc<dyn Service>),
    /// A reference that cannot be called, and why.
    Nothing(Status),
}

impl Shared {
    fn object(&self) -> Option<ObjectCall<'_>> {
        match self {
            Shared::Object(_, remote, service) => Some(ObjectCall { remote, service }),
            _ => None,
        }
    }
}

struct Server {
    connector: Arc<dyn Connector>,
    places: Places<Connection, Mutex<Dial>>,
}

impl Server {
    /// The connection whose turn it is.
    fn connection(&self, options: &Arc<Options>, now: Instant) -> Result<Connection, Status> {
        let place = self.places.turn();
        if let Some(connection) = usable(place, options, now) {
            return Ok(connection);
        }
        let wait = self.places.wait(options);
        loop {
            match self.dial(place, options) {
                Ok(connection) => {
                    self.places.reached();
                    return Ok(connection);
                }
                // The caller blocks anyway, until its server is back.
                Err(failed) => thread::sleep(wait.pause(failed)?),
            }
        }
    }

    fn dial(
        &self,
        place: &Arc<Place<Connection, Mutex<Dial>>>,
        options: &Arc<Options>,
    ) -> Result<Connection, Failed> {
        let mut dial = place.dial.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = usable(place, options, Instant::now()) {
            return Ok(connection);
        }
        place.begin(&dial)?;
        let target = self.connector.target();
        let patience = options.connect_timeout.min(options.timeout);
        let made = self.connector.connect(Instant::now() + patience);
        let made = made.map(|stream| Connection::new(stream, target.clone(), options));
        place.made(made, &mut dial, options, &target)
    }
}

fn usable(
    place: &Arc<Place<Connection, Mutex<Dial>>>,
    options: &Arc<Options>,
    now: Instant,
) -> Option<Connection> {
    let (there, elsewhere) = place.usable()?;
    if let Some(address) = elsewhere {
        let (place, old, options) = (place.clone(), there.clone(), options.clone());
        let moving = move || {
            if let Ok(stream) = address.connect(Instant::now() + PATIENCE) {
                let new = Connection::new(stream, old.link.target.clone(), &options);
                place.replace(&old, new);
            }
        };
        let thread = thread::Builder::new().name("dovetail move".to_owned());
        // Without a thread it stays where it is.
        let _ = thread.spawn(moving);
    }
    there.is_alive(now).then_some(there)
}

impl Channel {
    handle!();

    /// A channel to a service of this process, with no wire between: its handlers run where they are called. For
    /// tests, with a [`Mock`](crate::Mock) too. It has no streams.
    pub fn in_process(service: impl Service) -> Self {
        Self::to(Arc::new(service))
    }

    fn to(service: Arc<dyn Service>) -> Self {
        Channel {
            shared: Arc::new(Shared::Local(service)),
            options: Arc::default(),
        }
    }

    fn nothing(why: Status) -> Self {
        Channel {
            shared: Arc::new(Shared::Nothing(why)),
            options: Arc::default(),
        }
    }

    /// A channel over a connection that is there.
    fn on(link: &Link, wire: Wire, shared: Shared) -> Self {
        let options = Options {
            wire,
            ..Options::over(link)
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(options),
        }
    }

    /// A channel to an address: `tcp://127.0.0.1:9090`, `tls://host:9090`, `unix:/path`.
    pub fn builder(address: &str) -> Result<ChannelBuilder, Status> {
        let address: Address = address
            .parse()
            .map_err(|error| Status::new(Code::InvalidArgument, format!("{error}")))?;
        let security = Security::of(&address);
        let connector = match address {
            // What TLS goes over.
            Address::Tls(place) => Address::Tcp(place),
            address => address,
        };
        let mut builder = Self::through(Arc::new(connector));
        builder.options.security = security;
        Ok(builder)
    }

    /// A channel over any transport.
    pub fn through(connector: Arc<dyn Connector>) -> ChannelBuilder {
        let mut options = Options::default();
        options.client.http.host = place(&connector.target()).to_owned();
        options.private = connector.is_private();
        ChannelBuilder { connector, options }
    }

    /// Calls a method and waits for its answer.
    pub fn call<P: WriteParams, T: FieldValue + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let params = (&params, method.params);
        let call = Outgoing {
            read: Some(read_objects::<T, E>),
            ..self.outgoing(method, &params)
        };
        let body = self.exchange(call, method.idempotent);
        let Options {
            recycled, decoding, ..
        } = &*self.options;
        decode(method.name, body, recycled.take(), *decoding)
    }

    /// A channel to the server of a connection that a blocking client has made.
    pub(crate) fn over(link: &Arc<Link>) -> Result<Self, Status> {
        let connection = Connection::of(link).ok_or_else(|| wrong_channel("an async"))?;
        let wire = link.lock().wire();
        Ok(Self::on(link, wire, Shared::Caller(connection)))
    }

    /// A channel to an object.
    pub(crate) fn to_object(object: &ObjectRef, service: &'static ServiceDescriptor) -> Self {
        let remote = match object.place() {
            ObjectPlace::There(remote) => remote,
            ObjectPlace::Here(service) => return Self::to(service.clone()),
            ObjectPlace::Nothing => return Self::nothing(no_reference()),
        };
        let link = &remote.home;
        match Connection::of(link) {
            Some(connection) => {
                let object = Shared::Object(connection, remote.clone(), service);
                Self::on(link, Wire::Dovetail, object)
            }
            None => Self::nothing(wrong_channel("an async")),
        }
    }
    /// Calls a method that returns an object, and gives that object before it has been returned: what is called on
    /// it travels at once, and fails as not started where this call fails. Waits for no more than the
    /// connection. Needs Dovetail's own wire.
    pub fn pipelined<P: WriteParams, T: FieldValue + From<ObjectRef> + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, Status> {
        if let Shared::Local(_) = &*self.shared {
            let returned: Result<T, E> = self.call(method, params);
            return returned.map_err(|exception| local::failure(method.name, &exception));
        }
        let params = (&params, method.params);
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let limit = nested.limit(self.options.timeout);
        let queued = self.retry(false, limit, |connection, deadline, _| {
            let remote = Remote::promised(connection.link.clone());
            let call = Outgoing {
                read: Some(read_objects::<T, E>),
                promise: Some(remote.slot()),
                ..self.outgoing(method, &params)
            };
            connection.queue(nested.call(call), deadline)?;
            Ok(ObjectRef::there(Arc::new(remote)).into())
        });
        nested.done(&queued);
        queued
    }

    /// Calls a one-way method; returns when the call is handed to the transport. Over HTTP, it returns when
    /// the server has taken the call: every request has a response there.
    pub fn notify<P: WriteParams>(&self, method: &'static Method, params: P) -> Result<(), Status> {
        let params = (&params, method.params);
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, &params)
        };
        self.attempt(call, false).map(drop)
    }

    /// Calls a method that answers with a stream: a [`Receiver`], or a result and one.
    pub fn stream<P: WriteParams, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<O, E> {
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let deadline = Instant::now() + nested.limit(self.options.timeout);
        let mut retries = Retries::new(&self.options, method.idempotent);
        loop {
            let call = self.open(method, &params, deadline, &nested);
            let call = call.inspect_err(|status| nested.done::<()>(&Err(status.clone())))?;
            let body = call.answer(deadline);
            if !self.tries_again(&mut retries, &body, deadline) {
                nested.done(&body);
                return Answer::streamed(call).read(body);
            }
        }
    }

    /// Calls a method that takes a stream: where to send it, and the answer.
    pub fn upload<P: WriteParams, T: FieldValue, S: Exceptions, R: FieldValue, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, R, S, E>, Status> {
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let deadline = Instant::now() + nested.limit(self.options.timeout);
        let opened = self.open(method, &params, deadline, &nested);
        nested.done(&opened);
        let call = opened?;
        Ok((Sender::new(call.clone()), Answer::last(call)))
    }

    /// Calls a method that takes a stream and answers with one: where to send the one, and the answer, behind
    /// which the other one comes.
    pub fn chat<P: WriteParams, T: FieldValue, S: Exceptions, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, O, S, E>, Status> {
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let deadline = Instant::now() + nested.limit(self.options.timeout);
        let opened = self.open(method, &params, deadline, &nested);
        nested.done(&opened);
        let call = opened?;
        Ok((Sender::new(call.clone()), Answer::streamed(call)))
    }

    /// Begins a call with streams.
    fn open(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
        deadline: Instant,
        nested: &Nested<'_>,
    ) -> Result<streams::Call, Status> {
        let params = (params, method.params);
        let connection = self.connection(Instant::now())?;
        let timeout = nested.limit(self.options.timeout);
        let stream_timeout = nested.limit_streams(self.options.stream_timeout);
        let until = stream_timeout.map(|limit| Instant::now() + limit);
        let call = nested.call(self.outgoing(method, &params));
        let streams = connection.open(call, deadline, until)?;
        Ok(streams::Call::new(streams, connection, timeout, until))
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters, `reply` the
    /// struct with the result (field 0) or a declared exception.
    pub fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self.exchange(self.outgoing_by_name(method, params), false)?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a method that was described at run time, over any wire: of `method` counts what generated code would have, its
    /// [description](Method::described) too. `params` and `reply` are as in [`call_raw`](Self::call_raw).
    pub fn call_described(
        &self,
        method: &'static Method,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let call = self.outgoing(method, params);
        let body = self.exchange(call, method.idempotent)?;
        decode_into(reply, method.name, body, self.options.decoding)
    }

    /// Calls a method by its name, without a contract: `let sum: i32 = channel.call_by_name("add", (1, 2))?`. The
    /// parameters, a tuple, are numbered from 1 in order; an exception that the method declares is a `Status`. Own
    /// types are given by reference. JSON goes by names, which are `param1`, `param2` … unless the method is spelled with
    /// them: `"add(a, b)"`.
    ///
    /// On Dovetail's own wire, and on wires with headers, the server compares the types with its own before the first call, and
    /// refuses the call with `FAILED_PRECONDITION` and the place where they differ.
    pub fn call_by_name<T: FieldValue>(
        &self,
        method: &str,
        params: impl WriteParams,
    ) -> Result<T, Status> {
        let (name, fields) = by_name(method, &params)?;
        let mut slot = ReplySlot::<T, Status>::over(None);
        let params = (&params, &*fields);
        let call = Outgoing {
            types: typed::<_, T>(params.0),
            ..self.outgoing_by_name(name, &params)
        };
        let body = self.exchange(call, false)?;
        decode_into(&mut slot, name, body, self.options.decoding)?;
        slot.into_result(name)
    }

    /// The same for a one-way method.
    pub fn notify_described(
        &self,
        method: &'static Method,
        params: &impl Encode,
    ) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, params)
        };
        self.attempt(call, false).map(drop)
    }

    /// Calls a one-way method that no generated code describes.
    pub fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing_by_name(method, params)
        };
        self.attempt(call, false).map(drop)
    }

    fn exchange(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Answered, Status> {
        let body = self.attempt(call, idempotent)?;
        body.ok_or_else(|| Status::new(Code::Internal, "a call without an answer"))
    }

    /// `None` for a one-way call that has no answer.
    fn attempt(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Answered>, Status> {
        if let Shared::Local(service) = &*self.shared {
            return block_on(local::call(service, call, self.options.decoding));
        }
        let mut nested = Nested::here(&self.options, self.options.callee(call.name, call.method))?;
        let limit = nested.limit(self.options.timeout);
        let call = nested.call(call);
        let answer = self.retry(idempotent, limit, |connection, deadline, retries| {
            let headers = retries.headers(&call);
            let call = Outgoing {
                headers: &headers,
                ..call
            };
            connection.call(call, limit, deadline)
        });
        nested.done(&answer);
        answer
    }

    /// Tries a call, and again on a fresh connection where that cannot do harm: when the old one was lost
    /// before the call was sent, or, once, when the contract says that twice is as good as once.
    fn retry<R>(
        &self,
        idempotent: bool,
        limit: Duration,
        attempt: impl Fn(Connection, Instant, &Retries<'_>) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let mut now = Instant::now();
        let deadline = now + limit;
        let mut retries = Retries::new(&self.options, idempotent);
        loop {
            let result = attempt(self.connection(now)?, deadline, &retries);
            if !self.tries_again(&mut retries, &result, deadline) {
                return result;
            }
            now = Instant::now();
        }
    }

    /// Waits until a call that failed is tried again. False where it is not.
    fn tries_again<T>(
        &self,
        retries: &mut Retries<'_>,
        answer: &Result<T, Status>,
        deadline: Instant,
    ) -> bool {
        let failed = answer.as_ref().err().filter(|_| self.redials());
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = failed.and_then(|status| retries.pause(status));
        let Some(pause) = pause.filter(|pause| *pause < left) else {
            return false;
        };
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        true
    }

    fn connection(&self, now: Instant) -> Result<Connection, Status> {
        match &*self.shared {
            Shared::Server(server) => server.connection(&self.options, now),
            Shared::Caller(connection) | Shared::Object(connection, ..) => Ok(connection.clone()),
            Shared::Local(_) => Err(local::no_streams()),
            Shared::Nothing(why) => Err(why.clone()),
        }
    }

    /// True where a lost connection is replaced by another one.
    fn redials(&self) -> bool {
        matches!(&*self.shared, Shared::Server(_))
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &*self.shared {
            Shared::Server(server) => server.connector.target(),
            Shared::Caller(connection) => connection.link.target.clone(),
            Shared::Object(connection, _, service) => {
                format!("{} at {}", service.name, connection.link.target)
            }
            Shared::Local(_) => "in-process".to_owned(),
            Shared::Nothing(_) => "nothing".to_owned(),
        };
        write!(f, "Channel({target}, {})", self.options.wire)
    }
}

impl ChannelBuilder {
    settings!();

    /// Serves these services to the server that is called, on the connections that the calls make: it calls back
    /// with [`Context::call_back`](crate::Context::call_back). Needs Dovetail's own wire or msgpack-rpc. Of the
    /// server that is given, services and limits count.
    ///
    /// Nobody but the callers of this channel reads what comes: a handler runs on the thread of one that waits for
    /// something, before that one goes on, or in the next one that waits. It may block, and call the server with
    /// [`Context::blocking_call_back`](crate::Context::blocking_call_back).
    pub fn serve(mut self, services: crate::Server) -> Self {
        self.options.local = Some(Local::new(services));
        self
    }

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(mut self) -> Channel {
        let wire = self.options.wire;
        let settled = self.options.security.settle();
        if let Some(tls) = self.options.security.tls() {
            let over_tls = TlsConnector::new(self.connector, tls).offering(protocol(wire));
            self.connector = Arc::new(over_tls);
        }
        let shared = match (settled, wire) {
            (Err(why), _) => Shared::Nothing(why),
            (_, wire) if wire.is_http2() => Shared::Nothing(super::no_http2(wire)),
            (_, Wire::WebSocket) => Shared::Nothing(super::no_websocket()),
            _ => Shared::Server(Server {
                connector: self.connector,
                places: Places::new(self.options.connections),
            }),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}
