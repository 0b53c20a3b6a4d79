//! Servers: any number of contracts behind any number of addresses, every wire on each.

mod counters;
#[cfg(feature = "async")]
mod event_loop;
mod limits;
#[cfg(feature = "async")]
mod local;
mod machine;
mod router;
mod running;
mod session;
mod threads;

pub use counters::Counters;
pub use limits::ServerLimits;
#[cfg(feature = "async")]
pub(crate) use local::{Calls, Local};

use crate::functions::{Bound, Function};
use crate::transport::{
    Listener, MemoryConnector, Pipe, Polling, SocketListener, Stream, meet, memory,
};
use crate::{Address, Service};
use counters::{SharedCounters, count};
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::thrift::{CustomProtocol, ServerOptions};
use router::Router;
use std::io;
#[cfg(feature = "async")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long to wait after an `accept` that failed for want of resources.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// How many connections too many are told so at a time.
const TURNED_AWAY: usize = 1_000;

/// How long to listen to a peer that has been told why its connection ends. To close at once would reset
/// the connection where the peer still sends, and a reset destroys what it has not yet read.
const LINGER: Duration = Duration::from_secs(2);

/// How a server spends threads on its sockets.
///
/// | model | threads | handlers run | choose it for |
/// |---|---|---|---|
/// | `EventLoops` | one for each core | on their connection's loop | most servers; handlers that do not block |
/// | `SingleThreaded` | one | on it | small services, and handlers that must not run at the same time |
/// | `ThreadPool` | event loops, and a pool | in the pool | handlers that block: databases, files |
/// | `ThreadPerConnection` | one for each connection | on it | few busy clients, the lowest latency, no async runtime |
///
/// Calls that one client sends without waiting for answers run side by side, where the client says that it
/// tells answers apart: over THeader. All others run in order in every model, as in the servers of Apache
/// Thrift, whose clients expect it, and nothing overtakes a one-way call. `docs/server.md` has the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A thread for each connection, without an async runtime.
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
    services: Vec<Box<dyn Service>>,
    model: Model,
    limits: ServerLimits,
    compression: Option<Compression>,
    polling: Polling,
    local_upgrade: bool,
    protocols: Vec<&'static dyn CustomProtocol>,
    sockets: Vec<SocketListener>,
    others: Vec<Arc<dyn Listener>>,
}

