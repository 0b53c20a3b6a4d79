//! The endpoints of a channel, and the choice among them.

use crate::endpoint::{Common, WARM};
use crate::load::nanos;
use crate::snapshot::Snapshot;
use crate::{Backend, Endpoint, Health, Outcome, Outliers, Policy, Shards, State, Subset};
use arc_swap::ArcSwap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a [`Balancer`] chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Default: least request, of two choices.
    pub policy: Policy,
    /// Default: five failures in a row eject an endpoint. `None` for no ejections.
    pub outliers: Option<Outliers>,
    /// Endpoints that are ready and not ejected get all calls, unless they are fewer than this part
    /// of those that are ready: then ejections do not count. Default 0.5.
    pub panic_threshold: f64,
    /// An endpoint that becomes ready gets a tenth of its share at first, and all of it after this
    /// time. Default: at once.
    pub slow_start: Duration,
    /// The client's zone: its endpoints get all calls, as long as `zone_share` of them can be used.
    /// Default: none.
    pub zone: Option<String>,
    /// Default 0.7.
    pub zone_share: f64,
    /// Has the client use a part of the list. Default: the whole.
    pub subset: Option<Subset>,
    /// The most calls in flight to an endpoint, which gets no further ones then. Default: no limit.
    pub max_in_flight: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            policy: Policy::default(),
            outliers: Some(Outliers::default()),
            panic_threshold: 0.5,
            slow_start: Duration::ZERO,
            zone: None,
            zone_share: 0.7,
            subset: None,
            max_in_flight: None,
        }
    }
}

/// How often the balancer looks after its endpoints, where nothing brings that forward.
const LOOK: Duration = Duration::from_secs(1);

/// The number of turns that threads take side by side.
const TURNS: usize = 16;

/// The time after which the next endpoint is tried, too, with [`Policy::PickFirst`] (RFC 8305,
/// section 5).
const HAPPY_EYEBALLS: Duration = Duration::from_millis(250);

/// Chooses an endpoint for each call.
#[derive(Debug)]
pub struct Balancer<T> {
    common: Arc<Common>,
    snapshot: ArcSwap<Snapshot<T>>,
    /// Held by whoever makes another snapshot.
    changes: Mutex<Changes>,
    /// The turns of policies that take endpoints in turn.
    turns: Shards<AtomicUsize>,
    /// When an endpoint has to be connected to, in nanoseconds since the start.
    next_dial: AtomicU64,
}

#[derive(Debug, Default)]
struct Changes {
    /// The number of the last endpoint.
    last_id: u64,
    /// When the last interval of outlier detection has begun.
    interval: u64,
}

impl<T> Balancer<T> {
    /// A balancer without endpoints.
    #[must_use]
    pub fn new(settings: Settings, now: Instant) -> Self {
        let common = Common {
            start: now,
            next_look: AtomicU64::new(nanos(LOOK)),
            in_a_row: AtomicU32::new(in_a_row(&settings)),
            in_flight: AtomicU32::new(0),
        };
        Balancer {
            common: Arc::new(common),
            snapshot: ArcSwap::from_pointee(Snapshot::empty(settings)),
            changes: Mutex::default(),
            // Clients that start together do not all begin with the same endpoint.
            turns: Shards::new(TURNS, || AtomicUsize::new(fastrand::usize(..1 << 16))),
            next_dial: AtomicU64::new(0),
        }
    }

    /// Returns how it chooses.
    pub fn settings(&self) -> Arc<Settings> {
        self.snapshot.load().settings.clone()
    }

    /// Chooses in another way from now on. Endpoints keep their state. A subset counts from the
    /// next list on.
    pub fn set_settings(&self, now: Instant, settings: Settings) {
        let _changes = self.lock();
        let before = self.snapshot.load_full();
        self.common.in_a_row.store(in_a_row(&settings), Relaxed);
        let all = before.all.clone();
        self.renew_by(Arc::new(settings), self.common.nanos(now), all, &before);
    }

