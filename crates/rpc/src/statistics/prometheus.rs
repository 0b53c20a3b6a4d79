//! The text formats of Prometheus, version 0.0.4 (prometheus.io, "Exposition formats"), and of
//! OpenMetrics, 1.0.0.

use super::exemplars::Exemplar;
use super::snapshot::{MethodStatistics, Snapshot};
use crate::names::{BackendStatus, ChannelStatus, Health, State};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::time::UNIX_EPOCH;

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// Returns OpenMetrics where the header `accept` names it. Prometheus prefers it.
    pub(super) fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The text of an export.
struct Export {
    text: String,
    format: Format,
}

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

pub(super) fn write(snapshot: &Snapshot, format: Format) -> String {
    let mut export = Export {
        text: String::new(),
        format,
    };
    let out = &mut export;
    let Snapshot {
        methods,
        counters,
        connections,
        channels,
        ..
    } = snapshot;
    calls(out, methods);
    for (name, kind, help, number) in NUMBERS {
        out.head(name, kind, help);
        for method in methods {
            out.line(name, &labels(method), number(method));
        }
    }
    times(out, methods);
    let name = "dovetail_server_connections";
    out.head(name, "gauge", "Connections that are open.");
    out.line(name, "", *connections as u64);
    for (counter, number) in counters.each() {
        let name = format!("dovetail_server_{counter}_total");
        let help = format!("The counter `{counter}` of the server.");
        out.head(&name, "counter", &help);
        out.line(&name, "", number);
    }
    client(out, channels);
    if format == Format::OpenMetrics {
        export.text.push_str("# EOF\n");
    }
    export.text
}

impl Export {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let name = match self.format {
            Format::Prometheus => name,
            Format::OpenMetrics => name.strip_suffix("_total").unwrap_or(name),
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, number: impl Display) {
        self.example(name, labels, number, None);
    }

    /// Writes a number, and a call that is an example of it.
    fn example(
        &mut self,
        name: &str,
        labels: &str,
        number: impl Display,
        exemplar: Option<&Exemplar>,
    ) {
        let _ = match labels {
            "" => write!(self.text, "{name} {number}"),
            labels => write!(self.text, "{name}{{{labels}}} {number}"),
        };
        if let Some(Exemplar { trace, time, at }) = exemplar
            && self.format == Format::OpenMetrics
        {
            let time = time.as_secs_f64();
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            let at = at.as_secs_f64();
            let _ = write!(self.text, " # {{trace_id=\"{trace:032x}\"}} {time} {at:.3}");
        }
        self.text.push('\n');
    }
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
fn client(out: &mut Export, channels: &[ChannelStatus]) {
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
        out.head(name, kind, help);
        for ((channel, backend), sum) in sums {
            let labels = format!(
                "channel=\"{}\",backend=\"{}\"",
                escaped(channel),
                escaped(backend)
            );
            out.line(name, &labels, sum);
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
    out.head(name, "gauge", help);
    for (channel, failing) in failing {
        let labels = format!("channel=\"{}\"", escaped(channel));
        out.line(name, &labels, failing);
    }
    let name = "dovetail_client_retry_tokens";
    let help =
        "Tokens that are left of the budget of retries; the fewest of channels with one name.";
    out.head(name, "gauge", help);
    for (channel, tokens) in tokens {
        let labels = format!("channel=\"{}\"", escaped(channel));
        out.line(name, &labels, tokens);
    }
}

fn calls(out: &mut Export, methods: &[MethodStatistics]) {
    let name = "dovetail_server_ended_calls_total";
    let help =
        "Calls that have ended, by code; OK, EXCEPTION for a declared one, or that of a failure.";
    out.head(name, "counter", help);
    for method in methods {
        let labels = labels(method);
        for (code, calls) in method.outcomes() {
            out.line(name, &format!("{labels},code=\"{code}\""), calls);
        }
    }
}

fn times(out: &mut Export, methods: &[MethodStatistics]) {
    let name = "dovetail_server_call_duration_seconds";
    out.head(name, "histogram", "Times of calls.");
    for method in methods {
        let labels = labels(method);
        let bucket = format!("{name}_bucket");
        let mut exemplars = method.exemplars.iter().map(Option::as_ref);
        let mut exemplar = || exemplars.next().flatten();
        for (end, count) in method.times.doublings() {
            let labels = format!("{labels},le=\"{}\"", end.as_secs_f64());
            out.example(&bucket, &labels, count, exemplar());
        }
        let count = method.times.count();
        out.example(&bucket, &format!("{labels},le=\"+Inf\""), count, exemplar());
        let sum = method.times.sum().as_secs_f64();
        out.line(&format!("{name}_sum"), &labels, sum);
        out.line(&format!("{name}_count"), &labels, count);
    }
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
