use super::text::to_text;
use super::{NODE, REF, TYPE, array, shapeless};
use crate::{Contract, MAX_DEPTH, Struct, Value};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use dovetail_schema::{Field, Method, Type, TypeId, TypeKind};
use dovetail_wire::UnknownValue;
use serde_json::{Map, Number, Value as Json, json};
use std::collections::BTreeSet;

/// The JSON form of a value. Never fails: what is not of its type, or too deep, is shown as `null`.
pub fn to_json(contract: &Contract<'_>, ty: &Type, value: &Value) -> Json {
    convert(&Context::of(contract, [value]), ty, value, MAX_DEPTH)
}

/// Turns a value into JSON for a log: the values of sensitive fields are `…`.
pub fn to_log(contract: &Contract<'_>, ty: &Type, value: &Value) -> Json {
    let cx = Context::of(contract, [value]).for_logs();
    convert(&cx, ty, value, MAX_DEPTH)
}

/// The settings by which all parts of a value are converted.
pub(super) struct Context<'a> {
    pub(super) contract: &'a Contract<'a>,
    /// The nodes with more than one reference. Only these need a number.
    again: BTreeSet<u64>,
    /// Whether the values of sensitive fields are shown.
    sensitive: bool,
}

impl<'a> Context<'a> {
    /// For values that are sent together.
    pub(super) fn of<'v>(
        contract: &'a Contract<'a>,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Self {
        let mut again = BTreeSet::new();
        values
            .into_iter()
            .for_each(|value| find_again(value, &mut again));
        Context {
            contract,
            again,
            sensitive: true,
        }
    }

    fn for_logs(mut self) -> Self {
        self.sensitive = false;
        self
    }

    /// The settings for a message inside. Numbers of nodes are valid inside that only.
    pub(super) fn inside(&self, value: &Value) -> Self {
        Context {
            sensitive: self.sensitive,
            ..Context::of(self.contract, [value])
        }
    }

    fn field(&self, field: &Field, value: &Value, left: usize) -> Json {
        match self.sensitive || !field.is_sensitive() {
            true => convert(self, &field.ty, value, left),
            false => json!("…"),
        }
    }
}

fn find_again(value: &Value, found: &mut BTreeSet<u64>) {
    let mut find = |value| find_again(value, found);
    match value {
        Value::Again(number) => drop(found.insert(*number)),
        Value::Node(_, value) => find(value),
        Value::Struct(fields) | Value::Derived(_, fields) => {
            fields.iter().for_each(|(_, value)| find(value));
        }
        Value::List(items) | Value::Array(_, items) => items.iter().for_each(find),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            find(key);
            find(value);
        }),
        _ => {}
    }
}

/// The JSON form of a call's parameters: an object by name.
pub fn arguments_to_json(contract: &Contract<'_>, method: &Method, values: &Struct) -> Json {
    arguments(&of_arguments(contract, values), method, values)
}

/// Turns a call's parameters into JSON for a log, as [`to_log`] does.
pub fn arguments_to_log(contract: &Contract<'_>, method: &Method, values: &Struct) -> Json {
    let cx = of_arguments(contract, values).for_logs();
    arguments(&cx, method, values)
}

fn of_arguments<'a>(contract: &'a Contract<'a>, values: &Struct) -> Context<'a> {
    Context::of(contract, values.iter().map(|(_, value)| value))
}

fn arguments(cx: &Context<'_>, method: &Method, values: &Struct) -> Json {
    let mut object = Map::new();
    for field in &method.params {
        if let Some(value) = values.get(field.id) {
            let json = cx.field(field, value, MAX_DEPTH);
            object.insert(field.name.clone(), json);
        }
    }
    unknown_fields(values, &mut object);
    Json::Object(object)
}

pub(super) fn convert(cx: &Context<'_>, ty: &Type, value: &Value, left: usize) -> Json {
    let ty = cx.contract.schema().resolve(ty);
    match (ty, value) {
        (_, Value::Bool(value)) => json!(value),
        (_, Value::Int(value)) => json!(value),
        (_, Value::UInt(value)) => json!(value),
        (_, Value::Float(value)) => float(ty, *value),
        (_, Value::String(value)) => json!(value),
        (_, Value::Bytes(value)) => json!(BASE64_STANDARD.encode(value)),
        (_, Value::Enum(number)) => match enum_name(cx.contract, ty, *number) {
            Some(name) => json!(name),
            None => json!(number),
        },
        (Type::List(_) | Type::Set(_) | Type::Map(..) | Type::Named(_) | Type::Any, _)
            if left == 0 =>
        {
            Json::Null
        }
        (Type::List(item) | Type::Set(item), Value::List(items)) => items
            .iter()
            .map(|value| convert(cx, item, value, left - 1))
            .collect(),
        (Type::Map(key, item), Value::Map(entries)) => map(cx, key, item, entries, left - 1),
        (Type::Named(id), Value::Struct(value)) => object(cx, *id, value, Map::new(), left - 1),
        (Type::Named(_), Value::Derived(id, value)) => {
            let mut object_of = Map::new();
            object_of.insert(TYPE.to_owned(), json!(cx.contract.schema()[*id].name));
            object(cx, *id, value, object_of, left - 1)
        }
        (Type::Named(_), Value::Again(number)) => json!({ REF: number }),
        (Type::Named(_), Value::Node(number, value)) => {
            let mut json = convert(cx, ty, value, left);
            if let (Json::Object(members), true) = (&mut json, cx.again.contains(number)) {
                members.insert(NODE.to_owned(), json!(number));
            }
            json
        }
        (Type::Array(item, dimensions), _) => array::to_json(cx, (item, dimensions), value, left),
        (Type::Any, Value::Any(value)) => shapeless::any_to_json(cx, value, left - 1),
        (_, Value::Dynamic(value)) => shapeless::dynamic_to_json(value, left),
        (_, value) => to_text(value).map_or(Json::Null, |text| json!(text)),
    }
}

