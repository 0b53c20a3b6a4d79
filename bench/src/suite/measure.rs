//! Runs every system on every case, in interleaved rounds.

use super::counts::{Counter, Counts};
use super::host::Hosts;
use super::neighbours::Others;
use super::plan::{self, Case};
use super::process::Deadline;
use super::report::{Missing, Report, Row};
use super::round::{self, Figures};
use super::scenario::{Label, Scenario};
use super::{Options, Result, lines};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::Duration;

/// The rounds of a row that are repeated, at most: on a machine that is busy all the time none
/// would be left.
const THROWN: usize = 5;

/// A system on a scenario, and what its rounds gave.
struct Entry<'a> {
    scenario: &'a Scenario,
    system: &'a str,
    /// The figures of each case.
    rounds: Vec<Vec<Figures>>,
    failed: Option<String>,
    /// Rounds that were repeated, as others disturbed them.
    thrown: usize,
    counts: Vec<Counts>,
}

impl Entry<'_> {
    /// Runs one more round, unless an earlier one failed. Repeats it while others disturb it.
    fn round(&mut self, hosts: &Hosts, timeout: Duration) {
        while self.failed.is_none() {
            let deadline = Deadline::after(timeout + self.scenario.duration());
            // Agents are other programs, at work for the suite.
            let others = hosts.local().map(|_| Others::now());
            let figures = round::run(hosts, self.system, self.scenario, deadline);
            let is_disturbed = others.is_some_and(|before| Others::now().disturbed_since(&before));
            if self.thrown < THROWN && is_disturbed {
                self.thrown += 1;
                continue;
            }
            match figures {
                Ok(figures) => return self.rounds.push(figures),
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
    }

    /// Counts each case, where that is possible.
    fn count(&mut self, hosts: &Hosts, counter: &mut Counter) {
        let program = hosts
            .local()
            .and_then(|local| local.program(self.system).ok());
        let mut count = |case: &Case| {
            program.map_or_else(Counts::default, |program| {
                counter.count(program, self.system, case)
            })
        };
        self.counts = self.scenario.cases().map(&mut count).collect();
    }

    fn rows(&self) -> Vec<Row> {
        if self.rounds.is_empty() {
            return Vec::new();
        }
        let cases = self
            .scenario
            .cases()
            .zip(self.scenario.labels())
            .zip(&self.counts);
        let row = |(index, ((case, label), counts)): (usize, ((&Case, Label), &Counts))| {
            let rounds: Vec<&Figures> = self.rounds.iter().map(|round| &round[index]).collect();
            Row {
                workload: label.workload,
                case: label.case,
                step: label.step,
                rounds_thrown: self.thrown,
                ..Row::new(case, self.system, &rounds, counts)
            }
        };
        cases.enumerate().map(row).collect()
    }

    fn failure(&self) -> Option<Missing> {
        let what = format!("{} on {}", self.system, self.scenario.name);
        Some(Missing::new(&what, self.failed.as_deref()?))
    }
}

pub(super) fn measure(options: &Options) -> Result<Report> {
    let (hosts, mut missing) = Hosts::of(options)?;
    let (systems, scenarios) = (hosts.systems(), plan::scenarios(options)?);
    let names: Vec<&str> = systems.keys().map(String::as_str).collect();
    missing.extend(plan::left_out(options, &names)?);
    let mut entries = entries(&names, &scenarios, &|scenario, system| {
        let name = format!("{} {system}", scenario.name);
        options.only.is_match(&name) && (hosts.local().is_some() || !plan::needs_one_host(system))
    });
    let rounds = if options.full { 5 } else { 3 };
    let timeout = Duration::from_secs(options.timeout);
    let mut counter = Counter::new(options.full, timeout);
    missing.extend(match hosts.local() {
        Some(_) => counter.missing(),
        None => Some(Missing::new(
            "bytes on the wire and system calls",
            "they are only counted where both ends are on one host",
        )),
    });
    let progress = ProgressBar::new(((rounds + 1) * entries.len()) as u64);
    progress.set_style(ProgressStyle::with_template(
        "{wide_bar} {pos}/{len}, {eta} left: {msg}",
    )?);
    for group in entries.chunk_by_mut(|a, b| std::ptr::eq(a.scenario, b.scenario)) {
        let step = |entry: &Entry<'_>| {
            progress.inc(1);
            progress.set_message(format!("{} {}", entry.scenario.name, entry.system));
        };
        // A B C A B C: a disturbance of the machine then hits all systems alike.
        for _ in 0..rounds {
            for entry in group.iter_mut() {
                step(entry);
                entry.round(&hosts, timeout);
            }
        }
        for entry in group.iter_mut() {
            step(entry);
            entry.count(&hosts, &mut counter);
        }
    }
    progress.finish_and_clear();
    missing.extend(entries.iter().filter_map(Entry::failure));
    let (machine, lacking) = hosts.machine();
    missing.extend(lacking);
    let rows = scenarios
        .iter()
        .flat_map(|scenario| rows(&entries, scenario))
        .collect();
    Ok(Report {
        machine,
        missing,
        lines: lines::count(Path::new(env!("CARGO_MANIFEST_DIR")), &options.builds)?,
        ratios: Vec::new(),
        comparison: None,
        rows,
        systems,
    })
}

fn entries<'a>(
    systems: &[&'a str],
    scenarios: &'a [Scenario],
    wanted: &dyn Fn(&Scenario, &str) -> bool,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for scenario in scenarios {
        for &system in systems {
            if scenario.suits(system) && wanted(scenario, system) {
                entries.push(Entry {
                    scenario,
                    system,
                    rounds: Vec::new(),
                    failed: None,
                    thrown: 0,
                    counts: Vec::new(),
                });
            }
        }
    }
    entries
}

/// The rows of a scenario: all systems on its first case, then on the next one.
fn rows(entries: &[Entry<'_>], scenario: &Scenario) -> Vec<Row> {
    let entries = entries
        .iter()
        .filter(|entry| std::ptr::eq(entry.scenario, scenario));
    let mut systems: Vec<_> = entries.map(|entry| entry.rows().into_iter()).collect();
    let case = |_| {
        systems
            .iter_mut()
            .filter_map(Iterator::next)
            .collect::<Vec<_>>()
    };
    scenario.cases().flat_map(case).collect()
}
