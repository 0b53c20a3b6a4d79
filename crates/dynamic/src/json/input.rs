use super::output::prints_as_text;
use super::text::{example, from_text};
use super::{JsonError, NODE, REF, TYPE, array, shapeless};
use crate::absent::zero;
use crate::contract::Table;
use crate::{Contract, MAX_DEPTH, Struct, Value, closest, type_name};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use dovetail_schema::{self as schema, Enum, Field, Method, Presence, Sharing, Type, TypeKind};
use dovetail_wire::Uuid;
use serde_json::{Map, Value as Json};

/// How deep a default that follows from another default is spelled out.
const DEFAULTS_IN_DEFAULTS: usize = 4;

pub(super) type Result<T> = std::result::Result<T, JsonError>;

/// The value that JSON stands for.
///
/// A field that is left out gets the default of the contract. Without one, a number, text or
/// container that the contract always sends is zero or empty, as generated code would send it;
/// optional fields, structs and enums stay absent; a required field is an error. `null` is the same
/// as leaving out.
pub fn from_json(contract: &Contract<'_>, ty: &Type, json: &Json) -> Result<Value> {
    convert(contract, ty, json, MAX_DEPTH)
}

/// The parameters of a call: an object by name, or an array by position. A parameter that is left
/// out must have a default or be optional.
pub fn arguments_from_json(
    contract: &Contract<'_>,
    method: &Method,
    json: &Json,
) -> Result<Struct> {
    let mut values = Struct::new();
    match json {
        Json::Object(members) => {
            for (name, json) in members {
                let Some(field) = method.params.iter().find(|f| f.name == *name) else {
                    let names = method.params.iter().map(|f| f.name.as_str());
                    return Err(no_such("parameter", name, &method.name, names));
                };
                argument(contract, field, json, &mut values)?;
            }
        }
        Json::Array(items) if items.len() <= method.params.len() => {
            for (field, json) in method.params.iter().zip(items) {
                argument(contract, field, json, &mut values)?;
            }
        }
        Json::Array(items) => {
            let (found, most) = (items.len(), method.params.len());
            let problem = format!("{found} arguments, `{}` takes {most}", method.name);
            return Err(JsonError::new(problem).help(signature_help(contract, method)));
        }
        _ => {
            let problem = format!(
                "expected an object or array of arguments, found {}",
                show(json)
            );
            return Err(JsonError::new(problem).help(signature_help(contract, method)));
        }
    }
    for field in &method.params {
        if values.get(field.id).is_none() && is_needed(contract, field) {
            match &field.default {
                Some(default) => {
                    values.set(field.id, constant(contract, &field.ty, default, MAX_DEPTH)?)
                }
                None => {
                    let ty = type_name(contract.schema(), &field.ty);
                    let problem = format!("the parameter `{}` ({ty}) is missing", field.name);
                    return Err(JsonError::new(problem).help(signature_help(contract, method)));
                }
            }
        }
    }
    Ok(values)
}

fn argument(
    contract: &Contract<'_>,
    field: &Field,
    json: &Json,
    values: &mut Struct,
) -> Result<()> {
    if !leaves_out(contract, field, json) {
        let value = field_value(contract, field, json, MAX_DEPTH);
        values.set(field.id, value.map_err(|e| e.within(&field.name))?);
    }
    Ok(())
}

/// Whether a parameter has to be there.
fn is_needed(contract: &Contract<'_>, field: &Field) -> bool {
    match field.presence {
        Presence::Optional => false,
        Presence::Default => contract.has_defaults(),
        Presence::Required => true,
    }
}

/// True for a `null` that is not a value itself.
fn leaves_out(contract: &Contract<'_>, field: &Field, json: &Json) -> bool {
    let is_value = *contract.schema().resolve(&field.ty) == Type::Dynamic
        && field.presence != Presence::Optional;
    json.is_null() && !is_value
}

fn signature_help(contract: &Contract<'_>, method: &Method) -> String {
    let parameter = |f: &Field| format!("{}: {}", f.name, type_name(contract.schema(), &f.ty));
    match method.params.is_empty() {
        true => format!(
            "`{}` takes no arguments: leave them out, or pass {{}}",
            method.name
        ),
        false => {
            let parameters: Vec<_> = method.params.iter().map(parameter).collect();
            format!("the parameters are {{{}}}", parameters.join(", "))
        }
    }
}

