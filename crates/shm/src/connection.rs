//! A connection, once the handshake is over.

mod chunk;
mod receiver;
mod sender;

pub use chunk::Chunk;
pub use receiver::{Received, Receiver};
pub use sender::Sender;

use crate::error::Error;
use crate::line::{self, Line};
use crate::segment::{OutputRing, OwnSegment, PeerSegment};
use crate::wake::Ringer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The process at the other end, as the system vouches for it: the one that connected, or that
/// listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The process; `None` where it is in another pid namespace.
    pub pid: Option<u32>,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

/// A connection of two processes: a stream of bytes each way, with chunks for what is large.
///
/// Its halves can be used by different threads, and live as long as they like: each ends its
/// direction when it is dropped. Memory and descriptors are freed with the last half, [`Chunk`],
/// [`ChunkMut`](crate::ChunkMut) and [`Shutdown`].
#[derive(Debug)]
pub struct Connection {
    /// The outgoing direction.
    pub sender: Sender,
    /// The incoming direction.
    pub receiver: Receiver,
    /// The peer.
    pub peer: Credentials,
}

/// Both mappings and both lines: what the halves have in common.
#[derive(Debug)]
pub(crate) struct End {
    own: Arc<OwnSegment>,
    peer: PeerSegment,
    /// The line on which the receivers of both ends wait.
    receivers: Line,
    /// The line on which the senders of both ends wait.
    senders: Line,
    receiver_ringer: Ringer,
    sender_ringer: Ringer,
    /// A line has ended: the peer's process has.
    gone: AtomicBool,
    /// This end sends no more.
    sending_over: AtomicBool,
    /// This end receives no more.
    receiving_over: AtomicBool,
}

impl End {
    pub(crate) fn new(
        own: Arc<OwnSegment>,
        peer: PeerSegment,
        receivers: Line,
        senders: Line,
    ) -> Self {
        End {
            own,
            peer,
            receivers,
            senders,
            receiver_ringer: Ringer::default(),
            sender_ringer: Ringer::default(),
            gone: AtomicBool::new(false),
            sending_over: AtomicBool::new(false),
            receiving_over: AtomicBool::new(false),
        }
    }

    fn ring_receiver(&self) {
        self.receiver_ringer.ring(
            &self.peer.words().receiver_sleep,
            &self.own.words().receiver_bell,
            &self.receivers,
        );
    }

    fn ring_sender(&self) {
        self.sender_ringer.ring(
            &self.peer.words().sender_sleep,
            &self.own.words().sender_bell,
            &self.senders,
        );
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    fn is_sending_over(&self) -> bool {
        self.sending_over.load(Ordering::Acquire)
    }

    fn is_receiving_over(&self) -> bool {
        self.receiving_over.load(Ordering::Acquire)
    }

    /// A thread of this process that begins to sleep on a bell at this moment is not woken: it
    /// notices when it moves to the line.
    fn end_sending(&self) {
        if !self.sending_over.swap(true, Ordering::AcqRel) {
            self.own.words().tail.over.publish(1);
            self.ring_receiver();
            self.senders.close();
            line::wake(self.peer.words().sender_bell.atomic());
        }
    }

    fn end_receiving(&self) {
        if !self.receiving_over.swap(true, Ordering::AcqRel) {
            self.own.words().head.over.publish(1);
            self.ring_sender();
            self.receivers.close();
            line::wake(self.peer.words().receiver_bell.atomic());
        }
    }

    /// A line has ended. If this end closed it, that says nothing about the peer.
    fn line_ended(&self, closed: &AtomicBool) {
        if !closed.load(Ordering::Acquire) {
            self.gone.store(true, Ordering::Release);
        }
    }
}

/// Ends the directions of a connection from anywhere, also while another thread waits there.
#[derive(Clone, Debug)]
pub struct Shutdown(Arc<End>);

impl Shutdown {
    /// Ends sending: the peer receives what was sent, then the end. A send that waits fails.
    pub fn send(&self) {
        self.0.end_sending();
    }

    /// Ends receiving: a receive that waits finds the end, once what has arrived is read.
    pub fn recv(&self) {
        self.0.end_receiving();
    }
}

impl Connection {
    pub(crate) fn new(end: End, ring: OutputRing, peer: Credentials) -> Self {
        let end = Arc::new(end);
        Connection {
            sender: Sender::new(end.clone(), ring),
            receiver: Receiver::new(end),
            peer,
        }
    }

    /// Returns a handle that ends the connection from elsewhere.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown(self.sender.end.clone())
    }
}

/// How the rules were broken: then nothing of this direction can be trusted any more.
type Broken = Option<&'static str>;

fn remember<T>(broken: &mut Broken, result: Result<T, Error>) -> Result<T, Error> {
    if let Err(Error::Misbehaved(how)) = result {
        *broken = Some(how);
    }
    result
}
