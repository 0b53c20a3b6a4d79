//! tonic, volo and tarpc under the contract of `bench/README.md`.

mod convert;
#[expect(
    dead_code,
    reason = "callers that are threads, and answers that nobody decodes"
)]
#[path = "../../../src/harness/mod.rs"]
mod harness;
mod library;
mod picks;
mod records;
mod store;
mod tarpc;
mod tonic;
mod volo;

use clap::Parser;
use harness::{Entry, Options, System};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "tonic, volo and tarpc, to be measured.")]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["picks"]) {
        picks::picks();
        return ExitCode::SUCCESS;
    }
    match harness::parse::<Cli>() {
        Ok(cli) => harness::run(&cli.options, &entries()),
        Err(code) => code,
    }
}

fn entries() -> Vec<Entry> {
    vec![
        entry(
            "tonic",
            "tonic",
            "HTTP/2 windows of 32 MiB, frames of 1 MiB",
            tonic::Tonic { sheds: false },
        ),
        entry(
            "tonic-overload",
            "tonic",
            "tower's load_shed and GlobalConcurrencyLimit of 8 calls, which run by spawn_blocking",
            tonic::Tonic { sheds: true },
        ),
        entry(
            "volo",
            "volo-thrift",
            "framed binary, checked codec, a pool of one connection for each caller",
            volo::Volo { multiplex: false },
        ),
        entry(
            "volo-multiplex",
            "volo-thrift",
            "framed binary, checked codec, several calls at a time over a connection",
            volo::Volo { multiplex: true },
        ),
        entry("tarpc", "tarpc", "TCP, bincode", tarpc::Tarpc),
    ]
}

fn entry(
    name: &'static str,
    package: &str,
    configuration: &str,
    system: impl System + 'static,
) -> Entry {
    Entry {
        name,
        version: version(package),
        configuration: format!(
            "{configuration}; tokio with a thread for each core, the system's allocator, blobs as `Bytes`"
        ),
        system: Box::new(system),
    }
}

/// Returns the version that was built.
fn version(package: &str) -> &'static str {
    let start = format!("name = \"{package}\"\nversion = \"");
    let entry = include_str!("../Cargo.lock").split_once(&start);
    let version = entry.and_then(|(_, rest)| rest.split_once('"'));
    version.map_or("unknown", |(version, _)| version)
}
