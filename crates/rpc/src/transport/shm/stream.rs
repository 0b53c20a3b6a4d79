//! Shared memory for threads that block.

use super::local_upgrade::{self, Name};
use crate::transport::{Presence, Process, Socket, Stream, Wait, spare};
use bytes::BytesMut;
use dovetail_shm::{
    Connection, Error, Handshake, MAGIC, Progress, Receiver, Sender, Settings, Shutdown,
};
use rustix::event::PollFlags;
use rustix::net::RecvFlags;
use socket2::{Domain, SockAddr, Type};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// The looks that a poll makes at once: together they take a few microseconds, in which most
/// answers come. In between it gives way to others and reads the clock, which takes as long as many
/// looks.
const LOOKS: u32 = 150;

/// Connects to a server's Unix socket and agrees on shared memory there.
pub(crate) fn connect(path: &Path, deadline: Instant) -> io::Result<Arc<dyn Stream>> {
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.connect(&SockAddr::unix(path)?)?;
    trust(socket.as_fd(), path)?;
    let handshake = Handshake::connect(socket, &Settings::default()).map_err(refused)?;
    let connection = handshake.finish(deadline).map_err(refused)?;
    Ok(Arc::new(Memory::new(connection)))
}

/// The file system has allowed a server to listen on a path; an abstract name is anybody's.
pub(super) fn trust(server: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    match local_upgrade::is_abstract(path) {
        true => local_upgrade::same_user(server),
        false => Ok(()),
    }
}

/// Says so where the other end does not know what an offer is.
pub(super) fn refused(error: Error) -> io::Error {
    match error {
        Error::PeerGone => io::Error::new(
            io::ErrorKind::ConnectionRefused,
            "the server closed the socket in place of an answer; does it take shared memory?",
        ),
        error => error.into(),
    }
}

/// The choice that a peer on a Unix socket makes by its first bytes.
pub(super) enum Choice {
    Memory(Connection),
    Socket,
    /// It has closed the socket before it said anything.
    Nothing,
}

