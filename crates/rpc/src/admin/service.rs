//! The service `dovetail.admin.v1.Admin`.

use super::calls::RunningCall;
use super::contract::ContractService;
use super::invoke::{Answer, Invocation};
use super::messages::{
    ADMIN, Bucket, Call as CallRow, Connection, Method, Overview, Peer, RecentCall, Refusal,
    RefusedCaller, Reloaded, Server,
};
use super::{Admin, Configuration};
use crate::capture::{CaptureFilter, DumpFilter, DumpedParts};
use crate::method::ServiceDescriptor;
use crate::names::{self, ChannelStatus, Health, State};
use crate::observer::{Watched, WatchedPeer};
use crate::peer::call::{Call, HandlerFuture};
use crate::peer::intercept::Outcome;
use crate::peer::streams::Items;
use crate::statistics::{Histogram, MethodStatistics};
use crate::trace::Span;
use crate::{Code, Context, Service, Status, clock, throttle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Rows of one answer.
const MAX: usize = 10_000;

impl Admin {
    fn overview(&self) -> Overview {
        let server = self.0.server.get();
        let counters = server.map(|server| server.counters()).unwrap_or_default();
        let each = counters.each();
        let now = SystemTime::now();
        Overview {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: milliseconds(self.0.made),
            uptime: whole(
                now.duration_since(self.0.made)
                    .unwrap_or_default()
                    .as_millis(),
            ),
            draining: server.is_some_and(|server| server.is_draining()),
            connections: whole(server.map_or(0, |server| server.connections())),
            calls: whole(self.0.calls.len()),
            memory: whole(server.map_or(0, |server| server.memory())),
            counters: each
                .map(|(name, count)| (name.to_owned(), whole(count)))
                .collect(),
            services: server.map(|server| server.services()).unwrap_or_default(),
        }
    }

    fn methods(&self) -> Vec<Method> {
        let methods = self.0.statistics.snapshot().methods;
        methods.iter().map(Method::from).collect()
    }

    fn recent(&self) -> Vec<RecentCall> {
        let spans = self.0.calls.recent.spans();
        spans.iter().rev().map(RecentCall::from).collect()
    }

    fn refusals(&self) -> Vec<Refusal> {
        let all = self.known_refusals().flat_map(|refusals| refusals.all());
        let rows = all.map(|refusal| Refusal {
            place: refusal.place,
            each_caller: refusal.each_caller,
            reason: refusal.reason.name().to_owned(),
            calls: whole(refusal.calls),
            callers: refusal.callers.into_iter().map(Into::into).collect(),
        });
        rows.collect()
    }

    fn servers() -> Vec<Server> {
        let channels = names::channels();
        channels.iter().flat_map(servers_of).collect()
    }

    fn configured(&self) -> Result<&dyn Configuration, Status> {
        let config = self.0.config.get();
        config.map(|config| &**config).ok_or_else(unconfigured)
    }

    fn reload(&self, context: &Context) -> Result<Reloaded, Status> {
        let reloaded = self.configured()?.reload()?;
        note(context, "the configuration was read again");
        Ok(reloaded)
    }

    fn set(
        &self,
        context: &Context,
        key: &str,
        value: Option<&str>,
    ) -> Result<Vec<String>, Status> {
        let changed = self.configured()?.set(key, value, who(context))?;
        note(context, &format!("{key:?} was set"));
        Ok(changed)
    }

    fn dump(&self, filter: &DumpFilter) -> Result<DumpedParts, Status> {
        let server = self.0.server.get();
        let server = server
            .ok_or_else(|| Status::new(Code::Unavailable, "the server has not started yet"))?;
        let of_connection = filter.connection.map(|number| {
            let mut watched = server.watched().into_iter();
            let found = watched.find(|row| i64::try_from(row.id) == Ok(number));
            found.map(|row| row.peer).ok_or_else(|| {
                let what = format!("there is no connection {number}: `connections` has them");
                Status::new(Code::NotFound, what)
            })
        });
        let peers = match of_connection {
            Some(peer) => vec![peer?],
            None => filter.peers.clone(),
        };
        let calls = self.0.recorder.show(&CaptureFilter {
            peers,
            seconds: filter.seconds,
            ..CaptureFilter::default()
        })?;
        Ok(DumpedParts::start(filter, calls, server.clone()))
    }

    fn invoke(&self, context: &Context, invocation: &Invocation) -> Result<Answer, Status> {
        let server = self.0.server.get();
        let connection = server.and_then(|server| server.connect());
        let connection = connection
            .ok_or_else(|| Status::new(Code::Unavailable, "the server takes no more calls"))?;
        let answer = self.0.invocations.start(invocation, connection)?;
        let called = format!("{}/{} is called", invocation.service, invocation.method);
        note(context, &called);
        Ok(answer)
    }

    fn drain(&self, context: &Context, seconds: i32) {
        note(context, "the program is asked to end");
        let seconds = u64::try_from(seconds).unwrap_or(0);
        self.0.drain.ask(Duration::from_secs(seconds));
    }

    fn cancel(&self, context: &Context, call: i64) -> bool {
        let cancelled = self.0.calls.cancel(call.unsigned_abs());
        if cancelled {
            note(context, "a call was cancelled");
        }
        cancelled
    }
}

/// Returns the name of an administrator.
fn who(context: &Context) -> &str {
    let principal = context.principal();
    principal.map_or("nobody", |principal| principal.name())
}

/// Writes down who has changed something.
fn note(context: &Context, what: &str) {
    tracing::info!(principal = who(context), peer = context.peer(), "{what}");
}

#[cold]
fn unconfigured() -> Status {
    Status::new(
        Code::FailedPrecondition,
        "the server has no configuration file",
    )
}

impl Service for Admin {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ADMIN
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let name = ADMIN.methods.get(number).map(|method| method.name);
        match name {
            Some("overview") => call.unary((), |_, ()| async { Ok::<_, Status>(self.overview()) }),
            Some("methods") => call.unary((), |_, ()| async { Ok::<_, Status>(self.methods()) }),
            Some("calls") => call.unary((), |_, ()| async {
                let running = self.0.calls.running();
                let rows = running.iter().take(MAX).map(CallRow::from);
                Ok::<_, Status>(rows.collect::<Vec<_>>())
            }),
            Some("connections") => call.unary((), |_, ()| async {
                let server = self.0.server.get();
                let watched = server.map(|server| server.watched()).unwrap_or_default();
                let rows = watched.into_iter().take(MAX).map(Connection::from);
                Ok::<_, Status>(rows.collect::<Vec<_>>())
            }),
            Some("peers") => call.unary((), |_, ()| async {
                let server = self.0.server.get();
                let peers = server.map(|server| server.peers()).unwrap_or_default();
                Ok::<_, Status>(peers.into_iter().map(Peer::from).collect::<Vec<_>>())
            }),
            Some("recent") => call.unary((), |_, ()| async { Ok::<_, Status>(self.recent()) }),
            Some("refusals") => call.unary((), |_, ()| async { Ok::<_, Status>(self.refusals()) }),
            Some("servers") => call.unary((), |_, ()| async { Ok::<_, Status>(Self::servers()) }),
            Some("configuration") => call.unary((), |_, ()| async {
                self.configured().map(|config| config.show())
            }),
            Some("reload") => call.unary((), |context, ()| async move { self.reload(&context) }),
            Some("set") => call.unary(
                (String::new(), None::<String>),
                |context, (key, value)| async move { self.set(&context, &key, value.as_deref()) },
            ),
            Some("drain") => call.unary((0_i32,), |context, (seconds,)| async move {
                self.drain(&context, seconds);
                Ok::<_, Status>(())
            }),
            Some("cancel") => call.unary((0_i64,), |context, (id,)| async move {
                Ok::<_, Status>(self.cancel(&context, id))
            }),
            Some("capture") => call.stream(
                (CaptureFilter::default(),),
                |context, (filter,)| async move {
                    let chunks = self.capture(&filter)?;
                    note(&context, "calls are captured");
                    Ok::<_, Status>(chunks)
                },
            ),
            Some("captured") => call.stream(
                (CaptureFilter::default(),),
                |context, (filter,)| async move {
                    let calls = self.0.recorder.show(&filter)?;
                    note(&context, "calls are captured");
                    Ok::<_, Status>(Items::new(calls))
                },
            ),
            Some("dump") => {
                call.stream((DumpFilter::default(),), |context, (filter,)| async move {
                    let parts = self.dump(&filter)?;
                    note(&context, "bytes of connections are shown");
                    Ok::<_, Status>(Items::new(parts))
                })
            }
            Some("contract") => call.unary((), |_, ()| async {
                let services = self.0.recorder.services().iter();
                Ok::<_, Status>(services.map(ContractService::from).collect::<Vec<_>>())
            }),
            Some("invoke") => call.stream(
                (Invocation::default(),),
                |context, (invocation,)| async move {
                    let answer = self.invoke(&context, &invocation)?;
                    Ok::<_, Status>(Items::new(answer))
                },
            ),
            _ => call.no_such_method(),
        }
    }
}

