//! Methods whose handlers hold up event loops: all other connections of the loop wait as long.

use crate::method::{Method, ServiceDescriptor};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The calls that run in the pool after one that held up a loop. Each time there are four times as
/// many: a function that is always slow soon holds up one call in 16,384.
const FIRST: u32 = 64;
const LONGEST: u32 = 16_384;

/// Time between two events about a method: one that holds up loops with each call would fill the
/// log.
const BETWEEN_EVENTS: Duration = Duration::from_secs(1);

/// The loops that a method has held up.
#[derive(Default)]
pub(super) struct HoldUps {
    /// Calls that are to run in the pool, before the next one runs on a loop.
    left: AtomicU32,
    /// How many there were the last time.
    last: AtomicU32,
    /// When there was the last event.
    reported: Mutex<Option<Instant>>,
}

impl HoldUps {
    /// Returns whether the next call had better run in the pool.
    pub(super) fn moves_call(&self) -> bool {
        let next = |left: u32| left.checked_sub(1);
        // Most often there are none, and nothing is written.
        self.left.load(Ordering::Relaxed) > 0
            && self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
                .is_ok()
    }

    /// Notes that a call of the method has held up a loop for so long.
    pub(super) fn note(&self, service: &ServiceDescriptor, method: &Method, lasted: Duration) {
        if method.plain {
            self.move_calls();
        }
        if self.is_due(Instant::now()) {
            let millis = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(
                service = %service.full_name(),
                method = method.name,
                millis,
                "a handler has held up its event loop, and all connections of the loop; \
                 Context::blocking or Model::ThreadPool is for handlers that compute or block"
            );
        }
    }

    fn move_calls(&self) {
        let last = self.last.load(Ordering::Relaxed);
        let calls = last.saturating_mul(4).clamp(FIRST, LONGEST);
        self.last.store(calls, Ordering::Relaxed);
        self.left.store(calls, Ordering::Relaxed);
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = reported
            .is_none_or(|reported| now.saturating_duration_since(reported) >= BETWEEN_EVENTS);
        if is_due {
            *reported = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_run_in_the_pool_behind_one_that_held_up_a_loop() {
        let hold_ups = HoldUps::default();
        let moved = || std::iter::from_fn(|| hold_ups.moves_call().then_some(())).count();
        assert_eq!(moved(), 0);
        for calls in [64, 256, 1_024, 4_096, 16_384, 16_384] {
            hold_ups.move_calls();
            assert_eq!(moved(), calls);
        }
    }

    #[test]
    fn events_are_rare() {
        let (hold_ups, start) = (HoldUps::default(), Instant::now());
        let due = [0, 1, 999, 1_000, 1_001, 2_500]
            .map(|ms| hold_ups.is_due(start + Duration::from_millis(ms)));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
