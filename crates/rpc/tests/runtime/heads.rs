//! Calls that interceptors refuse by their heads, while the rest is still to come.

use crate::fixture::*;
use crate::grpc::{self, Client, answer, request, runtime};
use crate::http::{post, response};
use crate::identity::{guarded, tokens};
use crate::interceptors::{Orders, start};
use bytes::Bytes;
use dovetail::identity::{Authentication, Permissions};
use dovetail::intercept::{CallEnd, CallHead, Decision, Outcome, ServerInterceptor};
use dovetail::{Context, Server, Status};
use std::sync::{Arc, Mutex};

const JSON: &str = "Content-Type: application/json\r\n";
const GRPC_WEB: &str = "Content-Type: application/grpc-web+proto\r\n";
const STREAM: &str = "Content-Type: application/connect+json\r\n";

/// The path and the headers of a request, what has come of its body, and the status and a part of
/// the answer for Bob, who may read orders.
const PARTS: &[(&str, &str, &str, u16, &str)] = &[
    (
        "place",
        JSON,
        "Content-Length: 9000000\r\n\r\n",
        403,
        "orders.write",
    ),
    (
        "place",
        JSON,
        "Content-Length: 9000000\r\n\r\n{\"item\": \"",
        403,
        "orders.write",
    ),
    (
        "place",
        JSON,
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        403,
        "orders.write",
    ),
    (
        "place",
        JSON,
        "Transfer-Encoding: chunked\r\n\r\n",
        403,
        "orders.write",
    ),
    (
        "place",
        JSON,
        "Transfer-Encoding: chunked\r\n\r\n4\r\n{\"it\r\n7",
        403,
        "orders.write",
    ),
    (
        "place",
        GRPC_WEB,
        "Content-Length: 9000000\r\n\r\n",
        200,
        "orders.write",
    ),
    (
        "open",
        STREAM,
        "Content-Length: 9000000\r\n\r\n",
        200,
        "store.open",
    ),
    // He may, and the rest is waited for.
    (
        "sum",
        STREAM,
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        100,
        "",
    ),
    (
        "count",
        STREAM,
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        100,
        "",
    ),
];

