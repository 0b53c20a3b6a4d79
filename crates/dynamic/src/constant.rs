//! Values as a contract writes them down.

use crate::{Contract, MAX_DEPTH, Value};
use dovetail_schema::{self as schema, Type};
use dovetail_wire::{SignedDuration, Timestamp};

/// A value as a constant of a contract; `None` for one of a type that has no constants, for a
/// struct, and for one without end.
pub fn to_constant(contract: &Contract<'_>, ty: &Type, value: &Value) -> Option<schema::Value> {
    constant(contract, ty, value, MAX_DEPTH)
}

fn constant(
    contract: &Contract<'_>,
    ty: &Type,
    value: &Value,
    left: usize,
) -> Option<schema::Value> {
    let left = left.checked_sub(1)?;
    let all = |ty: &Type, items: &[Value]| {
        let items = items.iter().map(|item| constant(contract, ty, item, left));
        items.collect::<Option<Vec<_>>>().map(schema::Value::List)
    };
    Some(match (contract.schema().resolve(ty), value) {
        (_, Value::Bool(truth)) => schema::Value::Bool(*truth),
        (_, Value::Int(number)) => schema::Value::Int((*number).into()),
        (_, Value::UInt(number)) => schema::Value::Int((*number).into()),
        (_, Value::Float(number)) => schema::Value::Double(*number),
        (_, Value::String(text)) => schema::Value::String(text.clone()),
        (_, Value::Bytes(bytes)) => schema::Value::Bytes(bytes.to_vec()),
        (_, Value::Uuid(uuid)) => schema::Value::Uuid(uuid.into_bytes()),
        (Type::Named(id), Value::Enum(number)) => schema::Value::Enum(*id, *number),
        (_, Value::Timestamp(at)) => {
            let at = Timestamp::try_from(*at).ok()?;
            schema::Value::String(at.to_string())
        }
        (_, Value::Date(day)) => schema::Value::String(day.to_string()),
        (_, Value::Duration(span)) => {
            let span = SignedDuration::try_from(*span).ok()?;
            schema::Value::String(span.to_string())
        }
        (_, Value::Decimal(number)) => schema::Value::String(number.to_string()),
        (Type::List(item) | Type::Set(item), Value::List(items)) => all(item, items)?,
        (Type::Map(key, item), Value::Map(entries)) => {
            let entry = |(k, v): &(Value, Value)| {
                let key = constant(contract, key, k, left)?;
                Some((key, constant(contract, item, v, left)?))
            };
            schema::Value::Map(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
