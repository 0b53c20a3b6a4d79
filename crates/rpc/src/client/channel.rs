mod attempts;

use super::blocking::BlockingConnection;
use super::failures::{lost, too_late};
#[cfg(feature = "grpc")]
use super::http2;
use super::nested::Nested;
use super::options::{Options, handle, settings};
use super::pool::{Connect, Connected, TaskPool};
use super::retries::Retries;
use super::security::{Security, place};
use super::servers::{CHECK, Finding, Named, Question, Server, Servers};
use super::task::connect;
use super::{by_name, typed};
use crate::dispatch::{Local, Router};
use crate::method::{Method, ServiceDescriptor};
use crate::names::{BackendStatus, Resolver, resolver};
use crate::peer::answer::{self, Answered, decode, decode_into, read_objects};
use crate::peer::link::Link;
use crate::peer::objects::{ObjectPlace, ObjectRef, Remote, no_reference, wrong_channel};
use crate::peer::outgoing::{ObjectCall, Outgoing, Queued};
use crate::peer::reply::ReplySlot;
use crate::peer::streams::{
    Answer, DescribedStreams, NativeCall, Sender, StreamCall, Streamed, Upload,
};
use crate::peer::table::Usable;
use crate::{Address, Code, Exceptions, Service, Status, Wire};
use dovetail_protocol::Execution;
use dovetail_wire::{Decode, Encode, FieldValue, WriteParams};
use std::fmt;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::time::{Timeout, timeout};

/// An async connection to a server. Cheap to clone; safe to share between tasks.
///
/// One task per connection sends what all callers have queued in one piece, and hands out the
/// replies. A call whose future is dropped is given up; its reply is dropped when it comes.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
    options: Arc<Options>,
}

/// The settings of a channel that is being made.
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct ChannelBuilder {
    target: Target,
    options: Options,
}

/// The target of a channel.
#[derive(Clone)]
enum Target {
    Address(Address),
    Name(Arc<dyn Resolver>),
}

impl Target {
    fn servers<S: Server>(self, options: &Options) -> Servers<S> {
        match self {
            Target::Address(address) => Servers::One(S::new(address, options)),
            Target::Name(resolver) => Servers::Many(Named::new(resolver, options)),
        }
    }
}

