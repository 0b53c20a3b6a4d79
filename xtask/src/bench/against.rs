//! Our own program as it was at an earlier revision.

use super::{execute, own};
use crate::stage;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the program of a revision, unless an earlier run did, and gives its path. Its target
/// folder is its own: Cargo takes a crate of another checkout for the same one.
pub(super) fn build(revision: &str, target: &Path) -> Result<PathBuf, String> {
    let commit = commit(revision)?;
    let folder = target.join("against").join(&commit);
    let kept = folder.join("dovetail-bench");
    if !kept.exists() {
        println!("building {commit}");
        let sources = folder.join("sources");
        let failed = |error| format!("cannot keep the sources of {commit}: {error}");
        fs::create_dir_all(&sources).map_err(failed)?;
        unpack(&commit, &sources)?;
        let built = own(&sources, &folder.join("target"))?;
        fs::copy(built, &kept).map_err(failed)?;
        fs::remove_dir_all(folder.join("target")).map_err(failed)?;
    }
    Ok(kept)
}

/// Returns the full name of a commit.
fn commit(revision: &str) -> Result<String, String> {
    let output = Command::new("git")
        .args(["rev-parse", "--verify", "--end-of-options"])
        .arg(format!("{revision}^{{commit}}"))
        .current_dir(stage::root())
        .output();
    let output = output.map_err(|error| format!("cannot run `git`: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("there is no revision `{revision}` here")),
    }
}

fn unpack(commit: &str, sources: &Path) -> Result<(), String> {
    let archive = Command::new("git")
        .args(["archive", commit])
        .current_dir(stage::root())
        .stdout(Stdio::piped())
        .spawn();
    let mut archive = archive.map_err(|error| format!("cannot run `git`: {error}"))?;
    let mut tar = Command::new("tar");
    tar.arg("-x").arg("-C").arg(sources);
    if let Some(files) = archive.stdout.take() {
        tar.stdin(files);
    }
    execute(&mut tar)?;
    match archive.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`git archive {commit}` ended with {status}")),
        Err(error) => Err(format!("`git archive {commit}`: {error}")),
    }
}
