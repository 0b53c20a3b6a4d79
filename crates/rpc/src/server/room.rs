//! Room for new connections: where descriptors or places run out, the connection that has been idle
//! longest is closed.

use super::Shared;
use crate::clock;
use crate::counters::count;
use crate::observer::Watched;
use crate::peer::context::Caller;
#[cfg(feature = "async")]
use crate::peer::link::{Flush, Link, Queued};
use crate::peer::traffic::TrafficSums;
use crate::transport::Stream;
use rustix::io::Errno;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
#[cfg(feature = "async")]
use std::time::Instant;

/// Shortest idle time after which a connection may be closed to make room.
const IDLE: Duration = Duration::from_secs(1);

/// Shortest time between two connections that are closed to make room, since finding one means
/// looking at all.
const PAUSE: Duration = Duration::from_millis(10);

/// An entry in the server's list of connections.
pub(super) struct Entry {
    pub(super) id: u64,
    /// Seconds from when the server was made to when this was accepted.
    accepted: u32,
    /// Set once the peer may call.
    caller: OnceLock<Arc<Caller>>,
    /// The stream of a connection that has a thread of its own.
    pub(super) stream: Option<Arc<dyn Stream>>,
    /// Wakes the task of a connection that has none.
    #[cfg(feature = "async")]
    pub(super) queued: Queued,
    /// Milliseconds since the server was made, plus 1; 0 for a connection that is not idle.
    idle_since: AtomicU64,
    /// Asked to close, to make room for another connection.
    leaves: AtomicBool,
}

impl Entry {
    pub(super) fn new(id: u64, stream: Option<Arc<dyn Stream>>, shared: &Shared) -> Arc<Self> {
        Arc::new(Entry {
            id,
            accepted: seconds(shared.age()),
            caller: OnceLock::new(),
            stream,
            #[cfg(feature = "async")]
            queued: Queued::default(),
            idle_since: AtomicU64::new(0),
            leaves: AtomicBool::new(false),
        })
    }

    /// Notes the caller.
    pub(super) fn called_by(&self, caller: &Arc<Caller>, shared: &Shared) {
        // There is only one.
        let _ = self.caller.set(caller.clone());
        self.tapped(shared);
    }

    /// Has the tap of the server take the bytes of the connection, if there is one that wants them.
    pub(super) fn tapped(&self, shared: &Shared) {
        // Held to the end: no tap is left behind that has been taken away meanwhile.
        let tap = shared.tap();
        if let Some(caller) = self.caller.get() {
            let tap = tap.as_ref().filter(|tap| tap.wants(self.id, &caller.peer));
            caller.traffic.tap(tap, self.id, &caller.peer);
        }
    }

    pub(super) fn watched(&self, shared: &Shared) -> Watched {
        Watched {
            id: self.id,
            peer: self.peer().to_owned(),
            age: Duration::from_secs(seconds(shared.age()).saturating_sub(self.accepted).into()),
            idle: self.idle_since.load(Ordering::Relaxed) > 0,
            wire: self.caller.get().and_then(|caller| caller.traffic.wire()),
            traffic: self.traffic(),
        }
    }

    /// Returns the address of the peer; empty until it may call.
    pub(super) fn peer(&self) -> &str {
        self.caller.get().map_or("", |caller| &caller.peer)
    }

    /// Returns the calls and bytes of the connection.
    pub(super) fn traffic(&self) -> TrafficSums {
        let caller = self.caller.get();
        caller.map_or_else(TrafficSums::default, |caller| caller.traffic.sums())
    }

    fn wake(&self) {
        match &self.stream {
            // Its thread finds the end of what it can receive.
            Some(stream) => stream.shutdown_recv(),
            #[cfg(feature = "async")]
            None => self.queued.0.notify_one(),
            #[cfg(not(feature = "async"))]
            None => {}
        }
    }

    /// The connection waits for its peer to call.
    pub(super) fn idles(&self, shared: &Shared) {
        self.idle_since.store(shared.age(), Ordering::Relaxed);
    }

    /// The connection has something to do.
    pub(super) fn works(&self) {
        self.idle_since.store(0, Ordering::Relaxed);
    }

    /// True once where the connection was asked to close.
    pub(super) fn is_asked_to_leave(&self) -> bool {
        self.leaves.load(Ordering::Acquire) && self.leaves.swap(false, Ordering::AcqRel)
    }
}

#[cfg(feature = "async")]
impl Flush for Entry {
    fn flush(&self, link: &Link, taken: Vec<u8>, deadline: Option<Instant>) {
        self.queued.flush(link, taken, deadline);
    }

    fn released(&self) {
        self.queued.released();
    }
}

impl Shared {
    /// Milliseconds since the server was made, plus 1.
    fn age(&self) -> u64 {
        let age = clock::now().saturating_duration_since(self.made);
        u64::try_from(age.as_millis()).map_or(u64::MAX, |age| age.saturating_add(1))
    }

    /// Counts a connection that could not be accepted, and makes room where descriptors have run
    /// out.
    pub(super) fn accept_failed(&self, error: &io::Error) {
        count(&self.counters.accept_errors);
        if is_out_of_descriptors(error) {
            self.make_room(&self.entries());
        }
    }

    /// Asks the connection that has been idle longest to close. False where none has been idle for
    /// a second, or the last one was asked just now.
    pub(super) fn make_room(&self, entries: &[Arc<Entry>]) -> bool {
        let (now, last) = (self.age(), self.made_room.load(Ordering::Relaxed));
        if last > 0 && now.saturating_sub(last) < millis(PAUSE) {
            return false;
        }
        self.made_room.store(now, Ordering::Relaxed);
        let idle = entries.iter().filter_map(|entry| {
            let since = entry.idle_since.load(Ordering::Relaxed);
            let long = since > 0 && now.saturating_sub(since) >= millis(IDLE);
            (long && !entry.leaves.load(Ordering::Relaxed)).then_some((since, entry))
        });
        let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) else {
            return false;
        };
        longest.works();
        longest.leaves.store(true, Ordering::Release);
        longest.wake();
        true
    }
}

fn seconds(milliseconds: u64) -> u32 {
    u32::try_from(milliseconds / 1000).unwrap_or(u32::MAX)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// True for the errors of a process, or a machine, that has no descriptor left.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}