/// The callee.
enum Shared {
    /// Servers, on connections that are made when they are needed.
    Server(Servers<TaskPool<Arc<Link>>>),
    /// Servers over HTTP/2.
    #[cfg(feature = "grpc")]
    Http2(Servers<TaskPool<http2::Http2Connection>>),
    /// The other end of a connection that is there.
    Caller(Arc<Link>),
    /// An object of the other end's, as one of this service.
    Object(Arc<Link>, Arc<Remote>, &'static ServiceDescriptor),
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

impl Channel {
    handle!();

    /// A channel to the other end of a connection that somebody drives.
    pub(crate) fn over(link: Arc<Link>) -> Result<Self, Status> {
        if BlockingConnection::of(&link).is_some() {
            return Err(wrong_channel("a blocking"));
        }
        let options = Options {
            wire: link.lock().wire(),
            ..Options::over(&link)
        };
        Ok(Channel {
            shared: Arc::new(Shared::Caller(link)),
            options: Arc::new(options),
        })
    }

    /// A channel to an object.
    pub(crate) fn to_object(object: &ObjectRef, service: &'static ServiceDescriptor) -> Self {
        let mut options = Options::default();
        let shared = match object.place() {
            ObjectPlace::There(remote) if BlockingConnection::of(&remote.home).is_some() => {
                Shared::Nothing(wrong_channel("a blocking"))
            }
            ObjectPlace::There(remote) => {
                options = Options::over(&remote.home);
                Shared::Object(remote.home.clone(), remote.clone(), service)
            }
            ObjectPlace::Here(service) => Shared::Local(service.clone()),
            ObjectPlace::Nothing => Shared::Nothing(no_reference()),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(options),
        }
    }

    /// A channel to a service of this process, with no wire between: its handlers run where they
    /// are called. For tests, with a [`Mock`](crate::server::Mock) too. It has no streams.
    pub fn in_process(service: impl Service) -> Self {
        Channel {
            shared: Arc::new(Shared::Local(Arc::new(service))),
            options: Arc::default(),
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
        let mut options = Options::default();
        options.client.http.host = place(&address.to_string()).to_owned();
        options.security = Security::of(&address);
        options.private = crate::transport::Connector::is_private(&address);
        let target = Target::Address(address);
        Ok(ChannelBuilder { target, options })
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
            #[cfg(feature = "grpc")]
            Shared::Http2(servers) => servers.backends(),
            _ => Vec::new(),
        }
    }

    /// Returns a channel that leaves the headers and trailers of answers in `said`, over gRPC,
    /// gRPC-Web and Connect: those of the last call which has an answer.
    #[cfg(feature = "grpc")]
    #[must_use]
    pub fn with_response_headers(
        &self,
        said: &crate::peer::response_headers::ResponseHeaders,
    ) -> Self {
        self.with(|options| options.said = Some(said.clone()))
    }

    /// Calls a method and waits for its answer.
    pub async fn call<P: WriteParams, T: FieldValue + 'static, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, E> {
        let params = (&params, method.params);
        let call = Outgoing {
            read: Some(read_objects::<T, E>),
            ..self.outgoing(method, &params)
        };
        let body = self.exchange(call, method.idempotent).await;
        let Options {
            recycled, decoding, ..
        } = &*self.options;
        decode(method.name, body, recycled.take(), *decoding)
    }

    /// Calls a method that returns an object, and gives that object before it has been returned:
    /// what is called on it travels at once, and fails as not started where this call fails. Waits
    /// for no more than the connection. Needs Dovetail's own wire.
    pub async fn pipelined<
        P: WriteParams,
        T: FieldValue + From<ObjectRef> + 'static,
        E: Exceptions,
    >(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<T, Status> {
        if let Shared::Local(_) = &*self.shared {
            let returned: Result<T, E> = self.call(method, params).await;
            return returned.map_err(|exception| answer::failure(method.name, &exception));
        }
        let params = (&params, method.params);
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let limit = nested.limit(self.options.timeout);
        let late = || too_late(method.name, limit, Execution::NotSent);
        let policies = self.options.policies.current();
        let mut retries = Retries::new(&self.options, &policies, None, false);
        loop {
            let choice = retries.choice(&self.outgoing(method, &params));
            let visit = in_time(limit, self.link(&choice)).await;
            let visit = visit.unwrap_or_else(|_| Err(late()))?;
            retries.avoid(visit.server());
            let link = visit.connection;
            let remote = Remote::promised(link.clone());
            let call = Outgoing {
                read: Some(read_objects::<T, E>),
                promise: Some(remote.slot()),
                ..self.outgoing(method, &params)
            };
            let queued = link.queue(&nested.call(call));
            if !self.tries_again(&mut retries, &queued).await {
                nested.done(&queued);
                return queued.map(|_| ObjectRef::there(Arc::new(remote)).into());
            }
        }
    }

    /// A channel to one server over HTTP/2.
    #[cfg(feature = "grpc")]
    pub(super) fn over_http2(server: TaskPool<http2::Http2Connection>, options: Options) -> Self {
        Channel {
            shared: Arc::new(Shared::Http2(Servers::One(server))),
            options: Arc::new(options),
        }
    }

    /// Asks the server whether it is ready.
    pub(super) async fn ask(&self, question: &Question) -> Finding {
        match question {
            Question::Health(request) => Finding::of_health(self.call(CHECK, (request,)).await),
            Question::Method(name) => Finding::of_method(self.call_by_name(name, ()).await),
        }
    }

    /// Calls a one-way method; returns when the call is queued on a connection. Over HTTP, it
    /// returns when the server has taken the call: every request has a response there.
    pub async fn notify<P: WriteParams>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<(), Status> {
        let params = (&params, method.params);
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, &params)
        };
        self.in_time(call, false).await.map(drop)
    }

    /// Calls a method that answers with a stream: a [`Receiver`](crate::stream::Receiver), or a
    /// result and one.
    pub async fn stream<P: WriteParams, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<O, E> {
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let limit = nested.limit(self.options.timeout);
        let late = || too_late(method.name, limit, Execution::MayHaveRun);
        let opened = in_time(limit, async {
            let outgoing = self.outgoing(method, &params);
            let policies = self.options.policies.current();
            let policy = policies.of(&outgoing).map(|policy| &**policy);
            let mut retries = Retries::new(&self.options, &policies, policy, method.idempotent);
            loop {
                let result = O::Result::when_absent().is_none();
                let call = self
                    .open(method, &params, result, &nested, &mut retries)
                    .await?;
                let body = poll_fn(|context| call.poll_answer(context)).await;
                if !self.tries_again(&mut retries, &body).await {
                    return Ok::<_, Status>((call, body));
                }
            }
        });
        let opened = opened.await.unwrap_or_else(|_| Err(late()));
        nested.done(&match &opened {
            Ok((_, Err(status))) | Err(status) => Err(status.clone()),
            Ok(_) => Ok(()),
        });
        let (call, body) = opened?;
        Answer::streamed(call).read(body)
    }

