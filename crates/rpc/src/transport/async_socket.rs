//! A socket on an event loop: of a server's connections, and of async clients.

use super::poll;
use super::presence::gone;
use super::shm::{AsyncMemory, admits};
use super::socket::{ports, unreachable};
use super::{AsyncTls, MemoryStream, PIECE, Process, SpinPolicy, Stream as _, Wait};
use crate::buffers::Gathered;
use crate::{Address, buffers};
use bytes::BytesMut;
use socket2::{SockRef, Socket};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice, Read as _};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream, lookup_host};

/// The buffer in which a thread receives small messages, whatever the connection: an idle
/// connection keeps none.
const SCRATCH: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// A connection, whatever it goes over.
pub(crate) enum AsyncSocket {
    Tcp(TcpStream),
    Unix {
        socket: UnixStream,
        /// A peer that was accepted may choose shared memory by its first bytes.
        chosen: bool,
    },
    Memory(Box<AsyncMemory>),
    /// The other end is in this process.
    Process(MemoryStream),
    Tls(Box<AsyncTls>),
}

/// Shared memory, or the socket itself.
pub(crate) struct Choice(Option<Box<AsyncMemory>>);

impl AsyncSocket {
    /// Takes over a socket that was accepted.
    pub(crate) fn new(socket: socket2::Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(match socket.local_addr()?.is_unix() {
            true => AsyncSocket::accepted(UnixStream::from_std(socket.into())?)
                .ok_or(io::ErrorKind::PermissionDenied)?,
            false => {
                socket.set_tcp_nodelay(true)?;
                AsyncSocket::Tcp(TcpStream::from_std(socket.into())?)
            }
        })
    }

    /// The socket of a connection of which nothing has been received, for another event loop.
    pub(crate) fn into_socket(self) -> io::Result<socket2::Socket> {
        Ok(match self {
            AsyncSocket::Tcp(stream) => stream.into_std()?.into(),
            AsyncSocket::Unix { socket, .. } => socket.into_std()?.into(),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    /// Connects, without TLS yet where the address asks for that.
    pub(crate) async fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(place) | Address::Tls(place) => {
                let stream = connect(place).await?;
                stream.set_nodelay(true)?;
                AsyncSocket::Tcp(stream)
            }
            Address::Unix(path) => AsyncSocket::Unix {
                socket: UnixStream::connect(path).await?,
                chosen: true,
            },
            Address::Shm(path) => AsyncSocket::Memory(Box::new(AsyncMemory::connect(path).await?)),
        })
    }

    /// The ports of this end and of the other one, where it is TCP.
    pub(crate) fn ports(&self) -> Option<(u16, u16)> {
        match self {
            AsyncSocket::Tcp(stream) => ports(&SockRef::from(stream)),
            _ => None,
        }
    }

    /// The process at the other end of a Unix socket.
    pub(crate) fn process(&self) -> Option<Process> {
        match self {
            AsyncSocket::Unix { socket, .. } => Process::at(socket),
            _ => None,
        }
    }

    /// A peer on a Unix socket; `None` for a stranger where only the own user is admitted.
    pub(crate) fn accepted(socket: UnixStream) -> Option<Self> {
        admits(&socket).then_some(AsyncSocket::Unix {
            socket,
            chosen: false,
        })
    }

    /// Returns whether the way in which an accepted peer goes on is to be waited for.
    pub(crate) fn chooses(&self) -> bool {
        matches!(self, AsyncSocket::Unix { chosen: false, .. })
    }

    /// Returns the way in which an accepted peer goes on, which its first bytes say. Nothing is
    /// lost where the future is dropped.
    pub(crate) async fn choice(&self) -> io::Result<Choice> {
        Ok(Choice(match self {
            AsyncSocket::Unix {
                socket,
                chosen: false,
            } => AsyncMemory::chosen(socket).await?.map(Box::new),
            _ => None,
        }))
    }

    /// Goes on with what the peer has chosen.
    pub(crate) fn choose(&mut self, choice: Choice) {
        match (choice.0, self) {
            (Some(memory), socket) => *socket = AsyncSocket::Memory(memory),
            (None, AsyncSocket::Unix { chosen, .. }) => *chosen = true,
            (None, _) => {}
        }
    }

    /// Receives behind what `input` holds, polling first where that has paid lately; 0 at the end.
    /// Nothing is lost where the future is dropped.
    pub(crate) async fn receive(
        &self,
        input: &mut BytesMut,
        needs: usize,
        spin_policy: &mut SpinPolicy,
    ) -> io::Result<usize> {
        match self.spin(input, needs, spin_policy).await {
            Ok(received) => received,
            Err(start) => self.receive_later(input, needs, spin_policy, start).await,
        }
    }

