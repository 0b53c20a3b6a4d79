//! How endpoints are chosen.

mod hashed;
mod least_request;
mod maglev;
mod ring;
mod stride;

pub(crate) use hashed::Hashed;
pub(crate) use stride::Stride;

use crate::{Endpoint, ReportedWeights};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How a channel chooses among the endpoints that can be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// The first in the order of the list that can be reached; the others are not connected to.
    PickFirst,
    /// All in turn, by their weights.
    RoundRobin,
    /// All in turn, by the load that they report with their answers (ORCA, gRFC A58), times their
    /// weights. Equally as long as fewer than two report.
    WeightedRoundRobin(ReportedWeights),
    /// Draws some endpoints at random, and chooses the one with the fewest calls in flight and the
    /// shortest latency.
    LeastRequest(LeastRequest),
    /// By the hash of a key, on a ring: a key stays with its endpoint while that can be used, and
    /// few keys move when the list changes.
    RingHash(HashRing),
    /// By the hash of a key, in Maglev's table: quicker and more even than a ring, while some more
    /// keys move.
    Maglev,
}

impl Policy {
    /// A channel's name for it: `least_request`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Policy::PickFirst => "pick_first",
            Policy::RoundRobin => "round_robin",
            Policy::WeightedRoundRobin(_) => "weighted_round_robin",
            Policy::LeastRequest(_) => "least_request",
            Policy::RingHash(_) => "ring_hash",
            Policy::Maglev => "maglev",
        }
    }

    /// The policies by name, each with its defaults.
    #[must_use]
    pub fn all() -> [Policy; 6] {
        [
            Policy::PickFirst,
            Policy::RoundRobin,
            Policy::WeightedRoundRobin(ReportedWeights::default()),
            Policy::LeastRequest(LeastRequest::default()),
            Policy::RingHash(HashRing::default()),
            Policy::Maglev,
        ]
    }

    /// Returns whether calls are chosen for by a key.
    #[must_use]
    pub fn is_hashed(&self) -> bool {
        matches!(self, Policy::RingHash(_) | Policy::Maglev)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::LeastRequest(LeastRequest::default())
    }
}

/// There is no policy of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Policy::all().map(|policy| policy.name()).join(", ");
        write!(f, "no policy `{}`; there are {names}", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let mut all = Policy::all().into_iter();
        all.find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

/// The settings of [`Policy::LeastRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeastRequest {
    /// The number of endpoints that are drawn. Default 2, at least 1.
    pub choices: usize,
}

impl LeastRequest {
    /// Draws this number of endpoints for each call.
    #[must_use]
    pub fn of(choices: usize) -> Self {
        LeastRequest { choices }
    }
}

impl Default for LeastRequest {
    fn default() -> Self {
        LeastRequest::of(2)
    }
}

/// The settings of [`Policy::RingHash`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct HashRing {
    /// The entries of the ring at least and at most. Default 1,024 and 65,536.
    pub size: (usize, usize),
    /// An endpoint takes no further calls while it has more in flight than the average times this;
    /// the next one on the ring gets them. Default 1.25; below 1 there is no such bound.
    pub bounded_load: f64,
}

impl Default for HashRing {
    fn default() -> Self {
        HashRing {
            size: (1024, 65_536),
            bounded_load: 1.25,
        }
    }
}

/// Endpoints of a snapshot.
pub(crate) type Endpoints<T> = [Arc<Endpoint<T>>];

pub(crate) use least_request::least_request;
