//! `cargo xtask interop`: Dovetail against every real peer, in both directions.

mod page;

use crate::peers::check::{self, Run};
use crate::peers::matrix::{Filter, Variant};
use crate::peers::{self, Contract, Peer, Status};
use crate::stage::{self, Outcome};
use clap::Args;

/// Our own program, once for each contract: its name here, its title, and what its command line
/// calls the contract.
const OURS: [(&str, &str, Contract, &str); 9] = [
    ("dovetail", "Dovetail itself", Contract::Interop, "interop"),
    (
        "dovetail-uuid",
        "Dovetail itself (uuid)",
        Contract::Uuid,
        "uuid",
    ),
    (
        "dovetail-neovim",
        "Dovetail itself (Neovim)",
        Contract::Neovim,
        "neovim",
    ),
    (
        "dovetail-grpc",
        "Dovetail itself (gRPC)",
        Contract::Grpc,
        "grpc",
    ),
    (
        "dovetail-axum",
        "Dovetail in an application of axum",
        Contract::Grpc,
        "axum",
    ),
    (
        "dovetail-testing",
        "Dovetail itself (gRPC's own cases)",
        Contract::Testing,
        "testing",
    ),
    (
        "dovetail-http2",
        "Dovetail itself (HTTP/2)",
        Contract::Http2,
        "http2",
    ),
    (
        "dovetail-http",
        "Dovetail itself (HTTP)",
        Contract::Http,
        "http",
    ),
    (
        "dovetail-capnp",
        "Dovetail itself (Cap'n Proto)",
        Contract::Capnp,
        "capnp",
    ),
];

/// A server of the library that ours has HTTP/2 from, and of nothing else: its rows in `known.toml`
/// say what is not ours.
const BARE: &str = "h2";

/// How our server can spend its threads.
const SERVERS: [Variant; 4] = [
    model("loops"),
    model("threads"),
    model("pool"),
    model("single"),
];

/// The clients that are generated.
const CLIENTS: [Variant; 2] = [client("blocking"), client("async")];

/// The models that a contract's cases are for: those of gRPC wait until their handlers are told
/// that the caller has gone.
fn servers(contract: Contract) -> &'static [Variant] {
    const LOOPS: [Variant; 1] = [model("loops")];
    match contract {
        Contract::Grpc | Contract::Testing | Contract::Http2 => &LOOPS,
        _ => &SERVERS,
    }
}

/// The clients that speak a contract's wires.
fn clients(contract: Contract) -> &'static [Variant] {
    const ASYNC: [Variant; 1] = [client("async")];
    match contract {
        Contract::Grpc | Contract::Testing | Contract::Http2 => &ASYNC,
        _ => &CLIENTS,
    }
}

const fn model(name: &'static str) -> Variant {
    Variant {
        flag: "--model",
        name,
    }
}

const fn client(name: &'static str) -> Variant {
    Variant {
        flag: "--client",
        name,
    }
}

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only these peers, by name, with commas between them; `dovetail` is Dovetail against itself.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only this protocol.
    #[arg(long)]
    protocol: Option<String>,
    /// Only this transport.
    #[arg(long)]
    transport: Option<String>,
    /// This model of our server everywhere: loops, threads, pool or single.
    #[arg(long, value_parser = SERVERS.map(|each| each.name))]
    model: Option<String>,
    /// This client of ours everywhere: blocking or async.
    #[arg(long, value_parser = CLIENTS.map(|each| each.name))]
    client: Option<String>,
    /// Write the results into docs/interop.md; for full runs only.
    #[arg(long)]
    write: bool,
}

impl Options {
    /// Whether this leaves nothing out.
    fn is_full(&self) -> bool {
        let filters = [&self.protocol, &self.transport, &self.model, &self.client];
        self.only.is_empty() && filters.iter().all(|filter| filter.is_none())
    }
}

/// The page with the results.
const PAGE: &str = "docs/interop.md";

/// Builds both sides and runs all pairs that Dovetail is in.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.write && !options.is_full() {
        return Err("--write needs a full run, without any other option".to_owned());
    }
    let results = matrix(options)?;
    match (options.write, missing(&results.peers)) {
        (false, _) => Ok(()),
        (true, Some(missing)) => Err(format!("--write needs all peers: {missing}")),
        (true, None) => write(&results),
    }
}

