//! A call at its handler.

use super::Dispatcher;
use super::routes::Route;
#[cfg(feature = "async")]
use super::{hold_ups::HoldUps, pool};
use crate::buffers::Gathered;
use crate::counters::count;
use crate::method::{Method, ServiceDescriptor};
use crate::peer::call::{Call, HandlerFuture, Reply};
use crate::peer::context::Caller;
use crate::peer::failures::{cancelled, panicked, too_late};
use crate::peer::incoming::{Incoming, ReplyTo, Target};
use crate::peer::intercept::{Admission, Chain, Exit, Finish, Observed, Preview};
use crate::peer::objects::{self, ObjectMethod, Owned, no_object};
use crate::peer::share::Over;
use crate::peer::stop::stopped;
use crate::{Code, Service, Status, clock};
use dovetail_protocol::{CONTRACT_HEADER, Execution};
#[cfg(feature = "async")]
use futures_util::future::{Abortable, Aborted};
use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
#[cfg(feature = "async")]
use std::time::Duration;
use std::time::Instant;

/// A handler at work. The output is its answer, encoded. A handler that panics fails its own call
/// and nothing else.
pub(crate) struct RunningCall<'a> {
    dispatcher: &'a Dispatcher,
    handler: HandlerFuture<'a>,
    reply: ReplyTo,
    /// The end of the call, where it has a handler.
    finish: Option<Finish>,
    /// The callee, while the handler runs on the thread which has started the call.
    #[cfg(feature = "async")]
    here: Option<Callee<'a>>,
}

/// The method of a call, and the loops that it has held up.
#[cfg(feature = "async")]
#[derive(Clone, Copy)]
struct Callee<'a> {
    service: &'static ServiceDescriptor,
    method: &'static Method,
    hold_ups: &'a HoldUps,
}

/// The dispatcher, for a handler in the pool; `None` for one on the thread which starts the call.
/// Interceptors decide on that thread in either case, so that refused calls take none of the pool.
type Pool<'a> = Option<&'a Arc<Dispatcher>>;

/// The pool, for a call whose handler may run there.
#[derive(Clone, Copy)]
struct PoolUse<'a> {
    dispatcher: &'a Arc<Dispatcher>,
    /// For each call; otherwise for functions that have lately held up a loop.
    #[cfg(feature = "async")]
    always: bool,
}

impl Dispatcher {
    /// Finds the handler of a call and starts it. The answer, also a refusal, comes in `buffer`.
    pub(crate) fn start(
        &self,
        call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        self.start_on(None, call, caller, buffer)
    }

