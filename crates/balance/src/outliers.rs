//! Endpoints that fail more than others get no calls for a while (gRFC A50).

use crate::Endpoint;
use crate::load::{Interval, nanos};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// When endpoints are ejected, and for how long. The names and defaults are gRPC's, but for
/// `consecutive_failures`, which is Envoy's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outliers {
    /// How often successes and failures are counted up. Default 10 s.
    pub interval: Duration,
    /// How long an endpoint is ejected the first time; each further time adds as much. Default 30
    /// s.
    pub base_ejection_time: Duration,
    /// How long it is ejected at most. Default 300 s.
    pub max_ejection_time: Duration,
    /// No further endpoint is ejected once so many in a hundred are. Default 10; the first one is
    /// ejected in any case.
    pub max_ejection_percent: u32,
    /// Ejects endpoints with fewer successes than the others. Default: none.
    pub success_rate: Option<SuccessRate>,
    /// Ejects endpoints by the share of their failures. Default: none.
    pub failure_percentage: Option<FailurePercentage>,
    /// Ejects an endpoint at once after so many failures in a row. Default 5; 0 for never.
    pub consecutive_failures: u32,
}

/// Compares the success rates of endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuccessRate {
    /// An endpoint is ejected whose rate is below the mean by more than this part, in thousandths,
    /// of the standard deviation. Default 1900.
    pub stdev_factor: u32,
    /// The chance in a hundred that it is ejected then. Default 100.
    pub enforcement_percentage: u32,
    /// The endpoints with enough calls that there must be. Default 5.
    pub minimum_hosts: u32,
    /// The calls in an interval that count as enough. Default 100.
    pub request_volume: u32,
}

/// Looks at each endpoint alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailurePercentage {
    /// An endpoint is ejected of whose calls more than this part in a hundred fail. Default 85.
    pub threshold: u32,
    /// The chance in a hundred that it is ejected then. Default 100.
    pub enforcement_percentage: u32,
    /// The endpoints with enough calls that there must be. Default 5.
    pub minimum_hosts: u32,
    /// The calls in an interval that count as enough. Default 50.
    pub request_volume: u32,
}

impl Default for Outliers {
    fn default() -> Self {
        Outliers {
            interval: Duration::from_secs(10),
            base_ejection_time: Duration::from_secs(30),
            max_ejection_time: Duration::from_secs(300),
            max_ejection_percent: 10,
            success_rate: None,
            failure_percentage: None,
            consecutive_failures: 5,
        }
    }
}

impl Default for SuccessRate {
    fn default() -> Self {
        SuccessRate {
            stdev_factor: 1900,
            enforcement_percentage: 100,
            minimum_hosts: 5,
            request_volume: 100,
        }
    }
}

impl Default for FailurePercentage {
    fn default() -> Self {
        FailurePercentage {
            threshold: 85,
            enforcement_percentage: 100,
            minimum_hosts: 5,
            request_volume: 50,
        }
    }
}

/// The calls of an endpoint in the last interval.
struct Counted<'a, T> {
    endpoint: &'a Endpoint<T>,
    succeeded: f64,
    total: f64,
}

impl<T> Counted<'_, T> {
    fn success_rate(&self) -> f64 {
        self.succeeded / self.total
    }
}

/// An ejection that is about to be decided.
struct Ejections<'a, T> {
    outliers: &'a Outliers,
    endpoints: &'a [Arc<Endpoint<T>>],
    now: u64,
    ejected: usize,
}

impl<T> Ejections<'_, T> {
    fn may_eject(&self) -> bool {
        self.ejected * 100 < self.outliers.max_ejection_percent as usize * self.endpoints.len()
    }

    fn eject(&mut self, endpoint: &Endpoint<T>, chance: u32) {
        if endpoint.is_ejected() || !self.may_eject() || fastrand::u32(..100) >= chance {
            return;
        }
        // An endpoint that has a time of 0 is not ejected.
        endpoint.ejected_at.store(self.now.max(1), Relaxed);
        endpoint.ejections.fetch_add(1, Relaxed);
        endpoint.ejected_ever.fetch_add(1, Relaxed);
        endpoint.load.in_a_row.store(0, Relaxed);
        self.ejected += 1;
    }
}

