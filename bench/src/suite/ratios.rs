//! Targets: what a system must reach beside others of the same run.

use super::Result;
use super::claims::Claim;
use super::report::{Metric, Row};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file of targets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Targets {
    /// Systems under one name: regular expressions for their names, each of which must find at
    /// least one.
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    target: Vec<Target>,
    /// The sentences of the page about a run.
    #[serde(default)]
    claim: Vec<Claim>,
    /// The cases of the plot that the page has, by their titles.
    #[serde(default)]
    plot: Vec<String>,
    /// Those of the plot of latencies.
    #[serde(default)]
    tails: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    why: String,
    rows: Vec<Rows>,
    metric: Metric,
    /// A group, or a regular expression for systems: the best of them on the same case is what rows
    /// are divided by.
    over: String,
    /// The connections of their rows, where they differ from those of `rows`.
    over_connections: Option<Connections>,
    #[serde(flatten)]
    bound: Bound,
}

/// The rows of one case that must reach it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    workload: String,
    case: String,
    clients: Vec<usize>,
    connections: Connections,
    /// Threads that compute beside it.
    #[serde(default)]
    neighbours: usize,
    systems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Connections {
    /// Each caller has one.
    Own,
    /// All callers have one together.
    Shared,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn admits(self, ratio: f64) -> bool {
        match self {
            Bound::AtLeast(bound) => ratio >= bound,
            Bound::AtMost(bound) => ratio <= bound,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::AtLeast(bound) => write!(f, "≥ {bound}"),
            Bound::AtMost(bound) => write!(f, "≤ {bound}"),
        }
    }
}

/// How a row stands to a target.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) name: String,
    pub(crate) why: String,
    pub(crate) case: String,
    pub(crate) system: String,
    pub(crate) metric: Metric,
    pub(crate) bound: Bound,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Measured {
        ratio: f64,
        /// The system that the row was divided by.
        over: String,
        noisy: bool,
    },
    Missing(String),
}

impl Ratio {
    pub(crate) fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Measured { ratio, .. } if self.bound.admits(ratio))
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match self.outcome {
            Outcome::Missing(_) => "missing",
            Outcome::Measured { .. } if self.holds() => "ok",
            Outcome::Measured { .. } => "short",
        }
    }
}

