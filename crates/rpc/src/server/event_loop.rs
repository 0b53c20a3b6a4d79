//! The driver for many connections: tokio's current-thread runtime, one for each loop, all accepting from the
//! same listening sockets. A connection stays on the loop that accepted it.

use super::counters::count;
use super::threads::block_on;
use super::{ACCEPT_PAUSE, Guest, Model, Shared, hello};
use crate::transport::{Listener as _, SocketListener};
use bytes::BytesMut;
use dovetail_protocol::thrift::{IncomingCall, ServerConnection};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::timeout;

/// Where a loop receives small messages, whatever the connection: an idle connection keeps no buffer.
const SCRATCH: usize = 64 << 10;

/// Answers that wait for calls which have arrived with theirs leave at the latest when they are this long.
const FLUSH: usize = 256 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// How far a loop has been told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Accept nothing, close what is idle.
    Draining,
    Stopped,
}

/// An event loop on its thread.
pub(super) struct Loop {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
}

impl Loop {
    pub(super) fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    pub(super) fn stop(self) {
        self.phase.send_replace(Phase::Stopped);
        self.join();
    }

    pub(super) fn join(self) {
        // A loop that panicked has nothing to tell that its panic message did not.
        let _ = self.thread.join();
    }
}

/// A listening socket, closed when no loop accepts from it any longer. Not before: a Unix socket that is
/// shut down is ready for ever and has no connection to give, over which tokio's `accept` never returns.
pub(super) struct Open(pub(super) Arc<SocketListener>);

impl Open {
    fn handle(&self) -> io::Result<socket2::Socket> {
        self.0.handle()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(super) fn start(
    model: Model,
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<Vec<Loop>> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let (loops, pool) = match model {
        Model::EventLoops(loops) => (loops.unwrap_or_else(cores).max(1), None),
        Model::ThreadPool(threads) => (cores().div_ceil(2), Some(threads.max(1))),
        Model::SingleThreaded | Model::ThreadPerConnection => (1, None),
    };
    (0..loops)
        .map(|number| start_loop(number, pool, listeners, shared))
        .collect()
}

fn start_loop(
    number: usize,
    pool: Option<usize>,
    listeners: &[Arc<Open>],
    shared: &Arc<Shared>,
) -> io::Result<Loop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(pool.unwrap_or(512))
        .build()?;
    // The first loop's, where there are several.
    let _ = shared.runtime.set(runtime.handle().clone());
    let mut sockets = Vec::new();
    for listener in listeners {
        sockets.push((listener.handle()?, listener.clone()));
    }
    let (phase, told) = watch::channel(Phase::Serving);
    let site = Site {
        shared: shared.clone(),
        told,
        pooled: pool.is_some(),
    };
    let thread = thread::Builder::new()
        .name(format!("dovetail loop {number}"))
        .spawn(move || {
            LocalSet::new().block_on(&runtime, async move {
                for (socket, open) in sockets {
                    let site = site.clone();
                    tokio::task::spawn_local(async move {
                        site.accept(socket).await;
                        drop(open);
                    });
                }
                let mut told = site.told.clone();
                drop(site);
                // Ends at `Stopped`, or when nobody can say it any longer and the loop serves for ever.
                if told
                    .wait_for(|phase| *phase == Phase::Stopped)
                    .await
                    .is_err()
                {
                    std::future::pending::<()>().await;
                }
            });
        })?;
    Ok(Loop { phase, thread })
}

/// What every connection of a loop needs.
#[derive(Clone)]
struct Site {
    shared: Arc<Shared>,
    told: watch::Receiver<Phase>,
    /// True where handlers run in the runtime's pool of blocking threads.
    pooled: bool,
}

/// The two kinds of socket, alike to what is above.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
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

    async fn accept(&self) -> io::Result<(Stream, Arc<str>)> {
        Ok(match self {
            Acceptor::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                (Stream::Tcp(stream), peer.to_string().into())
            }
            Acceptor::Unix(listener) => (Stream::Unix(listener.accept().await?.0), "unix".into()),
        })
    }
}

impl Stream {
    async fn readable(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.readable().await,
            Stream::Unix(stream) => stream.readable().await,
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.try_read(buffer),
            Stream::Unix(stream) => stream.try_read(buffer),
        }
    }

    /// Reads behind what the buffer holds, into memory that nobody has to clear before.
    fn try_read_behind(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.try_read_buf(buffer),
            Stream::Unix(stream) => stream.try_read_buf(buffer),
        }
    }

    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.write_all(bytes).await,
            Stream::Unix(stream) => stream.write_all(bytes).await,
        }
    }
}

