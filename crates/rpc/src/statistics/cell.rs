//! The counts of a method over one wire, in one shard.

use super::histogram::Times;
use super::snapshot::MethodStatistics;
use super::{OUTCOMES, place};
use crate::peer::intercept::CallEnd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Calls may begin in one shard and end in another: sums over all shards are right.
pub(super) struct Cell {
    began: AtomicU64,
    ended: [AtomicU64; OUTCOMES],
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    received_items: AtomicU64,
    sent_items: AtomicU64,
    times: Times,
}

impl Cell {
    pub(super) fn new() -> Self {
        Cell {
            began: AtomicU64::new(0),
            ended: [const { AtomicU64::new(0) }; OUTCOMES],
            received_bytes: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            received_items: AtomicU64::new(0),
            sent_items: AtomicU64::new(0),
            times: Times::new(),
        }
    }

    pub(super) fn began(&self) {
        self.began.fetch_add(1, Relaxed);
    }

    pub(super) fn ended(&self, end: &CallEnd<'_>) {
        if let Some(count) = self.ended.get(place(end.outcome())) {
            count.fetch_add(1, Relaxed);
        }
        self.times.add(end.elapsed());
        for (sum, more) in [
            (&self.received_bytes, end.received_bytes() as u64),
            (&self.sent_bytes, end.sent_bytes() as u64),
            (&self.received_items, end.items_received()),
            (&self.sent_items, end.items_sent()),
        ] {
            if more > 0 {
                sum.fetch_add(more, Relaxed);
            }
        }
    }

    /// Adds the counts of this cell.
    pub(super) fn add_to(&self, sums: &mut MethodStatistics) {
        let mut ended = 0;
        for (sum, count) in sums.outcomes.iter_mut().zip(&self.ended) {
            let count = count.load(Relaxed);
            *sum += count;
            ended += count;
        }
        sums.began += self.began.load(Relaxed);
        sums.ended += ended;
        sums.received_bytes += self.received_bytes.load(Relaxed);
        sums.sent_bytes += self.sent_bytes.load(Relaxed);
        sums.received_items += self.received_items.load(Relaxed);
        sums.sent_items += self.sent_items.load(Relaxed);
        self.times.add_to(&mut sums.times);
    }
}
