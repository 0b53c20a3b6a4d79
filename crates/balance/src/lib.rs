//! Which of many servers a call goes to.
//!
//! A [`Balancer`] holds the [`Endpoint`]s of a channel: one for each [`Backend`] that a name
//! resolves to. [`Balancer::pick`] chooses one by the channel's [`Policy`] and counts the call in
//! flight; [`Picked::done`] says how the call ended. From that the balancer learns latencies, and
//! ejects endpoints that fail ([`Outliers`]).
//!
//! The crate has no sockets, no threads and no clock: its user connects, says which endpoints are
//! ready, and passes the time. So a simulation runs the code that a channel runs, with thousands of
//! servers and a clock of its own.
//!
//! A pick takes no lock. It reads a snapshot of the endpoints that can be used; the snapshot is
//! made anew when the list, the readiness or the ejection of an endpoint changes.
//!
//! ```
//! use dovetail_balance::{Backend, Balancer, Outcome, Policy, Settings};
//! use std::time::Instant;
//!
//! let settings = Settings { policy: Policy::RoundRobin, ..Settings::default() };
//! let balancer = Balancer::new(settings, Instant::now());
//! let backends = ["tcp://10.0.0.1:9090", "tcp://10.0.0.2:9090"].map(Backend::new);
//! balancer.update(Instant::now(), backends.into(), |_backend| Some(()));
//! for endpoint in balancer.endpoints().iter() {
//!     balancer.ready(Instant::now(), endpoint);
//! }
//! let picked = balancer.pick(Instant::now(), None, &[]).expect("an endpoint is ready");
//! println!("calling {}", picked.backend().address);
//! picked.done(Instant::now(), Outcome::Succeeded);
//! ```

#![deny(missing_docs)]

mod backend;
mod balancer;
mod budget;
mod endpoint;
mod load;
mod outliers;
mod policy;
mod reports;
mod shards;
mod snapshot;
mod subset;

pub use backend::Backend;
pub use balancer::{Balancer, Picked, Settings};
pub use budget::{Budget, BudgetSettings};
pub use endpoint::{Endpoint, Health, State};
pub use load::Outcome;
pub use outliers::{FailurePercentage, Outliers, SuccessRate};
pub use policy::{HashRing, LeastRequest, Policy, UnknownPolicy};
pub use reports::{LoadReport, ReportedWeights};
pub use shards::{Own, Shards};
pub use subset::Subset;

/// Hashes a key for [`Policy::RingHash`] and [`Policy::Maglev`], with XXH64, as gRPC and Envoy do.
/// The result is the same in every process.
#[must_use]
pub fn hash(key: &[u8]) -> u64 {
    xxhash_rust::xxh64::xxh64(key, 0)
}
