use super::Shared;
use super::counters::{Counters, SharedCounters};
use std::sync::{Arc, Weak};

/// A server, for those who look how it is. It may have ended.
pub(crate) struct Observer {
    shared: Weak<Shared>,
    counters: Arc<SharedCounters>,
}

impl Observer {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Observer {
            shared: Arc::downgrade(shared),
            counters: shared.counters.clone(),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.read()
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        let shared = self.shared.upgrade();
        shared.map_or(0, |shared| shared.guests().len())
    }
}
