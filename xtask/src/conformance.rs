//! `cargo xtask conformance`: Connect's own suite against our server.

use crate::stage::{self, Outcome};
use crate::steps::execute;
use crate::tools::{self, GO};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Models of our server, each with what the suite tries of it: threads have no HTTP/2.
const RUNS: [(&str, &str); 2] = [("loops", "config.yaml"), ("threads", "http1.yaml")];

/// Cases that may fail: they compare what is left of a deadline with what it was, which a busy machine does not keep.
const FLAKY: &str = "Deadline Propagation/**";

/// Runs all of it, in some 10 seconds.
pub(crate) fn run() -> Result<(), String> {
    tools::install(&[GO])?;
    match stage::command(&["cargo", "build", "--quiet", "--package", "dovetail-peer"]) {
        Outcome::Passed => {}
        Outcome::Skipped(why) | Outcome::Failed(why) => return Err(why),
    }
    let root = stage::root();
    let suite = build(&root)?;
    let peer = target(&root).join("debug/dovetail-peer");
    for (model, config) in RUNS {
        let config = root.join("interop/conformance").join(config);
        let words = [
            suite.as_path(),
            Path::new("--mode"),
            Path::new("server"),
            Path::new("--conf"),
            &config,
            Path::new("--known-flaky"),
            Path::new(FLAKY),
            Path::new("--"),
            &peer,
            Path::new("conformance"),
            Path::new("--model"),
            Path::new(model),
        ];
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        match stage::command(&words) {
            Outcome::Passed => {}
            Outcome::Skipped(why) | Outcome::Failed(why) => return Err(why),
        }
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

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
