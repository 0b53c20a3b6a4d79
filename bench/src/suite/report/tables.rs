//! The tables of the report, as data: Markdown and HTML show the same ones.

use super::{Metric, Report, Row};
use crate::suite::compare::Change;
use crate::suite::lines::Lines;
use crate::suite::ratios::{Outcome, Ratio, Targets};

pub(super) struct Table {
    pub(super) title: String,
    pub(super) note: String,
    /// The columns; the first ones, so many, hold text.
    pub(super) columns: Vec<String>,
    pub(super) text_columns: usize,
    pub(super) lines: Vec<Line>,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.note.is_empty()
    }

    /// Whether a column holds words, which begin where others begin, and not numbers, which end
    /// there.
    pub(super) fn is_text(&self, column: usize) -> bool {
        let cells = self.lines.iter().filter_map(|line| line.cells.get(column));
        let is_number = |cell: &String| {
            cell.contains(|c: char| c.is_ascii_digit()) && !cell.contains(char::is_alphabetic)
        };
        column < self.text_columns || !cells.into_iter().any(is_number)
    }
}

pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) cells: Vec<String>,
    /// The length of a bar after the second cell, up to 1.
    pub(super) bar: Option<f64>,
}

/// The subject of a line, which shows in its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Plain,
    Good,
    Bad,
    Ours,
    Floor,
    Thrift,
    Grpc,
    Other,
}

impl Kind {
    pub(super) const SYSTEMS: [(Kind, &'static str); 5] = [
        (Kind::Ours, "Dovetail"),
        (Kind::Thrift, "Thrift"),
        (Kind::Grpc, "gRPC"),
        (Kind::Other, "other peers"),
        (Kind::Floor, "floors"),
    ];

    pub(super) fn of(system: &str) -> Kind {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|p| system.starts_with(p));
        match () {
            () if starts(&["dovetail"]) => Kind::Ours,
            () if starts(&["floor", "direct"]) => Kind::Floor,
            () if starts(&["thrift", "volo"]) => Kind::Thrift,
            () if starts(&["grpc", "tonic"]) => Kind::Grpc,
            () => Kind::Other,
        }
    }

    pub(super) fn is_peer(self) -> bool {
        matches!(self, Kind::Thrift | Kind::Grpc | Kind::Other)
    }

    /// Its name in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Good => "good",
            Kind::Bad => "bad",
            Kind::Ours => "ours",
            Kind::Floor => "floor",
            Kind::Thrift => "thrift",
            Kind::Grpc => "grpc",
            Kind::Other => "other",
        }
    }
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn plain(cells: Vec<String>) -> Line {
    Line {
        kind: Kind::Plain,
        cells,
        bar: None,
    }
}

/// Three digits, or all before the point.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        most if most >= 100.0 => format!("{value:.0}"),
        some if some >= 10.0 => format!("{value:.1}"),
        few if few >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, figure)
}

/// How it went: in calls per second where callers did not wait, and else in latency.
pub(super) fn summaries(report: &Report) -> Vec<Table> {
    let (open, closed): (Vec<&[Row]>, _) = report.groups().partition(|group| group[0].is_open());
    let tables = [
        ("Summary", Metric::CallsPerS, closed),
        ("Loads over time", Metric::P99Us, open),
    ];
    let tables = tables
        .into_iter()
        .filter(|(_, _, groups)| !groups.is_empty());
    tables
        .map(|(title, metric, groups)| summary(title, metric, &groups))
        .collect()
}

