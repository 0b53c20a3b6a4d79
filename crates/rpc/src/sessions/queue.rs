//! The calls of a session, one after another, in the order in which they came.

use std::collections::VecDeque;
use std::task::Waker;

/// The use that a call makes of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// No other call runs meanwhile.
    Exclusive,
    /// Others that are shared run beside it.
    Shared,
}

/// The number of a call that waits.
pub(super) type Number = u64;

/// Calls that run, and those that wait for them. A call never overtakes another.
#[derive(Default)]
pub(super) struct Queue {
    shared: usize,
    exclusive: bool,
    /// By their numbers, which rise.
    waiting: VecDeque<Waiting>,
    next: Number,
}

struct Waiting {
    number: Number,
    kind: Use,
    waker: Option<Waker>,
}

impl Queue {
    /// Lets a call run at once, or has it wait under a number.
    pub(super) fn enter(&mut self, kind: Use) -> Option<Number> {
        if self.waiting.is_empty() && self.has_room(kind) {
            self.run(kind);
            return None;
        }
        self.next += 1;
        let number = self.next;
        self.waiting.push_back(Waiting {
            number,
            kind,
            waker: None,
        });
        Some(number)
    }

    fn has_room(&self, kind: Use) -> bool {
        match kind {
            Use::Exclusive => self.is_idle(),
            Use::Shared => !self.exclusive,
        }
    }

    fn run(&mut self, kind: Use) {
        match kind {
            Use::Exclusive => self.exclusive = true,
            Use::Shared => self.shared += 1,
        }
    }

    /// Returns true if no call runs.
    pub(super) fn is_idle(&self) -> bool {
        !self.exclusive && self.shared == 0
    }

    /// Returns true if no call runs or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.is_idle() && self.waiting.is_empty()
    }

    /// Returns true if the turn of a call has come; otherwise keeps its waker.
    pub(super) fn has_come(&mut self, number: Number, waker: &Waker) -> bool {
        match self.find(number) {
            Some(place) => {
                self.waiting[place].waker = Some(waker.clone());
                false
            }
            None => true,
        }
    }

    fn find(&self, number: Number) -> Option<usize> {
        let place = self
            .waiting
            .binary_search_by_key(&number, |call| call.number);
        place.ok()
    }

    /// Ends a call that runs. Returns the wakers of those whose turn it is, to be woken without the
    /// lock.
    #[must_use]
    pub(super) fn leave(&mut self, kind: Use) -> Vec<Waker> {
        match kind {
            Use::Exclusive => self.exclusive = false,
            Use::Shared => self.shared -= 1,
        }
        self.admit()
    }

    /// Ends the wait of a call; if its turn has come already, it ends as one that runs.
    #[must_use]
    pub(super) fn give_up(&mut self, number: Number, kind: Use) -> Vec<Waker> {
        match self.find(number) {
            Some(place) => {
                self.waiting.remove(place);
                self.admit()
            }
            None => self.leave(kind),
        }
    }

    fn admit(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(call) = self.waiting.front()
            && self.has_room(call.kind)
        {
            self.run(call.kind);
            let call = self.waiting.pop_front();
            wakers.extend(call.and_then(|call| call.waker));
        }
        wakers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Use::{Exclusive, Shared};

    /// Returns which of these calls have had their turn.
    fn come(queue: &mut Queue, calls: &[Option<Number>]) -> Vec<bool> {
        let mut has_come = |number| queue.has_come(number, Waker::noop());
        let calls = calls.iter();
        calls.map(|call| call.is_none_or(&mut has_come)).collect()
    }

    #[test]
    fn turns_come_in_order() {
        let mut queue = Queue::default();
        let kinds = [Exclusive, Exclusive, Shared, Shared, Exclusive, Shared];
        let calls = kinds.map(|kind| queue.enter(kind));
        let expect = |queue: &mut Queue, until: usize| {
            let expected: Vec<_> = (0..calls.len()).map(|call| call < until).collect();
            assert_eq!(come(queue, &calls), expected);
        };
        expect(&mut queue, 1);
        for (left, until) in [(Exclusive, 2), (Exclusive, 4), (Shared, 4), (Shared, 5)] {
            let _ = queue.leave(left);
            expect(&mut queue, until);
        }
        let _ = queue.leave(Exclusive);
        let _ = queue.leave(Shared);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_call_that_gives_up_lets_others_pass() {
        let mut queue = Queue::default();
        let calls = [Shared, Exclusive, Shared].map(|kind| queue.enter(kind));
        assert_eq!(come(&mut queue, &calls), [true, false, false]);
        // The second waits; without it the third runs beside the first.
        let _ = calls[1].map(|number| queue.give_up(number, Exclusive));
        assert_eq!(come(&mut queue, &calls[2..]), [true]);
        // One that gives up when its turn has come leaves.
        let _ = calls[2].map(|number| queue.give_up(number, Shared));
        let _ = queue.leave(Shared);
        assert!(queue.is_empty());
    }
}
