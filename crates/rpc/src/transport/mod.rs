//! The transports of bytes. A third party adds one by implementing [`Stream`] and [`Connector`]
//! (for a client) or [`Listener`] (for a server); `examples/custom-transport` does.

#[cfg(feature = "async")]
mod async_socket;
mod memory;
mod pipe;
mod poll;
#[cfg(feature = "grpc")]
mod prefixed;
mod presence;
mod process;
mod program;
mod ready;
mod receiver;
mod shm;
mod socket;
mod socket_listener;
mod spare;
mod tls;

#[cfg(feature = "async")]
pub(crate) use async_socket::{AsyncSocket, Choice};
pub(crate) use memory::IN_PROCESS;
pub use memory::{MemoryConnector, MemoryListener, MemoryStream, memory, memory_pair};
pub use pipe::Pipe;
#[cfg(feature = "async")]
pub(crate) use poll::SpinPolicy;
pub use poll::{Poller, Polling};
#[cfg(feature = "grpc")]
pub(crate) use prefixed::Prefixed;
pub use presence::Presence;
pub use process::Process;
pub use program::Program;
pub(crate) use receiver::Receiver;
pub(crate) use shm::bind_upgrade;
pub use socket::Socket;
pub(crate) use socket::describe;
pub use socket_listener::SocketListener;
#[cfg(feature = "async")]
pub(crate) use tls::AsyncTls;
#[cfg(feature = "tls")]
pub use tls::TlsConnector;

pub use crate::address::ParseAddressError;
#[cfg(feature = "grpc")]
pub use crate::grpc::Keepalive;
pub use dovetail_protocol::dovetail::Compression;
#[cfg(not(feature = "tls"))]
pub(crate) use tls::TlsConnector;
pub(crate) use tls::handshake;

use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;

/// At most so much is received in one piece where its place is cleared before: most of it may stay
/// empty.
const PIECE: usize = 256 << 10;

/// How long [`Stream::recv`] and [`Stream::send`] may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: `WouldBlock` where there is nothing, or no room.
    Poll,
    /// Until there is, or until this instant: `TimedOut` then. `None` waits for ever.
    Until(Option<Instant>),
}

/// A connection of bytes, both ways. One thread may receive while another sends.
pub trait Stream: Send + Sync {
    /// Receives at least one byte; 0 means that the peer has closed its side.
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize>;

    /// Receives behind what `input` holds, at most `most` bytes; what [`recv`](Self::recv) says
    /// holds here, too. A transport overrides it where it can receive into memory that has not been
    /// cleared.
    fn recv_behind(&self, input: &mut BytesMut, most: usize, wait: Wait) -> io::Result<usize> {
        let start = input.len();
        input.reserve(most);
        input.resize(start + most.min(PIECE), 0);
        let place = input.get_mut(start..).unwrap_or_default();
        let received = self.recv(place, wait);
        input.truncate(start + received.as_ref().map_or(0, |received| *received));
        received
    }

    /// Sends the first of these bytes, at least one, as many as there is room for. One thread sends
    /// at a time; where it could not, and goes on later, it does so with the same bytes.
    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize>;

    /// Sends all bytes, in one piece where the transport has room; `TimedOut` at the deadline.
    fn send_all(&self, mut bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = self.send(bytes, Wait::Until(deadline))?;
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Sends bytes from several places. A transport overrides it where it can send them in one
    /// piece.
    fn send_all_vectored(
        &self,
        slices: &mut [IoSlice<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        slices
            .iter()
            .try_for_each(|slice| self.send_all(slice, deadline))
    }

    /// Ends receiving: a `recv` that waits, in any thread, returns 0 once what has arrived is read.
    fn shutdown_recv(&self);

    /// Ends sending: the peer receives what was sent, then the end.
    fn shutdown_send(&self);

    /// Ends both directions.
    fn shutdown(&self);

    /// Whether the peer is still there, at once, and without receiving anything: how a server finds
    /// out, while a handler runs, that its caller has gone. A transport that does not say leaves
    /// the handler alone.
    fn presence(&self) -> Presence {
        Presence::There
    }

    /// The other end, for display.
    fn peer(&self) -> String;

    /// The process at the other end, where the kernel knows it: that of a Unix socket.
    fn process(&self) -> Option<Process> {
        None
    }

    /// The ports of this end and of the other one, where it is a TCP connection. With them two ends
    /// find out that nobody is in between, before they move to shared memory.
    fn ports(&self) -> Option<(u16, u16)> {
        None
    }
}

/// Makes connections to one server.
pub trait Connector: Send + Sync {
    /// Makes a connection, within the deadline.
    fn connect(&self, deadline: Instant) -> io::Result<Arc<dyn Stream>>;

    /// The server, for display.
    fn target(&self) -> String;

    /// True if nobody on the way can read what is sent. Credentials are not sent by others, unless
    /// a program insists. Default: false.
    fn is_private(&self) -> bool {
        false
    }
}

/// Takes connections from clients.
pub trait Listener: Send + Sync {
    /// Waits for the next connection; `None` once [`close`](Self::close) was called.
    fn accept(&self) -> io::Result<Option<Arc<dyn Stream>>>;

    /// Ends accepting, in whatever thread it waits.
    fn close(&self);

    /// Returns the address at which clients find it.
    fn address(&self) -> String;
}
