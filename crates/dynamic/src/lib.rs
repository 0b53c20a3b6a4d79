//! Values whose type is only known at run time.
//!
//! A [`Contract`] is a schema with the tables that encodings ask for. With it, a [`Value`] of any
//! type of the schema can be
//! - encoded and decoded in every encoding, through the same visitor as generated code ([`Typed`],
//!   [`TypedSlot`]), as the parameters of a call ([`Params`], [`ParamsSlot`]) and as its reply
//!   ([`ReplyBody`], [`ReplySlot`]);
//! - turned into human-readable JSON and back ([`to_json`], [`from_json`]), with errors that name
//!   the place;
//! - written in protobuf's text format and read from it ([`to_text`], [`from_text`]);
//! - made up ([`Plausible`]), for a server that has a contract and no handler.
//!
//! Nothing here does I/O or reads a clock, and every recursion is bounded by [`MAX_DEPTH`].
#![forbid(unsafe_code)]

mod absent;
mod any;
mod array;
mod call;
pub mod capnp;
mod codec;
mod constant;
mod contract;
mod describe;
mod described;
mod duplicates;
mod identity;
mod json;
mod names;
mod plausible;
mod positional;
mod text;
mod value;

pub use call::{Params, ParamsSlot, Reply, ReplyBody, ReplyFields, ReplySlot};
pub use codec::{Typed, TypedSlot};
pub use constant::to_constant;
pub use contract::{Contract, Table};
pub use described::{Described, Indescribable};
pub use dovetail_schema::{type_name, type_name_in};
pub use json::{
    JsonError, arguments_from_json, arguments_to_json, arguments_to_log, from_json, to_json, to_log,
};
pub use names::closest;
pub use plausible::Plausible;
pub use text::{TextError, UnknownText, from_text, to_text};
pub use value::{Struct, Value};

/// Structs and containers inside one another, at most: the same as the default limit of the wire.
pub const MAX_DEPTH: usize = 64;