/// The servers of a channel; a row without an address where its name has none.
fn servers_of(channel: &ChannelStatus) -> Vec<Server> {
    let row = Server {
        name: channel.name.clone(),
        state: "unknown".to_owned(),
        failure: channel.failure.clone(),
        retry_tokens: channel.retry_tokens.into(),
        ..Server::default()
    };
    if channel.backends.is_empty() {
        return vec![row];
    }
    let rows = channel.backends.iter().map(|server| Server {
        address: server.backend.address.clone(),
        state: match (server.state, server.health) {
            (State::Ready, Health::Unknown) => "checking".to_owned(),
            (State::Ready, Health::Unhealthy) => "unhealthy".to_owned(),
            (state, _) => format!("{state:?}").to_lowercase(),
        },
        failure: server.failure.as_ref().map(|why| why.message().to_owned()),
        ejected: server.ejected,
        ejections: whole(server.ejections),
        calls: whole(server.picks),
        in_flight: server.in_flight.into(),
        latency: server.latency.map(|time| whole(time.as_micros())),
        weight: server.backend.weight.into(),
        priority: server.backend.priority.into(),
        zone: server.backend.zone.clone(),
        ..row.clone()
    });
    rows.collect()
}

impl From<throttle::RefusedCaller> for RefusedCaller {
    fn from(refused: throttle::RefusedCaller) -> Self {
        RefusedCaller {
            caller: refused.caller,
            calls: whole(refused.calls),
        }
    }
}

