use super::Shared;
use super::counters::{Counters, SharedCounters};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A server, for those who look how it is. It may have ended.
pub(crate) struct Observer {
    shared: Weak<Shared>,
    counters: Arc<SharedCounters>,
    services: Vec<String>,
}

/// A connection.
pub(crate) struct Watched {
    pub(crate) id: u64,
    pub(crate) peer: String,
    pub(crate) age: Duration,
    /// No call of it runs.
    pub(crate) idle: bool,
}

impl Observer {
    /// Looks at a server with these services.
    pub(super) fn new(shared: &Arc<Shared>, services: Vec<String>) -> Self {
        Observer {
            shared: Arc::downgrade(shared),
            counters: shared.counters.clone(),
            services,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.read()
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.look(|shared| shared.entries().len())
    }

    /// Returns the connections, the oldest first.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        self.look(|shared| {
            shared
                .entries()
                .iter()
                .map(|entry| entry.watched(shared))
                .collect()
        })
    }

    /// Returns the bytes that are held for peers.
    pub(crate) fn memory(&self) -> usize {
        self.look(|shared| shared.account.held())
    }

    /// Returns true if the server goes down, or has gone.
    pub(crate) fn is_draining(&self) -> bool {
        let shared = self.shared.upgrade();
        shared.is_none_or(|shared| shared.draining.load(Ordering::Relaxed))
    }

    /// Returns the names of its services.
    pub(crate) fn services(&self) -> Vec<String> {
        self.services.clone()
    }

    fn look<T: Default>(&self, look: impl FnOnce(&Shared) -> T) -> T {
        let shared = self.shared.upgrade();
        shared.map(|shared| look(&shared)).unwrap_or_default()
    }
}
