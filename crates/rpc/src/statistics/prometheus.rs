//! The text format of Prometheus, version 0.0.4 (prometheus.io, "Exposition formats").

use super::snapshot::{MethodStatistics, Snapshot};
use crate::names::{BackendStatus, ChannelStatus, Health, State};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A number of a method.
type Number = (
    &'static str,
    &'static str,
    &'static str,
    fn(&MethodStatistics) -> u64,
);

const NUMBERS: &[Number] = &[
    (
        "dovetail_server_calls_in_flight",
        "gauge",
        "Calls that are under way.",
        MethodStatistics::in_flight,
    ),
    (
        "dovetail_server_received_bytes_total",
        "counter",
        "Bytes of encoded parameters, decompressed.",
        |method| method.received_bytes,
    ),
    (
        "dovetail_server_sent_bytes_total",
        "counter",
        "Bytes of answers.",
        |method| method.sent_bytes,
    ),
    (
        "dovetail_server_received_items_total",
        "counter",
        "Items of streams from callers.",
        |method| method.received_items,
    ),
    (
        "dovetail_server_sent_items_total",
        "counter",
        "Items of streams to callers.",
        |method| method.sent_items,
    ),
];

pub(super) fn write(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    let Snapshot {
        methods,
        counters,
        connections,
        channels,
    } = snapshot;
    calls(&mut text, methods);
    for (name, kind, help, number) in NUMBERS {
        head(&mut text, name, kind, help);
        for method in methods {
            line(&mut text, name, &labels(method), number(method));
        }
    }
    times(&mut text, methods);
    let name = "dovetail_server_connections";
    head(&mut text, name, "gauge", "Connections that are open.");
    line(&mut text, name, "", *connections as u64);
    for (counter, number) in counters.each() {
        let name = format!("dovetail_server_{counter}_total");
        let help = format!("The counter `{counter}` of the server.");
        head(&mut text, &name, "counter", &help);
        line(&mut text, &name, "", number);
    }
    client(&mut text, channels);
    text
}

/// A number of a server that channels call. Those of channels with one name are added up.
type BackendNumber = (
    &'static str,
    &'static str,
    &'static str,
    fn(&BackendStatus) -> u64,
);

const BACKEND_NUMBERS: &[BackendNumber] = &[
    (
        "dovetail_client_backend_ready",
        "gauge",
        "Channels that have a connection to the server.",
        |backend| (backend.state == State::Ready).into(),
    ),
    (
        "dovetail_client_backend_unhealthy",
        "gauge",
        "Channels whose health checks keep calls away from the server.",
        |backend| (backend.health != Health::Healthy).into(),
    ),
    (
        "dovetail_client_backend_ejected",
        "gauge",
        "Channels whose outlier detection keeps calls away from the server.",
        |backend| backend.ejected.into(),
    ),
    (
        "dovetail_client_backend_calls_in_flight",
        "gauge",
        "Calls that wait for the answer of the server.",
        |backend| backend.in_flight.into(),
    ),
    (
        "dovetail_client_backend_calls_total",
        "counter",
        "Calls that were made to the server, each attempt counted.",
        |backend| backend.picks,
    ),
    (
        "dovetail_client_backend_ejections_total",
        "counter",
        "Ejections of the server by outlier detection.",
        |backend| backend.ejections,
    ),
];

/// Writes the numbers of channels to the servers of names.
fn client(text: &mut String, channels: &[ChannelStatus]) {
    if channels.is_empty() {
        return;
    }
    for (name, kind, help, number) in BACKEND_NUMBERS {
        let mut sums = BTreeMap::<_, u64>::new();
        for channel in channels {
            for backend in &channel.backends {
                let labels = (&*channel.name, &*backend.backend.address);
                *sums.entry(labels).or_default() += number(backend);
            }
        }
        head(text, name, kind, help);
        for ((channel, backend), sum) in sums {
            let labels = format!(
                "channel=\"{}\",backend=\"{}\"",
                escaped(channel),
                escaped(backend)
            );
            line(text, name, &labels, sum);
        }
    }
    let mut failing = BTreeMap::<_, u64>::new();
    let mut tokens = BTreeMap::<_, f32>::new();
    for channel in channels {
        *failing.entry(&*channel.name).or_default() += u64::from(channel.failure.is_some());
        let fewest = tokens.entry(&*channel.name).or_insert(f32::INFINITY);
        *fewest = fewest.min(channel.retry_tokens);
    }
    let name = "dovetail_client_resolver_failing";
    let help = "Channels whose name cannot be resolved now.";
    head(text, name, "gauge", help);
    for (channel, failing) in failing {
        line(
            text,
            name,
            &format!("channel=\"{}\"", escaped(channel)),
            failing,
        );
    }
    let name = "dovetail_client_retry_tokens";
    let help =
        "Tokens that are left of the budget of retries; the fewest of channels with one name.";
    head(text, name, "gauge", help);
    for (channel, tokens) in tokens {
        line(
            text,
            name,
            &format!("channel=\"{}\"", escaped(channel)),
            tokens,
        );
    }
}

fn calls(text: &mut String, methods: &[MethodStatistics]) {
    let name = "dovetail_server_ended_calls_total";
    let help =
        "Calls that have ended, by code; OK, EXCEPTION for a declared one, or that of a failure.";
    head(text, name, "counter", help);
    for method in methods {
        let labels = labels(method);
        for (code, calls) in method.outcomes() {
            line(text, name, &format!("{labels},code=\"{code}\""), calls);
        }
    }
}

fn times(text: &mut String, methods: &[MethodStatistics]) {
    let name = "dovetail_server_call_duration_seconds";
    head(text, name, "histogram", "Times of calls.");
    for method in methods {
        let labels = labels(method);
        let bucket = format!("{name}_bucket");
        for (end, count) in method.times.doublings() {
            let labels = format!("{labels},le=\"{}\"", end.as_secs_f64());
            line(text, &bucket, &labels, count);
        }
        let count = method.times.count();
        line(text, &bucket, &format!("{labels},le=\"+Inf\""), count);
        let sum = method.times.sum().as_secs_f64();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
        line(text, &format!("{name}_count"), &labels, count);
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &str, number: impl Display) {
    let _ = match labels {
        "" => writeln!(text, "{name} {number}"),
        labels => writeln!(text, "{name}{{{labels}}} {number}"),
    };
}

fn labels(method: &MethodStatistics) -> String {
    let wire = method
        .wire
        .map_or_else(|| "other".to_owned(), |wire| wire.to_string());
    let MethodStatistics {
        service, method, ..
    } = method;
    format!(
        "service=\"{}\",method=\"{}\",wire=\"{wire}\"",
        escaped(service),
        escaped(method)
    )
}

/// Escapes a value. Names of contracts have nothing to escape; functions that are bound may.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
