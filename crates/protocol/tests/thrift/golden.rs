//! Messages captured from Apache's libraries: `interop/golden`.

use crate::support::{bytes, chunk_sizes, options, serve, wire};
use bytes::BytesMut;
use dovetail_protocol::Code;
use dovetail_protocol::thrift::{ClientConnection, ServerConnection, Transport};
use dovetail_wire::{Encode, EncodeError, Field, FieldValue, Kind, Limits, Writer};
use std::path::{Path, PathBuf};

/// Directory of a peer's protocol, and the wire that it is.
const WIRES: &[(&str, &str)] = &[
    ("binary", "binary"),
    ("binary-nonstrict", "binary-old"),
    ("compact", "compact"),
    ("json", "json"),
    ("binary-framed", "binary+framed"),
    ("compact-framed", "compact+framed"),
    ("json-framed", "json+framed"),
    ("binary-header", "binary+header"),
    ("binary-header-info", "binary+header"),
    ("binary-header-zlib", "binary+header:zlib"),
    ("compact-header", "compact+header"),
    ("compact-header-zlib", "compact+header:zlib"),
];

/// Name of the capture; service, method, number, and what its body is in binary.
const CALLS: &[(&str, &str, &str, i32, &str)] = &[
    ("call_ping", "", "ping", 0, "00"),
    ("call_echo_i32", "", "echo_i32", 1, "08 0001 0000002a 00"),
    (
        "call_seqid_max",
        "",
        "echo_i32",
        i32::MAX,
        "08 0001 ffffffff 00",
    ),
    (
        "call_seqid_negative",
        "",
        "echo_i32",
        -1,
        "08 0001 ffffffff 00",
    ),
    (
        "oneway_notify",
        "",
        "notify",
        5,
        "0a 0001 0000000000000005 00",
    ),
    (
        "call_multiplexed",
        "Interop",
        "echo_string",
        3,
        "0b 0001 00000002 6869 00",
    ),
];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/golden")
}

/// The captures of one wire, from all peers.
fn captures(directory: &str) -> Vec<(String, Vec<u8>)> {
    let mut captures = Vec::new();
    for peer in std::fs::read_dir(golden()).expect("the golden files") {
        let directory = peer.expect("an entry").path().join(directory);
        let Ok(files) = std::fs::read_dir(&directory) else {
            continue;
        };
        for file in files {
            let path = file.expect("an entry").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&path).expect("a golden file");
            captures.push((name, bytes(text.trim())));
        }
    }
    captures
}

#[test]
fn calls_of_every_wire_at_every_chunk_size() {
    let mut seen = 0;
    for (directory, wire) in WIRES {
        for (name, message) in captures(directory) {
            let Some(&(_, service, method, seqid, body)) =
                CALLS.iter().find(|(call, ..)| *call == name)
            else {
                continue;
            };
            seen += 1;
            // Three in a row: pipelined.
            let input = message.repeat(3);
            for chunk in chunk_sizes(input.len()) {
                let what = format!("{directory}/{name} in pieces of {chunk}");
                let outcome = serve(&options(|_| {}), &input, chunk);
                assert_eq!(outcome.result, Ok(()), "{what}");
                assert_eq!((outcome.calls.len(), outcome.unread), (3, 0), "{what}");
                assert_eq!(
                    outcome.server.wire().expect("known").to_string(),
                    *wire,
                    "{what}"
                );
                for call in &outcome.calls {
                    assert_eq!(
                        call.service.as_deref().unwrap_or_default(),
                        service,
                        "{what}"
                    );
                    assert_eq!(call.method, method, "{what}");
                    assert_eq!(call.oneway, name.starts_with("oneway"), "{what}");
                    let reply = format!("{:?}", call.reply);
                    assert!(
                        reply.contains(&format!("seqid: {seqid},")),
                        "{what}: {reply}"
                    );
                    if wire.starts_with("binary") {
                        assert_eq!(call.body, bytes(body), "{what}");
                    }
                    if *directory == "binary-header-info" {
                        assert_eq!(call.headers.get("who"), Some(&b"python"[..]), "{what}");
                        assert_eq!(call.headers.get("empty"), Some(&b""[..]), "{what}");
                    }
                }
            }
        }
    }
    assert!(seen >= CALLS.len() * WIRES.len(), "{seen} captures");
}

