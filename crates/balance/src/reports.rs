//! Weights from the load that servers report (gRFC A58).

use crate::Endpoint;
use crate::load::nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The settings of [`Policy::WeightedRoundRobin`](crate::Policy::WeightedRoundRobin).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportedWeights {
    /// The time for which a server has to report before its weight counts. Default 10 s.
    pub blackout: Duration,
    /// The time after which a report does not count any more. Default 3 min.
    pub expiration: Duration,
    /// The utilization that a server would have by errors alone. Default 1.
    pub error_penalty: f64,
}

impl Default for ReportedWeights {
    fn default() -> Self {
        ReportedWeights {
            blackout: Duration::from_secs(10),
            expiration: Duration::from_secs(180),
            error_penalty: 1.0,
        }
    }
}

/// The load of a server, as it reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoadReport {
    /// The part of the server's capacity that is in use; 1 is all of it.
    pub utilization: f64,
    /// Calls a second.
    pub calls: f64,
    /// Calls a second that fail.
    pub errors: f64,
}

impl LoadReport {
    /// The load of a server.
    #[must_use]
    pub fn new(utilization: f64, calls: f64, errors: f64) -> Self {
        LoadReport {
            utilization,
            calls,
            errors,
        }
    }

    /// The calls a second for which the server would have the capacity; `None` if it reports no
    /// load.
    fn weight(&self, error_penalty: f64) -> Option<f64> {
        let errors = self.errors / self.calls * error_penalty;
        let weight = self.calls / (self.utilization + errors);
        (weight.is_finite() && weight > 0.0).then_some(weight)
    }
}

/// The last report of an endpoint. Its parts are written without a lock; a reader may see one of
/// them later than another.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    utilization: AtomicU64,
    calls: AtomicU64,
    errors: AtomicU64,
    /// When it came, and when the first one did; nanoseconds of the balancer, 0 without any.
    last: AtomicU64,
    first: AtomicU64,
}

impl Reports {
    pub(crate) fn note(&self, now: u64, report: &LoadReport) {
        for (value, part) in [
            (report.utilization, &self.utilization),
            (report.calls, &self.calls),
            (report.errors, &self.errors),
        ] {
            part.store(value.to_bits(), Relaxed);
        }
        if self.first.load(Relaxed) == 0 {
            self.first.store(now.max(1), Relaxed);
        }
        self.last.store(now.max(1), Relaxed);
    }

    /// Forgets the reports of a server that may have been started anew.
    pub(crate) fn forget(&self) {
        self.first.store(0, Relaxed);
    }

    fn weight(&self, settings: &ReportedWeights, now: u64) -> Option<f64> {
        let (first, last) = (self.first.load(Relaxed), self.last.load(Relaxed));
        if first == 0 {
            return None;
        }
        if now.saturating_sub(last) >= nanos(settings.expiration) {
            // Its next reports count after another blackout.
            self.forget();
            return None;
        }
        if now.saturating_sub(first) < nanos(settings.blackout) {
            return None;
        }
        let part = |part: &AtomicU64| f64::from_bits(part.load(Relaxed));
        let report = LoadReport {
            utilization: part(&self.utilization),
            calls: part(&self.calls),
            errors: part(&self.errors),
        };
        report.weight(settings.error_penalty)
    }
}

/// Returns the shares of endpoints. One without a weight gets the mean of the others.
pub(crate) fn shares<T>(
    settings: &ReportedWeights,
    now: u64,
    endpoints: &[Arc<Endpoint<T>>],
) -> Vec<f64> {
    let weights: Vec<_> = endpoints
        .iter()
        .map(|endpoint| endpoint.reports.weight(settings, now))
        .collect();
    let known: Vec<f64> = weights.iter().copied().flatten().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let share = |(endpoint, weight): (&Arc<Endpoint<T>>, &Option<f64>)| match known.len() {
        0 | 1 => endpoint.share(),
        _ => endpoint.share() * weight.unwrap_or(mean),
    };
    endpoints.iter().zip(&weights).map(share).collect()
}
