//! Types as JSON Schema has them (draft 2020-12, which OpenAPI 3.1 uses).

use super::{Writer, described};
use dovetail_schema::{ArrayForm, Dimension, Enum, Field, Presence, Type, TypeId, TypeKind, Value};
use serde_json::{Map, Value as Json, json};

/// Adds a member to an object.
pub(super) fn with(object: &mut Json, name: &str, value: Json) {
    if let Json::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

/// A name as JSON has it, `lowerCamelCase`. That of an extension stays.
fn camel_case(name: &str) -> String {
    if name.starts_with('[') {
        return name.to_owned();
    }
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (letter, rest) = part.split_at_checked(1).unwrap_or((part, ""));
        name + &letter.to_ascii_uppercase() + rest
    })
}

impl Writer<'_> {
    /// Returns whether JSON can carry it: no reference to an object is in it.
    pub(super) fn is_value(&self, ty: &Type) -> bool {
        match self.schema.resolve(ty) {
            Type::Object(_) => false,
            Type::List(item) | Type::Set(item) | Type::Array(item, _) => self.is_value(item),
            Type::Map(key, value) => self.is_value(key) && self.is_value(value),
            _ => true,
        }
    }

    /// The schema of a type.
    pub(super) fn ty(&self, ty: &Type) -> Json {
        let whole = |format: &str| json!({ "type": "integer", "format": format });
        let within =
            |least: i64, most: i64| json!({ "type": "integer", "minimum": least, "maximum": most });
        let large = |format: &str| json!({ "type": ["string", "integer"], "format": format });
        let real = |format: &str| json!({ "type": ["number", "string"], "format": format });
        let text = |format: &str| json!({ "type": "string", "format": format });
        match self.schema.resolve(ty) {
            Type::Bool => json!({ "type": "boolean" }),
            Type::I8 => within(i8::MIN.into(), i8::MAX.into()),
            Type::I16 => within(i16::MIN.into(), i16::MAX.into()),
            Type::I32 => whole("int32"),
            Type::I64 => large("int64"),
            Type::U8 => within(0, u8::MAX.into()),
            Type::U16 => within(0, u16::MAX.into()),
            Type::U32 => within(0, u32::MAX.into()),
            Type::U64 => large("uint64"),
            Type::F32 => real("float"),
            Type::F64 => real("double"),
            Type::String => json!({ "type": "string" }),
            Type::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Type::Uuid => text("uuid"),
            Type::Timestamp { .. } => text("date-time"),
            Type::Date => text("date"),
            Type::Duration => json!({ "type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$" }),
            Type::Decimal => json!({ "type": "string", "format": "decimal" }),
            Type::Any => json!({
                "type": "object",
                "properties": {
                    "typeUrl": { "type": "string" },
                    "value": { "type": "string", "contentEncoding": "base64" },
                    "encoding": { "type": "integer" },
                },
            }),
            Type::Dynamic | Type::Object(_) => json!({}),
            Type::List(item) | Type::Set(item) => self.list(self.ty(item)),
            Type::Map(key, value) => self.map(key, value),
            Type::Array(item, dimensions) => self.array(item, dimensions),
            Type::Named(id) => {
                self.used.borrow_mut().insert(*id);
                let name = self.schema.qualified_name(*id);
                json!({ "$ref": format!("#/components/schemas/{name}") })
            }
        }
    }

    fn list(&self, item: Json) -> Json {
        json!({ "type": "array", "items": item })
    }

    /// An object, where keys are text in JSON; else a list of pairs.
    fn map(&self, key: &Type, value: &Type) -> Json {
        let value = self.ty(value);
        match self.is_text(key) {
            true => json!({ "type": "object", "additionalProperties": value }),
            false => self.list(json!({
                "type": "array",
                "prefixItems": [self.ty(key), value],
                "minItems": 2,
                "maxItems": 2,
            })),
        }
    }

    fn is_text(&self, key: &Type) -> bool {
        match self.schema.resolve(key) {
            Type::Named(id) => matches!(self.schema[*id].kind, TypeKind::Enum(_)),
            Type::List(_) | Type::Set(_) | Type::Map(..) | Type::Array(..) => false,
            Type::Timestamp { .. } | Type::Duration | Type::Any | Type::Dynamic => false,
            _ => true,
        }
    }

    fn array(&self, item: &Type, dimensions: &[Dimension]) -> Json {
        match ArrayForm::of(dimensions) {
            None => self.ty(item),
            Some(ArrayForm::Fixed(extent, inside)) => {
                let mut list = self.list(self.array(item, inside));
                with(&mut list, "minItems", json!(extent));
                with(&mut list, "maxItems", json!(extent));
                list
            }
            Some(ArrayForm::List(inside)) => self.list(self.array(item, inside)),
            Some(ArrayForm::Free(_, inside)) => json!({
                "type": "object",
                "properties": {
                    "extents": self.list(json!({ "type": "integer" })),
                    "elements": self.list(self.array(item, inside)),
                },
            }),
        }
    }

    /// The definition of a named type.
    pub(super) fn definition(&self, id: TypeId) -> Json {
        let def = &self.schema[id];
        let mut json = match &def.kind {
            TypeKind::Alias(ty) => self.ty(ty),
            TypeKind::Enum(def) => enumeration(def),
            TypeKind::Struct(_) => self.structure(id),
        };
        if def.deprecated.is_some() {
            with(&mut json, "deprecated", json!(true));
        }
        described(json, def.doc.as_deref())
    }

    fn structure(&self, id: TypeId) -> Json {
        let bases = self.schema.bases(id);
        let chain = bases.iter().rev().chain([&id]);
        let fields = chain.flat_map(|id| match &self.schema[*id].kind {
            TypeKind::Struct(def) => def.fields.as_slice(),
            _ => &[],
        });
        let mut json = self.object(fields);
        if self.is_union(id) {
            with(&mut json, "maxProperties", json!(1));
        }
        if let Some(family) = self.schema.families().get(&id)
            && let Some(properties) = json.get_mut("properties")
        {
            let names: Vec<&str> = family
                .iter()
                .map(|id| self.schema[*id].name.as_str())
                .collect();
            with(
                properties,
                "#type",
                json!({ "type": "string", "enum": names }),
            );
        }
        json
    }

    /// An object with these members.
    pub(super) fn object<'f>(&self, fields: impl Iterator<Item = &'f Field>) -> Json {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields {
            let own = field.protobuf.json_name.clone();
            let name = own.unwrap_or_else(|| camel_case(&field.name));
            if field.presence == Presence::Required {
                required.push(json!(name));
            }
            properties.insert(name, self.property(field));
        }
        let mut object = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            with(&mut object, "required", required.into());
        }
        object
    }

    fn property(&self, field: &Field) -> Json {
        let mut json = self.ty(&field.ty);
        let default = field.default.as_ref();
        if let Some(default) = default.and_then(|value| self.value(&field.ty, value)) {
            with(&mut json, "default", default);
        }
        if field.deprecated.is_some() {
            with(&mut json, "deprecated", json!(true));
        }
        described(json, field.doc.as_deref())
    }

    /// A default, as far as a contract writes it as JSON does: no durations, bytes, maps or
    /// structs.
    fn value(&self, ty: &Type, value: &Value) -> Option<Json> {
        Some(match (self.schema.resolve(ty), value) {
            (Type::I64 | Type::U64, Value::Int(number)) => json!(number.to_string()),
            (_, Value::Bool(value)) => json!(value),
            (_, Value::Int(number)) => json!(i64::try_from(*number).ok()?),
            (_, Value::Double(number)) if number.is_finite() => json!(number),
            (Type::Duration, _) => return None,
            (_, Value::String(text)) => json!(text),
            (_, Value::Enum(id, number)) => match &self.schema[*id].kind {
                TypeKind::Enum(def) => {
                    let mut values = def.values.iter();
                    let named = values.find(|value| value.number == *number);
                    named.map_or(json!(number), |value| json!(value.name))
                }
                _ => return None,
            },
            (Type::List(item) | Type::Set(item), Value::List(items)) => {
                let items = items.iter().map(|value| self.value(item, value));
                Json::Array(items.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

/// Names; other numbers, unless it has none.
fn enumeration(def: &Enum) -> Json {
    let names: Vec<&str> = def.values.iter().map(|value| value.name.as_str()).collect();
    let named = json!({ "type": "string", "enum": names });
    match def.closed {
        true => named,
        false => json!({ "anyOf": [named, { "type": "integer", "format": "int32" }] }),
    }
}
