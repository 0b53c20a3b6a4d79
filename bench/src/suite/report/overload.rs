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

/// A system under one load. Times are in milliseconds, from when a call was due; those of no calls
/// are 0.
#[derive(Serialize)]
pub(crate) struct Point {
    /// The offered calls, as a part of what the server can do.
    load: f64,
    /// Calls a second that were done.
    goodput: f64,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    refused: usize,
    refused_p50_ms: f64,
    refused_p99_ms: f64,
    refused_p999_ms: f64,
    failed: usize,
}

impl Point {
    /// Takes the sorted times of the calls of so many seconds: those that were done, and those that
    /// were refused.
    pub(crate) fn new(
        load: f64,
        seconds: f64,
        done: &[Duration],
        refused: &[Duration],
        failed: usize,
    ) -> Self {
        Point {
            load,
            goodput: done.len() as f64 / seconds,
            p50_ms: quantile(done, 0.5),
            p99_ms: quantile(done, 0.99),
            p999_ms: quantile(done, 0.999),
            refused: refused.len(),
            refused_p50_ms: quantile(refused, 0.5),
            refused_p99_ms: quantile(refused, 0.99),
            refused_p999_ms: quantile(refused, 0.999),
            failed,
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
            "{:.2}x: {:.0} calls/s, p99 {} ms; {} refused, p99 {} ms; {} failed",
            self.load,
            self.goodput,
            figure(self.p99_ms),
            self.refused,
            figure(self.refused_p99_ms),
            self.failed
        )
    }
}

const HEAD: &str = "| system | load | done/s | p50 ms | p99 ms | p99.9 ms | refused | p50 ms | p99 ms | p99.9 ms | failed |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|\n";

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
         A load of 1 is 500 calls a second. Times count from when a call was due.\n\n{HEAD}"
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
                figure(point.p50_ms),
                figure(point.p99_ms),
                figure(point.p999_ms),
                point.refused,
                figure(point.refused_p50_ms),
                figure(point.refused_p99_ms),
                figure(point.refused_p999_ms),
                point.failed
            );
        }
    }
    text.push('\n');
    for curve in curves {
        let _ = writeln!(text, "- {}: {}", curve.name, curve.configuration);
    }
    text
}

const SHARES: &str = "| system | the tenth calls | caller | done/s | p50 ms | p99 ms | p99.9 ms | refused | failed |\n\
                      |---|---|---|---|---|---|---|---|---|\n";

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
            figure(point.p50_ms),
            figure(point.p99_ms),
            figure(point.p999_ms),
            point.refused,
            point.failed
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
            |point| point.p99_ms,
        ),
        plot(
            "Calls that were refused: until they heard of it, p99",
            "ms",
            Scale::Log,
            figure,
            curves,
            |point| point.refused_p99_ms,
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
