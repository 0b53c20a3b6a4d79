//! Captures of a server with streams: taken, shown, compared, and made again over several wires.

#![allow(clippy::expect_used)]

use dovetail::admin::Admin;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::stream::{Items, Receiver};
use dovetail::{Context, Running, Server, Service, Status, descriptor, exceptions, message};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

#[derive(Clone, Debug, Default, PartialEq)]
struct Enough {
    number: i32,
}

message!(Enough {
    1 number: i32,
});

impl std::fmt::Display for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is enough", self.number)
    }
}

#[derive(Clone, Debug)]
enum Failure {
    Enough(Enough),
    Status(Status),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Shift {
    by: i32,
    steps: Vec<u32>,
}

message!(Shift {
    1 by: i32 [zigzag],
    2 steps: Vec<u32> [fixed, expanded],
});

exceptions!(Failure {
    1 Enough as "enough": Enough,
});

descriptor!(static FLOW = "Flow" in "flow.v1" {
    twice(1 number: i64) -> i64 | Failure;
    numbers(1 to: i32) -> String, stream<i32 | Failure>;
    sum() -> i64, sink<i32>;
    running() -> (), sink<i32>, stream<i64>;
    hour() -> i64;
    note(1 text: String) [oneway];
    shift(1 shift: Shift) -> Shift;
});

/// Numbers; `hour` answers differently each time.
#[derive(Default)]
struct Flow(AtomicI64);

impl Service for Flow {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &FLOW
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((0,), |_: Context, (number,): (i64,)| async move {
                let small = i32::try_from(number).unwrap_or(i32::MAX);
                match number {
                    0..100 => Ok(number * 2),
                    _ => Err(Failure::Enough(Enough { number: small })),
                }
            }),
            1 => call.stream((0,), |_: Context, (to,): (i32,)| async move {
                let items = Items::with(move |mut out| async move {
                    for number in 0..to.min(3) {
                        out.send(number).await;
                    }
                    match to {
                        0..=3 => Ok(()),
                        number => Err(Failure::Enough(Enough { number })),
                    }
                });
                Ok::<(String, Items<'_, i32, Failure>), Status>((format!("to {to}"), items))
            }),
            2 => call.upload((), |_: Context, (), mut items: Receiver<i32>| async move {
                let mut sum = 0;
                while let Some(item) = items.next().await {
                    sum += i64::from(item?);
                }
                Ok::<_, Status>(sum)
            }),
            3 => call.chat((), |_: Context, (), mut items: Receiver<i32>| async move {
                Ok::<_, Status>(Items::<i64>::with(move |mut out| async move {
                    let mut sum = 0;
                    while let Some(item) = items.next().await {
                        sum += i64::from(item?);
                        out.send(sum).await;
                    }
                    Ok(())
                }))
            }),
            4 => call.unary((), |_: Context, ()| async {
                Ok::<_, Status>(self.0.fetch_add(1, Relaxed))
            }),
            5 => call.unary((String::new(),), |_: Context, (_,)| async {
                Ok::<_, Status>(())
            }),
            6 => call.unary((Shift::default(),), |_: Context, (shift,)| async {
                Ok::<Shift, Status>(shift)
            }),
            _ => call.no_such_method(),
        }
    }
}