impl Outliers {
    /// Ejects endpoints with too many failures in a row.
    pub(crate) fn eject_at_once<T>(&self, now: u64, endpoints: &[Arc<Endpoint<T>>]) {
        let most = self.consecutive_failures;
        let mut ejections = self.ejections(now, endpoints);
        for endpoint in endpoints {
            if most > 0 && endpoint.load.in_a_row.load(Relaxed) >= most {
                ejections.eject(endpoint, 100);
            }
        }
    }

    /// Does what is due at the end of an interval.
    pub(crate) fn end_interval<T>(&self, now: u64, endpoints: &[Arc<Endpoint<T>>]) {
        let counted: Vec<_> = endpoints.iter().map(|endpoint| count(endpoint)).collect();
        let mut ejections = self.ejections(now, endpoints);
        if let Some(settings) = &self.success_rate {
            settings.judge(&counted, &mut ejections);
        }
        if let Some(settings) = &self.failure_percentage {
            settings.judge(&counted, &mut ejections);
        }
        for endpoint in endpoints.iter().filter(|endpoint| !endpoint.is_ejected()) {
            let fewer = |ejections: u32| Some(ejections.saturating_sub(1));
            let _ = endpoint.ejections.fetch_update(Relaxed, Relaxed, fewer);
        }
    }

    /// Takes back the endpoints whose time is over.
    pub(crate) fn take_back<T>(&self, now: u64, endpoints: &[Arc<Endpoint<T>>]) {
        for endpoint in endpoints.iter().filter(|endpoint| endpoint.is_ejected()) {
            let since = endpoint.ejected_at.load(Relaxed);
            if now.saturating_sub(since) >= self.time(endpoint.ejections.load(Relaxed)) {
                endpoint.ejected_at.store(0, Relaxed);
            }
        }
    }

    fn time(&self, ejections: u32) -> u64 {
        let longest = self.max_ejection_time.max(self.base_ejection_time);
        nanos(
            self.base_ejection_time
                .saturating_mul(ejections)
                .min(longest),
        )
    }

    fn ejections<'a, T>(&'a self, now: u64, endpoints: &'a [Arc<Endpoint<T>>]) -> Ejections<'a, T> {
        let ejected = endpoints.iter().filter(|endpoint| endpoint.is_ejected());
        Ejections {
            outliers: self,
            endpoints,
            now,
            ejected: ejected.count(),
        }
    }
}

fn count<T>(endpoint: &Endpoint<T>) -> Counted<'_, T> {
    let Interval { succeeded, failed } = endpoint.load.end_interval();
    Counted {
        endpoint,
        succeeded: f64::from(succeeded),
        total: f64::from(succeeded) + f64::from(failed),
    }
}

/// The endpoints with enough calls; empty where those are too few.
fn with_volume<'a, 'e, T>(
    counted: &'a [Counted<'e, T>],
    volume: u32,
    hosts: u32,
) -> Vec<&'a Counted<'e, T>> {
    let enough = |counted: &&Counted<'_, T>| counted.total >= f64::from(volume.max(1));
    let found: Vec<_> = counted.iter().filter(enough).collect();
    match found.len() >= hosts as usize {
        true => found,
        false => Vec::new(),
    }
}

impl SuccessRate {
    fn judge<T>(&self, counted: &[Counted<'_, T>], ejections: &mut Ejections<'_, T>) {
        let counted = with_volume(counted, self.request_volume, self.minimum_hosts);
        let count = counted.len().max(1) as f64;
        let mean = counted.iter().map(|one| one.success_rate()).sum::<f64>() / count;
        let squares = counted
            .iter()
            .map(|one| (one.success_rate() - mean).powi(2));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        let least = mean - deviation * f64::from(self.stdev_factor) / 1000.0;
        for one in counted.iter().filter(|one| one.success_rate() < least) {
            ejections.eject(one.endpoint, self.enforcement_percentage);
        }
    }
}

impl FailurePercentage {
    fn judge<T>(&self, counted: &[Counted<'_, T>], ejections: &mut Ejections<'_, T>) {
        let most = f64::from(self.threshold) / 100.0;
        for one in with_volume(counted, self.request_volume, self.minimum_hosts) {
            if 1.0 - one.success_rate() > most {
                ejections.eject(one.endpoint, self.enforcement_percentage);
            }
        }
    }
}