/// For each case our best, the best peer and the best floor.
fn summary(title: &str, metric: Metric, groups: &[&[Row]]) -> Table {
    let line = |group: &&[Row]| {
        let best = |is: &dyn Fn(Kind) -> bool| {
            let rows = group.iter().filter(|row| row.is_compared());
            rows.filter(|row| is(Kind::of(&row.system)))
                .max_by(|a, b| metric.speed(a).total_cmp(&metric.speed(b)))
        };
        let ours = best(&|kind| kind == Kind::Ours);
        let cells = |rival: Option<&Row>| {
            let ratio = ours
                .zip(rival)
                .map(|(a, b)| metric.speed(a) / metric.speed(b));
            let text = |cell: fn(&Row) -> String| rival.map_or_else(String::new, cell);
            [
                text(|row| row.system.clone()),
                optional(rival.map(|row| metric.of(row))),
                text(percentiles),
                optional(ratio),
            ]
        };
        let [ours_name, ours_figure, ours_times, _] = cells(ours);
        let mut line = vec![group[0].title(), ours_name, ours_figure, ours_times];
        line.extend(cells(best(&Kind::is_peer)));
        line.extend(cells(best(&|kind| kind == Kind::Floor)));
        plain(line)
    };
    let name = metric.name();
    Table {
        title: title.to_owned(),
        note: format!(
            "The best of each kind, in {name}. Ratios are Dovetail over the other: more than 1 is faster. The \
             direct call is left out."
        ),
        columns: columns(&[
            "case",
            "Dovetail",
            name,
            PERCENTILES,
            "best peer",
            name,
            PERCENTILES,
            "ratio",
            "floor",
            name,
            PERCENTILES,
            "ratio",
        ]),
        text_columns: 2,
        lines: groups.iter().map(line).collect(),
    }
}

const PERCENTILES: &str = "p50 / p99 / p99.9 µs";

fn percentiles(row: &Row) -> String {
    [row.p50_us, row.p99_us, row.p999_us]
        .map(figure)
        .join(" / ")
}

/// One of our systems beside the best of others, on each case that has them all.
pub(super) fn beside(report: &Report, targets: &Targets, system: &str, over: &str) -> Table {
    let cells = |row: &Row| {
        let cpu = Metric::CpuUs.of(row);
        [figure(row.calls_per_s), percentiles(row), figure(cpu)]
    };
    let line = |group: &[Row]| {
        let rows: Vec<&Row> = group.iter().collect();
        let ours = rows.iter().find(|row| row.plain_system() == system)?;
        let best = targets.best(over, Metric::CallsPerS, &rows).ok()?;
        let mut line = vec![ours.title()];
        line.extend(cells(ours));
        line.push(best.plain_system().to_owned());
        line.extend(cells(best));
        line.push(figure(ours.calls_per_s / best.calls_per_s));
        Some(plain(line))
    };
    let closed = report.groups().filter(|group| !group[0].is_open());
    let figures = ["calls/s", PERCENTILES, "CPU µs"];
    let names = [&["case"][..], &figures, &["beside"], &figures, &["ratio"]];
    Table {
        title: format!("{system} beside others"),
        note: String::new(),
        columns: columns(&names.concat()),
        text_columns: 1,
        lines: closed.filter_map(line).collect(),
    }
}

/// The latencies of some systems on a case, the fastest first.
pub(super) fn latencies(group: &[Row]) -> Table {
    let all = case(group);
    let wanted = ["system", "calls/s", "p50", "p99", "p99.9"];
    let places = wanted.map(|name| all.columns.iter().position(|column| column == name));
    let places: Vec<usize> = places.into_iter().flatten().collect();
    let pick = |cells: &[String]| places.iter().map(|at| cells[*at].clone()).collect();
    let line = |line: &Line| plain(pick(&line.cells));
    Table {
        columns: pick(&all.columns),
        lines: all.lines.iter().map(line).collect(),
        ..all
    }
}

pub(super) fn targets(report: &Report) -> Option<Table> {
    let ratios = (!report.ratios.is_empty()).then_some(&report.ratios)?;
    let line = |ratio: &Ratio| {
        let (value, over) = match &ratio.outcome {
            Outcome::Measured { ratio, over, noisy } => {
                let mark = if *noisy { " ~" } else { "" };
                (format!("{ratio:.2}{mark}"), over.clone())
            }
            Outcome::Missing(what) => (String::new(), what.clone()),
        };
        Line {
            kind: if ratio.holds() { Kind::Good } else { Kind::Bad },
            cells: vec![
                ratio.verdict().to_owned(),
                value,
                ratio.bound.to_string(),
                ratio.metric.name().to_owned(),
                ratio.name.clone(),
                ratio.system.clone(),
                over,
                ratio.case.clone(),
            ],
            bar: None,
        }
    };
    let met = ratios.iter().filter(|ratio| ratio.holds()).count();
    Some(Table {
        title: "Targets".to_owned(),
        note: format!("{met} of {} are met.", ratios.len()),
        columns: columns(&[
            "", "ratio", "bound", "figure", "target", "system", "over", "case",
        ]),
        text_columns: 1,
        lines: ratios.iter().map(line).collect(),
    })
}

