//! Dovetail against its peers and against the floor, in one run: `bench/README.md` has the rules.
//!
//! `dovetail-bench suite` measures, `dovetail-bench peer` is one of the programs that are measured, and
//! `dovetail-bench agent` starts programs for a suite on another host. They are started by `cargo xtask bench`.

mod agent;
mod harness;
mod peer;
mod suite;

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
    /// Start programs on this host, for a suite on another one.
    Agent(agent::Options),
    /// Run one of our own systems, or a floor, as bench/README.md says.
    Peer(harness::Options),
}

/// The plain types of the contract.
mod records {
    pub(crate) use crate::peer::contract::bench::{
        Date, Mark, Message, Nested, Row, Sample, Semester, Student,
    };
    pub(crate) use dovetail::Bytes;
}

fn main() -> ExitCode {
    match harness::parse::<Cli>() {
        Ok(Cli {
            command: Command::Suite(options),
        }) => suite::run(&options),
        Ok(Cli {
            command: Command::Agent(options),
        }) => agent::run(&options),
        Ok(Cli {
            command: Command::Peer(options),
        }) => peer::run(&options),
        Err(code) => code,
    }
}
