//! How long a peer takes for the messages that are arriving, whatever they come in.

use super::ServerLimits;
use crate::clock;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The bytes of messages that have come, and since when.
///
/// The clock is asked only where a driver is about to wait: most messages come as a whole.
#[derive(Default)]
pub(super) struct Pace {
    /// All bytes so far.
    received: u64,
    /// The bytes when the driver last waited.
    before: u64,
    /// How much of the input nobody has taken.
    left: usize,
    /// When what lies in the input, incomplete, began to come.
    input: Option<Mark>,
    /// The mark of the bytes that have been taken off it since.
    taken: Option<Mark>,
    /// When messages began of which the machine has a part: all below a number, oldest first.
    parts: VecDeque<(u64, Mark)>,
}

/// A moment, and how many bytes had come before.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    received: u64,
}

/// Messages of which a machine has taken in a part, numbered in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The first of which something is missing.
    pub(super) oldest: u64,
    /// How many have begun.
    pub(super) begun: u64,
    /// The newest began with what lay in the input, incomplete, before.
    pub(super) headed: bool,
}

impl Parts {
    /// The only one, behind so many whole ones.
    pub(super) fn one(before: u64) -> Self {
        Parts {
            oldest: before,
            begun: before + 1,
            headed: false,
        }
    }
}

/// Messages that begin within so long count as begun at the same time.
const TOGETHER: Duration = Duration::from_millis(100);

impl Pace {
    /// So much lies in the input, some of which may have come since. Returns how much that is.
    pub(super) fn received(&mut self, input: usize) -> usize {
        let more = input.saturating_sub(self.left);
        self.received += more as u64;
        self.left = input;
        more
    }

    /// So much still lies in the input. Where that is less, something has been complete.
    pub(super) fn taken(&mut self, input: usize) {
        if input < self.left
            && let Some(mark) = self.input.take()
        {
            self.taken.get_or_insert(mark);
        }
        self.left = input;
    }

    /// A whole message has come, and nothing before it is incomplete.
    pub(super) fn arrived(&mut self) {
        self.taken = None;
    }

    /// It is this end that does not receive: the time of what is incomplete begins anew.
    pub(super) fn hold(&mut self) {
        (self.input, self.taken) = (None, None);
        self.parts.clear();
        self.before = self.received;
    }

    /// Notes the incomplete messages, while the driver waits for more of them.
    pub(super) fn waits(&mut self, parts: Option<Parts>) {
        if self.left == 0 && parts.is_none() {
            return self.hold();
        }
        let now = Mark {
            at: clock::now(),
            received: self.before,
        };
        let head = self.taken.take();
        match parts {
            None => self.parts.clear(),
            Some(Parts {
                oldest,
                begun,
                headed,
            }) => {
                let earliest = head.filter(|_| headed).unwrap_or(now);
                while self.parts.front().is_some_and(|part| part.0 <= oldest) {
                    self.parts.pop_front();
                }
                match self.parts.back_mut() {
                    Some(last) if last.0 >= begun => {}
                    Some(last) if now.at.saturating_duration_since(last.1.at) < TOGETHER => {
                        last.0 = begun;
                    }
                    _ => self.parts.push_back((begun, earliest)),
                }
            }
        }
        if self.left > 0 {
            self.input.get_or_insert(now);
        }
        self.before = self.received;
    }

    /// How long what is incomplete may take, if `limit` is for a message, and how much of that is
    /// left.
    pub(super) fn allowed(&self, limit: Duration, limits: &ServerLimits) -> (Duration, Duration) {
        let marks = self.input.iter();
        let marks = marks.chain(self.parts.front().map(|(_, mark)| mark));
        let Some(mark) = marks.min_by_key(|mark| mark.at) else {
            return (limit, limit);
        };
        let allowed = match limits.rate {
            0 => limit,
            rate => {
                let received = self.received - mark.received;
                let at_rate = Duration::from_secs_f64(received as f64 / rate as f64);
                at_rate.max(limits.rate_grace).min(limit)
            }
        };
        let taken = clock::now().saturating_duration_since(mark.at);
        (allowed, allowed.saturating_sub(taken))
    }
}