    /// Calls a method that takes a stream: where to send it, and the answer.
    pub async fn upload<
        P: WriteParams,
        T: FieldValue,
        S: Exceptions,
        R: FieldValue,
        E: Exceptions,
    >(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, R, S, E>, Status> {
        let call = self.open_in_time(method, &params, false).await?;
        Ok((Sender::new(call.clone()), Answer::last(call)))
    }

    /// Calls a method that takes a stream and answers with one: where to send the one, and the
    /// answer, behind which the other one comes.
    pub async fn chat<P: WriteParams, T: FieldValue, S: Exceptions, O: Streamed, E: Exceptions>(
        &self,
        method: &'static Method,
        params: P,
    ) -> Result<Upload<T, O, S, E>, Status> {
        let result = O::Result::when_absent().is_none();
        let call = self.open_in_time(method, &params, result).await?;
        Ok((Sender::new(call.clone()), Answer::streamed(call)))
    }

    async fn open_in_time(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
        result: bool,
    ) -> Result<StreamCall, Status> {
        let mut nested = Nested::here(
            &self.options,
            self.options.callee(method.name, Some(method)),
        )?;
        let limit = nested.limit(self.options.timeout);
        let late = || too_late(method.name, limit, Execution::NotSent);
        let policies = self.options.policies.current();
        let mut once = Retries::new(&self.options, &policies, None, false);
        let opened = in_time(limit, self.open(method, params, result, &nested, &mut once)).await;
        let opened = opened.unwrap_or_else(|_| Err(late()));
        nested.done(&opened);
        opened
    }

    /// Begins a call with streams; `result` where the server's items come behind a result, which
    /// not every wire says.
    #[cfg_attr(not(feature = "grpc"), expect(unused_variables, reason = "HTTP asks"))]
    async fn open(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
        result: bool,
        nested: &Nested<'_>,
        retries: &mut Retries<'_>,
    ) -> Result<StreamCall, Status> {
        let params = (params, method.params);
        let call = nested.call(self.outgoing(method, &params));
        let headers = retries.headers(&call);
        let call = Outgoing {
            headers: &headers,
            ..call
        };
        #[cfg(feature = "grpc")]
        if let Shared::Http2(servers) = &*self.shared {
            let visit = servers.visit(&self.options, &retries.choice(&call)).await?;
            retries.avoid(visit.server());
            let (connection, held) = visit.held();
            let call = connection.open(call, method, result, &self.options).await?;
            return Ok(call.holding(held));
        }
        let visit = self.link(&retries.choice(&call)).await?;
        retries.avoid(visit.server());
        let (link, held) = visit.held();
        let compress = call.compress;
        match link.queue(&call)? {
            // It was a number of 32 bits when it was given.
            Some(Queued(Some(call))) => {
                let call = NativeCall::new(link, call as u32);
                let mut call = StreamCall::native(call, method.name).holding(held);
                call.compress(compress);
                Ok(call)
            }
            _ => Err(Status::new(Code::Internal, "a call without an answer")),
        }
    }

    /// Calls a method that no generated code describes: `params` is the struct of parameters,
    /// `reply` the struct with the result (field 0) or a declared exception.
    pub async fn call_raw(
        &self,
        method: &str,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let body = self
            .exchange(self.outgoing_by_name(method, params), false)
            .await?;
        decode_into(reply, method, body, self.options.decoding)
    }

    /// Calls a method that was described at run time, over any wire: of `method` counts what
    /// generated code would have, its [description](Method::described) too. `params` and `reply`
    /// are as in [`call_raw`](Self::call_raw).
    pub async fn call_described(
        &self,
        method: &'static Method,
        params: &impl Encode,
        reply: &mut impl Decode,
    ) -> Result<(), Status> {
        let call = self.outgoing(method, params);
        let body = self.exchange(call, method.idempotent).await?;
        decode_into(reply, method.name, body, self.options.decoding)
    }

    /// Begins a call with streams of a method that was described at run time; `result` where it has
    /// one beside the server's stream. It needs Dovetail's own wire, gRPC, gRPC-Web or Connect.
    pub async fn open_described(
        &self,
        method: &'static Method,
        params: &impl WriteParams,
        result: bool,
    ) -> Result<DescribedStreams, Status> {
        let call = self.open_in_time(method, params, result).await?;
        Ok(DescribedStreams::new(call))
    }

    /// Calls a method by its name, without a contract:
    /// `let sum: i32 = channel.call_by_name("add", (1, 2)).await?`. The parameters, a tuple, are
    /// numbered from 1 in order; an exception that the method declares is a `Status`. Own types are
    /// given by reference. JSON goes by names, which are `param1`, `param2` … unless the method is
    /// spelled with them: `"add(a, b)"`.
    ///
    /// On Dovetail's own wire, and on wires with headers, the server compares the types with its
    /// own before the first call, and refuses the call with `FAILED_PRECONDITION` and the place
    /// where they differ.
    pub async fn call_by_name<T: FieldValue>(
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
        let body = self.exchange(call, false).await?;
        decode_into(&mut slot, name, body, self.options.decoding)?;
        slot.into_result(name)
    }

    /// Calls a one-way method.
    pub async fn notify_described(
        &self,
        method: &'static Method,
        params: &impl Encode,
    ) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing(method, params)
        };
        self.in_time(call, false).await.map(drop)
    }

    /// Calls a one-way method that no generated code describes.
    pub async fn notify_raw(&self, method: &str, params: &impl Encode) -> Result<(), Status> {
        let call = Outgoing {
            oneway: true,
            ..self.outgoing_by_name(method, params)
        };
        self.in_time(call, false).await.map(drop)
    }

    async fn exchange(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Answered, Status> {
        let body = self.in_time(call, idempotent).await?;
        body.ok_or_else(|| Status::new(Code::Internal, "a call without an answer"))
    }

    async fn in_time(
        &self,
        call: Outgoing<'_, impl Encode>,
        idempotent: bool,
    ) -> Result<Option<Answered>, Status> {
        let mut nested = Nested::here(&self.options, self.options.callee(call.name, call.method))?;
        let limit = nested.limit(call.timeout.unwrap_or(self.options.timeout));
        let late = || too_late(call.name, limit, Execution::MayHaveRun);
        let answer = in_time(limit, self.attempt(nested.call(call), idempotent)).await;
        let answer = answer.unwrap_or_else(|_| Err(late()));
        nested.done(&answer);
        answer
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &*self.shared {
            Shared::Server(servers) => servers.to_string(),
            #[cfg(feature = "grpc")]
            Shared::Http2(servers) => servers.to_string(),
            Shared::Caller(link) => link.target.clone(),
            Shared::Object(link, _, service) => format!("{} at {}", service.name, link.target),
            Shared::Local(_) => "in-process".to_owned(),
            Shared::Nothing(_) => "nothing".to_owned(),
        };
        write!(f, "Channel({target}, {})", self.options.wire)
    }
}

