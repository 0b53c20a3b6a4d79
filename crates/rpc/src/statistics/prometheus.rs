//! The text formats of Prometheus, version 0.0.4 (prometheus.io, "Exposition formats"), and of
//! OpenMetrics, 1.0.0.

use super::exemplars::Exemplar;
use super::numbers::{
    BACKENDS, CONNECTIONS, Kind, METHODS, MethodTimes, Number, RESOLVER_FAILING, RETRY_TOKENS,
    TIMES, backends, named,
};
use super::snapshot::{MethodStatistics, Snapshot};
use crate::names::ChannelStatus;
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
    for (head, number) in METHODS {
        let name = out.number(head);
        for method in methods {
            out.line(&name, &labels(method), number(method));
        }
    }
    TIMES.iter().for_each(|kind| times(out, methods, kind));
    let name = out.number(&CONNECTIONS);
    out.line(&name, "", *connections as u64);
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

    /// Writes the head of a number. Returns its name.
    fn number(&mut self, number: &Number) -> String {
        let name = number.name.replace('.', "_");
        let (name, kind) = match number.kind {
            Kind::Counter => (name + "_total", "counter"),
            Kind::UpDown | Kind::Gauge => (name, "gauge"),
        };
        self.head(&name, kind, number.help);
        name
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

/// Writes the numbers of channels to the servers of names.
fn client(out: &mut Export, channels: &[ChannelStatus]) {
    if channels.is_empty() {
        return;
    }
    for (head, number) in BACKENDS {
        let name = out.number(head);
        for ((channel, backend), sum) in backends(channels, *number) {
            let labels = format!(
                "channel=\"{}\",backend=\"{}\"",
                escaped(channel),
                escaped(backend)
            );
            out.line(&name, &labels, sum);
        }
    }
    let named = named(channels);
    let label = |channel| format!("channel=\"{}\"", escaped(channel));
    let name = out.number(&RESOLVER_FAILING);
    for (channel, state) in &named {
        out.line(&name, &label(channel), state.failing);
    }
    let name = out.number(&RETRY_TOKENS);
    for (channel, state) in &named {
        out.line(&name, &label(channel), state.tokens);
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

fn times(out: &mut Export, methods: &[MethodStatistics], kind: &MethodTimes) {
    let name = &format!("{}_seconds", kind.name.replace('.', "_"));
    let known: Vec<_> = kind.of(methods).collect();
    if known.is_empty() {
        return;
    }
    out.head(name, "histogram", kind.help);
    for (method, times) in known {
        let labels = labels(method);
        let bucket = format!("{name}_bucket");
        let exemplars = kind.of_each.then_some(&method.exemplars);
        let mut exemplars = exemplars.into_iter().flatten().map(Option::as_ref);
        let mut exemplar = || exemplars.next().flatten();
        for (end, count) in times.doublings() {
            let labels = format!("{labels},le=\"{}\"", end.as_secs_f64());
            out.example(&bucket, &labels, count, exemplar());
        }
        let count = times.count();
        out.example(&bucket, &format!("{labels},le=\"+Inf\""), count, exemplar());
        let sum = times.sum().as_secs_f64();
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