/// The stage of the tests: everything, and what this machine lacks is named.
pub(crate) fn stage() -> Outcome {
    match matrix(&Options::default()) {
        Err(problem) => Outcome::Failed(problem),
        Ok(results) => match missing(&results.peers) {
            None => compare(&results).map_or_else(Outcome::Failed, |()| Outcome::Passed),
            Some(missing) => Outcome::Skipped(missing),
        },
    }
}

/// The programs, and how all pairs that Dovetail is in went.
struct Results {
    peers: Vec<Peer>,
    runs: Vec<Run>,
}

impl Results {
    fn page(&self) -> Result<String, String> {
        page::text(&self.peers, &self.runs, &OURS.map(|(name, ..)| name))
    }
}

fn write(results: &Results) -> Result<(), String> {
    std::fs::write(stage::root().join(PAGE), results.page()?)
        .map_err(|error| format!("cannot write {PAGE}: {error}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// Whether the committed page says what these results do.
fn compare(results: &Results) -> Result<(), String> {
    let committed = std::fs::read_to_string(stage::root().join(PAGE)).unwrap_or_default();
    difference(&committed, &results.page()?).map_or(Ok(()), Err)
}

fn difference(committed: &str, page: &str) -> Option<String> {
    if committed == page {
        return None;
    }
    let mut old = committed.lines();
    let line = page.lines().find(|new| old.next() != Some(*new));
    let line = line.unwrap_or("(its end)");
    Some(format!(
        "{PAGE} is out of date: run `cargo xtask interop --write`, and commit it. What comes first of what is new:\n{line}"
    ))
}

fn matrix(options: &Options) -> Result<Results, String> {
    let only: Vec<&str> = options.only.iter().map(String::as_str).collect();
    let mut all = peers::prepare(&only);
    if let Some(missing) = missing(&all)
        && stage::in_ci()
    {
        return Err(format!("missing in CI: {missing}"));
    }
    all.extend(ours(options)?);
    let filter = Filter {
        protocol: options.protocol.as_deref(),
        transport: options.transport.as_deref(),
        with: &[&OURS.map(|(name, ..)| name)[..], &[BARE]].concat(),
        only: &only,
    };
    let mut runs = check::run(&all, &filter)?;
    if runs.is_empty() {
        return Err("no peer is called so, or none that speaks so".to_owned());
    }
    runs.retain(|run| run.server != BARE);
    Ok(Results { peers: all, runs })
}

fn missing(peers: &[Peer]) -> Option<String> {
    let reason = |peer: &Peer| match &peer.status {
        Status::Ready => None,
        Status::Missing { reason } => Some(format!("{} {}: {reason}", peer.name, peer.version)),
    };
    let missing: Vec<String> = peers.iter().filter_map(reason).collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Our own program.
fn ours(options: &Options) -> Result<Vec<Peer>, String> {
    let program = stage::built_program("dovetail-peer")?;
    let peer = |(name, title, contract, word): (_, _, _, &str)| Peer {
        name,
        title,
        library: "Dovetail",
        version: env!("CARGO_PKG_VERSION"),
        contract,
        command: vec![program.display().to_string(), word.to_owned()],
        servers: chosen(servers(contract), options.model.as_deref()),
        clients: chosen(clients(contract), options.client.as_deref()),
        status: Status::Ready,
    };
    let mut ours = Vec::from(OURS.map(peer));
    ours.push(Peer {
        servers: vec![model("bare")],
        ..peer((BARE, "Bare h2", Contract::Http2, "http2"))
    });
    Ok(ours)
}

/// The variant of this name, or all where none is named.
fn chosen(all: &[Variant], name: Option<&str>) -> Vec<Variant> {
    let fits = |variant: &&Variant| name.is_none_or(|name| name == variant.name);
    all.iter().filter(fits).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_is_refused_with_the_way_out() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        for (committed, first) in [("", "a"), ("a\nc\n", "b"), ("a\nb\nc\n", "(its end)")] {
            let said = difference(committed, "a\nb\n").unwrap_or_default();
            assert!(said.contains("cargo xtask interop --write"), "{said}");
            assert!(said.ends_with(first), "{said}");
        }
    }
}
