use super::refused_callers::RefusedCaller;
use super::rule::Rule;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Too many calls in a time.
    Rate,
    /// Too many bytes in a time.
    Bytes,
    /// Parameters that are too large.
    Message,
    /// Too many calls under way, and no place in the queue, or a more critical call has taken it.
    InFlight,
    /// Too long a wait in the queue.
    QueueTime,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Reason::Rate,
        Reason::Bytes,
        Reason::Message,
        Reason::InFlight,
        Reason::QueueTime,
    ];

    /// Returns its name, `in-flight` for example.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Rate => "rate",
            Reason::Bytes => "bytes",
            Reason::Message => "message",
            Reason::InFlight => "in-flight",
            Reason::QueueTime => "queue-time",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The calls that a quota has refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The place of the quota: a service, a method, or `this server`.
    pub place: String,
    /// True for a quota that each caller has.
    pub each_caller: bool,
    /// The reason.
    pub reason: Reason,
    /// The number of calls.
    pub calls: u64,
    /// The callers with the most of them; the quota remembers 64.
    pub callers: Vec<RefusedCaller>,
}

/// The refusals of a [`Throttle`](super::Throttle). Clones are the same.
#[derive(Clone, Default)]
pub struct Refusals(Arc<Mutex<Vec<Arc<Rule>>>>);

impl Refusals {
    pub(super) fn add(&self, rule: &Arc<Rule>) {
        self.lock().push(rule.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Rule>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the refusals by place and reason, without those that have not happened.
    pub fn all(&self) -> Vec<Refusal> {
        let rules = self.lock();
        let reasons = rules.iter().flat_map(|rule| {
            let counted = Reason::ALL.into_iter().zip(&rule.refused);
            counted.map(|(reason, calls)| Refusal {
                place: rule.place().to_owned(),
                each_caller: rule.is_of_callers(),
                reason,
                calls: calls.load(Ordering::Relaxed),
                callers: rule.refused_callers.of(reason),
            })
        });
        reasons.filter(|refusal| refusal.calls > 0).collect()
    }

    /// Returns the number of calls that were refused for a reason.
    pub fn of(&self, reason: Reason) -> u64 {
        let all = self.all().into_iter();
        all.filter(|refusal| refusal.reason == reason)
            .map(|refusal| refusal.calls)
            .sum()
    }

    /// Returns the number of calls that were refused.
    pub fn total(&self) -> u64 {
        self.all().iter().map(|refusal| refusal.calls).sum()
    }

    /// Returns the number of callers that are remembered, by those quotas that each caller has.
    pub fn callers(&self) -> usize {
        self.lock().iter().map(|rule| rule.callers()).sum()
    }
}

impl fmt::Debug for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}
