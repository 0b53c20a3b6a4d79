//! Calls by WebSocket, frame by frame, of every model of a server.

use crate::fixture::{LONG, MODELS, Raw, listen, until};
use crate::http::{response, until_text};
use crate::streams::{Flow, start};
use crate::web::Talk;
use dovetail::server::{Cors, Model, ServerLimits};
use dovetail::{Running, Server};
use std::io::{Read, Write};
use std::time::Duration;

/// A request for a socket, with these headers.
fn request(path: &str, headers: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    )
}

/// A frame of a client, its first byte as it is.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    const MASK: [u8; 4] = [1, 2, 3, 4];
    let payload = payload.as_ref();
    let length = match payload.len() {
        length @ 0..126 => vec![0x80 | length as u8],
        length @ 126..0x1_0000 => [&[0xfe][..], &(length as u16).to_be_bytes()].concat(),
        length => [&[0xff][..], &(length as u64).to_be_bytes()].concat(),
    };
    let masked = payload.iter().zip(MASK.iter().cycle());
    let masked: Vec<u8> = masked.map(|(byte, mask)| byte ^ mask).collect();
    [&[first][..], &length, &MASK, &masked].concat()
}

fn text(text: &str) -> Vec<u8> {
    frame(0x81, text)
}

fn texts(messages: &[&str]) -> Vec<u8> {
    messages.iter().flat_map(|message| text(message)).collect()
}

/// A client that has a socket.
struct Client(Raw);

impl Client {
    fn connect(running: &Running, path: &str) -> Self {
        let mut raw = Raw::connect(running);
        raw.send(request(path, "").as_bytes());
        let head = until_text(&mut raw, b"\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        Client(raw)
    }

    /// The next frame: text as it is, others behind their opcode, a close with its number.
    fn next(&mut self) -> String {
        let mut head = [0; 2];
        self.0.0.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => {
                let mut long = [0; 2];
                self.0.0.read_exact(&mut long).unwrap();
                u16::from_be_bytes(long).into()
            }
            127 => {
                let mut long = [0; 8];
                self.0.0.read_exact(&mut long).unwrap();
                u64::from_be_bytes(long) as usize
            }
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.0.0.read_exact(&mut payload).unwrap();
        match (head[0], &payload[..]) {
            (0x81, text) => String::from_utf8(text.to_vec()).unwrap(),
            (0x88, []) => "close".to_owned(),
            (0x88, [a, b, reason @ ..]) => {
                let code = u16::from_be_bytes([*a, *b]);
                format!("{code} {}", String::from_utf8_lossy(reason))
            }
            (first, bytes) => format!("{first:x} {}", String::from_utf8_lossy(bytes)),
        }
    }

    /// All frames up to the close, behind which the connection ends.
    fn all(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let next = self.next();
            let code = next.split(' ').next().unwrap_or_default();
            let last = code == "close" || (code.len() == 4 && code.parse::<u16>().is_ok());
            all.push(next);
            if last {
                // A server that has had one may be gone.
                let _ = self.0.0.write_all(&frame(0x88, b""));
                assert_eq!(self.0.rest().unwrap(), b"", "{all:?}");
                return all;
            }
        }
    }
}

