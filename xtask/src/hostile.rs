//! `cargo xtask hostile`: attacks on a running server of ours, with the bounds that it keeps.

use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};
use clap::Args;
use std::process::Command;

/// The page with the table of attacks.
const PAGE: &str = "docs/security.md";

/// As optimized as a release, and built in half the time: no attack is about the last per cent.
pub(crate) const PROFILE: &str = "attacked";

#[derive(Args)]
pub(crate) struct Options {
    /// Only attacks whose title, wire or function has this text.
    #[arg(long)]
    only: Option<String>,
    /// Write the table of docs/security.md anew.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut words = Vec::new();
    if let Some(only) = &options.only {
        words.extend(["--only", only]);
    }
    if options.write {
        words.extend(["--write", PAGE]);
    }
    attack(&words).into_result()
}

/// The stage of the tests: every attack in every model, and each has its row in the table.
pub(crate) fn stage() -> Outcome {
    attack(&["--check", PAGE])
}

/// Measures polite callers beside attackers, for so many minutes in each model; returns a line for
/// each.
pub(crate) fn soak(minutes: f64) -> Result<Vec<String>, String> {
    tools::install(&[PYTHON])?;
    let output = Command::new("python3")
        .args(["interop/hostile/soak.py", &build()?])
        .args(["--minutes", &minutes.to_string()])
        .current_dir(stage::root())
        .output()
        .map_err(|problem| format!("cannot run python3: {problem}"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
        .trim()
        .to_owned();
    println!("{said}");
    match output.status.success() {
        true => Ok(said.lines().map(str::to_owned).collect()),
        false => Err(said),
    }
}

fn attack(words: &[&str]) -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    match build() {
        Ok(peer) => stage::command(&[&["python3", "interop/hostile", &peer][..], words].concat()),
        Err(why) => Outcome::Failed(why),
    }
}

/// Builds the server that is attacked.
fn build() -> Result<String, String> {
    let package = ["--package", "dovetail-peer", "--profile", PROFILE];
    stage::command(&[&["cargo", "build", "--quiet"][..], &package].concat()).into_result()?;
    let peer = stage::target().join(PROFILE).join("dovetail-peer");
    Ok(peer.to_string_lossy().into_owned())
}
