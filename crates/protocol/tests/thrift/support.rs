//! Helpers that the tests share: bytes from text, and a server that is fed in pieces.

use bytes::BytesMut;
use dovetail_protocol::thrift::{
    IncomingCall, ProtocolError, ServerConnection, ServerOptions, Wire,
};
use dovetail_wire::{Bytes, Encoding, Limits, message};
use std::sync::Arc;

/// Bytes from hex with spaces, or from text after `text:`, with `\r\n` written out.
pub(crate) fn bytes(row: &str) -> Vec<u8> {
    if let Some(text) = row.strip_prefix("text:") {
        return text.replace("\\r", "\r").replace("\\n", "\n").into_bytes();
    }
    let digits: Vec<u8> = row.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).expect("hex is ASCII");
        u8::from_str_radix(pair, 16).unwrap_or_else(|_| panic!("{pair:?} in {row:?}"))
    });
    pairs.collect()
}

pub(crate) fn wire(name: &str) -> Wire {
    name.parse().expect("the name of a wire")
}

pub(crate) fn options(change: impl FnOnce(&mut ServerOptions)) -> Arc<ServerOptions> {
    let mut options = ServerOptions::default();
    change(&mut options);
    Arc::new(options)
}

/// Everything a server makes of bytes that come in pieces of this size.
pub(crate) struct Outcome {
    pub(crate) calls: Vec<IncomingCall>,
    pub(crate) result: Result<(), ProtocolError>,
    pub(crate) server: ServerConnection,
    pub(crate) unread: usize,
}

pub(crate) fn serve(options: &Arc<ServerOptions>, input: &[u8], chunk: usize) -> Outcome {
    let mut outcome = Outcome {
        calls: Vec::new(),
        result: Ok(()),
        server: ServerConnection::new(options.clone()),
        unread: 0,
    };
    let mut buffer = BytesMut::new();
    for piece in input.chunks(chunk.max(1)) {
        buffer.extend_from_slice(piece);
        loop {
            match outcome.server.receive(&mut buffer) {
                Ok(Some(call)) => outcome.calls.push(call),
                Ok(None) => {
                    assert!(outcome.server.needs() > 0, "waits for nothing");
                    break;
                }
                Err(error) => {
                    assert_eq!(
                        outcome.server.receive(&mut buffer).map(drop),
                        Err(error.clone()),
                        "an error is for good"
                    );
                    outcome.result = Err(error);
                    return outcome;
                }
            }
        }
    }
    outcome.unread = buffer.len();
    outcome
}

/// The chunk sizes that make sense for so many bytes: all of them while that is cheap.
pub(crate) fn chunk_sizes(len: usize) -> impl Iterator<Item = usize> {
    let all = (1..=len).filter(move |size| len < 600 || *size < 12 || size % 97 == 0);
    all.chain([len.max(1)])
}

/// Parameters and result of the tests' method.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Greeting {
    pub(crate) number: i32,
    pub(crate) text: String,
    pub(crate) list: Vec<String>,
}

message!(Greeting {
    1 number: i32,
    2 text: String,
    3 list: Vec<String>,
});

impl Greeting {
    pub(crate) fn sample() -> Self {
        Greeting {
            number: 42,
            text: "Grüße, \"Welt\"".into(),
            list: vec!["a".into(), String::new(), "[{".into()],
        }
    }

    pub(crate) fn decode_from(encoding: Encoding, body: &Bytes) -> Self {
        let mut greeting = Greeting::default();
        let read = encoding.decode(&mut greeting, body, Limits::default());
        assert_eq!(read, Ok(body.len()));
        greeting
    }
}