    /// Does the same on the thread of a loop. A function that has lately held up a loop runs in the
    /// pool if it `moves`.
    #[cfg(feature = "async")]
    pub(crate) fn start_on_loop(
        self: &Arc<Self>,
        call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
        moves: bool,
    ) -> RunningCall<'_> {
        let pool = moves.then_some(PoolUse {
            dispatcher: self,
            always: false,
        });
        self.start_on(pool, call, caller, buffer)
    }

    /// Does the same with a handler that runs in the pool.
    #[cfg(feature = "async")]
    pub(crate) fn start_in_pool(
        self: &Arc<Self>,
        call: Box<Incoming>,
        caller: Arc<Caller>,
    ) -> RunningCall<'_> {
        let pool = PoolUse {
            dispatcher: self,
            always: true,
        };
        self.start_on(Some(pool), call, caller, Vec::new())
    }

    fn start_on<'a>(
        &'a self,
        pool: Option<PoolUse<'a>>,
        mut call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'a> {
        if let Err(over) = call.charge(&caller) {
            return self.refuse_for_memory(&call, over, buffer);
        }
        let found = match call.target {
            Target::Nothing => return self.refuse(&call, &nothing(), buffer),
            _ => {
                let contract = call.headers.remove(CONTRACT_HEADER);
                self.find(&call, &caller, contract.as_deref())
            }
        };
        // The clock is not asked without need, nor twice.
        let read = || call.arrived.unwrap_or_else(clock::now);
        let now = call.deadline.map(|_| read());
        match found {
            Ok(found) if call.deadline.is_none() || call.deadline > now => {
                self.run(pool, found, call, caller, buffer, now)
            }
            Ok(_) => {
                count(&self.counters.late_calls);
                let status = too_late().with_execution(Execution::NotStarted);
                self.refuse(&call, &status, buffer)
            }
            Err(status) => {
                match status.code() {
                    Code::FailedPrecondition if status.asks_for_description() => {}
                    Code::FailedPrecondition => count(&self.counters.contradicting_calls),
                    _ => count(&self.counters.unknown_methods),
                }
                self.refuse(&call, &status, buffer)
            }
        }
    }

    /// Answers a call that is not taken, for want of room most often.
    pub(crate) fn turn_away(
        &self,
        call: &Incoming,
        why: &Status,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        count(&self.counters.refused_calls);
        let status = why.clone().with_execution(Execution::NotStarted);
        self.refuse(call, &status, buffer)
    }

    /// Answers a call for which there is no memory.
    #[cold]
    fn refuse_for_memory(&self, call: &Incoming, over: Over, buffer: Vec<u8>) -> RunningCall<'_> {
        count(&self.counters.refused_memory);
        let status = Status::from(over).with_execution(Execution::NotStarted);
        self.refuse(call, &status, buffer)
    }

    /// Shows interceptors a call that has nothing but its head. `None` where there are none.
    pub(crate) fn preview(
        &self,
        head: Box<Incoming>,
        caller: &Arc<Caller>,
    ) -> Option<Box<Preview>> {
        let route = self.routes.find(&head.target).ok()?;
        let chain = self.routes.around(&route)?;
        let observed = Observed::default();
        let buffer = Vec::new();
        let call = Call::new(
            head,
            route.method,
            caller.clone(),
            self.limits,
            buffer,
            observed,
        );
        let preview = AssertUnwindSafe(|| Preview::new(call, route.descriptor, chain));
        let preview = catch_unwind(preview).unwrap_or_else(|_| {
            count(&self.counters.panics);
            Preview {
                refusal: Some(panicked()),
                ..Preview::default()
            }
        });
        Some(Box::new(preview))
    }

    fn find(
        &self,
        call: &Incoming,
        caller: &Caller,
        contract: Option<&[u8]>,
    ) -> Result<Found, Status> {
        let of_objects = match call.target {
            Target::Route(route @ objects::ROUTES..) => {
                caller.objects().and_then(|objects| objects.method(route))
            }
            _ => None,
        };
        let method = match (of_objects, &call.object) {
            (None, None) => {
                let route = self.routes.find(&call.target)?;
                contract.map_or(Ok(()), |header| self.routes.compare(&route, header))?;
                return Ok(Found::Service(route));
            }
            (None, Some(_)) => {
                let route = self.routes.find(&call.target)?;
                ObjectMethod {
                    descriptor: route.descriptor,
                    number: route.number,
                    method: route.method,
                }
            }
            (Some(method), Some(_)) => method,
            (Some(method), None) => return Err(on_objects(&method)),
        };
        let object = call.object.clone().flatten().ok_or_else(no_object)?;
        match object.service.descriptor().is(method.descriptor) {
            true => Ok(Found::Object(object, method)),
            false => Err(another_kind(&*object.service, &method)),
        }
    }

    fn run<'a>(
        &'a self,
        pool: Option<PoolUse<'a>>,
        found: Found,
        call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
        now: Option<Instant>,
    ) -> RunningCall<'a> {
        count(&self.counters.calls);
        let reply = call.reply.clone();
        let of_object = match &found {
            Found::Service(_) => None,
            Found::Object(_, method) => self.routes.around_object(method),
        };
        let chain = match &found {
            Found::Service(route) => self.routes.around(route),
            Found::Object(..) => of_object.as_ref(),
        };
        let called = found.called();
        #[cfg(feature = "async")]
        let callee = Callee {
            service: called.0,
            method: called.1,
            hold_ups: self.routes.hold_ups(found.route()),
        };
        #[cfg(feature = "async")]
        let pool = pool.filter(|pool| pool.always || callee.hold_ups.moves_call());
        let pool = pool.map(|pool| pool.dispatcher);
        let observed = chain.map_or_else(Observed::default, |chain| {
            let now = now.unwrap_or_else(clock::now);
            Observed::new(chain.clone(), called, call.body.size(), now)
        });
        let call = Call::new(call, called.1, caller, self.limits, buffer, observed);
        let started = catch_unwind(AssertUnwindSafe(|| match chain {
            None => self.begin_on(pool, found, call, None),
            Some(chain) => self.intercepted(pool, found, call, chain),
        }));
        let Begun { handler, finish } = started.unwrap_or_else(|_| {
            count(&self.counters.panics);
            let refused = refusal(&reply, &panicked(), Vec::new());
            Begun::answered(Reply::new(refused))
        });
        RunningCall {
            dispatcher: self,
            handler,
            reply,
            finish,
            #[cfg(feature = "async")]
            here: pool.is_none().then_some(callee),
        }
    }

    /// Starts the handler, here or in the pool.
    fn begin_on<'a>(
        &'a self,
        pool: Pool<'a>,
        found: Found,
        call: Call,
        finish: Option<Finish>,
    ) -> Begun<'a> {
        #[cfg(feature = "async")]
        if let Some(dispatcher) = pool {
            return Begun::later(dispatcher.clone().pooled(found, call, finish));
        }
        let _ = pool;
        self.begin(found, call, finish)
    }

    /// The answer of a handler in the pool. A caller that goes does not stop a handler that blocks
    /// its thread: the call is over for interceptors when the handler is.
    #[cfg(feature = "async")]
    async fn pooled(self: Arc<Self>, found: Found, call: Call, finish: Option<Finish>) -> Reply {
        let reply = pool::run(Box::pin(async move {
            call.context().leaves_queue();
            let reply_to = call.reply_to().clone();
            let mut handler = std::pin::pin!(self.handled(found, call));
            // A panic must not take the thread's answer with it.
            let answer = poll_fn(|context| {
                let poll = AssertUnwindSafe(|| handler.as_mut().poll(context));
                catch_unwind(poll).map_or(Poll::Ready(None), |poll| poll.map(Some))
            });
            match answer.await {
                Some(reply) => {
                    if let Some(finish) = finish {
                        finish.done(&reply, &reply_to);
                    }
                    reply
                }
                None => {
                    count(&self.counters.panics);
                    finish.iter().for_each(|finish| finish.fail(&panicked()));
                    Reply::new(refusal(&reply_to, &panicked(), Vec::new()))
                }
            }
        }));
        // There is none when the runtime is going down, and nobody is there to be answered.
        reply.await.unwrap_or_else(|| Reply::new(Vec::new()))
    }

    /// The answer of a handler that is started where this is polled.
    async fn handled(&self, found: Found, call: Call) -> Reply {
        let reply = call.reply_to().clone();
        let Begun {
            mut handler,
            mut finish,
        } = self.begin(found, call, None);
        poll_fn(|context| match &mut finish {
            Some(finish) if finish.is_stopped(context) => {
                count(&self.counters.cancelled_calls);
                finish.fail(&stopped());
                Poll::Ready(Reply::new(refusal(&reply, &stopped(), Vec::new())))
            }
            Some(finish) => finish.enter(|| handler.as_mut().poll(context)),
            None => handler.as_mut().poll(context),
        })
        .await
    }

    /// Starts the handler.
    fn begin(&self, found: Found, call: Call, finish: Option<Finish>) -> Begun<'_> {
        let mut finish = finish.unwrap_or_else(|| Finish::new(call.context().clone()));
        if let Found::Object(object, _) = &found
            && let Err(status) = object.check(call.context().principal())
        {
            let to = call.reply_to().clone();
            let reply = call.answer(&status);
            finish.done(&reply, &to);
            return Begun::answered(reply);
        }
        let shortened = call.shortened().map(|at| (at, call.reply_to().clone()));
        let begin = || match found {
            Found::Service(route) => self.routes.call(route, call),
            Found::Object(object, method) => {
                let service = object.service;
                Box::pin(async move { service.call(method.number, call).await })
                    as HandlerFuture<'_>
            }
        };
        let handler = finish.enter(begin);
        Begun {
            handler: match shortened {
                None => handler,
                Some((deadline, reply)) => Box::pin(self.in_time(handler, deadline, reply)),
            },
            finish: Some(finish),
        }
    }

    /// Has interceptors decide about a call.
    fn intercepted<'a>(
        &'a self,
        pool: Pool<'a>,
        found: Found,
        call: Call,
        chain: &Arc<Chain>,
    ) -> Begun<'a> {
        let mut admission = Admission::new(call, found.called().0);
        match admission.proceed(chain) {
            Some(Ok((call, finish))) => self.begin_on(pool, found, call, Some(finish)),
            Some(Err(reply)) => {
                count(&self.counters.intercepted_calls);
                Begun::answered(reply)
            }
            None => {
                let exit = admission.wait(chain.clone());
                Begun::later(self.intercepted_later(pool, found, exit))
            }
        }
    }

    /// Waits for a handler no longer than an interceptor lets it. Handlers on threads of their own
    /// are not stopped where no runtime is there to wake them; they see it by
    /// [`Context::cancelled`](crate::Context::cancelled).
    async fn in_time(
        &self,
        handler: HandlerFuture<'_>,
        deadline: Instant,
        reply: ReplyTo,
    ) -> Reply {
        #[cfg(feature = "async")]
        if tokio::runtime::Handle::try_current().is_ok() {
            let answer = tokio::time::timeout_at(deadline.into(), handler).await;
            return answer.unwrap_or_else(|_| {
                count(&self.counters.late_calls);
                Reply::new(refusal(&reply, &too_late(), Vec::new()))
            });
        }
        let _ = (deadline, reply);
        handler.await
    }

    async fn intercepted_later(
        &self,
        pool: Pool<'_>,
        found: Found,
        exit: impl Future<Output = Exit>,
    ) -> Reply {
        let (call, finish) = match exit.await {
            Ok(passed) => passed,
            Err(reply) => {
                count(&self.counters.intercepted_calls);
                return reply;
            }
        };
        #[cfg(feature = "async")]
        if let Some(dispatcher) = pool {
            return dispatcher.clone().pooled(found, call, Some(finish)).await;
        }
        let _ = pool;
        call.context().leaves_queue();
        let to = call.reply_to().clone();
        let reply = self.handled(found, call).await;
        finish.done(&reply, &to);
        reply
    }

    #[cold]
    fn refuse(&self, call: &Incoming, status: &Status, buffer: Vec<u8>) -> RunningCall<'_> {
        let mut answer = buffer;
        match call.oneway {
            true => call.reply.accepted(&mut answer),
            false => call.reply.fail(&mut answer, status),
        }
        RunningCall {
            dispatcher: self,
            handler: Box::pin(ready(Reply::new(answer))),
            reply: call.reply.clone(),
            finish: None,
            #[cfg(feature = "async")]
            here: None,
        }
    }
}

