//! Structs that extend one another, and references: which struct it is, and which node.

use crate::codec::{MISTYPED, deeper, read_rest, too_deep, write_fields};
use crate::{Contract, Struct, Value, positional};
use dovetail_schema::{Type, TypeId};
use dovetail_wire::{
    Begun, DecodeError, DecodeErrorKind, EncodeError, Form, NODE_MEMORY, Numbered, Reader,
    Reference, UnknownValue, Writer, block, read_reference, reserved, write_reference, write_type,
};

/// Writes a struct, or one that extends it. `begun` is true for one that has begun already, as a
/// node.
pub(crate) fn write_named<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    id: TypeId,
    value: &Value,
    begun: bool,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    let (member, fields) = match value {
        Value::Struct(fields) => (id, fields),
        Value::Derived(member, fields) => (*member, fields),
        _ => return Err(MISTYPED),
    };
    let place = place(contract, id, member).ok_or(MISTYPED)?;
    let table = contract.table(member).ok_or(MISTYPED)?;
    let left = deeper(left)?;
    if writer.is_positional() {
        if let Some(place) = place {
            writer.begin_union(place)?;
            writer.end_struct()?;
        }
        return positional::write_struct(contract, table, fields, writer, left);
    }
    if !begun {
        writer.begin_message(form(contract, id))?;
    }
    if member != id {
        write_type(&contract.schema()[member].name, writer)?;
    }
    write_fields(contract, table, fields, writer, left)?;
    writer.end_struct()
}

/// The place of a struct in the family of another one, if that has a family; `None` for a stranger.
fn place(contract: &Contract<'_>, id: TypeId, member: TypeId) -> Option<Option<usize>> {
    match contract.family(id) {
        Some(family) => family.iter().position(|known| *known == member).map(Some),
        None => (id == member).then_some(None),
    }
}

/// Writes what a `ref` field leads to, or that it leads to nothing.
pub(crate) fn write_ref<W: Writer + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    value: Option<&Value>,
    writer: &mut W,
    left: usize,
) -> Result<(), EncodeError> {
    let Type::Named(id) = contract.schema().resolve(ty) else {
        return Err(MISTYPED);
    };
    let (numbered, value) = match value {
        None => return write_reference(None, writer),
        Some(Value::Again(label)) => (writer.nodes()?.labelled(*label)?, None),
        Some(Value::Node(label, value)) => (writer.nodes()?.labelled(*label)?, Some(&**value)),
        Some(value) => (Numbered::New(writer.nodes()?.anonymous()?), Some(value)),
    };
    match (numbered, value) {
        (Numbered::New(_), Some(value)) => {
            write_reference(Some(numbered), writer)?;
            let begun = !writer.is_positional();
            write_named(contract, *id, value, begun, writer, left)
        }
        (Numbered::Again(_), None) => write_reference(Some(numbered), writer),
        (Numbered::New(_), None) => Err(EncodeError::Unsupported {
            what: "a reference to a node that does not come before it",
        }),
        (Numbered::Again(_) | Numbered::Later(_), _) => Err(EncodeError::Unsupported {
            what: "two nodes of one number",
        }),
    }
}

/// Returns the form of a struct in JSON.
fn form(contract: &Contract<'_>, id: TypeId) -> Form {
    contract.table(id).map_or(Form::Fields, |table| table.form)
}

/// Reads a struct, or one that extends it. `old` is what the field has so far.
pub(crate) fn read_named<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    id: TypeId,
    old: Option<Value>,
    begun: Option<Begun>,
    reader: &mut R,
    left: usize,
) -> Result<Value, DecodeError> {
    let left = left.checked_sub(1).ok_or_else(too_deep)?;
    if reader.is_positional() {
        let member = read_place(contract, id, reader)?;
        let mut value = Struct::new();
        if let Some(table) = contract.table(member) {
            positional::read_struct(contract, table, &mut value, reader, left)?;
        }
        return Ok(of_member(id, member, value));
    }
    let mut begun = match begun {
        Some(begun) => begun,
        None => {
            reader.begin_message(form(contract, id))?;
            Begun::default()
        }
    };
    let (member, unknown) = read_type(contract, id, &mut begun, reader)?;
    let mut value = match old {
        Some(Value::Struct(old)) if member == id => old,
        Some(Value::Derived(known, old)) if member == known => old,
        _ => Struct::new(),
    };
    if let Some(unknown) = unknown {
        let budget = reader.budget();
        value.unknown_fields.keep(reserved::TYPE, unknown, budget)?;
    }
    if let Some(table) = contract.table(member) {
        read_rest(contract, table, &mut value, begun, reader, left)?;
    }
    Ok(of_member(id, member, value))
}

fn of_member(id: TypeId, member: TypeId, value: Struct) -> Value {
    match member == id {
        true => Value::Struct(value),
        false => Value::Derived(member, value),
    }
}

/// Which struct of a family comes, by its place.
fn read_place<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    id: TypeId,
    reader: &mut R,
) -> Result<TypeId, DecodeError> {
    let Some(family) = contract.family(id) else {
        return Ok(id);
    };
    let place = reader.begin_union()?;
    reader.end_positional()?;
    let none = || DecodeError::malformed("a struct that the family does not have");
    family.get(place).copied().ok_or_else(none)
}

/// Which struct of a family comes, by its name, and the name where it is unknown.
fn read_type<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    id: TypeId,
    begun: &mut Begun,
    reader: &mut R,
) -> Result<(TypeId, Option<UnknownValue>), DecodeError> {
    let (Some(family), Some(table)) = (contract.family(id), contract.table(id)) else {
        return Ok((id, None));
    };
    let value = begun.reserved(reserved::TYPE, table.wire(), reader)?;
    let name = value.as_ref().and_then(UnknownValue::text);
    let known = family
        .iter()
        .find(|member| name == Some(contract.schema()[**member].name.as_str()));
    begun.foreign |= name.is_some() && known.is_none();
    Ok(match known {
        Some(member) => (*member, None),
        None => (id, value),
    })
}

/// Reads what a `ref` field leads to; `None` for nothing.
pub(crate) fn read_ref<'de, R: Reader<'de> + ?Sized>(
    contract: &Contract<'_>,
    ty: &Type,
    reader: &mut R,
    left: usize,
) -> Result<Option<Value>, DecodeError> {
    let Type::Named(id) = contract.schema().resolve(ty) else {
        return Err(DecodeError::malformed("a reference to what is no struct"));
    };
    let fields = contract.table(*id).map_or(&[][..], |table| table.wire());
    match read_reference(fields, reader)? {
        Reference::Null => Ok(None),
        Reference::Again(number) => match reader.nodes()?.get::<TypeId>(number)? == *id {
            true => Ok(Some(Value::Again(number))),
            false => Err(DecodeErrorKind::BadReference {
                number,
                problem: "is of another type",
            }
            .into()),
        },
        // Values that a schema drives hold one another.
        Reference::Later(_) => Err(too_deep()),
        Reference::New { number, begun } => {
            let memory = block(size_of::<Value>()) + NODE_MEMORY;
            reader.budget().allocate(memory)?;
            if let Some(number) = number {
                reader.nodes()?.insert(number, *id)?;
            }
            let value = read_named(contract, *id, None, begun, reader, left)?;
            Ok(Some(match number {
                Some(number) => Value::Node(number, Box::new(value)),
                None => value,
            }))
        }
    }
}
