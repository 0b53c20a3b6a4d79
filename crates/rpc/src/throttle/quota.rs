use super::adaptive::Bounds;
use super::bucket::Rate;
use std::time::Duration;

/// How long calls may wait in a queue that does not empty.
const TARGET: Duration = Duration::from_millis(5);

/// Bytes of a token in the buckets for bytes: buckets count in 32 bits, and nanoseconds.
const BLOCK: u64 = 64;

/// The calls that a [`Throttle`](super::Throttle) lets pass at a place, or of each caller at a
/// place. An empty one lets all pass.
///
/// ```
/// use dovetail::throttle::Quota;
/// use std::time::Duration;
///
/// let quota = Quota::new()
///     .rate(100, Duration::from_secs(1))
///     .in_flight(20)
///     .queue(50, Duration::from_millis(200));
/// # let _ = quota;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    pub(super) calls: Option<Rate>,
    pub(super) bytes: Option<Rate>,
    pub(super) message: Option<usize>,
    pub(super) in_flight: Option<usize>,
    pub(super) adaptive: Option<Bounds>,
    pub(super) queue: Queue,
}

/// The queue in front of the calls in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Queue {
    pub(super) length: usize,
    pub(super) longest: Duration,
    pub(super) target: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        Queue {
            length: 0,
            longest: Duration::ZERO,
            target: TARGET,
        }
    }
}

impl Quota {
    /// Lets all calls pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets so many calls pass in a time, one at least, evenly. After a pause as many pass at once,
    /// unless [`burst`](Self::burst) says otherwise.
    #[must_use]
    pub fn rate(mut self, calls: u32, per: Duration) -> Self {
        self.calls = Some(Rate::new(calls, per));
        self
    }

    /// Changes how many calls pass at once after a pause, one at least. It comes after
    /// [`rate`](Self::rate).
    #[must_use]
    pub fn burst(mut self, calls: u32) -> Self {
        if let Some(rate) = &mut self.calls {
            rate.burst = Rate::new(calls, rate.per).tokens;
        }
        self
    }

    /// Lets so many bytes of encoded parameters pass in a second. A call with more passes when none
    /// has for a second.
    #[must_use]
    pub fn bytes(mut self, per_second: u64) -> Self {
        let blocks = per_second.div_ceil(BLOCK).try_into().unwrap_or(u32::MAX);
        self.bytes = Some(Rate::new(blocks, Duration::from_secs(1)));
        self
    }

    /// Refuses calls with more bytes of encoded parameters, decompressed.
    #[must_use]
    pub fn message(mut self, bytes: usize) -> Self {
        self.message = Some(bytes);
        self
    }

    /// Lets so many calls run at a time, streams included.
    #[must_use]
    pub fn in_flight(mut self, calls: usize) -> Self {
        self.in_flight = Some(calls);
        self
    }

    /// Lets as many calls run at a time as the server can do without making them slower, between
    /// these numbers.
    ///
    /// The limit follows the time that calls take: it shrinks where they take longer than when few
    /// run, and grows by the root of itself otherwise. It is found out again now and then how long
    /// they take when few run. It belongs in front of calls that take about the same time.
    #[must_use]
    pub fn adaptive(mut self, least: usize, most: usize) -> Self {
        self.adaptive = Some(Bounds::new(least, most));
        self
    }

    /// Lets so many further calls wait for their turn, each at most so long. Default: none waits.
    ///
    /// Once every call of 100 ms has waited for half of the [target](Self::queue_target), none may
    /// wait longer than the target: a queue that does not empty makes answers late, and no more
    /// calls get through (the idea of `CoDel`, RFC 8289).
    #[must_use]
    pub fn queue(mut self, calls: usize, longest: Duration) -> Self {
        self.queue.length = calls;
        self.queue.longest = longest;
        self
    }

    /// Changes how long calls may wait in a queue that does not empty. Default: 5 ms.
    #[must_use]
    pub fn queue_target(mut self, target: Duration) -> Self {
        self.queue.target = target;
        self
    }

    /// Returns true if it limits the number of calls that run.
    pub(super) fn limits_flight(&self) -> bool {
        self.in_flight.is_some() || self.adaptive.is_some()
    }

    /// Returns the time after which nothing is left of calls that have passed.
    pub(super) fn forgets_in(&self) -> Duration {
        let rates = self.calls.iter().chain(&self.bytes);
        rates.map(Rate::fills_in).max().unwrap_or_default()
    }

    /// Returns the number of tokens for parameters of this size.
    pub(super) fn blocks(bytes: usize) -> u32 {
        (bytes as u64)
            .div_ceil(BLOCK)
            .try_into()
            .unwrap_or(u32::MAX)
    }
}
