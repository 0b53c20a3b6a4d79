//! A backend that a channel may connect to.

use crate::load::{Change, Load, nanos};
use crate::reports::Reports;
use crate::{Backend, LoadReport, Outcome};
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Whether an endpoint has a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has tried, or the connection has ended.
    Idle,
    /// Somebody connects.
    Connecting,
    /// Calls can be made.
    Ready,
    /// It could not be reached, and is left alone for a while.
    Failed,
}

/// The outcome of health checks of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nobody checks it, or the last check went well.
    Healthy,
    /// It is checked, and has not answered yet: it gets no calls.
    Unknown,
    /// The last check has failed: it gets no calls.
    Unhealthy,
}

const HEALTHS: [Health; 3] = [Health::Healthy, Health::Unknown, Health::Unhealthy];

const STATES: [State; 4] = [State::Idle, State::Connecting, State::Ready, State::Failed];

/// A backend, what its user keeps for it, a connection say, and what is known of its calls.
// The counters come first. Each call writes them, and the count of references, which an `Arc` has
// in front of them, in the same line of the cache.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint<T> {
    pub(crate) load: Load,
    common: Arc<Common>,
    id: u64,
    user: T,
    /// The backend as its registry has it now, and the weight of that.
    backend: ArcSwap<Backend>,
    weight: AtomicU32,
    state: AtomicU8,
    health: AtomicU8,
    /// When the state began, and until when a failed endpoint is left alone: nanoseconds of the
    /// balancer.
    pub(crate) since: AtomicU64,
    pub(crate) again: AtomicU64,
    /// When it may be used again; 0 where it is not ejected. And how often it was ejected of late.
    pub(crate) ejected_at: AtomicU64,
    pub(crate) ejections: AtomicU32,
    /// How often it was ejected in all.
    pub(crate) ejected_ever: AtomicU64,
    /// The thousandths of its weight that count, less than 1000 in a slow start.
    pub(crate) warmth: AtomicU32,
    pub(crate) reports: Reports,
}

/// State that all endpoints of a balancer share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) start: Instant,
    /// When the balancer looks after its endpoints next, in nanoseconds since the start. Calls may
    /// bring that forward.
    pub(crate) next_look: AtomicU64,
    /// The failures in a row that do.
    pub(crate) in_a_row: AtomicU32,
    /// The calls in flight to all of them that are counted.
    pub(crate) in_flight: AtomicU32,
}

impl Common {
    pub(crate) fn nanos(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.start))
    }
}

/// The warmth of an endpoint that is not in a slow start.
pub(crate) const WARM: u32 = 1000;

impl<T> Endpoint<T> {
    pub(crate) fn new(backend: Backend, id: u64, user: T, common: Arc<Common>) -> Self {
        Endpoint {
            load: Load::default(),
            common,
            id,
            user,
            weight: AtomicU32::new(backend.weight),
            backend: ArcSwap::from_pointee(backend),
            state: AtomicU8::new(State::Idle as u8),
            health: AtomicU8::new(Health::Healthy as u8),
            since: AtomicU64::new(0),
            again: AtomicU64::new(0),
            ejected_at: AtomicU64::new(0),
            ejections: AtomicU32::new(0),
            ejected_ever: AtomicU64::new(0),
            warmth: AtomicU32::new(WARM),
            reports: Reports::default(),
        }
    }

    /// Returns the backend, as the name gives it.
    pub fn backend(&self) -> Arc<Backend> {
        self.backend.load_full()
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight.load(Relaxed)
    }

    /// Takes over what its registry says now.
    pub(crate) fn change(&self, backend: Backend) {
        self.weight.store(backend.weight, Relaxed);
        self.backend.store(Arc::new(backend));
    }

    /// Returns the value that the user of the balancer keeps for it.
    pub fn user(&self) -> &T {
        &self.user
    }

