//! MessagePack, after <https://github.com/msgpack/msgpack/blob/master/spec.md>.
//!
//! A struct is an array: the field with the id *n* is its element *n*, counted from 1, and absent
//! fields are `nil`, or left out at the end. So new fields are added at the end, as everywhere. A
//! struct with a field whose id is not from 1 to 255, or smaller than that of the field before, is
//! a map from id to value; where a struct is expected, maps from field name to value are read too.
//! `docs/encodings.md` has the table of all types.
//!
//! ```
//! use dovetail_wire::{message, msgpack};
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
//! let bytes = msgpack::to_bytes(&Point { x: 7, y: Some(-1) })?;
//! assert_eq!(bytes, [0x92, 7, 0xff]);
//! assert_eq!(msgpack::from_bytes::<Point>(b"\x81\xa1x\x05")?, Point { x: 5, y: None });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod head;
mod reader;
mod writer;

pub use head::{Head, HeadError, put};
pub use reader::Reader;
pub use writer::{Structs, Writer};

use crate::{DecodeError, EncodeError, Limits, Value};

/// The largest field id that is a place in an array: what is sent never has more than so many
/// `nil`s.
const LAST_PLACE: i32 = 255;

/// The type of the only extension that the specification defines.
const TIMESTAMP: i8 = -1;

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
