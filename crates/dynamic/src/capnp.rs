//! The layouts that Cap'n Proto's encoding asks for, of a schema.

use dovetail_schema::capnp::LayoutWriter;
pub use dovetail_schema::capnp::Unplaced;
use dovetail_schema::{Schema, TypeId};
use dovetail_wire::capnp::{Layouts, Structs};

/// The layouts of a struct or union, and of all that it reaches.
///
/// # Errors
///
/// The first field that has no form in the encoding: a reference that keeps identity, an object, an
/// array, a struct that extends another one, a value of any type.
pub fn layouts(schema: &Schema, root: TypeId) -> Result<Layouts, Unplaced> {
    let mut writer = LayoutWriter::new(schema);
    let number = writer.structure(root);
    let structs = Structs::parse(&writer.finish()?);
    // Our own bytes can be read.
    Ok(structs.unwrap_or_default().layouts(number))
}
