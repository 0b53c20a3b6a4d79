//! Servers: any number of contracts behind any number of addresses, every wire on each.

mod account;
mod admission;
mod aside;
mod entrance;
#[cfg(feature = "async")]
mod event_loop;
mod half_closed;
mod hosts;
mod http;
mod limits;
mod live;
mod machine;
#[cfg(feature = "tower")]
mod mounted;
mod observer;
mod pace;
mod peers;
mod room;
mod session;
mod shared;
mod sources;
mod started;
mod starting;
mod threads;

pub use half_closed::HalfClosed;
pub use limits::ServerLimits;
pub(crate) use live::{Live, LiveOptions};
#[cfg(feature = "tower")]
pub use mounted::{HttpBody, HttpService};
#[cfg(feature = "testing")]
pub(crate) use started::Attended;
pub use started::Running;

pub use crate::access_log::AccessLog;
pub use crate::counters::Counters;
pub use crate::dispatch::Router;
pub use crate::dispatch::functions::Function;
pub use crate::dispatch::mock::Mock;
pub use crate::health::Health;
pub use crate::load_reports::LoadReports;
pub use crate::peer::call::{Call, HandlerFuture, Reply};
pub use crate::peer::context_builder::ContextBuilder;
pub use crate::peer::response_headers::ResponseHeaders;
pub use dovetail_protocol::http::Cors;
pub use dovetail_wire::msgpack::Structs as MsgpackStructs;

use crate::admin::Admin;
use crate::identity::{Authentication, Identify, Permissions, Session};
use crate::names::Registration;
use crate::peer::intercept::ServerInterceptor;
use crate::peer::proxies::Proxies;
use crate::reflection::Reflection;
use crate::sessions::Sessions;
use crate::statistics::Statistics;
use crate::throttle::Throttle;
use crate::tls::ServerTls;
use crate::trace::Tracing;
use crate::transport::{Listener, MemoryConnector, Polling, SocketListener, memory};
use crate::web::Page;
use crate::{Address, Service, Status};
use admission::{ConnectionGuard, ListenerKind};
use dovetail_protocol::connect;
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::thrift::CustomProtocol;
use dovetail_wire::Bytes;
use dovetail_wire::msgpack::Structs;
use entrance::Entered;
use hosts::Hosts;
use room::Entry;
use shared::Shared;
use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait after an `accept` that failed for want of resources.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// How long to listen to a peer that has been told why its connection ends. To close at once would
/// reset the connection where the peer still sends, and a reset destroys what it has not yet read.
const LINGER: Duration = Duration::from_secs(2);

/// How long a server that goes down listens to a peer that cannot be told so but by the answer to a
/// call. The calls that come meanwhile are refused, as not started.
const REFUSES: Duration = Duration::from_millis(100);

/// How long such a peer may go on to call, before its connection is closed.
const MAX_REFUSED: Duration = Duration::from_secs(1);

/// How a server spends threads on its sockets.
///
/// | model | threads | handlers run | choose it for |
/// |---|---|---|---|
/// | `EventLoops` | one for each core | on their connection's loop | most servers; handlers that do not block |
/// | `SingleThreaded` | one | on it | small services, and handlers that must not run at the same time |
/// | `ThreadPool` | event loops, and a pool | in the pool | handlers that block: databases, files |
/// | `ThreadPerConnection` | one for each connection | on it | few busy clients, the lowest latency, no async runtime |
///
/// Calls that one client sends without waiting for answers run side by side on the wires whose
/// clients match answers by number: Dovetail's own wire, HTTP/2, msgpack-rpc, Cap'n Proto, and
/// THeader with the flag for answers out of order. Other calls run in order in every model, as the
/// clients of Apache Thrift expect, and nothing overtakes a one-way call. `docs/server.md` has the
/// details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Model {
    /// Event loops, each on its own thread; `None` makes one for each core.
    #[cfg(feature = "async")]
    EventLoops(Option<usize>),
    /// One event loop on one thread.
    #[cfg(feature = "async")]
    SingleThreaded,
    /// Event loops for the sockets, and this many threads for the handlers.
    #[cfg(feature = "async")]
    ThreadPool(usize),
    /// A thread for each connection. No async runtime takes part in calls; with the feature `async`
    /// there is one for what handlers await, such as `tokio::time::sleep`.
    ThreadPerConnection,
}

