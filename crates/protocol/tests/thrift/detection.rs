//! The meaning of the first bytes, and how few of them are needed.

use crate::support::bytes;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::thrift::{Detection, detect};

/// First bytes, what they are, and how many of them tell.
const TABLE: &[(&str, &str, usize)] = &[
    ("80 01 00 01 00 00 00 04", "binary", 2),
    ("82 21 01 04", "compact", 2),
    ("text:[1,\"ping\",1,0,{}]", "json", 1),
    ("00 00 00 04 70 69 6e 67 01", "binary-old", 5),
    ("00 00 00 11 80 01 00 01", "binary+framed", 6),
    ("00 00 00 11 82 21 01 04", "compact+framed", 6),
    ("00 00 00 11 5b 31 2c 22", "json+framed", 5),
    (
        "00 00 00 11 00 00 00 04 70 69 6e 67 01",
        "binary-old+framed",
        5,
    ),
    ("00 00 00 24 0f ff 00 00", "compact+header", 6),
    // A frame beyond the limit is recognized, so that its sender can be told.
    ("3f ff ff ff 80 01 00 01", "binary+framed", 6),
    ("text:POST / HTTP/1.1", "http1", 5),
    ("text:GET / HTTP/1.1", "http1", 4),
    ("text:PRI * HTTP/2.0", "http2", 14),
    ("16 03 01 02 00 01 00 01", "tls", 2),
    // Garbage: each is refused with the first byte that fits nothing.
    ("text:SSH-2.0-OpenSSH", "unknown", 1),
    ("text:PUSH", "unknown", 3),
    ("80 02 00 01", "unknown", 2),
    ("82 22", "unknown", 2),
    ("ff ff ff ff", "unknown", 1),
    ("00 00 00 00", "unknown", 4),
    ("00 00 00 11 70 00 00 00", "binary-old", 5),
    ("00 00 00 11 99", "unknown", 5),
    ("00 00 00 11 0f fe", "unknown", 6),
    ("3f ff ff ff 00", "binary-old+framed", 5),
];

#[test]
fn first_bytes() {
    for (row, expected, needed) in TABLE {
        let input = bytes(row);
        let answer = |prefix: &[u8]| {
            Some(match detect(prefix, &ConnectionLimits::default(), &[]) {
                Detection::More(missing) => {
                    assert!(missing > 0, "{row}");
                    // It must not ask for more than there is.
                    assert!(prefix.len() + missing <= *needed, "{row}: {prefix:x?}");
                    return None;
                }
                Detection::Thrift(wire) => wire.to_string(),
                Detection::Http1 => "http1".into(),
                Detection::Http2 => "http2".into(),
                Detection::Tls => "tls".into(),
                Detection::Unknown => "unknown".into(),
            })
        };
        for len in 0..*needed {
            assert_eq!(answer(&input[..len]), None, "{row}: {len} bytes");
        }
        for len in *needed..=input.len() {
            assert_eq!(
                answer(&input[..len]).as_deref(),
                Some(*expected),
                "{row}: {len} bytes"
            );
        }
    }
}
