//! A call at its handler.

use super::Shared;
use super::counters::count;
use super::router::Route;
use crate::context::Caller;
use crate::{Call, Code, Execution, HandlerFuture, Reply, Status};
use dovetail_protocol::thrift::{IncomingCall, ReplyTo};
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A handler at work. The output is its answer, encoded. A handler that panics fails its own call and
/// nothing else.
pub(super) struct RunningCall<'a> {
    shared: &'a Shared,
    handler: HandlerFuture<'a>,
    reply: ReplyTo,
    oneway: bool,
}

impl Shared {
    /// Finds the handler of a call and starts it. The answer, also a refusal, comes in `buffer`.
    pub(super) fn start(
        &self,
        call: IncomingCall,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        match self.router.find(&call) {
            Ok(route) => self.run(route, call, caller, buffer),
            Err(status) => {
                count(&self.counters.unknown_methods);
                self.refuse(&call, &status, buffer)
            }
        }
    }

    /// Answers a call for which there is no room.
    pub(super) fn turn_away(
        &self,
        call: &IncomingCall,
        why: String,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        count(&self.counters.refused_calls);
        let status = Status::new(Code::ResourceExhausted, why);
        self.refuse(call, &status.with_execution(Execution::NotStarted), buffer)
    }

    fn run(
        &self,
        route: Route,
        call: IncomingCall,
        caller: Arc<Caller>,
        buffer: Vec<u8>,
    ) -> RunningCall<'_> {
        count(&self.counters.calls);
        let (reply, oneway) = (call.reply.clone(), call.oneway);
        let call = Call::new(call, route.method, caller, self.limits.message, buffer);
        let started = catch_unwind(AssertUnwindSafe(|| self.router.call(route, call)));
        let handler = started.unwrap_or_else(|_| {
            count(&self.counters.panics);
            let answer = refusal(&reply, oneway, &panicked(), Vec::new());
            Box::pin(ready(Reply(answer)))
        });
        RunningCall {
            shared: self,
            handler,
            reply,
            oneway,
        }
    }

    #[cold]
    fn refuse(&self, call: &IncomingCall, status: &Status, buffer: Vec<u8>) -> RunningCall<'_> {
        let (reply, oneway) = (call.reply.clone(), call.oneway);
        let answer = Reply(refusal(&reply, oneway, status, buffer));
        RunningCall {
            shared: self,
            handler: Box::pin(ready(answer)),
            reply,
            oneway,
        }
    }
}

impl Future for RunningCall<'_> {
    type Output = Vec<u8>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let handler = self.handler.as_mut();
        match catch_unwind(AssertUnwindSafe(|| handler.poll(context))) {
            Ok(Poll::Ready(Reply(answer))) => Poll::Ready(answer),
            Ok(Poll::Pending) => Poll::Pending,
            // The buffer has gone with the handler.
            Err(_) => {
                count(&self.shared.counters.panics);
                let answer = refusal(&self.reply, self.oneway, &panicked(), Vec::new());
                Poll::Ready(answer)
            }
        }
    }
}

fn panicked() -> Status {
    Status::new(Code::Internal, "the handler panicked").with_execution(Execution::MayHaveRun)
}

fn refusal(reply: &ReplyTo, oneway: bool, status: &Status, mut out: Vec<u8>) -> Vec<u8> {
    match oneway {
        true => reply.accepted(&mut out),
        false => reply.exception(&mut out, status),
    }
    out
}
