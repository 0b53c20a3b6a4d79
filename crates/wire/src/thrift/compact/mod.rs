//! Thrift compact: base 128 integers, field ids as differences, a bool inside its field's header.
//!
//! ```
//! use dovetail_wire::thrift::compact;
//!
//! let bytes = compact::to_bytes(&vec![1i16, -1])?;
//! assert_eq!(bytes, [0x24, 2, 1]);
//! assert_eq!(compact::from_bytes::<Vec<i16>>(&bytes)?, [1, -1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::{DecodeError, EncodeError, Field, Kind, Limits, Value};

pub(crate) const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// The type in a container's header, and in a field's, where a bool is `TRUE` or `FALSE` by its
/// value.
#[inline]
const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => TRUE,
        Kind::I8 | Kind::U8 => BYTE,
        Kind::I16 | Kind::U16 => I16,
        Kind::I32 | Kind::U32 | Kind::Enum => I32,
        Kind::I64 | Kind::U64 | Kind::Object => I64,
        Kind::F32 | Kind::F64 => DOUBLE,
        Kind::String | Kind::Bytes => BINARY,
        Kind::Uuid => UUID,
        Kind::Struct => STRUCT,
        Kind::List => LIST,
        Kind::Set => SET,
        Kind::Map => MAP,
    }
}

/// Returns the header of a field after the field `last`, if it is one byte that does not depend on
/// the value.
#[inline]
pub(crate) const fn header(field: &Field<'_>, last: i32) -> Option<u8> {
    match field.kind {
        Kind::Bool => None,
        kind if field.id <= i16::MAX as i32 => short_header(code(kind), field.id, last),
        _ => None,
    }
}

/// Returns a header of one byte, if the id is close enough to the last one.
#[inline]
const fn short_header(code: u8, id: i32, last: i32) -> Option<u8> {
    match id.saturating_sub(last) {
        delta @ 1..=15 => Some((delta as u8) << 4 | code),
        _ => None,
    }
}

fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        TRUE | FALSE => Kind::Bool,
        BYTE => Kind::I8,
        I16 => Kind::I16,
        I32 => Kind::I32,
        I64 => Kind::I64,
        DOUBLE => Kind::F64,
        BINARY => Kind::Bytes,
        UUID => Kind::Uuid,
        STRUCT => Kind::Struct,
        LIST => Kind::List,
        SET => Kind::Set,
        MAP => Kind::Map,
        _ => return None,
    })
}

/// Returns whether a value of this type in a field may be read as the contract's kind.
#[inline]
fn fits(kind: Kind, found: u8) -> bool {
    code(kind) == found || (found == FALSE && matches!(kind, Kind::Bool))
}

/// The fewest bytes that a value of a type takes; the exact number where the second is true.
#[inline]
const fn wire_size(code: u8) -> (usize, bool) {
    match code {
        TRUE | FALSE | BYTE => (1, true),
        DOUBLE => (8, true),
        UUID => (16, true),
        _ => (1, false),
    }
}

/// Appends a value to a new buffer.
pub fn to_bytes<T: Value>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    value.write(&mut Writer::new(&mut out, Limits::default()))?;
    Ok(out)
}

/// Reads a value that takes the whole input, under the default [`Limits`].
pub fn from_bytes<T: Value>(input: &[u8]) -> Result<T, DecodeError> {
    let mut value = T::default();
    let mut reader = Reader::new(input, Limits::default());
    value.read(&mut reader)?;
    crate::encoding::finish(reader.position(), input.len())?;
    Ok(value)
}
