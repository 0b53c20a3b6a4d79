//! The coordinator: runs every system of every program on every case, in interleaved rounds, and reports.

mod machine;
mod plan;
mod process;
mod program;
mod relay;
mod report;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use plan::Case;
use process::Figures;
use program::Program;
use regex::Regex;
use report::{Missing, Report, Row};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Args)]
pub(crate) struct Options {
    /// A program under the contract of bench/README.md, beside our own; can be repeated.
    #[arg(long)]
    program: Vec<PathBuf>,
    /// A program that could not be built, and why: `NAME: REASON`; can be repeated.
    #[arg(long)]
    missing: Vec<String>,
    /// All cases; otherwise a cut of less than three minutes.
    #[arg(long)]
    full: bool,
    /// Only systems and workloads for which `WORKLOAD CASE SYSTEM` matches this.
    #[arg(long, default_value = "")]
    only: Regex,
    /// Where the report goes.
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    match measure(options).and_then(|report| report.write(&options.out)) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A system on a case, and what its rounds gave.
struct Entry<'a> {
    case: &'a Case,
    program: &'a Program,
    system: &'a str,
    rounds: Vec<Figures>,
    failed: Option<String>,
}

fn measure(options: &Options) -> Result<Report> {
    let programs = programs(options)?;
    let cases = plan::cases(options.full);
    let mut entries = entries(&programs, &cases, &options.only);
    let rounds = if options.full { 5 } else { 2 };
    let progress = ProgressBar::new((rounds * entries.len()) as u64);
    progress.set_style(ProgressStyle::with_template(
        "{wide_bar} {pos}/{len}, {eta} left: {msg}",
    )?);
    // A B C A B C: what disturbs the machine for a while disturbs all alike.
    for group in entries.chunk_by_mut(|a, b| std::ptr::eq(a.case, b.case)) {
        for _ in 0..rounds {
            for entry in group.iter_mut().filter(|entry| entry.failed.is_none()) {
                progress.set_message(format!("{} {}", entry.case.workload, entry.system));
                match process::run(entry.program, entry.system, entry.case) {
                    Ok(figures) => entry.rounds.push(figures),
                    Err(error) => entry.failed = Some(error.to_string()),
                }
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Ok(report(options, &programs, entries))
}

fn programs(options: &Options) -> Result<Vec<Program>> {
    let own = Program::describe(&std::env::current_exe()?, &["peer"])?;
    let others = options
        .program
        .iter()
        .map(|path| Program::describe(path, &[]));
    std::iter::once(Ok(own)).chain(others).collect()
}

fn entries<'a>(programs: &'a [Program], cases: &'a [Case], only: &Regex) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for case in cases {
        for program in programs {
            for system in program.systems.keys().filter(|system| case.suits(system)) {
                if only.is_match(&format!("{} {} {system}", case.workload, case.case)) {
                    entries.push(Entry {
                        case,
                        program,
                        system,
                        rounds: Vec::new(),
                        failed: None,
                    });
                }
            }
        }
    }
    entries
}

fn report(options: &Options, programs: &[Program], entries: Vec<Entry<'_>>) -> Report {
    let missing = options.missing.iter().map(|text| {
        let (name, why) = text.split_once(": ").unwrap_or((text, ""));
        Missing::new(name, why)
    });
    let failed = entries.iter().filter_map(|entry| {
        let what = format!(
            "{} on {} {}",
            entry.system, entry.case.workload, entry.case.case
        );
        Some(Missing::new(&what, entry.failed.as_deref()?))
    });
    Report {
        machine: machine::describe(),
        systems: programs
            .iter()
            .flat_map(|program| program.systems.clone())
            .collect(),
        missing: missing.chain(failed).collect(),
        rows: entries
            .iter()
            .filter(|entry| !entry.rounds.is_empty())
            .map(|entry| {
                // Two more runs for each row: too long for a quick one.
                let count = || relay::wire_bytes(entry.program, entry.system, entry.case).ok();
                let wire_bytes = options.full.then(count).flatten();
                Row::new(entry.case, entry.system, &entry.rounds, wire_bytes)
            })
            .collect(),
    }
}
