//! Interceptors in the order in which they run, and the calls that they run around.

use super::by_scope::{ByScope, reachable};
use super::outcome::{Elapsed, Moment};
use super::{
    CallEnd, CallHead, Decision, Direction, Outcome, Response, ServerInterceptor, StreamItem,
};
use crate::method::{Method, ServiceDescriptor};
use crate::peer::call::{Call, Reply};
use crate::peer::context::CallInfo;
use crate::peer::failures::{cancelled, panicked, too_late};
use crate::peer::incoming::ReplyTo;
use crate::{Context, Status, clock};
use dovetail_protocol::Execution;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task;
use std::time::Instant;

/// The interceptors of a method, outermost first.
pub(crate) type Chain = [Arc<dyn ServerInterceptor>];

/// The interceptors of a server.
#[derive(Default)]
pub(crate) struct Interceptors(ByScope<Arc<dyn ServerInterceptor>>);

impl Interceptors {
    pub(crate) fn add(&mut self, interceptor: Arc<dyn ServerInterceptor>) {
        self.0.add_everywhere(interceptor);
    }

    /// Adds an interceptor in front of all others.
    pub(crate) fn add_first(&mut self, interceptor: Arc<dyn ServerInterceptor>) {
        self.0.add_first(interceptor);
    }

    pub(crate) fn add_at(&mut self, place: &str, interceptor: Arc<dyn ServerInterceptor>) {
        self.0.add(place, interceptor);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the interceptors around a method; `None` if there are none.
    pub(crate) fn chain(&self, service: &ServiceDescriptor, method: &Method) -> Option<Arc<Chain>> {
        let around = self.0.around(service, method);
        let chain: Vec<_> = around.map(|(_, interceptor)| interceptor.clone()).collect();
        (!chain.is_empty()).then(|| chain.into())
    }

    /// Shows the services of the server to all interceptors. Returns the first error: that of an
    /// interceptor, or of a place that does not exist.
    pub(crate) fn start(
        &mut self,
        services: impl Iterator<Item = &'static ServiceDescriptor>,
    ) -> Result<(), Status> {
        let services = reachable(services);
        let known = self.0.check("an interceptor is in front of", &services);
        // Nobody else has them yet.
        let mut interceptors = self.0.iter_mut().filter_map(Arc::get_mut);
        let started = interceptors.try_for_each(|interceptor| interceptor.start(&services));
        known.and(started)
    }
}

/// The facts about a call that interceptors see. Empty for a call without interceptors.
#[derive(Default)]
pub(crate) struct Observed {
    pub(super) chain: Option<Arc<Chain>>,
    called: Option<(&'static ServiceDescriptor, &'static Method)>,
    started: Option<Instant>,
    /// When it left a queue for its handler.
    queued: Moment,
    first_item: Moment,
    received: usize,
    items_received: AtomicU64,
    items_sent: AtomicU64,
    counted: Counted,
    end: End,
}

/// The place in which statistics count a call: they look for it at its beginning, and not once more
/// at its end. 0 is none. Only one of several statistics has it.
#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

impl Counted {
    /// Notes the place, where none is known.
    pub(crate) fn note(&self, statistics: u32, place: u32) {
        if self.0.load(Ordering::Relaxed) == 0 {
            let both = u64::from(statistics) << 32 | u64::from(place);
            self.0.store(both, Ordering::Relaxed);
        }
    }

    /// Returns the place in these statistics.
    pub(crate) fn place(&self, statistics: u32) -> Option<u32> {
        let both = self.0.load(Ordering::Relaxed);
        (both >> 32 == u64::from(statistics)).then_some(both as u32)
    }
}

/// The outcome of a call, once it has one.
#[derive(Default)]
struct End {
    kind: AtomicU8,
    failure: OnceLock<Status>,
}

impl End {
    const RETURNED: u8 = 1;
    const EXCEPTION: u8 = 2;
    const FAILED: u8 = 3;

