//! The driver for many connections: tokio's current-thread runtime, one for each loop, all
//! accepting from the same listening sockets. A connection is served by the loop that has fewest of
//! them, and stays there.

mod connection;
mod entrance;
#[cfg(feature = "grpc")]
mod http2;
mod in_flight;
#[cfg(target_os = "linux")]
mod slice;
mod spares;
mod spread;
mod timed;

use super::admission::{Accepts, ConnectionGuard, ListenerKind};
use super::{ACCEPT_PAUSE, Model, Shared};
use crate::transport::{AsyncSocket, Listener as _, SocketListener, describe};
use spread::{LoopClaim, Slot};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
pub(super) use timed::Timed;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::LocalSet;

/// How far a loop has been told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Accept nothing, close what is idle.
    Draining,
    Stopped,
}

/// The threads on which handlers run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Handlers {
    /// The only loop's: no two handlers run at the same time.
    Alone,
    /// The loop's, and the pool's for functions that have lately held up a loop.
    Loop,
    /// Those of the runtime's pool of blocking threads.
    Pool,
}

/// An event loop.
pub(super) struct Loop {
    phase: watch::Sender<Phase>,
    /// Its thread, unless it runs where somebody else waits for it.
    thread: Option<JoinHandle<()>>,
    #[cfg(feature = "tower")]
    entrance: Entrance,
}

impl Loop {
    /// Returns the way by which connections of this process come to this loop, or to one that has
    /// fewer.
    #[cfg(feature = "tower")]
    pub(super) fn entrance(&self) -> Entrance {
        self.entrance.clone()
    }

    pub(super) fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    pub(super) fn stop(self) {
        self.phase.send_replace(Phase::Stopped);
        self.join();
    }

    pub(super) fn join(self) {
        // A loop that panicked has nothing to tell that its panic message did not.
        let _ = self.thread.map(JoinHandle::join);
    }
}

/// The way by which connections of this process come to a loop.
#[cfg(feature = "tower")]
#[derive(Clone)]
pub(super) struct Entrance {
    slot: Slot,
    inboxes: Inboxes,
}

