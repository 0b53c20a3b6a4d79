use super::counters::count;
use super::{ServerLimits, SharedCounters};
use crate::{Call, Code, Execution, Method, Reply, Service, Status};
use dovetail_protocol::thrift::{IncomingCall, ReplyTo};
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

/// Finds the handler of a call and runs it.
pub(crate) struct Router {
    services: Vec<Box<dyn Service>>,
    /// By service and method name.
    routes: HashMap<&'static str, HashMap<&'static str, Route>>,
    /// By method name alone, for callers that name no service; the first service that has it.
    unnamed: HashMap<&'static str, Route>,
    pub(crate) limits: ServerLimits,
    pub(crate) counters: SharedCounters,
}

#[derive(Clone, Copy)]
struct Route {
    service: usize,
    number: usize,
    method: &'static Method,
}

impl Router {
    pub(crate) fn new(services: Vec<Box<dyn Service>>, limits: ServerLimits) -> Self {
        let (mut routes, mut unnamed) = (HashMap::new(), HashMap::new());
        for (service, handler) in services.iter().enumerate() {
            let descriptor = handler.descriptor();
            let methods: &mut HashMap<_, _> = routes.entry(descriptor.name).or_default();
            for (number, method) in descriptor.iter() {
                let route = Route {
                    service,
                    number,
                    method,
                };
                methods.insert(method.name, route);
                unnamed.entry(method.name).or_insert(route);
            }
        }
        Router {
            services,
            routes,
            unnamed,
            limits,
            counters: SharedCounters::default(),
        }
    }

    /// Answers a call; the answer goes behind what `out` holds. A handler that panics fails its own call
    /// and nothing else.
    pub(crate) async fn answer(
        &self,
        incoming: IncomingCall,
        peer: &Arc<str>,
        mut out: Vec<u8>,
    ) -> Vec<u8> {
        let reply = incoming.reply.clone();
        let oneway = incoming.oneway;
        let route = match self.find(&incoming) {
            Ok(route) => route,
            Err(status) => return refuse(&reply, oneway, &status, out),
        };
        count(&self.counters.calls);
        // A panic takes the call's buffer with it: answers that wait already are kept out of its reach.
        let own = if out.is_empty() {
            std::mem::take(&mut out)
        } else {
            Vec::new()
        };
        let call = Call::new(
            incoming,
            route.method,
            peer.clone(),
            self.limits.message,
            own,
        );
        let service = &self.services[route.service];
        let started = catch_unwind(AssertUnwindSafe(|| service.call(route.number, call)));
        let finished = match started {
            Ok(running) => caught(running).await,
            Err(_) => None,
        };
        match finished {
            Some(Reply(answer)) if out.is_empty() => answer,
            Some(Reply(answer)) => {
                out.extend_from_slice(&answer);
                out
            }
            None => {
                count(&self.counters.panics);
                let status = Status::new(Code::Internal, "the handler panicked");
                refuse(
                    &reply,
                    oneway,
                    &status.with_execution(Execution::MayHaveRun),
                    out,
                )
            }
        }
    }

    fn find(&self, call: &IncomingCall) -> Result<Route, Status> {
        let method = call.method.as_str();
        let route = match call.service.as_deref() {
            None => self.unnamed.get(method),
            Some(service) => match self.routes.get(service) {
                None => return Err(self.unknown(format!("no service `{service}` here"))),
                Some(methods) => methods.get(method),
            },
        };
        route
            .copied()
            .ok_or_else(|| self.unknown(format!("no method `{method}` here")))
    }

    #[cold]
    fn unknown(&self, what: String) -> Status {
        count(&self.counters.unknown_methods);
        Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
    }
}

fn refuse(reply: &ReplyTo, oneway: bool, status: &Status, mut out: Vec<u8>) -> Vec<u8> {
    match oneway {
        true => reply.accepted(&mut out),
        false => reply.exception(&mut out, status),
    }
    out
}

/// The future's output; `None` if it panicked.
async fn caught(mut running: crate::HandlerFuture<'_>) -> Option<Reply> {
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))) {
            Ok(Poll::Ready(reply)) => Poll::Ready(Some(reply)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        },
    )
    .await
}
