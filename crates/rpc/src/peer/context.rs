use super::proxies::Proxies;
use super::record::Record;
use super::share::Share;
use super::stop::Stop;
use super::traffic::Traffic;
use crate::identity::Principal;
use crate::peer::cancellation::Cancellation;
use crate::peer::extensions::Extensions;
use crate::peer::intercept::Observed;
use crate::peer::link::Link;
use crate::peer::objects::Objects;
use crate::peer::remembered::Remembered;
use crate::peer::response_headers::ResponseHeaders;
use crate::tls::TlsPeer;
use crate::trace::Traced;
use crate::transport::Process;
use crate::{Code, Status, clock};
use dovetail_protocol::{Headers, Name, Wire};
use dovetail_wire::Bytes;
use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

/// The context of a call for its handler, besides the parameters. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(crate) call: Arc<CallInfo>,
}

/// The caller, the same for all calls of a connection.
pub(crate) struct Caller {
    pub(crate) peer: String,
    /// The threads of handlers may block: nothing else waits for them.
    #[cfg_attr(not(feature = "async"), expect(dead_code, reason = "all threads may"))]
    pub(crate) may_block: bool,
    /// The server's port and the caller's, over TCP.
    pub(crate) ports: Option<(u16, u16)>,
    /// Its identity, over TLS.
    pub(crate) tls: Option<TlsPeer>,
    /// Its process, through a Unix socket or shared memory.
    pub(crate) process: Option<Process>,
    /// Its calls and bytes.
    pub(crate) traffic: Traffic,
    /// Facts of wires without headers.
    pub(crate) remembered: Remembered,
    /// Its share of the server's memory; `None` within a process.
    pub(crate) share: Option<Arc<Share>>,
    /// Says which headers to believe, where the caller is a proxy.
    pub(crate) proxies: Option<Arc<Proxies>>,
    /// Its requests may name known hosts alone.
    pub(crate) checks_hosts: bool,
    /// The connection, where its wire can be called back on.
    link: OnceLock<Weak<Link>>,
}

impl Caller {
    pub(crate) fn new(peer: String, may_block: bool) -> Self {
        Caller {
            peer,
            may_block,
            ports: None,
            tls: None,
            process: None,
            traffic: Traffic::default(),
            remembered: Remembered::default(),
            share: None,
            proxies: None,
            checks_hosts: false,
            link: OnceLock::new(),
        }
    }

    /// Adds the ports of its connection.
    pub(crate) fn with_ports(self, ports: Option<(u16, u16)>) -> Self {
        Caller { ports, ..self }
    }

    /// Adds its identity over TLS.
    pub(crate) fn with_tls(self, tls: Option<TlsPeer>) -> Self {
        Caller { tls, ..self }
    }

    /// Adds its process.
    pub(crate) fn with_process(self, process: Option<Process>) -> Self {
        Caller { process, ..self }
    }

    /// Adds what the server may hold for the caller.
    pub(crate) fn with_share(self, share: Arc<Share>) -> Self {
        let share = Some(share);
        Caller { share, ..self }
    }

    /// Adds the proxies that are believed, if the caller is one of them.
    pub(crate) fn with_proxies(self, proxies: Option<&Arc<Proxies>>) -> Self {
        let proxies = proxies.filter(|proxies| proxies.knows(&self.peer));
        Caller {
            proxies: proxies.cloned(),
            ..self
        }
    }

    /// Has the headers about callers believed: this process has written them.
    #[cfg(feature = "async")]
    pub(crate) fn with_believed_headers(self) -> Self {
        Caller {
            proxies: Some(Arc::default()),
            ..self
        }
    }

    /// Says whether the hosts that its requests name are checked.
    pub(crate) fn with_hosts_checked(self, checks_hosts: bool) -> Self {
        Caller {
            checks_hosts,
            ..self
        }
    }

    /// Returns whether it may be anybody on a network: it came by TCP.
    pub(crate) fn is_remote(&self) -> bool {
        self.ports.is_some() || self.tls.is_some()
    }

    /// Returns the objects that the two ends of the connection have of each other.
    pub(crate) fn objects(&self) -> Option<Arc<Objects>> {
        let link = self.link.get()?.upgrade()?;
        Some(link.objects.clone())
    }

    /// True if these are the objects of its connection.
    pub(crate) fn has(&self, objects: &Objects) -> bool {
        let own = self.objects();
        own.is_some_and(|own| std::ptr::eq(Arc::as_ptr(&own), objects))
    }

    /// Notes the connection by which it calls.
    pub(crate) fn called_over(&self, link: &Arc<Link>) {
        // There is only one.
        let _ = self.link.set(Arc::downgrade(link));
    }
}

