//! How long connections last.

use crate::server::ServerLimits;
use std::future::pending;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::time::sleep;

/// Waits until a new connection has reached its age, and takes no further calls.
pub(super) fn old(limits: &ServerLimits) -> impl Future<Output = ()> + use<> {
    // Clients that came together return at different times.
    let age = limits
        .connection_age
        .map(|age| shortened(age, RandomState::new().hash_one(())));
    after(age)
}

/// Waits until the grace period is over too, and the calls of the connection end.
pub(super) fn older(limits: &ServerLimits) -> impl Future<Output = ()> + use<> {
    let (age, grace) = (limits.connection_age, limits.connection_grace);
    after(age.zip(grace).map(|(age, grace)| age.saturating_add(grace)))
}

/// Shortens an age by up to a tenth; `chance` is any number.
fn shortened(age: Duration, chance: u64) -> Duration {
    let part = (chance % 1024) as f64 / 1024.0;
    age.mul_f64(1.0 - part / 10.0)
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_at_most_a_tenth_shorter() {
        let age = Duration::from_secs(100);
        for (chance, from, to) in [(0, 100, 100), (512, 95, 95), (1023, 90, 91)] {
            let found = shortened(age, chance).as_secs();
            assert!((from..=to).contains(&found), "{chance}: {found}");
        }
    }
}
