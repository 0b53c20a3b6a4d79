//! The client without an async runtime.
//!
//! Any number of threads share a [`Channel`]. There is no thread of its own behind it: whoever
//! calls sends, for all that have queued meanwhile, and one of those that wait reads for all of
//! them, and runs what the server [calls](ChannelBuilder::serve).

mod calls;
mod connection;
mod streams;

pub use streams::{Answer, Receiver, Sender, Streamed, Upload};

pub(crate) use connection::BlockingConnection;

use super::dial::{Dial, Failed};
use super::failures::attempt_too_late;
use super::nested::Nested;
use super::options::{Options, handle, settings};
use super::pool::{ConnectionPool, PoolSlot};
use super::retries::Retries;
use super::security::{Security, place, protocol};
use super::servers::{
    Attempt, CHECK, Checks, Choice, Finding, Look, Named, Question, Server, Servers, Visit,
};
use super::{by_name, typed};
use crate::block_on::{block_on, block_on_until};
use crate::dispatch::{Local, Router};
use crate::method::{Method, ServiceDescriptor};
use crate::names::{BackendStatus, Resolver, resolver};
use crate::peer::answer::{self, Answered, decode, decode_into, read_objects};
use crate::peer::link::Link;
use crate::peer::local_upgrade::UPGRADE_TIMEOUT;
use crate::peer::objects::{ObjectPlace, ObjectRef, Remote, local, no_reference, wrong_channel};
use crate::peer::outgoing::{ObjectCall, Outgoing};
use crate::peer::reply::ReplySlot;
use crate::transport::{Connector, TlsConnector};
use crate::{Address, Code, Exceptions, Service, Status, Wire};
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
    target: Target,
    options: Options,
}

/// The target of a channel.
enum Target {
    Connector(Arc<dyn Connector>),
    Name(Arc<dyn Resolver>),
}

