use crate::suite::counts::Counts;
use crate::suite::plan::{Case, VARIANTS, ends};
use crate::suite::round::Figures;
use serde::{Deserialize, Serialize};

/// A system on a case: medians of its rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) case: String,
    /// With the suffix `-shared` where callers share a connection.
    pub(crate) system: String,
    pub(crate) clients: usize,
    pub(crate) connections: usize,
    /// Workload and case of a call, also where those of the row are of a profile.
    pub(crate) call: String,
    /// The number of the step in a profile.
    pub(crate) step: Option<usize>,
    /// How many servers each call goes to.
    pub(crate) servers: usize,
    /// Threads that computed beside it.
    pub(crate) neighbours: usize,
    /// Calls a second that were due, whatever earlier ones did.
    pub(crate) rate: Option<f64>,
    pub(crate) calls_per_s: f64,
    pub(crate) mean_us: f64,
    pub(crate) sd_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    /// User and system time of a call.
    pub(crate) client_cpu_us: f64,
    pub(crate) server_cpu_us: f64,
    /// Context switches of a call, voluntary and not.
    pub(crate) client_switches: f64,
    pub(crate) server_switches: f64,
    /// System calls of a call of one caller; unknown where they were not counted.
    pub(crate) client_syscalls: Option<f64>,
    pub(crate) server_syscalls: Option<f64>,
    pub(crate) client_peak_kb: f64,
    pub(crate) server_peak_kb: f64,
    /// The bytes of a call with its answer; unknown off TCP, and where they were not counted.
    pub(crate) wire_bytes: Option<u64>,
    /// The data handed over, both ways, whatever it is encoded as.
    pub(crate) gbit_per_s: Option<f64>,
    pub(crate) rounds: usize,
    /// Rounds that were repeated, since other programs used more than 5 % of the machine.
    pub(crate) rounds_thrown: usize,
    /// The fastest round over the slowest, in calls per second and in median latency.
    pub(crate) spread: f64,
    pub(crate) p50_spread: f64,
    /// The rounds differ so much that small differences mean nothing.
    pub(crate) noisy: bool,
    /// The calls per second over those of the report that this one is compared with.
    pub(crate) calls_ratio: Option<f64>,
}

/// From this spread on a row is noisy.
const NOISY: f64 = 1.25;

impl Row {
    pub(crate) fn new(case: &Case, system: &str, rounds: &[&Figures], counts: &Counts) -> Self {
        let all = |figure: &dyn Fn(&Figures) -> f64| -> Vec<f64> {
            rounds.iter().map(|&figures| figure(figures)).collect()
        };
        let middle = |figure: &dyn Fn(&Figures) -> f64| median(all(figure));
        let us = |figure: &dyn Fn(&Figures) -> f64| middle(figure) / 1e3;
        let per_call = |figure: &dyn Fn(&Figures) -> f64| {
            middle(&|figures| figure(figures) / figures.client.calls as f64)
        };
        let rate = |f: &Figures| f.client.calls as f64 * 1e9 / f.client.elapsed_ns as f64;
        let p50 = |f: &Figures| f.client.latency.p50_ns as f64;
        let calls_per_s = middle(&rate);
        let spread = spread(&all(&rate));
        let suffix = if case.is_shared() { "-shared" } else { "" };
        Row {
            workload: case.workload.to_owned(),
            case: case.case.to_owned(),
            system: format!("{system}{suffix}"),
            clients: case.clients,
            connections: case.connections,
            call: name(case.workload, case.case),
            step: None,
            servers: case.servers,
            neighbours: case.neighbours,
            rate: case.rate,
            calls_per_s,
            mean_us: us(&|f| f.client.latency.mean_ns),
            sd_us: us(&|f| f.client.latency.sd_ns),
            p50_us: us(&p50),
            p99_us: us(&|f| f.client.latency.p99_ns as f64),
            p999_us: us(&|f| f.client.latency.p999_ns as f64),
            client_cpu_us: per_call(&|f| f.client.cpu_ns as f64 / 1e3),
            server_cpu_us: per_call(&|f| f.server.cpu_ns / 1e3),
            client_switches: per_call(&|f| {
                (f.client.voluntary_switches + f.client.involuntary_switches) as f64
            }),
            server_switches: per_call(&|f| f.server.switches),
            client_syscalls: counts.client_syscalls,
            server_syscalls: counts.server_syscalls,
            client_peak_kb: middle(&|f| f.client.peak_rss_kb as f64),
            server_peak_kb: middle(&|f| f.server.peak_kb as f64),
            wire_bytes: counts.wire_bytes,
            gbit_per_s: case
                .payload_bytes()
                .map(|bytes| bytes as f64 * 8.0 * calls_per_s / 1e9),
            rounds: rounds.len(),
            rounds_thrown: 0,
            spread,
            p50_spread: self::spread(&all(&p50)),
            noisy: spread > NOISY,
            calls_ratio: None,
        }
    }