/// Looks at what has come first, and answers an offer; `WouldBlock` where nothing has. An offer is
/// one message, so that fewer bytes are none.
pub(super) fn choice(socket: BorrowedFd<'_>) -> io::Result<Choice> {
    let (name, mut first) = (Name::of(socket)?, [0; MAGIC.len()]);
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match rustix::net::recv(socket, &mut first, flags)? {
        (_, 0) => return Ok(Choice::Nothing),
        (_, length) if length < first.len() || first != MAGIC => {
            return match name {
                Name::LocalUpgrade => Err(io::ErrorKind::PermissionDenied.into()),
                Name::File | Name::Abstract => Ok(Choice::Socket),
            };
        }
        _ if name == Name::Abstract => local_upgrade::same_user(socket)?,
        _ => {}
    }
    let handshake = Handshake::accept(socket.try_clone_to_owned()?, &Settings::default());
    match handshake.try_finish()? {
        Progress::Done(connection) => Ok(Choice::Memory(connection)),
        // It was there a moment ago.
        Progress::Pending(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Looks whether there is something to read, several times.
pub(super) fn look(receiver: &mut Receiver) -> bool {
    (0..LOOKS).any(|_| {
        let ready = receiver.is_ready();
        if !ready {
            std::hint::spin_loop();
        }
        ready
    })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection through shared memory.
struct Memory {
    receiver: Mutex<Receiver>,
    sender: Mutex<Sender>,
    shutdown: Shutdown,
}

impl Memory {
    fn new(connection: Connection) -> Self {
        Memory {
            shutdown: connection.shutdown(),
            receiver: Mutex::new(connection.receiver),
            sender: Mutex::new(connection.sender),
        }
    }
}

impl Stream for Memory {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let mut receiver = lock(&self.receiver);
        Ok(match wait {
            Wait::Poll if !look(&mut receiver) => return Err(io::ErrorKind::WouldBlock.into()),
            Wait::Poll => receiver.try_read(buffer),
            Wait::Until(deadline) => receiver.read(buffer, deadline),
        }?)
    }

    fn recv_behind(&self, input: &mut BytesMut, most: usize, wait: Wait) -> io::Result<usize> {
        let mut receiver = lock(&self.receiver);
        if wait == Wait::Poll && !look(&mut receiver) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            let received = spare::receive(input, most, |place| receiver.try_read_spare(place));
            match (received, wait) {
                (Err(Error::WouldBlock), Wait::Until(deadline)) => receiver.wait(deadline)?,
                (received, _) => return Ok(received?),
            }
        }
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        let mut sender = lock(&self.sender);
        loop {
            match (sender.try_write(&[bytes]), wait) {
                (Err(Error::WouldBlock), Wait::Until(deadline)) => sender.wait(deadline)?,
                (sent, _) => return Ok(sent?),
            }
        }
    }

    fn send_all_vectored(
        &self,
        slices: &mut [IoSlice<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        let slices: Vec<&[u8]> = slices.iter().map(|slice| &**slice).collect();
        Ok(lock(&self.sender).write_all(&slices, deadline)?)
    }

    fn shutdown_recv(&self) {
        self.shutdown.recv();
    }

    fn shutdown_send(&self) {
        self.shutdown.send();
    }

    fn shutdown(&self) {
        self.shutdown.recv();
        self.shutdown.send();
    }

    fn presence(&self) -> Presence {
        match self.receiver.try_lock() {
            Ok(receiver) => Presence::of(&receiver.as_fd()),
            // The next receive finds it out.
            Err(_) => Presence::There,
        }
    }

    fn peer(&self) -> String {
        "shm".to_owned()
    }
}

/// Lets a peer that has connected to a Unix socket choose between that and shared memory.
pub(crate) fn visitor(socket: Socket) -> Arc<dyn Stream> {
    Arc::new(Visitor {
        socket,
        chosen: OnceLock::new(),
    })
}

/// A peer on a Unix socket, which chooses by its first bytes what it goes on with.
struct Visitor {
    socket: Socket,
    /// Shared memory, or `None` for the socket itself. Nothing before its first bytes.
    chosen: OnceLock<Option<Memory>>,
}

impl Visitor {
    fn stream(&self) -> &dyn Stream {
        match self.chosen.get() {
            Some(Some(memory)) => memory,
            _ => &self.socket,
        }
    }

    /// Waits for the first bytes. False where the end comes before them.
    fn choose(&self, wait: Wait) -> io::Result<bool> {
        let chosen = loop {
            match (choice(self.socket.as_fd()), wait) {
                (Ok(Choice::Nothing), _) => return Ok(false),
                (Ok(Choice::Memory(connection)), _) => break Some(Memory::new(connection)),
                (Ok(Choice::Socket), _) => break None,
                (Err(e), _) if e.kind() == io::ErrorKind::Interrupted => {}
                (Err(e), Wait::Until(deadline)) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.wait(PollFlags::IN, deadline)?;
                }
                (Err(e), _) => return Err(e),
            }
        };
        // Only the one thread that receives comes here.
        let _ = self.chosen.set(chosen);
        Ok(true)
    }
}

impl Stream for Visitor {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        match self.chosen.get().is_some() || self.choose(wait)? {
            true => self.stream().recv(buffer, wait),
            false => Ok(0),
        }
    }

    fn recv_behind(&self, input: &mut BytesMut, most: usize, wait: Wait) -> io::Result<usize> {
        match self.chosen.get().is_some() || self.choose(wait)? {
            true => self.stream().recv_behind(input, most, wait),
            false => Ok(0),
        }
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        self.stream().send(bytes, wait)
    }

    fn send_all_vectored(
        &self,
        slices: &mut [IoSlice<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        self.stream().send_all_vectored(slices, deadline)
    }

    fn shutdown_recv(&self) {
        self.stream().shutdown_recv();
    }

    fn shutdown_send(&self) {
        self.stream().shutdown_send();
    }

    fn shutdown(&self) {
        self.stream().shutdown();
    }

    fn presence(&self) -> Presence {
        self.stream().presence()
    }

    fn peer(&self) -> String {
        self.stream().peer()
    }

    fn process(&self) -> Option<Process> {
        self.socket.process()
    }
}