const FINE: &[&str] = &[r#"{"end":{}}"#, "1000 "];

/// Method, what is sent, and what comes back.
fn calls() -> Vec<(&'static str, Vec<u8>, Vec<&'static str>)> {
    let with = |messages: &[&'static str], end: &[&'static str]| [messages, end].concat();
    vec![
        (
            "Flow/count",
            text(r#"{"params":{"to":2,"failsAfter":-1}}"#),
            with(
                &[r#"{"result":"to 2"}"#, r#"{"item":0}"#, r#"{"item":1}"#],
                FINE,
            ),
        ),
        (
            "Flow/count",
            text(r#"{"params":{"to":9}}"#),
            vec![
                r#"{"result":"to 9"}"#,
                r#"{"end":{"error":{"code":"unknown","message":"the method has thrown `Enough`","details":[{"type":"Enough","value":"CAA","debug":{"after":0}}]}}}"#,
                "1000 ",
            ],
        ),
        (
            "Flow/sum",
            texts(&[
                r#"{"params":{"stopAfter":9}}"#,
                r#"{"item":5}"#,
                r#" { "item" : 4 } "#,
                r#"{"end":{}}"#,
            ]),
            with(&[r#"{"result":"9"}"#], FINE),
        ),
        (
            "Flow/echo",
            texts(&[
                r#"{"params":{}}"#,
                r#"{"item":"a"}"#,
                r#"{"item":"b"}"#,
                r#"{"end":{}}"#,
            ]),
            with(&[r#"{"item":"A"}"#, r#"{"item":"B"}"#], FINE),
        ),
        (
            "Flow/sink",
            texts(&[r#"{"params":{}}"#, r#"{"item":"YQ=="}"#, r#"{"end":{}}"#]),
            FINE.to_vec(),
        ),
        // Headers, a deadline among them.
        (
            "Flow/sum",
            texts(&[
                r#"{"headers":{"X-A":"b","Connect-Timeout-Ms":"60000"}}"#,
                r#"{"params":{}}"#,
                r#"{"end":{}}"#,
            ]),
            with(
                &[
                    r#"{"end":{"error":{"code":"unknown","message":"the method has thrown `Enough`","details":[{"type":"Enough","value":"CAA","debug":{"after":0}}]}}}"#,
                ],
                &["1000 "],
            ),
        ),
        // In fragments, with a ping between them.
        (
            "Flow/echo",
            [
                frame(1, r#"{"par"#),
                frame(0x89, "here?"),
                frame(0x80, r#"ams":{}}"#),
                text(r#"{"end":{}}"#),
            ]
            .concat(),
            with(&["8a here?"], FINE),
        ),
        // A call that cannot be made is answered at the end.
        (
            "Flow/nothing",
            text(r#"{"params":{}}"#),
            vec![
                r#"{"end":{"error":{"code":"unimplemented","message":"no method `nothing` here"},"metadata":{"dovetail-execution":["not-started"]}}}"#,
                "1000 ",
            ],
        ),
        (
            "Flow/sum",
            texts(&[
                r#"{"headers":{"Connect-Timeout-Ms":"soon"}}"#,
                r#"{"params":{}}"#,
            ]),
            vec![
                r#"{"end":{"error":{"code":"invalid_argument","message":"`Connect-Timeout-Ms` is a number of one to ten digits"},"metadata":{"dovetail-execution":["not-started"]}}}"#,
                "1000 ",
            ],
        ),
        (
            "Flow/sum",
            text(r#"{"params":{"stopAfter":"x"}}"#),
            vec![
                r#"{"end":{"error":{"code":"invalid_argument","message":"the parameters of `sum` cannot be decoded: stop_after: \"x\" is not a number that fits here"},"metadata":{"dovetail-execution":["not-started"]}}}"#,
                "1000 ",
            ],
        ),
    ]
}

/// Breaches of RFC 6455 or of calls, and the close that answers each.
fn breaches() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let begun = |rest: Vec<u8>| [text(r#"{"params":{}}"#), rest].concat();
    vec![
        (
            "echo",
            b"\x81\x02{}".to_vec(),
            "1002 a frame without a mask, which clients have to use",
        ),
        (
            "echo",
            frame(0xc1, "{}"),
            "1002 a reserved bit: no extension was agreed on",
        ),
        (
            "echo",
            begun(frame(9, "")),
            "1002 a control frame in fragments",
        ),
        (
            "echo",
            frame(0x89, [0; 126]),
            "1002 a control frame of more than 125 bytes",
        ),
        (
            "echo",
            begun(frame(0x80, "")),
            "1002 a continuation of no message",
        ),
        (
            "echo",
            frame(0x82, "{}"),
            "1003 a binary message: calls are text messages, in JSON",
        ),
        (
            "echo",
            begun(frame(0x81, b"\xff")),
            "1007 text that is no UTF-8",
        ),
        (
            "echo",
            b"\x81\xfe\x10\x01\0\0\0\0".to_vec(),
            "1009 a message of 4097 bytes or more, the limit is 4096",
        ),
        (
            "echo",
            begun([frame(1, [b'x'; 4000]), frame(0x80, [b'x'; 97])].concat()),
            "1009 a message of 4097 bytes or more, the limit is 4096",
        ),
        (
            "echo",
            text("hello"),
            r#"1008 the first message is {"headers": …} or {"params": …}"#,
        ),
        (
            "echo",
            text(r#"{"item":"a"}"#),
            r#"1008 the first message is {"headers": …} or {"params": …}"#,
        ),
        (
            "echo",
            texts(&[r#"{"headers":{}}"#, r#"{"headers":{}}"#]),
            r#"1008 behind the headers comes {"params": …}"#,
        ),
        (
            "echo",
            text(r#"{"headers":{"a":1}}"#),
            "1008 `headers` is an object whose values are text",
        ),
        (
            "echo",
            text(r#"{"headers":{"a":"b"},"params":{}}"#),
            "1008 `headers` is an object whose values are text",
        ),
        (
            "echo",
            begun(text(r#"{"params":{}}"#)),
            r#"1008 behind the parameters come messages {"item": …}, then {"end": {}}"#,
        ),
        (
            "forever",
            begun(text(r#"{"item":1}"#)),
            "1008 nothing comes behind the end, nor behind parameters that no items follow",
        ),
    ]
}

fn limited(flow: &Flow, model: Model, limits: ServerLimits) -> Running {
    let server = Server::new()
        .service(flow.clone())
        .service(Talk)
        .model(model);
    listen(server.limits(limits)).start().unwrap()
}

#[test]
fn messages_as_they_are_sent() {
    for model in MODELS {
        let running = limited(&Flow::default(), *model, ServerLimits::default());
        for (method, sent, got) in calls() {
            let mut client = Client::connect(&running, &format!("/{method}"));
            client.0.send(&sent);
            assert_eq!(client.all(), got, "{model:?} {method}");
        }
        until("all have gone", || running.connections() == 0);
        assert_eq!(running.counters().protocol_errors, 0, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn breaches_are_answered_with_a_close() {
    let mut limits = ServerLimits::default();
    limits.connection.message_bytes = 4096;
    for model in MODELS {
        let flow = Flow::default();
        let running = limited(&flow, *model, limits);
        for (count, (method, sent, close)) in breaches().into_iter().enumerate() {
            let mut client = Client::connect(&running, &format!("/Flow/{method}"));
            client.0.send(&sent);
            assert_eq!(client.all(), [close], "{model:?} {method}");
            assert_eq!(running.counters().protocol_errors, count as u64 + 1);
        }
        until("all have gone", || {
            flow.running() == 0 && running.connections() == 0
        });
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Requests in front of a socket: the handshake, behind other requests, with all bytes at once or
/// one by one.
#[test]
fn handshakes() {
    for model in MODELS {
        let server = Server::new().service(Flow::default()).model(*model);
        let running = listen(server.cors(Cors::new().origin("https://shop.example")))
            .start()
            .unwrap();
        let mut raw = Raw::connect(&running);
        for (request, status) in [
            (
                request("/Flow/echo", "Origin: https://evil.example\r\n"),
                403,
            ),
            (request("/Flow/echo", "Origin: null\r\n"), 403),
            (request("/Flow/echo", "").replace("13", "8"), 426),
            (request("/Flow/echo", "").replace("dGhl", ""), 400),
        ] {
            raw.send(request.as_bytes());
            let answer = response(&mut raw);
            assert_eq!(answer.status, status, "{}", answer.head);
        }
        let asked = request("/Flow/echo", "Origin: https://shop.example\r\n");
        let sent = [
            asked.into_bytes(),
            texts(&[r#"{"params":{}}"#, r#"{"item":"a"}"#, r#"{"end":{}}"#]),
        ]
        .concat();
        raw.send(&sent);
        let check = |mut raw: Raw| {
            let head = until_text(&mut raw, b"\r\n\r\n");
            assert!(
                head.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                "{head}"
            );
            assert_eq!(
                Client(raw).all(),
                [r#"{"item":"A"}"#, r#"{"end":{}}"#, "1000 "]
            );
        };
        check(raw);
        let mut slow = Raw::connect(&running);
        slow.0.set_nodelay(true).unwrap();
        sent.iter().for_each(|byte| slow.send(&[*byte]));
        check(slow);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Items go both ways while the call runs, and many more of them than anybody keeps.
#[test]
fn both_ends_speak_in_turns() {
    for model in MODELS {
        let running = start(&Flow::default(), *model);
        let mut client = Client::connect(&running, "/Flow/echo");
        client.0.send(&text(r#"{"params":{}}"#));
        for number in 0..300 {
            let item = "x".repeat(number);
            client.0.send(&text(&format!(r#"{{"item":"{item}"}}"#)));
            assert_eq!(
                client.next(),
                format!(r#"{{"item":"{}"}}"#, item.to_uppercase())
            );
        }
        client.0.send(&text(r#"{"end":{}}"#));
        assert_eq!(client.all(), FINE, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// How a client goes, and the handler with it.
#[test]
fn a_caller_that_goes_ends_its_handler() {
    for model in MODELS {
        for (method, goodbye, answer) in [
            ("forever", frame(0x88, b"\x03\xe9"), Some("1001 ")),
            ("forever", frame(0x88, b""), Some("close")),
            ("forever", vec![], None),
            ("sink", frame(0x88, b"\x0f\xa0bye"), Some("4000 ")),
            ("blobs", vec![], None),
        ] {
            let flow = Flow::default();
            let running = start(&flow, *model);
            let mut client = Client::connect(&running, &format!("/Flow/{method}"));
            client.0.send(&text(r#"{"params":{"size":9}}"#));
            until("the handler runs", || flow.running() == 1);
            client.0.send(&goodbye);
            if let Some(answer) = answer {
                assert_eq!(client.all(), [answer], "{model:?} {method}");
            }
            drop(client);
            until("the handler has ended", || flow.running() == 0);
            until("it counts", || {
                running.counters().cancelled_calls >= 1 || method == "blobs"
            });
            assert!(running.shutdown(LONG), "{model:?}");
        }
    }
}

#[test]
fn limits_of_time() {
    let limits = ServerLimits {
        idle: Duration::from_millis(150),
        transfer: Duration::from_millis(150),
        ..ServerLimits::default()
    };
    for model in MODELS {
        let running = limited(&Flow::default(), *model, limits);
        let mut idle = Client::connect(&running, "/Flow/echo");
        assert_eq!(
            idle.all(),
            ["1001 nothing was called for too long"],
            "{model:?}"
        );
        for part in [&b"\x81"[..], &frame(1, "{")] {
            let mut slow = Client::connect(&running, "/Flow/echo");
            slow.0.send(part);
            assert_eq!(
                slow.all(),
                ["1008 a message took longer than 150ms"],
                "{model:?}"
            );
        }
        let mut slow = Client::connect(&running, "/Flow/sink");
        slow.0
            .send(&[text(r#"{"params":{}}"#), vec![0x81]].concat());
        assert_eq!(
            slow.all(),
            ["1008 a message took longer than 150ms"],
            "{model:?}"
        );
        let counters = running.counters();
        assert_eq!((counters.idle_timeouts, counters.transfer_timeouts), (1, 3));
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A socket without a call is closed, one with a call is not; a thread that is told to go receives
/// no more items.
#[test]
fn a_server_that_goes_down() {
    const NO_MORE: &str =
        r#"{"end":{"error":{"code":"unavailable","message":"the server is shutting down"}}}"#;
    for model in MODELS {
        let flow = Flow::default();
        let running = start(&flow, *model);
        let mut idle = Client::connect(&running, "/Flow/echo");
        let mut busy = Client::connect(&running, "/Flow/sink");
        busy.0.send(&text(r#"{"params":{}}"#));
        until("the handler runs", || flow.running() == 1);
        let ending = std::thread::spawn(move || running.shutdown(LONG));
        let closed = idle.all();
        assert_eq!(closed, ["1001 the server is shutting down"], "{model:?}");
        let end = match model {
            Model::ThreadPerConnection => NO_MORE,
            _ => {
                busy.0.send(&text(r#"{"end":{}}"#));
                FINE[0]
            }
        };
        assert_eq!(busy.all(), [end, FINE[1]], "{model:?}");
        assert!(ending.join().unwrap(), "{model:?}");
    }
}

#[test]
fn what_is_said_beside_answers() {
    let running = limited(
        &Flow::default(),
        Model::ThreadPerConnection,
        ServerLimits::default(),
    );
    let metadata = r#""metadata":{"colour":["blue"],"cost-bin":["AAE"]}"#;
    let params = r#"{"params":{"text":"hello"}}"#;
    for (method, messages) in [
        (
            "say",
            vec![
                r#"{"result":"hello"}"#.to_owned(),
                format!(r#"{{"end":{{{metadata}}}}}"#),
            ],
        ),
        (
            "repeat",
            vec![
                r#"{"item":"hello"}"#.to_owned(),
                format!(r#"{{"end":{{{metadata}}}}}"#),
            ],
        ),
        (
            "fail",
            vec![format!(
                r#"{{"end":{{"error":{{"code":"not_found","message":"hello","details":[{{"type":"a.B","value":"CAE"}}]}},{metadata}}}}}"#
            )],
        ),
    ] {
        let mut client = Client::connect(&running, &format!("/talk.v1.Talk/{method}"));
        client.0.send(&text(params));
        let mut all = client.all();
        assert_eq!(all.pop().unwrap(), "1000 ");
        assert_eq!(all, messages);
    }
    assert!(running.shutdown(LONG));
}
