//! A client and a server connected by memory.

use crate::custom::AT;
use crate::support::{Greeting, chunk_sizes, options, wire};
use bytes::BytesMut;
use dovetail_protocol::Headers;
use dovetail_protocol::thrift::{
    CallId, ClientConnection, ClientOptions, IncomingCall, IncomingReply, Protocol, ProtocolError,
    ServerConnection, Transport, Wire,
};
use dovetail_protocol::{Code, Execution, Origin, Status};
use dovetail_wire::Limits;

pub(crate) fn wires() -> Vec<Wire> {
    let names = "binary binary-old compact json binary+framed binary-old+framed compact+framed \
        json+framed binary+header compact+header json+header compact+header:zlib \
        binary+header:zstd compact+header:zlib,zstd binary+http binary-old+http compact+http json+http";
    let mut wires: Vec<Wire> = names.split_whitespace().map(wire).collect();
    wires.push(Wire::new(Protocol::Custom(&AT), Transport::Framed));
    wires.push(Wire::new(Protocol::Custom(&AT), Transport::Unframed));
    wires
}

/// Both ends and what is on its way, delivered in pieces of a size.
pub(crate) struct Pair {
    pub(crate) client: ClientConnection,
    pub(crate) server: ServerConnection,
    pub(crate) to_server: Vec<u8>,
    pub(crate) to_client: Vec<u8>,
    at_server: BytesMut,
    at_client: BytesMut,
    chunk: usize,
}

impl Pair {
    pub(crate) fn new(wire: Wire, service: Option<&str>, chunk: usize) -> Self {
        let client = ClientOptions {
            service: service.map(str::to_owned),
            ..Default::default()
        };
        Pair {
            client: ClientConnection::new(wire, client),
            server: ServerConnection::new(options(|options| options.custom = vec![&AT])),
            to_server: Vec::new(),
            to_client: Vec::new(),
            at_server: BytesMut::new(),
            at_client: BytesMut::new(),
            chunk,
        }
    }

    pub(crate) fn call(&mut self, method: &str, oneway: bool) -> CallId {
        self.client
            .call(method, oneway, &Greeting::sample(), &mut self.to_server)
            .expect("encodes")
    }

    /// Delivers what the client has sent.
    pub(crate) fn calls(&mut self) -> Result<Vec<IncomingCall>, ProtocolError> {
        let mut calls = Vec::new();
        for piece in std::mem::take(&mut self.to_server).chunks(self.chunk) {
            self.at_server.extend_from_slice(piece);
            while let Some(call) = self.server.receive(&mut self.at_server)? {
                calls.push(call);
            }
        }
        Ok(calls)
    }

    /// Delivers what the server has sent.
    pub(crate) fn replies(&mut self) -> Result<Vec<IncomingReply>, ProtocolError> {
        let mut replies = Vec::new();
        for piece in std::mem::take(&mut self.to_client).chunks(self.chunk) {
            self.at_client.extend_from_slice(piece);
            while let Some(reply) = self.client.receive(&mut self.at_client)? {
                replies.push(reply);
            }
        }
        Ok(replies)
    }

    pub(crate) fn answer(&mut self, call: &IncomingCall) {
        let greeting = Greeting::decode_from(call.encoding, &call.body);
        call.reply
            .reply(&mut self.to_client, &greeting, Limits::default())
            .expect("encodes");
    }

    fn is_quiet(&self) -> bool {
        self.at_client.is_empty() && self.at_server.is_empty()
    }
}

fn check_reply(reply: &IncomingReply) {
    let (encoding, body) = reply.result.as_ref().expect("a result");
    assert_eq!(Greeting::decode_from(*encoding, body), Greeting::sample());
}

fn failure(reply: &IncomingReply) -> &Status {
    reply.result.as_ref().map(drop).expect_err("no result")
}

