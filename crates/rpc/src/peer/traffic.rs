//! The calls and bytes of a connection.

use crate::Wire;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The calls and bytes of a connection so far. Bytes are counted behind TLS, and with all that the
/// wire adds to messages.
#[derive(Default)]
pub(crate) struct Traffic {
    calls: Sum,
    received: Sum,
    sent: Sum,
    wire: OnceLock<Wire>,
}

/// A number that only grows. It has one writer at a time, so no instruction needs to be locked.
#[derive(Default)]
struct Sum(AtomicU64);

impl Sum {
    fn add(&self, more: usize) {
        let sum = self.0.load(Relaxed).wrapping_add(more as u64);
        self.0.store(sum, Relaxed);
    }
}

/// The calls and bytes of one or several connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TrafficSums {
    pub(crate) calls: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

impl Traffic {
    /// A call has come. The task or thread that receives says so.
    pub(crate) fn called(&self, wire: impl FnOnce() -> Wire) {
        self.calls.add(1);
        self.wire.get_or_init(wire);
    }

    /// Bytes have come. The task or thread that receives says so.
    pub(crate) fn received(&self, bytes: usize) {
        self.received.add(bytes);
    }

    /// Bytes have been sent. Of several threads, the one that may send says so.
    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.add(bytes);
    }

    /// Returns the wire of the first call.
    pub(crate) fn wire(&self) -> Option<Wire> {
        self.wire.get().copied()
    }

    pub(crate) fn sums(&self) -> TrafficSums {
        let [calls, received, sent] =
            [&self.calls, &self.received, &self.sent].map(|sum| sum.0.load(Relaxed));
        TrafficSums {
            calls,
            received,
            sent,
        }
    }
}

impl std::ops::AddAssign for TrafficSums {
    fn add_assign(&mut self, other: TrafficSums) {
        self.calls += other.calls;
        self.received += other.received;
        self.sent += other.sent;
    }
}
