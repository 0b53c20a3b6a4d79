//! Interceptors in the order in which they run, and the calls that they run around.

use super::by_scope::{ByScope, reachable};
use super::{CallEnd, CallHead, Decision, Direction, Outcome, ServerInterceptor, StreamItem};
use crate::method::{Method, ServiceDescriptor};
use crate::peer::call::{Call, Reply};
use crate::peer::context::CallInfo;
use crate::peer::failures::{cancelled, panicked, too_late};
use crate::peer::incoming::ReplyTo;
use crate::{Context, Status, clock, web};
use dovetail_protocol::Execution;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
    received: usize,
    items_received: AtomicU64,
    items_sent: AtomicU64,
    end: OnceLock<ChainEnd>,
}

/// An [`Outcome`] in two words: every call has room for one, and few are looked at.
enum ChainEnd {
    Returned,
    Exception,
    Failed(Box<Status>),
}

impl From<Outcome> for ChainEnd {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Returned => ChainEnd::Returned,
            Outcome::Exception => ChainEnd::Exception,
            Outcome::Failed(status) => ChainEnd::Failed(Box::new(status)),
        }
    }
}

impl ChainEnd {
    fn outcome(&self) -> Outcome {
        match self {
            ChainEnd::Returned => Outcome::Returned,
            ChainEnd::Exception => Outcome::Exception,
            ChainEnd::Failed(status) => Outcome::Failed((**status).clone()),
        }
    }
}

impl Observed {
    pub(crate) fn new(
        chain: Arc<Chain>,
        called: (&'static ServiceDescriptor, &'static Method),
        received: usize,
    ) -> Self {
        Observed {
            chain: Some(chain),
            called: Some(called),
            started: Some(clock::now()),
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
            self.end.get_or_init(|| outcome().into());
        }
    }
}

impl Context {
    /// Returns the service and the method that are called, for interceptors.
    pub(crate) fn called(&self) -> Option<(&'static ServiceDescriptor, &'static Method)> {
        self.call.observed.called
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
        let item = StreamItem {
            direction,
            index: count.fetch_add(1, Ordering::Relaxed),
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
    chain: Arc<Chain>,
    service: &'static ServiceDescriptor,
    passed: usize,
}

/// The end of the chain.
pub(crate) enum Admitted {
    /// The handler is to run.
    Call(Call, Finish),
    /// The call is answered.
    Reply(Reply),
}

/// The next step.
pub(crate) enum Step {
    Done(Admitted),
    /// The interceptor at which the call is decides later.
    Wait(Admission),
}

impl Admission {
    pub(crate) fn new(
        mut call: Call,
        service: &'static ServiceDescriptor,
        chain: Arc<Chain>,
    ) -> Self {
        call.observe(chain.clone(), service);
        Admission {
            call: Some(call),
            chain,
            service,
            passed: 0,
        }
    }

    /// Runs interceptors until one has to wait.
    pub(crate) fn proceed(mut self) -> Step {
        while let Some(interceptor) = self.chain.get(self.passed)
            && let Some(call) = &mut self.call
        {
            let decided = interceptor.before(&mut CallHead::new(call, self.service));
            if let Ok(Decision::Wait) = decided {
                return Step::Wait(self);
            }
            if let Some(reply) = self.apply(decided) {
                return Step::Done(Admitted::Reply(reply));
            }
        }
        Step::Done(self.end())
    }

    /// Continues after the interceptor that has waited.
    pub(crate) async fn wait(mut self) -> Admitted {
        while let Some(interceptor) = self.chain.get(self.passed)
            && let Some(call) = &mut self.call
        {
            let mut head = CallHead::new(call, self.service);
            let decided = interceptor.before_async(&mut head).await;
            if let Some(reply) = self.apply(decided) {
                return Admitted::Reply(reply);
            }
            match self.proceed() {
                Step::Wait(still) => self = still,
                Step::Done(done) => return done,
            }
        }
        self.end()
    }

    /// Follows a decision. Returns the answer if it ends the call.
    fn apply(&mut self, decided: Result<Decision, Status>) -> Option<Reply> {
        match decided {
            Ok(Decision::Proceed | Decision::Wait) => {
                self.passed += 1;
                None
            }
            Ok(Decision::Respond(response)) => {
                let (call, finish) = self.take()?;
                let reply = response.reply(call);
                finish.done(&reply);
                Some(reply)
            }
            Err(status) => {
                let (call, finish) = self.take()?;
                let reply = call.answer(&status.with_execution(Execution::NotStarted));
                finish.done(&reply);
                Some(reply)
            }
        }
    }

    fn take(&mut self) -> Option<(Call, Finish)> {
        let call = self.call.take()?;
        let finish = Finish {
            context: call.context().clone(),
            web: match call.reply_to() {
                ReplyTo::Web(reply) => Some(reply.clone()),
                _ => None,
            },
            passed: self.passed,
            sent: 0,
        };
        Some((call, finish))
    }

    fn end(mut self) -> Admitted {
        let refusal = self.call.as_mut().and_then(Call::take_refusal);
        if let Some(reply) = refusal.and_then(|status| self.apply(Err(status))) {
            return Admitted::Reply(reply);
        }
        match self.take() {
            Some((call, finish)) => Admitted::Call(call, finish),
            // It is there until the end.
            None => Admitted::Reply(Reply::new(Vec::new())),
        }
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
    context: Context,
    /// The place of an answer over HTTP.
    web: Option<web::WebReplyTo>,
    passed: usize,
    sent: usize,
}

impl Finish {
    /// Notes the size of the answer, and ends the call.
    pub(crate) fn done(mut self, reply: &Reply) {
        let left = self.web.as_ref().map_or(0, web::WebReplyTo::left_bytes);
        self.sent = reply.size() + left;
    }

    /// Sets the outcome of a call whose handler has not set one.
    pub(crate) fn fail(&self, status: &Status) {
        let outcome = || Outcome::Failed(status.clone());
        self.context.call.observed.end(outcome);
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
        let call = &self.context.call;
        let observed = &call.observed;
        let Some(chain) = &observed.chain else {
            return;
        };
        let started = observed.started.unwrap_or_else(clock::now);
        let outcome = observed.end.get_or_init(|| left(call).into()).outcome();
        let end = CallEnd {
            outcome: &outcome,
            elapsed: clock::now().saturating_duration_since(started),
            received: observed.received,
            sent: self.sent,
            items_received: observed.items_received.load(Ordering::Relaxed),
            items_sent: observed.items_sent.load(Ordering::Relaxed),
        };
        for interceptor in chain.iter().take(self.passed).rev() {
            // A panic here would leave the others without their end.
            let after = || interceptor.after(&self.context, &end);
            let _ = catch_unwind(AssertUnwindSafe(after));
        }
    }
}
