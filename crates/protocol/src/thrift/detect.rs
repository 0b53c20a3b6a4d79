//! Which wire a connection speaks, from its first bytes.
//!
//! `docs/spec/thrift.md` has the table, with the cases that two wires could claim.

use super::message::{COMPACT_ID, Stop};
use super::{CustomProtocol, Detect, Protocol, ProtocolError, Transport, Wire};
use crate::ConnectionLimits;
use crate::http;

/// The meaning of the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// At least this many more bytes are needed to tell.
    More(usize),
    /// Thrift, without HTTP. With [`Transport::Header`] the protocol comes with each message, and
    /// the one here means nothing.
    Thrift(Wire),
    /// An HTTP/1 request. Whether it carries Thrift is told by its body.
    Http1,
    /// HTTP/2 with prior knowledge: gRPC, most likely.
    Http2,
    /// A TLS handshake.
    Tls,
    /// None of these.
    Unknown,
}

/// Looks at the first bytes of a connection. `custom` protocols are asked where no built-in one
/// fits.
pub fn detect(
    prefix: &[u8],
    limits: &ConnectionLimits,
    custom: &[&'static dyn CustomProtocol],
) -> Detection {
    let thrift = |transport, protocol| Detection::Thrift(Wire::new(protocol, transport));
    match unframed(prefix) {
        Guess::Is(protocol) => return thrift(Transport::Unframed, protocol),
        Guess::More(missing) => return Detection::More(missing),
        Guess::No => {}
    }
    if let Some(detection) = other_protocol(prefix) {
        return detection;
    }
    let detection = if prefix[0] < 0x40 {
        framed(prefix, limits, custom)
    } else {
        Detection::Unknown
    };
    if detection != Detection::Unknown {
        return detection;
    }
    let scannable = custom.iter().filter(|custom| custom.scan().is_some());
    match ask(scannable, prefix) {
        Guess::Is(protocol) => thrift(Transport::Unframed, protocol),
        Guess::More(missing) => Detection::More(missing),
        Guess::No => Detection::Unknown,
    }
}

/// Detects the wire, with the error that each refusal is.
pub(crate) fn detect_wire(
    prefix: &[u8],
    limits: &ConnectionLimits,
    custom: &[&'static dyn CustomProtocol],
) -> Result<Wire, Stop> {
    match detect(prefix, limits, custom) {
        Detection::Thrift(wire) => Ok(wire),
        Detection::Http1 => Ok(Wire::new(Protocol::Binary, Transport::Http)),
        Detection::More(missing) => Err(Stop::Need(missing)),
        Detection::Tls => Err(ProtocolError::Tls.into()),
        Detection::Http2 => Err(ProtocolError::Http2.into()),
        Detection::Unknown => Err(unknown(prefix).into()),
    }
}

/// True for a body of HTTP that begins as a message of Thrift.
pub fn is_message(body: &[u8]) -> bool {
    detect_message(body).is_ok()
}

/// The protocol of a complete message, as in the body of an HTTP request.
pub(crate) fn detect_message(message: &[u8]) -> Result<Protocol, ProtocolError> {
    match (unframed(message), message.first()) {
        (Guess::Is(protocol), _) => Ok(protocol),
        (_, Some(0..0x40)) => Ok(Protocol::BinaryOld),
        (_, None) => Err(ProtocolError::Truncated { what: "a message" }),
        _ => Err(unknown(message)),
    }
}

enum Guess {
    Is(Protocol),
    More(usize),
    No,
}

/// The messages that say themselves what they are.
fn unframed(prefix: &[u8]) -> Guess {
    match prefix {
        [] | [0x80 | COMPACT_ID] => Guess::More(1),
        [0x80, 0x01, ..] => Guess::Is(Protocol::Binary),
        [COMPACT_ID, version, ..] if version & 0x1f == 1 => Guess::Is(Protocol::Compact),
        [b'[', ..] => Guess::Is(Protocol::Json),
        _ => Guess::No,
    }
}

/// Frames, and old binary messages: both begin with a length.
///
/// A frame's first byte is a protocol's mark or, around an old binary message, the high byte of the
/// length of a name: zero. The first byte of a name is neither.
fn framed(
    prefix: &[u8],
    limits: &ConnectionLimits,
    custom: &[&'static dyn CustomProtocol],
) -> Detection {
    let Some((length, message)) = prefix.split_first_chunk() else {
        return Detection::More(4 - prefix.len());
    };
    let length = u32::from_be_bytes(*length) as usize;
    let thrift = |transport, protocol| Detection::Thrift(Wire::new(protocol, transport));
    match message {
        _ if length == 0 => return Detection::Unknown,
        [] => return Detection::More(1),
        [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] if length <= limits.name_bytes => {
            return thrift(Transport::Unframed, Protocol::BinaryOld);
        }
        [0x0f] => return Detection::More(1),
        [0x0f, 0xff, ..] => return thrift(Transport::Header, Protocol::Compact),
        _ => {}
    }
    match unframed(message) {
        // Even where the frame is too large: then it is known whom to tell.
        Guess::Is(protocol) => return thrift(Transport::Framed, protocol),
        Guess::More(missing) => return Detection::More(missing),
        Guess::No => {}
    }
    match ask(custom.iter(), message) {
        Guess::Is(protocol) => thrift(Transport::Framed, protocol),
        Guess::More(missing) => Detection::More(missing),
        Guess::No if message[0] == 0 => thrift(Transport::Framed, Protocol::BinaryOld),
        Guess::No => Detection::Unknown,
    }
}

fn ask<'a>(custom: impl Iterator<Item = &'a &'static dyn CustomProtocol>, message: &[u8]) -> Guess {
    let mut guess = Guess::No;
    for protocol in custom {
        match protocol.detect(message) {
            Detect::Yes => return Guess::Is(Protocol::Custom(*protocol)),
            Detect::More => guess = Guess::More(1),
            Detect::No => {}
        }
    }
    guess
}

/// Finds a protocol that is no Thrift but common enough to have a name.
fn other_protocol(prefix: &[u8]) -> Option<Detection> {
    const TABLE: &[(&[u8], Detection)] = &[
        (b"PRI * HTTP/2.0", Detection::Http2),
        // A handshake record of SSL 3.0 to TLS 1.3. Also the length of a frame of 369 MB, which is
        // taken for TLS whatever the limit.
        (&[0x16, 3], Detection::Tls),
    ];
    let http = http::BEGINNINGS.map(|mark| (mark, Detection::Http1));
    http.iter().chain(TABLE).find_map(|(mark, detection)| {
        if prefix.starts_with(mark) {
            Some(*detection)
        } else if mark.starts_with(prefix) {
            Some(Detection::More(1))
        } else {
            None
        }
    })
}

#[cold]
fn unknown(prefix: &[u8]) -> ProtocolError {
    ProtocolError::UnknownProtocol {
        first: prefix[..prefix.len().min(8)].to_vec(),
    }
}