    /// Keeps the first outcome.
    fn set(&self, outcome: Outcome) {
        let kind = match outcome {
            Outcome::Returned => Self::RETURNED,
            Outcome::Exception => Self::EXCEPTION,
            // It is there before anybody is told of it.
            Outcome::Failed(status) => match self.failure.set(status) {
                Ok(()) => Self::FAILED,
                Err(_) => return,
            },
        };
        // Either of two at the same time may be the first, so no instruction has to be locked.
        if self.kind.load(Ordering::Acquire) == 0 {
            self.kind.store(kind, Ordering::Release);
        }
    }

    fn get(&self) -> Option<Outcome> {
        match self.kind.load(Ordering::Acquire) {
            Self::RETURNED => Some(Outcome::Returned),
            Self::EXCEPTION => Some(Outcome::Exception),
            _ => self.failure.get().cloned().map(Outcome::Failed),
        }
    }
}

impl Observed {
    pub(crate) fn new(
        chain: Arc<Chain>,
        called: (&'static ServiceDescriptor, &'static Method),
        received: usize,
        started: Instant,
    ) -> Self {
        Observed {
            chain: Some(chain),
            called: Some(called),
            started: Some(started),
            received,
            ..Observed::default()
        }
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.chain.is_some()
    }

    /// Keeps the end of the call; the first one counts.
    pub(crate) fn end(&self, outcome: impl FnOnce() -> Outcome) {
        if self.is_observed() {
            self.end.set(outcome());
        }
    }
}

impl Context {
    /// Returns the service and the method that are called, for interceptors.
    pub(crate) fn called(&self) -> Option<(&'static ServiceDescriptor, &'static Method)> {
        self.call.observed.called
    }

    /// Returns the place in which statistics count the call.
    pub(crate) fn counted(&self) -> &Counted {
        &self.call.observed.counted
    }

    /// Notes that the call has left a queue. It may wait in several, one after the other: it has
    /// waited until it leaves the last one.
    pub(crate) fn leaves_queue(&self) {
        let observed = &self.call.observed;
        observed.queued.set(observed.started);
    }

    /// Shows an item to the call's interceptors.
    pub(crate) fn observe_item(
        &self,
        direction: Direction,
        size: Option<usize>,
    ) -> Result<(), Status> {
        let observed = &self.call.observed;
        let Some(chain) = &observed.chain else {
            return Ok(());
        };
        let count = match direction {
            Direction::Received => &observed.items_received,
            Direction::Sent => &observed.items_sent,
        };
        let index = count.fetch_add(1, Ordering::Relaxed);
        if index == 0 && direction == Direction::Sent {
            observed.first_item.set(observed.started);
        }
        let item = StreamItem {
            direction,
            index,
            size,
        };
        chain.iter().try_for_each(|i| i.item(self, &item))
    }
}

/// A call on its way through its interceptors. If it is dropped on the way, by a panic or because
/// its caller has gone, the interceptors that it has passed see its end.
pub(crate) struct Admission {
    /// Taken at the end.
    call: Option<Call>,
    service: &'static ServiceDescriptor,
    passed: usize,
}

/// The way of a call out of its interceptors: to its handler, or with an answer.
pub(crate) type Exit = Result<(Call, Finish), Reply>;

impl Admission {
    pub(crate) fn new(call: Call, service: &'static ServiceDescriptor) -> Self {
        Admission {
            call: Some(call),
            service,
            passed: 0,
        }
    }

    /// Runs interceptors. `None` where one has to wait.
    pub(crate) fn proceed(&mut self, chain: &Chain) -> Option<Exit> {
        while let Some(interceptor) = chain.get(self.passed)
            && let Some(call) = &mut self.call
        {
            match interceptor.before(&mut CallHead::new(call, self.service)) {
                Ok(Decision::Proceed) => self.passed += 1,
                Ok(Decision::Wait) => return None,
                Ok(Decision::Respond(response)) => return Some(self.answer(Ok(response))),
                Err(status) => return Some(self.answer(Err(status))),
            }
        }
        Some(self.end())
    }

    /// Continues at the interceptor that waits, until the call has left the chain.
    pub(crate) async fn wait(mut self, chain: Arc<Chain>) -> Exit {
        while let Some(interceptor) = chain.get(self.passed)
            && let Some(call) = &mut self.call
        {
            let mut head = CallHead::new(call, self.service);
            match interceptor.before_async(&mut head).await {
                Ok(Decision::Proceed | Decision::Wait) => self.passed += 1,
                Ok(Decision::Respond(response)) => return self.answer(Ok(response)),
                Err(status) => return self.answer(Err(status)),
            }
            if let Some(exit) = self.proceed(&chain) {
                return exit;
            }
        }
        self.end()
    }

