//! Streams over HTTP/1.1: Connect's and gRPC-Web's, byte by byte.

use crate::fixture::{LONG, MODELS, Raw, listen, until};
use crate::http::{Response, chunk, gzip, post, response, until_text};
use crate::streams::{Flow, start};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, ServerLimits};
use dovetail::stream::Items;
use dovetail::types::Any;
use dovetail::{Code, Context, Running, Server, Service, Status, descriptor};
use dovetail_protocol::envelope::prefix;
use dovetail_protocol::grpc::Text;
use std::io::Read;

/// A message behind its prefix, with this flag.
pub(crate) fn envelope(flag: u8, message: impl AsRef<[u8]>) -> Vec<u8> {
    let message = message.as_ref();
    let [_, length @ ..] = prefix(message.len()).unwrap();
    [&[flag], &length[..], message].concat()
}

fn envelopes(messages: &[(u8, &str)]) -> Vec<u8> {
    let all = messages.iter();
    all.flat_map(|(flag, message)| envelope(*flag, message))
        .collect()
}

/// Returns the contents of a body, message by message.
pub(crate) fn opened(mut body: &[u8]) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    while let [flag, a, b, c, d, rest @ ..] = body {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (message, behind) = rest.split_at(length);
        found.push((*flag, String::from_utf8_lossy(message).into_owned()));
        body = behind;
    }
    assert!(body.is_empty(), "{body:?} in {found:?}");
    found
}

fn check(got: &Response, messages: &[(u8, &str)], what: &str) {
    let messages: Vec<_> = messages
        .iter()
        .map(|(flag, message)| (*flag, (*message).to_owned()))
        .collect();
    assert_eq!((got.status, opened(&got.body)), (200, messages), "{what}");
}

const STREAM_JSON: &str = "Content-Type: application/connect+json\r\n";
const STREAM_PROTO: &str = "Content-Type: application/connect+proto\r\n";
const WEB: &str = "Content-Type: application/grpc-web+proto\r\n";
const WEB_JSON: &str = "Content-Type: application/grpc-web+json\r\n";
const WEB_TEXT: &str = "Content-Type: application/grpc-web-text\r\n";

#[cfg(feature = "zstd")]
const UNKNOWN_CODING: (u8, &str) = (
    2,
    r#"{"error":{"code":"unimplemented","message":"messages in `br`; known are identity,gzip,zstd"},"metadata":{"dovetail-execution":["not-started"]}}"#,
);
#[cfg(not(feature = "zstd"))]
const UNKNOWN_CODING: (u8, &str) = (
    2,
    r#"{"error":{"code":"unimplemented","message":"messages in `br`; known are identity,gzip"},"metadata":{"dovetail-execution":["not-started"]}}"#,
);

