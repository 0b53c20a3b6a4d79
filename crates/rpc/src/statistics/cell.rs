//! The counts of a method over one wire, in one shard.

use super::exemplars::Taken;
use super::histogram::Times;
use super::snapshot::MethodStatistics;
use super::{OUTCOMES, place};
use crate::counters::Count;
use crate::peer::intercept::CallEnd;
use crate::trace::TraceContext;
use std::sync::OnceLock;
use std::time::Duration;

/// Calls may begin in one shard and end in another: sums over all shards are right.
#[derive(Default)]
pub(super) struct Cell {
    began: Count,
    ended: [Count; OUTCOMES],
    received_bytes: Count,
    sent_bytes: Count,
    received_items: Count,
    sent_items: Count,
    times: Times,
    /// The times of calls that have waited for their handlers, and of those that have sent items.
    /// Most methods have neither.
    queued: OnceLock<Box<Times>>,
    first_items: OnceLock<Box<Times>>,
    exemplars: Taken,
}

impl Cell {
    pub(super) fn began(&self, alone: bool) {
        self.began.add(1, alone);
    }

    pub(super) fn ended(&self, end: &CallEnd<'_>, alone: bool) {
        if let Some(count) = self.ended.get(place(end.outcome())) {
            count.add(1, alone);
        }
        self.times.add(end.elapsed(), alone);
        for (times, time) in [
            (&self.queued, end.queued()),
            (&self.first_items, end.first_item()),
        ] {
            if let Some(time) = time {
                times.get_or_init(Box::default).add(time, alone);
            }
        }
        for (sum, more) in [
            (&self.received_bytes, end.received_bytes() as u64),
            (&self.sent_bytes, end.sent_bytes() as u64),
            (&self.received_items, end.items_received()),
            (&self.sent_items, end.items_sent()),
        ] {
            if more > 0 {
                sum.add(more, alone);
            }
        }
    }

    /// Takes a call whose trace is recorded as an example of its time.
    pub(super) fn traced(&self, trace: TraceContext, time: Duration) {
        if trace.is_sampled() {
            self.exemplars.add(trace, time);
        }
    }

    /// Adds the counts of this cell.
    pub(super) fn add_to(&self, sums: &mut MethodStatistics) {
        let mut ended = 0;
        for (sum, count) in sums.outcomes.iter_mut().zip(&self.ended) {
            let count = count.get();
            *sum += count;
            ended += count;
        }
        sums.began += self.began.get();
        sums.ended += ended;
        sums.received_bytes += self.received_bytes.get();
        sums.sent_bytes += self.sent_bytes.get();
        sums.received_items += self.received_items.get();
        sums.sent_items += self.sent_items.get();
        self.times.add_to(&mut sums.times);
        for (times, sum) in [
            (&self.queued, &mut sums.queued),
            (&self.first_items, &mut sums.first_items),
        ] {
            if let Some(times) = times.get() {
                times.add_to(sum);
            }
        }
        self.exemplars.add_to(&mut sums.exemplars);
    }
}