#[test]
fn a_refusal_does_not_wait_for_the_body() {
    for model in MODELS {
        let running = start(*model, guarded());
        let rows = PARTS.iter().map(|row| (row, "bob"));
        let unknown = PARTS.iter().map(|row| (row, "nobody"));
        for ((method, kind, rest, status, text), who) in rows.chain(unknown) {
            let what = format!("{model:?} {who} {method} {kind}{rest}");
            let mut raw = Raw::connect(&running);
            let head = format!(
                "POST /shop.v1.Orders/{method} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {who}'s secret\r\n{kind}{rest}"
            );
            raw.send(head.as_bytes());
            let answer = response(&mut raw);
            let whole = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
            if who == "nobody" {
                let status = if *kind == JSON { 401 } else { 200 };
                assert_eq!(answer.status, status, "{what}: {whole}");
                assert!(
                    whole.contains("the token is not known here"),
                    "{what}: {whole}"
                );
            } else {
                assert_eq!(answer.status, *status, "{what}: {whole}");
                assert!(whole.contains(text), "{what}: {whole}");
            }
            if answer.status != 100 {
                assert!(answer.has("Connection: close"), "{what}: {whole}");
                assert_eq!(raw.rest().unwrap(), b"", "{what}");
            }
        }
        let counters = running.counters();
        let refused = PARTS.len() + PARTS.iter().filter(|row| row.3 != 100).count();
        assert_eq!(counters.intercepted_calls, refused as u64, "{model:?}");
        // Two bodies were waited for, and did not come.
        assert_eq!(counters.protocol_errors, 2, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn nothing_is_decompressed_before_a_refusal() {
    let garbage = b"\x01\0\0\0\x04none";
    for model in MODELS {
        let running = start(*model, guarded());
        let mut raw = Raw::connect(&running);
        for (kind, coding, body, bob, ada) in [
            (
                JSON,
                "Content-Encoding",
                &b"none"[..],
                "permission_denied",
                "that gzip did not make",
            ),
            (
                GRPC_WEB,
                "grpc-encoding",
                garbage,
                "orders.write",
                "message",
            ),
        ] {
            for (who, text) in [("bob", bob), ("ada", ada)] {
                let headers =
                    format!("Authorization: Bearer {who}'s secret\r\n{kind}{coding}: gzip\r\n");
                raw.send(&post("/shop.v1.Orders/place", &headers, body));
                let answer = response(&mut raw);
                let whole = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
                let denied = whole.contains("orders.write");
                assert_eq!(denied, who == "bob", "{model:?} {kind} {who}: {whole}");
                assert!(whole.contains(text), "{model:?} {kind} {who}: {whole}");
            }
        }
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn streams_of_http2_are_refused_by_their_heads() {
    for model in grpc::MODELS {
        let running = start(model, guarded());
        runtime().block_on(async {
            let client = Client::connect(&running).await;
            let head = |who: &str, kind: &str, path: &str| {
                request(path)
                    .header("content-type", kind)
                    .header("authorization", format!("Bearer {who}'s secret"))
            };
            let path = "/shop.v1.Orders/place";
            // Headers alone.
            for (who, kind, sent, expected) in [
                ("bob", "application/grpc", &b""[..], "orders.write"),
                (
                    "bob",
                    "application/grpc",
                    b"\0\0\x10\0\0\x0a",
                    "orders.write",
                ),
                ("bob", "application/json", b"", "orders.write"),
                ("bob", "application/grpc-web+json", b"", "orders.write"),
                ("nobody", "application/grpc", b"", "not known"),
            ] {
                let what = format!("{model:?} {who} {kind} {sent:?}");
                let mut sender = client.0.clone().ready().await.unwrap();
                let mut head = head(who, kind, path);
                let headers = head.headers_mut().unwrap();
                headers.insert("content-type", kind.parse().unwrap());
                let (response, mut stream) =
                    sender.send_request(head.body(()).unwrap(), false).unwrap();
                if !sent.is_empty() {
                    stream.send_data(Bytes::from_static(sent), false).unwrap();
                }
                let answer = tokio::time::timeout(LONG, answer(response)).await.unwrap();
                let body = String::from_utf8_lossy(&answer.body);
                let text = format!("{} {body}", answer.message);
                assert!(text.contains(expected), "{what}: {text}");
            }
            // A message that cannot be decompressed.
            for (who, code) in [("bob", "7"), ("ada", "13")] {
                let head = head(who, "application/grpc", path).header("grpc-encoding", "gzip");
                let answer = client.send(head, b"\x01\0\0\0\x04none").await;
                assert_eq!(answer.code, code, "{model:?} {who}: {answer:?}");
            }
        });
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// The size of a head, as an interceptor leaves it.
struct Marked(usize);

/// Writes down what it sees.
#[derive(Clone, Default)]
struct Looks(Arc<Mutex<Vec<String>>>);

impl Looks {
    fn note(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl ServerInterceptor for Looks {
    fn before_body(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        self.note(format!("head of {} bytes", call.size()));
        call.insert(Marked(call.size()));
        match call.header("refuse") {
            None => Ok(Decision::Proceed),
            Some(b"late") => Ok(Decision::Wait),
            Some(_) => Err(Status::resource_exhausted("no more")),
        }
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let marked = call.get::<Marked>().map(|marked| marked.0);
        self.note(format!("before {} bytes, {marked:?}", call.size()));
        Ok(Decision::Proceed)
    }

    fn after(&self, _: &Context, end: &CallEnd<'_>) {
        self.note(match end.outcome() {
            Outcome::Failed(status) => format!("after {}", status.code()),
            outcome => format!("after {outcome:?}"),
        });
    }
}

/// Headers, whether the body comes later, and the lines.
const LOOKS: &[(&str, bool, &[&str])] = &[
    ("", false, &["before 15 bytes, None", "after Returned"]),
    (
        "",
        true,
        &[
            "head of 0 bytes",
            "before 15 bytes, Some(0)",
            "after Returned",
        ],
    ),
    (
        "Refuse: late\r\n",
        true,
        &[
            "head of 0 bytes",
            "before 15 bytes, Some(0)",
            "after Returned",
        ],
    ),
    (
        "Refuse: now\r\n",
        true,
        &[
            "head of 0 bytes",
            "before 0 bytes, Some(0)",
            "after RESOURCE_EXHAUSTED",
        ],
    ),
];

#[test]
fn every_interceptor_sees_the_end_of_a_call_that_is_refused_by_its_head() {
    for model in MODELS {
        let looks = Looks::default();
        let running = start(
            *model,
            Server::new().service(Orders).intercept(looks.clone()),
        );
        for (headers, later, lines) in LOOKS {
            let mut raw = Raw::connect(&running);
            let whole = post(
                "/shop.v1.Orders/place",
                &format!("{JSON}{headers}"),
                "{\"item\":\"lamp\"}",
            );
            let (head, body) = whole.split_at(whole.len() - 15);
            match later {
                true => {
                    raw.send(head);
                    until("the head has been seen", || {
                        !looks.0.lock().unwrap().is_empty()
                    });
                    raw.send(body);
                }
                false => raw.send(&whole),
            }
            let answer = response(&mut raw);
            let refused = headers.contains("now");
            assert_eq!(answer.status, if refused { 429 } else { 200 }, "{headers}");
            drop(raw);
            until("the call is over", || {
                looks.0.lock().unwrap().len() == lines.len()
            });
            assert_eq!(
                std::mem::take(&mut *looks.0.lock().unwrap()),
                *lines,
                "{model:?} {headers}"
            );
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Shows the token of a clerk for whoever calls.
struct Badge;

impl ServerInterceptor for Badge {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        call.insert_header("authorization", "Bearer ada's secret");
        Ok(Decision::Proceed)
    }
}

#[test]
fn a_head_is_not_judged_before_an_interceptor_that_may_change_it() {
    for model in MODELS {
        let permissions = Permissions::new()
            .require("shop.v1.Orders", "orders")
            .role("clerk", ["orders"]);
        let server = Server::new()
            .service(Orders)
            .intercept(Badge)
            .authentication(Authentication::new().by(tokens()))
            .permissions(permissions);
        let running = start(*model, server);
        let mut raw = Raw::connect(&running);
        let whole = post("/shop.v1.Orders/place", JSON, "{\"item\":\"lamp\"}");
        let (head, body) = whole.split_at(whole.len() - 15);
        raw.send(head);
        assert!(raw.is_silent(), "{model:?}");
        raw.send(body);
        assert_eq!(response(&mut raw).status, 200, "{model:?}");
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}
