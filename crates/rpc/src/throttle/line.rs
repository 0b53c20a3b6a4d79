//! Calls that run, and those that wait for their turn.

use super::adaptive::Adaptive;
use super::quota::{Queue, Quota};
use super::{Criticality, Reason};
use crate::clock;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A queue in which every call of this time has waited too long does not empty (RFC 8289, section
/// 4.3, has the same interval).
const INTERVAL: Duration = Duration::from_millis(100);

/// Lets so many calls run at a time, and so many wait.
pub(super) struct Line {
    fixed: Option<usize>,
    queue: Queue,
    state: Mutex<LineState>,
}

struct LineState {
    adaptive: Option<Adaptive>,
    running: usize,
    /// Those that wait, by how critical they are, each the longest first.
    waiting: [VecDeque<Arc<Waiter>>; Criticality::COUNT],
    /// The shortest wait of the calls whose turn has come in this interval.
    least: Option<Duration>,
    /// A call of this interval was refused because it had waited too long.
    late: bool,
    ends: Instant,
    /// All calls of the interval before have waited too long.
    stands: bool,
}

/// The way of a call through a line.
pub(super) enum Entry {
    Runs,
    Waits(Waiting),
    Full,
}

impl Line {
    /// Makes the line of a quota that limits the number of calls that run.
    pub(super) fn new(quota: &Quota) -> Self {
        let now = clock::now();
        Line {
            fixed: quota.in_flight,
            queue: quota.queue,
            state: Mutex::new(LineState {
                adaptive: quota.adaptive.map(|bounds| Adaptive::new(bounds, now)),
                running: 0,
                waiting: Default::default(),
                least: None,
                late: false,
                ends: now + INTERVAL,
                stands: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of calls that may run now.
    pub(super) fn limit(&self) -> usize {
        self.limit_of(&self.lock())
    }

    fn limit_of(&self, state: &LineState) -> usize {
        let adaptive = state.adaptive.as_ref().map(Adaptive::limit);
        let limits = self.fixed.into_iter().chain(adaptive);
        limits.min().unwrap_or(usize::MAX)
    }

    /// Takes in a call. It has its place until [`leave`](Self::leave).
    pub(super) fn enter(self: &Arc<Self>, criticality: Criticality) -> Entry {
        let mut state = self.lock();
        if state.is_empty() && state.running < self.limit_of(&state) {
            state.running += 1;
            state.least = Some(Duration::ZERO);
            return Entry::Runs;
        }
        let now = clock::now();
        state.look(self.queue.target, now);
        let displaced = match state.len() < self.queue.length {
            true => None,
            false => match state.displace(criticality) {
                Some(waiter) => Some(waiter),
                None => return Entry::Full,
            },
        };
        let waiter = Arc::new(Waiter::new(now));
        if let Some(queue) = state.waiting.get_mut(criticality as usize) {
            queue.push_back(waiter.clone());
        }
        let longest = self.longest_wait(&state);
        drop(state);
        if let Some(waker) = displaced.and_then(|waiter| waiter.end(Turn::Over(Reason::InFlight))) {
            waker.wake();
        }
        Entry::Waits(Waiting {
            line: self.clone(),
            until: now + longest,
            waiter,
        })
    }

    /// Returns how long a call may wait.
    fn longest_wait(&self, state: &LineState) -> Duration {
        match state.stands {
            true => self.queue.target.min(self.queue.longest),
            false => self.queue.longest,
        }
    }

    /// Gives back the place of a call that ran for so long, or never began to.
    pub(super) fn leave(&self, took: Option<Duration>) {
        let mut state = self.lock();
        let running = state.running;
        state.running = running.saturating_sub(1);
        if state.adaptive.is_none() && state.is_empty() {
            return;
        }
        let now = clock::now();
        if let (Some(adaptive), Some(took)) = (&mut state.adaptive, took) {
            adaptive.ended(took, running, now);
        }
        let wakers = self.admit(&mut state, now);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Lets those run whose turn has come. Returns the wakers to run after the lock is released.
    fn admit(&self, state: &mut LineState, now: Instant) -> Vec<Waker> {
        let mut wakers = Vec::new();
        state.look(self.queue.target, now);
        let longest = self.longest_wait(state);
        while state.running < self.limit_of(state)
            && let Some(waiter) = state.next()
        {
            let waited = now.saturating_duration_since(waiter.since);
            state.least = Some(state.least.map_or(waited, |least| least.min(waited)));
            let turn = match waited > longest {
                true => {
                    state.late = true;
                    Turn::Over(Reason::QueueTime)
                }
                false => {
                    state.running += 1;
                    Turn::Come
                }
            };
            wakers.extend(waiter.end(turn));
        }
        wakers
    }
}

impl LineState {
    /// Looks at the waits of an interval when it is over.
    fn look(&mut self, target: Duration, now: Instant) {
        if now >= self.ends {
            let slow = self.least.take().is_some_and(|least| least > target / 2);
            // Once late calls are gone, a queue may be empty for a moment, and is full again in the
            // next.
            self.stands = slow || (self.stands && self.late);
            self.late = false;
            self.ends = now + INTERVAL;
        }
    }

    fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    fn is_empty(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    fn next(&mut self) -> Option<Arc<Waiter>> {
        let mut queues = self.waiting.iter_mut().rev();
        queues.find_map(VecDeque::pop_front)
    }

    /// Takes out the newest of the least critical calls, if they are less critical than this.
    fn displace(&mut self, criticality: Criticality) -> Option<Arc<Waiter>> {
        let less = self.waiting.get_mut(..criticality as usize)?;
        less.iter_mut().find_map(VecDeque::pop_back)
    }
}

/// The place of a call in the queue.
struct Waiter {
    since: Instant,
    turn: Mutex<Turn>,
}

enum Turn {
    Waits(Option<Waker>),
    Come,
    Over(Reason),
    /// Its call knows how it ended.
    Known,
}

impl Waiter {
    fn new(since: Instant) -> Self {
        Waiter {
            since,
            turn: Mutex::new(Turn::Waits(None)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait. It has been taken out of the queue. Returns its waker.
    fn end(&self, turn: Turn) -> Option<Waker> {
        match std::mem::replace(&mut *self.lock(), turn) {
            Turn::Waits(waker) => waker,
            _ => None,
        }
    }
}

/// A call that waits for its turn: the output says whether it has come. The place is given back if
/// this is dropped.
pub(super) struct Waiting {
    line: Arc<Line>,
    until: Instant,
    waiter: Arc<Waiter>,
}

impl Waiting {
    /// Returns when it may wait no longer.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Ends the wait because its time is over. The turn may have come meanwhile.
    pub(super) fn give_up(&self) -> Result<(), Reason> {
        self.leave_queue();
        match std::mem::replace(&mut *self.waiter.lock(), Turn::Known) {
            Turn::Come => Ok(()),
            Turn::Over(reason) => Err(reason),
            Turn::Waits(_) | Turn::Known => Err(Reason::QueueTime),
        }
    }

    fn leave_queue(&self) {
        let mut state = self.line.lock();
        state.late = true;
        for queue in &mut state.waiting {
            queue.retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
        }
    }
}

impl Future for Waiting {
    type Output = Result<(), Reason>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut turn = self.waiter.lock();
        match &mut *turn {
            Turn::Waits(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(match std::mem::replace(&mut *turn, Turn::Known) {
                Turn::Come => Ok(()),
                Turn::Over(reason) => Err(reason),
                Turn::Waits(_) | Turn::Known => Err(Reason::QueueTime),
            }),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let turn = std::mem::replace(&mut *self.waiter.lock(), Turn::Known);
        match turn {
            Turn::Waits(_) => self.leave_queue(),
            Turn::Come => self.line.leave(None),
            Turn::Over(_) | Turn::Known => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::task::Poll;

    fn line(quota: Quota) -> Arc<Line> {
        Arc::new(Line::new(&quota))
    }

    fn waits(line: &Arc<Line>, criticality: Criticality) -> Option<Waiting> {
        match line.enter(criticality) {
            Entry::Waits(waiting) => Some(waiting),
            Entry::Runs | Entry::Full => None,
        }
    }

    fn turn(waiting: &mut Waiting) -> Option<Result<(), Reason>> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(waiting).poll(&mut context) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    const LONG: Duration = Duration::from_secs(100);

    #[test]
    fn turns_come_by_criticality_and_time() {
        use Criticality::{Critical, Normal, Sheddable};
        let line = line(Quota::new().in_flight(1).queue(4, LONG));
        assert!(matches!(line.enter(Normal), Entry::Runs));
        let mut order =
            [Sheddable, Normal, Critical, Normal].map(|level| waits(&line, level).unwrap());
        assert!(matches!(line.enter(Sheddable), Entry::Full));
        let mut came = Vec::new();
        for _ in 0..4 {
            line.leave(None);
            let next = order
                .iter_mut()
                .position(|waiting| turn(waiting) == Some(Ok(())));
            came.push(next.unwrap());
        }
        assert_eq!(came, [2, 1, 3, 0]);
        assert_eq!(line.lock().running, 1);
    }

    #[test]
    fn a_critical_call_takes_the_place_of_another() {
        use Criticality::{Critical, Normal};
        let line = line(Quota::new().in_flight(1).queue(2, LONG));
        assert!(matches!(line.enter(Normal), Entry::Runs));
        let mut first = waits(&line, Normal).unwrap();
        let mut second = waits(&line, Normal).unwrap();
        let third = waits(&line, Critical).unwrap();
        assert_eq!(turn(&mut second), Some(Err(Reason::InFlight)));
        assert_eq!(turn(&mut first), None);
        drop((first, third));
        assert!(line.lock().is_empty());
    }

    #[test]
    fn places_come_back() {
        let line = line(Quota::new().in_flight(2).queue(10, LONG));
        for _ in 0..2 {
            assert!(matches!(line.enter(Criticality::Normal), Entry::Runs));
        }
        let waiting: Vec<_> = (0..10)
            .map(|_| waits(&line, Criticality::Normal).unwrap())
            .collect();
        line.leave(None);
        // Some have their turn, and none looks.
        drop(waiting);
        line.leave(None);
        assert_eq!(line.lock().running, 0);
        assert!(line.lock().is_empty());
    }

    #[test]
    fn who_has_waited_too_long_is_refused() {
        let line = line(Quota::new().in_flight(1).queue(10, Duration::ZERO));
        assert!(matches!(line.enter(Criticality::Normal), Entry::Runs));
        let mut waiting = waits(&line, Criticality::Normal).unwrap();
        let mut state = line.lock();
        state.running = 0;
        drop(line.admit(&mut state, clock::now() + Duration::from_millis(1)));
        drop(state);
        assert_eq!(turn(&mut waiting), Some(Err(Reason::QueueTime)));
        let waiting = waits(&line, Criticality::Normal);
        assert!(waiting.is_none(), "the line is free");
        let late = waits(&line, Criticality::Normal).unwrap();
        assert_eq!(late.give_up(), Err(Reason::QueueTime));
    }

    #[test]
    fn a_queue_that_stands_is_cut_short() {
        let target = Duration::from_millis(20);
        let quota = Quota::new().in_flight(1).queue(10, LONG);
        let line = line(quota.queue_target(target));
        // The shortest wait of an interval, and whether calls may wait long in the next.
        for (least, late, long) in [
            (Some(Duration::ZERO), true, true),
            (Some(target), false, false),
            (Some(target / 2), false, true),
            (Some(target), true, false),
            (Some(Duration::ZERO), true, false),
            (None, false, true),
        ] {
            let mut state = line.lock();
            (state.least, state.late) = (least, late);
            let now = state.ends;
            state.look(target, now);
            let longest = if long { LONG } else { target };
            assert_eq!(line.longest_wait(&state), longest, "{least:?}");
        }
    }
}
