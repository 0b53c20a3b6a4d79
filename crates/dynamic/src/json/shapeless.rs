//! Values that bring their own shape: `any` and `dynamic`.

use super::JsonError;
use super::input::{self, Result};
use super::output::{self, Context};
use crate::{Contract, any};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use dovetail_schema::Type;
use dovetail_wire::{Any, Bytes, Dynamic};
use serde_json::{Map, Value as Json, json};

/// The names of members that are not fields of the message.
const TYPE: &str = "@type";
const ENCODING: &str = "@encoding";
const VALUE: &str = "@value";
const CONTRACT: &str = "@contract";

/// A message of a type that the contract has is shown with its fields, any other one as base64.
pub(super) fn any_to_json(cx: &Context<'_>, value: &Any, left: usize) -> Json {
    let mut object = Map::new();
    object.insert(TYPE.to_owned(), json!(value.type_name));
    let encoding = value.encoding().map(|encoding| json!(encoding.name()));
    let encoding = encoding.unwrap_or_else(|| json!(value.encoding));
    object.insert(ENCODING.to_owned(), encoding);
    let fields = any::unpack(cx.contract, value)
        .map(|(ty, value)| output::convert(&cx.inside(&value), &ty, &value, left));
    match fields {
        Some(Json::Object(fields)) => object.extend(fields),
        _ => {
            let bytes = BASE64_STANDARD.encode(&value.value);
            object.insert(VALUE.to_owned(), json!(bytes));
            if let Some(contract) = &value.contract {
                let bytes = BASE64_STANDARD.encode(contract);
                object.insert(CONTRACT.to_owned(), json!(bytes));
            }
        }
    }
    Json::Object(object)
}

pub(super) fn any_from_json(contract: &Contract<'_>, json: &Json, left: usize) -> Result<Any> {
    let help = "an any is an object with the name of its type, as in {\"@type\": \"Order\", …}";
    let wrong = || input::expected(contract, &Type::Any, json).help(help);
    let mut fields = json.as_object().ok_or_else(wrong)?.clone();
    let Some(Json::String(type_name)) = fields.remove(TYPE) else {
        return Err(wrong());
    };
    let encoding = match fields.remove(ENCODING) {
        // Tagged: every message can be written in it.
        None => Some(1),
        Some(Json::String(name)) => any::encoding(&name),
        Some(number) => number
            .as_u64()
            .and_then(|number| usize::try_from(number).ok()),
    };
    let encoding = encoding.ok_or_else(|| {
        let names: Vec<_> = Any::ENCODINGS.iter().map(|known| known.name()).collect();
        JsonError::new("an unknown encoding").help(format!("one of {}", names.join(", ")))
    })?;
    if let Some(value) = base64(&mut fields, VALUE)? {
        return Ok(Any {
            type_name,
            value,
            encoding: encoding as i32,
            contract: base64(&mut fields, CONTRACT)?,
        });
    }
    let name = type_name.rsplit('/').next().unwrap_or(&type_name);
    let Some(id) = any::find(contract.schema(), name) else {
        let problem = format!("the contract has no type {name:?}");
        let help = format!("give its bytes as {VALUE}, in base64");
        return Err(JsonError::new(problem).help(help));
    };
    let value = input::structure(contract, id, &fields, left)?;
    any::pack(contract, &type_name, encoding, id, &value)
        .ok_or_else(|| JsonError::new("the encoding cannot carry this message"))
}

/// A member that is text in base64, taken out.
fn base64(fields: &mut Map<String, Json>, name: &str) -> Result<Option<Bytes>> {
    let Some(Json::String(text)) = fields.remove(name) else {
        return Ok(None);
    };
    let bytes = BASE64_STANDARD.decode(text);
    let bytes = bytes.map_err(|e| JsonError::new(format!("{name} is base64 text: {e}")))?;
    Ok(Some(bytes.into()))
}

/// Bytes and uuids become text, and come back as text.
pub(super) fn dynamic_to_json(value: &Dynamic, left: usize) -> Json {
    let Some(left) = left.checked_sub(1) else {
        return Json::Null;
    };
    match value {
        Dynamic::Null(_) | Dynamic::Unknown(_) => Json::Null,
        Dynamic::Double(value) => output::float(&Type::F64, *value),
        Dynamic::String(value) => json!(value),
        Dynamic::Bool(value) => json!(value),
        Dynamic::Map(map) => {
            let entry = |(name, value): (&String, _)| (name.clone(), dynamic_to_json(value, left));
            Json::Object(map.iter().map(entry).collect())
        }
        Dynamic::List(list) => {
            let values = list.iter();
            values.map(|value| dynamic_to_json(value, left)).collect()
        }
        Dynamic::Int(value) => json!(value),
        Dynamic::UInt(value) => json!(value),
        Dynamic::Bytes(value) => json!(BASE64_STANDARD.encode(value)),
        Dynamic::Uuid(value) => json!(value.to_string()),
    }
}

/// Every JSON text is a dynamic value.
pub(super) fn dynamic_from_json(json: &Json, left: usize) -> Result<Dynamic> {
    let left = input::inside(left)?;
    Ok(match json {
        Json::Null => Dynamic::NULL,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into(),
            (_, Some(value)) => value.into(),
            _ => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items = items.iter().map(|item| dynamic_from_json(item, left));
            items.collect::<Result<_>>()?
        }
        Json::Object(members) => {
            let entry = |(name, value): (&String, _)| {
                let value = dynamic_from_json(value, left);
                let value = value.map_err(|e| e.within(name.clone()))?;
                Ok((name.clone(), value))
            };
            let entries: Vec<(String, Dynamic)> =
                members.iter().map(entry).collect::<Result<_>>()?;
            entries.into_iter().collect()
        }
    })
}