impl Default for Server {
    fn default() -> Self {
        Server {
            services: Vec::new(),
            model: DEFAULT_MODEL,
            limits: ServerLimits::default(),
            compression: None,
            polling: Polling::default(),
            local_upgrade: true,
            protocols: Vec::new(),
            sockets: Vec::new(),
            others: Vec::new(),
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
        self.services.push(Box::new(service));
        self
    }

    /// Serves a function under a name, without a contract: `server.bind("add", |a: i32, b: i32| a + b)`.
    ///
    /// It takes up to twelve parameters of types that contracts can have, and gives one, or a `Result` of one and of a
    /// [`Status`](crate::Status); an async one gives a future of that. Callers number its parameters from 1, in order, or, as in msgpack-rpc,
    /// say them in order. What is kept of it is never freed. Among functions, and methods of services, of the same name the first
    /// one counts.
    pub fn bind<Form: 'static>(self, name: &'static str, function: impl Function<Form>) -> Self {
        self.service(Bound::new(name, function))
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

    /// Compresses the answers and items that are sent, on Dovetail's own wire, to clients that say that they can
    /// decompress them. Over THeader answers are compressed as calls are. Default: not at all.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Chooses when a thread or an event loop that waits for a connection polls before it sleeps.
    pub fn polling(mut self, polling: Polling) -> Self {
        self.polling = polling;
        self
    }

    /// Lets clients on the same machine that connected by TCP move to shared memory, where both ends can: by an
    /// abstract Unix socket, which a server that listens on TCP opens for it. Default: yes.
    pub fn local_upgrade(mut self, local_upgrade: bool) -> Self {
        self.local_upgrade = local_upgrade;
        self
    }

    /// Adds a protocol that is not built in.
    pub fn protocol(mut self, protocol: &'static dyn CustomProtocol) -> Self {
        self.protocols.push(protocol);
        self
    }

    /// Listens on an address: `tcp://127.0.0.1:9090`, `unix:/path`. Clients can connect from now on; they
    /// are answered once the server has started.
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

    /// What its drivers share.
    fn into_shared(self, meeting: Option<u128>) -> Arc<Shared> {
        Arc::new(Shared {
            options: Arc::new(ServerOptions {
                limits: self.limits.connection,
                custom: self.protocols,
                ..ServerOptions::default()
            }),
            router: Router::new(self.services),
            limits: self.limits,
            compression: self.compression,
            counters: SharedCounters::default(),
            waiting: AtomicUsize::new(0),
            polling: self.polling,
            meeting,
            draining: AtomicBool::new(false),
            accepting: AtomicUsize::new(0),
            next_guest: AtomicU64::new(0),
            guests: Mutex::default(),
            left: Condvar::new(),
            #[cfg(feature = "async")]
            runtime: OnceLock::new(),
        })
    }

    /// Where clients on the same machine find it by shared memory, if it has any that come by TCP. Nobody needs to
    /// know where that cannot be had.
    fn meet(&self, addresses: &[Address]) -> Option<(u128, SocketListener)> {
        let tcp = addresses.iter().any(|a| matches!(a, Address::Tcp(_)));
        (self.local_upgrade && tcp).then(|| meet().ok())?
    }

    /// Starts serving.
    pub fn start(mut self) -> io::Result<Running> {
        let (mut sockets, others) = (
            std::mem::take(&mut self.sockets),
            std::mem::take(&mut self.others),
        );
        let addresses: Vec<_> = sockets.iter().map(|open| open.local().clone()).collect();
        let meeting = self.meet(&addresses);
        let number = meeting.as_ref().map(|(number, _)| *number);
        sockets.extend(meeting.map(|(_, listener)| listener));
        let model = self.model;
        let mut running = Running {
            addresses,
            listeners: Vec::new(),
            threads: Vec::new(),
            shared: self.into_shared(number),
            #[cfg(feature = "async")]
            loops: Vec::new(),
        };
        let sockets: Vec<Arc<SocketListener>> = sockets.into_iter().map(Arc::new).collect();
        match model {
            Model::ThreadPerConnection => {
                for listener in sockets {
                    running.accept_on_thread(listener)?;
                }
            }
            #[cfg(feature = "async")]
            model => {
                // The loops close them, each when the last loop has ended accepting.
                let open = |socket| Arc::new(event_loop::Open(socket));
                let open: Vec<_> = sockets.into_iter().map(open).collect();
                running.loops = event_loop::start(model, &open, &running.shared)?;
            }
        }
        // After the loops, whose timers and tasks the handlers may use.
        for listener in others {
            running.accept_on_thread(listener)?;
        }
        Ok(running)
    }

    /// Serves one connection on a stream, on this thread, until the peer closes it.
    pub fn serve_stream(self, stream: Arc<dyn Stream>) -> io::Result<()> {
        let running = self.start()?;
        let Some(guest) = running.shared.admit(Some(stream.clone()), false) else {
            return Ok(());
        };
        let shared = running.shared.clone();
        let served = shared.in_runtime(|| threads::serve(&stream, &shared, guest.welcome));
        drop(guest);
        running.shutdown(Duration::ZERO);
        served
    }

    /// Serves this process's standard input and output, on this thread, until the client closes its end: what
    /// a program does that others start as a part of theirs ([`Program`](crate::transport::Program)). What
    /// the process prints meanwhile goes to standard error.
    pub fn serve_stdio(self) -> io::Result<()> {
        self.serve_stream(Arc::new(Pipe::stdio()?))
    }
}

/// What all drivers of a server share.
struct Shared {
    options: Arc<ServerOptions>,
    router: Router,
    limits: ServerLimits,
    compression: Option<Compression>,
    counters: SharedCounters,
    /// Calls whose handlers wait.
    waiting: AtomicUsize,
    polling: Polling,
    /// Where clients on the same machine find it by shared memory.
    meeting: Option<u128>,
    draining: AtomicBool,
    /// Those who accept connections.
    accepting: AtomicUsize,
    next_guest: AtomicU64,
    guests: Mutex<Vec<Seat>>,
    /// Notified when a connection has ended.
    left: Condvar,
    /// What handlers on threads of their own use of an async runtime: the first event loop's.
    #[cfg(feature = "async")]
    runtime: OnceLock<tokio::runtime::Handle>,
}

/// A connection by its number, with the stream that ends it where it has a thread of its own.
type Seat = (u64, Option<Arc<dyn Stream>>);

impl Shared {
    /// True for the address where clients find it that came by TCP.
    fn is_met_at(&self, address: &str) -> bool {
        self.meeting
            .is_some_and(|number| Address::meeting(number).to_string() == address)
    }

