//! Dovetail against its peers and against the floor, in one run: `bench/README.md` has the rules.
//!
//! `dovetail-bench suite` measures, `dovetail-bench peer` is one of the programs that are measured. Both are
//! started by `cargo xtask bench`.

mod peer;
mod suite;
mod workload;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Dovetail against its peers and against the floor, in one run.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure all systems and write the report.
    Suite(suite::Options),
    /// Run one of our own systems, or a floor, as bench/README.md says.
    Peer(peer::Options),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Suite(options) => suite::run(&options),
        Command::Peer(options) => peer::run(&options),
    }
}