pub(super) fn changes(report: &Report) -> Option<Table> {
    let comparison = report.comparison.as_ref()?;
    let line = |change: &Change| Line {
        kind: if change.is_better() {
            Kind::Good
        } else {
            Kind::Bad
        },
        cells: vec![
            if change.is_better() {
                "better"
            } else {
                "worse"
            }
            .to_owned(),
            change.case.clone(),
            change.system.clone(),
            change.metric.name().to_owned(),
            figure(change.before),
            figure(change.now),
            format!("{:.2}", change.ratio()),
        ],
        bar: None,
    };
    let mut note = format!(
        "Rows whose calls per second or median latency differ from {} by more than the rounds do.",
        comparison.with
    );
    for (what, rows) in [("Gone", &comparison.gone), ("New", &comparison.added)] {
        if !rows.is_empty() {
            note.push_str(&format!(" {what}: {}.", rows.join("; ")));
        }
    }
    Some(Table {
        title: "Changes".to_owned(),
        note,
        columns: columns(&["", "case", "system", "figure", "before", "now", "ratio"]),
        text_columns: 4,
        lines: comparison.changes.iter().map(line).collect(),
    })
}

/// A case: every figure of every system, the fastest first.
pub(super) fn case(group: &[Row]) -> Table {
    let is_open = group[0].is_open();
    let metric = if is_open {
        Metric::P99Us
    } else {
        Metric::CallsPerS
    };
    let mut rows: Vec<&Row> = group.iter().collect();
    rows.sort_by(|a, b| metric.speed(b).total_cmp(&metric.speed(a)));
    // The direct call is so much faster that beside it all others look alike.
    let others = rows.iter().filter(|row| row.system != "direct");
    let scale = others.map(|row| row.calls_per_s).fold(1e-9, f64::max);
    // Columns that no row has anything in are left out.
    type Column = (&'static str, fn(&Row) -> String);
    const COLUMNS: [Column; 19] = [
        ("system", |row| {
            format!("{}{}", row.system, if row.noisy { " ~" } else { "" })
        }),
        ("calls/s", |row| figure(row.calls_per_s)),
        ("of before", |row| optional(row.calls_ratio)),
        ("Gb/s", |row| optional(row.gbit_per_s)),
        ("mean µs", |row| figure(row.mean_us)),
        ("sd", |row| figure(row.sd_us)),
        ("p50", |row| figure(row.p50_us)),
        ("p99", |row| figure(row.p99_us)),
        ("p99.9", |row| figure(row.p999_us)),
        ("client CPU µs", |row| figure(row.client_cpu_us)),
        ("server", |row| figure(row.server_cpu_us)),
        ("client switches", |row| figure(row.client_switches)),
        ("server", |row| figure(row.server_switches)),
        ("client syscalls", |row| optional(row.client_syscalls)),
        ("server", |row| optional(row.server_syscalls)),
        ("client MB", |row| figure(row.client_peak_kb / 1024.0)),
        ("server", |row| figure(row.server_peak_kb / 1024.0)),
        ("bytes", |row| {
            row.wire_bytes.map_or_else(String::new, |n| n.to_string())
        }),
        ("repeated rounds", |row| match row.rounds_thrown {
            0 => String::new(),
            some => some.to_string(),
        }),
    ];
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, cell)| rows.iter().any(|row| !cell(row).is_empty()))
        .collect();
    let line = |row: &&Row| Line {
        kind: Kind::of(&row.system),
        cells: shown.iter().map(|(_, cell)| cell(row)).collect(),
        // Calls that are due at fixed times are as many for all.
        bar: (!is_open).then(|| (row.calls_per_s / scale).min(1.0)),
    };
    Table {
        title: group[0].title(),
        note: String::new(),
        columns: shown.iter().map(|(name, _)| (*name).to_owned()).collect(),
        text_columns: 1,
        lines: rows.iter().map(line).collect(),
    }
}

