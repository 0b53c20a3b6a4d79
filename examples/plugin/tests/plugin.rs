//! The program as its user runs it, and what becomes of plugins.

use dovetail::blocking::Channel;
use dovetail::transport::Program;
use dovetail::{Code, Status};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[allow(dead_code, missing_docs, unreachable_pub)]
mod contract {
    dovetail::include_contract!("filter");
}

use contract::filter::{ApplyError, FilterBlockingClient};

const PROGRAM: &str = env!("CARGO_BIN_EXE_example-plugin");

fn channel() -> Channel {
    Channel::through(Arc::new(Program::new(PROGRAM).arg("plugin"))).build()
}

#[test]
fn the_program() {
    let host = |text| {
        let mut program = Command::new(PROGRAM);
        program.args(["host", text]).output().unwrap()
    };
    let output = host("hello");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"HELLO\n");
    let output = host("");
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("there was nothing to filter"), "{errors}");
    assert!(errors.contains("there is no text"), "{errors}");
}

#[test]
fn results_exceptions_and_large_texts() {
    let filter = FilterBlockingClient::from(channel());
    assert_eq!(filter.apply("a").unwrap(), "A");
    let Err(ApplyError::Refused(refused)) = filter.apply("") else {
        panic!("an empty text is refused");
    };
    assert_eq!(refused.why, "there is no text");
    // More than the pipes hold, both ways.
    let long = "x".repeat(1 << 20);
    assert_eq!(filter.apply(&long).unwrap(), long.to_uppercase());
}

#[test]
fn callers_share_a_plugin() {
    let filter = FilterBlockingClient::from(channel());
    let process = filter.process().unwrap();
    thread::scope(|scope| {
        for caller in 0..8 {
            let filter = filter.clone();
            scope.spawn(move || {
                for round in 0..50 {
                    let text = format!("caller {caller}, round {round}");
                    assert_eq!(filter.apply(&text).unwrap(), text.to_uppercase());
                    assert_eq!(filter.process().unwrap(), process);
                }
            });
        }
    });
}

#[test]
fn a_plugin_that_crashes_is_replaced() {
    let filter = FilterBlockingClient::from(channel());
    let first = filter.process().unwrap();
    let lost: Result<(), Status> = filter.crash();
    assert_eq!(lost.unwrap_err().code(), Code::Unavailable);
    let second = filter.process().unwrap();
    assert_ne!(first, second);
    wait_for_the_end_of(first);
}

#[test]
fn a_plugin_ends_with_its_channel() {
    let filter = FilterBlockingClient::from(channel());
    let process = filter.process().unwrap();
    drop(filter);
    wait_for_the_end_of(process);
}

#[test]
fn a_program_that_is_not_there() {
    let channel = Channel::through(Arc::new(Program::new("/no/such/program"))).build();
    let error = FilterBlockingClient::from(channel).process().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("/no/such/program"), "{error}");
}

/// A process that has ended and was not waited for is still there, as a zombie; this waits until it
/// is gone.
fn wait_for_the_end_of(process: i32) {
    let entry = format!("/proc/{process}");
    let start = Instant::now();
    while Path::new(&entry).exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "{process} lives");
        thread::sleep(Duration::from_millis(5));
    }
}
