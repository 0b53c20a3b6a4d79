//! Times in buckets that grow with them, so that each is known to an eighth.

use crate::counters::Count;
use std::time::Duration;

/// Buckets to each doubling.
const PARTS: usize = 8;
const PART_BITS: u32 = PARTS.trailing_zeros();

/// Times below 2^10 ns are in the first bucket,
const LEAST: u32 = 10;
/// and those from 2^37 ns, 137 s, in the last.
const MAX: u32 = 37;

/// The first doubling of an export: times below 2^14 ns, 16 µs, are in its first bucket.
const FIRST: u32 = 14;

/// The buckets of an export, with the last one, which has no end.
pub(super) const DOUBLINGS: usize = (MAX - FIRST) as usize + 2;

/// Returns the bucket of an export that a time is in.
pub(super) fn doubling(time: Duration) -> usize {
    let nanoseconds = time.as_nanos().max(1);
    let doubling = nanoseconds.ilog2() + 1;
    (doubling.clamp(FIRST, MAX + 1) - FIRST) as usize
}

const BUCKETS: usize = (MAX - LEAST) as usize * PARTS + 2;

/// The bucket of a time.
fn bucket(nanoseconds: u64) -> usize {
    if nanoseconds < 1 << LEAST {
        return 0;
    }
    let doubling = nanoseconds.ilog2();
    if doubling >= MAX {
        return BUCKETS - 1;
    }
    let part = (nanoseconds >> (doubling - PART_BITS)) as usize % PARTS;
    1 + (doubling - LEAST) as usize * PARTS + part
}

/// The time at which a bucket ends, in nanoseconds; `None` for the last one.
fn end(bucket: usize) -> Option<u64> {
    if bucket + 1 == BUCKETS {
        return None;
    }
    let doubling = LEAST + (bucket / PARTS) as u32;
    Some((PARTS + bucket % PARTS) as u64 * (1 << (doubling - PART_BITS)))
}

/// Times that are counted while others read them.
pub(super) struct Times {
    counts: [Count; BUCKETS],
    sum: Count,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            counts: std::array::from_fn(|_| Count::default()),
            sum: Count::default(),
        }
    }
}

impl Times {
    pub(super) fn add(&self, time: Duration, alone: bool) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get(bucket(nanoseconds)) {
            count.add(1, alone);
        }
        self.sum.add(nanoseconds, alone);
    }

    pub(super) fn add_to(&self, histogram: &mut Histogram) {
        let sums = histogram.counts.iter_mut().zip(&self.counts);
        sums.for_each(|(sum, count)| *sum += count.get());
        let sum = Duration::from_nanos(self.sum.get());
        histogram.sum = histogram.sum.saturating_add(sum);
    }
}

/// Counts of times, in buckets that grow by an eighth or less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    sum: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            sum: Duration::ZERO,
        }
    }
}

impl Histogram {
    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the times.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns a time that this share of the times does not exceed, 0.99 for example, an eighth too
    /// long at most; 0 without times. A time of more than 137 s counts as one of that.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0))
            .ceil()
            .max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(end(bucket).unwrap_or(1 << MAX));
            }
        }
        Duration::ZERO
    }

    /// Adds the times of another one, of another process for example.
    pub fn merge(&mut self, other: &Histogram) {
        let sums = self.counts.iter_mut().zip(&other.counts);
        sums.for_each(|(sum, count)| *sum += count);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Returns the buckets: the longest time of each, and how many times it has. The last one has
    /// all that are longer.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> {
        let counts = self.counts.iter().enumerate();
        counts.map(|(bucket, count)| {
            let end = end(bucket).unwrap_or(1 << MAX);
            (Duration::from_nanos(end), *count)
        })
    }

    /// Returns how many times are below each doubling, from 16 µs to 137 s.
    pub(super) fn doublings(&self) -> impl Iterator<Item = (Duration, u64)> {
        (FIRST..=MAX).map(|doubling| {
            let below = (doubling - LEAST) as usize * PARTS + 1;
            let count = self.counts.iter().take(below).sum();
            (Duration::from_nanos(1 << doubling), count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        assert_eq!(bucket(0), 0);
        for number in 0..BUCKETS - 1 {
            let next = end(number).unwrap_or_default();
            assert_eq!(
                (bucket(next - 1), bucket(next)),
                (number, number + 1),
                "{number}"
            );
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_an_eighth_too_long_at_most() {
        let times = Times::default();
        for microseconds in 1..=10_000 {
            times.add(Duration::from_micros(microseconds), false);
        }
        let mut histogram = Histogram::default();
        times.add_to(&mut histogram);
        for share in [0.001, 0.5, 0.9, 0.99, 0.9999, 1.0] {
            let exact = 10_000.0 * share;
            let found = histogram.quantile(share).as_secs_f64() * 1e6;
            assert!((exact..=exact * 1.13).contains(&found), "{share}: {found}");
        }
        assert_eq!(histogram.count(), 10_000);
        assert_eq!(histogram.sum(), Duration::from_micros(50_005_000));
        assert_eq!(Histogram::default().quantile(0.5), Duration::ZERO);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.count(), 20_000);
        assert_eq!(twice.quantile(0.9), histogram.quantile(0.9));
    }

    #[test]
    fn doublings_are_exact() {
        let times = Times::default();
        let below = [16_383, 16_384, 1_048_575, 1_048_576];
        below
            .iter()
            .for_each(|time| times.add(Duration::from_nanos(*time), true));
        let mut histogram = Histogram::default();
        times.add_to(&mut histogram);
        let doublings: Vec<_> = histogram.doublings().collect();
        let counts: Vec<_> = doublings.iter().take(8).map(|(_, count)| *count).collect();
        assert_eq!(counts, [1, 2, 2, 2, 2, 2, 3, 4]);
        assert_eq!(doublings[0].0, Duration::from_nanos(16_384));
    }
}
