//! Contracts in the words of Cap'n Proto (<https://capnproto.org/language.html>): the annotations that its front end leaves
//! in a schema, and [the places](layout) of fields in a struct of its encoding.

mod holes;
mod layout;
mod space;

pub use layout::{FieldLayout, GroupLayout, Slot, StructLayout, Tag, layout, parameters};

use crate::TypeDef;

/// Of packages, types and services: their id, as `0x…`.
pub const ID: &str = "capnp.id";

/// Of types: the struct is a group. It has no pointer of its own; its fields stand among those of the struct around it.
pub const GROUP: &str = "capnp.group";

/// Of types: the ordinal of the union's tag, which unions had in early versions of the language.
pub const TAG: &str = "capnp.tag";

/// Of fields and methods: the bytes are a pointer to anything (`AnyPointer`).
pub const ANY: &str = "capnp.any";

/// Of methods: the one parameter is the struct of parameters.
pub const PARAMS: &str = "capnp.params";

/// Of methods: the result is the struct of results.
pub const RESULTS: &str = "capnp.results";

/// Of methods: the name of the one result.
pub const RESULT: &str = "capnp.result";

/// Of methods: a caller may have several calls under way, and is told when to wait (`-> stream`).
pub const STREAM: &str = "capnp.stream";

/// Of methods: the interface that the method comes from, and its ordinal there, as `0x….3`. A service extends one other service;
/// the methods of further ones are its own.
pub const INHERITED: &str = "capnp.inherited";

/// The text of `dovetail/types.capnp`, which defines types of other languages. A contract that uses it needs the file beside it.
pub const TYPES_CAPNP: &str = include_str!("types.capnp");

/// The path of that file.
pub const TYPES_PATH: &str = "dovetail/types.capnp";

/// The oneof of a struct's unnamed union.
pub const UNION: &str = "which";

/// Returns whether the struct is a group.
pub fn is_group(def: &TypeDef) -> bool {
    def.annotations.get(GROUP).is_some()
}

/// The id of the struct that stands for `Void`.
const VOID: &str = "0xfce250f26e75e003";

/// Returns whether the struct stands for `Void`.
pub fn is_void(def: &TypeDef) -> bool {
    def.annotations.get(ID) == Some(VOID)
}