    /// Whether calls were due at fixed times.
    pub(crate) fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    /// Returns the key of the group of rows that are compared with each other.
    pub(crate) fn group(&self) -> (&str, &str, usize, usize, usize) {
        let (workload, case) = (&self.workload, &self.case);
        (
            workload,
            case,
            self.clients,
            self.connections,
            self.neighbours,
        )
    }

    /// Returns the title of the measurement, without the system.
    pub(crate) fn title(&self) -> String {
        let callers = match (self.clients, self.connections) {
            (1, _) => "1 client".to_owned(),
            (clients, connections) if clients == connections => {
                format!("{clients} clients, own connections")
            }
            (clients, 1) => format!("{clients} clients, 1 connection"),
            (clients, connections) => format!("{clients} clients, {connections} connections"),
        };
        let neighbours = match self.neighbours {
            0 => String::new(),
            1 => ", 1 busy neighbour".to_owned(),
            some => format!(", {some} busy neighbours"),
        };
        format!(
            "{}, {callers}{neighbours}",
            name(&self.workload, &self.case)
        )
    }

    /// Whether it stands for Dovetail, a peer or a floor. A direct call makes no call at all.
    pub(crate) fn is_compared(&self) -> bool {
        let system = self.plain_system();
        system != "direct" && !VARIANTS.contains(&system) && !self.is_across()
    }

    /// Whether its client and its server are of different systems.
    pub(crate) fn is_across(&self) -> bool {
        let (client, server) = ends(self.plain_system());
        client != server
    }

    /// The system, whether or not callers shared a connection.
    pub(crate) fn plain_system(&self) -> &str {
        self.system.trim_end_matches("-shared")
    }
}

#[cfg(test)]
impl Row {
    /// A row of the workload `w`. Callers share a connection where the name of the system says so.
    pub(crate) fn of_test(system: &str, clients: usize, calls_per_s: f64) -> Self {
        let connections = match system.ends_with("-shared") {
            true => 1,
            false => clients,
        };
        Row {
            workload: "w".to_owned(),
            case: "-".to_owned(),
            system: system.to_owned(),
            clients,
            connections,
            calls_per_s,
            ..Row::default()
        }
    }
}

/// A workload with its case, unless it has only one.
pub(crate) fn name(workload: &str, case: &str) -> String {
    match case {
        "-" => workload.to_owned(),
        case => format!("{workload} {case}"),
    }
}

/// A whole number with commas.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => figures[middle],
        _ => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

/// The largest over the smallest.
fn spread(figures: &[f64]) -> f64 {
    let most = figures.iter().copied().fold(0.0, f64::max);
    let least = figures.iter().copied().fold(f64::MAX, f64::min);
    most / least
}

/// A figure of a row by which systems are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    #[default]
    CallsPerS,
    MeanUs,
    P50Us,
    P99Us,
    P999Us,
    /// CPU time of client and server together.
    CpuUs,
}

impl Metric {
    pub(crate) fn of(self, row: &Row) -> f64 {
        match self {
            Metric::CallsPerS => row.calls_per_s,
            Metric::MeanUs => row.mean_us,
            Metric::P50Us => row.p50_us,
            Metric::P99Us => row.p99_us,
            Metric::P999Us => row.p999_us,
            Metric::CpuUs => row.client_cpu_us + row.server_cpu_us,
        }
    }

    /// More is better, whatever the figure.
    pub(crate) fn speed(self, row: &Row) -> f64 {
        match self.more_is_better() {
            true => self.of(row),
            false => 1.0 / self.of(row),
        }
    }

    /// Returns a value with its unit: `612,021` calls, or `1.31 µs`.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Metric::CallsPerS => thousands(value),
            _ => super::plot::time(value),
        }
    }

    pub(crate) fn more_is_better(self) -> bool {
        self == Metric::CallsPerS
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::CallsPerS => "calls/s",
            Metric::MeanUs => "mean µs",
            Metric::P50Us => "p50 µs",
            Metric::P99Us => "p99 µs",
            Metric::P999Us => "p99.9 µs",
            Metric::CpuUs => "CPU µs",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        let rows: &[(&[f64], f64, f64)] = &[
            (&[3.0], 3.0, 1.0),
            (&[4.0, 2.0], 3.0, 2.0),
            (&[9.0, 1.0, 2.0], 2.0, 9.0),
            (&[9.0, 1.0, 2.0, 4.0], 3.0, 9.0),
        ];
        for (figures, middle, width) in rows {
            assert_eq!(median(figures.to_vec()), *middle, "{figures:?}");
            assert_eq!(spread(figures), *width, "{figures:?}");
        }
    }
}
