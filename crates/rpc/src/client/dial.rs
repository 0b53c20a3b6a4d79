//! When to connect again, and what callers are failed meanwhile.

use super::options::{Backoff, Options};
use crate::{Status, clock};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

/// No connection, and when to try again.
pub(crate) struct Failed {
    pub(crate) why: Status,
    pub(crate) again: Instant,
}

/// How long a call waits for a server that comes back.
pub(crate) struct Wait(Instant);

impl Wait {
    /// Waits as `connect_wait` says, and no longer than the call may take. `reached` is false where
    /// the server was never reached: its address is wrong, more likely than not, so nothing waits
    /// for it.
    pub(crate) fn new(options: &Options, reached: bool) -> Self {
        let limit = match reached {
            true => options.connect_wait.min(options.timeout),
            false => Duration::ZERO,
        };
        let now = clock::now();
        Wait(now.checked_add(limit).unwrap_or(now))
    }

    /// Returns the pause before the next attempt, or the failure where the wait is over before.
    pub(crate) fn pause(&self, Failed { why, again }: Failed) -> Result<Duration, Status> {
        match again < self.0 {
            true => Ok(again.saturating_duration_since(clock::now())),
            false => Err(why),
        }
    }
}

/// The failures of connecting to one server in a row.
#[derive(Debug, Default)]
pub(crate) struct Dial {
    failures: u32,
    /// Not before this instant, and why.
    blocked: Option<(Instant, Status)>,
}

impl Dial {
    /// An error while the server is left alone.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Failed> {
        match &self.blocked {
            Some((again, why)) if now < *again => Err(Failed {
                why: why.clone(),
                again: *again,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Dial::default();
    }

    /// Notes a failure, and gives the error for whoever tried.
    pub(crate) fn failed(
        &mut self,
        now: Instant,
        backoff: &Backoff,
        target: &str,
        error: &io::Error,
    ) -> Failed {
        self.failures += 1;
        let delay = backoff.delay(self.failures, RandomState::new().hash_one(self.failures));
        let (why, again) = (unreachable(target, error), now + delay);
        self.blocked = Some((again, retry_later(&why, delay)));
        Failed { why, again }
    }
}

fn unreachable(target: &str, error: &io::Error) -> Status {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; is the server running?",
        io::ErrorKind::TimedOut => "; is the host reachable?",
        _ => "",
    };
    let what = format!("cannot connect to {target}: {error}{hint}");
    Status::unavailable(what).with_source(copy_of(error))
}

fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn retry_later(status: &Status, delay: Duration) -> Status {
    let message = format!("{}; left alone for {delay:.0?} since", status.message());
    Status::unavailable(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit_and_vary() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_secs(1),
        };
        let rows = [
            (1, 50..=100),
            (2, 100..=200),
            (3, 200..=400),
            (5, 500..=1000),
            (60, 500..=1000),
        ];
        for (failures, range) in rows {
            for chance in [0, 511, 1023] {
                let delay = backoff.delay(failures, chance).as_millis();
                assert!(range.contains(&delay), "{failures} failures: {delay} ms");
            }
        }
    }

    #[test]
    fn a_server_is_left_alone_after_a_failure_and_not_after_a_success() {
        let (mut dial, start, backoff) = (Dial::default(), Instant::now(), Backoff::default());
        assert!(dial.check(start).is_ok());
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let failed = dial.failed(start, &backoff, "tcp://127.0.0.1:1", &refused);
        let message = failed.why.message();
        assert!(message.contains("is the server running?"), "{message}");
        assert!(dial.check(start).is_err());
        assert!(dial.check(start + backoff.first).is_ok());
        dial.succeeded();
        assert!(dial.check(start).is_ok());
    }
}
