//! A snapshot as metrics of OpenTelemetry. `docs/statistics.md` has the names.

use super::messages::{Distribution, Gauge, Histogram, Metric, Point, Sum};
use crate::Wire;
use crate::method::path;
use crate::otlp::names::{
    CALL_DURATION, CALL_STARTED, GRPC_METHOD, METHOD, STATUS, SYSTEM, WIRE, system,
};
use crate::otlp::{KeyValue, nanoseconds};
use crate::statistics::numbers::{
    self, BACKENDS, CONNECTIONS, Kind, METHODS, MethodTimes, Number, RESOLVER_FAILING,
    RETRY_TOKENS, TIMES, named,
};
use crate::statistics::{MethodStatistics, Snapshot};
use std::time::SystemTime;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

const ENDED: Number = Number {
    name: "dovetail.server.calls_ended",
    kind: Kind::Counter,
    unit: "{call}",
    help: "Calls that have ended, by outcome.",
};

const STARTED: Number = Number {
    name: CALL_STARTED,
    kind: Kind::Counter,
    unit: "{call}",
    help: "Calls of gRPC that have begun.",
};

/// A counter of the server, whose name follows.
const COUNTER: Number = Number {
    name: "",
    kind: Kind::Counter,
    unit: "1",
    help: "A counter of the server.",
};

/// Attributes of the numbers of channels.
const CHANNEL: &str = "dovetail.channel";
const BACKEND: &str = "dovetail.backend";

/// The times of the points of a snapshot.
#[derive(Clone, Copy)]
struct Times {
    start: u64,
    now: u64,
}

/// Returns the metrics of a snapshot; those that have counted nothing are left out.
pub(super) fn metrics(snapshot: &Snapshot, now: SystemTime) -> Vec<Metric> {
    let times = Times {
        start: nanoseconds(snapshot.since.unwrap_or(now)),
        now: nanoseconds(now),
    };
    let methods = &snapshot.methods;
    let mut metrics = vec![ended(methods, times), started(methods, times)];
    metrics.extend(TIMES.iter().map(|kind| durations(methods, times, kind)));
    metrics.extend(METHODS.iter().map(|(head, number)| {
        let points = methods
            .iter()
            .map(|method| times.point(number(method), of_method(method)));
        metric(head, points.collect())
    }));
    let open = times.point(snapshot.connections as u64, Vec::new());
    metrics.push(metric(&CONNECTIONS, vec![open]));
    metrics.extend(snapshot.counters.each().map(|(name, count)| Metric {
        name: format!("dovetail.server.{name}"),
        ..metric(&COUNTER, vec![times.point(count, Vec::new())])
    }));
    metrics.extend(backends(snapshot, times));
    metrics.extend(names(snapshot, times));
    metrics.retain(|metric| !metric.is_empty());
    metrics
}

impl Metric {
    fn is_empty(&self) -> bool {
        let gauge = self.gauge.iter().all(|gauge| gauge.points.is_empty());
        let sum = self.sum.iter().all(|sum| sum.points.is_empty());
        let histogram = self
            .histogram
            .iter()
            .all(|histogram| histogram.points.is_empty());
        gauge && sum && histogram
    }
}

impl Times {
    fn point(self, number: u64, attributes: Vec<KeyValue>) -> Point {
        Point {
            start: self.start,
            time: self.now,
            number: Some(i64::try_from(number).unwrap_or(i64::MAX)),
            double: None,
            attributes,
        }
    }
}

fn metric(number: &Number, points: Vec<Point>) -> Metric {
    let metric = Metric {
        name: number.name.to_owned(),
        description: number.help.to_owned(),
        unit: number.unit.to_owned(),
        ..Metric::default()
    };
    match number.kind {
        Kind::Gauge => Metric {
            gauge: Some(Gauge { points }),
            ..metric
        },
        Kind::Counter | Kind::UpDown => Metric {
            sum: Some(Sum {
                points,
                temporality: CUMULATIVE,
                grows: number.kind == Kind::Counter,
            }),
            ..metric
        },
    }
}

