//! THeader: a frame whose message stands behind headers, and may be compressed.
//!
//! ```text
//! length:4 | 0x0fff flags:2 | seqid:4 | words:2 | protocol, transforms, info, padding: 4 × words | message
//! ```

use super::message::{Stop, truncate, varint, word, write_varint};
use super::{Protocol, ProtocolError, Transform, Transforms, transform};
use crate::{ConnectionLimits, Headers};
use dovetail_wire::{Bytes, EncodeError};

/// The envelope before the message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) flags: u16,
    pub(crate) seqid: u32,
    pub(crate) transforms: Transforms,
    pub(crate) headers: Headers,
}

/// fbthrift's flag: the sender takes replies in any order.
pub(crate) const OUT_OF_ORDER: u16 = 1;

pub(crate) const MAGIC: u16 = 0x0fff;
const KEY_VALUE: u32 = 1;
/// Magic, flags, seqid and the number of words.
const FIXED: usize = 10;

/// Reads a frame, without its length: the envelope, the protocol, and the message in it.
pub(crate) fn read(
    frame: &Bytes,
    limits: &ConnectionLimits,
) -> Result<(Envelope, Protocol, Bytes), ProtocolError> {
    let truncated = |stop: Stop| stop.at_the_end("a THeader frame");
    let magic = word(frame, 0).map_err(truncated)?;
    if magic >> 16 != u32::from(MAGIC) {
        return Err(ProtocolError::WrongProtocol {
            expected: "THeader",
            found: "frames without headers",
        });
    }
    let seqid = word(frame, 4).map_err(truncated)?;
    let words = match frame.get(8..FIXED) {
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => return Err(truncated(Stop::Need(1))),
    };
    if words * 4 > limits.header_bytes {
        return Err(ProtocolError::HeadersTooLarge {
            limit: limits.header_bytes,
        });
    }
    let start = FIXED + words * 4;
    let fields = frame
        .get(FIXED..start)
        .ok_or_else(|| truncated(Stop::Need(1)))?;
    let (protocol, transforms, headers) = read_fields(fields).map_err(truncated)?;

    let mut message = frame.slice(start..);
    for transform in transforms.iter().rev() {
        message = transform::undo(transform, &message, limits.decompressed(message.len()))?;
    }
    let envelope = Envelope {
        // The lower half.
        flags: magic as u16,
        seqid,
        transforms,
        headers,
    };
    Ok((envelope, protocol, message))
}

fn read_fields(mut fields: &[u8]) -> Result<(Protocol, Transforms, Headers), Stop> {
    let protocol = match number(&mut fields)? {
        0 => Protocol::Binary,
        1 => Protocol::Json,
        2 => Protocol::Compact,
        id => return Err(ProtocolError::UnsupportedProtocol { id }.into()),
    };
    let mut transforms = Transforms::NONE;
    for _ in 0..number(&mut fields)? {
        let transform = match number(&mut fields)? {
            0 => continue,
            1 => Transform::Zlib,
            5 => Transform::Zstd,
            id => return Err(ProtocolError::UnsupportedTransform { id }.into()),
        };
        if transforms.iter().any(|have| have == transform) {
            return Err(ProtocolError::malformed("a transform applied twice").into());
        }
        transforms.push(transform);
    }
    let mut headers = Headers::new();
    // Padding is zeros; what this end does not know comes last, by the rules of THeader.
    while !fields.is_empty() && number(&mut fields)? == KEY_VALUE {
        for _ in 0..number(&mut fields)? {
            let key = string(&mut fields)?;
            let value = Bytes::copy_from_slice(string(&mut fields)?);
            headers.push(String::from_utf8_lossy(key), value);
        }
    }
    Ok((protocol, transforms, headers))
}

fn number(fields: &mut &[u8]) -> Result<u32, Stop> {
    let (value, len) = varint(fields)?;
    *fields = &fields[len..];
    Ok(truncate(value))
}

fn string<'a>(fields: &mut &'a [u8]) -> Result<&'a [u8], Stop> {
    let length = number(fields)? as usize;
    let (string, rest) = fields.split_at_checked(length).ok_or(Stop::Need(1))?;
    *fields = rest;
    Ok(string)
}

/// Writes what stands before the message, with a length of zero.
pub(crate) fn write(
    protocol: Protocol,
    envelope: &Envelope,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let id = match protocol {
        Protocol::Binary => 0,
        Protocol::Json => 1,
        Protocol::Compact => 2,
        Protocol::BinaryOld | Protocol::Custom(_) => {
            return Err(EncodeError::Unsupported {
                what: "this protocol inside THeader",
            });
        }
    };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&MAGIC.to_be_bytes());
    out.extend_from_slice(&envelope.flags.to_be_bytes());
    out.extend_from_slice(&envelope.seqid.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    let start = out.len();
    write_varint(id, out);
    write_varint(envelope.transforms.iter().count() as u32, out);
    for transform in envelope.transforms.iter() {
        write_varint(
            match transform {
                Transform::Zlib => 1,
                Transform::Zstd => 5,
            },
            out,
        );
    }
    if !envelope.headers.is_empty() {
        write_varint(KEY_VALUE, out);
        write_varint(envelope.headers.len() as u32, out);
        for (name, value) in envelope.headers.iter() {
            for text in [name.as_bytes(), value] {
                write_varint(text.len() as u32, out);
                out.extend_from_slice(text);
            }
        }
    }
    while !(out.len() - start).is_multiple_of(4) {
        out.push(0);
    }
    let length = out.len() - start;
    // Apache's C++ library refuses 2^14 words.
    match u16::try_from(length / 4) {
        Ok(words @ 0..0x4000) => out[start - 2..start].copy_from_slice(&words.to_be_bytes()),
        _ => return Err(EncodeError::TooLong { length }),
    }
    Ok(())
}