/// The table of the article about methods A and B: a column for each number of threads.
pub(super) fn threads(rows: &[&Row]) -> Table {
    let mut clients: Vec<usize> = rows.iter().map(|row| row.clients).collect();
    clients.sort_unstable();
    clients.dedup();
    let mut systems: Vec<&str> = Vec::new();
    for row in rows {
        if !systems.contains(&row.system.as_str()) {
            systems.push(&row.system);
        }
    }
    let server = |system: &str, clients: usize| {
        let is = |row: &&&Row| row.system == system && row.clients == clients;
        rows.iter().find(is).copied()
    };
    let most = clients.last().copied().unwrap_or(1);
    let total = |system: &str| server(system, most).and_then(|row| row.gbit_per_s);
    systems.sort_by(|a, b| total(b).unwrap_or(0.0).total_cmp(&total(a).unwrap_or(0.0)));
    let line = |system: &&str| {
        let cell = |&clients: &usize| {
            server(system, clients).map_or_else(String::new, |row| {
                let all = row.gbit_per_s.unwrap_or(0.0);
                let one = figure(all / clients as f64);
                format!(
                    "{one} ± {:.0} % / {}",
                    100.0 * row.sd_us / row.mean_us,
                    figure(all)
                )
            })
        };
        Line {
            kind: Kind::of(system),
            cells: std::iter::once((*system).to_owned())
                .chain(clients.iter().map(cell))
                .collect(),
            bar: None,
        }
    };
    let names = clients.iter().map(|n| match n {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    });
    Table {
        title: format!("{} by threads", rows[0].workload),
        note: "Gb/s of data as one client sees it, ± the deviation of its calls / as the server sees it."
            .to_owned(),
        columns: std::iter::once("system".to_owned()).chain(names).collect(),
        text_columns: 1,
        lines: systems.iter().map(line).collect(),
    }
}

pub(super) fn lines(report: &Report) -> Table {
    let line = |lines: &Lines| {
        let generated = lines
            .generated
            .map_or_else(|| "not built".to_owned(), |n| n.to_string());
        Line {
            kind: Kind::of(&lines.name.to_lowercase().replace("apache ", "")),
            cells: vec![
                lines.name.clone(),
                lines.contract.to_string(),
                lines.written.to_string(),
                generated,
            ],
            bar: None,
        }
    };
    Table {
        title: "Lines of code".to_owned(),
        note: "The same service and its client in each system, without what all programs of a language share: \
               lines that are neither blank nor comments, in the contract, written by hand, and generated."
            .to_owned(),
        columns: columns(&["system", "contract", "by hand", "generated"]),
        text_columns: 1,
        lines: report.lines.iter().map(line).collect(),
    }
}

pub(super) fn machine(report: &Report) -> Table {
    let machine = report.machine.as_object();
    let entries = machine
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    let line = |(name, value): (&String, &serde_json::Value)| {
        let text = match (value.as_str(), value.as_f64()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(number)) if number.fract() != 0.0 => figure(number),
            _ => value.to_string(),
        };
        plain(vec![name.replace('_', " "), text])
    };
    Table {
        title: "Machine".to_owned(),
        note: String::new(),
        columns: columns(&["", ""]),
        text_columns: 2,
        lines: entries.map(line).collect(),
    }
}

pub(super) fn systems(report: &Report) -> Table {
    let line = |(name, about): (&String, &crate::suite::program::About)| Line {
        kind: Kind::of(name),
        cells: vec![
            name.clone(),
            about.version.clone(),
            about.configuration.clone(),
        ],
        bar: None,
    };
    Table {
        title: "Systems".to_owned(),
        note: String::new(),
        columns: columns(&["system", "version", "configuration"]),
        text_columns: 3,
        lines: report.systems.iter().map(line).collect(),
    }
}

pub(super) fn missing(report: &Report) -> Table {
    let missing = report.missing.iter();
    let line = |missing: &super::Missing| plain(vec![missing.name.clone(), missing.reason.clone()]);
    Table {
        title: "Not measured".to_owned(),
        note: String::new(),
        columns: columns(&["what", "why"]),
        text_columns: 2,
        lines: missing.map(line).collect(),
    }
}