    /// Its number in this balancer, which stays when its backend changes, and is not given again.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it has a connection.
    pub fn state(&self) -> State {
        STATES[usize::from(self.state.load(Relaxed)) % STATES.len()]
    }

    /// The outcome of its health checks.
    pub fn health(&self) -> Health {
        HEALTHS[usize::from(self.health.load(Relaxed)) % HEALTHS.len()]
    }

    /// How long it has been in its state.
    pub fn time_in_state(&self, now: Instant) -> Duration {
        let since = Duration::from_nanos(self.since.load(Relaxed));
        let passed = now.saturating_duration_since(self.common.start);
        passed.saturating_sub(since)
    }

    /// True while outlier detection keeps calls away from it.
    pub fn is_ejected(&self) -> bool {
        self.ejected_at.load(Relaxed) > 0
    }

    /// How often it was ejected.
    pub fn ejections(&self) -> u64 {
        self.ejected_ever.load(Relaxed)
    }

    /// The calls that wait for its answer.
    pub fn in_flight(&self) -> u32 {
        self.load.in_flight()
    }

    /// How often it was picked.
    pub fn picks(&self) -> u64 {
        self.load.picks()
    }

    /// The moving average of the time of a call; `None` before the first has ended.
    pub fn latency(&self) -> Option<Duration> {
        self.load.latency().map(Duration::from_nanos)
    }

    /// Notes what the server says of its load, for [`Policy::WeightedRoundRobin`].
    ///
    /// [`Policy::WeightedRoundRobin`]: crate::Policy::WeightedRoundRobin
    pub fn report(&self, now: Instant, report: &LoadReport) {
        self.reports.note(self.common.nanos(now), report);
    }

    /// Returns the cost of a further call: the calls in flight, by their time, over the weight.
    /// `typical` stands for a latency that is not known yet. In a slow start a part of the calls
    /// finds it too expensive, whatever it has in flight.
    pub(crate) fn cost(&self, typical: u64) -> f64 {
        let warmth = self.warmth.load(Relaxed);
        if warmth < WARM && fastrand::u32(..WARM) >= warmth {
            return f64::INFINITY;
        }
        let latency = self.load.latency().unwrap_or(typical).max(1);
        let queue = f64::from(self.in_flight()) + 1.0;
        queue * latency as f64 / f64::from(self.weight())
    }

    /// Its weight, less in a slow start.
    pub(crate) fn share(&self) -> f64 {
        let warmth = f64::from(self.warmth.load(Relaxed)) / f64::from(WARM);
        f64::from(self.weight()) * warmth
    }

    pub(crate) fn enter(&self, now: u64, state: State) {
        self.state.store(state as u8, Relaxed);
        self.since.store(now, Relaxed);
    }

    pub(crate) fn set_health(&self, health: Health) {
        self.health.store(health as u8, Relaxed);
    }

    /// Returns whether calls have to go elsewhere: it cannot be reached, or says that it is not
    /// ready.
    pub(crate) fn is_down(&self) -> bool {
        self.state() == State::Failed || self.health() == Health::Unhealthy
    }

    /// Counts a call; also among all calls in flight, if a policy asks for them.
    pub(crate) fn begin(&self, is_counted: bool) {
        self.load.begin();
        if is_counted {
            self.common.in_flight.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn end(&self, now: Instant, began: Instant, is_counted: bool, outcome: Outcome) {
        let Endpoint { common, load, .. } = self;
        if is_counted {
            common.in_flight.fetch_sub(1, Relaxed);
        }
        let took = now.saturating_duration_since(began);
        let looks = match load.end(common.nanos(now), took, outcome) {
            Change::None => false,
            // A latency that is not known is taken for the mean of the others.
            Change::Measured => true,
            // Once, not at each further failure: where the endpoint may not be ejected, each look
            // would make a snapshot.
            Change::FailedAgain(times) => times == common.in_a_row.load(Relaxed),
        };
        if looks {
            common.next_look.store(0, Relaxed);
        }
    }
}
