//! `cargo xtask conformance`: Connect's own suite against our server and our client.

use crate::stage::{self, Outcome};
use crate::steps::execute;
use crate::tools::{self, GO};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The runs of the suite: its configuration, and the part of ours that it tests.
const RUNS: [Run; 3] = [
    Run {
        mode: "server",
        config: "config.yaml",
        peer: &["server", "--model", "loops"],
    },
    Run {
        mode: "server",
        config: "http1.yaml",
        peer: &["server", "--model", "threads"],
    },
    Run {
        mode: "client",
        config: "client.yaml",
        peer: &["client"],
    },
];

struct Run {
    /// The tested part.
    mode: &'static str,
    /// Which cases: a file of `interop/conformance`.
    config: &'static str,
    /// The words behind `dovetail-peer conformance`.
    peer: &'static [&'static str],
}

/// Cases that may fail: they compare what is left of a deadline with what it was, which a busy
/// machine does not keep.
const FLAKY: &str = "Deadline Propagation/**";

/// Runs all of it, in some 20 seconds.
pub(crate) fn run() -> Result<(), String> {
    tools::install(&[GO])?;
    let peer = stage::built_program("dovetail-peer")?;
    let root = stage::root();
    let suite = build(&root)?;
    for Run {
        mode,
        config,
        peer: words,
    } in RUNS
    {
        let config = root.join("interop/conformance").join(config);
        let paths = [&suite, &config, &peer].map(|path| path.to_string_lossy());
        let [suite, config, peer] = &paths;
        let suite = [
            suite,
            "--mode",
            mode,
            "--conf",
            config,
            "--known-flaky",
            FLAKY,
            "--",
            peer,
            "conformance",
        ];
        stage::command(&[&suite, words].concat()).into_result()?;
    }
    Ok(())
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    match tools::install(&[GO]) {
        Ok(()) => run().map_or_else(Outcome::Failed, |()| Outcome::Passed),
        Err(missing) => Outcome::Skipped(missing),
    }
}

/// Builds the suite, as `go.mod` pins it, where that has not been done.
fn build(root: &Path) -> Result<PathBuf, String> {
    let place = root.join("target/peers/conformance");
    execute(
        Command::new("nice")
            .args(["go", "build", "-mod=readonly", "-o"])
            .arg(&place)
            .arg("connectrpc.com/conformance/cmd/connectconformance")
            .current_dir(root.join("interop/conformance")),
    )
    .map(|()| place)
}
