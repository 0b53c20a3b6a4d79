//! The coordinator: measures, or reads what was measured before, judges, and reports.

pub(crate) mod against;
mod claims;
mod compare;
mod counts;
pub(crate) mod host;
mod lines;
pub(crate) mod local;
pub(crate) mod machine;
mod measure;
mod neighbours;
mod overload;
mod plan;
pub(crate) mod process;
mod profile;
mod program;
mod ratios;
mod relay;
mod remote;
pub(crate) mod report;
mod round;
mod scenario;

use clap::Args;
use local::Programs;
use profile::Profile;
use ratios::Targets;
use regex::Regex;
use report::Report;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    programs: Programs,
    /// Run servers on the host of the agent at HOST:PORT.
    #[arg(long, requires = "client_agent", conflicts_with_all = ["program", "missing"])]
    server_agent: Option<String>,
    /// Run clients on the host of the agent at HOST:PORT.
    #[arg(long, requires_all = ["server_agent", "token_file"])]
    client_agent: Option<String>,
    /// A file with the secret that both agents know.
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// Measure a load that changes over time, instead of the cases; can be repeated.
    #[arg(long)]
    profile: Vec<Profile>,
    /// Seconds of each step of a profile.
    #[arg(long, default_value_t = 2.0)]
    step: f64,
    /// Measure nothing but servers that get more calls than they can do, for so many seconds at
    /// each load.
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["profile", "full", "from"])]
    overload: Option<f64>,
    /// Let so many threads compute beside every case. Without it, a run has small calls
    /// beside one and two.
    #[arg(long, value_name = "THREADS", default_value_t = 0)]
    neighbours: usize,
    /// All cases; otherwise a cut of ten minutes.
    #[arg(long)]
    full: bool,
    /// Only systems and workloads for which `WORKLOAD CASE SYSTEM` matches this.
    #[arg(long, default_value = "")]
    only: Regex,
    /// Seconds after which a run of one system on one case is given up, and its processes are
    /// killed.
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    /// The folder that peers were built in, where the lines of generated code are counted.
    #[arg(long, default_value = "target/bench")]
    builds: PathBuf,
    /// The folder for the report.
    #[arg(long)]
    out: PathBuf,
    /// Measure nothing: take this report.json.
    #[arg(long, value_name = "REPORT")]
    from: Option<PathBuf>,
    /// Show what has changed since this report.json by more than the rounds differ.
    #[arg(long, value_name = "REPORT")]
    compare: Option<PathBuf>,
    /// Judge the ratios of this file, as bench/ratios.toml; exit code 1 if one falls short.
    #[arg(long, value_name = "RATIOS")]
    assert: Option<PathBuf>,
    /// Write tables and sentences about this run into a page, between its marks, and a plot beside
    /// it.
    #[arg(long, value_name = "PAGE", requires = "claims")]
    publish: Option<PathBuf>,
    /// The file that has those sentences, as bench/ratios.toml.
    #[arg(long, value_name = "RATIOS", requires = "publish")]
    claims: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    match work(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all targets are met.
fn work(options: &Options) -> Result<bool> {
    if let Some(seconds) = options.overload {
        return overload::run(options, seconds).map(|()| true);
    }
    // A report that cannot be read is an error before the long part.
    let old = options.compare.as_deref().map(Report::read).transpose()?;
    let targets = options.assert.as_deref().or(options.claims.as_deref());
    let targets = targets.map(Targets::read).transpose()?;
    let mut report = match &options.from {
        Some(file) => Report::read(file)?,
        None => measure::measure(options)?,
    };
    if let Some((old, file)) = old.zip(options.compare.as_ref()) {
        report.compare(file, &old);
    }
    if let Some(targets) = &targets {
        report.judge(targets);
    }
    println!("{}", report.write(&options.out)?);
    if let Some((page, targets)) = options.publish.as_ref().zip(targets) {
        report::publish(page, &report, &targets)?;
    }
    Ok(options.assert.is_none() || report.is_good())
}