impl Site {
    async fn accept(mut self, socket: socket2::Socket) {
        let Ok(acceptor) = Acceptor::new(socket) else {
            return;
        };
        let mut told = self.told.clone();
        loop {
            let accepted = tokio::select! {
                accepted = acceptor.accept() => accepted,
                _ = told.wait_for(|phase| *phase != Phase::Serving) => return,
            };
            match accepted {
                Ok((stream, peer)) => self.welcome(stream, peer),
                // Out of descriptors, or a peer that is gone already: the next one may be better.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    fn welcome(&mut self, stream: Stream, peer: Arc<str>) {
        let Some(guest) = self.shared.admit(None) else {
            return;
        };
        let site = self.clone();
        tokio::task::spawn_local(async move {
            // An error of the transport is the end of the connection, and the peer knows.
            let _ = site.serve(stream, peer, guest).await;
        });
    }

    async fn serve(mut self, mut stream: Stream, peer: Arc<str>, guest: Guest) -> io::Result<()> {
        let limits = self.shared.router.limits;
        let mut connection = Box::new(ServerConnection::new(hello(&self.shared)));
        let (mut input, mut out) = (BytesMut::new(), Vec::new());
        let mut message_began = None;
        loop {
            let closes = loop {
                match connection.receive(&mut input) {
                    Ok(Some(call)) => {
                        message_began = None;
                        let closes = call.reply.closes();
                        out = self.answer(call, &peer, out).await;
                        if closes {
                            break true;
                        }
                        if out.len() > FLUSH {
                            self.send(&mut stream, &mut out).await?;
                        }
                    }
                    Ok(None) => break false,
                    Err(error) => {
                        count(&self.shared.router.counters.protocol_errors);
                        connection.goodbye(&error, &mut out);
                        break true;
                    }
                }
            };
            connection.transmit(&mut out);
            self.send(&mut stream, &mut out).await?;
            if closes {
                drop(guest);
                return Ok(());
            }
            let patience = match input.is_empty() {
                true => {
                    // An idle connection keeps nothing.
                    (input, out) = (BytesMut::new(), Vec::new());
                    limits.idle
                }
                false => {
                    let began = *message_began.get_or_insert_with(Instant::now);
                    limits.transfer.saturating_sub(began.elapsed())
                }
            };
            match self
                .receive(&mut stream, &mut input, connection.needs(), patience)
                .await?
            {
                0 => {
                    if connection.end(&mut input).is_err() {
                        count(&self.shared.router.counters.protocol_errors);
                    }
                    return Ok(());
                }
                _ => continue,
            }
        }
    }

    async fn answer(&self, call: IncomingCall, peer: &Arc<str>, out: Vec<u8>) -> Vec<u8> {
        if !self.pooled {
            return self.shared.router.answer(call, peer, out).await;
        }
        let (shared, peer) = (self.shared.clone(), peer.clone());
        let work = move || block_on(shared.router.answer(call, &peer, out));
        // Fails only when the runtime is going down, and nobody is there to be answered.
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    /// Receives into `input`; 0 where the peer has closed, or the server drains and nothing has arrived.
    async fn receive(
        &mut self,
        stream: &mut Stream,
        input: &mut BytesMut,
        needs: usize,
        patience: Duration,
    ) -> io::Result<usize> {
        let idle = input.is_empty();
        let read = async {
            match needs <= SCRATCH {
                true => receive_small(stream, input).await,
                false => receive_large(stream, input, needs).await,
            }
        };
        let received = tokio::select! {
            biased;
            received = timeout(patience, read) => received,
            _ = self.told.wait_for(|phase| *phase != Phase::Serving), if idle => return Ok(0),
        };
        received.unwrap_or_else(|_| {
            count(&self.shared.router.counters.timeouts);
            Err(io::ErrorKind::TimedOut.into())
        })
    }

    async fn send(&self, stream: &mut Stream, out: &mut Vec<u8>) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let sent = timeout(self.shared.router.limits.transfer, stream.write_all(out)).await;
        out.clear();
        sent.unwrap_or_else(|_| {
            count(&self.shared.router.counters.timeouts);
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

async fn receive_small(stream: &Stream, input: &mut BytesMut) -> io::Result<usize> {
    let read = || {
        BUFFER.with_borrow_mut(|buffer| {
            let received = stream.try_read(buffer)?;
            input.extend_from_slice(buffer.get(..received).unwrap_or_default());
            Ok(received)
        })
    };
    when_readable(stream, read).await
}

async fn receive_large(stream: &Stream, input: &mut BytesMut, needs: usize) -> io::Result<usize> {
    input.reserve(needs);
    when_readable(stream, || stream.try_read_behind(input)).await
}

async fn when_readable(
    stream: &Stream,
    mut read: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match read() {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => stream.readable().await?,
            result => return result,
        }
    }
}