/// The callee of a call.
enum Found {
    Service(Route),
    Object(Owned, ObjectMethod),
}

impl Found {
    fn called(&self) -> (&'static ServiceDescriptor, &'static Method) {
        match self {
            Found::Service(route) => (route.descriptor, route.method),
            Found::Object(_, method) => (method.descriptor, method.method),
        }
    }

    #[cfg(feature = "async")]
    fn route(&self) -> Option<&Route> {
        match self {
            Found::Service(route) => Some(route),
            Found::Object(..) => None,
        }
    }
}

/// A handler that has started.
struct Begun<'a> {
    handler: HandlerFuture<'a>,
    finish: Option<Finish>,
}

impl<'a> Begun<'a> {
    /// A call that needs no handler.
    fn answered(reply: Reply) -> Self {
        Self::later(ready(reply))
    }

    /// A call whose handler starts later, or elsewhere.
    fn later(reply: impl Future<Output = Reply> + Send + 'a) -> Self {
        Begun {
            handler: Box::pin(reply),
            finish: None,
        }
    }
}

/// The status of a call of nothing. The wire has another answer.
#[cold]
fn nothing() -> Status {
    Status::new(Code::Unimplemented, "nothing is called").with_execution(Execution::NotStarted)
}

#[cold]
fn on_objects(method: &ObjectMethod) -> Status {
    let (service, method) = (method.descriptor.name, method.method.name);
    let what = format!("`{service}` is no service here: `{method}` is called on its objects");
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}

