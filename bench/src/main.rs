//! `dovetail-bench small-call`: the time of one small call, by one blocking client, of every system beside
//! the floors, in one run. Client and server are processes of their own.

mod floor;
mod ours;
mod small_call;

use clap::{Parser, Subcommand};
use dovetail::Model;
use floor::Wait;
use std::error::Error;
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Dovetail against its peers and against the floor, in one run.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare all systems: interleaved rounds, the median of each.
    SmallCall {
        /// Calls of each system in a round.
        #[arg(long, default_value_t = 20_000)]
        calls: usize,
        /// Rounds; each runs every system once.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// The Apache Thrift C++ program that `cargo xtask bench` builds.
        #[arg(long)]
        thrift_cpp: Option<PathBuf>,
    },
    /// Run the server of one of our own systems: prints `READY <port>`.
    Server { system: Own },
    /// Run the client of one of our own systems: prints the time of each call, in ns.
    Client {
        system: Own,
        port: u16,
        calls: usize,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Own {
    FloorTcp,
    FloorTcpPoll,
    DovetailThreads,
    DovetailLoops,
}

fn main() -> Result<(), Box<dyn Error>> {
    match Cli::parse().command {
        Command::SmallCall {
            calls,
            rounds,
            thrift_cpp,
        } => small_call::run(calls, rounds, thrift_cpp),
        Command::Server { system } => {
            match system {
                Own::FloorTcp => floor::serve(Wait::Block)?,
                Own::FloorTcpPoll => floor::serve(Wait::Poll)?,
                Own::DovetailThreads => ours::serve(Model::ThreadPerConnection)?,
                Own::DovetailLoops => ours::serve(Model::EventLoops(None))?,
            }
            Ok(())
        }
        Command::Client {
            system,
            port,
            calls,
        } => {
            let times = match system {
                Own::FloorTcp => floor::call(port, calls, Wait::Block)?,
                Own::FloorTcpPoll => floor::call(port, calls, Wait::Poll)?,
                Own::DovetailThreads | Own::DovetailLoops => ours::call(port, calls, "binary")?,
            };
            let lines: Vec<String> = times.iter().map(u64::to_string).collect();
            println!("{}", lines.join("\n"));
            Ok(())
        }
    }
}
