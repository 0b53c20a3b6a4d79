//! The chores of this repository. `cargo xtask --help` lists them.

mod bench;
mod beside;
mod check;
mod conformance;
mod dist;
mod envoy;
mod fuzz;
mod hostile;
mod identity;
mod instructions;
mod interop;
mod modules;
mod pages;
mod peer_idl;
mod peers;
mod prometheus;
mod protobuf;
mod reference;
mod registries;
mod site;
mod soak;
mod stage;
mod steps;
mod test;
mod tidy;
mod tools;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Have a channel call several stock servers that come and go.
    Balancing,
    /// Check the crates that an edit has changed: format, tidy, clippy, tests.
    Check(check::Options),
    /// Run every test: style, units, interop with real peers, fuzzing, the README's commands.
    ///
    /// Names and skips what this machine lacks; under CI=true that is a failure.
    Test(test::Options),
    /// Measure Dovetail beside its peers and the floors, and write a report.
    Bench(bench::Options),
    /// Run Connect's conformance suite against our server and our client.
    Conformance,
    /// Fetch the .thrift files that other projects ship into `target/peer-idl`.
    FetchPeerIdl,
    /// Fuzz every codec, machine and front end, on the stable compiler.
    Fuzz(fuzz::Options),
    /// Attack a running server of ours on every wire, in every model.
    Hostile(hostile::Options),
    /// Have gRPC's library for channelz look at the example shop.
    Channelz,
    /// Have stock clients show who they are, on every wire, in every model.
    Identity,
    /// Count the instructions of a call on ten paths, and compare them with the accepted ones.
    Instructions(instructions::Options),
    /// Run Dovetail against every real peer, in both directions.
    Interop(interop::Options),
    /// Count the imports between the modules of a crate, and show those that run in a circle.
    Modules(modules::Options),
    /// Build the real Thrift peers that Dovetail is proved against.
    ///
    /// Installs missing tools where that is possible, and names them with their fix where not.
    Peers(peers::Options),
    /// Have Envoy balance calls to the example shop.
    Envoy,
    /// Have a Prometheus server read the example shop.
    Prometheus,
    /// Follow the README as a newcomer does: write its files, run its commands.
    Readme,
    /// Follow the pages about clients in other languages: write their files, run their commands.
    Clients,
    /// Pack the command, built: an archive, a Debian package, and the recipe of a container.
    Dist(dist::Options),
    /// Build the documentation as a site that is searched offline, and check its links.
    Docs,
    /// Run protobuf's conformance suite against our messages.
    Protobuf,
    /// Have servers register in etcd and ZooKeeper, and a channel find them there.
    Registries,
    /// Run what takes too long for every test run, and record it in docs/soak.md.
    Soak(soak::Options),
    /// Check the rules of the house (CONTRIBUTING.md lists them).
    Tidy,
    /// Follow one trace through stock peers and two servers of ours.
    Tracing,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Balancing => beside::balancing().into_result(),
        Command::Bench(options) => bench::run(&options),
        Command::Channelz => beside::channelz().into_result(),
        Command::Check(options) => check::run(&options),
        Command::Conformance => conformance::run(),
        Command::FetchPeerIdl => peer_idl::run(),
        Command::Fuzz(options) => fuzz::run_options(&options),
        Command::Hostile(options) => hostile::run(&options),
        Command::Identity => identity::run(),
        Command::Instructions(options) => instructions::run(&options),
        Command::Interop(options) => interop::run(&options),
        Command::Modules(options) => modules::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Envoy => envoy::run(),
        Command::Prometheus => prometheus::run(),
        Command::Readme => pages::readme().into_result(),
        Command::Clients => pages::clients().into_result(),
        Command::Dist(options) => dist::run(&options),
        Command::Docs => site::run(),
        Command::Protobuf => protobuf::run(),
        Command::Registries => registries::run(),
        Command::Soak(options) => soak::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Tracing => beside::tracing().into_result(),
        Command::Tidy => tidy::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
