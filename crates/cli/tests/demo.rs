//! The lines that the demo prints for a reader to try do what the demo says.

#![allow(clippy::expect_used)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of the command's, which ends with this.
struct Running {
    child: Child,
    /// All that it has printed.
    text: String,
}

impl Running {
    /// Starts it, and reads until this stands in a line.
    fn start(words: &[&str], last: &str) -> Running {
        let mut program = command(env!("CARGO_BIN_EXE_dovetail"));
        program.args(words);
        Self::spawn(program, last)
    }

    fn spawn(mut program: Command, last: &str) -> Running {
        let mut child = program.stdout(Stdio::piped()).spawn().expect("a server");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut text = String::new();
        for line in lines.by_ref().map_while(Result::ok) {
            text += &format!("{line}\n");
            if line.contains(last) {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        Running { child, text }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that finds ours by its name.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    let ours = Path::new(env!("CARGO_BIN_EXE_dovetail")).parent();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", ours.expect("a folder").display());
    command
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// Returns the output of a line of a terminal, and its exit code.
fn run(line: &str, dir: &Path) -> (String, Option<i32>) {
    let mut shell = command("sh");
    let output = shell.args(["-c", line]).current_dir(dir).output();
    let output = output.expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (text, output.status.code())
}

fn curl_is_missing() -> bool {
    let missing = Command::new("curl").arg("--version").output().is_err();
    assert!(
        !missing || std::env::var_os("CI").is_none(),
        "curl is not installed"
    );
    missing
}

#[test]
fn every_printed_line_works() {
    let demo = Running::start(&["demo", "--port", "0"], "Ctrl-C");
    let dir = tempfile::tempdir().expect("a folder");
    let lines = demo.text.replace("\\\n", " ");
    let (lines, _) = lines.split_once("or with stock").expect("the other part");
    let commands = lines
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with("dovetail ") || line.starts_with("curl "));
    let mut count = 0;
    for line in commands {
        if line.starts_with("curl ") && curl_is_missing() {
            continue;
        }
        let (text, code) = run(&line.replacen("curl ", "curl -sS ", 1), dir.path());
        let (expected, wanted) = match line {
            _ if line.contains("WALNUT") => ("OutOfStock", Some(3)),
            _ if line.contains(" list ") => ("demo.Workshop", Some(0)),
            _ if line.contains(" describe ") => ("quote(order: Order) -> Quote", Some(0)),
            _ if line.contains(" quote ") || line.contains(".quote ") => ("5600", Some(0)),
            _ if line.contains(" demo ") => ("", Some(0)),
            _ => ("120", Some(0)),
        };
        assert!(text.contains(expected), "{line}\n{text}");
        assert_eq!(code, wanted, "{line}\n{text}");
        count += 1;
    }
    assert!(count > 25, "{}", demo.text);
}

#[test]
fn every_wire_works_by_every_way() {
    let output = command(env!("CARGO_BIN_EXE_dovetail"))
        .args(["demo", "--once", "--port", "0"])
        .output()
        .expect("the command");
    let table = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{table}\n{problems}");
    assert!(!table.contains("failed"), "{table}\n{problems}");
    assert!(table.contains("shared memory"), "{table}");
}

/// The demo's own reflection declares the exception over gRPC, too. A `.proto` file declares none:
/// there it is a detail of a status.
#[test]
fn exceptions_are_shown_over_grpc() {
    let demo = Running::start(&["demo", "--port", "0"], "Ctrl-C");
    let (_, rest) = demo.text.split_once("tcp://").expect("an address");
    let (address, _) = rest.split_once(',').expect("its end");
    let walnut = r#"{"order": {"boards": [{"length": 900, "width": 300, "wood": "WALNUT"}]}}"#;
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../interop/contract/demo.proto"
    );
    let by_file = ["--idl", file];
    let rows: [(&[&str], i32, &[&str]); 2] = [
        (&[], 3, &["\"OutOfStock\": {"]),
        (&by_file, 4, &["detail: {", "demo.OutOfStock"]),
    ];
    for (more, code, expected) in rows {
        let words = ["call", address, "Workshop.quote", walnut, "--wire", "grpc"];
        let mut command = command(env!("CARGO_BIN_EXE_dovetail"));
        let output = command
            .args(words)
            .args(more)
            .output()
            .expect("the command");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(output.status.code(), Some(code), "{text}");
        for expected in expected.iter().chain(&["no walnut before spring"]) {
            assert!(text.contains(expected), "{text}");
        }
    }
}

#[test]
fn a_server_of_another_protocol_is_named() {
    let mut python = Command::new("python3");
    python.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]);
    python.current_dir(env!("CARGO_MANIFEST_DIR"));
    python.stderr(Stdio::null());
    let server = Running::spawn(python, "port ");
    let (_, rest) = server.text.split_once("port ").expect("a port");
    let port = rest.split(' ').next().expect("its digits");
    let words = ["list", &format!("127.0.0.1:{port}"), "--timeout", "1s"];
    let output = command(env!("CARGO_BIN_EXE_dovetail")).args(words).output();
    let said = output.expect("the command").stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("an HTTP server answers there"), "{said}");
}

/// Stubs in Java are made of this file, with which `tests/peers.rs` calls the demo.
#[test]
fn its_contract_is_exported() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = root.join("../../interop/contract/demo.proto");
    let output = command(env!("CARGO_BIN_EXE_dovetail"))
        .args(["export", "demo/demo.thrift", "--to", "proto"])
        .current_dir(root)
        .output()
        .expect("the command");
    let text = String::from_utf8_lossy(&output.stdout);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, text.as_bytes()).expect("a golden file");
    }
    let written = std::fs::read_to_string(&golden).expect("a golden file");
    assert_eq!(text, written, "UPDATE_GOLDEN=1 refreshes it");
}
