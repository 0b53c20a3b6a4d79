//! Frames in pieces of every size, what is refused, and the handshake; examples are those of
//! RFC 6455.
#![allow(clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::http::{Cors, ServerConnection};
use dovetail_protocol::websocket::{
    CloseCode, Error, Message, Reader, Said, accept, asks, write_close, write_close_reply,
    write_pong, write_text,
};
use proptest::prelude::*;

const MAX: usize = 1000;

/// The mask of RFC 6455's examples.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A frame of a client, its first byte as it is.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = match payload.len() {
        length @ 0..126 => vec![0x80 | length as u8],
        length @ 126..0x1_0000 => [&[0xfe][..], &(length as u16).to_be_bytes()].concat(),
        length => [&[0xff][..], &(length as u64).to_be_bytes()].concat(),
    };
    let masked: Vec<u8> = payload
        .iter()
        .zip(MASK.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    [&[first][..], &length, &MASK, &masked].concat()
}

/// All that comes of bytes in pieces of this size, and whether something is left.
fn read(bytes: &[u8], size: usize) -> Result<(Vec<Message>, bool), Error> {
    let limits = ConnectionLimits {
        message_bytes: MAX,
        ..ConnectionLimits::default()
    };
    let mut reader = Reader::new(&limits);
    let (mut input, mut found) = (BytesMut::new(), Vec::new());
    for piece in bytes.chunks(size) {
        input.extend_from_slice(piece);
        while let Some(message) = reader.receive(&mut input)? {
            found.push(message);
        }
        assert!((1..=MAX).contains(&reader.needs()));
    }
    Ok((found, reader.is_within() || !input.is_empty()))
}

