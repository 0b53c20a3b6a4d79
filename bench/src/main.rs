//! Dovetail against its peers and against the floor, in one run: `bench/README.md` has the rules.
//!
//! `dovetail-bench suite` measures, `dovetail-bench peer` is one of the programs that are measured,
//! `dovetail-bench agent` starts programs for a suite on another host, `dovetail-bench simulate`
//! runs the policies of channels in a simulation, `dovetail-bench picks` measures them, and
//! `dovetail-bench against` measures two builds in turn. They are started by `cargo xtask bench`.

mod agent;
mod harness;
mod peer;
mod picks;
mod simulation;
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
    Suite(Box<suite::Options>),
    /// Run clients and servers in a simulation, and write plots of how the policies of channels
    /// behave.
    Simulate(simulation::Options),
    /// Measure how long the choice of a server takes, beside the balancers of peers.
    Picks(picks::Options),
    /// Measure this build beside another one, in rounds that alternate.
    Against(suite::against::Options),
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
    pub(crate) use dovetail::types::Bytes;
}

fn main() -> ExitCode {
    match harness::parse::<Cli>() {
        Ok(Cli {
            command: Command::Suite(options),
        }) => suite::run(&options),
        Ok(Cli {
            command: Command::Simulate(options),
        }) => simulation::simulate(&options),
        Ok(Cli {
            command: Command::Picks(options),
        }) => picks::picks(&options),
        Ok(Cli {
            command: Command::Against(options),
        }) => suite::against::against(&options),
        Ok(Cli {
            command: Command::Agent(options),
        }) => agent::run(&options),
        Ok(Cli {
            command: Command::Peer(options),
        }) => peer::run(&options),
        Err(code) => code,
    }
}
