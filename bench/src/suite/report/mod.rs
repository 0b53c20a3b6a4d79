//! What comes out: `report.json` for programs, `report.md` and `report.html` for people.

mod html;
mod markdown;

use super::Result;
use super::plan::Case;
use super::process::Figures;
use super::program::About;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Value,
    pub(crate) systems: BTreeMap<String, About>,
    pub(crate) missing: Vec<Missing>,
    pub(crate) rows: Vec<Row>,
}

/// A system that is not there, or failed, and why.
#[derive(Serialize)]
pub(crate) struct Missing {
    name: String,
    reason: String,
}

impl Missing {
    pub(crate) fn new(name: &str, reason: &str) -> Self {
        Missing {
            name: name.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// A system on a case: medians of its rounds.
#[derive(Serialize)]
pub(crate) struct Row {
    workload: &'static str,
    case: &'static str,
    /// With the suffix `-shared` where all callers share one connection.
    system: String,
    clients: usize,
    connections: usize,
    calls_per_s: f64,
    mean_us: f64,
    sd_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    client_cpu_us: f64,
    server_cpu_us: f64,
    client_switches: f64,
    client_peak_kb: f64,
    server_peak_kb: f64,
    /// Of a call with its answer; unknown off TCP.
    wire_bytes: Option<u64>,
    /// On the wire, both ways.
    gbit_per_s: Option<f64>,
    rounds: usize,
    /// The fastest round over the slowest, in calls per second.
    spread: f64,
    /// The rounds differ so much that small differences mean nothing.
    noisy: bool,
}

/// From this spread on a row is noisy.
const NOISY: f64 = 1.25;

impl Row {
    pub(crate) fn new(
        case: &Case,
        system: &str,
        rounds: &[Figures],
        wire_bytes: Option<u64>,
    ) -> Self {
        let middle = |figure: &dyn Fn(&Figures) -> f64| median(rounds.iter().map(figure).collect());
        let us = |figure: &dyn Fn(&Figures) -> f64| middle(figure) / 1e3;
        let rate = |f: &Figures| f.client.calls as f64 * 1e9 / f.client.elapsed_ns as f64;
        let calls_per_s = middle(&rate);
        let rates: Vec<f64> = rounds.iter().map(rate).collect();
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let slowest = rates.iter().copied().fold(f64::MAX, f64::min);
        let suffix = if case.is_shared() { "-shared" } else { "" };
        Row {
            workload: case.workload,
            case: case.case,
            system: format!("{system}{suffix}"),
            clients: case.clients,
            connections: case.connections,
            calls_per_s,
            mean_us: us(&|f| f.client.latency.mean_ns),
            sd_us: us(&|f| f.client.latency.sd_ns),
            p50_us: us(&|f| f.client.latency.p50_ns as f64),
            p99_us: us(&|f| f.client.latency.p99_ns as f64),
            p999_us: us(&|f| f.client.latency.p999_ns as f64),
            client_cpu_us: us(&|f| f.client.cpu_ns as f64 / f.client.calls as f64),
            server_cpu_us: us(&|f| f.server_cpu_ns / f.client.calls as f64),
            client_switches: middle(&|f| {
                f.client.voluntary_switches as f64 / f.client.calls as f64
            }),
            client_peak_kb: middle(&|f| f.client.peak_rss_kb as f64),
            server_peak_kb: middle(&|f| f.server_peak_kb as f64),
            wire_bytes,
            gbit_per_s: wire_bytes.map(|bytes| bytes as f64 * 8.0 * calls_per_s / 1e9),
            rounds: rounds.len(),
            spread: fastest / slowest,
            noisy: fastest / slowest > NOISY,
        }
    }

    /// What rows are compared within.
    fn group(&self) -> (&'static str, &'static str, usize, usize) {
        (self.workload, self.case, self.clients, self.connections)
    }

    fn title(&self) -> String {
        let case = match self.case {
            "-" => String::new(),
            case => format!(" {case}"),
        };
        let callers = match (self.clients, self.connections) {
            (1, _) => "1 client".to_owned(),
            (clients, connections) if clients == connections => {
                format!("{clients} clients, each with its own connection")
            }
            (clients, 1) => format!("{clients} clients on one connection"),
            (clients, connections) => format!("{clients} clients on {connections} connections"),
        };
        format!("{}{case}, {callers}", self.workload)
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

impl Report {
    /// Writes the three files; gives the tables for the terminal.
    pub(crate) fn write(&self, folder: &Path) -> Result<String> {
        fs::create_dir_all(folder)?;
        let markdown = markdown::render(self);
        fs::write(
            folder.join("report.json"),
            serde_json::to_string_pretty(self)?,
        )?;
        fs::write(folder.join("report.md"), &markdown)?;
        let page = folder.join("report.html");
        fs::write(&page, html::render(self))?;
        Ok(format!("{markdown}\nThe report is {}", page.display()))
    }

    /// The rows by case, in the order of the plan.
    fn groups(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.group() == b.group())
    }
}