    /// Counts a connection in. One too many is let in, to be told; `None` where there are far too many, and for one
    /// too many of those who have another one, and `meet` the server here.
    fn admit(self: &Arc<Self>, stream: Option<Arc<dyn Stream>>, meets: bool) -> Option<Guest> {
        let counters = &self.counters;
        let mut guests = self.guests();
        let welcome = guests.len() < self.limits.connections;
        if meets {
            match welcome {
                true => count(&counters.local_connections),
                false => return None,
            }
        }
        match welcome {
            true => count(&counters.connections),
            false => count(&counters.refused_connections),
        }
        let full = guests.len() >= self.limits.connections.saturating_add(TURNED_AWAY);
        if full {
            return None;
        }
        let id = self.next_guest.fetch_add(1, Ordering::Relaxed);
        guests.push((id, stream));
        Some(Guest {
            id,
            welcome,
            shared: self.clone(),
        })
    }

    /// Runs a connection's thread such that its handlers find the runtime of the event loops, where the
    /// server has any.
    fn in_runtime<R>(&self, serve: impl FnOnce() -> R) -> R {
        #[cfg(feature = "async")]
        let _entered = self.runtime.get().map(tokio::runtime::Handle::enter);
        serve()
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Seat>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who accepts connections, counted as long as this exists.
struct Accepts(Arc<Shared>);

impl Accepts {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.accepting.fetch_add(1, Ordering::SeqCst);
        Accepts(shared.clone())
    }
}

impl Drop for Accepts {
    fn drop(&mut self) {
        let _guests = self.0.guests();
        self.0.accepting.fetch_sub(1, Ordering::SeqCst);
        self.0.left.notify_all();
    }
}

/// A connection that is counted as long as this exists.
struct Guest {
    id: u64,
    /// False for a connection too many.
    welcome: bool,
    shared: Arc<Shared>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut guests = self.shared.guests();
        // Ids only grow, so the list is sorted.
        if let Ok(index) = guests.binary_search_by_key(&self.id, |guest| guest.0) {
            guests.remove(index);
        }
        self.shared.left.notify_all();
    }
}

/// A server at work. It goes on when this is dropped; [`shutdown`](Self::shutdown) ends it.
pub struct Running {
    addresses: Vec<Address>,
    listeners: Vec<Arc<dyn Listener>>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
    #[cfg(feature = "async")]
    loops: Vec<event_loop::Loop>,
}

impl Running {
    /// Where it listens, with real ports, in the order of [`Server::listen`].
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What it has done and refused so far.
    pub fn counters(&self) -> Counters {
        self.shared.counters.read()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.shared.guests().len()
    }

    /// Stops accepting, lets the calls that have arrived finish, and closes the connections; those that are
    /// left after `drain` are cut. True where none was.
    #[cfg_attr(
        not(feature = "async"),
        expect(unused_mut, reason = "only event loops are taken out")
    )]
    pub fn shutdown(mut self, drain: Duration) -> bool {
        let deadline = Instant::now() + drain;
        self.shared.draining.store(true, Ordering::SeqCst);
        for listener in &self.listeners {
            listener.close();
        }
        #[cfg(feature = "async")]
        for event_loop in &self.loops {
            event_loop.drain();
        }
        for (_, stream) in self.shared.guests().iter() {
            if let Some(stream) = stream {
                stream.shutdown_recv();
            }
        }
        let drained = self.wait_until_empty(deadline);
        for (_, stream) in self.shared.guests().iter() {
            if let Some(stream) = stream {
                stream.shutdown();
            }
        }
        #[cfg(feature = "async")]
        for event_loop in self.loops.drain(..) {
            event_loop.stop();
        }
        self.wait();
        drained
    }

    /// Waits until the server has ended; for ever unless another thread ends it.
    pub fn wait(self) {
        for thread in self.threads {
            // A thread of ours that panicked has nothing to tell that its panic message did not.
            let _ = thread.join();
        }
        #[cfg(feature = "async")]
        for event_loop in self.loops {
            event_loop.join();
        }
    }

    fn wait_until_empty(&self, deadline: Instant) -> bool {
        let mut guests = self.shared.guests();
        // Who accepts may still have guests to bring.
        while !guests.is_empty() || self.shared.accepting.load(Ordering::SeqCst) > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.left.wait_timeout(guests, left);
            guests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn accept_on_thread(&mut self, listener: Arc<dyn Listener>) -> io::Result<()> {
        self.listeners.push(listener.clone());
        let shared = self.shared.clone();
        let accepts = Accepts::new(&shared);
        let accept = move || {
            threads::accept(&*listener, &shared);
            drop(accepts);
        };
        let thread = thread::Builder::new().name("dovetail accept".to_owned());
        self.threads.push(thread.spawn(accept)?);
        Ok(())
    }
}