    /// Takes over a list. Endpoints of addresses that stay keep their state; `user` gives what is
    /// kept for a new one, or `None` to leave it out.
    pub fn update(
        &self,
        now: Instant,
        mut backends: Vec<Backend>,
        mut user: impl FnMut(&Backend) -> Option<T>,
    ) {
        let mut changes = self.lock();
        let before = self.snapshot.load_full();
        if let Some(subset) = before.settings.subset {
            subset.of_list(&mut backends);
        }
        let known: std::collections::HashMap<String, &Arc<Endpoint<T>>> = before
            .all
            .iter()
            .map(|endpoint| (endpoint.backend().address.clone(), endpoint))
            .collect();
        let mut seen = std::collections::HashSet::new();
        backends.retain(|backend| seen.insert(backend.address.clone()));
        let mut all = Vec::with_capacity(backends.len());
        for backend in backends {
            match known.get(&*backend.address) {
                Some(same) => {
                    if *same.backend() != backend {
                        same.change(backend);
                    }
                    all.push((*same).clone());
                }
                None => {
                    changes.last_id += 1;
                    let made = user(&backend).map(|user| {
                        Endpoint::new(backend, changes.last_id, user, self.common.clone())
                    });
                    all.extend(made.map(Arc::new));
                }
            }
        }
        self.renew(self.common.nanos(now), all.into(), &before);
    }

    /// The endpoints, in the order of the list.
    pub fn endpoints(&self) -> Arc<[Arc<Endpoint<T>>]> {
        self.snapshot.load().all.clone()
    }

    /// The number of endpoints that get calls now.
    pub fn usable(&self) -> usize {
        self.snapshot.load().usable()
    }

    /// Chooses an endpoint for a call, and counts it in flight there. `key` is the hash of the
    /// call's key, for policies that hash. `avoid` are the numbers of endpoints that have failed
    /// the call: they are chosen again only where no other is. `None` while no endpoint is ready,
    /// or all have as many calls as they may.
    pub fn pick(&self, now: Instant, key: Option<u64>, avoid: &[u64]) -> Option<Picked<T>> {
        if self.common.nanos(now) >= self.common.next_look.load(Relaxed) {
            self.look_after(now);
        }
        let snapshot = self.snapshot.load();
        let turn = self.turns.own().value();
        // Only policies that hash ask for all calls in flight, which all threads count together.
        let is_counted = snapshot.settings.policy.is_hashed();
        let in_flight = is_counted.then(|| self.common.in_flight.load(Relaxed));
        let mut endpoint = snapshot.choose(turn, key, in_flight)?;
        let mut tries = avoid.len() * 4;
        while tries > 0 && avoid.contains(&endpoint.id()) {
            tries -= 1;
            // The key has led to an endpoint that failed: any other will do.
            let key = key.map(|key| key.wrapping_add(fastrand::u64(..)));
            endpoint = snapshot.choose(turn, key, in_flight)?;
        }
        if snapshot.is_full(endpoint) {
            endpoint = snapshot.with_room()?;
        }
        endpoint.begin(is_counted);
        Some(Picked {
            endpoint: endpoint.clone(),
            began: now,
            is_counted,
            wants_report: matches!(snapshot.settings.policy, Policy::WeightedRoundRobin(_)),
            is_open: true,
        })
    }

    /// Returns whether endpoints are ready, and all of them have as many calls as they may.
    pub fn is_crowded(&self) -> bool {
        let snapshot = self.snapshot.load();
        snapshot.usable() > 0 && snapshot.with_room().is_none()
    }

    /// The endpoints to connect to now. They count as connecting from here on: for each, `ready` or
    /// `failed` follows.
    pub fn to_connect(&self, now: Instant) -> Vec<Arc<Endpoint<T>>> {
        let at = self.common.nanos(now);
        if at < self.next_dial.load(Relaxed) {
            return Vec::new();
        }
        let _changes = self.lock();
        let snapshot = self.snapshot.load_full();
        let (wanted, next) = match snapshot.settings.policy {
            Policy::PickFirst => first_wanted(&snapshot.all, at),
            _ => all_wanted(&snapshot.all, at),
        };
        self.next_dial.store(next, Relaxed);
        for endpoint in &wanted {
            endpoint.enter(at, State::Connecting);
        }
        wanted
    }