fn dovetail(words: &[&str], input: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    let mut child = command
        .args(words)
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut lines = child.stdin.take().expect("its input");
    // It may read none.
    let _ = std::io::Write::write_all(&mut lines, input.as_bytes());
    drop(lines);
    let output = child.wait_with_output().expect("its end");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn place(running: &Running) -> String {
    let address = running.addresses()[0].to_string();
    address.trim_start_matches("tcp://").to_owned()
}

fn start(server: Server) -> Running {
    let server = server.listen("tcp://127.0.0.1:0").expect("a port");
    server.start().expect("a server")
}

/// Takes a capture of what `work` does.
fn take(admin: &str, file: &Path, work: impl FnOnce()) {
    let file = file.to_str().expect("a path");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
    let mut taking = command
        .args(["capture", "take", admin, file, "--for", "4s"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut lines = BufReader::new(taking.stderr.take().expect("its errors")).lines();
    lines.next().expect("a line").expect("text");
    work();
    assert!(taking.wait().expect("its end").success());
}

/// Times, addresses and identities of traces differ from run to run.
fn normal(line: &str) -> serde_json::Value {
    let mut json: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for name in ["began_us", "elapsed_us", "peer", "headers", "trace_id"] {
        object.remove(name);
    }
    json
}

#[test]
fn streams_are_captured_and_made_again() {
    let admin = Admin::new();
    let server = Server::new()
        .service(Flow::default())
        .reflection(&dovetail::reflection::Reflection::default());
    let running = start(server.administered(&admin));
    let shown = start(Server::new().admin(&admin));
    let at = place(&running);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flow.capture");
    take(&place(&shown), &file, || {
        for (words, input) in [
            (&["Flow.twice", r#"{"number": 21}"#][..], ""),
            (
                &["Flow.twice", r#"{"number": 100}"#, "--wire", "connect"],
                "",
            ),
            (&["Flow.numbers", r#"{"to": 3}"#], ""),
            (&["Flow.numbers", r#"{"to": 7}"#], ""),
            (&["Flow.sum"], "40\n2\n"),
            (&["Flow.running"], "1\n2\n3\n"),
            (&["Flow.hour"], ""),
            (&["Flow.note", r#"{"text": "so"}"#], ""),
        ] {
            dovetail(&[&["call", at.as_str()], words].concat(), input);
        }
    });
    let path = file.to_str().expect("a path");
    let printed = dovetail(&["capture", "convert", path], "");
    let (calls, summary) = printed.trim_end().rsplit_once('\n').expect("a last line");
    assert!(
        summary.ends_with(": 8 calls; it ended when its time was over"),
        "{summary}\n{calls}"
    );
    let calls: Vec<serde_json::Value> = calls.lines().map(normal).collect();
    let expected = [
        r#"{"arguments":{"number":21},"method":"twice","outcome":{"result":42},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{"number":100},"method":"twice","outcome":{"exception":{"Enough":{"number":100}}},"service":"flow.v1.Flow","wire":"connect+proto"}"#,
        r#"{"arguments":{"to":3},"items":[{"sent":0},{"sent":1},{"sent":2}],"method":"numbers","outcome":{"result":"to 3"},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{"to":7},"items":[{"sent":0},{"sent":1},{"sent":2}],"method":"numbers","outcome":{"exception":{"Enough":{"number":7}}},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{},"items":[{"received":40},{"received":2}],"method":"sum","outcome":{"result":42},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{},"items":[{"received":1},{"sent":1},{"received":2},{"sent":3},{"received":3},{"sent":6}],"method":"running","outcome":{"result":null},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{},"method":"hour","outcome":{"result":0},"service":"flow.v1.Flow","wire":"dovetail"}"#,
        r#"{"arguments":{"text":"so"},"method":"note","outcome":{"result":null},"service":"flow.v1.Flow","wire":"dovetail"}"#,
    ];
    for (found, expected) in calls.iter().zip(expected) {
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(found, &expected);
    }
    assert_eq!(calls.len(), expected.len());
    for wire in ["dovetail", "grpc", "connect+proto", "grpc-web+json"] {
        let words = ["replay", path, &at, "--wire", wire, "--speed", "max"];
        let said = dovetail(&words, "");
        let expected = format!("8 calls over {wire}: 7 answers as captured, 1 different");
        assert!(said.contains(&expected), "{wire}: {said}");
        assert!(
            said.contains("flow.v1.Flow/hour {}\n  - {\"result\":0}"),
            "{wire}: {said}"
        );
        let ignored = [&words[..], &["--ignore", "result"]].concat();
        let said = dovetail(&ignored, "");
        assert!(
            said.contains("8 answers as captured, 0 different"),
            "{wire}: {said}"
        );
    }
    let other = folder.path().join("again.capture");
    take(&place(&shown), &other, || {
        dovetail(&["replay", path, &at, "--speed", "4"], "");
    });
    let said = dovetail(
        &["capture", "diff", path, other.to_str().expect("a path")],
        "",
    );
    assert!(
        said.contains("7 calls have the same answer, 1 another one; 0 are only in"),
        "{said}"
    );
    let text = dovetail(&["capture", "view", path], "");
    assert!(
        text.contains("flow.v1.Flow/running over dovetail from 127.0.0.1:"),
        "{text}"
    );
    assert!(
        text.contains("\n  > 1\n  < 1\n  > 2\n  < 3\n  > 3\n  < 6\n  OK after "),
        "{text}"
    );
}

/// Servers say how protobuf writes their numbers, so that the command does so, too.
#[test]
fn numbers_have_their_forms_in_protobuf() {
    let server = Server::new()
        .service(Flow::default())
        .reflection(&dovetail::reflection::Reflection::default());
    let running = start(server);
    let at = place(&running);
    let arguments = r#"{"shift": {"by": -5, "steps": [1, 2]}}"#;
    for wire in ["dovetail", "grpc", "connect+proto"] {
        let words = ["call", &at, "Flow.shift", arguments, "--wire", wire];
        let said: serde_json::Value = serde_json::from_str(&dovetail(&words, "")).expect("JSON");
        assert_eq!(
            said,
            serde_json::json!({"by": -5, "steps": [1, 2]}),
            "{wire}"
        );
    }
}

#[test]
fn mistakes_are_explained() {
    let running = start(Server::new().service(Flow::default()));
    let at = place(&running);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("text"), "no capture").expect("a file");
    for (words, expected) in [
        (&["capture", "view", &path("none")][..], "No such file"),
        (
            &["capture", "view", &path("text")],
            "this is no whole capture: it does not begin as one",
        ),
        (
            &["replay", &path("text"), &at],
            "`dovetail capture take` writes captures",
        ),
        (
            &["capture", "take", &at, &path("out")],
            "is this the address of `Server::admin`",
        ),
        (
            &["capture", "take", &at, &path("out"), "--bytes", "1TB"],
            "the units are KB, MB, GB",
        ),
        (
            &["replay", &path("text"), &at, "--speed", "0"],
            "a number more than 0, or `max`",
        ),
    ] {
        let said = dovetail(words, "");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}
