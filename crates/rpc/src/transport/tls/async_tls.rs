//! TLS on an event loop.

use super::records::{Records, broken_off, refused};
use crate::buffers;
use crate::tls::{Session, TlsPeer};
use crate::transport::AsyncSocket;
use crate::transport::async_socket::with_scratch;
use crate::transport::presence::gone;
use bytes::BytesMut;
use rustix::net::Shutdown;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(feature = "grpc")]
use std::task::{Context, Poll, ready};
use tokio::net::{TcpStream, UnixStream};

/// A connection over TLS.
pub(crate) struct AsyncTls {
    socket: Socket,
    /// The state, which one task has.
    state: Mutex<TlsState>,
}

struct TlsState {
    records: Records,
    /// The bytes that came with the end of the handshake.
    plain: BytesMut,
    /// Records that are being sent, and how much of them has left.
    out: Vec<u8>,
    sent: usize,
    /// How many bytes of the caller's they hold. They count as sent when the records are.
    owed: usize,
}

/// The socket below TLS.
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Calls a method of the socket, whatever kind it is.
macro_rules! on {
    ($self:expr, $socket:ident => $call:expr) => {
        match $self {
            Socket::Tcp($socket) => $call,
            Socket::Unix($socket) => $call,
        }
    };
}

impl AsyncTls {
    /// TLS over a socket, before the handshake.
    pub(crate) fn over(socket: AsyncSocket, session: Session) -> io::Result<Self> {
        let socket = match socket {
            AsyncSocket::Tcp(socket) => Socket::Tcp(socket),
            AsyncSocket::Unix { socket, .. } => Socket::Unix(socket),
            _ => return Err(io::Error::new(io::ErrorKind::Unsupported, NO_SOCKET)),
        };
        Ok(AsyncTls {
            socket,
            state: Mutex::new(TlsState {
                records: Records::new(session),
                plain: BytesMut::new(),
                out: Vec::new(),
                sent: 0,
                owed: 0,
            }),
        })
    }

    /// Performs the handshake on a connection that has begun with these bytes. Says who is at the
    /// other end.
    pub(crate) async fn handshake(&self, received: &[u8]) -> io::Result<TlsPeer> {
        self.take_in(received)?;
        loop {
            self.say(Records::take_out).await?;
            if let Some(peer) = self.state().records.peer() {
                return Ok(peer);
            }
            self.readable().await?;
            let received = with_scratch(|scratch| match self.socket.try_read(scratch)? {
                0 => Err(broken_off()),
                received => self.take_in(scratch.get(..received).unwrap_or_default()),
            });
            match received {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                received => received?,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TlsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in records of a handshake.
    fn take_in(&self, received: &[u8]) -> io::Result<()> {
        let state = &mut *self.state();
        let opened = state.records.open(received, &mut state.plain);
        opened.map_err(|error| state.refuse(&self.socket, &error))
    }

    /// Sends what the session has to say by itself.
    async fn say(&self, words: impl FnOnce(&mut Records, &mut Vec<u8>)) -> io::Result<()> {
        {
            let state = &mut *self.state();
            words(&mut state.records, &mut state.out);
        }
        loop {
            let sent = self.state().send_out(&self.socket);
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                sent => return sent,
            }
        }
    }

    /// Receives what there is behind what `input` holds, by way of `scratch`; `WouldBlock` where
    /// there is nothing.
    pub(crate) fn try_receive(
        &self,
        scratch: &mut [u8],
        input: &mut BytesMut,
    ) -> io::Result<usize> {
        let state = &mut *self.state();
        let before = input.len();
        if !state.plain.is_empty() {
            input.extend_from_slice(&state.plain.split());
        }
        while input.len() == before {
            if state.records.has_ended() {
                return Ok(0);
            }
            let received = match self.socket.try_read(scratch)? {
                0 => return state.records.end(),
                received => scratch.get(..received).unwrap_or_default(),
            };
            if input.capacity() == 0 {
                *input = buffers::spare();
            }
            let opened = state.records.open(received, input);
            opened.map_err(|error| state.refuse(&self.socket, &error))?;
        }
        Ok(input.len() - before)
    }

    /// Sends as much as goes out in one piece; `WouldBlock` where it has not left, and the same has
    /// to be sent again.
    pub(crate) fn try_send(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let state = &mut *self.state();
        if state.owed == 0 {
            state.owed = state.records.seal(slices, &mut state.out)?;
        }
        state.send_out(&self.socket)?;
        Ok(std::mem::take(&mut state.owed))
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        on!(&self.socket, socket => poll_fn(|task| socket.poll_read_ready(task)).await)
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        on!(&self.socket, socket => socket.writable().await)
    }

    /// See [`AsyncSocket::gone`].
    pub(crate) async fn gone(&self, half: bool) {
        on!(&self.socket, socket => gone!(socket, half));
    }

    /// Receives records, and does not look into them.
    pub(crate) fn try_discard(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.try_read(buffer)
    }

    /// Ends sending: the peer receives what was sent, and that nothing follows.
    pub(crate) async fn shutdown_send(&self) -> io::Result<()> {
        self.say(Records::close).await?;
        Ok(rustix::net::shutdown(&self.socket, Shutdown::Write)?)
    }

    fn say_goodbye(&self) {
        let state = &mut *self.state();
        state.records.close(&mut state.out);
        // Nobody waits for it.
        let _ = state.send_out(&self.socket);
    }
}

/// As HTTP/2's library uses it.
#[cfg(feature = "grpc")]
impl AsyncTls {
    /// [`try_receive`](Self::try_receive) for who polls.
    pub(crate) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        input: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        loop {
            match with_scratch(|scratch| self.try_receive(scratch, input)) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    ready!(on!(&self.socket, socket => socket.poll_read_ready(context)))?;
                }
                received => return Poll::Ready(received),
            }
        }
    }

    /// [`try_send`](Self::try_send) for who polls.
    pub(crate) fn poll_send(
        &self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.try_send(slices) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    ready!(on!(&self.socket, socket => socket.poll_write_ready(context)))?;
                }
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// [`shutdown_send`](Self::shutdown_send) for who polls, as far as there is room for it.
    pub(crate) fn poll_shutdown(&self) -> Poll<io::Result<()>> {
        self.say_goodbye();
        let ended = rustix::net::shutdown(&self.socket, Shutdown::Write);
        Poll::Ready(ended.map_err(io::Error::from))
    }
}

impl Drop for AsyncTls {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

const NO_SOCKET: &str = "TLS goes over TCP and Unix sockets";

impl TlsState {
    /// Sends the records there are; `WouldBlock` where some are left.
    fn send_out(&mut self, socket: &Socket) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = self.out.get(self.sent..) {
            match on!(socket, socket => socket.try_write(rest))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                sent => self.sent += sent,
            }
        }
        // An idle connection keeps nothing.
        self.sent = 0;
        self.out = Vec::new();
        Ok(())
    }

    /// Tells the peer that it has broken the rules, where there is room for that.
    fn refuse(&mut self, socket: &Socket, error: &rustls::Error) -> io::Error {
        self.records.take_out(&mut self.out);
        let _ = self.send_out(socket);
        refused(error)
    }
}

impl Socket {
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        on!(self, socket => socket.try_read(buffer))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        on!(self, socket => socket.as_fd())
    }
}