/// One level deeper.
pub(super) fn inside(left: usize) -> Result<usize> {
    left.checked_sub(1)
        .ok_or_else(|| JsonError::new(format!("nested deeper than {MAX_DEPTH} levels")))
}

pub(super) fn convert(
    contract: &Contract<'_>,
    ty: &Type,
    json: &Json,
    left: usize,
) -> Result<Value> {
    let declared = ty;
    let ty = contract.schema().resolve(ty);
    let mismatch = || expected(contract, declared, json);
    let nested = || inside(left);
    match ty {
        Type::Bool => match json {
            Json::Bool(value) => Ok(Value::Bool(*value)),
            Json::String(text) => text.parse().map(Value::Bool).map_err(|_| mismatch()),
            _ => Err(mismatch()),
        },
        Type::I8 => int(json, i8::MIN.into(), i8::MAX.into(), mismatch),
        Type::I16 => int(json, i16::MIN.into(), i16::MAX.into(), mismatch),
        Type::I32 => int(json, i32::MIN.into(), i32::MAX.into(), mismatch),
        Type::I64 => int(json, i64::MIN, i64::MAX, mismatch),
        Type::U8 => uint(json, u8::MAX.into(), mismatch),
        Type::U16 => uint(json, u16::MAX.into(), mismatch),
        Type::U32 => uint(json, u32::MAX.into(), mismatch),
        Type::U64 => uint(json, u64::MAX, mismatch),
        Type::F32 => float(json)
            .map(|v| Value::Float((v as f32).into()))
            .ok_or_else(mismatch),
        Type::F64 => float(json).map(Value::Float).ok_or_else(mismatch),
        Type::String => match json {
            Json::String(text) => Ok(Value::String(text.clone())),
            _ => Err(mismatch()),
        },
        Type::Bytes => bytes(json, mismatch),
        Type::Uuid | Type::Timestamp { .. } | Type::Date | Type::Duration | Type::Decimal => {
            text(ty, json).ok_or_else(|| match example(ty) {
                Some(example) => mismatch().help(format!("it is written like {example}")),
                None => mismatch(),
            })
        }
        Type::Any => {
            let any = shapeless::any_from_json(contract, json, nested()?)?;
            Ok(Value::Any(Box::new(any)))
        }
        Type::Dynamic => shapeless::dynamic_from_json(json, left).map(Value::Dynamic),
        Type::Array(item, dimensions) => array::from_json(contract, (item, dimensions), json, left),
        Type::List(item) | Type::Set(item) => match json {
            Json::Array(items) => list(contract, item, items, nested()?),
            _ => Err(mismatch()),
        },
        Type::Map(key, item) => match json {
            Json::Object(members) => map(contract, (key, item), members, nested()?, mismatch),
            Json::Array(items) => pairs(contract, key, item, items, nested()?),
            _ => Err(mismatch()),
        },
        Type::Named(id) => match (&contract.schema()[*id].kind, contract.table(*id), json) {
            (TypeKind::Enum(def), _, _) => enumeration(contract, *id, def, json),
            (_, Some(_), Json::Object(members)) => structure(contract, *id, members, nested()?),
            _ => Err(mismatch()),
        },
        Type::Object(_) => Err(JsonError::new(format!(
            "a reference to an object of `{}` has no JSON: it needs Dovetail's own wire and generated code",
            type_name(contract.schema(), ty)
        ))),
    }
}

fn text(ty: &Type, json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => from_text(ty, text),
        Json::Number(number) if *ty == Type::Decimal => from_text(ty, &number.to_string()),
        _ => None,
    }
}

fn list(contract: &Contract<'_>, item: &Type, items: &[Json], left: usize) -> Result<Value> {
    let element = |(index, json)| {
        convert(contract, item, json, left).map_err(|e| e.within(format!("[{index}]")))
    };
    let items: Result<_> = items.iter().enumerate().map(element).collect();
    Ok(Value::List(items?))
}

