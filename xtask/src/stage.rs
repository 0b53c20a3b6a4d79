//! Running one step of a chore: its name before, its time after, its output in between.

use crate::steps::cores;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How many tests of a program run at a time.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// How a stage ended.
pub(crate) enum Outcome {
    Passed,
    /// Something that this machine lacks, and how to get it.
    Skipped(String),
    Failed(String),
}

impl Outcome {
    /// Returns the reason as an error unless the stage passed.
    pub(crate) fn into_result(self) -> Result<(), String> {
        match self {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(why) | Outcome::Failed(why) => Err(why),
        }
    }
}

/// The name of a stage, its end, and its time.
pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

/// Runs a stage, saying so.
pub(crate) fn run(name: &'static str, body: impl FnOnce() -> Outcome) -> Report {
    println!("\n── {name}");
    let start = Instant::now();
    let outcome = body();
    Report {
        name,
        outcome,
        took: start.elapsed(),
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
        .to_owned()
}

/// Runs a command line from the root of the repository, its output going where ours goes.
pub(crate) fn command(words: &[&str]) -> Outcome {
    let Some((program, arguments)) = words.split_first() else {
        return Outcome::Failed("an empty command".to_owned());
    };
    println!("$ {}", words.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // `cargo xtask` says who we are. Some build scripts ask for that, and would run again wherever
    // it differs from what a `cargo test` by hand says.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    if std::env::var_os(TEST_THREADS).is_none() {
        // Most of what tests do is to wait.
        command.env(TEST_THREADS, (4 * cores()).to_string());
    }
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{}` ended with {status}", words.join(" "))),
        Err(problem) => Outcome::Failed(format!("cannot run `{program}`: {problem}")),
    }
}

/// The stage that checks the format of all code.
pub(crate) fn format() -> Outcome {
    command(&["cargo", "fmt", "--all", "--check"])
}

/// Runs some of the tests again that `cargo test --workspace` has built. With a package named in
/// place of the workspace, its dependencies would have other features, and be built once more.
pub(crate) fn built_tests(words: &[&str]) -> Outcome {
    let test = ["cargo", "test", "--quiet", "--workspace"];
    command(&[&test[..], words].concat())
}

/// Builds a program of the workspace as it is beside the tests, with debug assertions, and returns
/// its path. With its package alone, or without any test, its dependencies would have other
/// features here as well.
pub(crate) fn built_program(name: &str) -> Result<PathBuf, String> {
    let build = ["cargo", "build", "--quiet", "--workspace"];
    let targets = ["--bin", name, "--test", "command_line"];
    command(&[&build[..], &targets].concat()).into_result()?;
    Ok(target().join("debug").join(name))
}

/// Returns the folder in which cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// True on a machine where nothing may be skipped.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Prints the table of all stages. An error if one failed, or was skipped in CI.
pub(crate) fn summary(reports: &[Report]) -> Result<(), String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!("\n── summary");
    for Report {
        name,
        outcome,
        took,
    } in reports
    {
        let (word, why) = match outcome {
            Outcome::Passed => ("passed", String::new()),
            Outcome::Skipped(why) if in_ci() => ("FAILED", format!("skipped in CI: {why}")),
            Outcome::Skipped(why) => ("skipped", why.clone()),
            Outcome::Failed(why) => ("FAILED", why.clone()),
        };
        *match word {
            "passed" => &mut passed,
            "skipped" => &mut skipped,
            _ => &mut failed,
        } += 1;
        println!("{word:8} {name:28} {:>7.1} s  {why}", took.as_secs_f64());
    }
    println!("\nstages: {passed} passed, {failed} failed, {skipped} skipped");
    match failed {
        0 => Ok(()),
        _ => Err("some stages failed; their output is above, under their names".to_owned()),
    }
}
