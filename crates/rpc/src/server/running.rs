//! A call at its handler.

use super::Shared;
use super::account::Over;
use super::counters::count;
use super::router::Route;
use crate::buffers::Gathered;
use crate::context::{CallInfo, Caller};
use crate::incoming::{Incoming, ReplyTo, Target};
use crate::objects::{self, ObjectMethod, no_object};
use crate::{Call, Code, Execution, HandlerFuture, Reply, Service, Status, clock};
use dovetail_protocol::CONTRACT_HEADER;
#[cfg(feature = "async")]
use futures_util::future::{Abortable, Aborted};
use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
#[cfg(feature = "async")]
use std::time::Instant;

/// A handler at work. The output is its answer, encoded. A handler that panics fails its own call and
/// nothing else.
pub(super) struct RunningCall<'a> {
    shared: &'a Shared,
    handler: HandlerFuture<'a>,
    reply: ReplyTo,
    /// The call, where it has a handler.
    call: Option<Arc<CallInfo>>,
}

impl Shared {
    /// Finds the handler of a call and starts it. The answer, also a refusal, comes in `buffer`.
    pub(super) fn start(
        &self,
        mut call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
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
        match found {
            Ok(found) if call.deadline.is_none_or(|deadline| deadline > clock::now()) => {
                self.run(found, call, caller, buffer)
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
    pub(super) fn turn_away(
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
                let route = self.router.find(&call.target)?;
                contract.map_or(Ok(()), |header| self.router.compare(&route, header))?;
                return Ok(Found::Service(route));
            }
            (None, Some(_)) => {
                let route = self.router.find(&call.target)?;
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
        match object.descriptor().is(method.descriptor) {
            true => Ok(Found::Object(object, method)),
            false => Err(another_kind(&*object, &method)),
        }
    }

    fn run(
        &self,
        found: Found,
        call: Box<Incoming>,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        count(&self.counters.calls);
        let reply = call.reply.clone();
        let method = match &found {
            Found::Service(route) => route.method,
            Found::Object(_, method) => method.method,
        };
        let call = Call::new(call, method, caller, self.limits.message, buffer);
        let info = call.context().call.clone();
        let begin = || match found {
            Found::Service(route) => self.router.call(route, call),
            Found::Object(object, method) => {
                Box::pin(async move { object.call(method.number, call).await }) as HandlerFuture<'_>
            }
        };
        let started = catch_unwind(AssertUnwindSafe(|| info.enter(begin)));
        let handler = started.unwrap_or_else(|_| {
            count(&self.counters.panics);
            Box::pin(ready(Reply::new(refusal(&reply, &panicked(), Vec::new()))))
        });
        RunningCall {
            shared: self,
            handler,
            reply,
            call: Some(info),
        }
    }

    #[cold]
    fn refuse(&self, call: &Incoming, status: &Status, buffer: Vec<u8>) -> RunningCall<'_> {
        let mut answer = buffer;
        match call.oneway {
            true => call.reply.accepted(&mut answer),
            false => call.reply.fail(&mut answer, status),
        }
        RunningCall {
            shared: self,
            handler: Box::pin(ready(Reply::new(answer))),
            reply: call.reply.clone(),
            call: None,
        }
    }
}

/// Who answers a call.
enum Found {
    Service(Route),
    Object(Arc<dyn Service>, ObjectMethod),
}

/// What is called where nothing is. The wire has another answer.
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
    pub(super) fn reply(&self) -> &ReplyTo {
        &self.reply
    }
}

impl RunningCall<'_> {
    /// The answer, while it is not certain that it is sent.
    pub(super) fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Reply> {
        if self.reply.is_over(context) {
            count(&self.shared.counters.cancelled_calls);
            // Its caller has gone, so nobody waits for what it holds.
            self.handler = Box::pin(pending());
            let refused = refusal(&self.reply, &cancelled(), Vec::new());
            return Poll::Ready(Reply::new(refused));
        }
        let handler = self.handler.as_mut();
        let poll = || match &self.call {
            Some(call) => call.enter(|| handler.poll(context)),
            None => handler.poll(context),
        };
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(polled) => polled,
            // The buffer has gone with the handler.
            Err(_) => {
                count(&self.shared.counters.panics);
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

/// The caller of a call has gone; nothing is known of its execution.
#[cold]
pub(crate) fn cancelled() -> Status {
    let what = "the caller gave the call up";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

fn panicked() -> Status {
    Status::new(Code::Internal, "the handler panicked").with_execution(Execution::MayHaveRun)
}

pub(crate) fn refusal(reply: &ReplyTo, status: &Status, mut out: Vec<u8>) -> Gathered {
    reply.fail(&mut out, status);
    out.into()
}

/// How a call whose handler waits is answered where that does not do it.
#[cfg(feature = "async")]
pub(super) struct Waiting {
    pub(super) reply: ReplyTo,
    pub(super) deadline: Option<Instant>,
}

/// The answer of a handler that waits: its own, or that its caller has gone or its deadline passed.
#[cfg(feature = "async")]
pub(super) async fn outcome(
    shared: &Shared,
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
            count(&shared.counters.cancelled_calls);
            refusal(&reply, &cancelled(), Vec::new())
        }
        Err(_) => {
            count(&shared.counters.late_calls);
            refusal(&reply, &too_late(), Vec::new())
        }
    }
}

/// The time of a call is over; nothing is known of its execution.
#[cold]
pub(crate) fn too_late() -> Status {
    let what = "the deadline of the call has passed";
    Status::new(Code::DeadlineExceeded, what).with_execution(Execution::MayHaveRun)
}

/// There is no room for a call.
#[cold]
pub(super) fn crowded(why: String) -> Status {
    Status::new(Code::ResourceExhausted, why)
}
