//! Which plots a workload has: those of the article that it comes from.

use super::plot::{Plot, Scale, Series, number, time};
use super::tables::Kind;
use super::{Metric, Report, Row};
use std::collections::{BTreeMap, HashSet};

/// Fewer places than these on an axis make no line.
const LEAST: usize = 3;

pub(super) fn of(report: &Report, workload: &str) -> Vec<Plot> {
    let plots = match workload {
        "get_answer" => scaling(report),
        "get_blob" => blobs(report),
        "db_work" => vec![work(report)],
        "blob_100k" | "structs_100k" => vec![threads(report, workload)],
        profile => steps(report, profile),
    };
    plots.into_iter().filter(is_worth_it).collect()
}

fn is_worth_it(plot: &Plot) -> bool {
    plot.series
        .iter()
        .any(|series| series.points.len() >= LEAST)
}

/// The CPU time of a small call by the number of connections, and its latency by the number of
/// callers that share one.
fn scaling(report: &Report) -> Vec<Plot> {
    let plot = |title: &str, x_label, metric: Metric, shared: bool| Plot {
        title: title.to_owned(),
        x_label,
        x_name: Box::new(|clients| clients.to_string()),
        x_scale: Scale::Log,
        y_label: "time of a call",
        y_name: time,
        y_scale: Scale::Log,
        series: series(report, |row| {
            let is_alone = row.neighbours == 0 && row.workload == "get_answer";
            let is = is_alone && shared == (row.connections < row.clients);
            is.then(|| (row.clients as f64, metric.of(row)))
        }),
    };
    let (own, one) = (
        "clients, each with a connection",
        "clients of one connection",
    );
    vec![
        plot(
            "get_answer: CPU time of a call by the number of connections",
            own,
            Metric::CpuUs,
            false,
        ),
        plot(
            "get_answer: p99 by the number of connections",
            own,
            Metric::P99Us,
            false,
        ),
        plot(
            "get_answer: p99 by the number of callers that share a connection",
            one,
            Metric::P99Us,
            true,
        ),
    ]
}

/// The times of blobs over their sizes: all of it on the linear scale, the small ones on the
/// logarithmic one.
fn blobs(report: &Report) -> Vec<Plot> {
    let figures = [
        (Metric::MeanUs, "wall-clock time of a call"),
        (Metric::CpuUs, "CPU time of a call, client and server"),
    ];
    let scales = [
        (Scale::Linear, "linear scale"),
        (Scale::Log, "logarithmic scale"),
    ];
    let plot = |(metric, what): (Metric, &str), (scale, name): (Scale, &str)| Plot {
        title: format!("get_blob: {what}, {name}"),
        x_label: "bytes",
        x_name: Box::new(size),
        x_scale: Scale::Log,
        y_label: "time of a call",
        y_name: time,
        y_scale: scale,
        series: series(report, |row| {
            let size = row.case.parse().ok()?;
            (row.workload == "get_blob").then(|| (size, metric.of(row)))
        }),
    };
    let both = |figure| scales.map(|scale| plot(figure, scale));
    figures.into_iter().flat_map(both).collect()
}

fn work(report: &Report) -> Plot {
    Plot {
        title: "db_work: calls per second by the number of clients, own connections".to_owned(),
        x_label: "clients",
        x_name: Box::new(|clients| clients.to_string()),
        x_scale: Scale::Log,
        y_label: "calls/s",
        y_name: number,
        y_scale: Scale::Linear,
        series: series(report, |row| {
            let is =
                row.workload == "db_work" && row.case == "10" && row.clients == row.connections;
            is.then_some((row.clients as f64, row.calls_per_s))
        }),
    }
}

fn threads(report: &Report, workload: &str) -> Plot {
    Plot {
        title: format!("{workload}: throughput of the server by the number of clients"),
        x_label: "clients, each a thread",
        x_name: Box::new(|clients| clients.to_string()),
        x_scale: Scale::Log,
        y_label: "Gb/s",
        y_name: number,
        y_scale: Scale::Linear,
        series: series(report, |row| {
            let rate = row.gbit_per_s?;
            let is = row.workload == workload && row.clients == row.connections;
            is.then_some((row.clients as f64, rate))
        }),
    }
}

/// The latency of each kind of call in the steps of a profile.
fn steps(report: &Report, profile: &str) -> Vec<Plot> {
    let rows = report.rows.iter();
    let rows: Vec<&Row> = rows
        .filter(|row| row.workload == profile && row.step.is_some())
        .collect();
    let mut calls: Vec<&str> = rows.iter().map(|row| row.call.as_str()).collect();
    let mut seen = HashSet::new();
    calls.retain(|call| seen.insert(*call));
    let plot = |call: &str, metric: Metric, what: &str| {
        let is_it = |row: &Row| row.workload == profile && row.call == call;
        let steps = rows.iter().filter(|row| is_it(row));
        let names: BTreeMap<usize, String> = steps
            .filter_map(|row| Some((row.step?, step_name(row.step?, row))))
            .collect();
        Plot {
            title: format!("{profile}: {what} latency of {call} in each step, logarithmic scale"),
            x_label: "step, and calls that are due",
            x_name: Box::new(move |step| names.get(&(step as usize)).cloned().unwrap_or_default()),
            x_scale: Scale::Linear,
            y_label: "time of a call",
            y_name: time,
            y_scale: Scale::Log,
            series: series(report, |row| {
                let step = row.step.filter(|_| is_it(row))?;
                Some((step as f64, metric.of(row)))
            }),
        }
    };
    let metrics = [
        (Metric::P50Us, "median"),
        (Metric::P99Us, "p99"),
        (Metric::P999Us, "p99.9"),
    ];
    let plots = |call| metrics.map(|(metric, what)| plot(call, metric, what));
    calls.into_iter().flat_map(plots).collect()
}

/// `2: 500/s`, or `2: 500/s × 4` where each call goes to four servers.
fn step_name(step: usize, row: &Row) -> String {
    let rate = row.rate.unwrap_or(0.0);
    match row.servers {
        0 | 1 => format!("{step}: {rate}/s"),
        servers => format!("{step}: {rate}/s × {servers}"),
    }
}

/// A line for each system that has more than one point.
fn series(report: &Report, point: impl Fn(&Row) -> Option<(f64, f64)>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for row in &report.rows {
        let Some(point) = point(row) else { continue };
        match all.iter_mut().find(|series| series.name == row.system) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name: row.system.clone(),
                kind: Kind::of(&row.system),
                points: vec![point],
            }),
        }
    }
    all.retain(|series| series.points.len() > 1);
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    // The last series drawn is on top.
    all.sort_by_key(|series| series.kind == Kind::Ours);
    all
}

fn size(bytes: f64) -> String {
    match bytes {
        many if many >= 1_048_576.0 => format!("{} MB", many / 1_048_576.0),
        some => format!("{} KB", some / 1024.0),
    }
}
