//! Messages inside [`Any`], whose types the contract may know.

use crate::codec::{self, deeper, too_deep};
use crate::{Contract, Typed, TypedSlot, Value, duplicates};
use dovetail_schema::{JsonForm, Schema, Type, TypeId, TypeKind};
use dovetail_wire::{
    Any, AnyTypes, Bytes, Decode, DecodeError, Encode, EncodeError, Encoding, Limits, Reader,
    UNREADABLE, Writer,
};

/// The struct of the contract that an [`Any`] names: by `name`, by `package.name`, or by a name
/// that only one of all files has.
pub(crate) fn find(schema: &Schema, name: &str) -> Option<TypeId> {
    let structs = |id: &TypeId| matches!(schema[*id].kind, TypeKind::Struct(_));
    let anywhere = || {
        let mut ids = (0..schema.types.len() as u32).map(TypeId);
        let named = |id: &TypeId| schema[*id].name == name && structs(id);
        ids.find(named).filter(|_| ids.find(named).is_none())
    };
    schema.find_type(name).filter(structs).or_else(anywhere)
}

/// The types of a contract, so far as an [`Any`] can name them: `left` levels deep.
pub(crate) struct Types<'a>(pub(crate) &'a Contract<'a>, pub(crate) usize);

/// Finds the type that a name of protobuf stands for: a message of the contract, or a type that
/// every contract has.
pub(crate) fn named(schema: &Schema, name: &str) -> Option<Type> {
    let well_known = match name.strip_prefix("google.protobuf.") {
        Some("Timestamp") => Some(Type::Timestamp { offset: false }),
        Some("Duration") => Some(Type::Duration),
        Some("Any") => Some(Type::Any),
        Some("Value") => Some(Type::Dynamic),
        _ => None,
    };
    let of_protobuf = |id: &TypeId| schema[schema[*id].package].messages;
    well_known.or_else(|| find(schema, name).filter(of_protobuf).map(Type::Named))
}

impl AnyTypes for Types<'_> {
    fn has_own_form(&self, name: &str) -> Option<bool> {
        let schema = self.0.schema();
        Some(match named(schema, name)? {
            Type::Named(id) => schema.json_form(id) != JsonForm::Fields,
            _ => true,
        })
    }

    fn to_json(&self, any: &Any, limits: Limits) -> Result<Vec<u8>, EncodeError> {
        let Types(contract, left) = *self;
        let left = deeper(left)?;
        let ty = named(contract.schema(), any.name()).ok_or(UNREADABLE)?;
        let mut slot = Nested {
            contract,
            ty: &ty,
            value: None,
            left,
        };
        let encoding = any.encoding().ok_or(UNREADABLE)?;
        encoding
            .decode(&mut slot, &any.value, limits)
            .map_err(|_| UNREADABLE)?;
        let mut out = Vec::new();
        Encoding::Json.encode(&slot, &mut out, limits)?;
        Ok(out)
    }

    fn to_protobuf(&self, name: &str, json: Bytes, limits: Limits) -> Result<Vec<u8>, DecodeError> {
        let Types(contract, left) = *self;
        let left = left.checked_sub(1).ok_or_else(too_deep)?;
        let ty = named(contract.schema(), name);
        let ty = ty.ok_or_else(|| DecodeError::malformed("an any of an unknown type"))?;
        let mut slot = Nested {
            contract,
            ty: &ty,
            value: None,
            left,
        };
        Encoding::Json.decode(&mut slot, &json, limits)?;
        let mut out = Vec::new();
        let written = Encoding::Protobuf.encode(&slot, &mut out, limits);
        written.map_err(|error| DecodeError::malformed(error.to_string()))?;
        Ok(out)
    }
}

/// A message inside another one.
struct Nested<'a> {
    contract: &'a Contract<'a>,
    ty: &'a Type,
    value: Option<Value>,
    left: usize,
}

impl Encode for Nested<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        let value = self.value.as_ref().ok_or(UNREADABLE)?;
        codec::write(self.contract, self.ty, value, writer, self.left)
    }
}

impl Decode for Nested<'_> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let mut value = codec::read(self.contract, self.ty, None, reader, self.left)?;
        duplicates::remove_in(&mut value, reader.budget())?;
        self.value = Some(value);
        Ok(())
    }
}

/// The message with its type, where the contract knows it, the end that packed it does not
/// contradict, and the message is one.
pub(crate) fn unpack(contract: &Contract<'_>, any: &Any) -> Option<(Type, Value)> {
    let ty = Type::Named(find(contract.schema(), any.name())?);
    let ours = any.contract.as_ref().and(contract.describe_type(&ty));
    any.compare_contract(ours.as_deref()).ok()?;
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
    let known = Any::ENCODINGS.get(encoding)?;
    let bytes = known.to_bytes(&typed).ok()?;
    let description = match known {
        Encoding::Protobuf => None,
        _ => contract.describe_type(typed.ty),
    };
    Some(Any {
        type_name: type_name.to_owned(),
        value: bytes.into(),
        encoding: encoding as i32,
        contract: description.map(Into::into),
    })
}

/// The number of the encoding with this name.
pub(crate) fn encoding(name: &str) -> Option<usize> {
    let mut known = Any::ENCODINGS
        .iter()
        .map(|encoding: &Encoding| encoding.name());
    known.position(|known| known == name)
}
