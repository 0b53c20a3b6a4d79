use crate::Status;
use dovetail_balance::{Backend, Endpoint, Health, State};
use std::time::Duration;

/// The state of one of a channel's servers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackendStatus {
    /// The server, as its name gives it.
    pub backend: Backend,
    /// Whether it has a connection.
    pub state: State,
    /// The outcome of health checks; healthy where there are none.
    pub health: Health,
    /// Why it cannot be used, while that is so.
    pub failure: Option<Status>,
    /// Outlier detection keeps calls away from it.
    pub ejected: bool,
    /// How often it was ejected.
    pub ejections: u64,
    /// Calls that were made to it.
    pub picks: u64,
    /// Calls that wait for its answer.
    pub in_flight: u32,
    /// The moving average of the time of a call.
    pub latency: Option<Duration>,
}

impl BackendStatus {
    pub(crate) fn of<T>(endpoint: &Endpoint<T>, failure: Option<Status>) -> Self {
        BackendStatus {
            backend: Backend::clone(&endpoint.backend()),
            state: endpoint.state(),
            health: endpoint.health(),
            failure,
            ejected: endpoint.is_ejected(),
            ejections: endpoint.ejections(),
            picks: endpoint.picks(),
            in_flight: endpoint.in_flight(),
            latency: endpoint.latency(),
        }
    }
}