/// Adds the members of a struct after those that name its type.
fn object(
    cx: &Context<'_>,
    id: TypeId,
    value: &Struct,
    mut object: Map<String, Json>,
    left: usize,
) -> Json {
    let table = cx.contract.table(id);
    for field in table.iter().flat_map(|table| &table.fields) {
        if let Some(value) = value.get(field.id) {
            let json = cx.field(field, value, left);
            object.insert(field.name.clone(), json);
        }
    }
    unknown_fields(value, &mut object);
    Json::Object(object)
}

fn unknown_fields(value: &Struct, object: &mut Map<String, Json>) {
    for (id, value) in value.unknown_fields.iter() {
        object.insert(format!("#{id}"), unknown(value, MAX_DEPTH));
    }
}

fn map(cx: &Context<'_>, key: &Type, item: &Type, entries: &[(Value, Value)], left: usize) -> Json {
    let mut object = Map::new();
    for (k, v) in entries {
        match key_text(cx.contract, key, k) {
            Some(text) => object.insert(text, convert(cx, item, v, left)),
            None => return pairs(cx, key, item, entries, left),
        };
    }
    match prints_as_text(cx.contract, key) {
        true => Json::Object(object),
        false => json!([]),
    }
}

fn pairs(
    cx: &Context<'_>,
    key: &Type,
    item: &Type,
    entries: &[(Value, Value)],
    left: usize,
) -> Json {
    let pair = |(k, v): &(Value, Value)| {
        let key = convert(cx, key, k, left);
        json!([key, convert(cx, item, v, left)])
    };
    entries.iter().map(pair).collect()
}

/// True for types of keys under which a map is an object.
pub(super) fn prints_as_text(contract: &Contract<'_>, key: &Type) -> bool {
    match contract.schema().resolve(key) {
        Type::F32 | Type::F64 => false,
        Type::List(_) | Type::Set(_) | Type::Map(..) | Type::Array(..) => false,
        Type::Named(id) => contract.table(*id).is_none(),
        _ => true,
    }
}

fn key_text(contract: &Contract<'_>, ty: &Type, key: &Value) -> Option<String> {
    Some(match key {
        Value::Bool(key) => key.to_string(),
        Value::Int(key) => key.to_string(),
        Value::UInt(key) => key.to_string(),
        Value::String(key) => key.clone(),
        Value::Bytes(key) => BASE64_STANDARD.encode(key),
        Value::Enum(key) => match enum_name(contract, contract.schema().resolve(ty), *key) {
            Some(name) => name.to_owned(),
            None => key.to_string(),
        },
        key => return to_text(key),
    })
}

fn enum_name<'a>(contract: &Contract<'a>, ty: &Type, number: i32) -> Option<&'a str> {
    let Type::Named(id) = ty else { return None };
    let TypeKind::Enum(def) = &contract.schema()[*id].kind else {
        return None;
    };
    let value = def.values.iter().find(|value| value.number == number)?;
    Some(&value.name)
}

pub(super) fn float(ty: &Type, value: f64) -> Json {
    // The shortest digits that give the same `f32` again, not those of its widened form.
    let shown = match ty {
        Type::F32 => (value as f32).to_string().parse().unwrap_or(value),
        _ => value,
    };
    match Number::from_f64(shown) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => json!("NaN"),
        None if value > 0.0 => json!("Infinity"),
        None => json!("-Infinity"),
    }
}

/// Shows a value without a contract; text and bytes are not told apart on Thrift's wires.
fn unknown(value: &UnknownValue, left: usize) -> Json {
    let Some(left) = left.checked_sub(1) else {
        return Json::Null;
    };
    match value {
        UnknownValue::Bool(value) => json!(value),
        UnknownValue::I8(value) => json!(value),
        UnknownValue::I16(value) => json!(value),
        UnknownValue::I32(value) => json!(value),
        UnknownValue::I64(value) => json!(value),
        UnknownValue::U8(value) => json!(value),
        UnknownValue::U16(value) => json!(value),
        UnknownValue::U32(value) => json!(value),
        UnknownValue::U64(value) => json!(value),
        UnknownValue::Enum(value) => json!(value),
        UnknownValue::Object => json!("a reference to an object"),
        UnknownValue::String(value) => json!(value),
        UnknownValue::F32(bits) => float(&Type::F32, f32::from_bits(*bits).into()),
        UnknownValue::F64(bits) => float(&Type::F64, f64::from_bits(*bits)),
        UnknownValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!(BASE64_STANDARD.encode(bytes)),
        },
        UnknownValue::Uuid(bytes) => json!(dovetail_wire::Uuid::from_bytes(*bytes).to_string()),
        UnknownValue::List(_, items) | UnknownValue::Set(_, items) => {
            items.iter().map(|item| unknown(item, left)).collect()
        }
        UnknownValue::Map(_, _, entries) => {
            let pair = |(k, v)| json!([unknown(k, left), unknown(v, left)]);
            entries.iter().map(|(k, v)| pair((k, v))).collect()
        }
        UnknownValue::Struct(fields) => {
            let member = |(id, value): &(i32, _)| (format!("#{id}"), unknown(value, left));
            Json::Object(fields.iter().map(member).collect())
        }
        UnknownValue::Varint(value) | UnknownValue::Fixed64(value) => json!(value),
        UnknownValue::Fixed32(value) => json!(value),
        UnknownValue::Delimited(bytes)
        | UnknownValue::Group(bytes)
        | UnknownValue::Msgpack(bytes) => {
            json!(BASE64_STANDARD.encode(bytes))
        }
    }
}
