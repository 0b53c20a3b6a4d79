//! Messages as dynamic values, by the contracts of the suite.

use crate::{Failure, Task};
use dovetail_build::FileLoader;
use dovetail_dynamic::{Contract, Typed, TypedSlot};
use dovetail_schema::{Schema, Type, TypeId};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

const FILES: [&str; 5] = [
    "test_messages_proto2.proto",
    "test_messages_proto3.proto",
    "test_messages_proto2_editions.proto",
    "test_messages_proto3_editions.proto",
    "test_messages_edition2023.proto",
];

/// The contracts, by the names of their types.
pub(crate) type Contracts<'a> = BTreeMap<String, (std::rc::Rc<Contract<'a>>, TypeId)>;

/// Reads the files of the suite.
pub(crate) fn schemas(folder: &str) -> Result<Vec<Schema>, Box<dyn Error>> {
    let read = |file: &&str| -> Result<Schema, Box<dyn Error>> {
        let path = Path::new(folder).join("google/protobuf").join(file);
        let compiled = dovetail_idl::compile(&path.to_string_lossy(), &FileLoader::default());
        let errors = compiled.render(false);
        compiled.schema.ok_or_else(|| errors.into())
    };
    FILES.iter().map(read).collect()
}

/// All types of the files.
pub(crate) fn contracts(schemas: &[Schema]) -> Contracts<'_> {
    let mut all = Contracts::new();
    for schema in schemas {
        let contract = std::rc::Rc::new(Contract::new(schema));
        for (index, def) in schema.types.iter().enumerate() {
            let name = format!("{}.{}", schema[def.package].name, def.name);
            all.insert(name, (contract.clone(), TypeId(index as u32)));
        }
    }
    all
}

/// Reads a message and writes it again.
pub(crate) fn convert(contracts: &Contracts<'_>, task: &Task<'_>) -> Result<Vec<u8>, Failure> {
    let (contract, id) = contracts.get(task.message_type).ok_or(Failure::Unknown)?;
    let ty = Type::Named(*id);
    let mut slot = TypedSlot {
        contract,
        ty: &ty,
        value: None,
    };
    task.read(&mut slot)?;
    let Some(value) = slot.value else {
        return Err(Failure::Unknown);
    };
    let typed = Typed {
        contract,
        ty: &ty,
        value: &value,
    };
    let mut out = Vec::new();
    let written = task.to.encode(&typed, &mut out, task.limits);
    written.map_err(Failure::Serialize).map(|()| out)
}
