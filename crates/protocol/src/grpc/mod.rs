//! gRPC, as far as it is no HTTP/2: metadata, timeouts, and how a call ended; and gRPC-Web.
//!
//! The source is `doc/PROTOCOL-HTTP2.md` of github.com/grpc/grpc. HTTP/2 itself is a library's,
//! which drivers use; messages are [envelopes](crate::envelope).

mod ask;
mod status;
mod text;
mod timeout;
mod web;

pub use crate::coding::{Coding, ZstdError, compress_zstd, decompress_zstd};
pub use crate::envelope::{Assembler, Frame, FrameError, PREFIX, compressed_prefix, prefix};
pub use crate::failure::Failure;
pub use crate::metadata::{InvalidMetadata, decode_value, encode_value, is_custom};
pub use ask::request_headers;
pub use status::{Detail, Details, Trailers, from_http, from_reset};
pub use text::{InvalidText, Text};
pub use timeout::{InvalidTimeout, parse_timeout, timeout};
pub use web::{Web, read_web_end, web_end, web_terms};

use crate::Codec;

/// The content type of gRPC; what follows is `+proto`, or another encoding of messages.
pub const CONTENT_TYPE: &str = "application/grpc";

/// The beginning of an HTTP/2 connection, as far as it matters (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Whether a connection that begins like this speaks HTTP/2; `None` where more bytes must tell.
pub fn detects(first: &[u8]) -> Option<bool> {
    match first.len() < PREFACE.len() {
        true if PREFACE.starts_with(first) => None,
        _ => Some(first.starts_with(PREFACE)),
    }
}

/// Writes a server's refusal of an HTTP/2 client: its settings, and GOAWAY with this reason.
pub fn refuse(why: &str, out: &mut Vec<u8>) {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    // NO_ERROR: the client did nothing wrong, and none of its calls was started.
    const LAST_STREAM_AND_CODE: [u8; 8] = [0; 8];
    let mut frame = |kind: u8, payload: &[&[u8]]| {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        // Three bytes: the reasons are sentences.
        out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&[kind, 0, 0, 0, 0, 0]);
        payload.iter().for_each(|part| out.extend_from_slice(part));
    };
    frame(SETTINGS, &[]);
    frame(GOAWAY, &[&LAST_STREAM_AND_CODE, why.as_bytes()]);
}

/// How messages are encoded that come with this content type; `None` where it is none of gRPC's.
pub fn codec(content_type: &[u8]) -> Option<Codec> {
    web::codec(content_type, CONTENT_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_known_as_soon_as_it_can_be() {
        for (first, answer) in [
            (&b""[..], None),
            (b"P", None),
            (b"PRI * HTTP/2.", None),
            (b"PRI * HTTP/2.0", Some(true)),
            (b"PRI * HTTP/2.0\r\n\r\nSM", Some(true)),
            (b"PO", Some(false)),
            (b"PRI * HTTP/1.1", Some(false)),
            (b"\x80\x01", Some(false)),
        ] {
            assert_eq!(detects(first), answer, "{first:?}");
        }
    }

    #[test]
    fn content_types() {
        for (text, grpc) in [
            ("application/grpc", Some(Codec::Proto)),
            ("application/grpc+proto", Some(Codec::Proto)),
            ("application/grpc;charset=utf-8", Some(Codec::Proto)),
            ("application/grpc+proto; a=b", Some(Codec::Proto)),
            ("application/grpc+json", Some(Codec::Json)),
            ("application/grpc+thrift", None),
            ("application/grpc-web", None),
            ("application/json", None),
            ("", None),
        ] {
            assert_eq!(codec(text.as_bytes()), grpc, "{text}");
        }
    }

    #[test]
    fn a_refusal_is_two_frames() {
        let mut out = Vec::new();
        refuse("no", &mut out);
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let goaway = [
            0, 0, 10, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'n', b'o',
        ];
        assert_eq!(out, [&settings[..], &goaway].concat());
    }
}
