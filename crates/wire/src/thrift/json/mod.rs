//! Thrift JSON: structs as objects keyed by field id, every value with the name of its type.
//!
//! Libraries differ within the format: some pad base64, some put numbers that are map keys into
//! quotes even where they need not, C++ writes `1` where others write `1.0`. All of that is read;
//! what is written is what every library reads. As in Apache's libraries, a struct that is the key
//! of a map is written as it is, which no longer is JSON.
//!
//! ```
//! use dovetail_wire::thrift::json;
//!
//! let bytes = json::to_bytes(&vec![1i16, -1])?;
//! assert_eq!(bytes, br#"["i16",2,1,-1]"#);
//! assert_eq!(json::from_bytes::<Vec<i16>>(br#" [ "i16", 2, 1, -1 ] "#)?, [1, -1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

use crate::{DecodeError, EncodeError, Kind, Limits, Value};
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Writes padding, which every library reads and Go insists on; reads both forms.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The name of a type on the wire.
const fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "tf",
        Kind::I8 | Kind::U8 => "i8",
        Kind::I16 | Kind::U16 => "i16",
        Kind::I32 | Kind::U32 | Kind::Enum => "i32",
        Kind::I64 | Kind::U64 | Kind::Object => "i64",
        Kind::F32 | Kind::F64 => "dbl",
        Kind::String | Kind::Bytes => "str",
        Kind::Uuid => "uid",
        Kind::Struct => "rec",
        Kind::List => "lst",
        Kind::Set => "set",
        Kind::Map => "map",
    }
}

/// The type with this name on the wire.
fn kind(name: &str) -> Result<Kind, DecodeError> {
    Ok(match name {
        "tf" => Kind::Bool,
        "i8" => Kind::I8,
        "i16" => Kind::I16,
        "i32" => Kind::I32,
        "i64" => Kind::I64,
        "dbl" => Kind::F64,
        "str" => Kind::Bytes,
        "uid" => Kind::Uuid,
        "rec" => Kind::Struct,
        "lst" => Kind::List,
        "set" => Kind::Set,
        "map" => Kind::Map,
        _ => {
            let shown: String = name.chars().take(16).collect();
            return Err(DecodeError::malformed(format!(
                "{shown:?} is no type of Thrift JSON"
            )));
        }
    })
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
    crate::encoding::finish(reader.position(), input.trim_ascii_end().len())?;
    Ok(value)
}
