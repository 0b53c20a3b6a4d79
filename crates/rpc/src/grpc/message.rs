//! A message of gRPC in the words of a call, and back.
//!
//! In Dovetail parameters are a struct, and a reply is one with the result as a field. That is what gRPC sends for
//! methods that know nothing of messages. Where request and answer are messages, as in a contract of protobuf, they
//! are the values of field 1: the header of that field is taken away, or put before.

use crate::{Code, Execution, Method, Status};
use dovetail_protocol::grpc::{Frame, PREFIX, prefix};
use dovetail_wire::{Any, Bytes, Encode, EncodeError, Encoding, Limits};
use flate2::read::GzDecoder;
use std::io::Read;

/// The wire type of what has a length.
const DELIMITED: u64 = 2;

/// The number of the field that a message begins with, and the length of its header. `None` for an empty message.
pub(super) fn first_field(message: &[u8]) -> Option<(i32, usize)> {
    let (tag, rest) = varint(message)?;
    let (_, rest) = varint(rest)?;
    Some((
        i32::try_from(tag >> 3).ok()?,
        message.len().saturating_sub(rest.len()),
    ))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

/// The struct that has this message as field 1.
pub(crate) fn as_field(message: &[u8]) -> Bytes {
    field(1, message)
}

/// The struct that has this message as its only field.
fn field(number: u64, message: &[u8]) -> Bytes {
    let mut field = Vec::with_capacity(message.len() + 20);
    for mut left in [number << 3 | DELIMITED, message.len() as u64] {
        while left >= 0x80 {
            field.push(left as u8 | 0x80);
            left >>= 7;
        }
        field.push(left as u8);
    }
    field.extend_from_slice(message);
    field.into()
}

/// Parameters as a message with its prefix.
pub(crate) fn frame(
    params: &impl Encode,
    messages: bool,
    limits: Limits,
) -> Result<Bytes, EncodeError> {
    let mut out = vec![0; PREFIX];
    Encoding::Protobuf.encode(params, &mut out, limits)?;
    framed(out, messages)
}

/// The message that stands behind room for a prefix, with that prefix; or the value of its field 1.
pub(super) fn framed(mut out: Vec<u8>, messages: bool) -> Result<Bytes, EncodeError> {
    let length = out.len();
    let from = place_prefix(&mut out, messages).ok_or(EncodeError::TooLong { length })?;
    Ok(Bytes::from(out).slice(from..))
}

/// The reply that has this message as its result.
pub(crate) fn reply_of(message: Bytes, method: Option<&Method>) -> Bytes {
    match method.is_some_and(|method| method.messages) {
        true => as_field(&message),
        false => message,
    }
}

/// The reply that is a declared exception of this method, found among the details of a failure by its name.
pub(crate) fn exception_field(method: &Method, details: &[Any]) -> Option<Bytes> {
    let exceptions = method.exceptions();
    details.iter().find_map(|detail| {
        let name = detail.type_name.rsplit(['/', '.']).next();
        let (id, _) = exceptions.iter().find(|(_, known)| name == Some(*known))?;
        // One more than the id, as in all replies.
        Some(field(u64::try_from(*id).ok()? + 1, &detail.value))
    })
}

/// Writes the prefix, and says where; `None` where the message is too long for one.
fn place_prefix(out: &mut [u8], messages: bool) -> Option<usize> {
    let message = out.get(PREFIX..)?;
    let from = match messages {
        true => first_field(message).map_or(0, |(_, header)| header),
        false => 0,
    };
    let length = prefix(message.len().saturating_sub(from))?;
    out.get_mut(from..from + PREFIX)?.copy_from_slice(&length);
    Some(from)
}

/// The message of a frame, decompressed where it is compressed; `coding` is what the headers say of that.
pub(crate) fn plain(frame: Frame, coding: Option<&[u8]>, most: usize) -> Result<Bytes, Status> {
    match (frame.compressed, coding) {
        (false, _) => Ok(frame.message),
        (true, Some(b"gzip")) => gunzip(&frame.message, most),
        (true, None | Some(b"identity")) => {
            let what = "a compressed message, without `grpc-encoding`";
            Err(refused(Code::Internal, what.to_owned()))
        }
        (true, Some(other)) => {
            let other = String::from_utf8_lossy(other);
            let what = format!("a message in `{other}`; gzip is known");
            Err(refused(Code::Unimplemented, what))
        }
    }
}

/// Never makes more than is allowed, and one byte.
fn gunzip(message: &[u8], most: usize) -> Result<Bytes, Status> {
    let mut plain = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = GzDecoder::new(message).take(limit).read_to_end(&mut plain);
    match read {
        Ok(length) if length <= most => Ok(plain.into()),
        Ok(_) => {
            let what = format!("a message of more than {most} bytes, decompressed");
            Err(refused(Code::ResourceExhausted, what))
        }
        Err(error) => Err(refused(
            Code::Internal,
            format!("a message that gzip did not make: {error}"),
        )),
    }
}

#[cold]
fn refused(code: Code, what: String) -> Status {
    Status::new(code, what).with_execution(Execution::NotStarted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn field_1_is_put_around_and_taken_away() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 300_000] {
            let message = vec![7; length];
            let field = as_field(&message);
            let (number, header) = first_field(&field).unwrap();
            assert_eq!((number, &field[header..]), (1, &message[..]));
            let sent = [&prefix(length).unwrap()[..], &message].concat();
            let out = [&[9; PREFIX], &field[..]].concat();
            assert_eq!(framed(out, true).unwrap(), sent);
            let out = [&[9; PREFIX], &message[..]].concat();
            assert_eq!(framed(out, false).unwrap(), sent);
        }
        assert_eq!(first_field(b""), None);
        assert_eq!(first_field(&[0xff; 20]), None);
        assert!(framed(vec![0; 4], true).is_err());
    }

    #[test]
    fn decompression_has_a_limit() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[7; 1000]).unwrap();
        let message = Bytes::from(encoder.finish().unwrap());
        let check = |compressed, message: &Bytes, coding: Option<&'static str>, most| {
            let message = message.clone();
            let frame = Frame {
                compressed,
                message,
            };
            let plain = plain(frame, coding.map(str::as_bytes), most);
            plain.map(|plain| plain.len()).map_err(|e| e.code())
        };
        let cut = message.slice(..message.len() - 9);
        for (compressed, message, coding, most, outcome) in [
            (true, &message, Some("gzip"), 1000, Ok(1000)),
            (
                true,
                &message,
                Some("gzip"),
                999,
                Err(Code::ResourceExhausted),
            ),
            (true, &cut, Some("gzip"), 1000, Err(Code::Internal)),
            (true, &message, Some("br"), 1000, Err(Code::Unimplemented)),
            (true, &message, None, 1000, Err(Code::Internal)),
            (true, &message, Some("identity"), 1000, Err(Code::Internal)),
            (false, &message, Some("gzip"), 1000, Ok(message.len())),
        ] {
            assert_eq!(check(compressed, message, coding, most), outcome);
        }
    }
}
