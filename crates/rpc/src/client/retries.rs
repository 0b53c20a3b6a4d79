use super::options::Options;
use super::policies::{CallPolicy, Policies, RetryPolicy, shorter};
use super::servers::Choice;
use crate::peer::outgoing::Outgoing;
use crate::{Code, Status, clock};
use dovetail_protocol::{Execution, Headers};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Decides whether a call that failed is tried again, on a connection that is not known to be lost.
pub(super) struct Retries<'a> {
    options: &'a Options,
    policies: &'a Policies,
    /// The contract says that running twice is as good as once.
    idempotent: bool,
    /// Says when a call that may have run is tried again.
    policy: Option<&'a RetryPolicy>,
    /// The call waits for a server as long as it has time.
    waits: bool,
    /// The attempts after which the policy was asked.
    failed: u32,
    /// It is not tried again after it may have run twice.
    spent: bool,
    /// A server has asked for the description of its contract.
    describes: bool,
    /// The first refusal of a call that a server did not start, and how many there were.
    refused: Option<(Instant, u32)>,
    /// How often servers have said when to try again, and how long the call has waited for that.
    pushed_back: (u32, Duration),
    /// The servers of the attempts, where there are several.
    servers: Vec<u64>,
}

impl<'a> Retries<'a> {
    /// `policies` are those that count now, `policy` is that of the service or the method.
    pub(super) fn new(
        options: &'a Options,
        policies: &'a Policies,
        policy: Option<&'a CallPolicy>,
        idempotent: bool,
    ) -> Self {
        let everywhere = policies.idempotent.as_deref();
        let waits = policy.and_then(|policy| policy.wait_for_ready);
        let policy = match policy {
            Some(policy) => policy.retry.as_ref(),
            None => everywhere.filter(|_| idempotent),
        };
        Retries {
            options,
            policies,
            idempotent,
            policy,
            waits: waits.unwrap_or(options.wait_for_ready),
            failed: 0,
            spent: false,
            describes: false,
            refused: None,
            pushed_back: (0, Duration::ZERO),
            servers: Vec::new(),
        }
    }

