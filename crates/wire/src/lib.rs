//! Bytes to values and back.
//!
//! A type implements [`Message`] once, for every encoding: it says which fields it has and walks
//! them past a [`Writer`] or fills them from a [`Reader`]. An encoding is a `Writer` and a
//! `Reader`; the type and the encoding meet by monomorphization, or through `dyn` where code size
//! counts more than speed.
//!
//! ```text
//!   generated type ── Message ──┐            ┌── tagless, tagged  ┐
//!   primitive, container ─ Value ┼─ Writer ──┼── thrift::binary   ├── Vec<u8> / Bytes
//!   dynamic value ───────────────┘  Reader   ├── thrift::compact  │
//!                                            ├── thrift::json     │
//!                                            ├── protobuf         │
//!                                            ├── json             │
//!                                            └── msgpack          ┘
//! ```
//!
//! Nothing in this crate does I/O, reads a clock, or panics on input. Every decoder works under
//! [`Limits`]: nesting depth, and bytes allocated for the values that it makes.
#![deny(unsafe_code)]

mod any;
mod any_types;
mod array;
mod blobs;
#[cfg(feature = "time")]
mod carrier;
mod containers;
#[cfg(feature = "decimal")]
mod decimal;
mod depth;
mod dynamic;
mod encoding;
mod error;
mod family;
mod field;
mod field_value;
mod grow;
mod input;
mod limits;
mod macros;
mod message;
mod names;
mod object;
mod oneof;
mod params;
mod plain;
mod positional;
mod reader;
mod reference;
mod row;
mod stack;
mod text;
#[cfg(feature = "time")]
mod time;
mod unknown;
mod value;
mod varint;
mod visible;
mod writer;

pub mod capnp;
pub mod description;
pub mod json;
pub mod layout;
pub mod msgpack;
pub mod protobuf;
mod required;
pub mod reserved;
#[doc(hidden)]
pub mod spelling;
pub mod tagged;
pub mod tagless;
pub mod thrift;

pub use any::{Any, UnpackError};
pub use any_types::{AnyType, AnyTypes, UNREADABLE};
pub use array::{Array, Fixed, Free, LongArray, Shape, WrongShape};
#[doc(hidden)]
pub use array::{check_shape, read_array, write_array, wrong_count};
pub use blobs::{Blobs, Out, Piece};
pub use bytes::Bytes;
#[cfg(feature = "compact-strings")]
pub use compact_str::CompactString;
#[cfg(feature = "decimal")]
pub use decimal::{Decimal, parse_decimal};
pub use dynamic::{Dynamic, DynamicList, DynamicMap, NullValue};
pub use encoding::{Codec, Decode, Encode, Encoding};
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use family::Node;
#[doc(hidden)]
pub use family::{Member, check_distinct, write_place, write_type};
pub use field::{Field, Form, IntFormat, Kind};
pub use field_value::FieldValue;
pub use grow::{Grow, block};
pub use limits::{Budget, Limits};
pub use message::{Message, SeenFields, read_message, read_rest, write_message};
pub use names::Names;
#[doc(hidden)]
pub use names::{EnumNames, Null};
pub use object::{Numbers, ObjectNumbers, WithObjects};
pub use oneof::{Case, Oneof};
pub use ordered_float::OrderedFloat;
pub use params::{Argument, Params, ReadParams, Received, WriteParams};
#[doc(hidden)]
pub use plain::{Plain, read_plain_field, write_plain_field};
pub use positional::{Presence, Present, presence_size};
#[doc(hidden)]
pub use positional::{place, read_place};
pub use reader::{Cursor, NextField, Reader, Sequence};
pub use reference::{
    NODE_MEMORY, Numbered, ReadNodes, Ref, Reference, WrittenNodes, read_reference, write_reference,
};
#[doc(hidden)]
pub use reference::{read_required, write_required};
pub use required::Required;
pub use reserved::Begun;
pub use row::Row;
#[cfg(feature = "time")]
pub use time::{Date, Offset, SignedDuration, Timestamp, TimestampTz};
pub use unknown::{UnknownFields, UnknownValue};
pub use uuid::Uuid;
pub use value::Value;
pub use visible::{Visible, is_hidden, visible, visible_json};
pub use writer::Writer;