fn map(
    contract: &Contract<'_>,
    (key, item): (&Type, &Type),
    members: &Map<String, Json>,
    left: usize,
    mismatch: impl Fn() -> JsonError,
) -> Result<Value> {
    if !prints_as_text(contract, key) {
        let key = type_name(contract.schema(), key);
        let help = format!("keys of the type {key} need an array of [key, value] pairs");
        return Err(mismatch().help(help));
    }
    let entry = |(name, json): (&String, &Json)| {
        let segment = format!("[{name:?}]");
        let key = convert(contract, key, &Json::String(name.clone()), left)
            .map_err(|e| e.within(segment.clone()))?;
        let value = convert(contract, item, json, left).map_err(|e| e.within(segment))?;
        Ok((key, value))
    };
    let entries: Result<_> = members.iter().map(entry).collect();
    Ok(Value::Map(entries?))
}

fn pairs(
    contract: &Contract<'_>,
    key: &Type,
    item: &Type,
    items: &[Json],
    left: usize,
) -> Result<Value> {
    let entry = |(index, json): (usize, &Json)| {
        let pair = match json {
            Json::Array(pair) => <&[Json; 2]>::try_from(pair.as_slice()).ok(),
            _ => None,
        };
        let Some([k, v]) = pair else {
            let problem = format!("expected a [key, value] pair, found {}", show(json));
            return Err(JsonError::new(problem).within(format!("[{index}]")));
        };
        let within =
            |part: &'static str| move |e: JsonError| e.within(part).within(format!("[{index}]"));
        let key = convert(contract, key, k, left).map_err(within("[key]"))?;
        Ok((
            key,
            convert(contract, item, v, left).map_err(within("[value]"))?,
        ))
    };
    let entries: Result<_> = items.iter().enumerate().map(entry).collect();
    Ok(Value::Map(entries?))
}

/// The value of a field, which a reference may share.
fn field_value(contract: &Contract<'_>, field: &Field, json: &Json, left: usize) -> Result<Value> {
    let marked = |mark: &str| json.get(mark).filter(|_| field.sharing == Sharing::Ref);
    let number = |json: &Json| {
        let problem = || JsonError::new(format!("{} is no number of a node", show(json)));
        json.as_u64().ok_or_else(problem)
    };
    if let Some(json) = marked(REF) {
        return number(json).map(Value::Again);
    }
    let Some(node) = marked(NODE) else {
        return convert(contract, &field.ty, json, left);
    };
    let mut json = json.clone();
    if let Json::Object(members) = &mut json {
        members.remove(NODE);
    }
    let value = convert(contract, &field.ty, &json, left)?;
    Ok(Value::Node(number(node)?, Box::new(value)))
}

/// A struct, or the one that extends it whose name is given.
pub(super) fn structure(
    contract: &Contract<'_>,
    id: schema::TypeId,
    members: &Map<String, Json>,
    left: usize,
) -> Result<Value> {
    let family = contract.family(id).unwrap_or(std::slice::from_ref(&id));
    let name = |id: &schema::TypeId| contract.schema()[*id].name.as_str();
    let member = match members.get(TYPE) {
        None => id,
        Some(json) => {
            let known = family.iter().find(|id| json.as_str() == Some(name(id)));
            *known.ok_or_else(|| {
                let wanted = json.as_str().map_or_else(|| show(json), str::to_owned);
                no_such("struct", &wanted, name(&id), family.iter().map(name))
            })?
        }
    };
    let Some(table) = contract.table(member) else {
        return Err(JsonError::new("a type without fields"));
    };
    let value = object(contract, member, table, members, left)?;
    Ok(match member == id {
        true => Value::Struct(value),
        false => Value::Derived(member, value),
    })
}