#[cfg(feature = "tower")]
impl Entrance {
    /// Has a loop serve this connection. An error where the server ends, or has too many.
    pub(super) fn adopt(
        &self,
        shared: &Arc<Shared>,
        stream: std::os::unix::net::UnixStream,
    ) -> io::Result<()> {
        let (peer, kind) = (
            crate::transport::IN_PROCESS.to_owned(),
            ListenerKind::Mounted,
        );
        let guard = shared.admit(None, kind, &peer);
        let guard = guard.ok_or(io::ErrorKind::QuotaExceeded)?;
        let claim = self.slot.claim();
        let inbox = self.inboxes.get(claim.number());
        let accepted = Accepted {
            stream: stream.into(),
            peer,
            guard,
            kind,
            claim,
        };
        match inbox.map(|inbox| inbox.send(accepted)) {
            Some(Ok(())) => Ok(()),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

/// A listening socket, closed when no loop accepts from it any longer. Not before: a Unix socket
/// that is shut down is ready for ever and has no connection to give, over which tokio's `accept`
/// never returns.
pub(super) struct Open(pub(super) Arc<SocketListener>);

impl Open {
    fn handle(&self) -> io::Result<socket2::Socket> {
        self.0.handle()
    }

    /// Closes it, and gives what had connected before.
    fn close(&self) -> Vec<(socket2::Socket, socket2::SockAddr)> {
        self.0.close();
        self.0.take_late()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The most threads of the pool of a loop, unless the model says.
const POOL: usize = 512;

pub(super) fn start(
    model: Model,
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<Vec<Loop>> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let (loops, handlers, pool) = match model {
        Model::EventLoops(loops) => (loops.unwrap_or_else(cores).max(1), Handlers::Loop, POOL),
        Model::ThreadPool(threads) => (cores().div_ceil(2), Handlers::Pool, threads.max(1)),
        Model::SingleThreaded | Model::ThreadPerConnection => (1, Handlers::Alone, POOL),
    };
    let (inboxes, outlets): (Vec<_>, Vec<_>) = (0..loops).map(|_| unbounded_channel()).unzip();
    let inboxes: Inboxes = inboxes.into();
    spread::slots(loops)
        .zip(outlets)
        .map(|(slot, accepted)| {
            let queues = (inboxes.clone(), accepted);
            start_loop(slot, queues, (handlers, pool), listeners, shared)
        })
        .collect()
}

/// A connection that is to be served: a socket, where another loop than the one that has accepted
/// it does so.
struct Accepted<S> {
    stream: S,
    peer: String,
    guard: ConnectionGuard,
    kind: ListenerKind,
    claim: LoopClaim,
}

/// The queues that loops take connections from.
type Inboxes = Arc<[UnboundedSender<Accepted<socket2::Socket>>]>;

/// The queues of all loops, and the end of one that its loop has.
type Queues = (Inboxes, UnboundedReceiver<Accepted<socket2::Socket>>);

fn start_loop(
    slot: Slot,
    queues: Queues,
    (handlers, pool): (Handlers, usize),
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<Loop> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(pool);
    #[cfg(target_os = "linux")]
    if handlers == Handlers::Pool {
        runtime.on_thread_start(slice::restore);
    }
    let runtime = runtime.build()?;
    // The first loop's, where there are several.
    let _ = shared.runtime.set(runtime.handle().clone());
    let (mut event_loop, work) = prepare(slot, queues, handlers, listeners, shared)?;
    let number = work.loop_context.slot.number();
    let thread = thread::Builder::new()
        .name(format!("dovetail loop {number}"))
        .spawn(move || {
            #[cfg(target_os = "linux")]
            if handlers == Handlers::Pool {
                slice::shorten();
            }
            LocalSet::new().block_on(&runtime, work.run());
        })?;
    event_loop.thread = Some(thread);
    Ok(event_loop)
}

/// Returns a loop that serves while its future is polled, in a [`LocalSet`] of the caller's
/// runtime.
pub(super) fn here(
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<(Loop, impl Future<Output = ()> + use<>)> {
    let _ = shared.runtime.set(tokio::runtime::Handle::current());
    let (inbox, accepted) = unbounded_channel();
    let slot = spread::slots(1).next().ok_or(io::ErrorKind::NotFound)?;
    let queues = (Inboxes::from([inbox]), accepted);
    let (event_loop, work) = prepare(slot, queues, Handlers::Alone, listeners, shared)?;
    Ok((event_loop, work.run()))
}

/// Returns a loop that has no thread yet, and its work.
fn prepare(
    slot: Slot,
    (inboxes, accepted): Queues,
    handlers: Handlers,
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<(Loop, Work)> {
    let mut sockets = Vec::new();
    for listener in listeners {
        // Counted from now on: the thread may begin late.
        let accepts = Accepts::new(shared);
        let kind = shared.listener_kind(&listener.0.address());
        sockets.push((listener.handle()?, listener.clone(), accepts, kind));
    }
    let (phases, phase) = watch::channel(Phase::Serving);
    let loop_context = LoopContext {
        shared: shared.clone(),
        phase,
        handlers,
        slot,
        inboxes,
    };
    let event_loop = Loop {
        phase: phases,
        thread: None,
        #[cfg(feature = "tower")]
        entrance: Entrance {
            slot: loop_context.slot.clone(),
            inboxes: loop_context.inboxes.clone(),
        },
    };
    let work = Work {
        loop_context,
        sockets,
        accepted,
    };
    Ok((event_loop, work))
}

/// The work of a loop: accepting connections, and serving them.
struct Work {
    loop_context: LoopContext,
    sockets: Vec<(socket2::Socket, Arc<Open>, Accepts, ListenerKind)>,
    accepted: UnboundedReceiver<Accepted<socket2::Socket>>,
}

impl Work {
    /// Ends at `Stopped`; never where nobody can say that any longer: the loop serves for ever.
    async fn run(mut self) {
        let loop_context = Rc::new(self.loop_context);
        for (socket, open, accepts, kind) in self.sockets {
            let loop_context = loop_context.clone();
            tokio::task::spawn_local(async move {
                loop_context.accept(socket, kind).await;
                if let Some(open) = Arc::into_inner(open) {
                    loop_context.welcome_late(&open, kind);
                }
                drop(accepts);
            });
        }
        let mut phase = loop_context.phase.clone();
        tokio::task::spawn_local(async move {
            while let Some(accepted) = self.accepted.recv().await {
                loop_context.take_over(accepted);
            }
        });
        let stopped = phase.wait_for(|phase| *phase == Phase::Stopped);
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Serves what connects from this process, in the thread that runs this.
#[cfg(feature = "testing")]
pub(super) async fn attend(shared: Arc<Shared>, listener: crate::transport::MemoryListener) {
    let (_serves, phase) = watch::channel(Phase::Serving);
    let Some(slot) = spread::slots(1).next() else {
        return;
    };
    let loop_context = Rc::new(LoopContext {
        shared,
        phase,
        handlers: Handlers::Alone,
        slot,
        inboxes: Arc::default(),
    });
    loop {
        let stream = AsyncSocket::Process(listener.accepted().await);
        loop_context.welcome(
            stream,
            crate::transport::IN_PROCESS.to_owned(),
            ListenerKind::InProcess,
        );
    }
}

/// The part that every connection of a loop needs.
struct LoopContext {
    shared: Arc<Shared>,
    phase: watch::Receiver<Phase>,
    handlers: Handlers,
    slot: Slot,
    inboxes: Inboxes,
}

enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    fn new(socket: socket2::Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(match socket.local_addr()?.is_unix() {
            true => Acceptor::Unix(UnixListener::from_std(socket.into())?),
            false => Acceptor::Tcp(TcpListener::from_std(socket.into())?),
        })
    }

    async fn accept(&self) -> io::Result<(AsyncSocket, String)> {
        Ok(match self {
            Acceptor::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                (AsyncSocket::Tcp(stream), peer.to_string())
            }
            Acceptor::Unix(listener) => loop {
                let (socket, _) = listener.accept().await?;
                if let Some(socket) = AsyncSocket::accepted(socket) {
                    break (socket, describe(None));
                }
            },
        })
    }
}

impl LoopContext {
    async fn accept(self: &Rc<Self>, socket: socket2::Socket, kind: ListenerKind) {
        let Ok(acceptor) = Acceptor::new(socket) else {
            return;
        };
        let mut phase = self.phase.clone();
        loop {
            let accepted = tokio::select! {
                accepted = acceptor.accept() => accepted,
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
            };
            match accepted {
                Ok((stream, peer)) => self.welcome(stream, peer, kind),
                // Out of descriptors, or a peer that is gone already: the next one may be better.
                Err(error) => {
                    self.shared.accept_failed(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Tells clients that no loop had accepted that the server goes down. Their first calls would
    /// be lost without a word.
    fn welcome_late(self: &Rc<Self>, open: &Open, kind: ListenerKind) {
        for (socket, peer) in open.close() {
            if let Ok(stream) = AsyncSocket::new(socket) {
                self.welcome(stream, describe(peer.as_socket()), kind);
            }
        }
    }

    /// Finds a loop for a connection.
    fn welcome(self: &Rc<Self>, stream: AsyncSocket, peer: String, kind: ListenerKind) {
        let Some(guard) = self.shared.admit(None, kind, &peer) else {
            return;
        };
        let claim = self.slot.claim();
        match self.inboxes.get(claim.number()) {
            Some(inbox) if claim.number() != self.slot.number() => {
                let Ok(stream) = stream.into_socket() else {
                    return;
                };
                // Fails only where the server stops.
                let _ = inbox.send(Accepted {
                    stream,
                    peer,
                    guard,
                    kind,
                    claim,
                });
            }
            _ => self.serve(Accepted {
                stream,
                peer,
                guard,
                kind,
                claim,
            }),
        }
    }

    fn take_over(self: &Rc<Self>, accepted: Accepted<socket2::Socket>) {
        let Accepted {
            stream,
            peer,
            guard,
            kind,
            claim,
        } = accepted;
        if let Ok(stream) = AsyncSocket::new(stream) {
            self.serve(Accepted {
                stream,
                peer,
                guard,
                kind,
                claim,
            });
        }
    }

    fn serve(self: &Rc<Self>, accepted: Accepted<AsyncSocket>) {
        tokio::task::spawn_local(connection::serve(self.clone(), Box::new(accepted)));
    }
}
