//! `cargo xtask hostile`: attacks on a running server of ours, with the bounds that it keeps.

use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};
use clap::Args;
use std::process::Command;

/// The page with the table of attacks.
const PAGE: &str = "docs/security.md";

/// As optimized as a release, and built in half the time: no attack is about the last per cent.
const PROFILE: &str = "attacked";

/// The models of a server, as our peer names them.
const MODELS: [&str; 4] = ["loops", "threads", "pool", "single"];

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
    match attack(&words) {
        Outcome::Passed => Ok(()),
        Outcome::Skipped(why) | Outcome::Failed(why) => Err(why),
    }
}

/// The stage of the tests: every attack in every model, and each has its row in the table.
pub(crate) fn stage() -> Outcome {
    attack(&["--check", PAGE])
}

/// Polite callers beside attackers, for so many minutes in each model; returns a line for each.
pub(crate) fn soak(minutes: f64) -> Result<Vec<String>, String> {
    let peer = build().map_err(Outcome::problem)?;
    let minutes = minutes.to_string();
    MODELS
        .iter()
        .map(|model| beside_attackers(&peer, model, &minutes))
        .collect()
}

fn beside_attackers(peer: &str, model: &str, minutes: &str) -> Result<String, String> {
    let output = Command::new("python3")
        .args(["interop/hostile/soak.py", peer, "--model", model])
        .args(["--minutes", minutes])
        .current_dir(stage::root())
        .output()
        .map_err(|problem| format!("cannot run python3: {problem}"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
        .trim()
        .to_owned();
    println!("{said}");
    match output.status.success() {
        true => Ok(said),
        false => Err(said),
    }
}

fn attack(words: &[&str]) -> Outcome {
    match build() {
        Ok(peer) => stage::command(&[&["python3", "interop/hostile", &peer][..], words].concat()),
        Err(other) => other,
    }
}

/// Builds the server that is attacked.
fn build() -> Result<String, Outcome> {
    tools::install(&[PYTHON]).map_err(Outcome::Skipped)?;
    let package = ["--package", "dovetail-peer", "--profile", PROFILE];
    match stage::command(&[&["cargo", "build", "--quiet"][..], &package].concat()) {
        Outcome::Passed => {}
        other => return Err(other),
    }
    let peer = stage::target().join(PROFILE).join("dovetail-peer");
    Ok(peer.to_string_lossy().into_owned())
}
