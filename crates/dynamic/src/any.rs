//! Messages inside [`Any`], whose types the contract may know.

use crate::{Contract, Typed, TypedSlot, Value};
use dovetail_schema::{Schema, Type, TypeId, TypeKind};
use dovetail_wire::{Any, Encoding, Limits};

/// The struct of the contract that an [`Any`] names: by `name`, by `package.name`, or by a name that only one
/// of all files has.
pub(crate) fn find(schema: &Schema, name: &str) -> Option<TypeId> {
    let structs = |id: &TypeId| matches!(schema[*id].kind, TypeKind::Struct(_));
    let anywhere = || {
        let mut ids = (0..schema.types.len() as u32).map(TypeId);
        let named = |id: &TypeId| schema[*id].name == name && structs(id);
        ids.find(named).filter(|_| ids.find(named).is_none())
    };
    schema.find_type(name).filter(structs).or_else(anywhere)
}

/// The message with its type, where the contract knows it and the message is one.
pub(crate) fn unpack(contract: &Contract<'_>, any: &Any) -> Option<(Type, Value)> {
    let ty = Type::Named(find(contract.schema(), any.name())?);
    let mut slot = TypedSlot {
        contract,
        ty: &ty,
        value: None,
    };
    let read = any
        .encoding()?
        .decode(&mut slot, &any.value, Limits::default());
    let value = slot.value.filter(|_| read == Ok(any.value.len()))?;
    Some((ty, value))
}

/// A message of the contract under a name. `None` where the encoding cannot carry it.
pub(crate) fn pack(
    contract: &Contract<'_>,
    type_name: &str,
    encoding: usize,
    id: TypeId,
    value: &Value,
) -> Option<Any> {
    let typed = Typed {
        contract,
        ty: &Type::Named(id),
        value,
    };
    let bytes = Any::ENCODINGS.get(encoding)?.to_bytes(&typed).ok()?;
    Some(Any {
        type_name: type_name.to_owned(),
        value: bytes.into(),
        encoding: encoding as i32,
    })
}

/// The number of the encoding with this name.
pub(crate) fn encoding(name: &str) -> Option<usize> {
    let mut known = Any::ENCODINGS
        .iter()
        .map(|encoding: &Encoding| encoding.name());
    known.position(|known| known == name)
}
