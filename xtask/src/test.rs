//! `cargo xtask test`: everything that CI runs, and nothing that CI does not.

use crate::stage::{self, Outcome, Report};
use crate::tools::{self, CHROMIUM};
use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Only the stages whose name contains this text.
    #[arg(long)]
    only: Option<String>,
    /// Print the names of the stages, and run none.
    #[arg(long)]
    list: bool,
}

type Stage = (&'static str, fn() -> Outcome);

const STAGES: &[Stage] = &[
    ("format", stage::format),
    ("tidy", crate::tidy::stage),
    ("lint", lint),
    ("unit and integration tests", || {
        stage::command(&["cargo", "test", "--workspace", "--quiet", "--no-fail-fast"])
    }),
    ("readme", crate::pages::readme),
    ("docs as a site", crate::site::stage),
    ("packages for the registry", packages),
    ("archives of the command", crate::dist::stage),
    ("every order of shared accesses", every_order),
    ("reference decoder", crate::reference::stage),
    ("without an async runtime", without_runtime),
    ("fuzz", crate::fuzz::stage),
    ("hostile peers", crate::hostile::stage),
    ("instructions of a call", crate::instructions::stage),
    ("interop with real peers", crate::interop::stage),
    ("callers with an identity", crate::identity::stage),
    ("one trace through stock peers", crate::beside::tracing),
    ("a server that channelz shows", crate::beside::channelz),
    ("a channel to stock servers", crate::beside::balancing),
    ("servers of a registry", crate::registries::stage),
    ("a server that Prometheus reads", crate::prometheus::stage),
    ("a server behind Envoy", crate::envoy::stage),
    // Skipped among the tests above where the peers are not built yet.
    ("the command with real peers", command_with_peers),
    ("docs: clients in other languages", crate::pages::clients),
    ("Connect's conformance suite", crate::conformance::stage),
    ("protobuf's conformance suite", crate::protobuf::stage),
    ("a page in a browser", browser),
    // After the peers: they bring Debian's compiler.
    ("IDL that others ship", crate::peer_idl::stage),
];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.list {
        STAGES.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let wanted = |name: &str| {
        options
            .only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    let reports: Vec<Report> = STAGES
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, body)| stage::run(name, body))
        .collect();
    if reports.is_empty() {
        let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "no stage has that in its name; there are: {}",
            names.join(", ")
        ));
    }
    stage::summary(&reports)
}

fn lint() -> Outcome {
    let clippy = ["cargo", "clippy", "--workspace", "--all-targets", "--quiet"];
    match stage::command(&[&clippy[..], &["--", "-Dwarnings"]].concat()) {
        Outcome::Passed => {}
        other => return other,
    }
    stage::command(&["cargo", "doc", "--workspace", "--no-deps", "--quiet"])
}

/// The packages as `cargo publish` makes them. Building each of them takes minutes: `cargo xtask
/// soak` does it.
fn packages() -> Outcome {
    let publish = ["cargo", "publish", "--workspace", "--quiet", "--dry-run"];
    stage::command(&[&publish[..], &["--no-verify", "--allow-dirty"]].concat())
}

/// The algorithms of shared memory under loom. Another flag for all crates: they are built beside
/// the others.
fn every_order() -> Outcome {
    let test = ["cargo", "test", "--quiet", "--package", "dovetail-shm"];
    let loom = ["env", "RUSTFLAGS=--cfg loom"];
    let place = ["--lib", "--target-dir", "target/loom"];
    stage::command(&[&loom[..], &test, &place].concat())
}

/// The tests of the command that need peers, with the peers that they need.
fn command_with_peers() -> Outcome {
    match crate::peers::built(&["grpc", "python"]) {
        Err(missing) => Outcome::Skipped(missing),
        Ok(_) => stage::built_tests(&["--test", "peers"]),
    }
}

/// A page that calls a server from Chromium.
fn browser() -> Outcome {
    match tools::install(&[CHROMIUM]) {
        Err(missing) => Outcome::Skipped(missing),
        Ok(()) => stage::built_tests(&["--test", "page", "--", "--ignored"]),
    }
}

/// The promise of the blocking client: no async runtime in its dependency tree.
fn without_runtime() -> Outcome {
    let test = ["cargo", "test", "--quiet", "--package", "dovetail-rpc"];
    match stage::command(&[&test[..], &["--no-default-features"]].concat()) {
        Outcome::Passed => {}
        other => return other,
    }
    let trees: [&[&str]; 2] = [
        &["dovetail-rpc", "--no-default-features"],
        &["example-hello-client"],
    ];
    trees
        .into_iter()
        .find_map(|package| depends_on_runtime(package).err())
        .map_or(Outcome::Passed, Outcome::Failed)
}

/// `package` is its name, and the features to choose.
fn depends_on_runtime(package: &[&str]) -> Result<(), String> {
    let output = std::process::Command::new("cargo")
        .args(["tree", "--edges", "normal", "--package"])
        .args(package)
        .current_dir(stage::root())
        .output()
        .map_err(|problem| format!("cannot run `cargo tree`: {problem}"))?;
    if !output.status.success() {
        return Err("`cargo tree` failed".to_owned());
    }
    match runtime_in(&String::from_utf8_lossy(&output.stdout)) {
        None => Ok(()),
        Some(name) => Err(format!("{} depends on `{name}`", package.join(" "))),
    }
}

fn runtime_in(tree: &str) -> Option<&'static str> {
    ["tokio", "async-std", "smol", "mio", "futures-executor"]
        .into_iter()
        .find(|runtime| {
            tree.lines()
                .any(|line| line.contains(&format!(" {runtime} v")))
        })
}
