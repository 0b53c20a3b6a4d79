//! A quota at work: for all calls at a place, or for those of one caller.

use super::bucket::Bucket;
use super::line::{Entry, Line, Waiting};
use super::{Criticality, Quota, Reason};
use crate::clock;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Gate {
    calls: Option<Bucket>,
    bytes: Option<Bucket>,
    line: Option<Arc<Line>>,
}

/// The place of a call that runs, given back when this is dropped.
pub(super) struct Permit {
    gate: Arc<Gate>,
    since: Instant,
    /// The time of its call is to be looked at.
    is_typical: bool,
}

/// The way of a call through a gate.
pub(super) enum Way {
    /// It goes on. The permit is kept until the call is over.
    Open(Option<Permit>),
    Wait(Waiting),
}

/// A refusal, and the time after which it can be otherwise.
pub(super) struct Refused {
    pub(super) reason: Reason,
    pub(super) after: Option<Duration>,
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Self {
        Refused {
            reason,
            after: None,
        }
    }
}

impl Gate {
    pub(super) fn new(quota: &Quota) -> Self {
        Gate {
            calls: quota.calls.as_ref().map(Bucket::new),
            bytes: quota.bytes.as_ref().map(Bucket::new),
            line: quota.limits_flight().then(|| Arc::new(Line::new(quota))),
        }
    }

    /// Lets a call through, with parameters of this size.
    pub(super) fn pass(
        self: &Arc<Self>,
        size: usize,
        criticality: Criticality,
    ) -> Result<Way, Refused> {
        take(&self.calls, 1, Reason::Rate)?;
        take(&self.bytes, Quota::blocks(size), Reason::Bytes)?;
        match self.line.as_ref().map(|line| line.enter(criticality)) {
            None => Ok(Way::Open(None)),
            Some(Entry::Runs) => Ok(Way::Open(Some(self.permit()))),
            Some(Entry::Waits(waiting)) => Ok(Way::Wait(waiting)),
            Some(Entry::Full) => Err(Reason::InFlight.into()),
        }
    }

    /// Makes the permit of a call that has entered the line.
    pub(super) fn permit(self: &Arc<Self>) -> Permit {
        Permit {
            gate: self.clone(),
            since: clock::now(),
            is_typical: false,
        }
    }

    /// Returns the number of calls that may run now, where that is limited.
    pub(super) fn in_flight(&self) -> Option<usize> {
        self.line.as_ref().map(|line| line.limit())
    }
}

fn take(bucket: &Option<Bucket>, tokens: u32, reason: Reason) -> Result<(), Refused> {
    let Some(bucket) = bucket else {
        return Ok(());
    };
    bucket.take(tokens).map_err(|after| Refused {
        reason,
        after: Some(after),
    })
}

impl Permit {
    /// Gives the place back at the end of the call.
    pub(super) fn release(mut self, is_typical: bool) {
        self.is_typical = is_typical;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(line) = &self.gate.line {
            let took = || clock::now().saturating_duration_since(self.since);
            line.leave(self.is_typical.then(took));
        }
    }
}
