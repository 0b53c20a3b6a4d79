//! Messages as dynamic values, by the contracts of the suite.

use crate::{Failure, Format, Task};
use dovetail_build::FileLoader;
use dovetail_dynamic::{Contract, Typed, TypedSlot, Value, from_text, to_text};
use dovetail_schema::{Schema, Type};
use std::error::Error;

/// The file that imports all files of the suite.
const ALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/all.proto");

/// Reads the files of the suite.
pub(crate) fn schema(folder: &str) -> Result<Schema, Box<dyn Error>> {
    let compiled = dovetail_idl::compile(ALL, &FileLoader::new().include_dir(folder));
    let errors = compiled.render(false);
    compiled.schema.ok_or_else(|| errors.into())
}

/// Reads a message and writes it again.
pub(crate) fn convert(contract: &Contract<'_>, task: &Task<'_>) -> Result<Vec<u8>, Failure> {
    let id = contract.schema().find_type(task.message_type);
    let ty = Type::Named(id.ok_or(Failure::Unknown)?);
    let value = read(contract, &ty, task)?;
    if task.to == Format::Text {
        let text = to_text(contract, &ty, &value, task.unknown);
        let text = text.map_err(|problem| Failure::Serialize(problem.to_string()))?;
        return Ok(text.into_bytes());
    }
    task.write(&Typed {
        contract,
        ty: &ty,
        value: &value,
    })
}

fn read(contract: &Contract<'_>, ty: &Type, task: &Task<'_>) -> Result<Value, Failure> {
    if task.from == Format::Text {
        let problem = |problem: &dyn Error| Failure::Parse(problem.to_string());
        let text = std::str::from_utf8(&task.payload).map_err(|error| problem(&error))?;
        return from_text(contract, ty, text, task.limits).map_err(|error| problem(&error));
    }
    let mut slot = TypedSlot {
        contract,
        ty,
        value: None,
    };
    task.read(&mut slot)?;
    slot.value.ok_or(Failure::Unknown)
}
