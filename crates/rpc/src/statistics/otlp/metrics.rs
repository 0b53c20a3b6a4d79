//! A snapshot as metrics of OpenTelemetry. `docs/statistics.md` has the names.

use super::messages::{Distribution, Gauge as GaugePoints, Histogram, Metric, Number, Sum};
use crate::Wire;
use crate::names::{BackendStatus, Health, State};
use crate::otlp::names::{
    CALL_DURATION, CALL_STARTED, GRPC_METHOD, METHOD, STATUS, SYSTEM, WIRE, system,
};
use crate::otlp::{KeyValue, nanoseconds};
use crate::statistics::{MethodStatistics, Snapshot};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

/// The kind of a number.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// It only grows.
    Counter,
    /// Sums of several processes make sense.
    UpDown,
    Gauge,
}

use Kind::{Counter, Gauge, UpDown};

/// A name, its unit and its meaning.
type Head = (&'static str, &'static str, &'static str);

type MethodNumber = (Head, Kind, fn(&MethodStatistics) -> u64);

const METHOD_NUMBERS: [MethodNumber; 5] = [
    (
        (
            "dovetail.server.calls_in_flight",
            "{call}",
            "Calls that are under way.",
        ),
        UpDown,
        MethodStatistics::in_flight,
    ),
    (
        (
            "dovetail.server.received_bytes",
            "By",
            "Bytes of encoded parameters, decompressed.",
        ),
        Counter,
        |method| method.received_bytes,
    ),
    (
        ("dovetail.server.sent_bytes", "By", "Bytes of answers."),
        Counter,
        |method| method.sent_bytes,
    ),
    (
        (
            "dovetail.server.received_items",
            "{item}",
            "Items of streams from callers.",
        ),
        Counter,
        |method| method.received_items,
    ),
    (
        (
            "dovetail.server.sent_items",
            "{item}",
            "Items of streams to callers.",
        ),
        Counter,
        |method| method.sent_items,
    ),
];

type BackendNumber = (Head, Kind, fn(&BackendStatus) -> u64);

const BACKEND_NUMBERS: [BackendNumber; 6] = [
    (
        (
            "dovetail.client.backend.ready",
            "{channel}",
            "Channels that have a connection to the server.",
        ),
        UpDown,
        |backend| (backend.state == State::Ready).into(),
    ),
    (
        (
            "dovetail.client.backend.unhealthy",
            "{channel}",
            "Channels whose health checks keep calls away from the server.",
        ),
        UpDown,
        |backend| (backend.health != Health::Healthy).into(),
    ),
    (
        (
            "dovetail.client.backend.ejected",
            "{channel}",
            "Channels whose outlier detection keeps calls away from the server.",
        ),
        UpDown,
        |backend| backend.ejected.into(),
    ),
    (
        (
            "dovetail.client.backend.calls_in_flight",
            "{call}",
            "Calls that wait for the answer of the server.",
        ),
        UpDown,
        |backend| backend.in_flight.into(),
    ),
    (
        (
            "dovetail.client.backend.calls",
            "{call}",
            "Calls that were made to the server, each attempt counted.",
        ),
        Counter,
        |backend| backend.picks,
    ),
    (
        (
            "dovetail.client.backend.ejections",
            "{ejection}",
            "Ejections of the server by outlier detection.",
        ),
        Counter,
        |backend| backend.ejections,
    ),
];

const RESOLVER_FAILING: Head = (
    "dovetail.client.resolver.failing",
    "{channel}",
    "Channels whose name cannot be resolved now.",
);

const RETRY_TOKENS: Head = (
    "dovetail.client.retry_tokens",
    "{token}",
    "Tokens that are left of the budget of retries; the fewest of channels with one name.",
);

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
    let mut metrics = vec![
        durations(methods, times),
        ended(methods, times),
        started(methods, times),
    ];
    metrics.extend(METHOD_NUMBERS.iter().map(|(head, kind, number)| {
        let points = methods
            .iter()
            .map(|method| times.number(number(method), of_method(method)));
        metric(*head, *kind, points.collect())
    }));
    let connections = (
        "dovetail.server.connections",
        "{connection}",
        "Connections that are open.",
    );
    let open = times.number(snapshot.connections as u64, Vec::new());
    metrics.push(metric(connections, UpDown, vec![open]));
    metrics.extend(snapshot.counters.each().map(|(name, count)| Metric {
        name: format!("dovetail.server.{name}"),
        ..metric(
            ("", "1", "A counter of the server."),
            Counter,
            vec![times.number(count, Vec::new())],
        )
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
    fn number(self, number: u64, attributes: Vec<KeyValue>) -> Number {
        Number {
            start: self.start,
            time: self.now,
            number: Some(i64::try_from(number).unwrap_or(i64::MAX)),
            double: None,
            attributes,
        }
    }
}

fn metric((name, unit, description): Head, kind: Kind, points: Vec<Number>) -> Metric {
    let metric = Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        ..Metric::default()
    };
    match kind {
        Gauge => Metric {
            gauge: Some(GaugePoints { points }),
            ..metric
        },
        Counter | UpDown => Metric {
            sum: Some(Sum {
                points,
                temporality: CUMULATIVE,
                grows: kind == Counter,
            }),
            ..metric
        },
    }
}

fn name(method: &MethodStatistics) -> String {
    match method.service.as_str() {
        "" => method.method.to_owned(),
        service => format!("{service}/{}", method.method),
    }
}

fn of_method(method: &MethodStatistics) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new(METHOD, name(method))];
    match method.wire {
        Some(wire) => attributes.extend([
            KeyValue::new(SYSTEM, system(wire)),
            KeyValue::new(WIRE, wire.to_string()),
        ]),
        None => attributes.push(KeyValue::new(WIRE, "other")),
    }
    attributes
}