pub(crate) struct CallInfo {
    pub(crate) caller: Arc<Caller>,
    pub(crate) service: Option<Name>,
    pub(crate) method: &'static str,
    pub(crate) wire: Wire,
    pub(crate) deadline: Option<Instant>,
    pub(crate) headers: Headers,
    /// It came by GET.
    pub(crate) get: bool,
    /// The headers and trailers of the answer, where the wire can carry any.
    pub(crate) answer: Option<ResponseHeaders>,
    /// Whether the parameters came compressed.
    pub(crate) compressed: bool,
    pub(crate) compress: Compress,
    /// The call has been answered, or its handler dropped.
    pub(crate) over: AtomicBool,
    /// The cancellation of a handler that has a thread of its own.
    pub(crate) cancellation: Option<Arc<Cancellation>>,
    /// Values that interceptors have left.
    pub(crate) extensions: Extensions,
    pub(crate) observed: Observed,
    /// Lets an administrator cancel it.
    pub(crate) stop: Option<Arc<Stop>>,
    /// Its span, where calls are traced.
    pub(crate) trace: Option<Traced>,
    /// Keeps its messages, where it is captured.
    pub(crate) recording: Option<Arc<dyn Record>>,
}

thread_local! {
    /// The call whose handler runs on this thread.
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// A part of a handler that runs on this thread. At its end both calls are back in their places:
/// its own one, and the one in whose handler it ran.
struct Entered<'a> {
    call: &'a mut Option<Context>,
    outer: Option<Context>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        *self.call = CURRENT.replace(self.outer.take());
    }
}

impl Context {
    /// Runs a part of a call's handler: calls that it makes belong to the call. The context moves
    /// to the thread for that time, as counting references to it would cost more than the rest.
    pub(crate) fn enter<R>(call: &mut Option<Self>, part: impl FnOnce() -> R) -> R {
        let outer = CURRENT.replace(call.take());
        let _entered = Entered { call, outer };
        part()
    }
}

impl CallInfo {
    /// Returns the caller's identity.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.extensions.get()
    }

    /// Gives the call whose handler runs on this thread; `None` outside of handlers.
    pub(crate) fn current<R>(with: impl FnOnce(&CallInfo) -> R) -> Option<R> {
        CURRENT.with_borrow(|current| current.as_ref().map(|context| with(&context.call)))
    }
}

/// The context of a call that is not over as long as this exists.
pub(crate) struct OpenCall(pub(crate) Context);

impl Deref for OpenCall {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.call.over.store(true, Ordering::Relaxed);
    }
}

/// A handler's choice about compression.
#[derive(Default)]
pub(crate) struct Compress(AtomicU8);

impl Compress {
    const NO: u8 = 1;
    const YES: u8 = 2;

    fn set(&self, compress: bool) {
        let said = if compress { Self::YES } else { Self::NO };
        self.0.store(said, Ordering::Relaxed);
    }

    /// `None` where it has said nothing.
    pub(crate) fn get(&self) -> Option<bool> {
        match self.0.load(Ordering::Relaxed) {
            Self::NO => Some(false),
            Self::YES => Some(true),
            _ => None,
        }
    }
}

