//! Dovetail's encoding for ends whose contracts may differ: every field with its id and type.
//! `docs/spec/encoding.md` is its specification.
//!
//! ```
//! use dovetail_wire::{message, tagged};
//!
//! #[derive(Debug, Default, PartialEq)]
//! struct Point {
//!     x: i16,
//!     y: Option<i16>,
//! }
//!
//! message!(Point {
//!     1 x: i16,
//!     2 y: Option<i16>,
//! });
//!
//! let bytes = tagged::to_bytes(&Point { x: 7, y: Some(-1) })?;
//! assert_eq!(bytes, [1 << 5 | 3, 14, 1 << 5 | 3, 1, 0]);
//! assert_eq!(tagged::from_bytes::<Point>(&bytes[2..])?, Point { x: -1, y: None });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::{DecodeError, EncodeError, Kind, Limits, Value};

/// The end of a struct, in the place of a field's type.
const STOP: u8 = 0;

/// Bits of a field's header that are its type; those above are the step from the id before.
const TYPE_BITS: u8 = 5;

/// Appends a value to a new buffer.
pub fn to_bytes<T: Value>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Limits::default());
    value.write(&mut writer)?;
    writer.finish()?;
    Ok(out)
}

/// Reads a value that takes the whole input, under the default [`Limits`].
pub fn from_bytes<T: Value>(input: &[u8]) -> Result<T, DecodeError> {
    let mut value = T::default();
    let mut reader = Reader::new(input, Limits::default());
    value.read(&mut reader)?;
    reader.finish()?;
    crate::encoding::finish(reader.position(), input.len())?;
    Ok(value)
}

/// The number of a type on the wire and in descriptions.
pub(crate) const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 1,
        Kind::I8 => 2,
        Kind::I16 => 3,
        Kind::I32 => 4,
        Kind::I64 => 5,
        Kind::U8 => 6,
        Kind::U16 => 7,
        Kind::U32 => 8,
        Kind::U64 => 9,
        Kind::F32 => 10,
        Kind::F64 => 11,
        Kind::String => 12,
        Kind::Bytes => 13,
        Kind::Uuid => 14,
        Kind::Enum => 15,
        Kind::Struct => 16,
        Kind::List => 17,
        Kind::Set => 18,
        Kind::Map => 19,
        Kind::Object => 20,
    }
}

/// The type with this number.
pub(crate) const fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        1 => Kind::Bool,
        2 => Kind::I8,
        3 => Kind::I16,
        4 => Kind::I32,
        5 => Kind::I64,
        6 => Kind::U8,
        7 => Kind::U16,
        8 => Kind::U32,
        9 => Kind::U64,
        10 => Kind::F32,
        11 => Kind::F64,
        12 => Kind::String,
        13 => Kind::Bytes,
        14 => Kind::Uuid,
        15 => Kind::Enum,
        16 => Kind::Struct,
        17 => Kind::List,
        18 => Kind::Set,
        19 => Kind::Map,
        20 => Kind::Object,
        _ => return None,
    })
}

/// The fewest bytes that a value of this kind takes.
const fn least_size(kind: Kind) -> usize {
    match kind {
        Kind::F32 => 4,
        Kind::F64 => 8,
        Kind::Uuid => 16,
        _ => 1,
    }
}