fn object(
    contract: &Contract<'_>,
    id: schema::TypeId,
    table: &Table<'_>,
    members: &Map<String, Json>,
    left: usize,
) -> Result<Struct> {
    let type_name = &contract.schema()[id].name;
    let mut value = Struct::new();
    for (name, json) in members.iter().filter(|(name, _)| *name != TYPE) {
        let Some(field) = table.find(name) else {
            let names = table.fields.iter().map(|f| f.name.as_str());
            return Err(no_such("field", name, type_name, names));
        };
        if !leaves_out(contract, field, json) {
            let read = field_value(contract, field, json, left);
            value.set(field.id, read.map_err(|e| e.within(name))?);
        }
    }
    if table.union {
        if value.len() != 1 {
            let names: Vec<_> = table.fields.iter().map(|f| f.name.as_str()).collect();
            let problem = format!(
                "the union {type_name} has {} members set, not one",
                value.len()
            );
            return Err(JsonError::new(problem).help(format!("choose one of {}", names.join(", "))));
        }
        return Ok(value);
    }
    for field in &table.fields {
        if value.get(field.id).is_none() {
            fill(contract, field, &mut value, left).map_err(|e| e.within(&field.name))?;
        }
    }
    Ok(value)
}

/// Gives a field that was left out what generated code would send for it.
fn fill(contract: &Contract<'_>, field: &Field, value: &mut Struct, left: usize) -> Result<()> {
    let filled = match (&field.default, field.presence) {
        (Some(default), _) => Some(constant(contract, &field.ty, default, left)?),
        (None, Presence::Optional) => None,
        (None, Presence::Required) => {
            let ty = type_name(contract.schema(), &field.ty);
            return Err(JsonError::new(format!(
                "this required field ({ty}) is missing"
            )));
        }
        (None, Presence::Default) => zero(contract, &field.ty).filter(|_| contract.has_defaults()),
    };
    if let Some(filled) = filled {
        value.set(field.id, filled);
    }
    Ok(())
}

/// A constant of the contract as a value.
pub(super) fn constant(
    contract: &Contract<'_>,
    ty: &Type,
    value: &schema::Value,
    left: usize,
) -> Result<Value> {
    let bad = || {
        let ty = type_name(contract.schema(), ty);
        JsonError::new(format!("the contract's default is no {ty}"))
    };
    let left = left.checked_sub(1).ok_or_else(bad)?;
    let ty = contract.schema().resolve(ty);
    Ok(match (ty, value) {
        (_, schema::Value::Bool(value)) => Value::Bool(*value),
        (Type::U8 | Type::U16 | Type::U32 | Type::U64, schema::Value::Int(value)) => {
            Value::UInt((*value).try_into().map_err(|_| bad())?)
        }
        (Type::F32 | Type::F64, schema::Value::Int(value)) => Value::Float(*value as f64),
        (_, schema::Value::Int(value)) => Value::Int((*value).try_into().map_err(|_| bad())?),
        (_, schema::Value::Double(value)) => Value::Float(*value),
        (Type::String, schema::Value::String(value)) => Value::String(value.clone()),
        (ty, schema::Value::String(value)) => from_text(ty, value).ok_or_else(bad)?,
        (_, schema::Value::Bytes(value)) => Value::Bytes(value.clone().into()),
        (_, schema::Value::Uuid(value)) => Value::Uuid(Uuid::from_bytes(*value)),
        (_, schema::Value::Enum(_, number)) => Value::Enum(*number),
        (Type::List(item) | Type::Set(item), schema::Value::List(items)) => {
            let items: Result<_> = items
                .iter()
                .map(|v| constant(contract, item, v, left))
                .collect();
            Value::List(items?)
        }
        (Type::Array(item, dimensions), value) => {
            array::constant(contract, (item, dimensions), value, left)?
        }
        (Type::Map(key, item), schema::Value::Map(entries)) => {
            let entry = |(k, v)| {
                Ok((
                    constant(contract, key, k, left)?,
                    constant(contract, item, v, left)?,
                ))
            };
            let entries: Result<_> = entries.iter().map(|(k, v)| entry((k, v))).collect();
            Value::Map(entries?)
        }
        (Type::Named(id), schema::Value::Struct(_, members)) => {
            let table = contract.table(*id).ok_or_else(bad)?;
            let mut value = Struct::new();
            for (name, member) in members {
                let field = table.find(name).ok_or_else(bad)?;
                value.set(field.id, constant(contract, &field.ty, member, left)?);
            }
            for field in table.fields.iter().filter(|_| !table.union) {
                if value.get(field.id).is_none() {
                    // Defaults within defaults can double at each level. What is left out here, the
                    // peer assumes by itself.
                    let _ = fill(contract, field, &mut value, left.min(DEFAULTS_IN_DEFAULTS));
                }
            }
            Value::Struct(value)
        }
        _ => return Err(bad()),
    })
}

