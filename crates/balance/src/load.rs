//! Counters of the calls to one endpoint.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How a call ended, as far as that says something about its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server has answered. An answer that is an error of the caller's counts, too.
    Succeeded,
    /// The server could not be reached, did not answer in time, or answered that it is in trouble.
    Failed,
    /// Nothing is known: the caller gave the call up.
    Abandoned,
}

/// The effect of a call's end beyond its endpoint.
pub(crate) enum Change {
    None,
    /// The latency of the endpoint was not known before.
    Measured,
    /// The call has failed, the last of this many in a row.
    FailedAgain(u32),
}

/// Counters that all callers of an endpoint share. They are written without a lock; a reader may
/// see one of them later than another.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The calls in flight in the low bits, and above them the calls that have ended: a call that
    /// succeeds writes one counter at each of its ends.
    calls: AtomicU64,
    /// The moving average of the time of a call in nanoseconds; 0 as long as none has ended.
    latency: AtomicU64,
    /// When the average has changed, in nanoseconds of the balancer.
    measured: AtomicU64,
    /// Calls that ended without an answer since the last interval of outlier detection.
    failed: AtomicU32,
    abandoned: AtomicU32,
    /// Failures since the last success.
    pub(crate) in_a_row: AtomicU32,
    /// The calls that had ended at the end of the last interval.
    ended: AtomicU64,
}

/// A call that has ended, in the counter of calls.
const ENDED: u64 = 1 << 24;

/// The calls of an endpoint in an interval.
pub(crate) struct Interval {
    pub(crate) succeeded: u32,
    pub(crate) failed: u32,
}

/// The part of a call in the average: of one that is slower than that, and of one that is not.
const RISE: u64 = 4;
const FALL: u64 = 16;

/// The time after which the latency of an endpoint that gets no calls counts for 1/e.
const MEMORY: Duration = Duration::from_secs(10);

/// The latency that failures are taken for at most.
const LONGEST: Duration = Duration::from_secs(60);

/// The latency of an endpoint that fails before it was ever measured.
const UNKNOWN: Duration = Duration::from_millis(1);

impl Load {
    pub(crate) fn begin(&self) {
        self.calls.fetch_add(1, Relaxed);
    }

    pub(crate) fn in_flight(&self) -> u32 {
        (self.calls.load(Relaxed) % ENDED) as u32
    }

    /// The calls that have begun.
    pub(crate) fn picks(&self) -> u64 {
        let calls = self.calls.load(Relaxed);
        calls / ENDED + calls % ENDED
    }

    /// Ends an interval of outlier detection.
    pub(crate) fn end_interval(&self) -> Interval {
        let ended = self.calls.load(Relaxed) / ENDED;
        let all = ended.wrapping_sub(self.ended.swap(ended, Relaxed)) as u32;
        let failed = self.failed.swap(0, Relaxed);
        let abandoned = self.abandoned.swap(0, Relaxed);
        Interval {
            succeeded: all.saturating_sub(failed).saturating_sub(abandoned),
            failed,
        }
    }

    /// Notes the end of a call that took so long. Returns what it changes for the balancer.
    pub(crate) fn end(&self, now: u64, took: Duration, outcome: Outcome) -> Change {
        self.calls.fetch_add(ENDED - 1, Relaxed);
        let took = nanos(took);
        match outcome {
            Outcome::Succeeded => {
                if self.in_a_row.load(Relaxed) > 0 {
                    self.in_a_row.store(0, Relaxed);
                }
                self.measure(now, took)
            }
            Outcome::Failed => {
                self.failed.fetch_add(1, Relaxed);
                // A server that fails quickly must not look like a quick one.
                let doubled = self.latency().unwrap_or(nanos(UNKNOWN)).saturating_mul(2);
                self.set(now, took.max(doubled.min(nanos(LONGEST))));
                Change::FailedAgain(self.in_a_row.fetch_add(1, Relaxed) + 1)
            }
            Outcome::Abandoned => {
                self.abandoned.fetch_add(1, Relaxed);
                Change::None
            }
        }
    }

    /// The moving average of the time of a call, in nanoseconds.
    pub(crate) fn latency(&self) -> Option<u64> {
        Some(self.latency.load(Relaxed)).filter(|latency| *latency > 0)
    }

    /// A slow call counts more than a quick one, which comes again soon: it is a sign of trouble.
    fn measure(&self, now: u64, took: u64) -> Change {
        let before = self.latency.load(Relaxed);
        self.set(
            now,
            match before {
                0 => took,
                _ if took > before => before + (took - before) / RISE,
                _ => before - (before - took) / FALL,
            },
        );
        match before {
            0 => Change::Measured,
            _ => Change::None,
        }
    }

    fn set(&self, now: u64, latency: u64) {
        self.measured.store(now, Relaxed);
        self.latency.store(latency.max(1), Relaxed);
    }

    /// Lets the latency of an endpoint that gets no calls come down to that of the others, so that
    /// it is tried again.
    pub(crate) fn forget(&self, now: u64, typical: u64) {
        let Some(latency) = self.latency() else {
            return;
        };
        let age = now.saturating_sub(self.measured.load(Relaxed));
        if latency > typical && age > nanos(Duration::from_secs(1)) {
            let more = ((latency - typical) as f64 * kept(age)) as u64;
            self.set(now, typical + more);
        }
    }
}

/// The part of an average that is left after so many nanoseconds.
fn kept(age: u64) -> f64 {
    (-(age as f64) / nanos(MEMORY) as f64).exp()
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Abandoned, Failed, Succeeded};

    /// Calls: the second in which they end, their milliseconds and outcome; and the average in
    /// milliseconds then.
    type Row<'a> = (&'a [(u64, u64, Outcome)], u64);

    #[test]
    fn latencies_rise_soon_and_come_down_slowly() {
        let rows: &[Row<'_>] = &[
            (&[(1, 10, Succeeded)], 10),
            (&[(1, 10, Succeeded), (2, 110, Succeeded)], 35),
            (&[(1, 100, Succeeded), (2, 20, Succeeded)], 95),
            (&[(1, 10, Succeeded), (2, 1, Failed)], 20),
            (&[(1, 10, Succeeded), (2, 500, Failed)], 500),
            (&[(1, 1, Failed)], 2),
            (&[(1, 10, Succeeded), (2, 500, Abandoned)], 10),
        ];
        for (calls, expected) in rows {
            let load = Load::default();
            for (second, millis, outcome) in *calls {
                load.begin();
                let now = nanos(Duration::from_secs(*second));
                load.end(now, Duration::from_millis(*millis), *outcome);
            }
            let millis = load.latency().map(|nanos| (nanos + 500_000) / 1_000_000);
            assert_eq!(millis, Some(*expected), "{calls:?}");
            assert_eq!((load.in_flight(), load.picks()), (0, calls.len() as u64));
        }
    }

    #[test]
    fn a_slow_endpoint_without_calls_is_forgiven() {
        let load = Load::default();
        let second = nanos(Duration::from_secs(1));
        load.begin();
        load.end(second, Duration::from_millis(500), Succeeded);
        let typical = nanos(Duration::from_millis(10));
        for passed in 2..=60 {
            load.forget(passed * second, typical);
        }
        let latency = load.latency().unwrap_or(0);
        assert!((typical..typical * 2).contains(&latency), "{latency}");
    }
}
