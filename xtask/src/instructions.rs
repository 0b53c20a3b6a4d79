//! `cargo xtask instructions`: the instructions of a call, client and server together, counted by
//! valgrind. Unlike times, they are the same on a busy machine.

use crate::hostile::PROFILE;
use crate::stage::{self, Outcome};
use crate::steps::{output, read, write};
use crate::tools::{self, VALGRIND};
use clap::Args;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The counts that were accepted.
const ACCEPTED: &str = "bench/instructions/accepted.toml";

/// A path may need so much more than was accepted, in per cent.
const TOLERANCE: f64 = 3.0;

/// Paths that may need so many times the instructions of another one.
const BOUNDS: &[(&str, &str, f64)] = &[
    ("own-wire-interceptors", "own-wire", 1.03),
    ("own-wire-observers", "own-wire", 1.05),
];

/// Calls before the ones that count, and those that count.
const CALLS: [u64; 2] = [500, 2000];

#[derive(Args)]
pub(crate) struct Options {
    /// Only paths whose name has this text.
    #[arg(long)]
    only: Option<String>,
    /// Accept the counts.
    #[arg(long)]
    accept: bool,
}

/// Instructions of a call, by path.
type Counts = BTreeMap<String, u64>;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    tools::install(&[VALGRIND])?;
    let found = count(options.only.as_deref().unwrap_or_default())?;
    match options.accept {
        true => accept(&found),
        false => compare(&accepted()?, &found),
    }
}

/// The stage of the tests.
pub(crate) fn stage() -> Outcome {
    if let Err(missing) = tools::install(&[VALGRIND]) {
        return Outcome::Skipped(missing);
    }
    let counted = accepted().and_then(|accepted| compare(&accepted, &count("")?));
    match counted {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

fn count(only: &str) -> Result<Counts, String> {
    let package = ["--package", "dovetail-instructions", "--profile", PROFILE];
    stage::command(&[&["cargo", "build", "--quiet"][..], &package].concat()).into_result()?;
    let program = stage::target().join(PROFILE).join("dovetail-instructions");
    let names = output(Command::new(&program).arg("--list"), &stage::root())?;
    let names = names.lines().filter(|name| name.contains(only));
    names
        .map(|name| {
            let [before, all] = CALLS.map(|calls| instructions(&program, name, calls));
            let counted = all?.saturating_sub(before?) / (CALLS[1] - CALLS[0]);
            Ok((name.to_owned(), counted))
        })
        .collect()
}

/// Returns the instructions of a whole run.
fn instructions(program: &Path, path: &str, calls: u64) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .args(["--cachegrind-out-file=/dev/null", "--log-fd=1"])
        .arg(program)
        .args([path, &calls.to_string()]);
    let said = output(&mut valgrind, &stage::root())?;
    let line = said.lines().find_map(|line| line.split_once("refs:"));
    let digits = line.map(|(_, number)| number.trim().replace(',', ""));
    let counted = digits.and_then(|digits| digits.parse().ok());
    counted.ok_or_else(|| format!("valgrind counted nothing: {said}"))
}

fn accepted() -> Result<Counts, String> {
    let text = read(&stage::root().join(ACCEPTED))?;
    toml::from_str(&text).map_err(|problem| format!("{ACCEPTED}: {problem}"))
}

/// Prints the counts. An error names the paths that need more than was accepted.
fn compare(accepted: &Counts, found: &Counts) -> Result<(), String> {
    println!(
        "{:<24} {:>10} {:>10}",
        "instructions of a call", "accepted", "now"
    );
    let mut more = Vec::new();
    for (path, now) in found {
        let Some(before) = accepted.get(path) else {
            more.push(format!("{path} is new"));
            continue;
        };
        let change = (*now as f64 / *before as f64 - 1.0) * 100.0;
        println!("{path:<24} {before:>10} {now:>10} {change:>+7.1} %");
        if change > TOLERANCE {
            more.push(format!("{path}: {change:+.1} %"));
        }
    }
    beyond(found).map_or(Ok(()), Err)?;
    match more.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "more than {TOLERANCE} % above what was accepted: {}\nIf that is worth it: cargo xtask instructions --accept",
            more.join(", ")
        )),
    }
}

/// Returns what is wrong with the ratio of two paths.
fn beyond(found: &Counts) -> Option<String> {
    BOUNDS.iter().find_map(|(path, other, bound)| {
        let ratio = *found.get(*path)? as f64 / *found.get(*other)? as f64;
        let problem = || format!("{path} is {ratio:.3} times {other}; the bound is {bound}");
        (ratio > *bound).then(problem)
    })
}

fn accept(found: &Counts) -> Result<(), String> {
    let mut counts = accepted().unwrap_or_default();
    counts.extend(found.clone());
    let lines: String = counts
        .iter()
        .map(|(path, count)| format!("{path} = {count}\n"))
        .collect();
    let head = "# Instructions of a call, client and server together: `cargo xtask instructions --accept` writes them.\n\n";
    write(&stage::root().join(ACCEPTED), &format!("{head}{lines}"))?;
    print!("{lines}");
    Ok(())
}
