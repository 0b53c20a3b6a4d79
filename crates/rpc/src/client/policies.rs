//! How a channel treats calls that fail: retries, hedging, and their settings for services and
//! methods.

use crate::Code;
use crate::peer::context::CallInfo;
use crate::peer::intercept::Scope;
use crate::peer::outgoing::Outgoing;
use arc_swap::ArcSwapOption;
use dovetail_balance::Budget;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Has calls tried again that may have run on a server (gRFC A6). Calls that have not run are tried
/// again without it.
///
/// For a whole channel it counts for methods that the contract calls idempotent; for a service or a
/// method it counts for all calls.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The attempts at most, the first one included. Default 3.
    pub attempts: u32,
    /// The longest pause before the second attempt. Pauses are drawn at random, so that callers do
    /// not come back together. Default 50 ms.
    pub first_pause: Duration,
    /// The longest pause before any attempt. Default 1 s.
    pub longest_pause: Duration,
    /// Each pause is longer than the one before by this factor. Default 2.
    pub multiplier: f64,
    /// The failures after which another attempt follows. Default: `UNAVAILABLE`.
    pub codes: Vec<Code>,
    /// The time of one attempt. Default: that of the call.
    pub attempt_timeout: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            attempts: 3,
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(1),
            multiplier: 2.0,
            codes: vec![Code::Unavailable],
            attempt_timeout: None,
        }
    }
}

impl RetryPolicy {
    /// This number of attempts at most, the first one included.
    #[must_use]
    pub fn of(attempts: u32) -> Self {
        RetryPolicy {
            attempts,
            ..RetryPolicy::default()
        }
    }

    /// Limits the time of one attempt.
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// Tries again after these failures.
    #[must_use]
    pub fn codes(mut self, codes: impl IntoIterator<Item = Code>) -> Self {
        self.codes = codes.into_iter().collect();
        self
    }

    /// Sets the longest pauses before the second attempt, and before any.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// The pause after this number of failed attempts.
    pub(super) fn pause(&self, failed: u32) -> Duration {
        let growth = self
            .multiplier
            .max(0.0)
            .powi(failed.saturating_sub(1).min(64) as i32);
        let longest = self.first_pause.as_secs_f64() * growth;
        let longest = longest.min(self.longest_pause.as_secs_f64());
        Duration::try_from_secs_f64(longest * fastrand::f64()).unwrap_or(self.longest_pause)
    }
}

/// Sends a call to several servers, one after the other without waiting for a failure, and takes
/// the first answer (gRFC A6). The calls must be such that they may run more than once. Blocking
/// channels send one attempt after the other has failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HedgingPolicy {
    /// The attempts at most, the first one included. Default 2.
    pub attempts: u32,
    /// The time after which the next attempt is sent while no answer has come. Default 50 ms.
    pub delay: Duration,
    /// The failures after which the others are still waited for. Any other one ends the call.
    /// Default: `UNAVAILABLE`.
    pub non_fatal: Vec<Code>,
}

impl Default for HedgingPolicy {
    fn default() -> Self {
        HedgingPolicy {
            attempts: 2,
            delay: Duration::from_millis(50),
            non_fatal: vec![Code::Unavailable],
        }
    }
}

impl HedgingPolicy {
    /// This number of attempts at most, one each time the delay has passed.
    #[must_use]
    pub fn of(attempts: u32, delay: Duration) -> Self {
        HedgingPolicy {
            attempts,
            delay,
            ..HedgingPolicy::default()
        }
    }

    /// Goes on after these failures.
    #[must_use]
    pub fn non_fatal(mut self, codes: impl IntoIterator<Item = Code>) -> Self {
        self.non_fatal = codes.into_iter().collect();
        self
    }
}

/// The policy for the calls of a service or a method.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallPolicy {
    pub(crate) timeout: Option<Duration>,
    pub(crate) wait_for_ready: Option<bool>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) hedging: Option<HedgingPolicy>,
}

/// The policies of a channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policies {
    /// For methods that are idempotent.
    pub(crate) idempotent: Option<Arc<RetryPolicy>>,
    /// For services and methods, the widest first.
    places: Vec<(Scope, Arc<CallPolicy>)>,
    /// Shared by all handles of a channel.
    pub(crate) budget: Arc<Budget>,
    /// The policies that the channel's name gives, once it has given any. They count in place of
    /// these.
    named: Option<Arc<ArcSwapOption<Policies>>>,
}

