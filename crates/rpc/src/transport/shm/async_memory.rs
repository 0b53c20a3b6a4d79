//! Shared memory on an event loop.

use super::stream::{Choice, choice, lock, look, refused, trust};
use crate::transport::presence::gone;
use crate::transport::spare;
use bytes::BytesMut;
use dovetail_shm::{Connection, Error, Handshake, Progress, Receiver, Sender, Settings};
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A connection through shared memory.
pub(crate) struct AsyncMemory {
    sender: Half<Sender>,
    receiver: Half<Receiver>,
}

/// A direction, and the socket that it is woken by as the event loop knows it.
struct Half<T> {
    half: Mutex<T>,
    line: UnixStream,
}

impl<T: AsFd> Half<T> {
    fn new(half: T) -> io::Result<Self> {
        let line = watched(&half)?;
        let half = Mutex::new(half);
        Ok(Half { half, line })
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.half)
    }

    /// Asks the peer to wake this end, and waits for it. A wait that is given up leaves no more
    /// behind than one wake-up for nothing.
    async fn woken(
        &self,
        arm: impl Fn(&mut T) -> Result<bool, Error>,
        disarm: impl Fn(&mut T),
    ) -> io::Result<()> {
        let asleep = arm(&mut self.lock())?;
        if asleep {
            readable(&self.line, || disarm(&mut self.lock())).await?;
        }
        Ok(())
    }
}

/// Another handle of a socket, for the event loop.
fn watched(socket: &impl AsFd) -> io::Result<UnixStream> {
    let line = std::os::unix::net::UnixStream::from(socket.as_fd().try_clone_to_owned()?);
    line.set_nonblocking(true)?;
    UnixStream::from_std(line)
}

/// Waits until a socket is readable, and takes off it what made it so.
async fn readable(line: &UnixStream, take: impl FnOnce()) -> io::Result<()> {
    poll_fn(|task| line.poll_read_ready(task)).await?;
    // The answer makes the loop forget that the socket was readable.
    let _: io::Result<()> = line.try_io(Interest::READABLE, || {
        take();
        Err(io::ErrorKind::WouldBlock.into())
    });
    Ok(())
}

impl AsyncMemory {
    fn new(connection: Connection) -> io::Result<Self> {
        Ok(AsyncMemory {
            sender: Half::new(connection.sender)?,
            receiver: Half::new(connection.receiver)?,
        })
    }

    /// Connects to a server's Unix socket and agrees on shared memory there.
    pub(crate) async fn connect(path: &Path) -> io::Result<Self> {
        let socket = UnixStream::connect(path).await?;
        trust(socket.as_fd(), path)?;
        let line = watched(&socket)?;
        let socket = socket.into_std()?;
        let mut handshake = Handshake::connect(socket, &Settings::default()).map_err(refused)?;
        loop {
            handshake = match handshake.try_finish().map_err(refused)? {
                Progress::Done(connection) => return Self::new(connection),
                Progress::Pending(handshake) => handshake,
            };
            readable(&line, || ()).await?;
        }
    }

    /// Waits for the first bytes of a peer on a Unix socket: shared memory where they are an offer
    /// of that. Nothing is lost where the future is dropped.
    pub(crate) async fn chosen(socket: &UnixStream) -> io::Result<Option<Self>> {
        loop {
            poll_fn(|task| socket.poll_read_ready(task)).await?;
            match socket.try_io(Interest::READABLE, || choice(socket.as_fd())) {
                Ok(Choice::Memory(connection)) => return Self::new(connection).map(Some),
                Ok(Choice::Socket | Choice::Nothing) => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Receives what there is; `WouldBlock` where there is nothing.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.receiver.lock().try_read(buffer)?)
    }

    /// Reads behind the bytes of `input`, into memory that nobody has cleared.
    pub(crate) fn try_read_behind(&self, input: &mut BytesMut) -> io::Result<usize> {
        let room = input.capacity() - input.len();
        let mut receiver = self.receiver.lock();
        Ok(spare::receive(input, room, |place| {
            receiver.try_read_spare(place)
        })?)
    }

    /// Looks whether there is something to read, several times.
    pub(crate) fn look(&self) -> bool {
        look(&mut self.receiver.lock())
    }

    /// Sends what there is room for; `WouldBlock` where there is none.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.sender.lock().try_write(&[bytes])?)
    }

    /// Waits until it is worth while to try to read again.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.receiver.woken(Receiver::arm, Receiver::disarm).await
    }

    /// Waits until it is worth while to try to write again.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.sender.woken(Sender::arm, Sender::disarm).await
    }

    /// Waits until the peer has gone: it has let go of the socket, or closed it in one direction
    /// with `half`.
    pub(crate) async fn gone(&self, half: bool) {
        gone!(&self.receiver.line, half);
    }

    /// Ends sending: the peer receives what was sent, then the end.
    pub(crate) fn shutdown_send(&self) {
        self.sender.lock().end();
    }
}
