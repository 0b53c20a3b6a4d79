//! THeader inside other transports: in frames, and in the bodies of HTTP. The calls are bytes of
//! Apache Thrift's Python library 0.25 (`THeaderProtocol` over `TFramedTransport`, and over a
//! buffer as `THttpClient` sends it), which has read the answers here.

use crate::support::{bytes, chunk_sizes, options, serve};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Field, Kind, Limits, Writer, message};

/// The parameters of the calls.
#[derive(Debug, Default, PartialEq)]
struct Name {
    name: String,
}

message!(Name { 1 name: String, });

/// An answer of the result `Hi, Ada`.
struct Hello;

impl Encode for Hello {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_reply()?;
        writer.begin_field(&Field::new(0, "success", Kind::String))?;
        writer.string("Hi, Ada")?;
        writer.end_field()?;
        writer.end_struct()
    }
}

/// Encoding, call, and answer. A row of HTTP has the body alone.
const FRAMED: &[(Encoding, &str, &str)] = &[
    (
        Encoding::ThriftBinary,
        "0000003a 00000036 0fff 0000 00000007 0004 00000101 057472616365036162630000 \
         80010001 00000005 6772656574 00000007 0b0001 00000003 416461 00",
        "00000032 0000002e 0fff 0000 00000007 0001 00000000 80010002 00000005 6772656574 00000007 0b0000 00000007 48692c20416461 00",
    ),
    (
        Encoding::ThriftCompact,
        "0000002d 00000029 0fff 0000 00000007 0004 02000101 057472616365036162630000 \
         822107 05 6772656574 18 03 416461 00",
        "00000026 00000022 0fff 0000 00000007 0001 02000000 824107 05 6772656574 0800 07 48692c20416461 00",
    ),
];
const HTTP: &[(Encoding, &str, &str)] = &[
    (
        Encoding::ThriftBinary,
        "00000036 0fff 0000 00000007 0004 00000101 057472616365036162630000 \
         80010001 00000005 6772656574 00000007 0b0001 00000003 416461 00",
        "0000002e 0fff 0000 00000007 0001 00000000 80010002 00000005 6772656574 00000007 0b0000 00000007 48692c20416461 00",
    ),
    (
        Encoding::ThriftCompact,
        "00000031 0fff 0000 00000007 0004 0201010101 0574726163650361626300 \
         789c 6b5264674d2f4a4d2d9160764c49640000206503e8",
        "00000022 0fff 0000 00000007 0001 02000000 824107 05 6772656574 0800 07 48692c20416461 00",
    ),
];

fn check(encoding: Encoding, call: &[u8], answer: &[u8]) {
    for chunk in chunk_sizes(call.len()) {
        let mut outcome = serve(&options(|_| {}), call, chunk);
        assert_eq!(outcome.result, Ok(()));
        let call = outcome.calls.pop().expect("a call");
        assert_eq!((&*call.method, outcome.unread), ("greet", 0));
        assert_eq!(call.headers.get("trace"), Some(&b"abc"[..]));
        assert_eq!(call.encoding.name(), encoding.name());
        let name: Name = encoding.from_bytes(&call.body).expect("parameters");
        assert_eq!(name.name, "Ada");
        let mut out: Vec<u8> = Vec::new();
        let replied = call.reply.reply(&mut out, &Hello, Limits::default());
        assert_eq!(replied, Ok(()));
        assert_eq!(out, answer, "{}", hex(&out));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn in_frames() {
    for (encoding, call, answer) in FRAMED {
        check(*encoding, &bytes(call), &bytes(answer));
    }
}

#[test]
fn in_bodies() {
    for (encoding, body, answer) in HTTP {
        let body = Bytes::from(bytes(body));
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = bytes(answer);
        let ok = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: {:>10}\r\n\r\n",
            answer.len()
        );
        let call = [head.as_bytes(), &body].concat();
        check(*encoding, &call, &[ok.as_bytes(), &answer].concat());
    }
}
