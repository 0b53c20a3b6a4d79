use super::{Endpoints, LeastRequest};
use crate::Endpoint;
use std::sync::Arc;

/// Draws some endpoints, and returns the one where a further call costs least ("power of two
/// choices").
pub(crate) fn least_request<T>(
    settings: LeastRequest,
    endpoints: &Endpoints<T>,
    typical: u64,
) -> Option<&Arc<Endpoint<T>>> {
    let count = endpoints.len();
    if count < 2 {
        return endpoints.first();
    }
    let mut best = fastrand::usize(..count);
    let mut cost = endpoints[best].cost(typical);
    for _ in 1..settings.choices {
        // Another one: an endpoint drawn twice would win against itself, however slow it is.
        let other = (best + 1 + fastrand::usize(..count - 1)) % count;
        let others = endpoints[other].cost(typical);
        if others < cost {
            (best, cost) = (other, others);
        }
    }
    endpoints.get(best)
}
