//! Lines of an access log.

use crate::clients::echo;
use crate::fixture::*;
use dovetail::server::AccessLog;
use dovetail::{Server, Wire, blocking};
use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A writer that a test reads.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes calls, and returns the lines that a log has of them.
fn lines(
    wire: Wire,
    change: fn(AccessLog) -> AccessLog,
    call: fn(&blocking::Channel),
) -> Vec<String> {
    let written = Written::default();
    let log = change(AccessLog::to(written.clone()).unwrap());
    let server = Server::new().service(Probe::default()).access_log(&log);
    let running = listen(server).start().unwrap();
    let channel = blocking::Channel::builder(&address(&running)).unwrap();
    let channel = channel.wire(wire).build();
    call(&channel);
    drop(channel);
    assert!(running.shutdown(LONG));
    drop(log);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn calls(channel: &blocking::Channel) {
    assert!(echo(channel, 7).is_ok());
    let failed: Result<(), dovetail::Status> = channel.call(&PROBE.methods[PANIC], ());
    assert!(failed.is_err());
}

#[test]
fn each_call_has_a_line() {
    for wire in ["dovetail", "binary+framed", "msgpack-rpc"] {
        let wire: Wire = wire.parse().unwrap();
        let lines = lines(wire, |log| log, calls);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let begins = |line: &str| line.starts_with("time=2") && line.contains("Z method=Probe/");
        assert!(lines.iter().all(|line| begins(line)), "{lines:?}");
        let parts = [
            format!(" method=Probe/echo wire={wire} peer="),
            " code=OK ms=".to_owned(),
        ];
        for part in parts {
            assert!(lines[0].contains(&part), "{part}: {lines:?}");
        }
        assert!(lines[1].contains(" code=INTERNAL message=\""), "{lines:?}");
    }
}

#[test]
fn lines_can_be_json() {
    let lines = lines(Wire::Dovetail, AccessLog::json, calls);
    for line in &lines {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["wire"], "dovetail");
        assert!(object["ms"].as_f64().unwrap() >= 0.0);
        assert!(object["received"].is_u64());
    }
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_part_is_written_and_failures_and_slow_calls_are() {
    let many = |channel: &blocking::Channel| {
        for number in 0..200 {
            assert!(echo(channel, number).is_ok());
        }
        calls(channel);
    };
    let written = |change| lines(Wire::Dovetail, change, many).len();
    assert_eq!(written(|log| log.sample(0.0)), 1);
    assert_eq!(written(|log| log.sample(0.0).slow(Duration::ZERO)), 202);
    let some = written(|log| log.sample(0.5));
    assert!((50..150).contains(&some), "{some}");
}

#[test]
fn a_file_that_is_renamed_is_made_anew() {
    let name = format!("dovetail-access-{}.log", std::process::id());
    let path = std::env::temp_dir().join(name);
    let old = path.with_extension("old");
    let log = AccessLog::file(&path).unwrap();
    let server = Server::new().service(Probe::default()).access_log(&log);
    let running = listen(server).start().unwrap();
    let channel = blocking::Channel::connect(&address(&running)).unwrap();
    echo(&channel, 1).unwrap();
    until("a line is written", || {
        fs::metadata(&path).is_ok_and(|file| file.len() > 0)
    });
    fs::rename(&path, &old).unwrap();
    until("the file is there again", || {
        echo(&channel, 2).unwrap();
        fs::metadata(&path).is_ok_and(|file| file.len() > 0)
    });
    assert!(fs::metadata(&old).unwrap().len() > 0);
    assert_eq!(log.left_out(), 0);
    fs::remove_file(&path).unwrap();
    fs::remove_file(&old).unwrap();
}