    /// When `to_connect` should be asked again although nothing has happened: a failed endpoint may
    /// be tried again.
    pub fn next_connect(&self) -> Option<Instant> {
        let next = self.next_dial.load(Relaxed);
        let since_start = Duration::from_nanos(next);
        (next < u64::MAX).then(|| self.common.start.checked_add(since_start))?
    }

    /// Notes that an endpoint has a connection.
    pub fn ready(&self, now: Instant, endpoint: &Endpoint<T>) {
        let warmth = match self.settings().slow_start.is_zero() {
            true => WARM,
            false => WARM / 10,
        };
        endpoint.warmth.store(warmth, Relaxed);
        endpoint.reports.forget();
        self.enter(now, endpoint, State::Ready);
    }

    /// Notes that the connection of an endpoint has ended: it gets no calls before it is ready
    /// again.
    pub fn lost(&self, now: Instant, endpoint: &Endpoint<T>) {
        if endpoint.state() == State::Ready {
            self.enter(now, endpoint, State::Idle);
        }
    }

    /// Notes that an endpoint could not be reached, and is to be left alone until then.
    pub fn failed(&self, now: Instant, endpoint: &Endpoint<T>, again: Instant) {
        let again = self.common.nanos(again);
        endpoint.again.store(again, Relaxed);
        self.enter(now, endpoint, State::Failed);
    }

    /// Notes the outcome of a health check: only a healthy endpoint gets calls.
    pub fn checked(&self, now: Instant, endpoint: &Endpoint<T>, health: Health) {
        if endpoint.health() != health {
            self.change(now, |_| endpoint.set_health(health));
        }
    }

    fn enter(&self, now: Instant, endpoint: &Endpoint<T>, state: State) {
        self.change(now, |now| endpoint.enter(now, state));
    }

    /// Changes an endpoint, and makes the snapshot after that.
    fn change(&self, now: Instant, change: impl FnOnce(u64)) {
        let _changes = self.lock();
        let now = self.common.nanos(now);
        change(now);
        let before = self.snapshot.load_full();
        self.renew(now, before.all.clone(), &before);
    }

    /// Ejects endpoints and takes them back, and lets latencies and slow starts grow older.
    fn look_after(&self, now: Instant) {
        let mut changes = self.lock();
        let now = self.common.nanos(now);
        self.common.next_look.store(now + nanos(LOOK), Relaxed);
        let before = self.snapshot.load_full();
        let all = &before.all;
        for endpoint in all.iter() {
            endpoint.load.forget(now, before.typical);
            let warmth = warmth(before.settings.slow_start, now, endpoint);
            endpoint.warmth.store(warmth, Relaxed);
        }
        if let Some(outliers) = &before.settings.outliers {
            outliers.take_back(now, all);
            outliers.eject_at_once(now, all);
            if now.saturating_sub(changes.interval) >= nanos(outliers.interval) {
                changes.interval = now;
                outliers.end_interval(now, all);
            }
        }
        self.renew(now, all.clone(), &before);
    }

    fn renew(&self, now: u64, all: Arc<[Arc<Endpoint<T>>]>, before: &Snapshot<T>) {
        self.renew_by(before.settings.clone(), now, all, before);
    }

