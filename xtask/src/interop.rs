//! `cargo xtask interop`: Dovetail against every real peer, in both directions.

use crate::peers::check::{self, Filter};
use crate::peers::{self, Contract, Peer, Status};
use crate::stage::{self, Outcome};
use clap::Args;

const OURS: &str = "dovetail";

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only these peers, by name, with commas between them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only this protocol.
    #[arg(long)]
    protocol: Option<String>,
    /// Only this transport.
    #[arg(long)]
    transport: Option<String>,
}

/// Builds both sides and runs all pairs that Dovetail is in.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let only: Vec<&str> = options.only.iter().map(String::as_str).collect();
    let mut all = peers::prepare(&only);
    if let Some(missing) = missing(&all)
        && stage::in_ci()
    {
        return Err(format!("missing in CI: {missing}"));
    }
    all.push(ours()?);
    let filter = Filter {
        protocol: options.protocol.as_deref(),
        transport: options.transport.as_deref(),
        with: Some(OURS),
    };
    check::run(&all, &filter)
}

/// The stage of the tests: everything, and what this machine lacks is named.
pub(crate) fn stage() -> Outcome {
    match run(&Options::default()) {
        Err(problem) => Outcome::Failed(problem),
        Ok(()) => match missing(&peers::prepare(&[])) {
            None => Outcome::Passed,
            Some(missing) => Outcome::Skipped(missing),
        },
    }
}

fn missing(peers: &[Peer]) -> Option<String> {
    let reason = |peer: &Peer| match &peer.status {
        Status::Ready => None,
        Status::Missing { reason } => Some(format!("{} {}: {reason}", peer.name, peer.version)),
    };
    let missing: Vec<String> = peers.iter().filter_map(reason).collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Our own program, built like the tests, so that debug assertions are on.
fn ours() -> Result<Peer, String> {
    match stage::command(&["cargo", "build", "--quiet", "--package", "dovetail-peer"]) {
        Outcome::Passed => {}
        Outcome::Skipped(why) | Outcome::Failed(why) => return Err(why),
    }
    Ok(Peer {
        name: OURS,
        version: env!("CARGO_PKG_VERSION"),
        contract: Contract::Interop,
        command: vec![
            stage::root()
                .join("target/debug/dovetail-peer")
                .display()
                .to_string(),
        ],
        status: Status::Ready,
    })
}