/// Every message of every kind is found whole by the scan of the unframed wires, in any pieces, and
/// a reply sent to a server is refused.
#[test]
fn replies_are_refused_by_a_server() {
    for (directory, _) in WIRES {
        for (name, message) in captures(directory) {
            if !name.starts_with("reply_") && !name.starts_with("exception_") {
                continue;
            }
            let mut server = ServerConnection::new(options(|_| {}));
            let error = server
                .receive(&mut BytesMut::from(&message[..]))
                .expect_err("a reply is no call");
            assert!(
                error.to_string().contains("cannot send it"),
                "{directory}/{name}: {error}"
            );
        }
    }
}

#[test]
fn replies_without_a_call_are_refused_by_a_client() {
    for (directory, wire) in WIRES {
        for (name, message) in captures(directory) {
            if name == "reply_i32" {
                let wire = wire.parse().expect("a wire");
                let mut client = ClientConnection::new(wire, Default::default());
                let error = client
                    .receive(&mut BytesMut::from(&message[..]))
                    .expect_err("nothing was called");
                assert!(
                    error.to_string().contains("which no call has"),
                    "{name}: {error}"
                );
            }
        }
    }
}

/// Name of the capture; method, number, and the code and message of a failure.
type Reply = (
    &'static str,
    &'static str,
    i32,
    Option<(Code, &'static str)>,
);

const REPLIES: &[Reply] = &[
    ("reply_void", "ping", 0, None),
    ("reply_bool", "echo_bool", 1, None),
    ("reply_i32", "echo_i32", 1, None),
    ("reply_declared", "may_fail", 6, None),
    ("reply_declared_second", "may_fail", 7, None),
    (
        "exception_unknown_method",
        "not_yet",
        8,
        Some((Code::Unimplemented, "Unknown function not_yet")),
    ),
    (
        "exception_internal",
        "may_fail",
        9,
        Some((Code::Internal, "Internal error")),
    ),
];

#[test]
fn replies_of_every_wire_at_every_chunk_size() {
    for (directory, name) in WIRES {
        let wire = wire(name);
        for (name, message) in captures(directory) {
            let Some(&(_, method, seqid, failure)) =
                REPLIES.iter().find(|(reply, ..)| *reply == name)
            else {
                continue;
            };
            for chunk in chunk_sizes(message.len()) {
                let what = format!("{directory}/{name} in pieces of {chunk}");
                let mut client = ClientConnection::new(wire, Default::default());
                let mut sent = Vec::new();
                let mut calls = Vec::new();
                for _ in 0..seqid.max(1) {
                    calls.push(
                        client
                            .call(method, false, &Number(None), &mut sent)
                            .expect("encodes"),
                    );
                }
                let mut buffer = BytesMut::new();
                let mut replies = Vec::new();
                for piece in message.chunks(chunk) {
                    buffer.extend_from_slice(piece);
                    replies.extend(client.receive(&mut buffer).expect(&what));
                }
                assert_eq!((replies.len(), buffer.len()), (1, 0), "{what}");
                assert_eq!(Some(&replies[0].call), calls.last(), "{what}");
                let status = replies[0].result.as_ref().err();
                let found = status.map(|status| (status.code(), status.message()));
                assert_eq!(found, failure, "{what}");
            }
        }
    }
}

/// We write the bytes that Apache's libraries write.
#[test]
fn the_same_bytes_are_written() {
    for (directory, name) in WIRES {
        // Compressed bytes depend on the compressor, and headers of replies are not kept.
        let wire = wire(name);
        if directory.ends_with("zlib") || directory.ends_with("info") {
            continue;
        }
        let captures = captures(directory);
        let golden = |name: &str| {
            let mut captures = captures.iter().filter(|(capture, _)| capture == name);
            captures
                .next()
                .map(|(_, bytes)| bytes.clone())
                .expect("a capture")
        };

        let mut client = ClientConnection::new(wire, Default::default());
        let mut sent = Vec::new();
        client
            .call("echo_i32", false, &Number(Some(42)), &mut sent)
            .expect("encodes");
        if wire.transport == Transport::Header {
            // The flag that says that replies may come in any order, which Apache's clients do not
            // know.
            assert_eq!(std::mem::take(&mut sent[7]), 1);
        }
        assert_eq!(sent, golden("call_echo_i32"), "{directory}: a call");

        let outcome = serve(&options(|_| {}), &golden("call_ping"), usize::MAX);
        let mut sent = Vec::new();
        let reply = &outcome.calls[0].reply;
        reply
            .reply(&mut sent, &Number(None), Limits::default())
            .expect("encodes");
        assert_eq!(sent, golden("reply_void"), "{directory}: a reply");
    }
}

/// The parameters of `echo_i32`, or an empty struct.
struct Number(Option<i32>);

impl Encode for Number {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_struct()?;
        self.0
            .write_field(&Field::new(1, "value", Kind::I32), writer)?;
        writer.end_struct()
    }
}
