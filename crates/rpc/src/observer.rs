use crate::Wire;
use crate::counters::Counters;
use crate::peer::traffic::{Tap, TrafficSums};
use crate::transport::Stream;
use std::sync::Arc;
use std::time::Duration;

/// A view of a running server, for statistics and administrators. The server may have ended.
pub(crate) trait Observer: Send + Sync {
    fn counters(&self) -> Counters;

    /// Returns the number of connections.
    fn connections(&self) -> usize;

    /// Returns the connections, the oldest first.
    fn watched(&self) -> Vec<Watched>;

    /// Returns the addresses that have called, the one with the most calls first.
    fn peers(&self) -> Vec<WatchedPeer>;

    /// Returns the bytes that are held for peers.
    fn memory(&self) -> usize;

    /// Returns true if the server goes down, or has gone.
    fn is_draining(&self) -> bool;

    /// Returns the names of its services.
    fn services(&self) -> Vec<String>;

    /// Has a tap take the bytes of connections, in the place of an earlier one.
    fn tap(&self, tap: Option<Arc<dyn Tap>>);

    /// Opens a connection to it from inside the process; `None` where it takes no more.
    fn connect(&self) -> Option<Arc<dyn Stream>>;
}

/// A connection.
pub(crate) struct Watched {
    pub(crate) id: u64,
    pub(crate) peer: String,
    pub(crate) age: Duration,
    /// No call of it runs.
    pub(crate) idle: bool,
    /// The wire of its first call.
    pub(crate) wire: Option<Wire>,
    pub(crate) traffic: TrafficSums,
}

/// An address, with all its connections: those that are open, and those that have ended.
pub(crate) struct WatchedPeer {
    pub(crate) peer: String,
    pub(crate) open: u64,
    pub(crate) connections: u64,
    pub(crate) traffic: TrafficSums,
}