impl ChannelBuilder {
    settings!();

    /// A channel to a server of this process.
    #[cfg(feature = "testing")]
    pub(crate) fn in_process(process: crate::transport::MemoryConnector) -> Self {
        let options = Options {
            process: Some(process),
            ..Options::default()
        };
        ChannelBuilder {
            target: Target::Address(Address::Tcp("in-process".to_owned())),
            options,
        }
    }

    /// Serves these services to the server that is called, on the connections that the calls make:
    /// it calls back with [`Context::client_channel`](crate::Context::client_channel). Needs
    /// Dovetail's own wire or msgpack-rpc. Of a [`Server`](crate::Server), its services,
    /// interceptors and limits of calls count.
    pub fn serve(mut self, router: impl Into<Router>) -> Self {
        self.options.local = Some(Local::new(router.into()));
        self
    }

    /// Compresses the calls and items that are sent over gRPC, gRPC-Web or Connect, from 1 KiB on,
    /// with gzip; servers usually answer likewise. A server that cannot decompress them answers
    /// with `UNIMPLEMENTED`. Default: not at all.
    #[cfg(feature = "grpc")]
    pub fn gzip(mut self) -> Self {
        self.options.coding = Some(dovetail_protocol::grpc::Coding::Gzip);
        self
    }

    /// Compresses with zstd, which is faster and smaller, and which few other servers can
    /// decompress.
    #[cfg(all(feature = "grpc", feature = "zstd"))]
    pub fn zstd(mut self) -> Self {
        self.options.coding = Some(dovetail_protocol::grpc::Coding::Zstd);
        self
    }