impl Targets {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        Targets::parse(&text).map_err(|e| format!("{}: {e}", file.display()).into())
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let targets: Targets = toml::from_str(text)?;
        for target in &targets.target {
            targets.patterns(&target.over)?;
        }
        Ok(targets)
    }

    /// For each kind of system that must be there its pattern, and what finds whole names by it.
    fn patterns<'a>(&'a self, over: &'a str) -> Result<Vec<(&'a str, Regex)>> {
        let group = self.groups.get(over);
        let patterns = match group {
            Some(group) => group.iter().map(String::as_str).collect(),
            None => vec![over],
        };
        let whole = |pattern: &'a str| Ok((pattern, Regex::new(&format!("^(?:{pattern})$"))?));
        patterns.into_iter().map(whole).collect()
    }

    /// Returns the best row of a group, or of the systems that match a regular expression. An error
    /// where a kind of system has none.
    pub(super) fn best<'r>(&self, over: &str, metric: Metric, rows: &[&'r Row]) -> Result<&'r Row> {
        let mut rivals: Vec<&Row> = Vec::new();
        for (name, pattern) in self.patterns(over)? {
            let before = rivals.len();
            let found = rows.iter().copied().filter(|row| !row.is_across());
            rivals.extend(found.filter(|row| pattern.is_match(row.plain_system())));
            if rivals.len() == before {
                return Err(format!("no row of {name}").into());
            }
        }
        let best = rivals.into_iter();
        let best = best.max_by(|a, b| metric.speed(a).total_cmp(&metric.speed(b)));
        Ok(best.ok_or("an empty group")?)
    }

    /// Returns the sentences about a run. An error where a row is missing that one needs.
    pub(super) fn claims(&self, rows: &[Row]) -> Result<Vec<String>> {
        self.claim
            .iter()
            .map(|claim| claim.render(self, rows))
            .collect()
    }

    pub(super) fn plotted(&self) -> &[String] {
        &self.plot
    }

    pub(super) fn tails(&self) -> &[String] {
        &self.tails
    }

    /// Every ratio, in the order of the file.
    pub(crate) fn judge(&self, rows: &[Row]) -> Vec<Ratio> {
        let mut ratios = Vec::new();
        for target in &self.target {
            let settings = target.rows.iter().flat_map(|wanted| {
                let clients = wanted.clients.iter();
                clients.map(move |clients| (wanted, *clients))
            });
            for (wanted, clients) in settings {
                let rows_of = |connections: Connections| -> Vec<&Row> {
                    let on = |row: &&Row| wanted.is_on(row, clients, connections);
                    rows.iter().filter(on).collect()
                };
                let ours = rows_of(wanted.connections);
                let theirs = rows_of(target.over_connections.unwrap_or(wanted.connections));
                for system in &wanted.systems {
                    ratios.push(Ratio {
                        name: target.name.clone(),
                        why: target.why.clone(),
                        case: wanted.title(clients),
                        system: system.clone(),
                        metric: target.metric,
                        bound: target.bound,
                        outcome: self
                            .outcome(target, system, &ours, &theirs)
                            .unwrap_or_else(|missing| Outcome::Missing(missing.to_string())),
                    });
                }
            }
        }
        ratios
    }

    fn outcome(
        &self,
        target: &Target,
        system: &str,
        ours: &[&Row],
        theirs: &[&Row],
    ) -> Result<Outcome> {
        let row = ours.iter().find(|row| row.plain_system() == system);
        let row = row.ok_or_else(|| format!("no row of {system}"))?;
        let best = self.best(&target.over, target.metric, theirs)?;
        Ok(Outcome::Measured {
            ratio: target.metric.of(row) / target.metric.of(best),
            over: best.system.clone(),
            noisy: row.noisy || best.noisy,
        })
    }
}

impl Connections {
    fn of(self, clients: usize) -> usize {
        match self {
            Connections::Own => clients,
            Connections::Shared => 1,
        }
    }
}

impl Rows {
    fn is_on(&self, row: &Row, clients: usize, connections: Connections) -> bool {
        let connections = connections.of(clients);
        row.group()
            == (
                &self.workload,
                &self.case,
                clients,
                connections,
                self.neighbours,
            )
    }

