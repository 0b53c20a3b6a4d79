//! `cargo xtask soak`: checks that take too long for every test run. Each part writes a line into
//! docs/soak.md.

use crate::stage;
use crate::steps::output;
use crate::tools::CargoTool;
use crate::{fuzz, hostile};
use clap::{Args, ValueEnum};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

/// The page with the record.
const RECORD: &str = "docs/soak.md";

#[derive(Args)]
pub(crate) struct Options {
    /// Only these parts, with commas between them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Minutes for each fuzz target.
    #[arg(long, default_value_t = 30.0)]
    fuzz: f64,
    /// Only these fuzz targets, with commas between them.
    #[arg(long, value_delimiter = ',')]
    targets: Vec<String>,
    /// Minutes beside attackers, for each model.
    #[arg(long, default_value_t = 15.0)]
    attackers: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Polite callers beside 64 attackers.
    Attackers,
    /// The peer that scribbles over shared memory, under the address sanitizer.
    Sanitizer,
    /// A channel to five servers that are restarted, killed, stopped, slow, or refuse.
    Balancing,
    /// All calls of a minute captured.
    Capture,
    /// The packages as for the registry, each built by itself.
    Packages,
    /// The crate `dovetail-rpc` with each of its features alone.
    Features,
    /// The licences of all dependencies, and where they come from.
    Licences,
    /// Every fuzz target.
    Fuzz,
}

/// Runs the parts one after another, and goes on if one fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let parts = Part::value_variants().iter();
    let wanted = parts.filter(|part| options.only.is_empty() || options.only.contains(part));
    let failed: Vec<String> = wanted
        .filter_map(|part| run_part(*part, options).err())
        .collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

fn run_part(part: Part, options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let ran = match part {
        Part::Attackers => hostile::soak(options.attackers),
        Part::Sanitizer => sanitizer(),
        Part::Balancing => balancing(),
        Part::Capture => capture(),
        Part::Packages => packages(),
        Part::Features => features(),
        Part::Licences => licences(),
        Part::Fuzz => fuzz::soak(&options.targets, options.fuzz),
    };
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let lines = match &ran {
        Ok(lines) => lines.clone(),
        Err(problem) => vec![format!("**failed**: {}", first_line(problem))],
    };
    record(&lines, minutes)?;
    ran.map(drop)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Appends rows: the day, the revision, what ran and how it went.
fn record(lines: &[String], minutes: f64) -> Result<(), String> {
    let root = stage::root();
    let day = output(Command::new("date").arg("+%Y-%m-%d"), &root)?;
    let revision = ["rev-parse", "--short", "HEAD"];
    let revision = output(Command::new("git").args(revision), &root)?;
    let (day, revision) = (day.trim(), revision.trim());
    let rows = lines
        .iter()
        .map(|line| format!("| {day} | `{revision}` | {minutes:.0} min | {line} |\n"));
    let path = root.join(RECORD);
    let problem = |problem| format!("{}: {problem}", path.display());
    let mut file = OpenOptions::new()
        .append(true)
        .open(&path)
        .map_err(problem)?;
    file.write_all(rows.collect::<String>().as_bytes())
        .map_err(problem)
}

/// The channel to servers that fare badly; a line for each of their fates.
fn balancing() -> Result<Vec<String>, String> {
    let root = stage::root();
    let build = [
        "build",
        "--release",
        "--quiet",
        "--package",
        "example-balancing",
    ];
    output(Command::new("cargo").args(build), &root)?;
    let program = stage::target().join("release/example-balancing");
    let mut script = Command::new("python3");
    let said = output(script.arg("interop/balancing/load.py").arg(program), &root)?;
    Ok(said
        .lines()
        .map(|line| format!("balancing: {line}"))
        .collect())
}

/// All that `cargo publish` does before it uploads.
fn packages() -> Result<Vec<String>, String> {
    let publish = ["publish", "--workspace", "--quiet", "--dry-run"];
    output(Command::new("cargo").args(publish), &stage::root())?;
    Ok(vec!["packages: each builds by itself".to_owned()])
}

const HACK: CargoTool = CargoTool {
    name: "cargo-hack",
    version: "0.6.46",
    options: &[],
};

const DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    version: "0.20.2",
    options: &[],
};

/// The features of the crate, each alone, and those that are often taken together.
fn features() -> Result<Vec<String>, String> {
    let hack = HACK.program()?;
    let package = ["--lib", "--package", "dovetail-rpc"];
    let strict = ["--", "-Dwarnings"];
    let mut each = Command::new(&hack);
    each.args(["hack", "clippy", "--quiet", "--each-feature"]);
    output(each.args(package).args(strict), &stage::root())?;
    let mut both = Command::new("cargo");
    both.args(["clippy", "--quiet", "--no-default-features"])
        .args(["--features", "async,tls"]);
    output(both.args(package).args(strict), &stage::root())?;
    Ok(vec![
        "features: the crate builds with each alone, without a warning".to_owned(),
    ])
}

/// The rules of deny.toml. The list of known vulnerabilities is not among them: it is on GitHub.
fn licences() -> Result<Vec<String>, String> {
    let deny = DENY.program()?;
    let check = ["--all-features", "check", "bans", "licenses", "sources"];
    output(Command::new(deny).args(check), &stage::root())?;
    Ok(vec![
        "licences: those of deny.toml, from the registry alone".to_owned(),
    ])
}

/// The load whose calls are all captured; it says how that went.
fn capture() -> Result<Vec<String>, String> {
    let words = [
        "test",
        "--release",
        "--quiet",
        "--package",
        "dovetail-rpc",
        "--test",
        "runtime",
        "--",
        "capture::nothing_is_lost_in_a_minute",
        "--ignored",
        "--nocapture",
    ];
    let said = output(Command::new("cargo").args(words), &stage::root())?;
    let line = said.lines().find(|line| line.starts_with("capture: "));
    let line = line.ok_or("the test of captures says nothing")?;
    Ok(vec![line.to_owned()])
}

/// The tests of hostile shared memory, with the compiler that the repository uses.
fn sanitizer() -> Result<Vec<String>, String> {
    const PROGRAMS: [&[&str]; 2] = [
        &["dovetail-shm", "--test", "hostile"],
        &["dovetail-rpc", "--test", "processes", "--", "hostile"],
    ];
    for program in PROGRAMS {
        let words = [
            &[
                "env",
                "RUSTC_BOOTSTRAP=1",
                "RUSTFLAGS=-Zsanitizer=address",
                "CARGO_TARGET_DIR=target/sanitizer",
                "cargo",
                "test",
                "--quiet",
                "--target",
                "x86_64-unknown-linux-gnu",
                "--package",
            ],
            program,
        ]
        .concat();
        stage::command(&words).into_result()?;
    }
    Ok(vec![
        "address sanitizer: hostile shared memory, no finding".to_owned(),
    ])
}