    /// Returns the headers of an attempt, with that of the method's contract where the wire has
    /// headers.
    pub(super) fn headers<'c, P>(&self, call: &Outgoing<'c, P>) -> Cow<'c, Headers> {
        let Options {
            contracts, wire, ..
        } = self.options;
        contracts.headers(*wire, call, self.describes)
    }

    /// Returns the time of one attempt, where it has a time of its own.
    pub(super) fn attempt_timeout(&self) -> Option<Duration> {
        self.policy?.attempt_timeout
    }

    /// Returns what decides where the next attempt goes.
    pub(super) fn choice<P>(&self, call: &Outgoing<'_, P>) -> Choice<'_> {
        Choice {
            key: self.options.key.as_ref().and_then(|key| key.hash(call)),
            avoid: &self.servers,
            limit: shorter(call.timeout, self.attempt_timeout()),
            waits: self.waits,
        }
    }

    /// Has further attempts go elsewhere than to these servers, where there are several.
    pub(super) fn avoid(&mut self, servers: impl IntoIterator<Item = u64>) {
        self.servers.extend(servers);
    }

    /// Takes the answer to an attempt. Returns the pause before another attempt; `None` where there
    /// is no other, as on a channel that never redials.
    pub(super) fn after<T>(
        &mut self,
        answer: &Result<T, Status>,
        redials: bool,
    ) -> Option<Duration> {
        match answer {
            Ok(_) => {
                self.policies.budget.succeeded();
                None
            }
            Err(status) if redials => self.pause(status),
            Err(_) => None,
        }
    }

    /// Returns the pause before another attempt; `None` where that could do harm, or is of no use
    /// any longer. A call that was not sent was stopped by the end of another call's connection, so
    /// callers do not go round in circles.
    fn pause(&mut self, status: &Status) -> Option<Duration> {
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
        match status.execution() {
            Execution::NotSent if status.code() == Code::Unavailable => Some(Duration::ZERO),
            Execution::NotStarted if status.code() == Code::Unavailable => self.refused(),
            _ if self.policy.is_some() => self.by_policy(status),
            Execution::MayHaveRun if status.code() == Code::Unavailable => self.once_more(),
            _ => None,
        }
    }

    /// Without a policy, a call of an idempotent method that may have run is tried once more.
    fn once_more(&mut self) -> Option<Duration> {
        let tries = self.idempotent && !self.spent;
        self.spent = true;
        tries.then_some(Duration::ZERO)
    }

    /// A policy has attempts and failures that it counts, and what all calls of the channel have
    /// left.
    fn by_policy(&mut self, status: &Status) -> Option<Duration> {
        let policy = self.policy?;
        if !policy.codes.contains(&status.code()) {
            return None;
        }
        self.failed += 1;
        let affordable = self.policies.budget.failed();
        let pause = status.retry_after();
        let pause = pause.unwrap_or_else(|| policy.pause(self.failed));
        (affordable && self.failed < policy.attempts).then_some(pause)
    }

    /// Waits as a server has said, unless the call has no time for that, or too many calls of the
    /// channel do so.
    fn pushed_back(&mut self, after: Duration) -> Option<Duration> {
        let (before, waited) = self.pushed_back;
        let waited = waited.saturating_add(after);
        self.pushed_back = (before + 1, waited);
        let affordable = self.policies.budget.failed();
        let waits = before < self.options.pushbacks && waited < self.options.timeout;
        (waits && affordable).then_some(after)
    }

    /// A server that goes down refuses a call, and perhaps again where the next connection was in
    /// its queue. The first attempt follows at once, others as connections follow one another, as
    /// long as a call waits for connections.
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

    /// Failures in turn, whether the method is idempotent, `connect_wait`, and whether another
    /// attempt follows.
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
            let mut retries = Retries::new(&options, &options.policies, None, false);
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
            let mut retries = Retries::new(&options, &options.policies, None, *idempotent);
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

    #[test]
    fn a_policy_counts_attempts_and_tokens() {
        use Execution::{Finished, MayHaveRun};
        let policy = RetryPolicy::of(3).codes([Code::Unavailable, Code::Internal]);
        // Whether the policy is that of the method, whether the method is idempotent, the failures
        // in turn, and the attempts that follow.
        type Row<'a> = (bool, bool, &'a [(Code, Execution)], usize);
        let rows: &[Row<'_>] = &[
            (true, false, &[(Code::Unavailable, MayHaveRun); 4], 2),
            (true, false, &[(Code::Internal, Finished); 4], 2),
            (true, false, &[(Code::NotFound, Finished); 4], 0),
            (false, true, &[(Code::Unavailable, MayHaveRun); 4], 2),
            (false, false, &[(Code::Unavailable, MayHaveRun); 4], 0),
        ];
        for (at_method, idempotent, failures, expected) in rows {
            let mut options = Options::default();
            let call_policy = CallPolicy {
                retry: Some(policy.clone()),
                ..CallPolicy::default()
            };
            if !at_method {
                options.policies.idempotent = Some(policy.clone().into());
            }
            let at_method = at_method.then_some(&call_policy);
            let mut retries = Retries::new(&options, &options.policies, at_method, *idempotent);
            let again = failures.iter().filter(|(code, execution)| {
                let status = Status::new(*code, "").with_execution(*execution);
                retries.pause(&status).is_some()
            });
            assert_eq!(again.count(), *expected, "{failures:?}");
        }
    }

    #[test]
    fn all_calls_of_a_channel_share_the_budget() {
        let options = Options::default();
        let policy = CallPolicy {
            retry: Some(RetryPolicy::of(5)),
            ..CallPolicy::default()
        };
        let status = Status::new(Code::Unavailable, "").with_execution(Execution::Finished);
        let again = |_: &usize| {
            let mut retries = Retries::new(&options, &options.policies, Some(&policy), false);
            retries.pause(&status).is_some()
        };
        assert_eq!((0..1000).filter(again).count(), 49);
    }
}
