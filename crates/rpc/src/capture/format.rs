//! The file of a capture; `docs/spec/capture.md` has the format.

use super::CaptureFilter;
use crate::peer::intercept::Direction;
use crate::reflection::ServiceDescription;
use dovetail_protocol::grpc::{compress_zstd, decompress_zstd};
use dovetail_wire::{Bytes, Message, Value, message, tagged};
use std::io;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"dovetail capture 1\n";

/// The last bytes of a whole file, behind the offset of its summary.
pub(super) const END: &[u8] = b"captured";

/// Bytes of a chunk in front of its content.
pub(super) const HEAD: usize = 10;

/// The most bytes of a chunk before compression.
pub(super) const MOST: usize = 64 << 20;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    Calls = 2,
    Summary = 3,
}

/// The beginning of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureHeader {
    /// When it began, in microseconds since 1970.
    pub began: i64,
    /// The version of Dovetail that wrote it.
    pub version: String,
    /// The services of the server, by which the calls can be read.
    pub services: Vec<ServiceDescription>,
    /// The calls that it keeps.
    pub filter: CaptureFilter,
}

message!(CaptureHeader {
    1 began as "began_us": i64,
    2 version: String,
    3 services: Vec<ServiceDescription>,
    4 filter: CaptureFilter,
});

/// A call of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedCall {
    /// When it began, in microseconds after the beginning of the capture.
    pub began: i64,
    /// The time that it took, in microseconds; until the end of the capture, where it went on.
    pub elapsed: i64,
    /// The service with its package; empty for functions.
    pub service: String,
    /// The method.
    pub method: String,
    /// The wire by which it came.
    pub wire: String,
    /// The caller's address.
    pub peer: String,
    /// The name of the caller's identity; empty without one.
    pub principal: String,
    /// The headers, in the order in which they came. Credentials are left out.
    pub headers: Vec<CapturedHeader>,
    /// The time that it had until its deadline, in microseconds.
    pub deadline: Option<i64>,
    /// The parameters, in the encoding `tagged`: a struct.
    pub parameters: Bytes,
    /// The items of its streams, in the order in which the handler took and gave them.
    pub items: Vec<CapturedItem>,
    /// `OK`, `EXCEPTION`, or the code of a failure; empty where it went on.
    pub code: String,
    /// The message of a failure.
    pub message: String,
    /// The result or the declared exception, in the encoding `tagged`: a struct with one field,
    /// which is 0 for a result.
    pub reply: Bytes,
    /// The exception that has ended the server's stream, likewise.
    pub thrown: Bytes,
    /// The id of its trace, in hexadecimal digits.
    pub trace: String,
    /// Parts that are not there, and why; empty for a whole call.
    pub missing: String,
}

message!(CapturedCall {
    1 began as "began_us": i64,
    2 elapsed as "elapsed_us": i64,
    3 service: String,
    4 method: String,
    5 wire: String,
    6 peer: String,
    7 principal: String,
    8 headers: Vec<CapturedHeader>,
    9 deadline as "deadline_us": Option<i64>,
    10 parameters: Bytes,
    11 items: Vec<CapturedItem>,
    12 code: String,
    13 message: String,
    14 reply: Bytes,
    15 thrown: Bytes,
    16 trace as "trace_id": String,
    17 missing: String,
});

/// A header of a captured call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedHeader {
    /// The name, in small letters.
    pub name: String,
    /// The value.
    pub value: Bytes,
}

message!(CapturedHeader {
    1 name: String,
    2 value: Bytes,
});

/// An item of a captured stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedItem {
    /// When the handler took or gave it, in microseconds after the beginning of the call.
    pub at: i64,
    /// The server has sent it.
    pub sent: bool,
    /// The item, in the encoding `tagged`: a struct with it as the field 0.
    pub item: Bytes,
}

message!(CapturedItem {
    1 at as "at_us": i64,
    2 sent: bool,
    3 item: Bytes,
});

impl CapturedItem {
    /// Returns the end that has sent it.
    pub fn direction(&self) -> Direction {
        match self.sent {
            true => Direction::Sent,
            false => Direction::Received,
        }
    }
}

