//! Protobuf, through the same visitor as Thrift's encodings.
//!
//! Values that protobuf cannot express directly are messages, as one would write them in a `.proto`
//! file:
//!
//! | here | there |
//! |---|---|
//! | list, set | `repeated`; scalars packed, both forms read |
//! | map | `map`: a repeated entry message with the key as field 1 and the value as field 2, also where the key is of a type that `protoc` refuses |
//! | a container directly in a container, as key or as value | a message with the inner container as field 1 |
//! | a whole value that is no struct | a message with the value as field 1 |
//! | `i8`, `i16` | `int32`; `u8`, `u16` are `uint32` |
//! | uuid | `bytes`, 16 of them |
//! | the reply to a call | a message with the result as field 1, or with a declared exception, whose number is one more than its id |
//!
//! A field that is not an `Option` is always written, zero or not, so that a reader with another
//! default sees it. An empty container leaves no trace: `Some` of one is read as `None`. A field's
//! [`IntFormat`] holds for its integers, for those of a list or set directly in it, and for the
//! values of a map; the keys of a map have one of their own. Elsewhere it is `Varint`.
//!
//! ```
//! use dovetail_wire::{message, protobuf};
//!
//! #[derive(Debug, Default, PartialEq)]
//! struct Test {
//!     a: i32,
//!     b: Vec<i32>,
//! }
//!
//! message!(Test {
//!     1 a: i32,
//!     2 b: Vec<i32> [zigzag],
//! });
//!
//! let bytes = protobuf::to_bytes(&Test { a: 150, b: vec![-1, 1] })?;
//! assert_eq!(bytes, [0x08, 0x96, 0x01, 0x12, 2, 1, 2]);
//! assert_eq!(protobuf::from_bytes::<Test>(&bytes)?.b, [-1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod scan;
#[cfg(feature = "time")]
pub(crate) mod time;
mod writer;

pub use reader::Reader;
#[cfg(feature = "time")]
pub use time::{Duration, OutOfRange, Timestamp};
pub use writer::Writer;

use crate::{DecodeError, EncodeError, IntFormat, Kind, Limits, Value};

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const DELIMITED: u8 = 2;
const GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// The largest field number.
const MAX: i32 = (1 << 29) - 1;

/// The wire type of a value; for containers that of their occurrences.
#[inline]
const fn wire_type(kind: Kind, format: IntFormat) -> u8 {
    // Constants for each kind, and no branch among them: this is asked for every field that is
    // read.
    let (usual, fixed) = match kind {
        Kind::Bool | Kind::Enum | Kind::Object => (VARINT, VARINT),
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::U8 | Kind::U16 | Kind::U32 => (VARINT, FIXED32),
        Kind::I64 | Kind::U64 => (VARINT, FIXED64),
        Kind::F32 => (FIXED32, FIXED32),
        Kind::F64 => (FIXED64, FIXED64),
        Kind::String | Kind::Bytes | Kind::Uuid | Kind::Struct => (DELIMITED, DELIMITED),
        Kind::List | Kind::Set | Kind::Map => (DELIMITED, DELIMITED),
    };
    match format {
        IntFormat::Varint | IntFormat::ZigZag => usual,
        IntFormat::Fixed => fixed,
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
    value.read(&mut Reader::new(input, Limits::default()))?;
    Ok(value)
}