fn text(text: &str) -> Message {
    Message::Text(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn messages_in_pieces_of_every_size() {
    let long = "x".repeat(300);
    let rows: &[(Vec<u8>, &[Message])] = &[
        (
            b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58".to_vec(),
            &[text("Hello")],
        ),
        (
            b"\x89\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58".to_vec(),
            &[Message::Ping(Bytes::from_static(b"Hello"))],
        ),
        (
            [frame(1, b"Hel"), frame(0x80, b"lo")].concat(),
            &[text("Hello")],
        ),
        (
            [
                frame(1, b"Hel"),
                frame(0x89, b""),
                frame(0, b""),
                frame(0x8a, b"x"),
                frame(0x80, b"lo"),
            ]
            .concat(),
            &[Message::Ping(Bytes::new()), Message::Pong, text("Hello")],
        ),
        // A character of three bytes may be cut by frames.
        (
            [frame(1, b"\xe2\x82"), frame(0x80, b"\xac")].concat(),
            &[text("€")],
        ),
        (
            [frame(0x81, b""), frame(0x82, b"\xff")].concat(),
            &[text(""), Message::Binary(Bytes::from_static(b"\xff"))],
        ),
        (frame(0x81, long.as_bytes()), &[text(&long)]),
        (frame(0x88, b""), &[Message::Close(None)]),
        (frame(0x88, b"\x03\xe8bye"), &[Message::Close(Some(1000))]),
        (frame(0x88, b"\x13\x87"), &[Message::Close(Some(4999))]),
    ];
    for (bytes, messages) in rows {
        for size in 1..=bytes.len() {
            assert_eq!(
                read(bytes, size).unwrap(),
                (messages.to_vec(), false),
                "{bytes:x?}"
            );
        }
        let cut = &bytes[..bytes.len() - 1];
        assert!(read(cut, cut.len()).unwrap().1, "{bytes:x?}");
    }
}

#[test]
fn what_is_refused() {
    use CloseCode::{InvalidText, Protocol, TooLarge};
    let rows: &[(&[u8], CloseCode, &str)] = &[
        (
            b"\x81\x05Hello",
            Protocol,
            "a frame without a mask, which clients have to use",
        ),
        (
            &frame(0xc1, b""),
            Protocol,
            "a reserved bit: no extension was agreed on",
        ),
        (
            &frame(0xa1, b""),
            Protocol,
            "a reserved bit: no extension was agreed on",
        ),
        (
            &frame(0x91, b""),
            Protocol,
            "a reserved bit: no extension was agreed on",
        ),
        (&frame(0x83, b""), Protocol, "an opcode that is not known"),
        (&frame(0x8b, b""), Protocol, "an opcode that is not known"),
        (&frame(9, b""), Protocol, "a control frame in fragments"),
        (
            &frame(0x89, &[0; 126]),
            Protocol,
            "a control frame of more than 125 bytes",
        ),
        (&frame(0x80, b""), Protocol, "a continuation of no message"),
        (
            &[frame(1, b""), frame(0x81, b"")].concat(),
            Protocol,
            "a new message within another one",
        ),
        (
            b"\x81\xfe\0\x7d",
            Protocol,
            "a length in more bytes than it needs",
        ),
        (
            b"\x81\xff\0\0\0\0\0\0\xff\xff",
            Protocol,
            "a length in more bytes than it needs",
        ),
        (
            b"\x81\xff\x80\0\0\0\0\x01\0\0",
            Protocol,
            "a length of more than 63 bits",
        ),
        (&frame(0x88, b"\x03"), Protocol, "a close with half a code"),
        (
            &frame(0x88, b"\x03\xed"),
            Protocol,
            "a close with a code that is never sent",
        ),
        (
            &frame(0x88, b"\x13\x88"),
            Protocol,
            "a close with a code that is never sent",
        ),
        (
            &frame(0x88, b"\x03\xe8\xff"),
            InvalidText,
            "text that is no UTF-8",
        ),
        (&frame(0x81, b"\xff"), InvalidText, "text that is no UTF-8"),
        (
            &[frame(1, b"\xe2"), frame(0x80, b"a")].concat(),
            InvalidText,
            "text that is no UTF-8",
        ),
        // Before anything of it has come.
        (
            b"\x82\xfe\x03\xe9\0\0\0\0",
            TooLarge,
            "a message of 1001 bytes or more, the limit is 1000",
        ),
        (
            b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",
            TooLarge,
            "a message of 9223372036854775807 bytes or more, the limit is 1000",
        ),
        (
            &[frame(1, &[b'x'; 900]), frame(0, &[b'x'; 101])].concat(),
            TooLarge,
            "a message of 1001 bytes or more, the limit is 1000",
        ),
    ];
    for (bytes, code, why) in rows {
        for size in 1..=bytes.len() {
            let error = read(bytes, size).unwrap_err();
            assert_eq!(
                (error.code(), &*error.to_string()),
                (*code, *why),
                "{bytes:x?} in {size}"
            );
        }
    }
}

#[test]
fn frames_of_a_server() {
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let long = "é".repeat(70);
    for (frame, expected) in [
        (
            written(&|out| write_text(b"Hello", out)),
            b"\x81\x05Hello".to_vec(),
        ),
        (
            written(&|out| write_pong(b"Hello", out)),
            b"\x8a\x05Hello".to_vec(),
        ),
        (
            written(&|out| write_text(&[b'x'; 256], out)),
            [&b"\x81\x7e\x01\0"[..], &[b'x'; 256]].concat(),
        ),
        (
            written(&|out| write_text(&[b'x'; 65536], out)),
            [&b"\x81\x7f\0\0\0\0\0\x01\0\0"[..], &[b'x'; 65536]].concat(),
        ),
        (
            written(&|out| write_close(CloseCode::GoingAway, "bye", out)),
            b"\x88\x05\x03\xe9bye".to_vec(),
        ),
        (
            written(&|out| write_close(CloseCode::TooLarge, &long, out)),
            [&b"\x88\x7c\x03\xf1"[..], &long.as_bytes()[..122]].concat(),
        ),
        (
            written(&|out| write_close_reply(Some(4000), out)),
            b"\x88\x02\x0f\xa0".to_vec(),
        ),
        (
            written(&|out| write_close_reply(None, out)),
            b"\x88\0".to_vec(),
        ),
    ] {
        assert_eq!(frame, expected);
    }
}

#[test]
fn what_messages_say() {
    let value = |text: &'static str| Bytes::from_static(text.as_bytes());
    for (message, said) in [
        (r#"{"params":{}}"#, Some(Said::Params(value("{}")))),
        (" { \"item\" : \"}\" } \n", Some(Said::Item(value("\"}\"")))),
        (
            r#"{"headers":{"a":"b"}}"#,
            Some(Said::Headers(value(r#"{"a":"b"}"#))),
        ),
        (r#"{"end":{}}"#, Some(Said::End)),
        (
            r#"{"item":1,"end":2}"#,
            Some(Said::Item(value(r#"1,"end":2"#))),
        ),
        (r#"{"items":1}"#, None),
        (r#"{"item"}"#, None),
        (r#"{"item"#, None),
        ("{}", None),
        ("[]", None),
        ("", None),
    ] {
        assert_eq!(Said::read(&value(message)), said, "{message}");
    }
}

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";
const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\n";

/// Returns the status of the answer to a request: `None` for one that asks for no socket.
fn handshake(request: &str) -> Option<u16> {
    let mut connection = ServerConnection::new(ConnectionLimits::default());
    let mut input = BytesMut::from(request);
    let request = connection
        .receive(&mut input, |_, _| Ok(1))
        .unwrap()
        .unwrap();
    let mut out = Vec::new();
    asks(&request).then(|| match accept(&request, &mut out) {
        Ok(()) => {
            let accepted = String::from_utf8(out).unwrap();
            assert!(accepted.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
            assert!(
                accepted.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")
            );
            101
        }
        Err(refused) => refused.status,
    })
}

#[test]
fn handshakes() {
    for (line, headers, answer) in [
        (
            "GET / HTTP/1.1",
            [UPGRADE, KEY, VERSION].concat(),
            Some(101),
        ),
        (
            "GET / HTTP/1.1",
            [
                "upgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\n",
                KEY,
                VERSION,
            ]
            .concat(),
            Some(101),
        ),
        (
            "GET / HTTP/1.1",
            [
                "Upgrade: h2c, websocket\r\nConnection: x\r\nConnection: upgrade\r\n",
                KEY,
                VERSION,
            ]
            .concat(),
            Some(101),
        ),
        (
            "GET / HTTP/1.1",
            [UPGRADE, KEY, "Sec-WebSocket-Version: 8\r\n"].concat(),
            Some(426),
        ),
        ("GET / HTTP/1.1", [UPGRADE, KEY].concat(), Some(426)),
        ("GET / HTTP/1.1", [UPGRADE, VERSION].concat(), Some(400)),
        (
            "GET / HTTP/1.1",
            [UPGRADE, VERSION, "Sec-WebSocket-Key: c2hvcnQ=\r\n"].concat(),
            Some(400),
        ),
        (
            "GET / HTTP/1.1",
            ["Upgrade: websocket\r\n", KEY, VERSION].concat(),
            None,
        ),
        (
            "GET / HTTP/1.1",
            ["Connection: Upgrade\r\n", KEY, VERSION].concat(),
            None,
        ),
        (
            "GET / HTTP/1.1",
            ["Upgrade: h2c\r\nConnection: Upgrade\r\n", KEY, VERSION].concat(),
            None,
        ),
        ("GET / HTTP/1.0", [UPGRADE, KEY, VERSION].concat(), None),
        (
            "POST / HTTP/1.1",
            [UPGRADE, KEY, VERSION, "Content-Length: 0\r\n"].concat(),
            None,
        ),
    ] {
        assert_eq!(
            handshake(&format!("{line}\r\nHost: x\r\n{headers}\r\n")),
            answer,
            "{headers}"
        );
    }
}

#[test]
fn origins() {
    let shop = Cors::new().origin("https://shop.example");
    for (cors, host, origin, refused) in [
        (None, "a:80", None, false),
        (None, "a:9090", Some("http://a:9090"), false),
        (None, "A", Some("https://a"), false),
        (None, "a", Some("http://b"), true),
        (None, "a", Some("http://a:81"), true),
        (None, "a", Some("http://x.a"), true),
        (None, "a", Some("a"), true),
        (None, "", Some("null"), true),
        (None, "null", Some("null"), true),
        (Some(&shop), "a", Some("https://shop.example"), false),
        (Some(&shop), "a", Some("http://shop.example"), true),
        (Some(&Cors::any()), "a", Some("null"), false),
        (Some(&Cors::new()), "a", Some("http://a"), false),
        (Some(&Cors::new()), "a", Some("http://b"), true),
    ] {
        let headers = [("Host", Some(host)), ("Origin", origin)].into_iter();
        let headers = headers
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        assert_eq!(
            Cors::refuses_socket(cors, &headers),
            refused,
            "{host} {origin:?}"
        );
    }
}

proptest! {
    /// However a message is cut into frames, and those into pieces, with pings between them: it is
    /// the same message.
    #[test]
    fn frames_and_pieces_make_no_difference(
        parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..5),
        pings in any::<bool>(),
        size in 1..100_usize,
    ) {
        let mut bytes = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let opcode = if at == 0 { 2 } else { 0 };
            let last = if at + 1 == parts.len() { 0x80 } else { 0 };
            bytes.extend(frame(opcode | last, part));
            if pings {
                bytes.extend(frame(0x89, b"?"));
            }
        }
        let (mut found, left) = read(&bytes, size).unwrap();
        found.retain(|message| !matches!(message, Message::Ping(_)));
        prop_assert_eq!(found, [Message::Binary(parts.concat().into())]);
        prop_assert!(!left);
    }
}