fn of_method(method: &MethodStatistics) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new(METHOD, path(&method.service, method.method))];
    match method.wire {
        Some(wire) => attributes.extend([
            KeyValue::new(SYSTEM, system(wire)),
            KeyValue::new(WIRE, wire.to_string()),
        ]),
        None => attributes.push(KeyValue::new(WIRE, "other")),
    }
    attributes
}

/// Times of methods. Those of whole calls have their name from the conventions for RPC.
fn durations(methods: &[MethodStatistics], times: Times, kind: &MethodTimes) -> Metric {
    let points = kind.of(methods).map(|(method, known)| {
        let doublings: Vec<_> = known.doublings().collect();
        let count = known.count();
        let ends = doublings.iter().map(|(_, below)| *below).chain([count]);
        let starts = [0]
            .into_iter()
            .chain(doublings.iter().map(|(_, below)| *below));
        Distribution {
            start: times.start,
            time: times.now,
            count,
            sum: Some(known.sum().as_secs_f64()),
            counts: ends.zip(starts).map(|(end, start)| end - start).collect(),
            bounds: doublings.iter().map(|(end, _)| end.as_secs_f64()).collect(),
            attributes: of_method(method),
        }
    });
    Metric {
        name: match kind.of_each {
            true => CALL_DURATION.to_owned(),
            false => kind.name.to_owned(),
        },
        description: kind.help.to_owned(),
        unit: "s".to_owned(),
        histogram: Some(Histogram {
            points: points.collect(),
            temporality: CUMULATIVE,
        }),
        ..Metric::default()
    }
}

/// The calls that have ended, by outcome.
fn ended(methods: &[MethodStatistics], times: Times) -> Metric {
    let points = methods.iter().flat_map(|method| {
        method.outcomes().map(move |(code, calls)| {
            let mut attributes = of_method(method);
            attributes.push(KeyValue::new(STATUS, code));
            times.point(calls, attributes)
        })
    });
    metric(&ENDED, points.collect())
}

/// The calls of gRPC that have begun, by gRPC's own name.
fn started(methods: &[MethodStatistics], times: Times) -> Metric {
    let methods = methods
        .iter()
        .filter(|method| method.wire == Some(Wire::Grpc));
    let points = methods.map(|method| {
        let attributes = vec![KeyValue::new(
            GRPC_METHOD,
            path(&method.service, method.method),
        )];
        times.point(method.calls() + method.in_flight(), attributes)
    });
    metric(&STARTED, points.collect())
}

/// The servers of channels.
fn backends(snapshot: &Snapshot, times: Times) -> impl Iterator<Item = Metric> {
    BACKENDS.iter().map(move |(head, number)| {
        let sums = numbers::backends(&snapshot.channels, *number).into_iter();
        let points = sums.map(|((channel, backend), sum)| {
            let attributes = [(CHANNEL, channel), (BACKEND, backend)];
            let attributes = attributes.map(|(key, value)| KeyValue::new(key, value));
            times.point(sum, attributes.to_vec())
        });
        metric(head, points.collect())
    })
}

/// The names of channels.
fn names(snapshot: &Snapshot, times: Times) -> [Metric; 2] {
    let named = named(&snapshot.channels);
    let channel = |name: &str| vec![KeyValue::new(CHANNEL, name)];
    let failing = named.iter();
    let failing = failing.map(|(name, state)| times.point(state.failing, channel(name)));
    let tokens = named.iter().map(|(name, state)| Point {
        double: Some(state.tokens.into()),
        number: None,
        ..times.point(0, channel(name))
    });
    [
        metric(&RESOLVER_FAILING, failing.collect()),
        metric(&RETRY_TOKENS, tokens.collect()),
    ]
}
