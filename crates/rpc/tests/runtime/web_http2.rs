//! Requests over HTTP/2 beside gRPC: the content type decides.

use crate::fixture::{LONG, listen};
use crate::grpc::{Client, MODELS, runtime};
use crate::streams::Flow;
use crate::web::{envelope, opened};
use bytes::{Bytes, BytesMut};
use dovetail::Server;
use dovetail::server::Cors;
use dovetail_protocol::grpc::Text;
use http::{HeaderMap, Request};
use std::time::Duration;

/// An answer: status, headers, and body.
async fn ask(
    client: &Client,
    request: http::request::Builder,
    body: &[u8],
) -> (u16, HeaderMap, Bytes) {
    let (head, mut stream) = client
        .begin(request, body)
        .await
        .await
        .unwrap()
        .into_parts();
    let mut all = BytesMut::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.unwrap();
        stream.flow_control().release_capacity(piece.len()).unwrap();
        all.extend_from_slice(&piece);
    }
    assert_eq!(stream.trailers().await.unwrap(), None);
    (head.status.as_u16(), head.headers, all.freeze())
}

fn with_each(test: impl AsyncFn(&Client, &Flow)) {
    for model in MODELS {
        let flow = Flow::default();
        let server = Server::new().service(flow.clone()).model(model);
        let server = server
            .bind("twice", |number: i64| number * 2)
            .cors(Cors::new().origin("https://shop.example"));
        let running = listen(server).start().unwrap();
        runtime().block_on(async {
            let client = Client::connect(&running).await;
            tokio::time::timeout(LONG, test(&client, &flow))
                .await
                .unwrap();
        });
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

fn post(path: &str, kind: &str) -> http::request::Builder {
    Request::post(format!("http://here.localhost{path}")).header("content-type", kind)
}

#[test]
fn the_content_type_decides() {
    with_each(async |client, _| {
        for (request, body, status, kind, answer) in [
            (
                post("/twice", "application/json"),
                r#"{"param1":4}"#,
                200,
                "application/json",
                r#"{"result":"8"}"#,
            ),
            (
                post("/twice", "application/proto"),
                "\u{8}\u{4}",
                200,
                "application/proto",
                "\u{8}\u{8}",
            ),
            (
                post("/nothing", "application/json"),
                "{}",
                404,
                "application/json",
                r#"{"code":"unimplemented","message":"no method `nothing` here"}"#,
            ),
            (
                post("/twice", "text/html"),
                "{}",
                415,
                "text/plain; charset=utf-8",
                "the content type is `text/html`; application/json, application/proto, those of Connect's streams and of gRPC-Web are known\n",
            ),
            (
                Request::get("http://here.localhost/twice?message=%7B%7D"),
                "",
                405,
                "text/plain; charset=utf-8",
                "the contract does not say that this method may be called by GET\n",
            ),
        ] {
            let (got, headers, body) = ask(client, request, body.as_bytes()).await;
            assert_eq!((got, &body[..]), (status, answer.as_bytes()));
            assert_eq!(headers["content-type"], kind);
        }
        let preflight = Request::options("http://here.localhost/twice")
            .header("origin", "https://shop.example");
        let (status, headers, _) = ask(client, preflight, b"").await;
        assert_eq!(status, 204);
        assert_eq!(
            headers["access-control-allow-origin"],
            "https://shop.example"
        );
    });
}

/// The authority of a request stands for `Host`; gRPC's calls are refused in its own form.
#[test]
fn pages_of_other_sites_do_not_call() {
    with_each(async |client, _| {
        for (name, value, status) in [
            ("x", "", 200),
            ("origin", "http://here.localhost", 200),
            ("origin", "https://shop.example", 200),
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
            ("sec-fetch-site", "same-origin", 200),
            ("sec-fetch-site", "same-site", 403),
            ("sec-fetch-site", "cross-site", 403),
        ] {
            let request = post("/twice", "application/json").header(name, value);
            let (found, ..) = ask(client, request, br#"{"param1":4}"#).await;
            assert_eq!(found, status, "{name}: {value}");
        }
        // A method that is not there, so that the answer comes at once: UNIMPLEMENTED, or
        // PERMISSION_DENIED before it.
        for (origin, status) in [
            ("http://here.localhost", "12"),
            ("https://evil.example", "7"),
        ] {
            let request = post("/Flow/nothing", "application/grpc").header("origin", origin);
            let (_, headers, _) = ask(client, request, &[0; 5]).await;
            assert_eq!(headers["grpc-status"], status, "{origin}");
        }
    });
}

/// The authority, and `Host` beside it, are hosts of the server.
#[test]
fn requests_name_hosts_of_the_server() {
    with_each(async |client, _| {
        for (authority, host, allowed) in [
            ("localhost:1", None, true),
            ("127.0.0.1", Some("localhost"), true),
            ("evil.example", None, false),
            ("localhost", Some("evil.example"), false),
            ("evil.example", Some("localhost"), false),
        ] {
            let what = format!("{authority}, {host:?}");
            let post = |path: &str, kind: &str| {
                let request = Request::post(format!("http://{authority}{path}"));
                let request = request.header("content-type", kind);
                match host {
                    Some(host) => request.header("host", host),
                    None => request,
                }
            };
            let request = post("/twice", "application/json");
            let (status, _, body) = ask(client, request, br#"{"param1":4}"#).await;
            assert_eq!(status, if allowed { 200 } else { 403 }, "{what}");
            let is_explained = String::from_utf8_lossy(&body).contains("allowed_hosts");
            assert_eq!(is_explained, !allowed, "{what}");
            for kind in ["application/grpc-web+proto", "application/connect+json"] {
                let request = post("/Flow/nothing", kind);
                let (status, ..) = ask(client, request, &[0; 5]).await;
                assert_eq!(status != 403, allowed, "{what}: {kind}");
            }
            let request = post("/Flow/nothing", "application/grpc");
            let (_, headers, _) = ask(client, request, &[0; 5]).await;
            let code = if allowed { "12" } else { "7" };
            assert_eq!(headers["grpc-status"], code, "{what}");
        }
    });
}

#[test]
fn streams_in_envelopes() {
    with_each(async |client, _| {
        let items = [
            envelope(0, r#"{"item":"a"}"#),
            envelope(0, r#"{"item":"b"}"#),
        ]
        .concat();
        let echo = |kind| post("/Flow/echo", kind);
        let (status, _, body) = ask(client, echo("application/connect+json"), &items).await;
        let item = |text: &str| (0, format!(r#"{{"item":"{text}"}}"#));
        assert_eq!(
            (status, opened(&body)),
            (200, vec![item("A"), item("B"), (2, "{}".to_owned())])
        );
        let fine = (0x80, "grpc-status: 0\r\n".to_owned());
        let (_, _, body) = ask(client, echo("application/grpc-web+json"), &items).await;
        assert_eq!(opened(&body), [item("A"), item("B"), fine.clone()]);
        let text = Text::write(&items);
        let (_, headers, body) = ask(
            client,
            echo("application/grpc-web-text+json"),
            text.as_bytes(),
        )
        .await;
        assert_eq!(headers["content-type"], "application/grpc-web-text+json");
        let body = Text::default().read(&body).unwrap();
        assert_eq!(opened(&body), [item("A"), item("B"), fine]);
    });
}

#[test]
fn both_ends_talk_at_the_same_time() {
    with_each(async |client, _| {
        let mut ready = client.0.clone().ready().await.unwrap();
        let head = post("/Flow/echo", "application/connect+json")
            .body(())
            .unwrap();
        let (response, mut stream) = ready.send_request(head, false).unwrap();
        let mut body = response.await.unwrap().into_body();
        for word in ["a", "bc"] {
            let item = envelope(0, format!(r#"{{"item":"{word}"}}"#));
            stream.send_data(item.into(), false).unwrap();
            let piece = body.data().await.unwrap().unwrap();
            let answer = format!(r#"{{"item":"{}"}}"#, word.to_uppercase());
            assert_eq!(opened(&piece), [(0, answer)]);
        }
        stream.send_data(Bytes::new(), true).unwrap();
        let end = body.data().await.unwrap().unwrap();
        assert_eq!(opened(&end), [(2, "{}".to_owned())]);
        assert!(body.data().await.is_none());
    });
}

#[test]
fn a_reset_or_a_deadline_ends_the_handler() {
    with_each(async |client, flow| {
        let ended = async || {
            while flow.running() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let forever = || post("/Flow/forever", "application/connect+json");
        let ask_for = envelope(0, "{}");
        let response = client.begin(forever(), &ask_for).await;
        drop(response.await.unwrap());
        ended().await;
        let hasty = forever().header("connect-timeout-ms", "20");
        let (status, _, body) = ask(client, hasty, &ask_for).await;
        let late = r#"{"error":{"code":"deadline_exceeded","message":"the deadline of the call has passed"}}"#;
        assert_eq!((status, opened(&body)), (200, vec![(2, late.to_owned())]));
        ended().await;
    });
}
