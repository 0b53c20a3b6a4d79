//! The head of a message in each protocol: what it is, which method, which number.

use super::json;
use super::{Protocol, ProtocolError};
use crate::http;
use crate::{ConnectionLimits, Name};
use std::fmt;
use std::ops::Range;

/// The kind of a message. The numbers are those of all protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// Parameters; the sender waits for a reply.
    Call = 1,
    /// A result or a declared exception.
    Reply = 2,
    /// A `TApplicationException`.
    Exception = 3,
    /// Parameters; no reply is sent.
    Oneway = 4,
}

/// The head before the body of a message.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) protocol: Protocol,
    pub(crate) kind: MessageKind,
    pub(crate) name: Name,
    pub(crate) seqid: i32,
}

/// Why reading from the front of bytes stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// At least this many bytes are missing: call again when more have come.
    Need(usize),
    /// More bytes will not help.
    Error(ProtocolError),
}

impl From<ProtocolError> for Stop {
    fn from(error: ProtocolError) -> Self {
        Stop::Error(error)
    }
}

impl From<http::Stop> for Stop {
    fn from(stop: http::Stop) -> Self {
        match stop {
            http::Stop::Need(missing) => Stop::Need(missing),
            http::Stop::Error(error) => Stop::Error(error.into()),
        }
    }
}

impl Stop {
    /// The error where the bytes are known to be all there are.
    pub(crate) fn at_the_end(self, what: &'static str) -> ProtocolError {
        match self {
            Stop::Need(_) => ProtocolError::Truncated { what },
            Stop::Error(error) => error,
        }
    }
}

impl MessageKind {
    fn from_number(number: i64) -> Result<Self, ProtocolError> {
        Ok(match number {
            1 => MessageKind::Call,
            2 => MessageKind::Reply,
            3 => MessageKind::Exception,
            4 => MessageKind::Oneway,
            _ => return Err(ProtocolError::InvalidMessageKind { found: number }),
        })
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MessageKind::Call => "call",
            MessageKind::Reply => "reply",
            MessageKind::Exception => "exception",
            MessageKind::Oneway => "one-way call",
        })
    }
}

/// Reads a complete message: its head, and where its body is.
pub(crate) fn read(
    protocol: Protocol,
    message: &[u8],
    limits: &ConnectionLimits,
) -> Result<(Head, Range<usize>), ProtocolError> {
    match protocol {
        Protocol::Json => read_json(message, limits),
        Protocol::Custom(custom) => {
            let head = custom.read_head(message)?;
            check_name(head.name.as_bytes().len() as u64, limits)?;
            if message.get(head.body.clone()).is_none() {
                return Err(ProtocolError::Truncated { what: "a message" });
            }
            let body = head.body;
            let head = Head {
                protocol,
                kind: head.kind,
                name: head.name,
                seqid: head.seqid,
            };
            Ok((head, body))
        }
        _ => match read_head(protocol, message, limits) {
            Ok((head, len)) => Ok((head, len..message.len())),
            Err(stop) => Err(stop.at_the_end("a message")),
        },
    }
}

/// Reads the head of a binary or compact message that may still be incomplete, and says how long it
/// is. Old and strict binary are told apart message by message, as Apache's libraries do: a client
/// with one may get a reply in the other.
pub(crate) fn read_head(
    protocol: Protocol,
    unread: &[u8],
    limits: &ConnectionLimits,
) -> Result<(Head, usize), Stop> {
    let first = *unread.first().ok_or(Stop::Need(1))?;
    match protocol {
        Protocol::Compact if first == COMPACT_ID => compact_head(unread, limits),
        Protocol::Binary | Protocol::BinaryOld if first == 0x80 => binary_head(unread, limits),
        Protocol::Binary | Protocol::BinaryOld if first < 0x40 => old_binary_head(unread, limits),
        _ => Err(wrong_protocol(protocol, first).into()),
    }
}

#[cold]
fn wrong_protocol(expected: Protocol, first: u8) -> ProtocolError {
    ProtocolError::WrongProtocol {
        expected: expected.name(),
        found: match first {
            0x80 => "binary",
            COMPACT_ID => "compact",
            b'[' => "json",
            0..0x40 => "old binary, or frames",
            _ => "bytes that begin no Thrift message",
        },
    }
}

/// The first byte of every compact message.
pub(crate) const COMPACT_ID: u8 = 0x82;
const COMPACT_VERSION: u8 = 1;
const BINARY_VERSION: u32 = 0x8001_0000;

fn binary_head(unread: &[u8], limits: &ConnectionLimits) -> Result<(Head, usize), Stop> {
    let version = word(unread, 0)?;
    if version & 0xffff_0000 != BINARY_VERSION {
        let found = version & 0xffff_0000;
        return Err(ProtocolError::InvalidVersion { found }.into());
    }
    let kind = MessageKind::from_number(i64::from(version & 0xff))?;
    let length = name_length(word(unread, 4)?, limits)?;
    let seqid = word(unread, 8 + length)?;
    let head = Head {
        protocol: Protocol::Binary,
        kind,
        name: name_from(&unread[8..8 + length])?,
        seqid: seqid.cast_signed(),
    };
    Ok((head, 8 + length + 4))
}

fn old_binary_head(unread: &[u8], limits: &ConnectionLimits) -> Result<(Head, usize), Stop> {
    let length = name_length(word(unread, 0)?, limits)?;
    // Read first: it comes last, so the whole head is asked for at once.
    let seqid = word(unread, 5 + length)?;
    let head = Head {
        protocol: Protocol::BinaryOld,
        kind: MessageKind::from_number(unread[4 + length].into())?,
        name: name_from(&unread[4..4 + length])?,
        seqid: seqid.cast_signed(),
    };
    Ok((head, 5 + length + 4))
}