    /// Finds out, over gRPC, gRPC-Web and Connect, when the server has gone without a word: calls
    /// that wait fail with `UNAVAILABLE`. Default: not at all, but for the time that a call may
    /// take.
    #[cfg(feature = "grpc")]
    pub fn keepalive(mut self, keepalive: crate::grpc::Keepalive) -> Self {
        self.options.keepalive = Some(keepalive);
        self
    }

    /// The channel. It connects with the first call.
    #[must_use]
    pub fn build(mut self) -> Channel {
        let settled = self.options.security.settle();
        let shared = match (settled, self.options.wire) {
            (Err(why), _) => Shared::Nothing(why),
            #[cfg(feature = "grpc")]
            (_, wire) if wire.is_http2() => Shared::Http2(self.target.servers(&self.options)),
            #[cfg(not(feature = "grpc"))]
            (_, wire) if wire.is_http2() => Shared::Nothing(super::no_http2(wire)),
            (_, Wire::WebSocket) => Shared::Nothing(super::no_websocket()),
            _ => Shared::Server(self.target.servers(&self.options)),
        };
        Channel {
            shared: Arc::new(shared),
            options: Arc::new(self.options),
        }
    }
}

impl Connect for Arc<Link> {
    async fn connect(address: &Address, target: String, options: &Options) -> io::Result<Self> {
        connect(address, target, options).await
    }

    fn channel(server: TaskPool<Self>, options: Options) -> Channel {
        Channel {
            shared: Arc::new(Shared::Server(Servers::One(server))),
            options: Arc::new(options),
        }
    }
}

impl Connected for Arc<Link> {
    fn usable(&self) -> Usable {
        self.lock().usable()
    }

    fn gives_way(&self, there: &Self) -> bool {
        Arc::ptr_eq(self, there) && self.lock().give_way()
    }
}

/// The answer to a call. A call whose future is dropped before is given up.
struct Pending<'a> {
    link: &'a Link,
    call: u64,
    done: bool,
}

impl Future for Pending<'_> {
    type Output = Result<Answered, Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut table = self.link.lock();
        if let Some(reply) = table.take(self.call) {
            drop(table);
            self.done = true;
            return Poll::Ready(reply);
        }
        match table.waiter(self.call) {
            Some(waiter) => {
                waiter.clone_from(context.waker());
                Poll::Pending
            }
            None => Poll::Ready(Err(lost(&self.link.target, &"it was given up"))),
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.done {
            // The server may have to be told.
            drop(self.link.part(|table| table.abandon(self.call)));
            self.link.turn.notify_waiters();
        }
    }
}

impl Link {
    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    async fn call(&self, call: &Outgoing<'_, impl Encode>) -> Result<Option<Answered>, Status> {
        let call = loop {
            // Before the look at the table: a turn that is offered in between is not missed.
            let turn = self.turn.notified();
            if let Some(Queued(call)) = self.queue(call)? {
                break call;
            }
            turn.await;
        };
        match call {
            None => Ok(None),
            Some(call) => {
                let answer = Pending {
                    link: self,
                    call,
                    done: false,
                };
                answer.await.map(Some)
            }
        }
    }

    /// `None` where the call has to wait for its turn.
    fn queue(&self, call: &Outgoing<'_, impl Encode>) -> Result<Option<Queued>, Status> {
        // Whoever waits says so when it is polled.
        self.with(|table| table.call(call, || Waker::noop().clone()))
    }
}

/// Waits no longer than this. A caller without a runtime, as handlers under
/// [`Model::ThreadPerConnection`](crate::server::Model) are, borrows a clock.
///
/// No `async fn`: that would have room for the future twice.
pub(super) fn in_time<F: Future>(limit: Duration, future: F) -> Timeout<F> {
    let borrowed = match Handle::try_current() {
        Ok(_) => None,
        Err(_) => clock(),
    };
    let _entered = borrowed.as_ref().map(Handle::enter);
    timeout(limit, future)
}

/// Waits for this long.
pub(super) async fn rest(pause: Duration) {
    // It ends when the time is over.
    let _ = in_time(pause, pending::<()>()).await;
}

/// A runtime on a thread of its own, which does nothing but wake.
fn clock() -> Option<Handle> {
    static CLOCK: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_time().build().ok()?;
        let handle = runtime.handle().clone();
        let wake = move || runtime.block_on(std::future::pending::<()>());
        let thread = std::thread::Builder::new().name("dovetail clock".to_owned());
        thread.spawn(wake).ok()?;
        Some(handle)
    };
    CLOCK.get_or_init(start).clone()
}
