use crate::{Code, Status, clock};
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How a call has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It returned its result, and all items of its stream.
    Returned,
    /// It ended with an exception that the contract declares.
    Exception,
    /// It ended with a status: of its handler, of an interceptor that refused it, or of Dovetail.
    Failed(Status),
}

impl Outcome {
    /// The name of a declared exception as the end of a call.
    pub(crate) const EXCEPTION: &str = "EXCEPTION";

    /// Returns the name of the end, as logs and administrators see it: `OK`, `EXCEPTION`, or the
    /// code of a failure.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Outcome::Returned => "OK",
            Outcome::Exception => Self::EXCEPTION,
            Outcome::Failed(status) => status.code().name(),
        }
    }

    /// Returns the code of a failure; `None` for a result and for a declared exception.
    pub fn code(&self) -> Option<Code> {
        match self {
            Outcome::Failed(status) => Some(status.code()),
            Outcome::Returned | Outcome::Exception => None,
        }
    }
}

/// The time that a call has taken. The clock is read for the first interceptor that asks.
#[derive(Debug)]
pub(super) struct Elapsed {
    started: Option<Instant>,
    taken: OnceCell<Duration>,
}

impl Elapsed {
    pub(super) fn since(started: Option<Instant>) -> Self {
        Elapsed {
            started,
            taken: OnceCell::new(),
        }
    }

    fn get(&self) -> Duration {
        let taken = || {
            self.started
                .map(|at| clock::now().saturating_duration_since(at))
        };
        *self.taken.get_or_init(|| taken().unwrap_or_default())
    }
}

/// A moment of a call, in nanoseconds after its start; 0 where there was none.
#[derive(Default)]
pub(super) struct Moment(AtomicU64);

impl Moment {
    /// It is now.
    pub(super) fn set(&self, started: Option<Instant>) {
        let Some(started) = started else { return };
        let after = clock::now().saturating_duration_since(started);
        let nanoseconds = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanoseconds.max(1), Ordering::Relaxed);
    }

    /// Returns the time after the start.
    pub(super) fn get(&self) -> Option<Duration> {
        let nanoseconds = self.0.load(Ordering::Relaxed);
        (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
    }
}

/// The end of a call, as [`ServerInterceptor::after`](crate::intercept::ServerInterceptor::after)
/// sees it.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) elapsed: &'a Elapsed,
    pub(super) queued: Option<Duration>,
    pub(super) first_item: Option<Duration>,
    pub(super) received: usize,
    pub(super) sent: usize,
    pub(super) items_received: u64,
    pub(super) items_sent: u64,
}

impl CallEnd<'_> {
    /// Returns how the call has ended.
    pub fn outcome(&self) -> &Outcome {
        self.outcome
    }

    /// Returns the time from the first interceptor to the end of the call.
    pub fn elapsed(&self) -> Duration {
        self.elapsed.get()
    }

    /// Returns the time that the call has waited for its handler: in the queue of a quota, for a
    /// decision of another interceptor, or for a thread of the pool. `None` for one whose handler
    /// has started at once, and for one that has not left its queue.
    pub fn queued(&self) -> Option<Duration> {
        self.queued
    }

    /// Returns the time from the first interceptor to the first item of the handler. `None` where
    /// it has sent none.
    pub fn first_item(&self) -> Option<Duration> {
        self.first_item
    }

    /// Returns the size of the encoded parameters in bytes, decompressed.
    pub fn received_bytes(&self) -> usize {
        self.received
    }

    /// Returns the size of the answer in bytes, with its frame; 0 where it went out as part of a
    /// stream.
    pub fn sent_bytes(&self) -> usize {
        self.sent
    }

    /// Returns how many items the handler has taken from its caller.
    pub fn items_received(&self) -> u64 {
        self.items_received
    }

    /// Returns how many items the handler has sent.
    pub fn items_sent(&self) -> u64 {
        self.items_sent
    }
}