fn int(json: &Json, least: i64, most: i64, mismatch: impl Fn() -> JsonError) -> Result<Value> {
    let number = integer(json).ok_or_else(&mismatch)?;
    match i64::try_from(number)
        .ok()
        .filter(|n| (least..=most).contains(n))
    {
        Some(number) => Ok(Value::Int(number)),
        None => Err(mismatch().help(format!("it must be between {least} and {most}"))),
    }
}

fn uint(json: &Json, most: u64, mismatch: impl Fn() -> JsonError) -> Result<Value> {
    let number = integer(json).ok_or_else(&mismatch)?;
    match u64::try_from(number).ok().filter(|n| *n <= most) {
        Some(number) => Ok(Value::UInt(number)),
        None => Err(mismatch().help(format!("it must be between 0 and {most}"))),
    }
}

/// A whole number, written as one, as text, or as `1e6`.
fn integer(json: &Json) -> Option<i128> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    match json {
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Some(number.into()),
            (_, Some(number), _) => Some(number.into()),
            (.., Some(number)) if number.fract() == 0.0 && number.abs() <= EXACT => {
                Some(number as i128)
            }
            _ => None,
        },
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn bytes(json: &Json, mismatch: impl Fn() -> JsonError) -> Result<Value> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let Json::String(text) = json else {
        return Err(mismatch());
    };
    let alphabet = match text.contains(['-', '_']) {
        true => &alphabet::URL_SAFE,
        false => &alphabet::STANDARD,
    };
    match GeneralPurpose::new(alphabet, LENIENT).decode(text) {
        Ok(bytes) => Ok(Value::Bytes(bytes.into())),
        Err(problem) => Err(mismatch().help(format!("binary is base64 text: {problem}"))),
    }
}

fn enumeration(
    contract: &Contract<'_>,
    id: schema::TypeId,
    def: &Enum,
    json: &Json,
) -> Result<Value> {
    if let Some(number) = integer(json) {
        return match i32::try_from(number) {
            Ok(number) => Ok(Value::Enum(number)),
            Err(_) => Err(expected(contract, &Type::Named(id), json)),
        };
    }
    let Json::String(name) = json else {
        return Err(expected(contract, &Type::Named(id), json)
            .help("an enum is the name of a value, or its number"));
    };
    // `Color.RED`, as an IDL writes it, is as good as `RED`.
    let bare = name.rsplit('.').next().unwrap_or(name);
    match def.values.iter().find(|value| value.name == bare) {
        Some(value) => Ok(Value::Enum(value.number)),
        None => {
            let names = def.values.iter().map(|value| value.name.as_str());
            Err(no_such("value", name, &contract.schema()[id].name, names))
        }
    }
}

/// An unknown name, with the one that was probably meant.
fn no_such<'a>(
    what: &str,
    name: &str,
    owner: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> JsonError {
    let error = JsonError::new(format!("`{owner}` has no {what} {name:?}"));
    match closest(name, known.clone()) {
        Some(close) => error.help(format!("did you mean {close:?}?")),
        None => {
            let known: Vec<_> = known.take(12).collect();
            match known.is_empty() {
                true => error.help(format!("it has no {what}s at all")),
                false => error.help(format!("it has {}", known.join(", "))),
            }
        }
    }
}

pub(super) fn expected(contract: &Contract<'_>, ty: &Type, json: &Json) -> JsonError {
    let mut name = type_name(contract.schema(), ty);
    let resolved = contract.schema().resolve(ty);
    if resolved != ty {
        name += &format!(" ({})", type_name(contract.schema(), resolved));
    }
    JsonError::new(format!("expected {name}, found {}", show(json)))
}

/// A piece of JSON, short enough for a message.
fn show(json: &Json) -> String {
    match json {
        Json::Array(items) => format!("an array of {}", items.len()),
        Json::Object(_) => "an object".to_owned(),
        Json::String(text) if text.chars().count() > 40 => {
            let start: String = text.chars().take(40).collect();
            format!("the text {start:?}…")
        }
        Json::String(text) => format!("the text {text:?}"),
        scalar => scalar.to_string(),
    }
}
