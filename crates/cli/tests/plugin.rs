//! The plugin of protobuf's compiler answers with what `dovetail generate` writes for the same
//! files.
//!
//! `plugin/request.bin` is what the compiler has once asked; `UPDATE_GOLDEN=1` records it again.
//! The compiler itself is installed by `cargo xtask fetch-peer-idl`; without it, the tests that
//! need it say so and pass.

#![allow(clippy::expect_used)]

use dovetail_idl::proto::plugin::response;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PLUGIN: &str = env!("CARGO_BIN_EXE_protoc-gen-dovetail");

/// All of the request's files, and its option. Two are of one package.
const WANTED: [&str; 3] = ["market.proto", "market_types.proto", "journal.proto"];
const SIDES: &str = "sides=server,blocking";

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn folder() -> PathBuf {
    place("tests/plugin")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the plugin's answer to a request.
fn answer(request: &[u8]) -> Output {
    let mut child = Command::new(PLUGIN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(request).expect("input that is read");
    drop(input);
    child.wait_with_output().expect("its end")
}

/// Returns the files that `dovetail generate` writes for a file of a folder, or its complaint.
fn generated(folder: &Path, words: &[&str]) -> Result<Vec<(String, String)>, String> {
    let out = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .args(["generate", "--output"])
        .arg(out.path())
        .args(words)
        .output()
        .expect("the command");
    match output.status.success() {
        true => Ok(written(out.path())),
        false => Err(text(&output.stderr)),
    }
}

/// The names and texts of all files in a folder.
fn written(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default();
        let text = fs::read_to_string(&path).expect("text");
        (name.to_string_lossy().into_owned(), text)
    };
    let mut files: Vec<_> = entries.map(file).collect();
    files.sort();
    files
}

/// Returns the files that `generate` writes for the recorded ones.
fn expected() -> Vec<(String, String)> {
    let sides = format!("--{SIDES}");
    let one = |file| generated(&folder(), &[file, &sides]).expect("code");
    [one("market.proto"), one("journal.proto")].concat()
}

#[test]
fn a_recorded_request() {
    let request = fs::read(folder().join("request.bin")).expect("the request");
    let Output { status, stdout, .. } = answer(&request);
    assert!(status.success());
    let expected = expected();
    let named = |name: &str| expected.iter().any(|(file, _)| file == name);
    assert!(named("market.rs") && named("journal.rs"));
    assert!(expected[0].1.contains("/// Fits a pocket."));
    assert!(
        stdout == response(&Ok(expected)),
        "the plugin writes something else:\n{}",
        text(&stdout)
    );
}

/// Problems of the contract or of an option are in the response.
#[test]
fn what_is_wrong_is_said() {
    let request = fs::read(folder().join("request.bin")).expect("the request");
    // The last of a field's values counts.
    let with = |field: u8, value: &str| {
        let length = u8::try_from(value.len()).expect("a short one");
        [&request[..], &[field << 3 | 2, length], value.as_bytes()].concat()
    };
    for (request, expected) in [
        (with(2, "sides=clients"), "'clients' for '--sides"),
        (with(2, "client"), "'--client'"),
        (with(2, "output=x"), "'--output'"),
        (
            with(1, "other.proto"),
            "`file_to_generate` needs `other.proto`, which is missing",
        ),
    ] {
        let Output { status, stdout, .. } = answer(&request);
        let found = text(&stdout);
        assert!(status.success() && found.contains(expected), "{found}");
        assert!(!found.contains("pub mod"), "{found}");
    }
}

/// Problems of the request itself go to standard error, as protobuf's documentation of plugins has
/// it.
#[test]
fn what_is_no_request() {
    for request in [
        &b"\xff"[..],
        b"syntax = \"proto3\";",
        b"\x0a\x05ab",
        b"\x7a\x05ab",
    ] {
        let Output {
            status,
            stdout,
            stderr,
        } = answer(request);
        assert_eq!((status.code(), stdout.len()), (Some(1), 0));
        assert!(text(&stderr).starts_with("protoc-gen-dovetail: "));
    }
    // Nobody wants anything.
    assert_eq!(answer(b"").stdout, response(&Ok(Vec::new())));
}

/// Protobuf's compiler, in a Python environment.
fn compiler() -> Option<PathBuf> {
    let path = place("../../target/peer-idl/protoc");
    let found = path.join("bin/python").exists();
    if !found {
        println!("skipped: no protobuf compiler; `cargo xtask fetch-peer-idl` installs it");
    }
    found.then_some(path)
}

/// Returns its files, or its complaint.
fn compiled(
    compiler: &Path,
    folder: &Path,
    words: &[&str],
) -> Result<Vec<(String, String)>, String> {
    let out = tempfile::tempdir().expect("a folder");
    let output = Command::new(compiler.join("bin/python"))
        .current_dir(folder)
        .args(["-m", "grpc_tools.protoc", "-I."])
        .arg(format!("--plugin=protoc-gen-dovetail={PLUGIN}"))
        .arg(format!("--dovetail_out={}", out.path().display()))
        .args(words)
        .output()
        .expect("the compiler");
    match output.status.success() {
        true => Ok(written(out.path())),
        false => Err(text(&output.stderr)),
    }
}

/// The files that the compiler brings along; ours have no comments.
fn built_in(compiler: &Path) -> String {
    let versions = fs::read_dir(compiler.join("lib")).expect("its libraries");
    let mut folders = versions.map(|entry| entry.expect("an entry").path());
    let found = folders.find_map(|folder| {
        let folder = folder.join("site-packages/grpc_tools/_proto");
        folder.is_dir().then_some(folder)
    });
    found.expect("protobuf's own files").display().to_string()
}

/// Files with everything that the language has: the same code, or the same refusal.
#[test]
fn the_compiler_gets_what_generate_writes() {
    let Some(compiler) = compiler() else { return };
    let root = place("../idl/tests/proto/good");
    let include = format!("-I{}", built_in(&compiler));
    let mut count = 0;
    for entry in fs::read_dir(&root).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".proto") {
            continue;
        }
        let ours = generated(&root, &[&name, &include]);
        match (compiled(&compiler, &root, &[&name]), &ours) {
            (Ok(files), Ok(ours)) => {
                assert!(files == *ours, "{name}: the plugin writes something else");
                count += 1;
            }
            (Err(said), Err(ours)) => {
                let first = ours.lines().next().unwrap_or_default();
                let first = first.trim_start_matches("error: ");
                assert!(said.contains(first), "{name}: {said}\n{ours}");
            }
            (theirs, ours) => panic!("{name}: {theirs:?}\n{ours:?}"),
        }
    }
    assert!(count > 5, "{count} files are generated");
}

/// Several files at once, with an option.
#[test]
fn the_compiler_gets_several_files() {
    let Some(compiler) = compiler() else { return };
    let option = format!("--dovetail_opt={SIDES}");
    let words: Vec<&str> = WANTED.into_iter().chain([option.as_str()]).collect();
    let mut expected = expected();
    expected.sort();
    assert_eq!(compiled(&compiler, &folder(), &words), Ok(expected));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        record(&compiler);
    }
}

/// Keeps the request that the compiler makes.
fn record(compiler: &Path) {
    let scratch = tempfile::tempdir().expect("a folder");
    let program = scratch.path().join("record");
    let request = folder().join("request.bin");
    let script = format!("#!/bin/sh\ntee '{}' | '{PLUGIN}'\n", request.display());
    fs::write(&program, script).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).expect("a program");
    let plugin = format!("--plugin=protoc-gen-record={}", program.display());
    let out = format!("--record_out={SIDES}:{}", scratch.path().display());
    let words = [&[plugin.as_str(), &out], &WANTED[..]].concat();
    compiled(compiler, &folder(), &words).expect("a request");
}
