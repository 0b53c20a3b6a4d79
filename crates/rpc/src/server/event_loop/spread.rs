//! Keeps the loops of a server on cores of their own.
//!
//! If callers are on the same machine and outnumber the cores, the kernel takes it for balanced
//! when two loops share one core and the callers have the others. Then each call goes from one core
//! to another and back, which costs twice the CPU of one that stays. A loop that notices moves off.
//! It is not bound to where it moved: threads that a handler starts inherit where their parent may
//! run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A loop looks where it is behind so many answers, a few milliseconds' worth where there is much
/// to do.
const EVERY: u32 = 256;

/// The answers behind which a loop with several connections lets other threads run, and the bytes
/// for which a long answer counts as another one. Callers whose threads wait for the core can call
/// again while the caches have what they need. But beside a thread that never sleeps, as that of
/// async callers, each yield costs the loop a slice of some milliseconds. docs/benchmarks.md has
/// the figures.
const YIELD: u32 = 8;
const LONG: usize = 8 << 10;

/// An older place of a loop says nothing: it may have moved, or have nothing to do.
const FRESH: Duration = Duration::from_millis(50);

/// The loops of a server.
struct Spread {
    since: Instant,
    loops: Vec<Station>,
}

/// The state of a loop, apart from the others in the cache, as it is written with each answer.
#[derive(Default)]
#[repr(align(128))]
struct Station {
    connections: AtomicU32,
    answers: AtomicU32,
    /// Those since it last let other threads run.
    kept: AtomicU32,
    /// When it was seen, in milliseconds, in the upper half, and on which core, plus 1, in the
    /// lower one; 0 at first.
    seen: AtomicU64,
}

/// A loop among those of its server.
#[derive(Clone)]
pub(super) struct Slot {
    spread: Arc<Spread>,
    number: usize,
}

/// A connection of a loop, counted as long as this exists.
pub(super) struct LoopClaim(Slot);

/// The slots of so many loops.
pub(super) fn slots(loops: usize) -> impl Iterator<Item = Slot> {
    let spread = Arc::new(Spread {
        since: Instant::now(),
        loops: (0..loops).map(|_| Station::default()).collect(),
    });
    (0..loops).map(move |number| Slot {
        spread: spread.clone(),
        number,
    })
}

impl Slot {
    /// Which of the loops it is.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Claims a place for another connection, at this loop unless one of the others has fewer: a
    /// loop that has many makes each of them wait while another one idles.
    pub(super) fn claim(&self) -> LoopClaim {
        let loops = self.spread.loops.iter().map(Station::connections);
        let least = loops
            .enumerate()
            .min_by_key(|(_, connections)| *connections);
        let number = match least {
            Some((number, least)) if least < self.station().connections() => number,
            _ => self.number,
        };
        let slot = Slot {
            spread: self.spread.clone(),
            number,
        };
        slot.station().connections.fetch_add(1, Relaxed);
        LoopClaim(slot)
    }

    fn station(&self) -> &Station {
        &self.spread.loops[self.number]
    }

    /// Notes where this loop is. Of two on one core the later one moves.
    fn look(&self, core: usize) {
        let now = self.spread.since.elapsed();
        self.station().note(core, now);
        let taken = self.taken(now);
        if taken.contains(&core) {
            avoid(&taken);
        }
    }

    /// On which cores the loops before this one are.
    fn taken(&self, now: Duration) -> Vec<usize> {
        let before = self.spread.loops.iter().take(self.number);
        before.filter_map(|station| station.core(now)).collect()
    }
}

impl LoopClaim {
    /// Which loop has it.
    pub(super) fn number(&self) -> usize {
        self.0.number
    }

    /// Returns whether the loop has no other connection.
    pub(super) fn is_alone(&self) -> bool {
        self.0.station().connections() == 1
    }

    /// To be called behind each answer.
    pub(super) fn answered(&self) {
        // Nobody but the loop writes it.
        let answers = &self.0.station().answers;
        let count = answers.load(Relaxed).wrapping_add(1);
        answers.store(count, Relaxed);
        if count.is_multiple_of(EVERY) {
            self.0.look(current_core());
        }
    }

    /// Returns whether it is time to let other threads run, behind an answer of so many bytes:
    /// always where the loop has no other connection.
    pub(super) fn gives_way(&self, bytes: usize) -> bool {
        self.is_alone() || self.0.station().gives_way(bytes)
    }
}

impl Drop for LoopClaim {
    fn drop(&mut self) {
        self.0.station().connections.fetch_sub(1, Relaxed);
    }
}

impl Station {
    fn connections(&self) -> u32 {
        self.connections.load(Relaxed)
    }

