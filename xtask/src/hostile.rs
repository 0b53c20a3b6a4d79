//! `cargo xtask hostile`: attacks on a running server of ours, with the bounds that it keeps.

use crate::stage::{self, Outcome};
use crate::tools::{self, PYTHON};
use clap::Args;

/// The page with the table of attacks.
const PAGE: &str = "docs/security.md";

/// As optimized as a release, and built in half the time: no attack is about the last per cent.
const PROFILE: &str = "attacked";

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

fn attack(words: &[&str]) -> Outcome {
    if let Err(missing) = tools::install(&[PYTHON]) {
        return Outcome::Skipped(missing);
    }
    let package = ["--package", "dovetail-peer", "--profile", PROFILE];
    match stage::command(&[&["cargo", "build", "--quiet"][..], &package].concat()) {
        Outcome::Passed => {}
        other => return other,
    }
    let peer = stage::target().join(PROFILE).join("dovetail-peer");
    let peer = peer.to_string_lossy();
    stage::command(&[&["python3", "interop/hostile", &peer][..], words].concat())
}