#[cfg(feature = "async")]
const DEFAULT_MODEL: Model = Model::EventLoops(None);
#[cfg(not(feature = "async"))]
const DEFAULT_MODEL: Model = Model::ThreadPerConnection;

/// A server that is being put together.
///
/// ```no_run
/// # fn run(calculator: impl dovetail::Service) -> std::io::Result<()> {
/// let running = dovetail::Server::new()
///     .service(calculator)
///     .listen("tcp://127.0.0.1:9090")?
///     .start()?;
/// println!("listening on {}", running.addresses()[0]);
/// running.wait();
/// # Ok(())
/// # }
/// ```
#[must_use = "a server does nothing before `start`"]
pub struct Server {
    router: Router,
    model: Model,
    limits: ServerLimits,
    live: Live,
    compression: Option<Compression>,
    cors: Option<Cors>,
    hosts: Option<Hosts>,
    proxies: Option<Proxies>,
    pages: Vec<(&'static str, Page)>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
    admin: Option<Admin>,
    statistics: Vec<Statistics>,
    registrations: Vec<Registration>,
    polling: Polling,
    local_upgrade: bool,
    protocols: Vec<&'static dyn CustomProtocol>,
    sockets: Vec<SocketListener>,
    others: Vec<Arc<dyn Listener>>,
    tls: Option<ServerTls>,
    plaintext: bool,
    half_closed: HalfClosed,
    msgpack_structs: Structs,
    #[cfg(feature = "grpc")]
    keepalive: Option<crate::grpc::Keepalive>,
}

/// Takes the services and interceptors of a server that has no listener.
impl From<Server> for Router {
    fn from(mut server: Server) -> Self {
        server.settle();
        server.router
    }
}

impl Default for Server {
    fn default() -> Self {
        Server {
            router: Router::new(),
            model: DEFAULT_MODEL,
            limits: ServerLimits::default(),
            live: Live::default(),
            compression: None,
            cors: None,
            hosts: None,
            proxies: None,
            pages: Vec::new(),
            kept: Vec::new(),
            admin: None,
            statistics: Vec::new(),
            registrations: Vec::new(),
            polling: Polling::default(),
            local_upgrade: true,
            protocols: Vec::new(),
            sockets: Vec::new(),
            others: Vec::new(),
            tls: None,
            plaintext: false,
            half_closed: HalfClosed::default(),
            msgpack_structs: Structs::default(),
            #[cfg(feature = "grpc")]
            keepalive: None,
        }
    }
}

impl Server {
    /// A server without services and addresses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves a contract. A caller that names no service gets the first one that has the method.
    pub fn service(mut self, service: impl Service) -> Self {
        self.router = self.router.service(service);
        self
    }

    /// Serves a function under a name, without a contract:
    /// `server.bind("add", |a: i32, b: i32| a + b)`.
    ///
    /// It takes up to twelve parameters of types that contracts can have, and gives one, or a
    /// `Result` of one and of a [`Status`]; an async one gives a future of that.
    /// Callers number its parameters from 1, in order; in msgpack-rpc they give them in order. In
    /// JSON they give them by name: `param1`, `param2` …, or the names in
    /// `server.bind("add(a, b)", …)`. A parameter that is missing, unless it is an `Option`, and
    /// one too many are errors. The name and the types are never freed. Among functions, and
    /// methods of services, of the same name the first one counts.
    ///
    /// Callers on Dovetail's own wire send the types that they mean. Where these contradict the
    /// function's, their calls are refused with `FAILED_PRECONDITION` and the place where they
    /// differ.
    ///
    /// # Panics
    ///
    /// Panics if the name is spelled with more or fewer parameters than the function has.
    #[track_caller]
    pub fn bind<Form: 'static>(
        mut self,
        name: &'static str,
        function: impl Function<Form>,
    ) -> Self {
        self.router = self.router.bind(name, function);
        self
    }

