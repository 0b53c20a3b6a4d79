//! `cargo xtask registries`: servers that register, and a channel that finds them, beside the
//! registries themselves.

use crate::stage::{self, Outcome};
use crate::steps::{execute, fetch_with_maven, javac};
use crate::tools::{self, GO, JAVAC, MAVEN, PYTHON};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) fn run() -> Result<(), String> {
    stage().into_result()
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON, GO, JAVAC, MAVEN]) {
        return Outcome::Skipped(missing);
    }
    let (etcd, zookeeper) = match etcd().and_then(|etcd| Ok((etcd, zookeeper()?))) {
        Ok(built) => built,
        Err(why) => return Outcome::Failed(why),
    };
    let program = match stage::built_program("example-balancing") {
        Ok(program) => program,
        Err(why) => return Outcome::Failed(why),
    };
    stage::command(&[
        "python3",
        "interop/registries",
        &program.to_string_lossy(),
        &etcd.to_string_lossy(),
        &zookeeper,
    ])
}

/// Returns a folder for what is built here.
fn folder() -> Result<PathBuf, String> {
    let folder = stage::target().join("registries");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Builds the server of etcd, and clients of it, in Go.
fn etcd() -> Result<PathBuf, String> {
    let program = folder()?.join("etcd");
    execute(
        Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(stage::root().join("interop/registries/etcd")),
    )?;
    Ok(program)
}

/// Fetches the server of ZooKeeper, and builds clients of it. Returns the path of classes.
fn zookeeper() -> Result<String, String> {
    let source = stage::root().join("interop/registries/zookeeper");
    let (libraries, classes) = (folder()?.join("lib"), folder()?.join("classes"));
    fetch_with_maven(&source.join("pom.xml"), &libraries, &[])?;
    javac(&libraries, &[&source], &classes)?;
    Ok(format!("{}:{}/*", classes.display(), libraries.display()))
}
