use super::{Connector, Presence, Process, Stream, TlsConnector, Wait, ready, shm, spare};
use crate::Address;
use crate::tls::ClientTls;
use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use socket2::{SockAddr, Type};
use std::io::{self, IoSlice};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a blocking receive waits before it gives way to `poll`, which knows the deadline: most
/// receives thus take one system call in place of three.
const BLOCKS: Duration = Duration::from_secs(1);

/// A TCP or Unix socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    peer: String,
}

impl Socket {
    /// Takes over a connected socket: blocking mode, and TCP_NODELAY where it is TCP.
    pub(crate) fn new(socket: socket2::Socket, peer: String) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(BLOCKS))?;
        if socket.local_addr()?.is_unix() {
            return Ok(Socket {
                fd: socket.into(),
                peer,
            });
        }
        socket.set_tcp_nodelay(true)?;
        Ok(Socket {
            fd: socket.into(),
            peer,
        })
    }

    pub(super) fn wait(&self, flags: PollFlags, deadline: Option<Instant>) -> io::Result<()> {
        ready::wait(&mut [PollFd::new(&self.fd, flags)], deadline)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether a receive may block in the kernel for [`BLOCKS`] without missing the deadline.
fn is_far(deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|deadline| deadline.saturating_duration_since(Instant::now()) > BLOCKS)
}

impl Socket {
    /// Receives by one call of the system, or by two with a wait between them.
    fn receive(
        &self,
        wait: Wait,
        mut recv: impl FnMut(RecvFlags) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        let mut flags = match wait {
            Wait::Until(deadline) if is_far(deadline) => RecvFlags::empty(),
            _ => RecvFlags::DONTWAIT,
        };
        loop {
            match (recv(flags), wait) {
                (Ok(received), _) => return Ok(received),
                (Err(Errno::INTR), _) => {}
                (Err(Errno::AGAIN), Wait::Until(deadline)) => {
                    self.wait(PollFlags::IN, deadline)?;
                    flags = RecvFlags::DONTWAIT;
                }
                (Err(e), _) => return Err(e.into()),
            }
        }
    }
}

impl Socket {
    /// Sends something, waiting until the socket takes it.
    fn transmit(
        &self,
        wait: Wait,
        send: impl Fn(SendFlags) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        let flags = match wait {
            Wait::Until(None) => SendFlags::NOSIGNAL,
            _ => SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        };
        loop {
            match (send(flags), wait) {
                (Ok(sent), _) => return Ok(sent),
                (Err(Errno::INTR), _) => {}
                (Err(Errno::AGAIN), Wait::Until(deadline)) => {
                    self.wait(PollFlags::OUT, deadline)?;
                }
                (Err(e), _) => return Err(e.into()),
            }
        }
    }
}

impl Stream for Socket {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        self.receive(wait, |flags| {
            let (_, received) = rustix::net::recv(&self.fd, &mut *buffer, flags)?;
            Ok(received)
        })
    }

    fn recv_behind(&self, input: &mut BytesMut, most: usize, wait: Wait) -> io::Result<usize> {
        self.receive(wait, |flags| {
            spare::receive(input, most, |place| {
                let ((filled, _), _) = rustix::net::recv(&self.fd, place, flags)?;
                Ok(filled)
            })
        })
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        self.transmit(wait, |flags| rustix::net::send(&self.fd, bytes, flags))
    }

    fn send_all_vectored(
        &self,
        mut slices: &mut [IoSlice<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        while !slices.is_empty() {
            // The system takes no more than 1,024 at a time (IOV_MAX).
            let some = slices.get(..1_024).unwrap_or(slices);
            let sent = self.transmit(Wait::Until(deadline), |flags| {
                let mut nothing = SendAncillaryBuffer::default();
                rustix::net::sendmsg(&self.fd, some, &mut nothing, flags)
            })?;
            IoSlice::advance_slices(&mut slices, sent);
        }
        Ok(())
    }

    fn shutdown_recv(&self) {
        // A socket that is closed already needs no shutdown.
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Read);
    }

    fn shutdown_send(&self) {
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Write);
    }

    fn shutdown(&self) {
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Both);
    }

    fn presence(&self) -> Presence {
        Presence::of(&self.fd)
    }

    fn peer(&self) -> String {
        self.peer.clone()
    }

    fn process(&self) -> Option<Process> {
        Process::at(&self.fd)
    }

    fn ports(&self) -> Option<(u16, u16)> {
        ports(&socket2::SockRef::from(&self.fd))
    }
}

/// The ports of both ends of a TCP connection, this one's first.
pub(crate) fn ports(socket: &socket2::SockRef<'_>) -> Option<(u16, u16)> {
    let port = |address: io::Result<SockAddr>| Some(address.ok()?.as_socket()?.port());
    Some((port(socket.local_addr())?, port(socket.peer_addr())?))
}

impl Connector for Address {
    fn is_private(&self) -> bool {
        !matches!(self, Address::Tcp(_))
    }

    fn connect(&self, deadline: Instant) -> io::Result<Arc<dyn Stream>> {
        match self {
            Address::Shm(path) => return shm::connect(path, deadline),
            Address::Tls(place) => {
                let plain = Arc::new(Address::Tcp(place.clone()));
                return TlsConnector::new(plain, &ClientTls::system()?).connect(deadline);
            }
            Address::Tcp(_) | Address::Unix(_) => {}
        }
        let mut failures = Vec::new();
        for address in resolve(self)? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let socket = socket2::Socket::new(address.domain(), Type::STREAM, None)?;
            match socket.connect_timeout(&address, left) {
                Ok(()) => return Ok(Arc::new(Socket::new(socket, self.to_string())?)),
                Err(error) => failures.push((address.as_socket(), error)),
            }
        }
        Err(unreachable(failures))
    }

    fn target(&self) -> String {
        self.to_string()
    }
}

/// Makes one error of the failures of a name's addresses.
pub(super) fn unreachable(mut failures: Vec<(Option<SocketAddr>, io::Error)>) -> io::Error {
    if failures.len() < 2 {
        let only = failures.pop().map(|(_, error)| error);
        let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        return only.unwrap_or_else(none);
    }
    let kind = failures.last().map(|(_, error)| error.kind());
    let said = failures.iter().map(|(address, error)| match address {
        Some(address) => format!("{address}: {error}"),
        None => error.to_string(),
    });
    let said: Vec<_> = said.collect();
    io::Error::new(kind.unwrap_or(io::ErrorKind::Other), said.join("; "))
}

pub(super) fn resolve(address: &Address) -> io::Result<Vec<SockAddr>> {
    Ok(match address {
        Address::Unix(path) | Address::Shm(path) => vec![SockAddr::unix(path)?],
        Address::Tcp(place) | Address::Tls(place) => {
            place.to_socket_addrs()?.map(SockAddr::from).collect()
        }
    })
}

/// A peer's address for display; clients of Unix sockets have none.
pub(crate) fn describe(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string())
}