#[test]
fn every_wire_at_every_chunk_size() {
    for wire in wires() {
        let mut size = 0;
        // The size of one conversation is known after the first.
        for chunk in std::iter::once(usize::MAX).chain(1..) {
            if size != 0 && chunk > size && chunk != usize::MAX {
                break;
            }
            let what = format!("{wire} in pieces of {chunk}");
            let execution = match chunk % 2 {
                0 => Execution::NotStarted,
                _ => Execution::Finished,
            };
            let mut pair = Pair::new(wire, Some("Greeter"), chunk);
            // Pipelined: a call, a one-way call, two more calls.
            let first = pair.call("greet", false);
            let oneway = pair.call("shout", true);
            let second = pair.call("greet", false);
            let third = pair.call("fail", false);
            size = size.max(pair.to_server.len());
            let mut calls = pair.calls().expect(&what);
            let methods: Vec<_> = calls.iter().map(|call| call.method.to_string()).collect();
            assert_eq!(methods, ["greet", "shout", "greet", "fail"], "{what}");
            assert_eq!(pair.server.wire(), Some(wire), "{what}");
            for (index, call) in calls.iter().enumerate() {
                assert_eq!(call.service.as_deref(), Some("Greeter"), "{what}");
                assert_eq!(call.oneway, index == 1, "{what}");
                assert_eq!(call.reply.order(), index as u64 + 1, "{what}");
                let greeting = Greeting::decode_from(call.encoding, &call.body);
                assert_eq!(greeting, Greeting::sample(), "{what}");
                let ordered = wire.transport != Transport::Header;
                assert_eq!(call.reply.ordered(), ordered, "{what}");
            }
            // The last first, where the wire lets replies overtake each other.
            if !pair.client.ordered() {
                calls.reverse();
            }
            for call in &calls {
                if call.method == "fail" {
                    let status = Status::new(Code::ResourceExhausted, "no \"greetings\" left");
                    let status = status.with_execution(execution);
                    call.reply.exception(&mut pair.to_client, &status);
                } else {
                    pair.answer(call);
                }
            }
            let mut replies = pair.replies().expect(&what);
            // HTTP answers one-way calls as well.
            let taken = replies.extract_if(.., |reply| reply.call == oneway);
            assert_eq!(taken.count() == 1, pair.client.answers_oneway(), "{what}");
            replies.sort_by_key(|reply| reply.call);
            let answered: Vec<_> = replies.iter().map(|reply| reply.call).collect();
            assert_eq!(answered, [first, second, third], "{what}");
            check_reply(&replies[0]);
            check_reply(&replies[1]);
            let status = failure(&replies[2]);
            assert_eq!(status.code(), Code::ResourceExhausted, "{what}");
            assert_eq!(status.message(), "no \"greetings\" left", "{what}");
            assert_eq!(status.origin(), Origin::Peer);
            assert_eq!(status.execution(), execution, "{what}");
            assert_eq!(pair.client.pending().count(), 0, "{what}");
            assert!(pair.is_quiet(), "{what}");
        }
    }
}

#[test]
fn a_late_reply_to_an_abandoned_call_is_dropped() {
    for wire in wires() {
        let mut pair = Pair::new(wire, None, 3);
        let gone = pair.call("greet", false);
        let kept = pair.call("greet", false);
        pair.client.abandon(gone);
        assert_eq!(pair.client.pending().collect::<Vec<_>>(), [kept], "{wire}");
        for call in pair.calls().expect("calls") {
            pair.answer(&call);
        }
        let replies = pair.replies().expect("replies");
        assert_eq!(
            replies.iter().map(|reply| reply.call).collect::<Vec<_>>(),
            [kept],
            "{wire}"
        );
    }
}

/// Many calls while the first one takes its time, then the first one.
#[test]
fn a_slow_call_among_many() {
    let mut pair = Pair::new(wire("compact+framed"), None, usize::MAX);
    let slow = pair.call("greet", false);
    let slow_call = pair.calls().expect("calls").remove(0);
    for _ in 0..1000 {
        let quick = pair.call("greet", false);
        let call = pair.calls().expect("calls").remove(0);
        pair.answer(&call);
        assert_eq!(pair.replies().expect("replies")[0].call, quick);
        assert_eq!(pair.client.pending().collect::<Vec<_>>(), [slow]);
    }
    pair.answer(&slow_call);
    assert_eq!(pair.replies().expect("replies")[0].call, slow);
}

#[test]
fn replies_that_fit_no_call() {
    let mut pair = Pair::new(wire("binary+framed"), None, usize::MAX);
    pair.call("greet", false);
    let call = pair.calls().expect("calls").remove(0);
    pair.answer(&call);
    let once = pair.to_client.clone();
    // Another name at the same place: "greet" is at 12.
    pair.to_client[12..17].copy_from_slice(b"green");
    assert!(matches!(
        pair.replies(),
        Err(ProtocolError::WrongMethod { .. })
    ));
    // A reply that comes twice.
    let mut pair = Pair::new(wire("binary+framed"), None, usize::MAX);
    pair.call("greet", false);
    pair.to_client = once.repeat(2);
    assert!(matches!(
        pair.replies(),
        Err(ProtocolError::UnknownReply { seqid: 1, .. })
    ));
    assert!(pair.replies().is_err_and(|_| true) || pair.client.pending().count() == 0);
}

/// Servers that answer zero are matched in order.
#[test]
fn a_server_without_numbers() {
    let mut pair = Pair::new(wire("binary+framed"), None, usize::MAX);
    let calls = [pair.call("greet", false), pair.call("greet", false)];
    for call in pair.calls().expect("calls") {
        let start = pair.to_client.len();
        pair.answer(&call);
        // The number is behind the name.
        pair.to_client[start + 17..start + 21].copy_from_slice(&[0; 4]);
    }
    let replies = pair.replies().expect("replies");
    assert_eq!(
        replies.iter().map(|reply| reply.call).collect::<Vec<_>>(),
        calls
    );
}

