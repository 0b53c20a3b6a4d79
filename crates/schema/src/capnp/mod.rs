//! Contracts in the words of Cap'n Proto (<https://capnproto.org/language.html>): the annotations
//! that its front end leaves in a schema, and [the places](layout) of fields in a struct of its
//! encoding.

mod holes;
mod interface;
mod layout;
mod layouts;
mod space;

pub use interface::interface;
pub use layout::{FieldLayout, GroupLayout, Slot, StructLayout, Tag, layout, parameters};
pub use layouts::{LayoutWriter, Unplaced};

use crate::TypeDef;

/// Holds the id of a package, a type or a service, as `0x…`.
pub const ID: &str = "capnp.id";

/// Marks a struct that is a group. It has no pointer of its own; its fields stand among those of
/// the struct around it.
pub const GROUP: &str = "capnp.group";

/// Holds the ordinal of a union's tag, which unions had in early versions of the language.
pub const TAG: &str = "capnp.tag";

/// Marks a field, or a method's result, whose bytes are a pointer to anything (`AnyPointer`).
pub const ANY: &str = "capnp.any";

/// Marks a method whose one parameter is the struct of parameters.
pub const PARAMS: &str = "capnp.params";

/// Marks a method whose result is the struct of results.
pub const RESULTS: &str = "capnp.results";

/// Holds the name of a method's one result.
pub const RESULT: &str = "capnp.result";

/// Marks a method of which a caller may have several calls under way, and is told when to wait
/// (`-> stream`).
pub const STREAM: &str = "capnp.stream";

/// Holds the interface that a method comes from, and its ordinal there, as `0x….3`. A service
/// extends one other service; the methods of further ones are its own.
pub const INHERITED: &str = "capnp.inherited";

/// The text of `dovetail/types.capnp`, which defines types of other languages. A contract that uses
/// it needs the file beside it.
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
