use dovetail_balance::{Backend, Balancer, Endpoint, Outcome, Outliers, Policy, Settings, State};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A balancer, and the time.
pub(crate) struct Bed {
    pub(crate) balancer: Balancer<()>,
    pub(crate) now: Instant,
}

impl Bed {
    pub(crate) fn new(settings: Settings, backends: impl IntoIterator<Item = Backend>) -> Self {
        fastrand::seed(7);
        let now = Instant::now();
        let balancer = Balancer::new(settings, now);
        balancer.update(now, backends.into_iter().collect(), |_| Some(()));
        Bed { balancer, now }
    }

    /// A bed where all endpoints are ready.
    pub(crate) fn ready(settings: Settings, backends: impl IntoIterator<Item = Backend>) -> Self {
        let bed = Bed::new(settings, backends);
        bed.connect();
        bed
    }

    pub(crate) fn connect(&self) {
        for endpoint in self.balancer.to_connect(self.now) {
            self.balancer.ready(self.now, &endpoint);
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    pub(crate) fn endpoint(&self, address: &str) -> Arc<Endpoint<()>> {
        let all = self.balancer.endpoints();
        let found = all.iter().find(|one| one.backend().address == address);
        found.expect("an endpoint").clone()
    }

    /// Makes a call that takes so long, and returns its address.
    pub(crate) fn call(
        &mut self,
        key: Option<u64>,
        takes: Duration,
        outcome: Outcome,
    ) -> Option<String> {
        let picked = self.balancer.pick(self.now, key, &[])?;
        let address = picked.backend().address.clone();
        picked.done(self.now + takes, outcome);
        Some(address)
    }

    /// Makes calls one after the other that succeed after a millisecond, and counts them by
    /// address.
    pub(crate) fn spread(&mut self, calls: u64) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for key in 0..calls {
            let key = dovetail_balance::hash(&key.to_le_bytes());
            let called = self.call(Some(key), millis(1), Outcome::Succeeded);
            *counts.entry(called.unwrap_or_default()).or_default() += 1;
        }
        counts
    }

    pub(crate) fn states(&self) -> Vec<State> {
        let all = self.balancer.endpoints();
        all.iter().map(|endpoint| endpoint.state()).collect()
    }
}

pub(crate) fn policy(policy: Policy) -> Settings {
    Settings {
        policy,
        ..Settings::default()
    }
}

pub(crate) fn outliers(change: impl FnOnce(&mut Outliers)) -> Settings {
    let mut outliers = Outliers::default();
    change(&mut outliers);
    Settings {
        policy: Policy::RoundRobin,
        outliers: Some(outliers),
        ..Settings::default()
    }
}

/// Backends `a`, `b`, `c` … of these weights.
pub(crate) fn weighing(weights: &[u32]) -> Vec<Backend> {
    let names = 'a'..='z';
    names
        .zip(weights)
        .map(|(name, weight)| Backend::new(name).weight(*weight))
        .collect()
}

/// This number of backends, `s0`, `s1` …
pub(crate) fn servers(count: usize) -> Vec<Backend> {
    (0..count).map(|i| Backend::new(format!("s{i}"))).collect()
}