/// The times of calls, by the conventions for RPC.
fn durations(methods: &[MethodStatistics], times: Times) -> Metric {
    let points = methods.iter().map(|method| {
        let doublings: Vec<_> = method.times.doublings().collect();
        let count = method.times.count();
        let ends = doublings.iter().map(|(_, below)| *below).chain([count]);
        let starts = [0]
            .into_iter()
            .chain(doublings.iter().map(|(_, below)| *below));
        Distribution {
            start: times.start,
            time: times.now,
            count,
            sum: Some(method.times.sum().as_secs_f64()),
            counts: ends.zip(starts).map(|(end, start)| end - start).collect(),
            bounds: doublings.iter().map(|(end, _)| end.as_secs_f64()).collect(),
            attributes: of_method(method),
        }
    });
    Metric {
        name: CALL_DURATION.to_owned(),
        description: "Times of calls, to their last item.".to_owned(),
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
            times.number(calls, attributes)
        })
    });
    let head = (
        "dovetail.server.calls_ended",
        "{call}",
        "Calls that have ended, by outcome.",
    );
    metric(head, Counter, points.collect())
}

/// The calls of gRPC that have begun, by gRPC's own name.
fn started(methods: &[MethodStatistics], times: Times) -> Metric {
    let methods = methods
        .iter()
        .filter(|method| method.wire == Some(Wire::Grpc));
    let points = methods.map(|method| {
        let attributes = vec![KeyValue::new(GRPC_METHOD, name(method))];
        times.number(method.calls() + method.in_flight(), attributes)
    });
    let head = (CALL_STARTED, "{call}", "Calls of gRPC that have begun.");
    metric(head, Counter, points.collect())
}

/// The servers of channels. Those of channels with one name are added up.
fn backends(snapshot: &Snapshot, times: Times) -> Vec<Metric> {
    let metrics = BACKEND_NUMBERS.iter().map(|(head, kind, number)| {
        let mut sums = BTreeMap::<_, u64>::new();
        for channel in &snapshot.channels {
            for backend in &channel.backends {
                let labels = (&*channel.name, &*backend.backend.address);
                *sums.entry(labels).or_default() += number(backend);
            }
        }
        let points = sums.into_iter().map(|((channel, backend), sum)| {
            let attributes = [(CHANNEL, channel), (BACKEND, backend)];
            let attributes = attributes.map(|(key, value)| KeyValue::new(key, value));
            times.number(sum, attributes.to_vec())
        });
        metric(*head, *kind, points.collect())
    });
    metrics.collect()
}

/// The names of channels: whether they can be resolved, and the budgets of retries. Where channels
/// share a name, the first number is a sum, and the second is the smallest.
fn names(snapshot: &Snapshot, times: Times) -> [Metric; 2] {
    let mut of_names = BTreeMap::<&str, (u64, f32)>::new();
    for channel in &snapshot.channels {
        let (failing, tokens) = of_names.entry(&channel.name).or_insert((0, f32::INFINITY));
        *failing += u64::from(channel.failure.is_some());
        *tokens = tokens.min(channel.retry_tokens);
    }
    let channel = |name: &str| vec![KeyValue::new(CHANNEL, name)];
    let failing = of_names.iter();
    let failing = failing.map(|(name, (failing, _))| times.number(*failing, channel(name)));
    let tokens = of_names.iter().map(|(name, (_, tokens))| Number {
        double: Some((*tokens).into()),
        number: None,
        ..times.number(0, channel(name))
    });
    [
        metric(RESOLVER_FAILING, UpDown, failing.collect()),
        metric(RETRY_TOKENS, Gauge, tokens.collect()),
    ]
}
