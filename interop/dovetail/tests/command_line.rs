//! The program's description of itself, and its refusals. With this test, all tests are built with
//! the program beside them: `cargo xtask` runs that one.

use std::io;
use std::process::Command;

/// How it ends, and the beginning of what it says then.
fn check(words: &[&str], succeeds: bool, beginning: &str) -> io::Result<()> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dovetail-peer"));
    let output = program.args(words).output()?;
    let said = match succeeds {
        true => &output.stdout,
        false => &output.stderr,
    };
    let said = String::from_utf8_lossy(said);
    assert_eq!(output.status.success(), succeeds, "{words:?}: {said}");
    assert!(said.starts_with(beginning), "{words:?}: {said}");
    Ok(())
}

#[test]
fn it_says_what_it_can() -> io::Result<()> {
    for (contract, beginning) in [
        ("interop", r#"[{"protocol":"binary","transport":"buffered""#),
        ("uuid", r#"[{"protocol":"binary","transport":"buffered""#),
        ("neovim", r#"[{"protocol":"msgpack-rpc""#),
        ("grpc", r#"[{"protocol":"grpc""#),
        ("testing", r#"[{"protocol":"grpc""#),
        ("http2", r#"[{"protocol":"grpc""#),
        ("http", r#"[{"protocol":"connect-json","transport":"http""#),
    ] {
        check(&[contract, "capabilities"], true, beginning)?;
    }
    Ok(())
}

#[test]
fn what_it_does_not_know() -> io::Result<()> {
    for words in [
        &[][..],
        &["nothing"],
        &["interop"],
        &["interop", "nothing"],
        &["conformance", "nothing"],
        &["interop", "capture"],
    ] {
        check(words, false, r#"Error: "usage: dovetail-peer CONTRACT"#)?;
    }
    for words in [
        &["interop", "server", "--nothing", "1"][..],
        &["interop", "server", "--model"],
        &["interop", "server", "--model", "nothing"],
    ] {
        check(words, false, r#"Error: ""#)?;
    }
    Ok(())
}
