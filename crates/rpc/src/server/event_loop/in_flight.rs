//! The calls of a connection whose handlers wait.

use crate::buffers::Gathered;
use crate::counters::count;
use crate::dispatch::running::{Waiting, outcome};
use crate::peer::incoming::Incoming;
use crate::peer::share::{Charge, SMALL, Share};
use crate::server::Shared;
use futures_util::future::{AbortHandle, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::task::unconstrained;

/// An answer that is being made, and the number under which its caller may cancel it.
pub(super) struct AnswerInFlight<'a> {
    oneway: bool,
    answer: Pin<Box<dyn Future<Output = (Option<u32>, Gathered)> + 'a>>,
}

impl Future for AnswerInFlight<'_> {
    type Output = (Option<u32>, Gathered);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(context)
    }
}

/// Approximate bytes that a call takes while its handler waits, without its parameters.
const CALL: usize = 1 << 10;

/// The state of a call whose handler waits.
pub(super) struct Waits {
    oneway: bool,
    /// Bytes of parameters that are not charged otherwise.
    weight: usize,
    waiting: Waiting,
}

impl Waits {
    pub(super) fn new(call: &Incoming) -> Self {
        let (reply, deadline) = (call.reply.clone(), call.deadline);
        Waits {
            oneway: call.oneway,
            weight: Some(call.weight())
                .filter(|weight| *weight < SMALL)
                .unwrap_or(0),
            waiting: Waiting { reply, deadline },
        }
    }
}

/// The calls of a connection whose handlers wait.
#[derive(Default)]
pub(super) struct InFlight<'a> {
    /// `None` as long as none does: the set takes memory when it is empty.
    running: Option<FuturesUnordered<AnswerInFlight<'a>>>,
    /// No other call may run beside the one that runs.
    pub(super) alone: bool,
    /// A call that waits until it can run alone; those behind it wait too.
    pub(super) held: Option<Box<Incoming>>,
    cancels: HashMap<u32, AbortHandle>,
}

impl<'a> InFlight<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.runs() == 0 && self.held.is_none()
    }

    /// How many calls run.
    pub(super) fn runs(&self) -> usize {
        self.running.as_ref().map_or(0, FuturesUnordered::len)
    }

    /// No call runs, and none may for long.
    pub(super) fn rest(&mut self) {
        self.running = None;
    }

    pub(super) fn has_room(&self, most: usize) -> bool {
        self.runs() == 0 || (!self.alone && self.held.is_none() && self.runs() < most)
    }

    /// Takes in a call: until its handler is done, its deadline has passed, or its caller has gone.
    pub(super) fn join(
        &mut self,
        shared: &'a Shared,
        answer: impl Future<Output = Gathered> + 'a,
        Waits {
            oneway,
            waiting,
            weight,
        }: Waits,
        share: Option<&Arc<Share>>,
    ) {
        let mut charge = Charge::new(share);
        charge.add(CALL + weight);
        let place = InFlightGuard::take(&shared.waiting);
        let call = waiting.reply.cancelled_as();
        let (answer, cancel) = abortable(answer);
        if let Some(call) = call {
            self.cancels.insert(call, cancel);
        }
        let unanswered = Unanswered(Some(&shared.counters.cancelled_calls));
        // Not counted against the budget of the connection's task: once that is used up, tokio
        // would let every one of these wake itself without end until the task has been left.
        let answer = Box::pin(unconstrained(async move {
            let answer = outcome(&shared.dispatcher, answer, waiting).await;
            unanswered.answered();
            drop((place, charge));
            (call, answer)
        }));
        let running = self.running.get_or_insert_default();
        running.push(AnswerInFlight { oneway, answer });
    }

    /// The caller of a call has gone: its handler is dropped.
    pub(super) fn cancel(&mut self, call: u32) {
        if let Some(cancel) = self.cancels.remove(&call) {
            cancel.abort();
        }
    }

    /// Waits for the one-way calls, and gives up all others: their caller has gone.
    pub(super) async fn finish_oneway(self) {
        let running = self.running.unwrap_or_default().into_iter();
        let mut oneway: FuturesUnordered<_> = running.filter(|answer| answer.oneway).collect();
        while oneway.next().await.is_some() {}
    }

    /// The next answer; `None` where no call runs.
    pub(super) async fn next(&mut self) -> Option<Gathered> {
        let answered = self.running.as_mut()?.next().await;
        self.answered(answered)
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Gathered>> {
        match &mut self.running {
            Some(running) => running
                .poll_next_unpin(context)
                .map(|answered| self.answered(answered)),
            None => Poll::Ready(None),
        }
    }

    fn answered(&mut self, answered: Option<(Option<u32>, Gathered)>) -> Option<Gathered> {
        let (call, answer) = answered?;
        if let Some(call) = call {
            self.cancels.remove(&call);
        }
        Some(answer)
    }
}

/// A call that counts as given up where this is dropped: its connection has gone.
struct Unanswered<'a>(Option<&'a AtomicU64>);

impl Unanswered<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.0 {
            count(counter);
        }
    }
}

/// A waiting call, counted as long as this exists.
pub(super) struct InFlightGuard<'a>(&'a AtomicUsize);

impl<'a> InFlightGuard<'a> {
    pub(super) fn take(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(waiting)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
