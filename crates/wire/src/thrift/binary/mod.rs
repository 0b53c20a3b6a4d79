//! Thrift binary: fixed-width, big-endian; every field with its type and id.
//!
//! ```
//! use dovetail_wire::thrift::binary;
//!
//! let bytes = binary::to_bytes(&vec![1i16, -1])?;
//! assert_eq!(bytes, [6, 0, 0, 0, 2, 0, 1, 255, 255]);
//! assert_eq!(binary::from_bytes::<Vec<i16>>(&bytes)?, [1, -1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::{DecodeError, EncodeError, Field, Kind, Limits, Value};

pub(crate) const STOP: u8 = 0;
const BOOL: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 4;
const I16: u8 = 6;
const I32: u8 = 8;
const I64: u8 = 10;
const STRING: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;
const UUID: u8 = 16;

#[inline]
const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => BOOL,
        Kind::I8 | Kind::U8 => BYTE,
        Kind::I16 | Kind::U16 => I16,
        Kind::I32 | Kind::U32 | Kind::Enum => I32,
        Kind::I64 | Kind::U64 | Kind::Object => I64,
        Kind::F32 | Kind::F64 => DOUBLE,
        Kind::String | Kind::Bytes => STRING,
        Kind::Uuid => UUID,
        Kind::Struct => STRUCT,
        Kind::List => LIST,
        Kind::Set => SET,
        Kind::Map => MAP,
    }
}

/// Returns the bytes before a field whose id fits.
#[inline]
pub(crate) const fn header(field: &Field<'_>) -> [u8; 3] {
    let [.., high, low] = field.id.to_be_bytes();
    [code(field.kind), high, low]
}

fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        BOOL => Kind::Bool,
        BYTE => Kind::I8,
        I16 => Kind::I16,
        I32 => Kind::I32,
        I64 => Kind::I64,
        DOUBLE => Kind::F64,
        STRING => Kind::Bytes,
        UUID => Kind::Uuid,
        STRUCT => Kind::Struct,
        LIST => Kind::List,
        SET => Kind::Set,
        MAP => Kind::Map,
        _ => return None,
    })
}

/// The fewest bytes that a value of a type takes; the exact number where the second is true.
#[inline]
const fn wire_size(code: u8) -> (usize, bool) {
    match code {
        BOOL | BYTE => (1, true),
        I16 => (2, true),
        I32 => (4, true),
        I64 | DOUBLE => (8, true),
        UUID => (16, true),
        STRING => (4, false),
        LIST | SET => (5, false),
        MAP => (6, false),
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
