//! Messages captured from Apache's libraries: `interop/golden`.

use crate::support::{bytes, chunk_sizes, options, serve};
use bytes::BytesMut;
use dovetail_protocol::thrift::{ClientConnection, ServerConnection};
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

/// Every message of every kind is found whole by the scan of the unframed wires, in any pieces, and a
/// reply sent to a server is refused.
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
