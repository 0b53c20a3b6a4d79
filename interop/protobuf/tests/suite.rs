//! Protobuf's conformance suite. `cargo xtask protobuf` fetches it, and runs these tests;
//! `failures/*.txt` lists the cases that fail, of which each is a promise that is still open. A
//! case that fails and is not listed fails the test, and so does one that is listed and passes.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest edition of which we have all features.
const EDITION: &str = "2023";

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// `text`: whether the mode has the text format, of which no case is skipped then.
fn check(mode: &str, arguments: &[&Path], text: bool) {
    let fetched = root().join("target/peers/protobuf");
    let libraries = fetched.join("glibc/root/usr/lib/x86_64-linux-gnu");
    let failures = format!("{}/failures/{mode}.txt", env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(mode);
    std::fs::create_dir_all(&scratch).unwrap();
    let run = Command::new(libraries.join("ld-linux-x86-64.so.2"))
        .arg("--library-path")
        .arg(&libraries)
        .arg(fetched.join("package/bin/conformance_test_runner-linux-x64"))
        .args(["--enforce_recommended", "--maximum_edition", EDITION])
        .args(["--failure_list", &failures, "--output_dir"])
        .arg(&scratch)
        .arg(env!("CARGO_BIN_EXE_dovetail-protobuf-peer"))
        .arg(mode)
        .args(arguments)
        .output()
        .expect("run `cargo xtask protobuf`, which fetches the suite");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let passed = |line: &&str| line.starts_with("CONFORMANCE SUITE PASSED");
    let suites: Vec<&str> = said.lines().filter(passed).collect();
    // One suite for binary and JSON, one for the text format.
    assert_eq!(suites.len(), 2, "{said}");
    assert!(suites[0].contains(" 0 skipped,"), "{said}");
    assert_eq!(suites[1].contains(" 0 skipped,"), text, "{said}");
}

#[test]
#[ignore = "needs what `cargo xtask protobuf` fetches"]
fn dynamic_messages() {
    check(
        "dynamic",
        &[&root().join("target/peers/protobuf/package/include")],
        true,
    );
}

#[test]
#[ignore = "needs what `cargo xtask protobuf` fetches"]
fn generated_types() {
    check("generated", &[], false);
}