    /// Answers the call, or refuses it.
    #[cold]
    fn answer(&mut self, decided: Result<Response, Status>) -> Exit {
        let Some((call, finish)) = self.take() else {
            return Err(Reply::new(Vec::new()));
        };
        let to = call.reply_to().clone();
        let reply = match decided {
            Ok(response) => response.reply(call),
            Err(status) => call.answer(&status.with_execution(Execution::NotStarted)),
        };
        finish.done(&reply, &to);
        Err(reply)
    }

    fn end(&mut self) -> Exit {
        if let Some(status) = self.call.as_mut().and_then(Call::take_refusal) {
            return self.answer(Err(status));
        }
        // It is there until the end.
        self.take().ok_or_else(|| Reply::new(Vec::new()))
    }

    fn take(&mut self) -> Option<(Call, Finish)> {
        let call = self.call.take()?;
        let mut finish = Finish::new(call.context().clone());
        finish.passed = self.passed;
        Some((call, finish))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        // The call has left the chain early.
        drop(self.take());
    }
}

/// Runs the interceptors that a call has passed once more when it is over: when this is dropped.
pub(crate) struct Finish {
    /// Elsewhere while a part of the handler runs.
    context: Option<Context>,
    passed: usize,
    sent: usize,
}

impl Finish {
    /// The end of a call that has passed no interceptor.
    pub(crate) fn new(context: Context) -> Self {
        Finish {
            context: Some(context),
            passed: 0,
            sent: 0,
        }
    }

    /// Runs a part of the handler of the call.
    pub(crate) fn enter<R>(&mut self, part: impl FnOnce() -> R) -> R {
        Context::enter(&mut self.context, part)
    }

    /// Returns whether an administrator has cancelled the call.
    pub(crate) fn is_stopped(&self, task: &task::Context<'_>) -> bool {
        let stop = self.call().and_then(|call| call.stop.as_ref());
        stop.is_some_and(|stop| stop.is_stopped(task.waker()))
    }

    fn call(&self) -> Option<&CallInfo> {
        self.context.as_ref().map(|context| &*context.call)
    }

    /// Notes the size of the answer, and ends the call.
    pub(crate) fn done(mut self, reply: &Reply, to: &ReplyTo) {
        if self.passed > 0 {
            self.sent = reply.size() + to.left_bytes();
        }
    }

    /// Sets the outcome of a call whose handler has not set one.
    pub(crate) fn fail(&self, status: &Status) {
        if let Some(call) = self.call() {
            call.observed.end(|| Outcome::Failed(status.clone()));
        }
    }
}

/// The outcome of a call whose handler has not set one.
fn left(call: &CallInfo) -> Outcome {
    let late = call.deadline.is_some_and(|at| at <= clock::now());
    Outcome::Failed(match (std::thread::panicking(), late) {
        (true, _) => panicked(),
        (false, true) => too_late(),
        (false, false) => cancelled(),
    })
}

impl Drop for Finish {
    fn drop(&mut self) {
        let Some(context) = self.context.as_ref().filter(|_| self.passed > 0) else {
            return;
        };
        let call = &context.call;
        let observed = &call.observed;
        let Some(chain) = &observed.chain else {
            return;
        };
        let outcome = observed.end.get().unwrap_or_else(|| left(call));
        let end = CallEnd {
            outcome: &outcome,
            elapsed: &Elapsed::since(observed.started),
            queued: observed.queued.get(),
            first_item: observed.first_item.get(),
            received: observed.received,
            sent: self.sent,
            items_received: observed.items_received.load(Ordering::Relaxed),
            items_sent: observed.items_sent.load(Ordering::Relaxed),
        };
        let mut passed = chain.iter().take(self.passed).rev();
        let mut after = || passed.by_ref().for_each(|i| i.after(context, &end));
        // A panic does not leave the others without their end.
        while catch_unwind(AssertUnwindSafe(&mut after)).is_err() {}
    }
}