/// The end of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureSummary {
    /// Calls in the file.
    pub calls: i64,
    /// Calls that the filter would have kept and that are not in the file, because the reader was
    /// too slow.
    pub left_out: i64,
    /// Why the capture ended: `time`, `bytes`, or `server`.
    pub reason: String,
    /// The chunks with calls.
    pub index: Vec<CaptureIndex>,
}

message!(CaptureSummary {
    1 calls: i64,
    2 left_out: i64,
    3 reason: String,
    4 index: Vec<CaptureIndex>,
});

/// A chunk with calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureIndex {
    /// The place of the chunk in the file.
    pub offset: i64,
    /// The calls in it.
    pub calls: i64,
    /// The beginnings of the earliest call, in microseconds after the beginning of the capture.
    pub first: i64,
    /// The latest end of a call, likewise.
    pub last: i64,
}

message!(CaptureIndex {
    1 offset: i64,
    2 calls: i64,
    3 first as "first_us": i64,
    4 last as "last_us": i64,
});

/// Encodes a message.
pub(super) fn encoded<T: Message + Value>(message: &T) -> Vec<u8> {
    // There is nothing in these that an encoding could refuse but their size, which is bounded.
    tagged::to_bytes(message).unwrap_or_default()
}

/// Takes the next call off the content of a chunk, in which each is behind its length.
pub(super) fn next_call(calls: &mut Bytes) -> io::Result<CapturedCall> {
    let length = calls.first_chunk::<4>();
    let length = length.map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let end = length.and_then(|length| length.checked_add(4));
    let end = end.filter(|end| *end <= calls.len());
    let end = end.ok_or_else(|| broken("a call is longer than its chunk"))?;
    let call = calls.split_to(end).split_off(4);
    tagged::from_bytes(&call).map_err(broken)
}

/// Returns a chunk with this content.
pub(super) fn chunk(kind: Kind, content: &[u8]) -> Vec<u8> {
    let packed = compress_zstd(content).filter(|packed| packed.len() < content.len());
    let stored = packed.as_deref().unwrap_or(content);
    let mut chunk = Vec::with_capacity(HEAD + stored.len());
    chunk.push(kind as u8);
    chunk.push(u8::from(packed.is_some()));
    for length in [stored.len(), content.len()] {
        chunk.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    chunk.extend_from_slice(stored);
    chunk
}

/// The head of a chunk.
pub(super) struct Head {
    pub(super) kind: Kind,
    compressed: bool,
    pub(super) stored: usize,
    plain: usize,
}

impl Head {
    pub(super) fn read(bytes: [u8; HEAD]) -> io::Result<Self> {
        let [kind, compressed, a, b, c, d, e, f, g, h] = bytes;
        let length = |bytes| usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX);
        let head = Head {
            kind: match kind {
                1 => Kind::Header,
                2 => Kind::Calls,
                3 => Kind::Summary,
                _ => return Err(broken("a chunk of an unknown kind")),
            },
            compressed: match compressed {
                0 => false,
                1 => true,
                _ => return Err(broken("a chunk with an unknown compression")),
            },
            stored: length([a, b, c, d]),
            plain: length([e, f, g, h]),
        };
        match head.stored <= MOST && head.plain <= MOST {
            true => Ok(head),
            false => Err(broken("a chunk of more than 64 MiB")),
        }
    }

    /// Returns the content of the chunk.
    pub(super) fn content(&self, stored: Vec<u8>) -> io::Result<Bytes> {
        let content = match self.compressed {
            true => decompress_zstd(&stored, self.plain).map_err(broken)?,
            false => stored,
        };
        match content.len() == self.plain {
            true => Ok(content.into()),
            false => Err(broken("a chunk that is not as long as it says")),
        }
    }
}

/// A file that is no capture.
#[cold]
pub(super) fn broken(why: impl ToString) -> io::Error {
    let what = format!("this is no whole capture: {}", why.to_string());
    io::Error::new(io::ErrorKind::InvalidData, what)
}