    fn gives_way(&self, bytes: usize) -> bool {
        let long = u32::try_from(bytes / LONG).unwrap_or(YIELD);
        let kept = self.kept.load(Relaxed).saturating_add(1 + long.min(YIELD));
        let gives_way = kept >= YIELD;
        self.kept.store(if gives_way { 0 } else { kept }, Relaxed);
        gives_way
    }

    fn note(&self, core: usize, now: Duration) {
        let seen = ((now.as_millis() as u64) << 32) | (core as u64 + 1);
        self.seen.store(seen, Relaxed);
    }

    /// Returns the core on which the loop has been seen lately.
    fn core(&self, now: Duration) -> Option<usize> {
        let seen = self.seen.load(Relaxed);
        let age = now.saturating_sub(Duration::from_millis(seen >> 32));
        let core = (seen as u32 as usize).checked_sub(1)?;
        (age < FRESH).then_some(core)
    }
}

#[cfg(target_os = "linux")]
fn current_core() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves this thread off these cores to another one where it may run, if there is any.
#[cfg(target_os = "linux")]
fn avoid(taken: &[usize]) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let mut free = allowed;
    for core in taken.iter().filter(|core| **core < CpuSet::MAX_CPU) {
        free.unset(*core);
    }
    if free.count() > 0 && sched_setaffinity(None, &free).is_ok() {
        // The kernel leaves it where it is now as long as it sees no reason to move it.
        let _ = sched_setaffinity(None, &allowed);
    }
}

#[cfg(not(target_os = "linux"))]
fn current_core() -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
fn avoid(_: &[usize]) {}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_millis(49);

    /// Checks the cores that the third of four loops finds taken, when the loops were seen on these
    /// so long ago.
    #[track_caller]
    fn check(seen: [Option<(usize, Duration)>; 4], taken: &[usize]) {
        let now = Duration::from_secs(100);
        let slots: Vec<Slot> = slots(4).collect();
        for (slot, seen) in slots.iter().zip(seen) {
            if let Some((core, age)) = seen {
                slot.station().note(core, now.saturating_sub(age));
            }
        }
        assert_eq!(slots[2].taken(now), taken);
    }

    #[test]
    fn loops_before_this_one_keep_their_cores() {
        check([None; 4], &[]);
        check([Some((0, LATER)); 4], &[0, 0]);
        check([Some((3, LATER)), None, Some((3, LATER)), None], &[3]);
        check([Some((3, FRESH)), Some((1, LATER)), None, None], &[1]);
        check([None, None, Some((3, LATER)), Some((1, LATER))], &[]);
    }

    #[test]
    fn a_connection_goes_to_the_loop_that_has_fewest() {
        let slots: Vec<Slot> = slots(3).collect();
        let mut claims: Vec<LoopClaim> = (0..7).map(|_| slots[1].claim()).collect();
        let numbers: Vec<usize> = claims.iter().map(LoopClaim::number).collect();
        assert_eq!(numbers, [1, 0, 2, 1, 0, 2, 1]);
        claims.remove(2);
        assert_eq!(slots[0].claim().number(), 2);
        claims.truncate(2);
        assert!(claims.iter().all(LoopClaim::is_alone));
        assert_eq!(slots[0].claim().number(), 2);
        let another = slots[2].claim();
        assert_eq!((another.number(), slots[2].claim().number()), (2, 2));
    }

    #[test]
    fn threads_run_behind_some_answers() {
        // Lengths of answers, and behind which of them other threads run.
        let rows: [(&[usize], &[usize]); 4] = [
            (&[100; 17], &[7, 15]),
            (&[100_000; 3], &[0, 1, 2]),
            (&[LONG; 9], &[3, 7]),
            (&[100, usize::MAX, 100, 6 * LONG, 100], &[1, 3]),
        ];
        for (lengths, expected) in rows {
            let slots: Vec<Slot> = slots(1).collect();
            let alone = slots[0].claim();
            assert!(alone.gives_way(1) && alone.gives_way(1));
            let _other = slots[0].claim();
            let answers = lengths.iter().enumerate();
            let behind = answers.filter(|(_, length)| alone.gives_way(**length));
            let behind: Vec<usize> = behind.map(|(number, _)| number).collect();
            assert_eq!(behind, expected, "{lengths:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_moves_may_still_run_everywhere() {
        use rustix::thread::sched_getaffinity;
        let before = sched_getaffinity(None).unwrap_or_else(|e| panic!("{e}"));
        avoid(&[current_core()]);
        avoid(&[usize::MAX]);
        let all: Vec<usize> = (0..1024).collect();
        avoid(&all);
        let after = sched_getaffinity(None).unwrap_or_else(|e| panic!("{e}"));
        assert!(before == after);
    }
}