    fn title(&self, clients: usize) -> String {
        let row = Row {
            workload: self.workload.clone(),
            case: self.case.clone(),
            clients,
            connections: self.connections.of(clients),
            neighbours: self.neighbours,
            ..Row::default()
        };
        row.title()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::counts::Counts;
    use crate::suite::plan::Case;
    use crate::suite::scenario::Label;

    fn row(system: &str, clients: usize, calls_per_s: f64, mean_us: f64) -> Row {
        Row {
            mean_us,
            ..Row::of_test(system, clients, calls_per_s)
        }
    }

    #[test]
    fn ratios_of_the_best() {
        let rows = [
            row("ours", 1, 300.0, 5.0),
            row("peer-a", 1, 100.0, 10.0),
            row("peer-b", 1, 150.0, 20.0),
            row("ours", 8, 100.0, 5.0),
            row("ours-shared", 8, 500.0, 5.0),
            row("peer-a-shared", 8, 100.0, 10.0),
        ];
        // Clients, connections, metric, over, bound; the ratio and the verdict.
        let checks = [
            (
                1,
                "own",
                "calls_per_s",
                "peer-a",
                "at_least = 3.0",
                "3.00 ok",
            ),
            (
                1,
                "own",
                "calls_per_s",
                "peer-.*",
                "at_least = 3.0",
                "2.00 short",
            ),
            (
                1,
                "own",
                "calls_per_s",
                "peers",
                "at_least = 2.0",
                "2.00 ok",
            ),
            (1, "own", "mean_us", "peers", "at_most = 0.5", "0.50 ok"),
            (1, "own", "mean_us", "peer-b", "at_most = 0.2", "0.25 short"),
            (1, "own", "mean_us", "peer", "at_most = 9.0", "missing"),
            (1, "own", "mean_us", "all", "at_most = 9.0", "missing"),
            (2, "own", "mean_us", "peers", "at_most = 9.0", "missing"),
            (8, "own", "mean_us", "peers", "at_most = 9.0", "missing"),
            (
                8,
                "shared",
                "calls_per_s",
                "peer-a",
                "at_least = 2.0",
                "5.00 ok",
            ),
        ];
        for (clients, connections, metric, over, bound, expected) in checks {
            let text = format!(
                "groups = {{ peers = ['peer-a', 'peer-.*'], all = ['peer-a', 'lost'] }}\n\
                 [[target]]\nname = 'n'\nwhy = 'w'\nmetric = '{metric}'\nover = '{over}'\n{bound}\n\
                 rows = [{{ workload = 'w', case = '-', clients = [{clients}], connections = '{connections}', systems = ['ours'] }}]"
            );
            let ratio = Targets::parse(&text).map(|targets| targets.judge(&rows).remove(0));
            let found = ratio.map(|ratio| match ratio.outcome {
                Outcome::Measured { ratio: value, .. } => format!("{value:.2} {}", ratio.verdict()),
                Outcome::Missing(_) => ratio.verdict().to_owned(),
            });
            assert_eq!(found.unwrap_or_else(|e| e.to_string()), expected, "{text}");
        }
    }

    #[test]
    fn our_own_file_is_good() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/ratios.toml");
        let missing = Targets::read(Path::new(file)).map(|targets| targets.judge(&[]));
        assert!(missing.is_ok_and(|ratios| ratios.len() > 10));
    }

    #[test]
    fn a_quick_run_holds_all_of_our_own_file() {
        const PEERS: &str = "thrift-cpp thrift-cpp-64k thrift-cpp-compact-64k thrift-cpp-nonblocking thrift-go \
                             thrift-go-framed grpc-cpp grpc-cpp-callback grpc-go tonic volo volo-multiplex \
                             tarpc capnp-cpp";
        let systems = crate::peer::names();
        let systems = || systems.iter().copied().chain(PEERS.split_whitespace());
        let quick = crate::suite::plan::quick().unwrap_or_else(|error| panic!("{error}"));
        let rows: Vec<Row> = quick
            .iter()
            .flat_map(|scenario| {
                let systems: Vec<_> = systems().filter(|system| scenario.suits(system)).collect();
                let labelled = scenario.cases().zip(scenario.labels());
                let rows = move |(case, label): (&Case, Label)| {
                    let row = |system: &&str| Row {
                        workload: label.workload.clone(),
                        case: label.case.clone(),
                        ..Row::new(case, system, &[], &Counts::default())
                    };
                    systems.iter().map(row).collect::<Vec<_>>()
                };
                labelled.flat_map(rows).collect::<Vec<_>>()
            })
            .collect();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/ratios.toml");
        let targets = Targets::read(Path::new(file)).unwrap_or_else(|error| panic!("{error}"));
        for ratio in targets.judge(&rows) {
            let (name, case) = (&ratio.name, &ratio.case);
            let is_held = matches!(ratio.outcome, Outcome::Measured { .. });
            assert!(is_held, "{name}: {case}: {:?}", ratio.outcome);
        }
        let claims = targets.claims(&rows);
        assert!(claims.is_ok(), "{claims:?}");
        for title in targets.plotted().iter().chain(targets.tails()) {
            assert!(rows.iter().any(|row| row.title() == *title), "{title}");
        }
    }
}