impl Context {
    /// Makes a future part of the call: the calls that it makes take over the deadline and the
    /// trace of this one. The handler's own future is part of it already; this is for tasks that it
    /// spawns.
    ///
    /// ```
    /// # fn handler(context: dovetail::Context, audit: impl Future<Output = ()> + Send + 'static) {
    /// tokio::spawn(context.scope(async move {
    ///     audit.await;
    /// }));
    /// # }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let mut call = Some(self.clone());
        let mut future = Box::pin(future);
        poll_fn(move |task| Context::enter(&mut call, || future.as_mut().poll(task)))
    }

    /// The caller's address; `unix` or `in-process` where it has none. Behind
    /// [proxies](crate::Server::proxies) it is what they say; as their headers have it, an address
    /// may be without a port.
    pub fn peer(&self) -> &str {
        let CallInfo {
            caller,
            wire,
            headers,
            ..
        } = &*self.call;
        let proxies = caller.proxies.as_ref();
        let forwarded = proxies.and_then(|proxies| proxies.forwarded(*wire, headers));
        forwarded.unwrap_or(&caller.peer)
    }

    /// Returns the caller's certificate, over TLS. `None` where the connection is without TLS.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&TlsPeer> {
        self.call.caller.tls.as_ref()
    }

    /// Returns the process that calls, on this machine through a Unix socket or shared memory;
    /// `None` on other connections.
    pub fn process(&self) -> Option<&Process> {
        self.call.caller.process.as_ref()
    }

    /// The service that the caller named; `None` on a connection that has only one.
    pub fn service(&self) -> Option<&str> {
        self.call.service.as_deref()
    }

    /// The method.
    pub fn method(&self) -> &'static str {
        self.call.method
    }

    /// The wire by which the call came.
    pub fn wire(&self) -> Wire {
        self.call.wire
    }

    /// When the caller stops waiting, where its wire says so: Dovetail's own, gRPC, gRPC-Web, and
    /// Connect.
    pub fn deadline(&self) -> Option<Instant> {
        self.call.deadline
    }

    /// True once nobody waits for the answer: the caller has gone, has given the call up, or its
    /// deadline has passed. For handlers that block or compute for long, which nothing else can
    /// stop: one that waits in `await` is dropped then.
    ///
    /// It costs a system call where the handler runs on its connection's thread. A caller over
    /// Thrift or msgpack-rpc that has closed its sending side alone still waits, unless
    /// [`Server::half_closed`](crate::Server::half_closed) says otherwise.
    pub fn cancelled(&self) -> bool {
        let call = &*self.call;
        let cancelled = |cancellation: &Arc<Cancellation>| cancellation.is_cancelled();
        call.over.load(Ordering::Relaxed)
            || call
                .deadline
                .is_some_and(|deadline| deadline <= clock::now())
            || call.cancellation.as_ref().is_some_and(cancelled)
    }

    /// A header that came with the call, over Dovetail's own wire, THeader, HTTP or gRPC; over
    /// Connect and gRPC without those that are the protocol's.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.call.headers.get(name)
    }

    /// All of them, in the order in which they came: for those who pass calls on.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.call.headers.iter()
    }

    /// Returns the headers that stand together in a struct. Fails with `INVALID_ARGUMENT` where one
    /// is missing or has another form.
    pub fn headers_as<T: crate::Headers>(&self) -> Result<T, Status> {
        T::read(&|name| self.header(name))
    }

    /// Returns the value of this type that an [interceptor](crate::intercept::ServerInterceptor)
    /// has left with the call.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.call.extensions.get()
    }

    /// Adds a header that is sent before the answer, over gRPC, gRPC-Web and Connect. Where items
    /// follow the answer, it counts until the handler has returned; other wires have no such
    /// headers, and it is dropped. An error where it cannot be sent: the name is the protocol's
    /// own, or the value is no printable ASCII and the name does not end in `-bin`.
    pub fn set_header(&self, name: &str, value: impl Into<Bytes>) -> Result<(), Status> {
        let answer = self.call.answer.as_ref();
        answer.map_or(Ok(()), |answer| answer.push_header(name, value.into()))
    }

    /// Sets a header behind the answer, and behind all items.
    pub fn set_trailer(&self, name: &str, value: impl Into<Bytes>) -> Result<(), Status> {
        let answer = self.call.answer.as_ref();
        answer.map_or(Ok(()), |answer| answer.push_trailer(name, value.into()))
    }

    /// Whether the parameters came compressed. Of items,
    /// [`Receiver::compressed`](crate::stream::Receiver::compressed) says it.
    pub fn compressed(&self) -> bool {
        self.call.compressed
    }

    /// Compresses the answer, or does not: what is encoded from here on, so that a stream can say
    /// it anew before each of its items. Without it an answer is compressed as its request was, or
    /// as [`Server::compression`](crate::Server::compression) says.
    ///
    /// Only what gets smaller is compressed, from 1 KiB on, and only for a caller that can undo it:
    /// over gRPC and Connect by what its headers accept, on Dovetail's own wire by
    /// [`Server::compression`](crate::Server::compression) alone. Over other wires it means
    /// nothing.
    pub fn compress(&self, compress: bool) {
        self.call.compress.set(compress);
    }

    /// The connection, where calls can be made on it.
    pub(crate) fn connection(&self) -> Result<Arc<Link>, Status> {
        let link = self.call.caller.link.get();
        let link = link.ok_or_else(|| {
            let what =
                "calls from the server to its client need Dovetail's own wire or msgpack-rpc";
            Status::new(Code::Unimplemented, what)
        })?;
        let gone = || Status::new(Code::Unavailable, "the caller's connection has ended");
        link.upgrade().ok_or_else(gone)
    }

    /// Runs work that blocks or computes for long, without keeping other calls waiting: on an event
    /// loop it goes to a thread of its own, elsewhere it runs in place. A panic of the work is the
    /// handler's.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        #[cfg(feature = "async")]
        if !self.call.caller.may_block {
            return match tokio::task::spawn_blocking(work).await {
                Ok(done) => done,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The server is going down, and this handler with it.
                    Err(_) => std::future::pending().await,
                },
            };
        }
        work()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("peer", &self.peer())
            .field("method", &self.method())
            .field("wire", &self.wire().to_string())
            .finish()
    }
}