    /// Puts an interceptor around all calls, of what is added later too: of functions, health
    /// checks, reflection and objects. It runs on every wire.
    pub fn intercept(mut self, interceptor: impl ServerInterceptor) -> Self {
        self.router = self.router.intercept(interceptor);
        self
    }

    /// Puts an interceptor around all calls that others have as well.
    #[cfg(feature = "config")]
    pub(crate) fn intercept_shared(mut self, interceptor: Arc<dyn ServerInterceptor>) -> Self {
        self.router.interceptors.add(interceptor);
        self
    }

    /// Puts an interceptor around all others.
    #[cfg(feature = "config")]
    pub(crate) fn intercept_first(mut self, interceptor: impl ServerInterceptor) -> Self {
        self.router.interceptors.add_first(Arc::new(interceptor));
        self
    }

    /// Puts an interceptor around the calls of a service, `"shop.v1.Orders"`, or of one of its
    /// methods, `"shop.v1.Orders/place"`. They go by the names of the contract, with or without the
    /// package, whatever a caller calls them; a service that is extended by others means its
    /// methods there, too. [`start`](Self::start) returns an error where there is no such service
    /// or method.
    ///
    /// ```
    /// # struct Audit;
    /// # impl dovetail::intercept::ServerInterceptor for Audit {}
    /// # fn serve(orders: impl dovetail::Service) {
    /// let server = dovetail::Server::new()
    ///     .service(orders)
    ///     .intercept_at("shop.v1.Orders/place", Audit);
    /// # }
    /// ```
    pub fn intercept_at(mut self, place: &str, interceptor: impl ServerInterceptor) -> Self {
        self.router = self.router.intercept_at(place, interceptor);
        self
    }

    /// Finds out who calls, and refuses callers whom it does not know: an
    /// [interceptor](Self::intercept) around all calls, behind those that were added before. It
    /// serves `dovetail.Session` as well, where callers on wires without headers log in.
    pub fn authentication(self, authentication: Authentication) -> Self {
        let identify = Arc::new(authentication.authenticators());
        self.authenticated(identify, authentication)
    }

    /// Adds an interceptor that authenticates, and the service of logins, which asks `identify`.
    pub(crate) fn authenticated(
        self,
        identify: Arc<dyn Identify>,
        interceptor: impl ServerInterceptor,
    ) -> Self {
        self.service(Session(identify)).intercept(interceptor)
    }

    /// Refuses callers what they may not do: an [interceptor](Self::intercept) around all calls,
    /// behind [`authentication`](Self::authentication).
    pub fn permissions(self, permissions: Permissions) -> Self {
        self.intercept(permissions)
    }

    /// Refuses calls beyond quotas: an [interceptor](Self::intercept) around all calls, behind
    /// those that were added before. Behind [`authentication`](Self::authentication) it tells
    /// callers apart by their identities.
    pub fn throttle(self, throttle: Throttle) -> Self {
        self.intercept(throttle)
    }

