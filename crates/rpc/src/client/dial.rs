//! When to connect again, and what callers are told meanwhile.

use super::options::Backoff;
use crate::{Code, Status};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

/// The failures of connecting to one server in a row.
#[derive(Debug, Default)]
pub(crate) struct Dial {
    failures: u32,
    /// Not before this instant, and why.
    blocked: Option<(Instant, Status)>,
}

impl Dial {
    /// An error while the server is left alone.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Status> {
        match &self.blocked {
            Some((until, why)) if now < *until => Err(why.clone()),
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
    ) -> Status {
        self.failures += 1;
        let delay = backoff.delay(self.failures, RandomState::new().hash_one(self.failures));
        let status = unreachable(target, error);
        self.blocked = Some((now + delay, retry_later(&status, delay)));
        status
    }
}

fn unreachable(target: &str, error: &io::Error) -> Status {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; is the server running?",
        io::ErrorKind::TimedOut => "; is the host reachable?",
        _ => "",
    };
    Status::new(
        Code::Unavailable,
        format!("cannot connect to {target}: {error}{hint}"),
    )
}

fn retry_later(status: &Status, delay: Duration) -> Status {
    let message = format!("{}; left alone for {delay:.0?} since", status.message());
    Status::new(Code::Unavailable, message)
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
        let told = dial.failed(start, &backoff, "tcp://127.0.0.1:1", &refused);
        assert!(told.message().contains("is the server running?"), "{told}");
        assert!(dial.check(start).is_err());
        assert!(dial.check(start + backoff.first).is_ok());
        dial.succeeded();
        assert!(dial.check(start).is_ok());
    }
}
