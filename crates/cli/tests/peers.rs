//! The command with servers and clients of others: they list, describe and call without a file, and
//! stand on both sides of the gateway. `cargo xtask interop` builds these peers; without them, the
//! tests say so and pass.

#![allow(clippy::expect_used)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the program of a peer that has been built.
fn peer(name: &str) -> Option<PathBuf> {
    let path = repository().join("target/peers").join(name);
    let found = path.join("peer").exists();
    if !found {
        println!("skipped: no peer `{name}`; `cargo xtask interop` builds it");
    }
    found.then_some(path)
}

/// A server that ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts it; its first line ends with where it listens.
    fn start(mut command: Command, before: &str, behind: &str) -> Server {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = lines.next().expect("a first line").expect("text");
        let address = first.rsplit(before).next().unwrap_or_default();
        let address = address.split(behind).next().unwrap_or_default().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, address }
    }

    fn of_peer(peer: &Path, words: &[&str]) -> Server {
        let mut command = Command::new(peer.join("peer"));
        command
            .arg("server")
            .args(words)
            .args(["--address", "127.0.0.1:0"]);
        Server::start(command, "READY ", " ")
    }

    fn gateway(words: &[&str]) -> Server {
        Server::start(Server::gateway_command(words), "on tcp://", " ")
    }

    fn gateway_command(words: &[&str]) -> Command {
        let mut command = dovetail();
        command
            .arg("gateway")
            .args(words)
            .args(["--listen", "tcp://127.0.0.1:0"]);
        command
    }

    /// Starts a gateway with an administration; returns the address of that, too.
    fn administered_gateway(words: &[&str]) -> (Server, String) {
        let mut command = Server::gateway_command(words);
        command
            .args(["--admin", "tcp://127.0.0.1:0", "--quiet"])
            .stderr(Stdio::piped());
        let mut gateway = Server::start(command, "on tcp://", " ");
        let said = gateway.child.stderr.take().expect("its errors");
        let first = BufReader::new(said).lines().next();
        let first = first.expect("a first line").expect("text");
        let admin = first.rsplit("tcp://").next().unwrap_or_default();
        (gateway, admin.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn dovetail() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    command
        .current_dir(repository().join("interop/contract"))
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1");
    command
}

/// Returns the output of a command on both streams, without white space at the ends of lines.
fn printed(command: &mut Command) -> String {
    let output = command.output().expect("the command");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn check(words: &[&str], expected: &str) {
    let found = printed(dovetail().args(words));
    assert_eq!(found, expected, "dovetail {}", words.join(" "));
}

/// A program of a peer's, in its own Python.
fn python(peer: &Path, script: &str, words: &[&str]) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let mut command = Command::new(peer.join("build/venv/bin/python"));
    printed(command.arg(scripts.join(script)).args(words))
}

/// It has `v1alpha` of reflection alone, and its services come from two files.
#[test]
fn a_stock_grpc_server_is_called_without_a_file() {
    let Some(grpc) = peer("grpc") else { return };
    let server = Server::of_peer(&grpc, &[]);
    let at = server.address.as_str();
    check(&["list", at], "calls.v1.Calls\nmapped.Mapped");
    check(
        &["describe", at, "calls.v1.Calls.Sum"],
        "Sum() sink Number -> Number",
    );
    let part = r#"{"name":"x","count":0}"#;
    let value = format!(r#"{{"number":7,"zigzag":-7,"colour":"BLUE","parts":[{part}]}}"#);
    let found = printed(dovetail().args(["call", at, "Calls.Echo", &value]));
    for piece in [
        "\"number\": 7",
        "\"zigzag\": -7",
        "\"BLUE\"",
        "\"name\": \"x\"",
        "\"large\": 0",
    ] {
        assert!(found.contains(piece), "{found}");
    }
    check(
        &[
            "call",
            at,
            "Calls.Header",
            r#"{"text":"colour"}"#,
            "--header",
            "colour=blue",
            "--wire",
            "grpc",
        ],
        "{\n  \"text\": \"626c7565\"\n}",
    );
    let shown = printed(dovetail().args(["call", at, "Calls.Header", r#"{"text":"hue"}"#, "-v"]));
    for line in ["< header asked: hue", "< trailer asked-bin: aHVl"] {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
    let wanted = r#"{"code": 5, "message": "nobody"}"#;
    check(
        &["call", at, "Calls.Fail", wanted],
        "error: NOT_FOUND: nobody (finished, says the peer)",
    );
}

/// Items are lines, in and out.
#[test]
fn streams_of_a_stock_grpc_server_are_lines() {
    let Some(grpc) = peer("grpc") else { return };
    let server = Server::of_peer(&grpc, &[]);
    for (words, input, expected) in [
        (
            &["Calls.MakeMany", r#"{"count": 2, "size": 3}"#][..],
            "",
            "{\"blob\":\"AAEC\"}\n{\"blob\":\"AAEC\"}",
        ),
        (
            &["Calls.Sum"],
            "{\"number\": 40}\n\n{\"number\": 2}\n",
            "{\n  \"number\": 42\n}",
        ),
        (
            &["Calls.Sum"],
            "{\"nmber\": 40}\n",
            "error: an item does not fit `Sum`: `Number` has no field \"nmber\"\n  help: did you mean \"number\"?",
        ),
        (
            &[
                "mapped.Mapped.count",
                r#"{"to": 2, "missing_at": -1}"#,
                "--idl",
                "mapped.thrift",
                "--wire",
                "grpc",
            ],
            "",
            "\"to 2\"\n0\n1",
        ),
        (
            &[
                "mapped.Mapped.count",
                r#"{"to": 2, "missing_at": 1}"#,
                "--idl",
                "mapped.thrift",
                "--wire",
                "grpc",
            ],
            "",
            "\"to 2\"\n0\n{\n  \"Missing\": {\n    \"what\": \"number 1\"\n  }\n}\n`count` answered with the exception Missing, which its contract declares",
        ),
        (
            &[
                "mapped.Mapped.sum",
                r#"{"start": 1}"#,
                "--idl",
                "mapped.thrift",
                "--wire",
                "grpc",
            ],
            "1\n2\n",
            "4",
        ),
        (
            &[
                "mapped.Mapped.turn_all",
                "--idl",
                "mapped.thrift",
                "--wire",
                "grpc",
            ],
            r#"{"left": 1, "right": 2}"#,
            r#"{"left":2,"right":1}"#,
        ),
    ] {
        let mut child = dovetail()
            .args(["call", &server.address])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        // It reads no further after an item that is wrong.
        let mut lines = child.stdin.take().expect("its input");
        let _ = lines.write_all(input.as_bytes());
        drop(lines);
        let output = child.wait_with_output().expect("its end");
        let found = [output.stdout, output.stderr].concat();
        let found = String::from_utf8_lossy(&found);
        assert_eq!(found.trim(), expected, "{words:?}");
    }
}

#[test]
fn a_stock_thrift_server_is_called_over_other_wires() {
    let Some(thrift) = peer("python") else { return };
    let flags = ["--protocol", "binary", "--transport", "buffered"];
    let server = Server::of_peer(&thrift, &flags);
    let gateway = Server::gateway(&["interop.thrift", "--to", &server.address]);
    let at = gateway.address.as_str();
    // Every type, exception and one-way call of the contract, as in the matrix.
    let flags = ["--protocol", "compact", "--transport", "framed"];
    let mut client = Command::new(thrift.join("peer"));
    let cases = printed(client.arg("client").args(flags).args(["--address", at]));
    let failed: Vec<&str> = cases
        .lines()
        .filter(|line| line.contains(r#""result": "fail""#))
        .collect();
    assert!(cases.lines().count() > 50 && failed.is_empty(), "{cases}");
    let mut client = Command::new(thrift.join("peer"));
    let flags = ["--protocol", "msgpack-rpc", "--case", "echo_everything"];
    let case = printed(client.arg("client").args(flags).args(["--address", at]));
    assert!(case.contains(r#""result": "ok""#), "{case}");
    let url = format!("http://{at}/Interop/may_fail");
    let thrown =
        printed(Command::new("curl").args(["-sS", "--json", r#"{"how":"not_found"}"#, &url]));
    assert!(thrown.contains("interop.NotFound"), "{thrown}");
    let Some(grpc) = peer("grpc") else { return };
    for (method, message, expected) in [
        ("echo_i32", r#"{"value": 7}"#, r#"{"result": 7}"#),
        // Zero is left out by gRPC, and has to be there for Thrift.
        ("echo_i32", r#"{"value": 0}"#, "{}"),
        (
            "join",
            r#"{"first": 1, "second": "a", "third": "2", "fourth": "b"}"#,
            r#"{"result": "1,a,2,b"}"#,
        ),
        (
            "may_fail",
            r#"{"how": "not_found"}"#,
            "UNKNOWN the method has thrown `interop.NotFound`",
        ),
    ] {
        let words = [at, "interop.Interop", method, message];
        assert_eq!(
            python(&grpc, "grpc_client.py", &words),
            expected,
            "{method}"
        );
    }
}

/// With nothing but the address: the rest they learn by reflection. Java has stubs that protoc has
/// made of the contract that the demo exports.
#[test]
fn stock_grpc_clients_call_the_demo() {
    let peers = ["grpc", "grpcurl", "grpc-java"].map(peer);
    let [Some(grpc), Some(grpcurl), Some(java)] = peers else {
        return;
    };
    let mut command = dovetail();
    command.args(["demo", "--port", "0"]);
    let demo = Server::start(command, "tcp://", ",");
    let at = demo.address.as_str();
    python_calls_the_demo(&grpc, at);
    grpcurl_calls_the_demo(&grpcurl, at);
    java_calls_the_demo(&java, at);
}

fn python_calls_the_demo(peer: &Path, at: &str) {
    let order = r#"{"order": {"id": 7, "boards": [{"length": 1200, "width": 300}]}}"#;
    let words = [at, "demo.Workshop", "quote", order];
    let quote = r#"{"cents": "5600", "currency": "EUR", "days": 4, "id": "7"}"#;
    assert_eq!(
        python(peer, "grpc_client.py", &words),
        format!(r#"{{"result": {quote}}}"#)
    );
}

fn grpcurl_calls_the_demo(peer: &Path, at: &str) {
    for (method, message, expected) in [
        (
            "demo.Stock/metres",
            r#"{"wood": "OAK"}"#,
            r#"{ "result": 120 }"#,
        ),
        (
            "demo.Workshop/quote",
            r#"{"order": {"boards": [{"length": 900, "width": 300, "wood": "WALNUT"}]}}"#,
            "ERROR: Code: Unknown Message: the method has thrown `demo.OutOfStock` Details: 1) { \"@type\": \"type.googleapis.com/demo.OutOfStock\", \"message\": \"no walnut before spring\", \"wood\": \"WALNUT\" }",
        ),
    ] {
        let mut command = Command::new(peer.join("peer"));
        let found = printed(command.args(["call", at, method, message]));
        assert_eq!(found, expected, "{method}");
    }
}

fn java_calls_the_demo(peer: &Path, at: &str) {
    let mut command = Command::new(peer.join("peer"));
    let found = printed(command.args(["demo", "--address", at]));
    let expected = [
        "Stock.metres result: 120",
        "Workshop.metres result: 120",
        "ping",
        "note",
        r#"quote result { id: 7 cents: 5600 currency: "EUR" days: 4 }"#,
        "quote code: 2 message: \"the method has thrown `demo.OutOfStock`\" details { [type.googleapis.com/demo.OutOfStock] { wood: WALNUT message: \"no walnut before spring\" } }",
    ];
    assert_eq!(found, expected.join("\n"));
}

#[test]
fn a_stock_grpc_server_is_called_by_thrift() {
    let (Some(grpc), Some(thrift)) = (peer("grpc"), peer("python")) else {
        return;
    };
    let server = Server::of_peer(&grpc, &[]);
    let to = server.address.as_str();
    let gateway = Server::gateway(&["mapped.thrift", "--to", to, "--wire", "grpc"]);
    for (how, expected) in [
        ("add", "{0: 42}"),
        ("refused", "{1: {1: 'no', 2: 3}}"),
        ("missing", "{3: {1: 'it'}}"),
        ("internal", "INTERNAL: undeclared failure"),
    ] {
        let found = python(&thrift, "thrift_client.py", &[&gateway.address, how]);
        assert_eq!(found, expected, "{how}");
    }
    // With nothing but reflection on both sides.
    let gateway = Server::gateway(&["--to", to]);
    let at = gateway.address.as_str();
    check(
        &[
            "call",
            at,
            "mapped.Mapped.turn",
            r#"{"pair": {"left": 1, "right": 2}}"#,
        ],
        "{\n  \"result\": {\n    \"left\": 2,\n    \"right\": 1\n  }\n}",
    );
    // The headers of a call go on with its message.
    check(
        &[
            "call",
            at,
            "Calls.Header",
            r#"{"text":"colour"}"#,
            "--header",
            "colour=blue",
        ],
        "{\n  \"text\": \"626c7565\"\n}",
    );
    let left = printed(dovetail().args(["call", at, "Calls.TimeLeft", "--timeout", "9s"]));
    let left = left.trim_matches(|c: char| !c.is_ascii_digit());
    let left: u64 = left.parse().expect("a number");
    assert!((1..=9_000).contains(&left), "{left}");
    let refused = printed(dovetail().args(["call", at, "mapped.Mapped.numbers", "{}"]));
    assert!(refused.contains("does not carry"), "{refused}");
}

/// Captures the calls of `work` into a file.
fn captured(admin: &str, file: &Path, work: impl FnOnce()) {
    let mut command = dovetail();
    let file = file.to_str().expect("a path");
    let mut take = command
        .args(["capture", "take", admin, file, "--for", "5s"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut lines = BufReader::new(take.stderr.take().expect("its errors")).lines();
    let first = lines.next().expect("a first line").expect("text");
    assert!(first.starts_with("capturing for 5s"), "{first}");
    work();
    let last = lines.map_while(std::result::Result::ok).last();
    let last = last.unwrap_or_default();
    assert!(last.ends_with("it ended when its time was over"), "{last}");
    assert!(take.wait().expect("its end").success());
}

fn replay(file: &Path, words: &[&str], expected: &str) {
    let file = file.to_str().expect("a path");
    let found = printed(dovetail().args(["replay", file]).args(words));
    assert!(found.contains(expected), "{words:?}: {found}");
}

/// Calls that stock clients make of a stock server through the gateway are captured there, and made
/// again on the stock server itself, over its own wire, and on the gateway over others.
#[test]
fn calls_of_stock_peers_are_captured_and_made_again() {
    let (Some(grpc), Some(thrift)) = (peer("grpc"), peer("python")) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("thrift.capture");
    let server = Server::of_peer(&grpc, &[]);
    let to = server.address.as_str();
    let words = ["mapped.thrift", "--to", to, "--wire", "grpc"];
    let (gateway, admin) = Server::administered_gateway(&words);
    let at = gateway.address.as_str();
    captured(&admin, &file, || {
        for how in ["add", "refused", "missing", "internal"] {
            python(&thrift, "thrift_client.py", &[at, how]);
        }
    });
    let shown = ["capture", "convert", file.to_str().expect("a path")];
    let calls = printed(dovetail().args(shown));
    for part in [
        r#""wire":"compact+framed""#,
        r#""outcome":{"result":42}"#,
        r#""outcome":{"exception":{"Refused":{"#,
        r#""outcome":{"failed":{"code":"INTERNAL","#,
    ] {
        assert!(calls.contains(part), "{part}: {calls}");
    }
    replay(
        &file,
        &[to, "--wire", "grpc"],
        "4 calls over grpc: 4 answers as captured",
    );
    for wire in [
        "dovetail",
        "grpc",
        "binary",
        "compact+header",
        "connect+json",
        "msgpack-rpc",
    ] {
        let expected = format!("4 calls over {wire}: 4 answers as captured");
        replay(&file, &[at, "--wire", wire, "--speed", "max"], &expected);
    }

    let file = folder.path().join("grpc.capture");
    let flags = ["--protocol", "binary", "--transport", "buffered"];
    let server = Server::of_peer(&thrift, &flags);
    let to = server.address.as_str();
    let (gateway, admin) = Server::administered_gateway(&["interop.thrift", "--to", to]);
    let at = gateway.address.as_str();
    captured(&admin, &file, || {
        for (method, message) in [
            ("echo_i32", r#"{"value": 7}"#),
            (
                "join",
                r#"{"first": 1, "second": "a", "third": "2", "fourth": "b"}"#,
            ),
            ("may_fail", r#"{"how": "not_found"}"#),
        ] {
            python(
                &grpc,
                "grpc_client.py",
                &[at, "interop.Interop", method, message],
            );
        }
    });
    replay(
        &file,
        &[to, "--wire", "binary"],
        "3 calls over binary: 3 answers as captured",
    );
    for wire in ["dovetail", "grpc", "compact+framed"] {
        let expected = format!("3 calls over {wire}: 3 answers as captured");
        replay(&file, &[at, "--wire", wire, "--speed", "max"], &expected);
    }
}
