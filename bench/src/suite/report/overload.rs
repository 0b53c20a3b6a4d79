//! Curves of servers that get more calls than they can do.

use super::super::Result;
use super::plot::{Plot, Scale, Series};
use super::tables::{Kind, figure};
use serde::Serialize;
use serde_json::json;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A system under all loads.
#[derive(Serialize)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) configuration: String,
    pub(crate) points: Vec<Point>,
}

/// A system under one load.
#[derive(Serialize)]
pub(crate) struct Point {
    /// The offered calls, as a part of what the server can do.
    pub(crate) load: f64,
    /// Calls a second that were done.
    pub(crate) goodput: f64,
    pub(crate) done: Times,
    pub(crate) refused: Times,
    /// Refusals after 10 ms or more.
    pub(crate) refused_late: usize,
    /// Those of them that a stall of the machine delayed.
    pub(crate) refused_late_stalled: usize,
    pub(crate) failed: usize,
    /// Stalls of both cores.
    pub(crate) stalls: usize,
    pub(crate) longest_stall_ms: f64,
}

/// How long calls took, from when each was due. Those of no calls are 0.
#[derive(Serialize)]
pub(crate) struct Times {
    calls: usize,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    max_ms: f64,
}

impl Times {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Times {
            calls: times.len(),
            p50_ms: quantile(&times, 0.5),
            p99_ms: quantile(&times, 0.99),
            p999_ms: quantile(&times, 0.999),
            max_ms: quantile(&times, 1.0),
        }
    }
}

/// Calls of some of ten callers, of whom one calls more than the others. The load is how many times
/// as often.
#[derive(Serialize)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) caller: &'static str,
    pub(crate) point: Point,
}

fn quantile(sorted: &[Duration], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    let time = sorted.get(at).or(sorted.last());
    time.map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2}x: {:.0} calls/s, p99 {} ms; {} refused, p99 {} ms, {} late, {} of them by stalls; {} failed",
            self.load,
            self.goodput,
            figure(self.done.p99_ms),
            self.refused.calls,
            figure(self.refused.p99_ms),
            self.refused_late,
            self.refused_late_stalled,
            self.failed
        )
    }
}

/// Three cells of a table.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times {
            p50_ms,
            p99_ms,
            p999_ms,
            ..
        } = self;
        write!(
            f,
            "{} | {} | {}",
            figure(*p50_ms),
            figure(*p99_ms),
            figure(*p999_ms)
        )
    }
}

const HEAD: &str = "| system | load | done/s | p50 ms | p99 ms | p99.9 ms | refused | p50 ms | p99 ms | p99.9 ms | late | by stalls | failed | stalls | longest ms |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";

/// Writes the report: `overload.md`, `overload.html` and `overload.json`. Returns the text.
pub(crate) fn write(
    out: &Path,
    seconds: f64,
    curves: &[Curve],
    shares: &[Share],
) -> Result<String> {
    let text = markdown(seconds, curves) + &fairness(seconds, shares);
    fs::create_dir_all(out)?;
    fs::write(out.join("overload.md"), &text)?;
    fs::write(out.join("overload.html"), html(curves))?;
    fs::write(
        out.join("overload.json"),
        serde_json::to_vec_pretty(&json!({ "curves": curves, "fairness": shares }))?,
    )?;
    Ok(text)
}

fn markdown(seconds: f64, curves: &[Curve]) -> String {
    let mut text = format!(
        "# Overload\n\nCalls of 2 ms of the processor, at fixed times, for {seconds} s at each load; the server on one core, the callers on another. \
         A load of 1 is 500 calls a second. Times count from when a call was due. A refusal is late after 10 ms. A thread on each core, before all others, \
         shows the stalls of the machine: it woke at least 2 ms too late.\n\n{HEAD}"
    );
    for curve in curves {
        for point in &curve.points {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} | {} | {} | {} | {} | {} | {} | {} | {} |",
                curve.name,
                point.load,
                point.goodput,
                point.done,
                point.refused.calls,
                point.refused,
                point.refused_late,
                point.refused_late_stalled,
                point.failed,
                point.stalls,
                figure(point.longest_stall_ms),
            );
        }
    }
    text.push('\n');
    for curve in curves {
        let _ = writeln!(text, "- {}: {}", curve.name, curve.configuration);
    }
    text
}

const SHARES: &str = "| system | the tenth calls | caller | done/s | p50 ms | p99 ms | p99.9 ms | refused | failed | stalls | longest ms |\n\
                      |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";

fn fairness(seconds: f64, shares: &[Share]) -> String {
    let mut text = format!(
        "\n# Fairness\n\nTen callers of a server that lets each make 40 calls a second, for {seconds} s. Nine make 20; the tenth as many, or a hundred times \
         as many.\n\n{SHARES}"
    );
    for Share {
        name,
        caller,
        point,
    } in shares
    {
        let _ = writeln!(
            text,
            "| {name} | {} times | {caller} | {:.0} | {} | {} | {} | {} | {} |",
            point.load,
            point.goodput,
            point.done,
            point.refused.calls,
            point.failed,
            point.stalls,
            figure(point.longest_stall_ms),
        );
    }
    text
}

fn html(curves: &[Curve]) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>Dovetail: overload</title><style>",
    );
    page.push_str(include_str!("style.css"));
    page.push_str("</style><h1>Overload</h1>");
    let whole = |value: f64| format!("{value:.0}");
    let plots = [
        plot(
            "Calls that were done",
            "calls a second",
            Scale::Linear,
            whole,
            curves,
            |point| point.goodput,
        ),
        plot(
            "Their latency, p99",
            "ms",
            Scale::Log,
            figure,
            curves,
            |point| point.done.p99_ms,
        ),
        plot(
            "Calls that were refused: until they heard of it, p99",
            "ms",
            Scale::Log,
            figure,
            curves,
            |point| point.refused.p99_ms,
        ),
    ];
    page.extend(plots.iter().map(Plot::svg));
    page + "</html>\n"
}

/// A plot of the points that have this figure.
fn plot(
    title: &str,
    y_label: &'static str,
    y_scale: Scale,
    y_name: fn(f64) -> String,
    curves: &[Curve],
    value: fn(&Point) -> f64,
) -> Plot {
    let series = curves.iter().map(|curve| Series {
        name: curve.name.clone(),
        kind: Kind::of(&curve.name),
        points: curve
            .points
            .iter()
            .map(|point| (point.load, value(point)))
            .filter(|(_, value)| *value > 0.0)
            .collect(),
    });
    Plot {
        title: title.to_owned(),
        x_label: "offered load, as a part of what the server can do",
        x_name: Box::new(figure),
        x_scale: Scale::Linear,
        y_label,
        y_name,
        y_scale,
        series: series.filter(|series| !series.points.is_empty()).collect(),
    }
}
