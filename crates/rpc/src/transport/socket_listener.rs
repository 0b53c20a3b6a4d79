//! Listening sockets, of one's own and those that another process hands over.

use super::socket::{resolve, unreachable};
use super::{Listener, Socket, Stream, describe, shm};
use crate::Address;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::Shutdown;
use socket2::{SockAddr, Type};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long those that have begun to connect are waited for before a listening socket is closed.
#[cfg(target_os = "linux")]
const HANDSHAKE: Duration = Duration::from_millis(5);

/// A listening TCP or Unix socket.
#[derive(Debug)]
pub struct SocketListener {
    socket: socket2::Socket,
    address: Address,
    closed: AtomicBool,
    /// Those that had connected before it was closed, and nobody had accepted.
    late: Mutex<Vec<Accepted>>,
    /// For a socket that another process has opened, and may give to the next one: it is left as it
    /// is.
    adopted: Option<Bell>,
}

/// Wakes a thread that waits for connections on a socket that must not be shut down.
#[derive(Debug)]
struct Bell {
    rings: UnixStream,
    hears: UnixStream,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let (rings, hears) = UnixStream::pair()?;
        Ok(Bell { rings, hears })
    }

    /// Waits for a connection. False where the bell has rung.
    fn wait(&self, socket: &socket2::Socket) -> io::Result<bool> {
        let mut fds = [
            PollFd::new(&self.hears, PollFlags::IN),
            PollFd::new(socket, PollFlags::IN),
        ];
        loop {
            match poll(&mut fds, None) {
                Ok(_) => return Ok(fds.first().is_none_or(|bell| bell.revents().is_empty())),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

const ONLY_CLIENTS: &str =
    "clients connect to shm:…; a server listens on unix:… and takes shared memory there";

const NOT_LISTENING: &str =
    "no listening TCP or Unix socket: bind it, and listen, before it is handed over";

type Accepted = (socket2::Socket, SockAddr);

impl SocketListener {
    /// Listens. A Unix socket that nobody listens on is replaced.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let mut failures = Vec::new();
        for place in resolve(address)? {
            match Self::bind_to(&place, address) {
                Ok(listener) => return Ok(listener),
                Err(error) => failures.push((place.as_socket(), error)),
            }
        }
        Err(unreachable(failures))
    }

    fn bind_to(place: &SockAddr, address: &Address) -> io::Result<Self> {
        let socket = socket2::Socket::new(place.domain(), Type::STREAM, None)?;
        match address {
            Address::Tcp(_) | Address::Tls(_) => socket.set_reuse_address(true)?,
            Address::Unix(path) => remove_stale(path)?,
            Address::Shm(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, ONLY_CLIENTS));
            }
        }
        socket.bind(place)?;
        socket.listen(4096)?;
        let address = match (address, socket.local_addr()?.as_socket()) {
            (Address::Tls(_), Some(bound)) => Address::Tls(bound.to_string()),
            (_, Some(bound)) => Address::Tcp(bound.to_string()),
            (address, None) => address.clone(),
        };
        Ok(SocketListener {
            socket,
            address,
            closed: AtomicBool::new(false),
            late: Mutex::default(),
            adopted: None,
        })
    }

    /// Takes a socket on which another process listens, or this one before.
    pub fn adopt(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let socket = socket2::Socket::from(socket.into());
        if socket.r#type()? != Type::STREAM || !socket.is_listener()? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_LISTENING));
        }
        let place = socket.local_addr()?;
        let path = || match place.as_abstract_namespace() {
            Some(name) => Some(format!("\0{}", String::from_utf8_lossy(name)).into()),
            None => place.as_pathname().map(Path::to_owned),
        };
        let address = match place.as_socket() {
            Some(bound) => Address::Tcp(bound.to_string()),
            None => Address::Unix(path().unwrap_or_default()),
        };
        // Others may have taken a connection by the time that this process does.
        socket.set_nonblocking(true)?;
        Ok(SocketListener {
            socket,
            address,
            closed: AtomicBool::new(false),
            late: Mutex::default(),
            adopted: Some(Bell::new()?),
        })
    }

    /// Waits until there is a connection. False where it was closed.
    fn wait(&self) -> io::Result<bool> {
        self.adopted
            .as_ref()
            .map_or(Ok(true), |bell| bell.wait(&self.socket))
    }

    fn late(&self) -> MutexGuard<'_, Vec<Accepted>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address, with the real port.
    pub fn local(&self) -> &Address {
        &self.address
    }

    /// Those that had connected before it was closed, and nobody has accepted.
    #[cfg(feature = "async")]
    pub(crate) fn take_late(&self) -> Vec<Accepted> {
        std::mem::take(&mut *self.late())
    }

    /// Wakes `accept`, on Linux for TCP and for Unix sockets. A TCP socket resets what nobody has
    /// accepted.
    fn shut_down(&self) {
        let _ = rustix::net::shutdown(self.socket.as_fd(), Shutdown::Both);
    }

    /// Lets nobody begin to connect: whoever tries finds, when it tries again, a closed socket or
    /// the next server. Those that connect in the last moment would be reset otherwise.
    #[cfg(target_os = "linux")]
    fn drop_arrivals(&self) {
        use socket2::SockFilter;
        // Classic BPF (`linux/bpf_common.h`) over the segment: keeps it unless it has the flag SYN
        // (RFC 9293, 3.1).
        let program = [
            SockFilter::new(0x30, 0, 0, 13),       // load the byte with the flags
            SockFilter::new(0x45, 0, 1, 0x02),     // SYN?
            SockFilter::new(0x06, 0, 0, 0),        // keep nothing
            SockFilter::new(0x06, 0, 0, u32::MAX), // keep all
        ];
        if self.socket.attach_filter(&program).is_ok() {
            std::thread::sleep(HANDSHAKE);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn drop_arrivals(&self) {}

    /// Another handle of the same listening socket, for another event loop.
    #[cfg(feature = "async")]
    pub(crate) fn handle(&self) -> io::Result<socket2::Socket> {
        self.socket.try_clone()
    }
}

/// Removes a socket file that nobody listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::os::unix::net::UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

impl Listener for SocketListener {
    fn accept(&self) -> io::Result<Option<Arc<dyn Stream>>> {
        loop {
            if !self.wait()? {
                return Ok(None);
            }
            let (socket, peer) = match self.socket.accept() {
                Ok(accepted) => accepted,
                Err(e) if self.adopted.is_some() && e.kind() == io::ErrorKind::WouldBlock => {
                    continue;
                }
                Err(_) if self.closed.load(Ordering::SeqCst) => match self.late().pop() {
                    Some(late) => late,
                    None => return Ok(None),
                },
                Err(e) => return Err(e),
            };
            let peer = peer.as_socket();
            if peer.is_none() && !shm::admits(&socket) {
                continue;
            }
            let socket = Socket::new(socket, describe(peer))?;
            return Ok(Some(match peer {
                Some(_) => Arc::new(socket),
                None => shm::visitor(socket),
            }));
        }
    }

    fn close(&self) {
        // Whoever accepts finds those that are late once all of them are there.
        let mut late = self.late();
        self.closed.store(true, Ordering::SeqCst);
        if let Some(bell) = &self.adopted {
            // It has room for a byte, unless it has rung.
            let _ = (&bell.rings).write(&[0]);
            return;
        }
        match self.address {
            Address::Tcp(_) | Address::Tls(_) => self.drop_arrivals(),
            _ => self.shut_down(),
        }
        // The kernel resets connections that nobody has accepted: their first calls would be lost
        // without a word.
        if self.socket.set_nonblocking(true).is_ok() {
            late.extend(std::iter::from_fn(|| self.socket.accept().ok()));
        }
        drop(late);
        self.shut_down();
    }

    fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        if let (Address::Unix(path), None) = (&self.address, &self.adopted) {
            // Best effort: the next server replaces it otherwise.
            let _ = std::fs::remove_file(path);
        }
    }
}
