use super::options::Options;
use super::outgoing::Outgoing;
use crate::{Code, Execution, Status, clock};
use dovetail_protocol::Headers;
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Decides whether a call that failed is tried again, on a connection that is not known to be lost.
pub(super) struct Retries<'a> {
    options: &'a Options,
    /// The contract says that running twice is as good as once.
    idempotent: bool,
    /// It is not tried again after it may have run twice.
    spent: bool,
    /// A server has asked for the description of its contract.
    describes: bool,
    /// The first refusal of a call that a server did not start, and how many there were.
    refused: Option<(Instant, u32)>,
    /// How often servers have said when to try again, and how long the call has waited for that.
    pushed_back: (u32, Duration),
}

impl<'a> Retries<'a> {
    pub(super) fn new(options: &'a Options, idempotent: bool) -> Self {
        Retries {
            options,
            idempotent,
            spent: false,
            describes: false,
            refused: None,
            pushed_back: (0, Duration::ZERO),
        }
    }

    /// Returns the headers of an attempt, with that of the method's contract where the wire has headers.
    pub(super) fn headers<'c, P>(&self, call: &Outgoing<'c, P>) -> Cow<'c, Headers> {
        let Options {
            contracts, wire, ..
        } = self.options;
        contracts.headers(*wire, call, self.describes)
    }

    /// Returns the pause before another attempt; `None` where that could do harm, or is of no use any longer. A call that
    /// was not sent was stopped by the end of another call's connection, so callers do not go round in circles.
    pub(super) fn pause(&mut self, status: &Status) -> Option<Duration> {
        if status.asks_for_description() && !self.describes {
            self.describes = true;
            return Some(Duration::ZERO);
        }
        let not_run = matches!(
            status.execution(),
            Execution::NotSent | Execution::NotStarted
        );
        if let Some(after) = status.retry_after().filter(|_| not_run) {
            return self.pushed_back(after);
        }
        if status.code() != Code::Unavailable {
            return None;
        }
        match status.execution() {
            Execution::NotSent => Some(Duration::ZERO),
            Execution::NotStarted => self.refused(),
            Execution::MayHaveRun if self.idempotent && !self.spent => {
                self.spent = true;
                Some(Duration::ZERO)
            }
            Execution::MayHaveRun | Execution::Finished => None,
        }
    }

    /// Waits as a server has said, unless the call has no time for that.
    fn pushed_back(&mut self, after: Duration) -> Option<Duration> {
        let (before, waited) = self.pushed_back;
        let waited = waited.saturating_add(after);
        self.pushed_back = (before + 1, waited);
        (before < self.options.pushbacks && waited < self.options.timeout).then_some(after)
    }

    /// A server that goes down refuses a call, and perhaps again where the next connection was in its queue. The first
    /// attempt follows at once, others as connections follow one another, as long as a call waits for connections.
    fn refused(&mut self) -> Option<Duration> {
        let now = clock::now();
        let (first, before) = *self.refused.get_or_insert((now, 0));
        self.refused = Some((first, before + 1));
        let pause = match before {
            0 => Duration::ZERO,
            before => {
                let chance = RandomState::new().hash_one(before);
                self.options.backoff.delay(before, chance)
            }
        };
        let ends = now.saturating_duration_since(first) + pause;
        (pause.is_zero() || ends < self.options.connect_wait).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures in turn, whether the method is idempotent, `connect_wait`, and whether another attempt follows.
    type Row<'a> = (&'a [(Code, Execution)], bool, Duration, bool);

    #[test]
    fn calls_wait_as_servers_say() {
        let second = Duration::from_secs(1);
        let rows: &[(&[Duration], Execution, Option<Duration>)] = &[
            (&[second], Execution::NotStarted, Some(second)),
            (&[second; 4], Execution::NotStarted, Some(second)),
            (&[second; 5], Execution::NotStarted, None),
            (&[second * 3; 4], Execution::NotStarted, None),
            (&[second * 10], Execution::NotStarted, None),
            (&[Duration::MAX], Execution::NotStarted, None),
            (&[second], Execution::Finished, None),
        ];
        let options = Options {
            timeout: second * 10,
            ..Options::default()
        };
        for (said, execution, expected) in rows {
            let mut retries = Retries::new(&options, false);
            let pauses = said.iter().map(|after| {
                let status = Status::new(Code::ResourceExhausted, "").with_execution(*execution);
                retries.pause(&status.with_retry_after(*after))
            });
            assert_eq!(pauses.last().flatten(), *expected, "{said:?} {execution:?}");
        }
    }

    #[test]
    fn calls_are_tried_again() {
        use Execution::{Finished, MayHaveRun, NotSent, NotStarted};
        let second = Duration::from_secs(1);
        let rows: &[Row<'_>] = &[
            (&[(Code::Unavailable, NotSent); 9], false, second, true),
            (&[(Code::Unavailable, NotStarted); 4], false, second, true),
            (&[(Code::Unavailable, NotStarted); 40], false, second, false),
            (
                &[(Code::Unavailable, NotStarted)],
                false,
                Duration::ZERO,
                true,
            ),
            (
                &[(Code::Unavailable, NotStarted); 2],
                false,
                Duration::ZERO,
                false,
            ),
            (&[(Code::Unavailable, MayHaveRun)], false, second, false),
            (&[(Code::Unavailable, MayHaveRun)], true, second, true),
            (&[(Code::Unavailable, MayHaveRun); 2], true, second, false),
            (&[(Code::Unavailable, Finished)], true, second, false),
            (
                &[(Code::ResourceExhausted, NotStarted)],
                true,
                second,
                false,
            ),
            (&[(Code::Internal, NotSent)], true, second, false),
        ];
        for (failures, idempotent, connect_wait, tried) in rows {
            let options = Options {
                connect_wait: *connect_wait,
                ..Options::default()
            };
            let mut retries = Retries::new(&options, *idempotent);
            let pauses: Vec<_> = failures
                .iter()
                .map(|(code, execution)| {
                    let status = Status::new(*code, "").with_execution(*execution);
                    retries.pause(&status)
                })
                .collect();
            let last = pauses.last().copied().flatten();
            assert_eq!(last.is_some(), *tried, "{failures:?}: {pauses:?}");
        }
    }
}
