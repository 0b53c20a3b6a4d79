//! The text format of Prometheus, version 0.0.4 (prometheus.io, "Exposition formats").

use super::snapshot::{MethodStatistics, Snapshot};
use std::fmt::Write;

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
    text
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

fn line(text: &mut String, name: &str, labels: &str, number: u64) {
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
