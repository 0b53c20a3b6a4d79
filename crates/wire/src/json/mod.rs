//! Plain JSON: structs as objects keyed by name, as protobuf's JSON mapping has them
//! (<https://protobuf.dev/programming-guides/json/>).
//!
//! Names are written in `lowerCamelCase`, and read in that and in the contract's own spelling.
//! Integers of 64 bits are written as text, since most readers have no more than 53 bits for a
//! number. What a type can look like is in `docs/encodings.md`.
//!
//! ```
//! use dovetail_wire::{json, message};
//!
//! #[derive(Debug, Default, PartialEq)]
//! struct Point {
//!     pos_x: i32,
//!     id: Option<i64>,
//! }
//!
//! message!(Point { 1 pos_x: i32, 2 id: Option<i64>, });
//!
//! let point = Point { pos_x: -1, id: Some(7) };
//! assert_eq!(json::to_bytes(&point)?, br#"{"posX":-1,"id":"7"}"#);
//! assert_eq!(json::from_bytes::<Point>(br#" {"id": 7, "pos_x": -1.0, "z": [null]} "#)?, point);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any;
pub(crate) mod lexer;
mod mask;
mod number;
mod place;
mod reader;
pub(crate) mod text;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::reserved::{AGAIN, NODE, TYPE};
use crate::{DecodeError, EncodeError, Limits, Value};

/// Members of an object that are no fields: which struct it is, which node it is, and which node
/// stands here again.
const RESERVED: [(i32, &str); 3] = [(TYPE, "#type"), (NODE, "#node"), (AGAIN, "#ref")];

/// The name of the result in the reply to a call, as gRPC's message for it has it.
const RESULT: &str = "result";

/// Quotes a string.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    text::quote(text, out);
}

/// Appends a value to a new buffer.
pub fn to_bytes<T: Value>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    value.write(&mut Writer::new(&mut out, Limits::default()))?;
    Ok(out)
}

/// Reads a value that, with white space around it, takes the whole input, under the default
/// [`Limits`].
pub fn from_bytes<T: Value>(input: &[u8]) -> Result<T, DecodeError> {
    let mut value = T::default();
    let mut reader = Reader::new(input, Limits::default());
    value.read(&mut reader)?;
    crate::encoding::finish(reader.position(), input.len())?;
    Ok(value)
}

/// A name of a contract in `lowerCamelCase`, as protobuf's compiler makes it: a letter behind `_`
/// is large, and `_` is left out. The name of an extension, which is in brackets, stays.
pub fn camel_case(name: &str) -> impl Iterator<Item = char> {
    let mut raised = false;
    let stays = name.starts_with('[');
    name.chars().filter_map(move |letter| match letter {
        _ if stays => Some(letter),
        '_' => {
            raised = true;
            None
        }
        letter if std::mem::take(&mut raised) => Some(letter.to_ascii_uppercase()),
        letter => Some(letter),
    })
}
