//! Weighted round robin without a lock: gRPC's static stride scheduler (gRFC A58).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Weights in proportion to the largest one. In each round an endpoint is passed over as its weight
/// says.
#[derive(Debug)]
pub(crate) struct Stride {
    weights: Box<[u16]>,
}

const LARGEST: usize = u16::MAX as usize;

impl Stride {
    /// Takes the shares of endpoints; `None` if all are the same, or all are nothing.
    pub(crate) fn new(shares: &[f64]) -> Option<Self> {
        let largest = shares.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 || shares.iter().all(|share| *share == largest) {
            return None;
        }
        let scaled = |share: &f64| {
            let weight = share / largest * LARGEST as f64;
            // The least share of all gets a call now and then; no share gets none.
            match *share > 0.0 {
                true => weight.max(1.0) as u16,
                false => 0,
            }
        };
        let weights = shares.iter().map(scaled).collect();
        Some(Stride { weights })
    }

    /// The index of the endpoint that is next.
    pub(crate) fn next(&self, turn: &AtomicUsize) -> usize {
        let count = self.weights.len();
        loop {
            let turn = turn.fetch_add(1, Relaxed);
            let (round, index) = (turn / count, turn % count);
            let weight = usize::from(self.weights[index]);
            // Endpoints of one weight are not all passed over in the same round.
            let offset = LARGEST / 2 * index;
            let passed = weight.wrapping_mul(round).wrapping_add(offset) % LARGEST;
            if passed < weight {
                return index;
            }
        }
    }
}
