//! Dovetail's encoding for two ends with the same contract: values one after the other, without
//! anything that both know. `docs/spec/encoding.md` is its specification.
//!
//! ```
//! use dovetail_wire::{message, tagless};
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
//! let bytes = tagless::to_bytes(&Point { x: 7, y: Some(-1) })?;
//! assert_eq!(bytes, [0b1, 7, 0, 0xff, 0xff]);
//! assert_eq!(tagless::from_bytes::<Point>(&[0, 7, 0])?, Point { x: 7, y: None });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::{DecodeError, EncodeError, Kind, Limits, Value};

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

/// The fewest bytes that a value of this kind takes; the exact number for those of a fixed size.
#[inline]
const fn wire_size(kind: Kind) -> usize {
    match kind {
        Kind::Bool | Kind::I8 | Kind::U8 => 1,
        Kind::I16 | Kind::U16 => 2,
        Kind::I32 | Kind::U32 | Kind::F32 | Kind::Enum => 4,
        Kind::I64 | Kind::U64 | Kind::F64 => 8,
        Kind::Uuid => 16,
        Kind::String | Kind::Bytes | Kind::Struct => 1,
        Kind::List | Kind::Set | Kind::Map | Kind::Object => 1,
    }
}
