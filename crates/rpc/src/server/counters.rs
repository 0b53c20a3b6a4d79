use std::sync::atomic::{AtomicU64, Ordering};

/// What a server has done and refused so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted.
    pub connections: u64,
    /// Calls handed to a handler.
    pub calls: u64,
    /// Calls of a service or method that the server does not have.
    pub unknown_methods: u64,
    /// Connections refused because there were too many.
    pub refused_connections: u64,
    /// Calls refused because there were too many, or their connection was one too many.
    pub refused_calls: u64,
    /// Connections that ended because of what the peer sent, or in the middle of a message.
    pub protocol_errors: u64,
    /// Connections closed because nothing was called for too long.
    pub idle_timeouts: u64,
    /// Connections closed because the peer was too slow with a message, or in taking an answer.
    pub transfer_timeouts: u64,
    /// Connections that could not be accepted, mostly for want of file descriptors.
    pub accept_errors: u64,
    /// Handlers that panicked.
    pub panics: u64,
}

#[derive(Default)]
pub(crate) struct SharedCounters {
    pub(crate) connections: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) unknown_methods: AtomicU64,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) protocol_errors: AtomicU64,
    pub(crate) refused_calls: AtomicU64,
    pub(crate) idle_timeouts: AtomicU64,
    pub(crate) transfer_timeouts: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
    pub(crate) panics: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl SharedCounters {
    pub(crate) fn read(&self) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            connections: get(&self.connections),
            calls: get(&self.calls),
            unknown_methods: get(&self.unknown_methods),
            refused_connections: get(&self.refused_connections),
            protocol_errors: get(&self.protocol_errors),
            refused_calls: get(&self.refused_calls),
            idle_timeouts: get(&self.idle_timeouts),
            transfer_timeouts: get(&self.transfer_timeouts),
            accept_errors: get(&self.accept_errors),
            panics: get(&self.panics),
        }
    }
}