fn compact_head(unread: &[u8], limits: &ConnectionLimits) -> Result<(Head, usize), Stop> {
    let version_and_kind = *unread.get(1).ok_or(Stop::Need(3))?;
    if version_and_kind & 0x1f != COMPACT_VERSION {
        let found = u32::from(version_and_kind & 0x1f);
        return Err(ProtocolError::InvalidVersion { found }.into());
    }
    let kind = MessageKind::from_number(i64::from(version_and_kind >> 5))?;
    let (seqid, len) = varint(&unread[2..])?;
    let at = 2 + len;
    let (length, len) = varint(&unread[at..])?;
    let at = at + len;
    let length = name_length(truncate(length), limits)?;
    let name = at..at + length;
    let name = unread
        .get(name.clone())
        .ok_or_else(|| Stop::Need(name.end - unread.len()))?;
    let head = Head {
        protocol: Protocol::Compact,
        kind,
        name: name_from(name)?,
        seqid: truncate(seqid).cast_signed(),
    };
    Ok((head, at + length))
}

/// `[1,"name",kind,seqid,{...}]`
fn read_json(
    message: &[u8],
    limits: &ConnectionLimits,
) -> Result<(Head, Range<usize>), ProtocolError> {
    let mut text = json::Cursor::new(message);
    text.expect(b'[')?;
    let version = text.integer()?;
    if version != 1 {
        return Err(ProtocolError::InvalidVersion {
            found: u32::try_from(version).unwrap_or(u32::MAX),
        });
    }
    text.expect(b',')?;
    let name = text.string(limits.name_bytes)?;
    text.expect(b',')?;
    let kind = MessageKind::from_number(text.integer()?)?;
    text.expect(b',')?;
    let seqid = i32::try_from(text.integer()?)
        .map_err(|_| ProtocolError::malformed("a number of a call beyond 32 bits"))?;
    text.expect(b',')?;
    let body = text.position();
    let end = message.trim_ascii_end().len();
    match message[..end].last() {
        Some(b']') if end > body => {}
        _ => return Err(ProtocolError::Truncated { what: "a message" }),
    }
    let head = Head {
        protocol: Protocol::Json,
        kind,
        name: Name::new(&name),
        seqid,
    };
    Ok((head, body..end - 1))
}

/// Writes the head, which precedes the body.
pub(crate) fn write_head(
    protocol: Protocol,
    kind: MessageKind,
    name: &str,
    seqid: i32,
    out: &mut Vec<u8>,
) {
    // Callers keep names within `ConnectionLimits::name_bytes`.
    let length = (name.len() as u32).to_be_bytes();
    match protocol {
        Protocol::Binary => {
            out.extend_from_slice(&(BINARY_VERSION | kind as u32).to_be_bytes());
            out.extend_from_slice(&length);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&seqid.to_be_bytes());
        }
        Protocol::BinaryOld => {
            out.extend_from_slice(&length);
            out.extend_from_slice(name.as_bytes());
            out.push(kind as u8);
            out.extend_from_slice(&seqid.to_be_bytes());
        }
        Protocol::Compact => {
            out.extend_from_slice(&[COMPACT_ID, (kind as u8) << 5 | COMPACT_VERSION]);
            write_varint(seqid.cast_unsigned(), out);
            write_varint(name.len() as u32, out);
            out.extend_from_slice(name.as_bytes());
        }
        Protocol::Json => {
            out.extend_from_slice(b"[1,");
            json::write_string(name, out);
            out.push(b',');
            out.push(b'0' + kind as u8);
            out.push(b',');
            out.extend_from_slice(seqid.to_string().as_bytes());
            out.push(b',');
        }
        Protocol::Custom(custom) => custom.write_head(kind, name, seqid, out),
    }
}

/// Writes the end, which follows the body.
pub(crate) fn write_end(protocol: Protocol, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Json => out.push(b']'),
        Protocol::Custom(custom) => custom.write_end(out),
        _ => {}
    }
}

/// Four bytes at an offset, big endian.
pub(crate) fn word(bytes: &[u8], at: usize) -> Result<u32, Stop> {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(word) => Ok(u32::from_be_bytes(*word)),
        None => Err(Stop::Need(at + 4 - bytes.len())),
    }
}

/// A varint, seven bits a byte, the lowest first; and its length.
pub(crate) fn varint(unread: &[u8]) -> Result<(u64, usize), Stop> {
    let mut value = 0;
    for (index, byte) in unread.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((value, index + 1));
        }
    }
    if unread.len() >= 10 {
        return Err(ProtocolError::malformed("a varint of more than ten bytes").into());
    }
    Err(Stop::Need(1))
}

pub(crate) fn write_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The 32 bits that compact means; Apache's C++ library writes negative ones in ten bytes.
pub(crate) fn truncate(value: u64) -> u32 {
    value as u32
}

fn name_length(length: u32, limits: &ConnectionLimits) -> Result<usize, ProtocolError> {
    if length.cast_signed() < 0 {
        return Err(ProtocolError::NegativeLength {
            length: length.cast_signed().into(),
        });
    }
    check_name(length.into(), limits)?;
    Ok(length as usize)
}

fn check_name(length: u64, limits: &ConnectionLimits) -> Result<(), ProtocolError> {
    if length > limits.name_bytes as u64 {
        return Err(ProtocolError::NameTooLong {
            length,
            limit: limits.name_bytes,
        });
    }
    Ok(())
}

fn name_from(bytes: &[u8]) -> Result<Name, ProtocolError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Name::new(text)),
        Err(_) => Err(ProtocolError::InvalidName),
    }
}