/// The callee.
enum Shared {
    /// Servers, on connections that are made when they are needed.
    Server(Servers<Connections>),
    /// The other end of a connection that is there.
    Caller(BlockingConnection),
    /// An object of the other end's, as one of this service.
    Object(BlockingConnection, Arc<Remote>, &'static ServiceDescriptor),
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

/// The connections to one server.
struct Connections {
    connector: Arc<dyn Connector>,
    pool: ConnectionPool<BlockingConnection, Mutex<Dial>>,
}

impl Connections {
    fn new(connector: Arc<dyn Connector>, options: &Options) -> Self {
        let connector = match options.security.tls() {
            Some(tls) => {
                let over_tls = TlsConnector::new(connector, tls);
                Arc::new(over_tls.offering(protocol(options.wire)))
            }
            None => connector,
        };
        Connections {
            connector,
            pool: ConnectionPool::new(options.connections),
        }
    }

    /// The connection whose turn it is.
    fn connection(
        &self,
        options: &Arc<Options>,
        now: Instant,
    ) -> Result<BlockingConnection, Status> {
        let slot = self.pool.turn();
        if let Some(connection) = usable(slot, options, now) {
            return Ok(connection);
        }
        let wait = self.pool.wait(options);
        loop {
            match dial(&self.connector, slot, options) {
                Ok(connection) => {
                    self.pool.reached();
                    return Ok(connection);
                }
                // The caller blocks anyway, until its server is back.
                Err(failed) => thread::sleep(wait.pause(failed)?),
            }
        }
    }
}

fn dial(
    connector: &Arc<dyn Connector>,
    slot: &Arc<PoolSlot<BlockingConnection, Mutex<Dial>>>,
    options: &Arc<Options>,
) -> Result<BlockingConnection, Failed> {
    let mut dial = slot.dial.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(connection) = usable(slot, options, Instant::now()) {
        return Ok(connection);
    }
    slot.begin(&dial)?;
    let target = connector.target();
    let limits = options.connect_timeout.min(options.timeout);
    let made = connector.connect(Instant::now() + limits);
    let made = made.map(|stream| BlockingConnection::new(stream, target.clone(), options));
    slot.made(made, &mut dial, options, &target)
}

impl Server for Connections {
    type Connection = BlockingConnection;

    fn new(address: Address, options: &Options) -> Self {
        Connections::new(Arc::new(under_tls(address)), options)
    }

    fn target(&self) -> String {
        self.connector.target()
    }

    fn ready(&self, options: &Arc<Options>) -> Option<BlockingConnection> {
        let now = Instant::now();
        self.pool.ready(
            |slot| usable(slot, options, now),
            |missing| self.refill(missing, options, now),
        )
    }

    fn reach(attempt: Attempt<Self>) {
        // Without a thread it is dropped, and has failed.
        in_background(move || {
            let member = attempt.member();
            let reached = member.server.fill(&member.options);
            attempt.ended(reached);
        });
    }

    fn check(mut checks: Checks<Self>) {
        in_background(move || {
            let options = checks.options();
            let connector = checks.member().server.connector.clone();
            let afresh = || Connections {
                connector: connector.clone(),
                pool: ConnectionPool::new(options.connections),
            };
            let channel = Channel {
                shared: Arc::new(Shared::Server(Servers::One(afresh()))),
                options: Arc::new(options.clone()),
            };
            while let Some(pause) = checks.pause() {
                let version = checks.version();
                if checks.is_due() {
                    let finding = match checks.question() {
                        Some(question) => channel.ask(question),
                        None => Finding::of_connection(afresh().fill(&channel.options)),
                    };
                    checks.note(finding);
                }
                // The end of the pause is as good as a new connection.
                let _ = block_on_until(checks.connected(version), Instant::now() + pause);
            }
        });
    }
}

impl Connections {
    /// Fills the slots that have no connection.
    fn fill(&self, options: &Arc<Options>) -> Result<(), Failed> {
        let mut slots = self.pool.in_turn();
        slots.try_for_each(|slot| dial(&self.connector, slot, options).map(drop))
    }

    /// Connects again, in the background, where one of several connections was lost.
    fn refill(
        &self,
        slot: &Arc<PoolSlot<BlockingConnection, Mutex<Dial>>>,
        options: &Arc<Options>,
        now: Instant,
    ) {
        let is_due = slot.dial.try_lock();
        if is_due.is_ok_and(|dial| dial.check(now).is_ok()) {
            let (connector, slot) = (self.connector.clone(), slot.clone());
            let options = options.clone();
            // Whoever calls next sees how that went.
            in_background(move || drop(dial(&connector, &slot, &options)));
        }
    }
}

/// Does something on a thread of its own. Without a thread it is not done.
fn in_background(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name("dovetail dial".to_owned());
    let _ = thread.spawn(work);
}

impl Servers<Connections> {
    /// A connection for a call.
    fn visit(
        &self,
        options: &Arc<Options>,
        choice: &Choice<'_>,
        now: Instant,
    ) -> Result<Visit<Connections>, Status> {
        match self {
            Servers::One(server) => server.connection(options, now).map(Visit::only),
            Servers::Many(named) => visit(named, options, choice),
        }
    }
}

fn visit(
    named: &Arc<Named<Connections>>,
    options: &Options,
    choice: &Choice<'_>,
) -> Result<Visit<Connections>, Status> {
    let (mut limits, mut queue) = (None, None);
    loop {
        let (version, now) = (named.version(), Instant::now());
        let why = match named.look(now, choice) {
            Look::Found(visit) => return Ok(visit),
            Look::Wait => None,
            Look::Nothing(why) => Some(why),
            Look::Crowded(why) => return Err(why),
        };
        if queue.is_none() {
            queue = Some(named.queue()?);
        }
        let limits = limits.get_or_insert_with(|| named.wait_limits(options, choice));
        let next = named.next_look(limits, why, now)?;
        // Too late is as good as a change: it looks again.
        let _ = block_on_until(named.changed(version), next);
    }
}

/// The address over which TLS goes.
fn under_tls(address: Address) -> Address {
    match address {
        Address::Tls(place) => Address::Tcp(place),
        address => address,
    }
}

fn usable(
    slot: &Arc<PoolSlot<BlockingConnection, Mutex<Dial>>>,
    options: &Arc<Options>,
    now: Instant,
) -> Option<BlockingConnection> {
    let (there, elsewhere) = slot.usable()?;
    if let Some(address) = elsewhere {
        let (slot, old, options) = (slot.clone(), there.clone(), options.clone());
        let moving = move || {
            if let Ok(stream) = address.connect(Instant::now() + UPGRADE_TIMEOUT) {
                let new = BlockingConnection::new(stream, old.link.target.clone(), &options);
                slot.replace(&old, new);
            }
        };
        // Without a thread it stays where it is.
        in_background(moving);
    }
    there.is_alive(now).then_some(there)
}

impl Channel {
    handle!();

    /// A channel to a service of this process, with no wire between: its handlers run where they
    /// are called. For tests, with a [`Mock`](crate::server::Mock) too. It has no streams.
    pub fn in_process(service: impl Service) -> Self {
        Self::to(Arc::new(service))
    }

    fn to(service: Arc<dyn Service>) -> Self {
        Channel {
            shared: Arc::new(Shared::Local(service)),
            options: Arc::default(),
        }
    }

    /// Asks the server whether it is ready.
    fn ask(&self, question: &Question) -> Finding {
        match question {
            Question::Health(request) => Finding::of_health(self.call(CHECK, (request,))),
            Question::Method(name) => Finding::of_method(self.call_by_name(name, ())),
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

    /// A channel to an address, `tcp://127.0.0.1:9090`, `tls://host:9090`, `unix:/path`, or to the
    /// servers of a [name](crate::names): `dns:///orders:9090`.
    pub fn builder(target: &str) -> Result<ChannelBuilder, Status> {
        if let Some(resolver) = resolver(target)? {
            return Ok(Self::resolved_by_any(resolver));
        }
        let address: Address = target
            .parse()
            .map_err(|error| Status::new(Code::InvalidArgument, format!("{error}")))?;
        let security = Security::of(&address);
        let mut builder = Self::through(Arc::new(under_tls(address)));
        builder.options.security = security;
        Ok(builder)
    }

    /// A channel over any transport.
    pub fn through(connector: Arc<dyn Connector>) -> ChannelBuilder {
        let mut options = Options::default();
        options.client.http.host = place(&connector.target()).to_owned();
        options.private = connector.is_private();
        let target = Target::Connector(connector);
        ChannelBuilder { target, options }
    }

    /// A channel to the servers that a resolver finds.
    pub fn resolved_by(resolver: impl Resolver) -> ChannelBuilder {
        Self::resolved_by_any(Arc::new(resolver))
    }

    fn resolved_by_any(resolver: Arc<dyn Resolver>) -> ChannelBuilder {
        let target = Target::Name(resolver);
        let options = Options::of_name();
        ChannelBuilder { target, options }
    }

    /// Returns the servers of the channel's name; empty for a channel to an address, and before the
    /// first call.
    pub fn backends(&self) -> Vec<BackendStatus> {
        match &*self.shared {
            Shared::Server(servers) => servers.backends(),
            _ => Vec::new(),
        }
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
        let connection = BlockingConnection::of(link).ok_or_else(|| wrong_channel("an async"))?;
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
        match BlockingConnection::of(link) {
            Some(connection) => {
                let object = Shared::Object(connection, remote.clone(), service);
                Self::on(link, Wire::Dovetail, object)
            }
            None => Self::nothing(wrong_channel("an async")),
        }
    }
    /// Calls a method that returns an object, and gives that object before it has been returned:
    /// what is called on it travels at once, and fails as not started where this call fails. Waits
    /// for no more than the connection. Needs Dovetail's own wire.
    pub fn pipelined<P: WriteParams, T: FieldValue + From<ObjectRef> + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, Status> {
        if let Shared::Local(_) = &*self.shared {
            let returned: Result<T, E> = self.call(method, params);
            return returned.map_err(|exception| answer::failure(method.name, &exception));
        }
        let params = (&params, method.params);
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let limit = nested.limit(self.options.timeout);
        let call = nested.call(self.outgoing(method, &params));
        let queued = self.retry(&call, false, limit, |connection, deadline, _| {
            let remote = Remote::promised(connection.link.clone());
            let call = Outgoing {
                read: Some(read_objects::<T, E>),
                promise: Some(remote.slot()),
                ..call
            };
            connection.queue(&call, deadline)?;
            Ok(ObjectRef::there(Arc::new(remote)).into())
        });
        nested.done(&queued);
        queued
    }

    /// Calls a one-way method; returns when the call is handed to the transport. Over HTTP, it
    /// returns when the server has taken the call: every request has a response there.
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
        let params_of = (&params, method.params);
        let outgoing = self.outgoing(method, &params_of);
        let policies = self.options.policies.current();
        let policy = policies.of(&outgoing).map(|policy| &**policy);
        let mut retries = Retries::new(&self.options, &policies, policy, method.idempotent);
        loop {
            let call = self.open(method, &params, deadline, &nested, &mut retries);
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
        let policies = self.options.policies.current();
        let mut once = Retries::new(&self.options, &policies, None, false);
        let opened = self.open(method, &params, deadline, &nested, &mut once);
        nested.done(&opened);
        let call = opened?;
        Ok((Sender::new(call.clone()), Answer::last(call)))
    }

    /// Calls a method that takes a stream and answers with one: where to send the one, and the
    /// answer, behind which the other one comes.
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
        let policies = self.options.policies.current();
        let mut once = Retries::new(&self.options, &policies, None, false);
        let opened = self.open(method, &params, deadline, &nested, &mut once);
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
        retries: &mut Retries<'_>,
    ) -> Result<streams::Call, Status> {
        let params = (params, method.params);
        let choice = retries.choice(&self.outgoing(method, &params));
        let visit = self.visit(&choice, Instant::now())?;
        retries.avoid(visit.server());
        let (connection, held) = visit.held();
        let timeout = nested.limit(self.options.timeout);
        let stream_timeout = nested.limit_streams(self.options.stream_timeout);
        let until = stream_timeout.map(|limit| Instant::now() + limit);
        let call = nested.call(self.outgoing(method, &params));
        let streams = connection.open(&call, deadline, until)?.holding(held);
        Ok(streams::Call::new(streams, connection, timeout, until))
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters,
    /// `reply` the struct with the result (field 0) or a declared exception.
    pub fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self.exchange(self.outgoing_by_name(method, params), false)?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a method that was described at run time, over any wire: of `method` counts what
    /// generated code would have, its [description](Method::described) too. `params` and `reply`
    /// are as in [`call_raw`](Self::call_raw).
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

    /// Calls a method by its name, without a contract:
    /// `let sum: i32 = channel.call_by_name("add", (1, 2))?`. The parameters, a tuple, are numbered
    /// from 1 in order; an exception that the method declares is a `Status`. Own types are given by
    /// reference. JSON goes by names, which are `param1`, `param2` … unless the method is spelled
    /// with them: `"add(a, b)"`.
    ///
    /// On Dovetail's own wire, and on wires with headers, the server compares the types with its
    /// own before the first call, and refuses the call with `FAILED_PRECONDITION` and the place
    /// where they differ.
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

    /// Calls a one-way method.
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
        let limit = nested.limit(call.timeout.unwrap_or(self.options.timeout));
        let call = nested.call(call);
        let answer = self.retry(&call, idempotent, limit, |connection, deadline, retries| {
            let headers = retries.headers(&call);
            let call = Outgoing {
                headers: &headers,
                ..call
            };
            connection.call(&call, limit, deadline)
        });
        nested.done(&answer);
        answer
    }

    /// Tries a call, and again on a fresh connection where that cannot do harm, or a policy says
    /// so.
    fn retry<R, P>(
        &self,
        call: &Outgoing<'_, P>,
        idempotent: bool,
        limit: Duration,
        attempt: impl Fn(&BlockingConnection, Instant, &Retries<'_>) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let mut now = Instant::now();
        let deadline = now + limit;
        let policies = self.options.policies.current();
        let policy = policies.of(call).map(|policy| &**policy);
        let mut retries = Retries::new(&self.options, &policies, policy, idempotent);
        loop {
            let visit = self.visit(&retries.choice(call), now)?;
            retries.avoid(visit.server());
            let limit = retries.attempt_timeout().map(|limit| now + limit);
            let until = limit.map_or(deadline, |limit| limit.min(deadline));
            let mut result = attempt(&visit.connection, until, &retries);
            if let (Some(limit), Err(status)) = (retries.attempt_timeout(), &result)
                && status.code() == Code::DeadlineExceeded
                && until < deadline
            {
                result = Err(attempt_too_late(call.name, limit));
            }
            visit.ended(&result);
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
        let left = || deadline.saturating_duration_since(Instant::now());
        let pause = retries.after(answer, self.redials());
        let Some(pause) = pause.filter(|pause| *pause < left()) else {
            return false;
        };
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        true
    }

    /// A connection for a call.
    fn visit(&self, choice: &Choice<'_>, now: Instant) -> Result<Visit<Connections>, Status> {
        match &*self.shared {
            Shared::Server(servers) => servers.visit(&self.options, choice, now),
            Shared::Caller(connection) | Shared::Object(connection, ..) => {
                Ok(Visit::only(connection.clone()))
            }
            Shared::Local(_) => Err(local::no_streams()),
            Shared::Nothing(why) => Err(why.clone()),
        }
    }

    /// Returns whether a lost connection is replaced by another one.
    fn redials(&self) -> bool {
        matches!(&*self.shared, Shared::Server(_))
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &*self.shared {
            Shared::Server(servers) => servers.to_string(),
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

    /// Serves these services to the server that is called, on the connections that the calls make:
    /// it calls back with [`Context::client_channel`](crate::Context::client_channel). Needs
    /// Dovetail's own wire or msgpack-rpc. Of a [`Server`](crate::Server), its services,
    /// interceptors and limits of calls count.
    ///
    /// Nobody but the callers of this channel reads what comes: a handler runs on the thread of one
    /// that waits for something, before that one goes on, or in the next one that waits. It may
    /// block, and call the server with
    /// [`Context::blocking_client_channel`](crate::Context::blocking_client_channel).
    pub fn serve(mut self, router: impl Into<Router>) -> Self {
        self.options.local = Some(Local::new(router.into()));
        self
    }

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(mut self) -> Channel {
        let wire = self.options.wire;
        let settled = self.options.security.settle();
        let shared = match (settled, wire) {
            (Err(why), _) => Shared::Nothing(why),
            (_, wire) if wire.is_http2() => Shared::Nothing(super::no_http2(wire)),
            (_, Wire::WebSocket) => Shared::Nothing(super::no_websocket()),
            _ => Shared::Server(match self.target {
                Target::Connector(connector) => {
                    Servers::One(Connections::new(connector, &self.options))
                }
                Target::Name(resolver) => Servers::Many(Named::new(resolver, &self.options)),
            }),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}