type Row<'a> = (&'a str, &'a str, Vec<u8>, &'a [(u8, &'a str)]);

/// Method, headers, the messages sent, and those that come back.
fn rows() -> Vec<Row<'static>> {
    const FINE: (u8, &str) = (0x80, "grpc-status: 0\r\n");
    vec![
        (
            "count",
            STREAM_JSON,
            envelopes(&[(0, r#"{"to":2,"failsAfter":-1}"#)]),
            &[
                (0, r#"{"result":"to 2"}"#),
                (0, r#"{"item":0}"#),
                (0, r#"{"item":1}"#),
                (2, "{}"),
            ],
        ),
        (
            "count",
            STREAM_PROTO,
            envelope(0, b"\x08\x01\x10\x05"),
            &[(0, "\n\u{4}to 1"), (0, "\u{10}\0"), (2, "{}")],
        ),
        (
            "count",
            STREAM_JSON,
            envelopes(&[(0, r#"{"to":9}"#)]),
            &[
                (0, r#"{"result":"to 9"}"#),
                (
                    2,
                    r#"{"error":{"code":"unknown","message":"the method has thrown `Enough`","details":[{"type":"Enough","value":"CAA","debug":{"after":0}}]}}"#,
                ),
            ],
        ),
        (
            "count",
            STREAM_JSON,
            envelopes(&[(0, r#"{"to":-1}"#)]),
            &[(
                2,
                r#"{"error":{"code":"unknown","message":"the method has thrown `Enough`","details":[{"type":"Enough","value":"CP///////////wE","debug":{"after":-1}}]}}"#,
            )],
        ),
        (
            "sum",
            STREAM_JSON,
            envelopes(&[
                (0, r#"{"params":{"stopAfter":9}}"#),
                (0, r#"{"item":5}"#),
                (0, "{}"),
                (0, r#"{"item":4}"#),
            ]),
            &[(0, r#"{"result":"9"}"#), (2, "{}")],
        ),
        (
            "echo",
            STREAM_JSON,
            envelopes(&[(0, r#"{"item":"a"}"#), (0, r#"{"item":"b"}"#)]),
            &[(0, r#"{"item":"A"}"#), (0, r#"{"item":"B"}"#), (2, "{}")],
        ),
        ("echo", STREAM_JSON, vec![], &[(2, "{}")]),
        (
            "sink",
            STREAM_JSON,
            envelopes(&[(0, r#"{"item":"YQ=="}"#)]),
            &[(0, "{}"), (2, "{}")],
        ),
        // gRPC-Web.
        (
            "count",
            WEB,
            envelope(0, b"\x08\x01\x10\x05"),
            &[(0, "\n\u{4}to 1"), (0, "\u{10}\0"), FINE],
        ),
        (
            "count",
            WEB_JSON,
            envelopes(&[(0, r#"{"to":1,"failsAfter":5}"#)]),
            &[(0, r#"{"result":"to 1"}"#), (0, r#"{"item":0}"#), FINE],
        ),
        (
            "echo",
            WEB,
            [envelope(0, b"\x0a\x01a"), envelope(0, b"")].concat(),
            &[(0, "\n\u{1}A"), (0, "\n\0"), FINE],
        ),
        // A failure is said at the end.
        (
            "count",
            STREAM_JSON,
            vec![],
            &[(
                2,
                r#"{"error":{"code":"unimplemented","message":"no message in the request: the method takes one"},"metadata":{"dovetail-execution":["not-started"]}}"#,
            )],
        ),
        (
            "echo",
            STREAM_JSON,
            envelopes(&[(7, "{}")]),
            &[(
                2,
                r#"{"error":{"code":"internal","message":"a message begins with 7: 0 is plain, 1 compressed"}}"#,
            )],
        ),
        (
            "sum",
            STREAM_JSON,
            envelopes(&[(0, r#"{"item":1}"#)]),
            &[(
                2,
                r#"{"error":{"code":"invalid_argument","message":"the first message has other fields than 1, which are the parameters"},"metadata":{"dovetail-execution":["not-started"]}}"#,
            )],
        ),
        (
            "sum",
            STREAM_JSON,
            envelopes(&[(0, r#"{"params":{"stopAfter":"x"}}"#)]),
            &[(
                2,
                r#"{"error":{"code":"invalid_argument","message":"the parameters of `sum` cannot be decoded: stop_after: \"x\" is not a number that fits here"},"metadata":{"dovetail-execution":["not-started"]}}"#,
            )],
        ),
        (
            "nothing",
            STREAM_JSON,
            envelopes(&[(0, "{}")]),
            &[(
                2,
                r#"{"error":{"code":"unimplemented","message":"no method `nothing` here"},"metadata":{"dovetail-execution":["not-started"]}}"#,
            )],
        ),
        (
            "nothing",
            WEB,
            envelope(0, ""),
            &[(
                0x80,
                "grpc-status: 12\r\ngrpc-message: no method `nothing` here\r\ndovetail-execution: not-started\r\n",
            )],
        ),
        (
            "echo",
            "Content-Type: application/connect+json\r\nConnect-Content-Encoding: br\r\n",
            vec![],
            &[UNKNOWN_CODING],
        ),
        (
            "echo",
            "Content-Type: application/grpc-web\r\nGrpc-Timeout: soon\r\n",
            vec![],
            &[(
                0x80,
                "grpc-status: 3\r\ngrpc-message: `grpc-timeout` is one to eight digits and a unit: H, M, S, m, u or n\r\ndovetail-execution: not-started\r\n",
            )],
        ),
    ]
}

#[test]
fn messages_as_they_are_sent() {
    for model in MODELS {
        let running = start(&Flow::default(), *model);
        let mut raw = Raw::connect(&running);
        let text = rows()
            .into_iter()
            .filter(|(_, headers, ..)| *headers == WEB);
        let text = text.map(|(method, _, sent, got)| (method, WEB_TEXT, sent, got));
        for (method, headers, mut sent, got) in rows().into_iter().chain(text) {
            let what = format!("{model:?} {method} {headers} {sent:?}");
            if headers == WEB_TEXT {
                sent = Text::write(&sent).into_bytes();
            }
            raw.send(&post(&format!("/Flow/{method}"), headers, &sent));
            let mut answer = response(&mut raw);
            if headers == WEB_TEXT {
                answer.body = Text::default().read(&answer.body).unwrap().to_vec();
            }
            check(&answer, got, &what);
        }
        assert_eq!(running.connections(), 1);
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A connection that is to be closed ends where the answer does.
#[test]
fn without_keep_alive_the_connection_is_the_frame() {
    for model in MODELS {
        let running = start(&Flow::default(), *model);
        let mut raw = Raw::connect(&running);
        let headers = format!("{STREAM_JSON}Connection: close\r\n");
        let sent = envelopes(&[(0, r#"{"size":70000}"#)]);
        raw.send(&post("/Flow/blobs", &headers, sent));
        // It goes on for ever: the head and something of the body are enough.
        let mut head = [0; 200_000];
        raw.0.read_exact(&mut head).unwrap();
        let head = String::from_utf8_lossy(&head[..300]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
        assert!(
            !head.contains("chunked") && !head.contains("Length"),
            "{head}"
        );
        drop(raw);
        until("the server has noticed", || running.connections() == 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn items_come_as_they_are_made_and_end_with_their_caller() {
    for model in MODELS {
        let flow = Flow::default();
        let running = start(&flow, *model);
        let mut raw = Raw::connect(&running);
        raw.send(&post(
            "/Flow/blobs",
            STREAM_JSON,
            envelopes(&[(0, r#"{"size":9}"#)]),
        ));
        let head = until_text(&mut raw, b"\r\n\r\n");
        assert!(
            head.contains("\r\nTransfer-Encoding: chunked\r\n"),
            "{head}"
        );
        let first = chunk(&mut raw);
        assert_eq!(opened(&first[..5 + 23])[0].1, r#"{"item":"BwcHBwcHBwcH"}"#);
        chunk(&mut raw);
        drop(raw);
        until("the handler has ended", || flow.running() == 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// On threads a caller that has gone is noticed when something is sent.
#[cfg(feature = "grpc")]
#[test]
fn a_caller_that_goes_ends_a_handler_that_waits() {
    for model in crate::grpc::MODELS {
        let flow = Flow::default();
        let running = start(&flow, model);
        let mut raw = Raw::connect(&running);
        raw.send(&post("/Flow/forever", STREAM_JSON, envelopes(&[(0, "{}")])));
        until("the handler runs", || flow.running() == 1);
        drop(raw);
        until("the handler has ended", || flow.running() == 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

descriptor!(static TALK = "Talk" in "talk.v1" {
    say(1 text: String) -> String;
    fail(1 text: String) -> String;
    repeat(1 text: String) -> (), stream<String>;
});

/// Says things beside its answers.
pub(crate) struct Talk;

impl Service for Talk {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &TALK
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let text = (String::new(),);
        match method {
            0 => call.unary(text, |cx: Context, (text,)| async move {
                beside(&cx)?;
                Ok::<_, Status>(text)
            }),
            1 => call.unary(text, |cx: Context, (text,)| async move {
                beside(&cx)?;
                let detail = Any {
                    type_name: "type.googleapis.com/a.B".to_owned(),
                    value: dovetail::types::Bytes::from_static(b"\x08\x01"),
                    ..Any::default()
                };
                let why = Status::new(Code::NotFound, text).with_details(vec![detail]);
                Err::<String, _>(why)
            }),
            2 => call.stream(text, |cx: Context, (text,)| async move {
                beside(&cx)?;
                Ok::<_, Status>(Items::<String>::iter([text]))
            }),
            _ => call.no_such_method(),
        }
    }
}

fn beside(cx: &Context) -> Result<(), Status> {
    cx.set_header("Colour", "blue")?;
    cx.set_trailer("cost-bin", &b"\0\x01"[..])?;
    let refused = cx.set_header("Connect-Timeout-Ms", "0");
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    Ok(())
}

fn talk(model: Model) -> Running {
    let server = Server::new().service(Talk).model(model);
    let server = server.listen("tcp://127.0.0.1:0").unwrap();
    server.start().unwrap()
}

#[test]
fn what_is_said_beside_answers() {
    let json = "Content-Type: application/json\r\n";
    for model in MODELS {
        let running = talk(*model);
        let mut raw = Raw::connect(&running);
        let mut ask = |method: &str, headers: &str, body: &[u8]| {
            raw.send(&post(&format!("/Talk/{method}"), headers, body));
            let answer = response(&mut raw);
            assert!(answer.has("colour: blue"), "{}", answer.head);
            answer
        };
        let hello = br#"{"text":"hello"}"#;
        let said = ask("say", json, hello);
        assert_eq!(said.text(), r#"{"result":"hello"}"#);
        assert!(said.has("trailer-cost-bin: AAE"), "{}", said.head);
        let said = ask("fail", json, hello);
        assert_eq!(
            said.text(),
            r#"{"code":"not_found","message":"hello","details":[{"type":"a.B","value":"CAE"}]}"#
        );
        assert!(said.has("trailer-cost-bin: AAE"), "{}", said.head);
        let ends = r#"{"metadata":{"cost-bin":["AAE"]}}"#;
        let said = ask("repeat", STREAM_JSON, &envelope(0, hello));
        check(&said, &[(0, r#"{"item":"hello"}"#), (2, ends)], "repeat");
        let said = ask("fail", WEB_JSON, &envelope(0, hello));
        let end = opened(&said.body).remove(0).1;
        assert!(
            end.starts_with("grpc-status: 5\r\ngrpc-message: hello\r\n"),
            "{end}"
        );
        assert!(end.ends_with("\r\ncost-bin: AAE\r\n"), "{end}");
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn large_answers_are_compressed_where_the_caller_reads_that() {
    let running = talk(Model::ThreadPerConnection);
    let mut raw = Raw::connect(&running);
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(5000));
    let item = text.replace("text", "item");
    let json = "Content-Type: application/json\r\n";
    for (method, headers, sent, packed) in [
        (
            "say",
            format!("{json}Accept-Encoding: gzip\r\n"),
            text.clone().into_bytes(),
            true,
        ),
        (
            "say",
            format!("{json}Accept-Encoding: gzip;q=0\r\n"),
            text.clone().into_bytes(),
            false,
        ),
        ("say", json.to_owned(), text.clone().into_bytes(), false),
        (
            "repeat",
            format!("{STREAM_JSON}Connect-Accept-Encoding: gzip\r\n"),
            envelope(0, &text),
            true,
        ),
        (
            "repeat",
            format!("{STREAM_JSON}Connect-Content-Encoding: gzip\r\n"),
            envelope(1, gzip(text.as_bytes())),
            false,
        ),
        (
            "repeat",
            format!("{WEB_JSON}Grpc-Encoding: gzip\r\nGrpc-Accept-Encoding: gzip\r\n"),
            envelope(1, gzip(text.as_bytes())),
            true,
        ),
        (
            "repeat",
            format!("{WEB_JSON}Grpc-Accept-Encoding: gzip\r\n"),
            envelope(0, &text),
            false,
        ),
    ] {
        raw.send(&post(&format!("/Talk/{method}"), &headers, &sent));
        let answer = response(&mut raw);
        let head = answer.head.to_lowercase();
        // Each of gRPC-Web's items may be compressed, where the caller reads that.
        let said = match headers.starts_with(WEB_JSON) {
            true => head.contains("grpc-encoding: gzip"),
            false => head.contains("content-encoding: gzip") == packed,
        };
        assert!(said, "{headers} {}", answer.head);
        let mut body = answer.body;
        if method == "repeat" {
            assert_eq!(body[0], u8::from(packed));
            let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
            body = body[5..5 + length].to_vec();
        }
        if packed {
            assert!(body.len() < 200);
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&body[..])
                .read_to_end(&mut plain)
                .unwrap();
            body = plain;
        }
        let plain = match method {
            "repeat" => item.clone(),
            _ => text.replace("text", "result"),
        };
        assert!(body == plain.as_bytes(), "{headers}");
    }
    drop(raw);
    assert!(running.shutdown(LONG));
}

/// Each message has its limit, before and after decompression, and all of a request together four
/// times as much.
#[test]
fn messages_have_their_limit() {
    let mut limits = ServerLimits::default();
    limits.connection.message_bytes = 1000;
    let packed = format!("{STREAM_PROTO}Connect-Content-Encoding: gzip\r\n");
    // Field 1, of as many bytes as it takes.
    let message = |size: usize| {
        let length = size - 3;
        let head = [10, length as u8 | 0x80, (length >> 7) as u8];
        [&head[..], &vec![0; length]].concat()
    };
    let bomb = |size| envelope(1, gzip(&message(size)));
    let item = |size| envelope(0, message(size));
    for model in MODELS {
        let server = Server::new().service(Flow::default()).model(*model);
        let running = listen(server.limits(limits)).start().unwrap();
        for (headers, body, says) in [
            (
                STREAM_PROTO,
                item(1001),
                "a message of 1001 bytes, the limit is 1000",
            ),
            (
                STREAM_PROTO,
                vec![0, 255, 255, 255, 255],
                "a message of 4294967295 bytes, the limit is 1000",
            ),
            (
                &packed,
                bomb(1001),
                "a message of more than 1000 bytes, decompressed",
            ),
            (
                &packed,
                [bomb(1000), bomb(1000), bomb(1000), bomb(900), bomb(101)].concat(),
                "a message of more than 100 bytes, decompressed",
            ),
            (
                STREAM_PROTO,
                item(4000),
                "the body is too large (HTTP status 413)",
            ),
        ] {
            let mut raw = Raw::connect(&running);
            raw.send(&post("/Flow/sink", headers, &body));
            let answer = String::from_utf8_lossy(&response(&mut raw).body).into_owned();
            let end = format!(r#"{{"code":"resource_exhausted","message":"{says}"}}"#);
            assert!(answer.contains(&end), "{model:?} {answer} {end}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}