#[cold]
fn another_kind(object: &dyn Service, method: &ObjectMethod) -> Status {
    let (is, method) = (object.descriptor().name, method.method.name);
    let what = format!("the object is one of `{is}`, which has no method `{method}`");
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}

impl RunningCall<'_> {
    /// How it is answered where the handler does not do it.
    pub(crate) fn reply(&self) -> &ReplyTo {
        &self.reply
    }

    /// Notes that the handler has held up a loop for so long.
    #[cfg(feature = "async")]
    #[cold]
    pub(crate) fn held_up_loop(&self, lasted: Duration) {
        let Some(callee) = &self.here else {
            return;
        };
        count(&self.dispatcher.counters.held_up_loops);
        callee.hold_ups.note(callee.service, callee.method, lasted);
    }

    #[cold]
    fn give_up(&mut self, why: &Status) -> Reply {
        count(&self.dispatcher.counters.cancelled_calls);
        if let Some(finish) = self.finish.take() {
            finish.fail(why);
        }
        // Nobody waits for what it holds.
        self.handler = Box::pin(pending());
        Reply::new(refusal(&self.reply, why, Vec::new()))
    }

    /// The answer, while it is not certain that it is sent.
    pub(crate) fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Reply> {
        let finish = self.finish.as_ref();
        if finish.is_some_and(|finish| finish.is_stopped(context)) {
            return Poll::Ready(self.give_up(&stopped()));
        }
        if self.reply.is_over(context) {
            return Poll::Ready(self.give_up(&cancelled()));
        }
        let handler = self.handler.as_mut();
        let poll = || match &mut self.finish {
            Some(finish) => finish.enter(|| handler.poll(context)),
            None => handler.poll(context),
        };
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(reply)) => {
                if let Some(finish) = self.finish.take() {
                    finish.done(&reply, &self.reply);
                }
                Poll::Ready(reply)
            }
            Ok(Poll::Pending) => Poll::Pending,
            // The buffer has gone with the handler.
            Err(_) => {
                count(&self.dispatcher.counters.panics);
                if let Some(finish) = self.finish.take() {
                    finish.fail(&panicked());
                }
                let refused = refusal(&self.reply, &panicked(), Vec::new());
                Poll::Ready(Reply::new(refused))
            }
        }
    }
}

