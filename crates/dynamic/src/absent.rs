//! Values for fields that were not sent, where the encoding leaves out zeros: the fields are there
//! all the same, as in generated code. Others that get the value on, over another wire, could not
//! tell.

use crate::contract::Table;
use crate::json::array;
use crate::{Contract, Struct, Value};
use dovetail_schema::{self as schema, Presence, Type, TypeKind};
use dovetail_wire::{Any, Budget, DecodeError, Uuid};

/// Gives the fields that are always sent, and have not come, the contract's default, or zero.
/// Structs stay absent, and so does what has a default that takes memory.
pub(crate) fn fill(
    contract: &Contract<'_>,
    table: &Table<'_>,
    value: &mut Struct,
    budget: &mut Budget,
) -> Result<(), DecodeError> {
    for field in &table.fields {
        // An empty container leaves no trace, even where the field is required.
        let is_container = matches!(
            contract.schema().resolve(&field.ty),
            Type::List(_) | Type::Set(_) | Type::Map(..)
        );
        let always = match field.presence {
            Presence::Default => true,
            Presence::Required => is_container,
            _ => false,
        };
        if !always || value.get(field.id).is_some() {
            continue;
        }
        let filled = match &field.default {
            Some(schema::Value::Bool(flag)) => Some(Value::Bool(*flag)),
            Some(schema::Value::Enum(_, number)) => Some(Value::Enum(*number)),
            Some(schema::Value::Int(number)) => integer(contract, &field.ty, *number),
            Some(schema::Value::Double(number)) => Some(Value::Float(*number)),
            Some(_) => None,
            None if is_array(contract, &field.ty) => None,
            None => zero(contract, &field.ty).or_else(|| first(contract, &field.ty)),
        };
        if let Some(Value::Any(_)) = filled {
            budget.block(size_of::<Any>())?;
        }
        if let Some(filled) = filled {
            value.put(field.id, filled, budget)?;
        }
    }
    Ok(())
}

fn is_array(contract: &Contract<'_>, ty: &Type) -> bool {
    matches!(contract.schema().resolve(ty), Type::Array(..))
}

fn integer(contract: &Contract<'_>, ty: &Type, number: i128) -> Option<Value> {
    Some(match contract.schema().resolve(ty) {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::UInt(number.try_into().ok()?),
        Type::F32 | Type::F64 => Value::Float(number as f64),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Int(number.try_into().ok()?),
        _ => return None,
    })
}

/// The value of an enum that is zero, where it has one.
fn first(contract: &Contract<'_>, ty: &Type) -> Option<Value> {
    let Type::Named(id) = contract.schema().resolve(ty) else {
        return None;
    };
    match &contract.schema()[*id].kind {
        TypeKind::Enum(def) => {
            let zero = def.values.iter().any(|value| value.number == 0);
            zero.then_some(Value::Enum(0))
        }
        _ => None,
    }
}

/// The result of a method that nobody has sent.
pub(crate) fn result(contract: &Contract<'_>, ty: &Type) -> Option<Value> {
    let value = zero(contract, ty).or_else(|| first(contract, ty));
    value.or_else(|| match contract.schema().resolve(ty) {
        Type::Named(id) => contract.table(*id).map(|_| Value::Struct(Struct::new())),
        _ => None,
    })
}

/// Returns the zero of a number, text or container; `None` for structs, enums and objects.
pub(crate) fn zero(contract: &Contract<'_>, ty: &Type) -> Option<Value> {
    Some(match contract.schema().resolve(ty) {
        Type::Bool => Value::Bool(false),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Int(0),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::UInt(0),
        Type::F32 | Type::F64 => Value::Float(0.0),
        Type::String => Value::String(String::new()),
        Type::Bytes => Value::Bytes(Default::default()),
        Type::Uuid => Value::Uuid(Uuid::nil()),
        Type::List(_) | Type::Set(_) => Value::List(Vec::new()),
        Type::Map(..) => Value::Map(Vec::new()),
        Type::Timestamp { offset: false } => Value::Timestamp(Default::default()),
        Type::Timestamp { offset: true } => Value::TimestampTz(Default::default()),
        Type::Date => Value::Date(Default::default()),
        Type::Duration => Value::Duration(Default::default()),
        Type::Decimal => Value::Decimal(Default::default()),
        Type::Any => Value::Any(Default::default()),
        Type::Dynamic => Value::Dynamic(Default::default()),
        Type::Array(item, dimensions) => return array::zero(contract, (item, dimensions)),
        Type::Named(_) | Type::Object(_) => return None,
    })
}
