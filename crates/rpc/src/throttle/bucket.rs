//! Token buckets, of the crate `governor`.

use crate::clock;
use governor::clock::{Clock, Reference};
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter, middleware::NoOpMiddleware};
use std::num::NonZeroU32;
use std::ops::Add;
use std::time::{Duration, Instant};

/// A rate: so many tokens in a time, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) tokens: NonZeroU32,
    pub(super) per: Duration,
    pub(super) burst: NonZeroU32,
}

impl Rate {
    pub(super) fn new(tokens: u32, per: Duration) -> Self {
        let tokens = NonZeroU32::new(tokens).unwrap_or(NonZeroU32::MIN);
        Rate {
            tokens,
            per,
            burst: tokens,
        }
    }

    fn quota(&self) -> Quota {
        let each = self.per / self.tokens.get();
        // Faster than a token a nanosecond is no limit that anybody could reach.
        let quota = Quota::with_period(each.max(Duration::from_nanos(1)));
        let quota = quota.unwrap_or_else(|| Quota::per_second(NonZeroU32::MAX));
        quota.allow_burst(self.burst)
    }

    /// Returns the time in which an empty bucket fills.
    pub(super) fn fills_in(&self) -> Duration {
        (self.per / self.tokens.get()).saturating_mul(self.burst.get())
    }
}

/// A bucket of tokens.
pub(super) struct Bucket {
    limiter: RateLimiter<NotKeyed, InMemoryState, ServerClock, NoOpMiddleware<Moment>>,
    burst: NonZeroU32,
}

impl Bucket {
    pub(super) fn new(rate: &Rate) -> Self {
        Bucket {
            limiter: RateLimiter::direct_with_clock(rate.quota(), ServerClock),
            burst: rate.burst,
        }
    }

    /// Takes tokens, at most as many as the bucket can hold. An error has the time until they are
    /// there.
    pub(super) fn take(&self, tokens: u32) -> Result<(), Duration> {
        let Some(tokens) = NonZeroU32::new(tokens) else {
            return Ok(());
        };
        match self.limiter.check_n(tokens.min(self.burst)) {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(ServerClock.now())),
        }
    }
}

/// The clock of the server, which tests move.
#[derive(Clone, Copy)]
struct ServerClock;

impl Clock for ServerClock {
    type Instant = Moment;

    fn now(&self) -> Moment {
        Moment(clock::now())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment(Instant);

impl Add<Nanos> for Moment {
    type Output = Moment;

    fn add(self, nanos: Nanos) -> Moment {
        Moment(self.0 + Duration::from_nanos(nanos.as_u64()))
    }
}

impl Reference for Moment {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_duration_since(earlier.0).into()
    }

    fn saturating_sub(&self, nanos: Nanos) -> Self {
        let earlier = self.0.checked_sub(Duration::from_nanos(nanos.as_u64()));
        Moment(earlier.unwrap_or(self.0))
    }
}