/// Apache's servers answer an unknown one-way method with an exception.
#[test]
fn an_exception_for_a_oneway_call_is_dropped() {
    let mut pair = Pair::new(wire("binary+framed"), None, usize::MAX);
    let mut twin = Pair::new(wire("binary+framed"), None, usize::MAX);
    pair.call("shout", true);
    twin.call("shout", false);
    let call = twin.calls().expect("calls").remove(0);
    let status = Status::new(Code::Unimplemented, "no such method");
    call.reply.exception(&mut pair.to_client, &status);
    assert_eq!(pair.replies().expect("nothing wrong").len(), 0);
}

#[test]
fn headers_travel() {
    for name in ["compact+header", "compact+header:zlib", "json+http"] {
        let mut pair = Pair::new(wire(name), None, 5);
        let headers = Headers::from_iter([("x-trace", "abc"), ("x-empty", "")]);
        pair.client
            .call_with(
                (None, "greet"),
                false,
                &headers,
                &Greeting::sample(),
                &mut pair.to_server,
            )
            .expect("encodes");
        let call = pair.calls().expect("calls").remove(0);
        assert_eq!(call.headers.get("X-Trace"), Some(&b"abc"[..]), "{name}");
        assert_eq!(call.headers.get("x-empty"), Some(&b""[..]), "{name}");
    }
    let mut pair = Pair::new(wire("binary+http"), None, 5);
    let headers = Headers::from_iter([("x", "a\r\nInjected: yes")]);
    pair.client
        .call_with(
            (None, "greet"),
            false,
            &headers,
            &Greeting::sample(),
            &mut pair.to_server,
        )
        .expect_err("a line break");
    assert!(pair.to_server.is_empty());
}

/// The client reads why the server hangs up, in its own wire.
#[test]
fn goodbyes_are_understood() {
    for wire in wires() {
        if matches!(wire.protocol, Protocol::Custom(_)) {
            continue;
        }
        let mut pair = Pair::new(wire, None, usize::MAX);
        pair.server = ServerConnection::new(options(|options| options.limits.message_bytes = 20));
        let call = pair.call("greet", false);
        let error = pair.calls().expect_err("too large");
        pair.server.goodbye(&error, &mut pair.to_client);
        let replies = pair
            .replies()
            .unwrap_or_else(|error| panic!("{wire}: {error}"));
        assert_eq!(replies.len(), 1, "{wire}: {error}");
        assert_eq!(replies[0].call, call, "{wire}");
        let status = failure(&replies[0]);
        assert_eq!(status.code(), Code::ResourceExhausted, "{wire}: {status}");
    }
}

#[test]
fn http_statuses() {
    for (answer, code) in [
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
            Code::Unimplemented,
        ),
        (
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            Code::Unavailable,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
            Code::Unauthenticated,
        ),
    ] {
        for chunk in chunk_sizes(answer.len()) {
            let mut pair = Pair::new(wire("binary+http"), None, chunk);
            let call = pair.call("greet", false);
            pair.to_client = answer.as_bytes().to_vec();
            let replies = pair.replies().expect("a reply");
            assert_eq!(replies[0].call, call);
            assert_eq!(failure(&replies[0]).code(), code);
        }
    }
}

/// Python's own HTTP server: no length, the end of the connection ends the reply.
#[test]
fn an_http_reply_that_ends_with_the_connection() {
    let mut pair = Pair::new(wire("binary+http"), None, 7);
    let call = pair.call("greet", false);
    let incoming = pair.calls().expect("calls").remove(0);
    pair.answer(&incoming);
    let answer = std::mem::take(&mut pair.to_client);
    let body = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a head");
    pair.to_client = b"HTTP/1.0 200 OK\r\nServer: BaseHTTP/0.6\r\n".to_vec();
    pair.to_client.extend(&answer[body + 2..]);
    assert_eq!(pair.replies().expect("not yet").len(), 0);
    let mut left = std::mem::take(&mut pair.at_client);
    let reply = pair.client.end(&mut left).expect("whole").expect("a reply");
    assert_eq!(reply.call, call);
    check_reply(&reply);
    assert!(pair.client.closing());
}

#[test]
fn nothing_is_sent_behind_a_request_before_the_server_has_kept_the_connection() {
    // (what the server answers to the first request, free for a second call, takes further calls)
    let rows = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, true),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            true,
            false,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", true, false),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
            true,
            true,
        ),
        ("HTTP/1.1 200 OK\r\n", false, true),
    ];
    let wire = "binary+http".parse().expect("a wire");
    for (response, free, open) in rows {
        let mut pair = Pair::new(wire, None, usize::MAX);
        assert!(!pair.client.exclusive());
        let call = pair.call("shout", true);
        assert!(pair.client.exclusive(), "{response}");
        pair.to_client = response.into();
        let replies = pair.replies().expect(response);
        let answered: Vec<_> = replies.iter().map(|reply| reply.call).collect();
        assert_eq!(answered == [call], free, "{response}");
        assert_eq!(!pair.client.exclusive(), free, "{response}");
        assert_eq!(!pair.client.closing(), open, "{response}");
        pair.call("greet", false);
        assert_eq!(pair.client.exclusive(), !(free && open), "{response}");
    }
}
