//! The way of a call to its handler, and of the answer back: for servers, and for clients that
//! serve the server which they call.

pub(crate) mod functions;
#[cfg(feature = "async")]
mod hold_ups;
mod local;
pub(crate) mod mock;
#[cfg(feature = "async")]
pub(crate) mod pool;
mod router;
mod routes;
pub(crate) mod running;
#[cfg(feature = "async")]
mod tasks;

pub(crate) use local::{Calls, Local};
pub use router::Router;
pub(crate) use routes::{Route, Routes};
#[cfg(feature = "async")]
pub(crate) use tasks::CallTasks;

use crate::counters::SharedCounters;
use dovetail_wire::Limits;
use std::sync::Arc;

/// Answers calls: finds the handler of each, has interceptors decide, and runs it.
pub(crate) struct Dispatcher {
    pub(crate) routes: Routes,
    pub(crate) counters: Arc<SharedCounters>,
    /// Limits on decoding parameters, and on encoding answers.
    limits: Limits,
    /// Calls at a time whose handlers wait, of one connection.
    calls_per_connection: usize,
}
