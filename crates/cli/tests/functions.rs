//! Functions that a server has bound, without a contract, as the command sees and calls them.

#![allow(clippy::expect_used)]

use dovetail::Server;
use dovetail::reflection::Reflection;
use std::process::Command;

/// The words of a command behind `dovetail`, where `AT` is the server, and its output.
const SESSIONS: &[(&[&str], &str)] = &[
    (&["list", "AT"], "add\ngrpc.health.v1.Health\nhello\n"),
    (
        &["describe", "AT", "hello"],
        "hello(name: string) -> string\n",
    ),
    (&["call", "AT", "add", "[1, 2]"], "3\n"),
    (&["call", "AT", "add", r#"{"a": 1, "b": 2}"#], "3\n"),
    (
        &[
            "call",
            "AT",
            "hello",
            r#"["Ada"]"#,
            "--wire",
            "binary+framed",
        ],
        "\"Hello, Ada!\"\n",
    ),
    (
        &["call", "AT", "add", "[1, 2]", "--wire", "grpc"],
        "error: `add` is a function, and gRPC calls methods of services\n  help: call it without --wire\n",
    ),
    (
        &["call", "AT", "ad", "[1, 2]"],
        "error: the contract has no method `ad`\n  help: did you mean `add`?\n",
    ),
];

#[test]
fn functions_are_listed_described_and_called() {
    let running = Server::new()
        .bind("add(a, b)", |a: i32, b: i32| a + b)
        .bind("hello(name)", |name: String| format!("Hello, {name}!"))
        .health(&dovetail::server::Health::default())
        .reflection(&Reflection::default())
        .listen("tcp://127.0.0.1:0")
        .and_then(Server::start)
        .expect("a server");
    let address = running.addresses()[0].to_string();
    for (words, expected) in SESSIONS {
        let words = words
            .iter()
            .map(|word| if *word == "AT" { &address } else { *word });
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        let output = command
            .args(words.clone())
            .env("NO_COLOR", "1")
            .output()
            .expect("the command");
        let text = [output.stdout, output.stderr].concat();
        let command: Vec<_> = words.collect();
        assert_eq!(String::from_utf8_lossy(&text), *expected, "{command:?}");
    }
}
