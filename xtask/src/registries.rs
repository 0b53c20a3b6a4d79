//! `cargo xtask registries`: servers that register, and a channel that finds them, beside the registries themselves.

use crate::stage::{self, Outcome};
use crate::steps::execute;
use crate::tools::{self, GO, PYTHON};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON, GO]) {
        return Outcome::Skipped(missing);
    }
    let etcd = match etcd() {
        Ok(etcd) => etcd,
        Err(why) => return Outcome::Failed(why),
    };
    let built = [
        "cargo",
        "build",
        "--quiet",
        "--package",
        "example-balancing",
    ];
    if let Err(why) = stage::command(&built).into_result() {
        return Outcome::Failed(why);
    }
    let program = stage::target().join("debug/example-balancing");
    stage::command(&[
        "python3",
        "interop/registries",
        &program.to_string_lossy(),
        &etcd.to_string_lossy(),
    ])
}

/// Builds the server of etcd, and clients of it, in Go.
fn etcd() -> Result<PathBuf, String> {
    let folder = stage::target().join("registries");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join("etcd");
    execute(
        Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(stage::root().join("interop/registries/etcd")),
    )?;
    Ok(program)
}
