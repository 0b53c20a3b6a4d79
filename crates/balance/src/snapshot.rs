//! The endpoints that picks choose from.

use crate::policy::{Endpoints, Hashed, Policy, Stride, least_request};
use crate::reports;
use crate::{Endpoint, Health, Settings, State};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The list at one moment. A pick reads it; whoever changes something makes another one.
#[derive(Debug)]
pub(crate) struct Snapshot<T> {
    pub(crate) settings: Arc<Settings>,
    /// The whole list, in the order of the name.
    pub(crate) all: Arc<Endpoints<T>>,
    /// Those that get calls.
    pub(crate) usable: Box<Endpoints<T>>,
    /// For weights that differ.
    stride: Option<Stride>,
    /// For policies that hash, over the endpoints of one priority and zone.
    hashed: Option<HashedLevel<T>>,
    /// Stands for a latency that is not known yet, in nanoseconds.
    pub(crate) typical: u64,
}

#[derive(Debug)]
struct HashedLevel<T> {
    table: Arc<Hashed>,
    level: Box<Endpoints<T>>,
    usable: Box<[bool]>,
}

impl<T> Snapshot<T> {
    pub(crate) fn empty(settings: Settings) -> Self {
        Snapshot {
            settings: Arc::new(settings),
            all: Arc::new([]),
            usable: Box::new([]),
            stride: None,
            hashed: None,
            typical: 1,
        }
    }

    /// The snapshot of a list; `before` is the one that it takes the place of.
    pub(crate) fn new(
        settings: Arc<Settings>,
        now: u64,
        all: Arc<Endpoints<T>>,
        before: &Snapshot<T>,
    ) -> Self {
        let level = level(&settings, &all);
        let panics = panics(&settings, &level);
        let is_usable =
            |endpoint: &Endpoint<T>| is_ready(endpoint) && (panics || !endpoint.is_ejected());
        let usable: Vec<_> = level
            .iter()
            .filter(|endpoint| is_usable(endpoint))
            .cloned()
            .collect();
        let before = before.hashed.as_ref().map(|hashed| &hashed.table);
        let table = Hashed::new(&settings.policy, &level, before);
        let hashed = table.map(|table| HashedLevel {
            table,
            usable: level.iter().map(|endpoint| is_usable(endpoint)).collect(),
            level: level.into(),
        });
        let shares: Vec<f64> = match &settings.policy {
            Policy::RoundRobin => usable.iter().map(|endpoint| endpoint.share()).collect(),
            Policy::WeightedRoundRobin(weights) => reports::shares(weights, now, &usable),
            _ => Vec::new(),
        };
        Snapshot {
            stride: Stride::new(&shares),
            settings,
            typical: typical(&usable),
            usable: usable.into(),
            all,
            hashed,
        }
    }

    /// Chooses an endpoint; `None` where none can be used.
    pub(crate) fn choose(
        &self,
        turn: &AtomicUsize,
        key: Option<u64>,
        in_flight: Option<u32>,
    ) -> Option<&Arc<Endpoint<T>>> {
        if let Some(HashedLevel {
            table,
            level,
            usable,
        }) = &self.hashed
        {
            // A call without a key goes anywhere.
            let key = key.unwrap_or_else(|| fastrand::u64(..));
            return table.choose(key, level, in_flight, usable);
        }
        match (&self.settings.policy, &self.stride) {
            (_, _) if self.usable.is_empty() => None,
            (Policy::LeastRequest(settings), _) => {
                least_request(*settings, &self.usable, self.typical)
            }
            (Policy::PickFirst, _) => self.usable.first(),
            (_, Some(stride)) => self.usable.get(stride.next(turn)),
            (_, None) => {
                let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                self.usable.get(turn % self.usable.len())
            }
        }
    }

    /// Returns whether an endpoint has as many calls as it may.
    pub(crate) fn is_full(&self, endpoint: &Endpoint<T>) -> bool {
        let max = self.settings.max_in_flight;
        max.is_some_and(|max| endpoint.in_flight() >= max)
    }

    /// Returns the endpoint that has the most room for a call.
    pub(crate) fn with_room(&self) -> Option<&Arc<Endpoint<T>>> {
        let least = self.usable.iter().min_by_key(|one| one.in_flight());
        least.filter(|endpoint| !self.is_full(endpoint))
    }

    /// The number of endpoints that get calls.
    pub(crate) fn usable(&self) -> usize {
        self.usable.len()
    }
}

/// Returns whether an endpoint can get calls, but for its ejection.
fn is_ready<T>(endpoint: &Endpoint<T>) -> bool {
    let serves = endpoint.state() == State::Ready && endpoint.health() == Health::Healthy;
    serves && endpoint.weight() > 0
}

fn is_able<T>(endpoint: &Endpoint<T>) -> bool {
    is_ready(endpoint) && !endpoint.is_ejected()
}

/// The endpoints of the first priority where one is ready and not ejected, or else where one is
/// ready; of the client's zone, as long as enough of those are ready.
fn level<T>(settings: &Settings, all: &Endpoints<T>) -> Vec<Arc<Endpoint<T>>> {
    let able = |endpoint: &&Arc<Endpoint<T>>| is_able(endpoint);
    let priority = |endpoint: &Arc<Endpoint<T>>| endpoint.backend().priority;
    let first = |accepts: fn(&Endpoint<T>) -> bool| {
        let accepted = all.iter().filter(|endpoint| accepts(endpoint));
        accepted.map(priority).min()
    };
    let chosen = first(is_able)
        .or_else(|| first(is_ready))
        .or_else(|| first(|_| true));
    let level: Vec<_> = all
        .iter()
        .filter(|endpoint| Some(endpoint.backend().priority) == chosen)
        .cloned()
        .collect();
    let Some(zone) = &settings.zone else {
        return level;
    };
    let near: Vec<_> = level
        .iter()
        .filter(|endpoint| endpoint.backend().zone.as_ref() == Some(zone))
        .cloned()
        .collect();
    let ready = near.iter().filter(able).count();
    match !near.is_empty() && ready as f64 >= settings.zone_share * near.len() as f64 {
        true => near,
        false => level,
    }
}

/// Returns whether too few endpoints of a level are left to bear its load: then ejections do not
/// count.
fn panics<T>(settings: &Settings, level: &Endpoints<T>) -> bool {
    let ready = level.iter().filter(|endpoint| is_ready(endpoint)).count();
    let able = level.iter().filter(|endpoint| is_able(endpoint)).count();
    (able as f64) < settings.panic_threshold * ready as f64
}

/// The mean of the latencies that are known; 1 where none is.
fn typical<T>(endpoints: &Endpoints<T>) -> u64 {
    let known = endpoints
        .iter()
        .filter_map(|endpoint| endpoint.load.latency());
    let (sum, count) = known.fold((0u128, 0u128), |(sum, count), latency| {
        (sum + u128::from(latency), count + 1)
    });
    u64::try_from(sum.checked_div(count).unwrap_or(1)).unwrap_or(1)
}
