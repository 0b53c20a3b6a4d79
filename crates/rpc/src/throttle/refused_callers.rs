use super::Reason;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Callers that are remembered, for each reason once.
const MAX: usize = 64;

/// A caller whose calls a quota has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedCaller {
    /// The name of its identity, or its address without the port.
    pub caller: String,
    /// The number of its calls; where more callers were refused than are remembered, it may be too
    /// high.
    pub calls: u64,
}

/// The callers whose calls a quota has refused most often.
#[derive(Default)]
pub(super) struct RefusedCallers(Mutex<Vec<(Reason, RefusedCaller)>>);

impl RefusedCallers {
    /// Counts a refusal. If there is no room for its caller, that takes the place and the number of
    /// the one with the fewest. So one that is refused often is always there (Metwally, Agrawal, El
    /// Abbadi: "Efficient computation of frequent and top-k elements in data streams", 2005).
    pub(super) fn add(&self, reason: Reason, caller: &str) {
        let mut known = self.lock();
        let mut rows = known.iter_mut();
        if let Some((_, row)) = rows.find(|(of, row)| *of == reason && row.caller == caller) {
            row.calls += 1;
            return;
        }
        let fewest = match known.len() {
            MAX.. => known.iter_mut().min_by_key(|(_, row)| row.calls),
            _ => None,
        };
        let row = |calls| RefusedCaller {
            caller: caller.to_owned(),
            calls,
        };
        match fewest {
            Some(fewest) => *fewest = (reason, row(fewest.1.calls + 1)),
            None => known.push((reason, row(1))),
        }
    }

    /// Returns the callers that were refused for a reason, the one with the most calls first.
    pub(super) fn of(&self, reason: Reason) -> Vec<RefusedCaller> {
        let known = self.lock();
        let known = known.iter().filter(|(of, _)| *of == reason);
        let mut rows: Vec<_> = known.map(|(_, row)| row.clone()).collect();
        rows.sort_by(|one, other| {
            let calls = other.calls.cmp(&one.calls);
            calls.then_with(|| one.caller.cmp(&other.caller))
        });
        rows
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Reason, RefusedCaller)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_most_often_is_always_there() {
        let callers = RefusedCallers::default();
        for number in 0..10_000 {
            callers.add(
                Reason::Rate,
                &format!("10.0.{}.{}", number / 256, number % 256),
            );
            if number % 3 == 0 {
                callers.add(Reason::Rate, "ada");
            }
            if number % 100 == 0 {
                callers.add(Reason::Bytes, "ada");
            }
        }
        let rows = callers.of(Reason::Rate);
        assert_eq!(rows[0].caller, "ada");
        assert!((3_334..3_600).contains(&rows[0].calls), "{rows:?}");
        assert!(rows.len() <= MAX, "{}", rows.len());
        assert_eq!(callers.of(Reason::Message), []);
    }
}
