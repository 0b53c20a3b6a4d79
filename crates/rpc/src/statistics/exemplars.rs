//! Calls whose traces are recorded, as examples of the times that a histogram counts.

use super::histogram::{DOUBLINGS, doubling};
use crate::trace::TraceContext;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A call whose trace is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exemplar {
    pub(super) trace: u128,
    pub(super) time: Duration,
    /// When it has ended.
    pub(super) at: SystemTime,
}

/// The latest exemplar of each bucket of an export.
pub(super) type Exemplars = [Option<Exemplar>; DOUBLINGS];

/// Exemplars that are taken while others read them.
#[derive(Default)]
pub(super) struct Taken(Mutex<Exemplars>);

impl Taken {
    pub(super) fn add(&self, trace: TraceContext, time: Duration) {
        let exemplar = Exemplar {
            trace: trace.trace_id(),
            time,
            at: SystemTime::now(),
        };
        // Another one is as good.
        if let Ok(mut all) = self.0.try_lock()
            && let Some(slot) = all.get_mut(doubling(time))
        {
            *slot = Some(exemplar);
        }
    }

    /// Adds those that are later.
    pub(super) fn add_to(&self, latest: &mut Exemplars) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (latest, own) in latest.iter_mut().zip(all.iter()) {
            let at = |exemplar: &Option<Exemplar>| exemplar.map(|exemplar| exemplar.at);
            if at(own) > at(latest) {
                *latest = *own;
            }
        }
    }
}
