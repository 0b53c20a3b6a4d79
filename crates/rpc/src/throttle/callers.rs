//! The gates of callers, each made with the caller's first call, and forgotten when it has not
//! called for a while.

use super::Quota;
use super::gate::Gate;
use crate::clock;
use crate::identity::CallerKeys;
use crate::peer::intercept::CallHead;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Parts of the callers, each with a lock of its own.
const SHARDS: usize = 16;

/// A caller is remembered for so long at least.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The time from one look for callers to forget to the next, each at the next shard; of one that is
/// full, at that one.
const SWEEP: Duration = Duration::from_secs(2);

pub(super) struct Callers {
    shards: [Mutex<Shard>; SHARDS],
    most: usize,
    made: Instant,
    /// When callers were last looked for, in milliseconds since this was made, and how often.
    swept: AtomicU64,
    sweeps: AtomicUsize,
    /// The gate of those for whom there is no room.
    others: Arc<Gate>,
    keys: CallerKeys,
}

struct Shard {
    callers: HashMap<u128, Seen>,
    swept: Instant,
}

struct Seen {
    gate: Arc<Gate>,
    last: Instant,
}

impl Callers {
    /// `most` is the number of callers that are remembered.
    pub(super) fn new(quota: &Quota, most: usize) -> Self {
        let now = clock::now();
        Callers {
            shards: std::array::from_fn(|_| {
                Mutex::new(Shard {
                    callers: HashMap::new(),
                    swept: now,
                })
            }),
            most,
            made: now,
            swept: AtomicU64::new(0),
            sweeps: AtomicUsize::new(0),
            others: Arc::new(Gate::new(quota)),
            keys: CallerKeys::default(),
        }
    }

    /// Returns the gate of a caller.
    pub(super) fn gate(&self, call: &CallHead<'_>, quota: &Quota) -> Arc<Gate> {
        self.gate_of(self.keys.key(call.context()), quota)
    }

    fn gate_of(&self, key: u128, quota: &Quota) -> Arc<Gate> {
        let now = clock::now();
        let forget = quota.forgets_in().max(REMEMBERED);
        self.sweep(now, forget);
        let mut shard = self.shard(key as usize);
        if let Some(seen) = shard.callers.get_mut(&key) {
            seen.last = now;
            return seen.gate.clone();
        }
        let room = self.most.div_ceil(SHARDS);
        if shard.callers.len() >= room && now.saturating_duration_since(shard.swept) > SWEEP {
            shard.sweep(now, forget);
        }
        if shard.callers.len() >= room {
            return self.others.clone();
        }
        let gate = Arc::new(Gate::new(quota));
        let seen = Seen {
            gate: gate.clone(),
            last: now,
        };
        shard.callers.insert(key, seen);
        gate
    }

    /// Forgets callers of the next shard, now and then.
    fn sweep(&self, now: Instant, after: Duration) {
        let since = now.saturating_duration_since(self.made).as_millis() as u64;
        let swept = self.swept.load(Relaxed);
        if since < swept.saturating_add(SWEEP.as_millis() as u64) {
            return;
        }
        if self
            .swept
            .compare_exchange(swept, since, Relaxed, Relaxed)
            .is_ok()
        {
            let next = self.sweeps.fetch_add(1, Relaxed);
            self.shard(next).sweep(now, after);
        }
    }

    /// Returns how many callers are remembered.
    pub(super) fn len(&self) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| lock(shard).callers.len()).sum()
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[number % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// Forgets callers that have nothing under way and have not called for this long.
    fn sweep(&mut self, now: Instant, after: Duration) {
        self.swept = now;
        self.callers.retain(|_, seen| {
            let idle = now.saturating_duration_since(seen.last) > after;
            !idle || Arc::strong_count(&seen.gate) > 1
        });
        if self.callers.capacity() > 4 * self.callers.len() {
            self.callers.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves the times of all callers into the past.
    fn age(callers: &Callers, by: Duration) {
        callers.swept.store(0, Relaxed);
        for shard in &callers.shards {
            let mut shard = lock(shard);
            shard.swept -= by;
            shard.callers.values_mut().for_each(|seen| seen.last -= by);
        }
    }

    #[test]
    fn idle_callers_are_forgotten() {
        let quota = Quota::new().rate(1, Duration::from_secs(3600)).in_flight(1);
        let mut callers = Callers::new(&quota, 160);
        for key in 0..1000 {
            callers.gate_of(key, &quota);
        }
        assert_eq!(callers.len(), 160, "the others share a gate");
        let busy = callers.gate_of(3, &quota);
        callers.made -= Duration::from_secs(10_000);
        for (age_by, left) in [(3000, 160), (1000, 1)] {
            age(&callers, Duration::from_secs(age_by));
            for _ in 0..SHARDS {
                age(&callers, Duration::ZERO);
                callers.sweep(clock::now(), quota.forgets_in());
            }
            assert_eq!(callers.len(), left, "{age_by}");
        }
        assert!(Arc::ptr_eq(&busy, &callers.gate_of(3, &quota)));
        assert!(!Arc::ptr_eq(
            &callers.others,
            &callers.gate_of(2000, &quota)
        ));
    }
}