    fn renew_by(
        &self,
        settings: Arc<Settings>,
        now: u64,
        all: Arc<[Arc<Endpoint<T>>]>,
        before: &Snapshot<T>,
    ) {
        let snapshot = Snapshot::new(settings, now, all, before);
        self.snapshot.store(Arc::new(snapshot));
        self.next_dial
            .store(now.min(self.next_dial.load(Relaxed)), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the failures in a row after which an endpoint may be ejected.
fn in_a_row(settings: &Settings) -> u32 {
    let set = settings.outliers.map(|set| set.consecutive_failures);
    set.filter(|failures| *failures > 0).unwrap_or(u32::MAX)
}

/// Returns the part of its weight that counts for an endpoint, in thousandths.
fn warmth<T>(slow_start: Duration, now: u64, endpoint: &Endpoint<T>) -> u32 {
    let whole = nanos(slow_start);
    let passed = now.saturating_sub(endpoint.since.load(Relaxed));
    match passed < whole {
        true => (passed as f64 / whole as f64 * f64::from(WARM)).max(f64::from(WARM / 10)) as u32,
        false => WARM,
    }
}

type Wanted<T> = (Vec<Arc<Endpoint<T>>>, u64);

/// Returns true if an endpoint may be connected to now.
fn is_due<T>(endpoint: &Endpoint<T>, now: u64) -> bool {
    match endpoint.state() {
        State::Idle => true,
        State::Failed => endpoint.again.load(Relaxed) <= now,
        State::Connecting | State::Ready => false,
    }
}

/// The next endpoint of a list of which one suffices, and when to look for a further one.
fn first_wanted<T>(all: &[Arc<Endpoint<T>>], now: u64) -> Wanted<T> {
    let serves =
        |endpoint: &Arc<Endpoint<T>>| endpoint.state() == State::Ready && !endpoint.is_down();
    if all.iter().any(serves) {
        return (Vec::new(), u64::MAX);
    }
    let mut next = u64::MAX;
    for endpoint in all.iter() {
        let limit = endpoint.since.load(Relaxed) + nanos(HAPPY_EYEBALLS);
        if is_due(endpoint, now) {
            return (vec![endpoint.clone()], now + nanos(HAPPY_EYEBALLS));
        }
        match endpoint.state() {
            State::Connecting if now < limit => return (Vec::new(), limit),
            State::Failed => next = next.min(endpoint.again.load(Relaxed)),
            _ => {}
        }
    }
    (Vec::new(), next)
}

/// All endpoints of the first priority where one is not known to be down, and of those before.
fn all_wanted<T>(all: &[Arc<Endpoint<T>>], now: u64) -> Wanted<T> {
    let hopeful = all.iter().filter(|endpoint| !endpoint.is_down());
    let last = hopeful.map(|endpoint| endpoint.backend().priority).min();
    let matters = |endpoint: &&Arc<Endpoint<T>>| {
        endpoint.weight() > 0 && last.is_none_or(|last| endpoint.backend().priority <= last)
    };
    let (wanted, others): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(matters)
        .cloned()
        .partition(|endpoint| is_due(endpoint, now));
    let failed = others
        .iter()
        .filter(|endpoint| endpoint.state() == State::Failed);
    let next = failed.map(|endpoint| endpoint.again.load(Relaxed)).min();
    (wanted, next.unwrap_or(u64::MAX))
}

/// An endpoint that was chosen for a call. Dropped before [`Picked::done`], the call counts as
/// given up.
#[derive(Debug)]
pub struct Picked<T> {
    endpoint: Arc<Endpoint<T>>,
    began: Instant,
    /// It is counted among all calls in flight.
    is_counted: bool,
    wants_report: bool,
    is_open: bool,
}

impl<T> Picked<T> {
    /// The call has ended.
    pub fn done(mut self, now: Instant, outcome: Outcome) {
        self.end(now, outcome);
    }

    fn end(&mut self, now: Instant, outcome: Outcome) {
        if std::mem::take(&mut self.is_open) {
            self.endpoint.end(now, self.began, self.is_counted, outcome);
        }
    }

    /// Returns whether the policy asks for reports of the endpoint's load: [`Endpoint::report`].
    pub fn wants_report(&self) -> bool {
        self.wants_report
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Arc<Endpoint<T>> {
        &self.endpoint
    }
}

impl<T> Deref for Picked<T> {
    type Target = Endpoint<T>;

    fn deref(&self) -> &Endpoint<T> {
        &self.endpoint
    }
}

impl<T> Drop for Picked<T> {
    fn drop(&mut self) {
        self.end(self.began, Outcome::Abandoned);
    }
}