impl From<&MethodStatistics> for Method {
    fn from(known: &MethodStatistics) -> Self {
        let of = |times: &Histogram, share| microseconds(times.quantile(share));
        let quantile = |share| of(&known.times, share);
        let buckets = known.times.buckets().filter(|(_, calls)| *calls > 0);
        Method {
            service: known.service.clone(),
            method: known.method.to_owned(),
            wire: known
                .wire
                .map_or("other".to_owned(), |wire| wire.to_string()),
            calls: whole(known.calls()),
            in_flight: whole(known.in_flight()),
            outcomes: known
                .outcomes()
                .map(|(name, calls)| (name.to_owned(), whole(calls)))
                .collect(),
            received: whole(known.received_bytes),
            sent: whole(known.sent_bytes),
            received_items: whole(known.received_items),
            sent_items: whole(known.sent_items),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            queued: whole(known.queued.count()),
            queued_p50: of(&known.queued, 0.5),
            queued_p99: of(&known.queued, 0.99),
            first_items: whole(known.first_items.count()),
            first_item_p50: of(&known.first_items, 0.5),
            first_item_p99: of(&known.first_items, 0.99),
            times: buckets
                .map(|(up_to, calls)| Bucket {
                    up_to: microseconds(up_to),
                    calls: whole(calls),
                })
                .collect(),
        }
    }
}

impl From<&RunningCall> for CallRow {
    fn from(call: &RunningCall) -> Self {
        let now = clock::now();
        let left = |deadline: std::time::Instant| deadline.saturating_duration_since(now);
        CallRow {
            id: whole(call.id),
            service: call.service.full_name().into_owned(),
            method: call.method.to_owned(),
            wire: call.wire.to_string(),
            peer: call.caller.peer.clone(),
            principal: call
                .principal
                .as_ref()
                .map_or("", |known| known.name())
                .to_owned(),
            running: whole(now.saturating_duration_since(call.began).as_micros()),
            left: call
                .deadline
                .map(|deadline| whole(left(deadline).as_micros())),
        }
    }
}

impl From<Watched> for Connection {
    fn from(watched: Watched) -> Self {
        Connection {
            id: whole(watched.id),
            peer: watched.peer,
            age: whole(watched.age.as_millis()),
            idle: watched.idle,
            wire: watched
                .wire
                .map(|wire| wire.to_string())
                .unwrap_or_default(),
            calls: whole(watched.traffic.calls),
            received: whole(watched.traffic.received),
            sent: whole(watched.traffic.sent),
        }
    }
}

impl From<WatchedPeer> for Peer {
    fn from(watched: WatchedPeer) -> Self {
        Peer {
            peer: watched.peer,
            open: whole(watched.open),
            connections: whole(watched.connections),
            calls: whole(watched.traffic.calls),
            received: whole(watched.traffic.received),
            sent: whole(watched.traffic.sent),
        }
    }
}

impl From<&Span> for RecentCall {
    fn from(span: &Span) -> Self {
        let message = match &span.outcome {
            Outcome::Failed(status) => status.message(),
            Outcome::Exception | Outcome::Returned => "",
        };
        RecentCall {
            ended: milliseconds(span.start + span.elapsed),
            service: span.service.to_string(),
            method: span.method.to_string(),
            wire: span.wire.to_string(),
            peer: span.peer.clone().unwrap_or_default(),
            elapsed: whole(span.elapsed.as_micros()),
            code: span.outcome.name().to_owned(),
            message: message.to_owned(),
            trace: format!("{:032x}", span.context.trace_id()),
        }
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    whole(
        time.duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis(),
    )
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A number that the contract has as a signed one.
pub(super) fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