    /// The first half of [`receive`](Self::receive): polls, where that has paid lately. The error
    /// says that nothing has come since this moment.
    pub(crate) async fn spin(
        &self,
        input: &mut BytesMut,
        needs: usize,
        spin_policy: &mut SpinPolicy,
    ) -> Result<io::Result<usize>, Instant> {
        let Some(mut poll) = spin_policy.poll() else {
            return Err(Instant::now());
        };
        loop {
            match self.look(input, needs) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    spin_policy.met(&poll);
                    return Ok(result);
                }
            }
            // Whatever else the loop has to do is done now, then the sockets are looked at.
            tokio::task::yield_now().await;
            if !spin_policy.goes_on(&mut poll) {
                return Err(poll.start().unwrap_or_else(Instant::now));
            }
        }
    }

    /// The second half of [`receive`](Self::receive), which has begun at `start`: waits.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its parameters twice, on each idle connection"
    )]
    pub(crate) fn receive_later<'a>(
        &'a self,
        input: &'a mut BytesMut,
        needs: usize,
        spin_policy: &'a mut SpinPolicy,
        start: Instant,
    ) -> impl Future<Output = io::Result<usize>> + 'a {
        async move {
            let result = self.when_readable(|| self.try_receive(input, needs)).await;
            spin_policy.waited(start);
            result
        }
    }

    fn try_receive(&self, input: &mut BytesMut, needs: usize) -> io::Result<usize> {
        if needs > SCRATCH {
            input.reserve(needs);
        }
        if let AsyncSocket::Tls(tls) = self {
            return with_scratch(|scratch| tls.try_receive(scratch, input));
        }
        if needs > SCRATCH {
            return self.try_read_behind(input);
        }
        through_scratch(input, |scratch| self.try_read(scratch))
    }

    /// One look of a poll, at the socket itself: what the event loop knows of it, it learns by a
    /// system call of its own.
    fn look(&self, input: &mut BytesMut, needs: usize) -> io::Result<usize> {
        match self {
            AsyncSocket::Memory(memory) if !memory.look() => Err(io::ErrorKind::WouldBlock.into()),
            AsyncSocket::Tcp(stream) if needs <= SCRATCH => look_at(&SockRef::from(stream), input),
            AsyncSocket::Unix { socket, .. } if needs <= SCRATCH => {
                look_at(&SockRef::from(socket), input)
            }
            _ => self.try_receive(input, needs),
        }
    }

    /// Receives until the peer closes, and keeps nothing.
    pub(crate) async fn discard(&self) {
        while let Ok(1..) = self
            .when_readable(|| with_scratch(|scratch| self.try_read(scratch)))
            .await
        {}
    }

    /// Sends a message, of which so much has left, as far as there is room. Gives how much of it
    /// has left then.
    pub(crate) fn try_send_gathered(&self, message: &Gathered, sent: usize) -> io::Result<usize> {
        match message.blobs.is_empty() {
            true => self.try_send_slices(&mut [IoSlice::new(&message.bytes)], sent),
            // Blobs from where they are.
            false => self.try_send_slices(&mut message.slices(), sent),
        }
    }

    fn try_send_slices(
        &self,
        mut slices: &mut [IoSlice<'_>],
        mut sent: usize,
    ) -> io::Result<usize> {
        IoSlice::advance_slices(&mut slices, sent);
        while let [first, rest @ ..] = &*slices {
            let more = match self {
                AsyncSocket::Tcp(stream) if !rest.is_empty() => stream.try_write_vectored(slices),
                AsyncSocket::Unix { socket, .. } if !rest.is_empty() => {
                    socket.try_write_vectored(slices)
                }
                AsyncSocket::Tls(tls) => tls.try_send(slices),
                // Each piece is written to its place in a ring by itself anyway.
                _ => self.try_send(first),
            };
            match more {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => {
                    sent += more;
                    IoSlice::advance_slices(&mut slices, more);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(sent)
    }

    /// Sends as much as the socket takes, once it takes something. Nothing is lost where the future
    /// is dropped.
    pub(crate) async fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.try_send(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                result => return result,
            }
        }
    }

    /// Waits until it is worth while to try to send again.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            AsyncSocket::Tcp(stream) => stream.writable().await,
            AsyncSocket::Unix { socket, .. } => socket.writable().await,
            AsyncSocket::Memory(memory) => memory.writable().await,
            AsyncSocket::Process(stream) => {
                stream.writable().await;
                Ok(())
            }
            AsyncSocket::Tls(tls) => tls.writable().await,
        }
    }

    /// Waits until the peer has gone, whatever of its bytes has not been received; `half` where one
    /// has that has closed its sending side.
    pub(crate) async fn gone(&self, half: bool) {
        match self {
            AsyncSocket::Tcp(stream) => gone!(stream, half),
            AsyncSocket::Unix { socket, .. } => gone!(socket, half),
            AsyncSocket::Memory(memory) => memory.gone(half).await,
            AsyncSocket::Process(stream) => stream.gone(half).await,
            AsyncSocket::Tls(tls) => tls.gone(half).await,
        }
    }

    /// Lets threads run that wait for the core, behind an answer: on one machine often its reader,
    /// for which the cache still has what the kernel is to copy. A loop that has one connection
    /// does not ask the kernel for it where the answer did not take it either, nor where the core
    /// has lately gone to a program that computes.
    pub(crate) fn give_way(&self, alone: bool) {
        match self {
            AsyncSocket::Process(_) => {}
            _ if !alone => std::thread::yield_now(),
            AsyncSocket::Memory(_) => {}
            AsyncSocket::Tcp(_) | AsyncSocket::Unix { .. } | AsyncSocket::Tls(_) => {
                poll::give_way();
            }
        }
    }

    pub(crate) async fn shutdown_send(&mut self) -> io::Result<()> {
        match self {
            AsyncSocket::Tcp(stream) => stream.shutdown().await,
            AsyncSocket::Unix { socket, .. } => socket.shutdown().await,
            AsyncSocket::Memory(memory) => {
                memory.shutdown_send();
                Ok(())
            }
            AsyncSocket::Process(stream) => {
                stream.shutdown_send();
                Ok(())
            }
            AsyncSocket::Tls(tls) => tls.shutdown_send().await,
        }
    }

    async fn when_readable(
        &self,
        mut read: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match read() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => match self {
                    // Smaller than the future of `readable`, which every idle connection would
                    // keep.
                    AsyncSocket::Tcp(stream) => {
                        poll_fn(|task| stream.poll_read_ready(task)).await?
                    }
                    AsyncSocket::Unix { socket, .. } => {
                        poll_fn(|task| socket.poll_read_ready(task)).await?;
                    }
                    AsyncSocket::Memory(memory) => memory.readable().await?,
                    AsyncSocket::Process(stream) => Box::pin(stream.readable()).await,
                    AsyncSocket::Tls(tls) => tls.readable().await?,
                },
                result => return result,
            }
        }
    }

    /// Sends as much as the socket takes now; `WouldBlock` where that is nothing.
    pub(crate) fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_write(bytes),
            AsyncSocket::Unix { socket, .. } => socket.try_write(bytes),
            AsyncSocket::Memory(memory) => memory.try_write(bytes),
            AsyncSocket::Process(stream) => stream.try_write(bytes),
            AsyncSocket::Tls(tls) => tls.try_send(&[IoSlice::new(bytes)]),
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_read(buffer),
            AsyncSocket::Unix { socket, .. } => socket.try_read(buffer),
            AsyncSocket::Memory(memory) => memory.try_read(buffer),
            AsyncSocket::Process(stream) => stream.recv(buffer, Wait::Poll),
            // Only to be thrown away: what is wanted is received with `try_receive`.
            AsyncSocket::Tls(tls) => tls.try_discard(buffer),
        }
    }

    /// Reads behind what the buffer holds, into memory that nobody has cleared.
    fn try_read_behind(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            AsyncSocket::Tcp(stream) => stream.try_read_buf(buffer),
            AsyncSocket::Unix { socket, .. } => socket.try_read_buf(buffer),
            AsyncSocket::Memory(memory) => memory.try_read_behind(buffer),
            AsyncSocket::Process(_) | AsyncSocket::Tls(_) => {
                let start = buffer.len();
                buffer.resize(buffer.capacity().min(start + PIECE), 0);
                let place = buffer.get_mut(start..).unwrap_or_default();
                let received = self.try_read(place);
                buffer.truncate(start + received.as_ref().copied().unwrap_or(0));
                received
            }
        }
    }
}

fn look_at(mut socket: &Socket, input: &mut BytesMut) -> io::Result<usize> {
    through_scratch(input, |scratch| socket.read(scratch))
}

fn through_scratch(
    input: &mut BytesMut,
    read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    with_scratch(|scratch| {
        let received = read(scratch)?;
        if input.capacity() == 0 {
            *input = buffers::spare();
        }
        input.extend_from_slice(scratch.get(..received).unwrap_or_default());
        Ok(received)
    })
}

pub(super) fn with_scratch<R>(read: impl FnOnce(&mut [u8]) -> R) -> R {
    BUFFER.with_borrow_mut(|scratch| read(scratch))
}

/// Tries the addresses of a name in turn.
async fn connect(place: &str) -> io::Result<TcpStream> {
    let mut failures = Vec::new();
    for address in lookup_host(place).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failures.push((Some(address), error)),
        }
    }
    Err(unreachable(failures))
}