impl Future for RunningCall<'_> {
    type Output = Gathered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Gathered> {
        self.poll_reply(context).map(Reply::sent)
    }
}

pub(crate) fn refusal(reply: &ReplyTo, status: &Status, mut out: Vec<u8>) -> Gathered {
    reply.fail(&mut out, status);
    out.into()
}

/// How a call whose handler waits is answered where that does not do it.
#[cfg(feature = "async")]
pub(crate) struct Waiting {
    pub(crate) reply: ReplyTo,
    pub(crate) deadline: Option<Instant>,
}

/// The answer of a handler that waits: its own, or that its caller has gone or its deadline passed.
#[cfg(feature = "async")]
pub(crate) async fn outcome(
    dispatcher: &Dispatcher,
    answer: Abortable<impl Future<Output = Gathered>>,
    Waiting { reply, deadline }: Waiting,
) -> Gathered {
    let outcome = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), answer).await,
        None => Ok(answer.await),
    };
    match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(Aborted)) => {
            count(&dispatcher.counters.cancelled_calls);
            refusal(&reply, &cancelled(), Vec::new())
        }
        Err(_) => {
            count(&dispatcher.counters.late_calls);
            refusal(&reply, &too_late(), Vec::new())
        }
    }
}

/// There is no room for a call.
#[cold]
pub(crate) fn crowded(why: String) -> Status {
    Status::new(Code::ResourceExhausted, why)
}
