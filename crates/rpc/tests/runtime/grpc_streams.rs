//! Streams over gRPC as a client with a bare HTTP/2 library has them.

use crate::fixture::{LONG, listen};
use crate::grpc::{Answer, Client, MODELS, Number, answer, frame, request, runtime};
use crate::streams::{BLOBS, FLOW, Flow};
use bytes::Bytes;
use dovetail::server::ServerLimits;
use dovetail::{Code, Server};
use dovetail_protocol::grpc::{Trailers, prefix};
use h2::Reason;
use std::time::Duration;

fn with_each(limits: ServerLimits, test: impl AsyncFn(&Client, &Flow)) {
    for model in MODELS {
        let flow = Flow::default();
        let server = Server::new().service(flow.clone()).model(model);
        let running = listen(server.limits(limits)).start().unwrap();
        runtime().block_on(async {
            let client = Client::connect(&running).await;
            let test = test(&client, &flow);
            tokio::time::timeout(LONG, test).await.unwrap();
            while flow.running() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

fn frames(messages: &[&[u8]]) -> Vec<u8> {
    messages.iter().flat_map(|message| frame(message)).collect()
}

fn ok(messages: &[&[u8]]) -> Answer {
    Answer {
        http: 200,
        code: "0".to_owned(),
        body: frames(messages).into(),
        ..Answer::default()
    }
}

#[test]
fn messages_as_they_are_sent() {
    with_each(ServerLimits::default(), async |client, _| {
        for (path, sent, got) in [
            // A result is field 1 of the first message, items are field 2.
            (
                "/Flow/count",
                frames(&[b"\x08\x02\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]),
                ok(&[b"\x0a\x04to 2", b"\x10\0", b"\x10\x01"]),
            ),
            // Parameters likewise.
            (
                "/Flow/sum",
                frames(&[b"\x0a\x02\x08\x09", b"\x10\x05", b"", b"\x10\x04"]),
                ok(&[b"\x08\x09"]),
            ),
            // If there is neither, items are field 1.
            (
                "/Flow/echo",
                frames(&[b"\x0a\x01a", b"", b"\x0a\x02bc"]),
                ok(&[b"\x0a\x01A", b"\x0a\0", b"\x0a\x02BC"]),
            ),
            ("/Flow/echo", vec![], ok(&[])),
            ("/Flow/sink", frames(&[b"\x0a\x01a"]), ok(&[b""])),
        ] {
            assert_eq!(
                client.send(request(path), &sent).await,
                got,
                "{path} {sent:?}"
            );
        }
    });
}

#[test]
fn what_is_wrong_is_answered() {
    let mut limits = ServerLimits::default();
    limits.connection.message_bytes = 1000;
    with_each(limits, async |client, _| {
        let item = frame(b"\x0a\x01a");
        let long = prefix(1001).unwrap();
        for (path, body, code) in [
            ("/Flow/count", vec![], Code::Unimplemented),
            ("/Flow/count", frames(&[b"", b""]), Code::Unimplemented),
            ("/Flow/count", frame(b"\x0a"), Code::InvalidArgument),
            ("/Flow/sum", frame(b"\x10\x05"), Code::InvalidArgument),
            (
                "/Flow/sum",
                frame(b"\x0a\x09\x08\x09"),
                Code::InvalidArgument,
            ),
            (
                "/Flow/sum",
                frames(&[b"\x0a\x02\x08\x09", b"\x10"]),
                Code::InvalidArgument,
            ),
            ("/Flow/sink", [&item[..], b"\x09"].concat(), Code::Internal),
            (
                "/Flow/sink",
                [&item[..], &item[..4]].concat(),
                Code::Internal,
            ),
            (
                "/Flow/sink",
                [&item[..], &long].concat(),
                Code::ResourceExhausted,
            ),
        ] {
            let answer = client.send(request(path), &body).await;
            assert_eq!(answer.code, code.number(), "{path} {body:?}: {answer:?}");
        }
        let good = client.send(request("/Flow/sink"), &item).await;
        assert_eq!(good, ok(&[b""]));
    });
}

#[test]
fn an_exception_of_a_stream_is_a_detail_behind_its_items() {
    with_each(ServerLimits::default(), async |client, _| {
        let ask = frame(b"\x08\x09\x10\x01");
        let answer = client.send(request("/Flow/count"), &ask).await;
        let items = ok(&[b"\x0a\x04to 9", b"\x10\0"]);
        assert_eq!((&answer.body, &answer.code[..]), (&items.body, "2"));
        let trailers = Trailers {
            status: Some(b"2"),
            message: None,
            details: answer.details.as_deref(),
            execution: None,
            pushback: None,
        };
        let failure = trailers.read().unwrap().unwrap_err();
        let detail = &failure.details[0];
        assert_eq!(detail.type_name, "type.googleapis.com/Enough");
        assert_eq!(&detail.value[..], b"\x08\x01");
    });
}

#[test]
fn a_handler_that_is_done_stops_its_caller() {
    with_each(ServerLimits::default(), async |client, _| {
        let mut ready = client.0.clone().ready().await.unwrap();
        let head = request("/Flow/sum").body(()).unwrap();
        let (response, mut stream) = ready.send_request(head, false).unwrap();
        let sent = frames(&[b"\x0a\x02\x08\x01", b"\x10\x05"]);
        stream.send_data(sent.into(), false).unwrap();
        assert_eq!(answer(response).await.code, Code::Unknown.number());
        let reset = std::future::poll_fn(|context| stream.poll_reset(context)).await;
        assert_eq!(reset.unwrap(), Reason::NO_ERROR);
    });
}

/// HTTP/2 libraries limit how many small frames may wait. That those are no limit for items is ours
/// to see to.
#[test]
fn items_in_frames_of_their_own_may_wait() {
    const ITEMS: usize = 6_000;
    with_each(ServerLimits::default(), async |client, _| {
        let mut ready = client.0.clone().ready().await.unwrap();
        let head = request("/Flow/echo").body(()).unwrap();
        let (response, mut stream) = ready.send_request(head, false).unwrap();
        let item = Bytes::from(frame(b"\x0a\x08eightbyt"));
        for _ in 0..ITEMS {
            stream.reserve_capacity(item.len());
            while stream.capacity() < item.len() {
                let room = std::future::poll_fn(|context| stream.poll_capacity(context)).await;
                room.unwrap().unwrap();
            }
            stream.send_data(item.clone(), false).unwrap();
        }
        stream.send_data(Bytes::new(), true).unwrap();
        let answer = answer(response).await;
        assert_eq!(answer.body.len(), ITEMS * item.len());
        assert_eq!(answer.code, "0");
    });
}

#[test]
fn items_that_nobody_takes_are_given_up_in_the_end() {
    let limits = ServerLimits {
        transfer: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    with_each(limits, async |client, flow| {
        // For ever, of which HTTP/2 takes 64 KiB.
        let ask = frame(b"\x08\x90\x4e");
        let mut ready = client.0.clone().ready().await.unwrap();
        let head = request("/Flow/blobs").header("grpc-timeout", "100m");
        let (response, mut stream) = ready.send_request(head.body(()).unwrap(), false).unwrap();
        stream.send_data(ask.into(), true).unwrap();
        let (_, mut body) = response.await.unwrap().into_parts();
        while flow.running() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(flow.made() < 20, "{}", flow.made());
        let reset = std::future::poll_fn(|context| stream.poll_reset(context)).await;
        assert_eq!(reset.unwrap(), Reason::CANCEL);
        while let Some(Ok(_)) = body.data().await {}
        assert_eq!(FLOW.methods[BLOBS].name, "blobs");
    });
}