    /// Gives a service sessions: an [interceptor](Self::intercept_at) in front of its calls, behind
    /// those that are in front of all, refuses those without one. It serves `dovetail.Sessions` as
    /// well, where callers begin and end theirs.
    pub fn sessions<T: Send + Sync + 'static>(
        mut self,
        service: &str,
        sessions: &Sessions<T>,
    ) -> Self {
        let known = Arc::new(sessions.clone());
        self.router.sessions.push((service.to_owned(), known));
        self.intercept_at(service, sessions.interceptor())
    }

    /// Answers health checks: serves `grpc.health.v1.Health`, on every wire. It knows the services
    /// of this server. Default: not at all.
    pub fn health(mut self, health: &Health) -> Self {
        self.router.health = Some(health.clone());
        self.service(health.clone())
    }

    /// Tells clients what the contracts say: serves `dovetail.reflection.v1.Reflection` on every
    /// wire, and gRPC's `grpc.reflection.v1.ServerReflection` and `v1alpha`. Default: not at all.
    pub fn reflection(mut self, reflection: &Reflection) -> Self {
        self.router.reflects = true;
        for service in reflection.services() {
            self = self.service(service);
        }
        self
    }

    /// Chooses how threads are spent. Default: an event loop for each core, or, without the feature
    /// `async`, a thread for each connection.
    pub fn model(mut self, model: Model) -> Self {
        self.model = model;
        self
    }

    /// Changes what peers may cost.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Chooses what a caller is that has closed its sending side while its call runs. Default: gone
    /// over HTTP/1.1 alone.
    pub fn half_closed(mut self, half_closed: HalfClosed) -> Self {
        self.half_closed = half_closed;
        self
    }

    /// Sets the form of structs over msgpack-rpc: arrays, or maps from the fields' names, for
    /// clients that declare them so. Default: arrays. Both are read.
    pub fn msgpack_structs(mut self, structs: Structs) -> Self {
        self.msgpack_structs = structs;
        self
    }

    /// Compresses the answers and items that are sent, on Dovetail's own wire, to clients that say
    /// that they can decompress them. Over THeader answers are compressed as calls are. Default:
    /// not at all.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Lets pages of other sites call from a browser, over Connect and gRPC-Web. Default: none may,
    /// and what browsers send for such a page without asking is refused.
    pub fn cors(mut self, cors: Cors) -> Self {
        self.cors = Some(cors);
        self
    }

    /// Requests over HTTP may name these hosts, and no others, in `Host` or `:authority`. A page
    /// can have the name of its own site lead to any address (DNS rebinding): its browser then
    /// takes the server for a part of that site. Others are refused with 403, over gRPC with
    /// `PERMISSION_DENIED`; over TLS nothing is.
    ///
    /// Names are without ports; one that begins with a dot stands for all that end so, and for what
    /// follows the dot, `*` for all. `localhost`, names that end in `.localhost`, and IP addresses
    /// always pass: no page's name server is asked about them. So does what can be no name, such as
    /// the path of a Unix socket.
    ///
    /// Default: none but what always passes, on loopback addresses and Unix sockets; elsewhere all,
    /// with a warning of `tracing` at the start.
    pub fn allowed_hosts(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(Hosts::new(names));
        self
    }

    /// Believes these proxies who calls through them: addresses, networks (`10.0.0.0/8`,
    /// `fd00::/8`), or `unix` for all Unix sockets. By the PROXY protocol's second version, before
    /// TLS, or over HTTP by `Forwarded` or `X-Forwarded-For`; handlers see it with
    /// [`Context::peer`](crate::Context::peer). They may have any number of connections, while
    /// callers that they have announced by the PROXY protocol count as if they had come by
    /// themselves. Nobody else is believed. An error where one is neither.
    pub fn proxies(
        mut self,
        proxies: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> io::Result<Self> {
        let known = self.proxies.get_or_insert_default();
        for proxy in proxies {
            known.add(proxy.as_ref())?;
        }
        Ok(self)
    }

    /// Answers `GET /openapi.json` with this document, for tools that want to know what can be
    /// called over HTTP: `dovetail export --to openapi` writes one of an IDL,
    /// `dovetail::export::openapi` one of a contract in Rust. Default: there is none.
    pub fn openapi(mut self, document: impl Into<Bytes>) -> Self {
        let document = document.into();
        let page: Page = Box::new(move |_| connect::document(&document));
        self.pages.push(("/openapi.json", page));
        self
    }

    /// Counts calls: an [interceptor](Self::intercept) around all of them. It comes first, so that
    /// it counts those that other interceptors refuse, and their times.
    pub fn statistics(mut self, statistics: &Statistics) -> Self {
        self.statistics.push(statistics.clone());
        self.router
            .interceptors
            .add_first(Arc::new(statistics.clone()));
        self
    }

    /// Keeps a part of the program as long as the server runs.
    #[cfg(feature = "config")]
    pub(crate) fn keep(mut self, part: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(part));
        self
    }

    /// Makes spans of calls: an [interceptor](Self::intercept) around all of them, in front of
    /// those that were added before, so that it records those that they refuse.
    pub fn tracing(mut self, tracing: &Tracing) -> Self {
        self.router
            .interceptors
            .add_first(Arc::new(tracing.clone()));
        self
    }

    /// Writes a line for each call: an [interceptor](Self::intercept) around all of them, in front
    /// of those that were added before, so that it has those that they refuse.
    pub fn access_log(mut self, log: &AccessLog) -> Self {
        self.router.interceptors.add_first(Arc::new(log.clone()));
        self
    }

    /// Reports the load of the server with its answers over gRPC. Default: not at all.
    pub fn load_reports(self, reports: &LoadReports) -> Self {
        self.intercept(reports.clone())
    }

    /// Answers `GET /metrics` with these statistics in the text format of Prometheus, or that of
    /// OpenMetrics for those who accept it, to everybody who can connect: a server of their own on
    /// another port keeps them apart. Default: not at all.
    pub fn metrics(mut self, statistics: &Statistics) -> Self {
        self.pages.push(("/metrics", statistics.page()));
        self
    }

    /// Has an administrator see and control this server: its calls, its connections, its
    /// statistics. It costs each call some tenths of a microsecond.
    pub fn administered(mut self, admin: &Admin) -> Self {
        self.admin = Some(admin.clone());
        self.router
            .interceptors
            .add_first(Arc::new(admin.statistics().clone()));
        self
    }

    /// Shows an administration: serves `dovetail.admin.v1.Admin`, and by HTTP the console at `/`,
    /// `/metrics` for Prometheus, and `/health` and `/ready`, with 503 while the administered
    /// server takes no calls. With the feature `grpc` it serves `grpc.channelz.v1.Channelz`, too.
    /// Everybody who can connect may look and change: listen where nobody else can, or have
    /// [`authentication`](Self::authentication) and [`permissions`](Self::permissions).
    pub fn admin(mut self, admin: &Admin) -> Self {
        self.pages.extend(admin.pages());
        // The command finds the contract so.
        self.router.reflects = true;
        #[cfg(feature = "grpc")]
        let shown = self.service(crate::admin::Channelz(admin.clone()));
        #[cfg(not(feature = "grpc"))]
        let shown = self;
        shown.service(admin.clone())
    }

    /// Registers the server where clients look for it, from its start to its end.
    /// [`Running::shutdown`] takes the registration back first, and lets clients hear of it.
    pub fn register(mut self, registration: Registration) -> Self {
        self.registrations.push(registration);
        self
    }

    /// Chooses when a thread or an event loop that waits for a connection polls before it sleeps.
    pub fn polling(mut self, polling: Polling) -> Self {
        self.polling = polling;
        self
    }

    /// Finds out when clients of gRPC have gone without a word. Default: not at all, but for `idle`
    /// of the limits.
    #[cfg(feature = "grpc")]
    pub fn keepalive(mut self, keepalive: crate::grpc::Keepalive) -> Self {
        self.keepalive = Some(keepalive);
        self
    }

    /// Lets clients on the same machine that connected by TCP move to shared memory, where both
    /// ends can: by an abstract Unix socket, which a server that listens on TCP opens for it.
    /// Default: yes.
    pub fn local_upgrade(mut self, local_upgrade: bool) -> Self {
        self.local_upgrade = local_upgrade;
        self
    }

    /// Takes TLS on every address, beside connections without, and nothing else where it listens on
    /// `tls://…`. Over TLS all wires are spoken that are spoken without. Default: not at all.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: &ServerTls) -> Self {
        self.tls = Some(tls.clone());
        self
    }

    /// Lets clients call without TLS on `tcp://…`, although
    /// [`ServerTls::clients`](crate::tls::ServerTls::clients) requires certificates. Default: such
    /// a server does not start.
    #[cfg(feature = "tls")]
    pub fn allow_plaintext(mut self) -> Self {
        self.plaintext = true;
        self
    }

    /// Adds a protocol that is not built in.
    pub fn protocol(mut self, protocol: &'static dyn CustomProtocol) -> Self {
        self.protocols.push(protocol);
        self
    }

    /// Listens on an address: `tcp://127.0.0.1:9090`, `unix:/path`, `unix:@name`, or
    /// `tls://127.0.0.1:9090`, where TLS alone is taken. Clients can connect from now on; they are
    /// answered once the server has started.
    pub fn listen(mut self, address: &str) -> io::Result<Self> {
        let address: Address = address
            .parse()
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, format!("{e}")))?;
        let listener = SocketListener::bind(&address).map_err(|e| {
            let hint = match e.kind() {
                io::ErrorKind::AddrInUse => "; another program listens there, choose another port",
                io::ErrorKind::PermissionDenied => "; ports below 1024 need a privilege",
                _ => "",
            };
            io::Error::new(e.kind(), format!("cannot listen on {address}: {e}{hint}"))
        })?;
        self.sockets.push(listener);
        Ok(self)
    }

    /// Listens on a socket that is open already: a [`TcpListener`](std::net::TcpListener) or
    /// [`UnixListener`](std::os::unix::net::UnixListener) of the standard library, or a descriptor
    /// that a supervisor such as systemd hands over. The server leaves it open for the next process
    /// when it goes down: connections that it has not accepted wait there.
    pub fn listen_on(mut self, socket: impl Into<OwnedFd>) -> io::Result<Self> {
        self.sockets.push(SocketListener::adopt(socket)?);
        Ok(self)
    }

    /// Takes connections from a transport that is not built in. Each gets a thread.
    pub fn listener(mut self, listener: Arc<dyn Listener>) -> Self {
        self.others.push(listener);
        self
    }

    /// Takes connections from this process, through the connector.
    pub fn in_process(self) -> (Self, MemoryConnector) {
        let (listener, connector) = memory();
        (self.listener(Arc::new(listener)), connector)
    }

    /// Serves what connects from this process, in the thread and on the runtime that calls this.
    #[cfg(feature = "testing")]
    pub(crate) fn attend(mut self, listener: crate::transport::MemoryListener) -> Attended {
        // A test sees what is refused by its calls.
        let _ = self.prepare();
        let shared = self.into_shared(None);
        let _ = shared.runtime.set(tokio::runtime::Handle::current());
        tokio::task::spawn_local(event_loop::attend(shared.clone(), listener));
        Attended(shared)
    }

    /// Returns the options that can change while it runs.
    #[cfg(feature = "config")]
    pub(crate) fn live(&self) -> Live {
        self.live.clone()
    }

    /// Gives the router what the server knows of calls.
    fn settle(&mut self) {
        if let Some(admin) = &self.admin {
            // Behind those that find out who calls.
            let watch = Arc::new(admin.interceptor());
            self.router.interceptors.add(watch);
        }
        self.router.limits = self.limits.message;
        self.router.calls_per_connection = self.limits.calls_per_connection;
    }

    /// Adds what is known once all services are there.
    fn prepare(&mut self) -> Result<(), Status> {
        self.settle();
        self.router.prepare()
    }

    /// Returns the addresses on which it listens so far, with real ports.
    pub fn addresses(&self) -> Vec<Address> {
        self.sockets
            .iter()
            .map(|open| open.local().clone())
            .collect()
    }
}
