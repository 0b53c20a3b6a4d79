//! Input that is refused, in which words, and its cost before that.

use super::*;
use dovetail_protocol::ConnectionLimits;
use std::time::Duration;

const LIMITS: ConnectionLimits = ConnectionLimits {
    decompression_ratio: 1_050,
    message_bytes: 1000,
    frame_bytes: 0,
    header_bytes: 0,
    name_bytes: 10,
    depth: 4,
    objects: 8,
};

fn limited() -> Connection {
    Connection::new(Options {
        limits: LIMITS,
        serves: true,
        ..Options::default()
    })
}

#[test]
fn what_is_no_message() {
    let rows: &[(&[u8], &str)] = &[
        (b"\xc0", "it begins with nil"),
        (b"\x80", "it begins with a map"),
        (
            b"\x92\0\0",
            "it begins with an array, not with an array of three or four",
        ),
        (b"\x94\x05\0\xa1x\x90", "its first element"),
        (b"\x94\x02\0\xa1x\x90", "its first element"),
        (b"\x93\0\0\x90", "its first element"),
        (b"\x94\xc0\0\xa1x\x90", "its first element"),
        (
            b"\x94\0\xff\xa1x\x90",
            "the number of a message that is an integer, or too large",
        ),
        (b"\x94\0\xcf\0\0\0\x01\0\0\0\0\xa1x\x90", "or too large"),
        (
            b"\x94\0\xc3\xa1x\x90",
            "the number of a message that is a bool",
        ),
        (
            b"\x94\0\0\x07\x90",
            "the name of a method that is an integer",
        ),
        (b"\x94\0\0\xa1\xff\x90", "not UTF-8"),
        (
            b"\x94\0\0\xabxxxxxxxxxxx\x90",
            "a method's name of 11 bytes, over the limit of 10",
        ),
        (b"\x94\0\0\xa1x\xc1", "0xc1"),
        (
            b"\x94\0\0\xa1x\x91\x91\x91\x91\x91\xc0",
            "nested deeper than the limit of 4",
        ),
        (
            b"\x94\0\0\xa1x\xdd\xff\xff\xff\xff",
            "over the limit of 1000",
        ),
        (
            b"\x94\0\0\xa1x\xdf\xff\xff\xff\xff",
            "over the limit of 1000",
        ),
        (
            b"\x94\0\0\xa1x\x91\xc6\xff\xff\xff\xff",
            "over the limit of 1000",
        ),
        (b"\x94\x01\x07\xc0\x90", "a response with the number 7"),
    ];
    for (bytes, said) in rows {
        for piece in 1..bytes.len() {
            let mut connection = limited();
            let (events, end) = events(&mut connection, bytes, piece);
            let error = end.unwrap_err().to_string();
            assert!(error.contains(said), "{bytes:x?}: {error}");
            assert!(events.is_empty());
            // A second time, whatever comes.
            let mut more = BytesMut::from(&b"\x94\0\0\xa1x\x90"[..]);
            let again = connection.receive(&mut more).unwrap_err().to_string();
            assert_eq!(again, error);
            let mut goodbye = Vec::new();
            connection.goodbye(&mut goodbye);
            assert!(goodbye.starts_with(b"\x94\x01"));
        }
    }
}

#[test]
fn ends_in_the_middle() {
    let message = b"\x94\0\0\xa1x\x91\xa2hi";
    for end in 0..message.len() {
        let (said, result) = events(&mut server(), &message[..end], 1);
        let expected = match end {
            0 => Ok(()),
            _ => Err(ProtocolError::Truncated),
        };
        assert_eq!((said.len(), result), (0, expected));
    }
}

#[test]
fn goodbye_answers_the_call_that_was_arriving() {
    let rows: &[(&[u8], u8)] = &[
        (b"\x94\0\x2a\xa1x\x91", 0x2a),
        (b"\x94\0", 0),
        (b"\x93\x02\xa1x", 0),
    ];
    for (begun, id) in rows {
        let mut connection = server();
        let limit = Duration::from_secs(3);
        connection.fail(ProtocolError::TooSlow { limit }, begun);
        let mut out = Vec::new();
        connection.goodbye(&mut out);
        assert!(out.starts_with(&[0x94, 1, *id, 0xd9]));
        let text = String::from_utf8_lossy(&out);
        assert!(
            text.contains("DEADLINE_EXCEEDED: a message takes longer than 3s"),
            "{text}"
        );
    }
}

/// A claimed length gets no memory before the bytes are there, and bytes that are there are looked
/// at once.
#[test]
fn claims_cost_nothing() {
    let mut connection = server();
    let mut input = BytesMut::from(&b"\x94\0\0\xa1x\x91\xc6\x03\0\0\0"[..]);
    assert!(connection.receive(&mut input).unwrap().is_none());
    assert!(connection.needs() <= 128 << 10);
    let elements = 1_000_000u32;
    let mut message = b"\x94\0\0\xa1x\xdd".to_vec();
    message.extend(elements.to_be_bytes());
    message.resize(message.len() + elements as usize, 0xc0);
    let (said, end) = events(&mut server(), &message, 10);
    assert_eq!((said.len(), end), (1, Ok(())));
}
