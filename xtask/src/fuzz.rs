//! Fuzzing on the stable compiler: `fuzz/libfuzzer` built with LLVM's coverage counters, then each
//! target run for a while. What it finds stays in `target/fuzz`: the corpus, and the inputs that
//! failed.

use crate::stage::{self, Outcome};
use crate::steps::{cores, side_by_side};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags that `cargo fuzz` would pass; these need no nightly compiler.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The flags are for the fuzzer alone, not for build scripts: that needs the triple named.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The golden files (hex) from which a target starts, by folder in `interop/golden`. These targets
/// choose a type by their first byte: a seed for each.
const GOLDENS: &[(&str, &[&str])] = &[
    ("binary", &["python/binary"]),
    ("compact", &["python/compact", "rust/compact"]),
    ("json", &["python/json", "cpp/json", "java/json", "go/json"]),
    ("msgpack", &["python/msgpack"]),
    ("relay", &["python/binary", "python/compact", "python/json"]),
];

/// How many types such a target has a seed for.
const FIRST_BYTES: u8 = 16;

/// The conversations of stock clients, and the targets whose inputs they are, behind these first
/// bytes.
const CONVERSATIONS: &str = "fuzz/conversations";
const CONVERSING: &[(&str, &[u8])] = &[("conversation", &[]), ("capnp-rpc", &[0xff])];

#[derive(Args)]
pub(crate) struct Options {
    /// Only these targets, with commas between them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How long to run each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Fuzzes as the options say.
pub(crate) fn run_options(options: &Options) -> Result<(), String> {
    run(&options.only, options.seconds).map(drop)
}

/// The stage of the tests: a short run of every target.
pub(crate) fn stage() -> Outcome {
    run(&[], 5).map_or_else(Outcome::Failed, |_| Outcome::Passed)
}

/// A long run of these targets, or of all; returns a line for each.
pub(crate) fn soak(targets: &[String], minutes: f64) -> Result<Vec<String>, String> {
    run(targets, (60.0 * minutes) as u64)
}

/// Builds the fuzzer and runs the named targets, or all of them, for so many seconds each, one on
/// each core. Returns a line for each.
fn run(targets: &[String], seconds: u64) -> Result<Vec<String>, String> {
    let fuzzer = build()?;
    let known = list(&fuzzer)?;
    if let Some(name) = targets.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        return Err(format!(
            "there is no fuzz target `{name}`; there are: {known}"
        ));
    }
    let wanted = if targets.is_empty() { &known } else { targets };
    let ran = side_by_side(cores(), wanted, |name| run_one(&fuzzer, name, seconds));
    ran.into_iter().collect()
}

fn target_dir() -> PathBuf {
    stage::target().join("fuzz")
}

fn build() -> Result<PathBuf, String> {
    let dir = target_dir();
    println!("$ cargo build --release   (in fuzz/libfuzzer, with coverage counters)");
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--target", TRIPLE])
        .current_dir(stage::root().join("fuzz/libfuzzer"))
        .env("RUSTFLAGS", COVERAGE)
        .env("CARGO_TARGET_DIR", &dir)
        .status()
        .map_err(|problem| format!("cannot run cargo: {problem}"))?;
    match status.success() {
        true => Ok(dir.join(TRIPLE).join("release/dovetail-libfuzzer")),
        false => Err("the fuzzer does not build".to_owned()),
    }
}

fn list(fuzzer: &Path) -> Result<Vec<String>, String> {
    let output = Command::new(fuzzer)
        .env("FUZZ_TARGET", "list")
        .output()
        .map_err(|problem| format!("cannot run {}: {problem}", fuzzer.display()))?;
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.lines().map(str::to_owned).collect())
}

fn run_one(fuzzer: &Path, name: &str, seconds: u64) -> Result<String, String> {
    let corpus = target_dir().join("corpus").join(name);
    let failures = target_dir().join("failures").join(name);
    for dir in [&corpus, &failures] {
        fs::create_dir_all(dir).map_err(|problem| format!("{}: {problem}", dir.display()))?;
    }
    seed(name, &corpus)?;
    println!(
        "$ FUZZ_TARGET={name} {} -max_total_time={seconds}",
        fuzzer.display()
    );
    let output = Command::new(fuzzer)
        .env("FUZZ_TARGET", name)
        .arg(&corpus)
        .args([
            "-max_len=4096",
            "-rss_limit_mb=1024",
            "-timeout=10",
            "-verbosity=0",
            "-print_final_stats=1",
        ])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", failures.display()))
        .output()
        .map_err(|problem| format!("cannot run {}: {problem}", fuzzer.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!(
            "{text}\nfuzz target `{name}` failed; run it again with\n  FUZZ_TARGET={name} {} {}/<file>",
            fuzzer.display(),
            failures.display()
        ));
    }
    let runs = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let runs = runs.unwrap_or("?").trim();
    let line = format!("fuzz target {name}: {runs} runs in {seconds} s, no failure");
    println!("{line}");
    Ok(line)
}

/// Puts golden files, conversations and what once failed into the corpus.
fn seed(name: &str, corpus: &Path) -> Result<(), String> {
    let goldens = GOLDENS.iter().filter(|(target, _)| *target == name);
    for folder in goldens.flat_map(|(_, folders)| *folders) {
        let firsts: Vec<Vec<u8>> = (0..FIRST_BYTES).map(|first| vec![first]).collect();
        seed_from(&format!("interop/golden/{folder}"), &firsts, corpus)?;
    }
    for (_, first) in CONVERSING.iter().filter(|(target, _)| *target == name) {
        seed_from(CONVERSATIONS, &[first.to_vec()], corpus)?;
    }
    seed_from(&format!("fuzz/findings/{name}"), &[Vec::new()], corpus)
}

/// A seed for each file (hex) of the folder, if there is one, behind each of these beginnings.
fn seed_from(folder: &str, beginnings: &[Vec<u8>], corpus: &Path) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(stage::root().join(folder)) else {
        return Ok(());
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let bytes = from_hex(&fs::read_to_string(&path).unwrap_or_default());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for (place, beginning) in beginnings.iter().enumerate() {
            let file = corpus.join(format!("{}-{stem}-{place}", folder.replace('/', "-")));
            if file.exists() {
                continue;
            }
            fs::write(&file, [&beginning[..], &bytes].concat())
                .map_err(|problem| format!("{}: {problem}", file.display()))?;
        }
    }
    Ok(())
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8);
    digits.chunks(2).map(byte).collect()
}
