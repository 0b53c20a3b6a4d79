//! The calls and bytes of a connection: their sums, and the bytes themselves for those who ask.

use crate::Wire;
use crate::counters::Count;
use crate::peer::intercept::Direction;
use arc_swap::ArcSwapOption;
use std::iter::once;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The calls and bytes of a connection so far. Bytes are counted behind TLS, and with all that the
/// wire adds to messages. Each count has one writer at a time. An idle connection has one of these,
/// too: it is as small as can be.
#[derive(Default)]
pub(crate) struct Traffic {
    calls: Count,
    received: Count,
    sent: Count,
    tap: ArcSwapOption<Tapped>,
    is_tapped: AtomicBool,
    /// The place of the wire among [`WIRES`], plus 1; 0 before the first call.
    wire: AtomicU8,
}

/// The wires that this process was called over, in the order in which they came. There are fewer
/// kinds of wires than places.
static WIRES: [OnceLock<Wire>; 64] = [const { OnceLock::new() }; 64];

/// Takes the bytes of connections.
pub(crate) trait Tap: Send + Sync {
    /// Returns whether it takes those of the connection of this number and peer.
    fn wants(&self, connection: u64, peer: &str) -> bool;

    /// Takes bytes of a connection.
    fn take(
        &self,
        connection: (u64, &str),
        direction: Direction,
        bytes: &mut dyn Iterator<Item = &[u8]>,
    );
}

/// The tap of a connection.
struct Tapped {
    tap: Arc<dyn Tap>,
    connection: u64,
    peer: String,
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
        self.calls.add(1, true);
        if self.wire.load(Relaxed) == 0 {
            let wire = wire();
            let mut places = WIRES.iter();
            let place = places.position(|place| *place.get_or_init(|| wire) == wire);
            let number = place.and_then(|place| u8::try_from(place + 1).ok());
            self.wire.store(number.unwrap_or_default(), Relaxed);
        }
    }

    /// Bytes have come. The task or thread that receives says so.
    pub(crate) fn received(&self, bytes: &[u8]) {
        self.received.add(bytes.len() as u64, true);
        if self.is_tapped.load(Relaxed) {
            self.pass(Direction::Received, &mut once(bytes));
        }
    }

    /// Bytes have been sent: `count` of these, behind those `before`. Of several threads, the one
    /// that may send says so.
    pub(crate) fn sent<'b, I: Iterator<Item = &'b [u8]>>(
        &self,
        bytes: impl FnOnce() -> I,
        before: usize,
        count: usize,
    ) {
        self.sent.add(count as u64, true);
        if count > 0 && self.is_tapped.load(Relaxed) {
            self.pass(Direction::Sent, &mut part(bytes(), before, count));
        }
    }

    /// Has a tap take all further bytes, or none.
    pub(crate) fn tap(&self, tap: Option<&Arc<dyn Tap>>, connection: u64, peer: &str) {
        self.is_tapped.store(tap.is_some(), Relaxed);
        self.tap.store(tap.map(|tap| {
            Arc::new(Tapped {
                tap: tap.clone(),
                connection,
                peer: peer.to_owned(),
            })
        }));
    }

    #[cold]
    fn pass(&self, direction: Direction, bytes: &mut dyn Iterator<Item = &[u8]>) {
        if let Some(tapped) = &*self.tap.load() {
            let connection = (tapped.connection, &*tapped.peer);
            tapped.tap.take(connection, direction, bytes);
        }
    }

    /// Returns the wire of the first call.
    pub(crate) fn wire(&self) -> Option<Wire> {
        let place = usize::from(self.wire.load(Relaxed)).checked_sub(1)?;
        WIRES.get(place)?.get().copied()
    }

    pub(crate) fn sums(&self) -> TrafficSums {
        TrafficSums {
            calls: self.calls.get(),
            received: self.received.get(),
            sent: self.sent.get(),
        }
    }
}

/// Returns so many bytes of some slices, behind the first ones.
fn part<'b>(
    slices: impl Iterator<Item = &'b [u8]>,
    mut before: usize,
    mut count: usize,
) -> impl Iterator<Item = &'b [u8]> {
    slices.map(move |slice| {
        let start = before.min(slice.len());
        let end = (start + count).min(slice.len());
        before -= start;
        count -= end - start;
        slice.get(start..end).unwrap_or_default()
    })
}

impl std::ops::AddAssign for TrafficSums {
    fn add_assign(&mut self, other: TrafficSums) {
        self.calls += other.calls;
        self.received += other.received;
        self.sent += other.sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_slices() {
        let slices: [&[u8]; 4] = [b"abc", b"", b"defg", b"h"];
        for (before, count, expected) in [
            (0, 8, "abcdefgh"),
            (0, 2, "ab"),
            (1, 3, "bcd"),
            (3, 4, "defg"),
            (4, 4, "efgh"),
            (7, 1, "h"),
            (8, 0, ""),
        ] {
            let bytes: Vec<u8> = part(slices.into_iter(), before, count)
                .flatten()
                .copied()
                .collect();
            assert_eq!(bytes, expected.as_bytes(), "{before} {count}");
        }
    }
}
