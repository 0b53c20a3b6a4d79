//! Two builds of our own systems, in rounds that alternate: is one slower than the other?

use super::host::Hosts;
use super::local::Local;
use super::plan::{self, Case};
use super::process::Deadline;
use super::round::{self, Figures};
use super::scenario::Scenario;
use super::{Result, report};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use regex::Regex;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Fewer rounds give no interval.
const LEAST_ROUNDS: u32 = 6;

/// The options of `dovetail-bench against`.
#[derive(Parser)]
pub(crate) struct Options {
    /// The `dovetail-bench` of the other build.
    base: PathBuf,
    /// Only systems and workloads for which `WORKLOAD CASE SYSTEM` matches this.
    #[arg(long, default_value = "")]
    only: Regex,
    /// Rounds of both builds; 6 at least.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(i64::from(LEAST_ROUNDS)..))]
    rounds: u32,
    /// Milliseconds of a round.
    #[arg(long, default_value_t = 1000)]
    round_ms: u64,
    /// Seconds after which a round is given up.
    #[arg(long, default_value_t = 120)]
    timeout: u64,
}

/// Measures both builds, and prints a table.
pub(crate) fn against(options: &Options) -> ExitCode {
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The two builds.
struct Builds {
    base: Hosts,
    ours: Hosts,
    timeout: Duration,
}

fn run(options: &Options) -> Result<()> {
    let builds = Builds {
        base: Hosts::Here(Local::of_build(&options.base)?),
        ours: Hosts::Here(Local::of_build(&std::env::current_exe()?)?),
        timeout: Duration::from_secs(options.timeout),
    };
    let (known, systems) = (builds.base.systems(), builds.ours.systems());
    let mut pairs = Vec::new();
    for scenario in scenarios(options)? {
        let systems = systems.keys().filter(|system| known.contains_key(*system));
        let wanted = systems.filter(|system| {
            let name = format!("{} {system}", scenario.name);
            scenario.suits(system) && options.only.is_match(&name)
        });
        pairs.extend(wanted.map(|system| (scenario.clone(), system)));
    }
    if pairs.is_empty() {
        return Err("no system that both builds have matches --only".into());
    }
    let progress = ProgressBar::new(pairs.len() as u64 * u64::from(options.rounds));
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left: {msg}")?;
    progress.set_style(style);
    let mut lines = Vec::new();
    for (scenario, system) in &pairs {
        progress.set_message(format!("{} {system}", scenario.name));
        let mut rounds = Vec::new();
        for number in 0..options.rounds {
            rounds.push(builds.round(number, scenario, system)?);
            progress.inc(1);
        }
        for figure in FIGURES {
            lines.push(line(scenario, system, figure, &rounds));
        }
    }
    progress.finish_and_clear();
    println!("this build over the other one, {} rounds\n", options.rounds);
    println!("| case | system | figure | other | this | ratio | 95 % interval | |");
    println!("|---|---|---|---:|---:|---:|---|---|");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// The cases of a quick run, in longer rounds.
fn scenarios(options: &Options) -> Result<Vec<Scenario>> {
    let mut scenarios = plan::quick()?;
    for case in scenarios
        .iter_mut()
        .flat_map(|scenario| &mut scenario.steps)
        .flatten()
    {
        *case = Case {
            calls: usize::MAX,
            limit: Some(Duration::from_millis(options.round_ms)),
            ..*case
        };
    }
    Ok(scenarios)
}

impl Builds {
    /// One round of each build; the other one begins every second time.
    fn round(&self, number: u32, scenario: &Scenario, system: &str) -> Result<[Figures; 2]> {
        let run = |hosts: &Hosts| -> Result<Figures> {
            let deadline = Deadline::after(self.timeout);
            let figures = round::run(hosts, system, scenario, deadline)?;
            let first = figures.into_iter().next();
            Ok(first.ok_or("a round without figures")?)
        };
        Ok(match number % 2 {
            0 => [run(&self.base)?, run(&self.ours)?],
            _ => {
                let ours = run(&self.ours)?;
                [run(&self.base)?, ours]
            }
        })
    }
}

/// A figure by which builds are compared.
struct Figure {
    name: &'static str,
    more_is_better: bool,
    of: fn(&Figures) -> f64,
}

const FIGURES: &[Figure] = &[
    Figure {
        name: "calls/s",
        more_is_better: true,
        of: |figures| figures.client.calls as f64 * 1e9 / figures.client.elapsed_ns as f64,
    },
    Figure {
        name: "CPU µs a call",
        more_is_better: false,
        of: |figures| {
            let cpu = figures.client.cpu_ns as f64 + figures.server.cpu_ns;
            cpu / 1e3 / figures.client.calls as f64
        },
    },
    Figure {
        name: "p99.9 µs",
        more_is_better: false,
        of: |figures| figures.client.latency.p999_ns as f64 / 1e3,
    },
];

fn line(scenario: &Scenario, system: &str, figure: &Figure, rounds: &[[Figures; 2]]) -> String {
    let of = |build: usize| {
        report::median(
            rounds
                .iter()
                .map(|pair| (figure.of)(&pair[build]))
                .collect(),
        )
    };
    let ratio = |[base, ours]: &[Figures; 2]| (figure.of)(ours) / (figure.of)(base);
    let ratios: Vec<f64> = rounds.iter().map(ratio).collect();
    let (low, high) = interval(&ratios);
    let case = scenario.cases().next();
    let case = case.map_or_else(String::new, |case| {
        report::name(case.workload, case.case) + &format!(", {} callers", case.clients)
    });
    format!(
        "| {case} | {system} | {} | {:.1} | {:.1} | {:.3} | {low:.3} to {high:.3} | {} |",
        figure.name,
        of(0),
        of(1),
        report::median(ratios),
        verdict(low, high, figure.more_is_better)
    )
}

fn verdict(low: f64, high: f64, more_is_better: bool) -> &'static str {
    match (low > 1.0, high < 1.0) {
        (false, false) => "",
        (more, _) if more == more_is_better => "better",
        _ => "WORSE",
    }
}

/// Returns the interval that holds the median with at least 95 %: the figures that as many others
/// lie outside of as a fair coin shows one side, on either end, in less than 2.5 % of all cases.
fn interval(figures: &[f64]) -> (f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let (mut outside, mut ways, mut sum) = (0, 1.0, 1.0);
    // `sum` counts the outcomes of `count` tosses with at most `outside` heads.
    while sum / 2f64.powi(count as i32) <= 0.025 {
        outside += 1;
        ways *= (count + 1 - outside) as f64 / outside as f64;
        sum += ways;
    }
    let outside = outside.saturating_sub(1);
    (sorted[outside], sorted[count - 1 - outside])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median() {
        // How many figures, and the places of the interval's ends among them, from 1: the table
        // of the sign test.
        let rows = [
            (6, 1, 6),
            (8, 1, 8),
            (9, 2, 8),
            (10, 2, 9),
            (12, 3, 10),
            (15, 4, 12),
            (20, 6, 15),
            (50, 18, 33),
        ];
        for (count, low, high) in rows {
            let figures: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            assert_eq!(
                interval(&figures),
                (f64::from(low), f64::from(high)),
                "{count}"
            );
        }
    }

    #[test]
    fn verdicts() {
        let rows = [
            (0.9, 1.1, true, ""),
            (1.01, 1.1, true, "better"),
            (1.01, 1.1, false, "WORSE"),
            (0.9, 0.99, true, "WORSE"),
            (0.9, 0.99, false, "better"),
        ];
        for (low, high, more_is_better, expected) in rows {
            assert_eq!(verdict(low, high, more_is_better), expected, "{low} {high}");
        }
    }
}
