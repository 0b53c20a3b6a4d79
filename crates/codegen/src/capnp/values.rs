//! Values: of constants, and of fields that a peer leaves out.

use super::Writer;
use super::names::member;
use crate::export::quoted;
use dovetail_schema::capnp::is_void;
use dovetail_schema::{Annotations, Type, TypeId, TypeKind, Value};

impl Writer<'_> {
    /// A value of the definition or field that is called so.
    pub(super) fn value(&self, ty: &Type, value: &Value, at: &str) -> String {
        if let Type::Date | Type::Timestamp { .. } | Type::Duration = self.schema.resolve(ty) {
            self.refuse(
                "a constant of a date or time has no form in Cap'n Proto",
                at,
            );
        }
        match value {
            Value::Bool(truth) => truth.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Double(number) => double(*number),
            Value::String(text) => text_of(text),
            Value::Bytes(bytes) => data(bytes),
            Value::Uuid(bytes) => data(bytes),
            Value::Enum(id, number) => self.enumerant(*id, *number, at),
            Value::List(items) => {
                let element = match self.schema.resolve(ty) {
                    Type::List(element) | Type::Set(element) => element,
                    other => other,
                };
                let items = items.iter().map(|item| self.value(element, item, at));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::Map(entries) => {
                let (key, value) = match self.schema.resolve(ty) {
                    Type::Map(key, value) => (&**key, &**value),
                    other => (other, other),
                };
                let entries = entries.iter().map(|(k, v)| {
                    let (k, v) = (self.value(key, k, at), self.value(value, v, at));
                    format!("(key = {k}, value = {v})")
                });
                format!("[{}]", entries.collect::<Vec<_>>().join(", "))
            }
            Value::Struct(id, _) if is_void(&self.schema[*id]) => "void".to_owned(),
            Value::Struct(id, fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let ty = self.field_type(*id, name);
                    let value = self.value(&ty, value, at);
                    format!("{} = {value}", member(name))
                });
                format!("({})", fields.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn field_type(&self, id: TypeId, name: &str) -> Type {
        match &self.schema[id].kind {
            TypeKind::Struct(def) => {
                let field = def.fields.iter().find(|field| field.name == name);
                field.map_or(Type::Bool, |field| field.ty.clone())
            }
            _ => Type::Bool,
        }
    }

    fn enumerant(&self, id: TypeId, number: i32, at: &str) -> String {
        let found = match &self.schema[id].kind {
            TypeKind::Enum(def) => def.values.iter().find(|value| value.number == number),
            _ => None,
        };
        if let Some(value) = found {
            return member(&value.name);
        }
        self.refuse(
            "the number of an enum without a name has none in Cap'n Proto",
            at,
        );
        self.ty(&Type::Named(id), &Annotations::default(), at)
    }
}

fn double(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    match number.is_infinite() {
        true if number < 0.0 => "-inf".to_owned(),
        true => "inf".to_owned(),
        false => format!("{number:?}"),
    }
}

/// Bytes as data: `0x"00 ff"`.
fn data(bytes: &[u8]) -> String {
    let bytes = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("0x\"{}\"", bytes.collect::<Vec<_>>().join(" "))
}

/// Text as a literal, in which control characters have their codes.
fn text_of(text: &str) -> String {
    let mut literal = String::new();
    for c in quoted(text).chars() {
        match c.is_ascii_control() {
            true => literal += &format!("\\x{:02x}", c as u32),
            false => literal.push(c),
        }
    }
    literal
}
