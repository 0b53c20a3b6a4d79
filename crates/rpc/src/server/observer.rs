use super::{ListenerKind, Shared, threads};
use crate::counters::{Counters, SharedCounters};
use crate::observer::{Observer, Watched, WatchedPeer};
use crate::peer::traffic::Tap;
use crate::transport::{Stream, memory_pair};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

pub(super) struct ServerObserver {
    shared: Weak<Shared>,
    counters: Arc<SharedCounters>,
    services: Vec<String>,
}

impl ServerObserver {
    /// Looks at a server with these services.
    pub(super) fn new(shared: &Arc<Shared>, services: Vec<String>) -> Self {
        ServerObserver {
            shared: Arc::downgrade(shared),
            counters: shared.counters.clone(),
            services,
        }
    }

    fn look<T: Default>(&self, look: impl FnOnce(&Shared) -> T) -> T {
        let shared = self.shared.upgrade();
        shared.map(|shared| look(&shared)).unwrap_or_default()
    }
}

impl Observer for ServerObserver {
    fn counters(&self) -> Counters {
        self.counters.read()
    }

    fn connections(&self) -> usize {
        self.look(|shared| shared.entries().len())
    }

    fn watched(&self) -> Vec<Watched> {
        self.look(|shared| {
            shared
                .entries()
                .iter()
                .map(|entry| entry.watched(shared))
                .collect()
        })
    }

    fn peers(&self) -> Vec<WatchedPeer> {
        self.look(|shared| {
            let entries = shared.entries();
            let peers = shared.peers.as_ref();
            peers
                .map(|peers| peers.watched(&entries))
                .unwrap_or_default()
        })
    }

    fn memory(&self) -> usize {
        self.look(|shared| shared.account.held())
    }

    fn is_draining(&self) -> bool {
        let shared = self.shared.upgrade();
        shared.is_none_or(|shared| shared.draining.load(Ordering::Relaxed))
    }

    fn services(&self) -> Vec<String> {
        self.services.clone()
    }

    fn tap(&self, tap: Option<Arc<dyn Tap>>) {
        self.look(|shared| {
            // Before the look at those that are there: no connection is missed.
            *shared.tap() = tap;
            let entries = shared.entries();
            entries.iter().for_each(|entry| entry.tapped(shared));
        });
    }

    fn connect(&self) -> Option<Arc<dyn Stream>> {
        let shared = self.shared.upgrade();
        let shared = shared.filter(|shared| !shared.draining.load(Ordering::Relaxed))?;
        let (ours, theirs) = memory_pair();
        threads::spawn(Arc::new(theirs), &shared, ListenerKind::InProcess);
        Some(Arc::new(ours))
    }
}