/// The policies that count for a call.
pub(super) enum CurrentPolicies<'a> {
    Own(&'a Policies),
    Named(Arc<Policies>),
}

impl Deref for CurrentPolicies<'_> {
    type Target = Policies;

    fn deref(&self) -> &Policies {
        match self {
            CurrentPolicies::Own(policies) => policies,
            CurrentPolicies::Named(policies) => policies,
        }
    }
}

impl Policies {
    /// Makes the policies of a channel to a name, which may give others.
    pub(super) fn of_name() -> Self {
        Policies {
            named: Some(Arc::default()),
            ..Policies::default()
        }
    }

    /// Gives the policies of the name; `None` if it gives none.
    pub(super) fn give(&self, policies: Option<Policies>) {
        if let Some(named) = &self.named {
            // Without a place for others, which would be this one.
            let alone = |policies| Policies {
                named: None,
                ..policies
            };
            named.store(policies.map(alone).map(Arc::new));
        }
    }

    /// Returns the policies that count now.
    pub(super) fn current(&self) -> CurrentPolicies<'_> {
        let given = self.named.as_ref().and_then(|named| named.load_full());
        given.map_or(CurrentPolicies::Own(self), CurrentPolicies::Named)
    }

    /// Changes what counts at a place: `shop.v1.Orders`, `shop.v1.Orders/place`, or all calls for
    /// an empty one.
    pub(crate) fn change(&mut self, place: &str, change: impl FnOnce(&mut CallPolicy)) {
        let scope = Scope::of_any(place);
        let level = scope.level();
        let found = self.places.iter().position(|(other, _)| *other == scope);
        let index = found.unwrap_or_else(|| {
            let behind = |(other, _): &(Scope, _)| other.level() <= level;
            let index = self.places.partition_point(behind);
            self.places.insert(index, (scope, Arc::default()));
            index
        });
        if let Some((_, policy)) = self.places.get_mut(index) {
            change(Arc::make_mut(policy));
        }
    }

    /// Limits the time of a call.
    pub(super) fn limit<P>(&self, call: &mut Outgoing<'_, P>) {
        if let Some(policy) = self.of(call) {
            call.timeout = shorter(call.timeout, policy.timeout);
        }
    }

    /// Returns the policy for a call: that of the narrowest place, and no other (gRPC's service
    /// config).
    pub(super) fn of<P>(&self, call: &Outgoing<'_, P>) -> Option<&Arc<CallPolicy>> {
        let own = call.method.map_or("", |method| method.service);
        let services = [call.service.unwrap_or_default(), own];
        let mut places = self.places.iter().rev();
        let found = places.find(|(scope, _)| scope.takes(&services, call.name));
        found.map(|(_, policy)| policy)
    }
}

/// The key by which calls are hashed, for policies that hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOf {
    /// The value of a header of the call.
    Header(String),
    /// The caller of the handler that makes the call.
    Caller,
    /// A value of the channel's.
    Value(u64),
}

impl KeyOf {
    /// The hash of a call's key; `None` where it has none.
    pub(super) fn hash<P>(&self, call: &Outgoing<'_, P>) -> Option<u64> {
        match self {
            KeyOf::Header(name) => call.headers.get(name).map(dovetail_balance::hash),
            KeyOf::Caller => CallInfo::current(|outer| {
                let name = outer.principal()?.name();
                Some(dovetail_balance::hash(name.as_bytes()))
            })?,
            KeyOf::Value(value) => Some(*value),
        }
    }
}

/// Returns the shorter of two times, each of which may be unlimited.
pub(super) fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_the_name_count_first() {
        let own = Policies::of_name();
        let attempts = || {
            let policies = own.current();
            let retry = policies.idempotent.as_ref();
            retry.map(|retry| retry.attempts)
        };
        assert_eq!(attempts(), None);
        let given = Policies {
            idempotent: Some(Arc::new(RetryPolicy::of(7))),
            ..own.clone()
        };
        // All handles of a channel see them.
        own.clone().give(Some(given));
        assert_eq!(attempts(), Some(7));
        own.give(None);
        assert_eq!(attempts(), None);
    }
}
