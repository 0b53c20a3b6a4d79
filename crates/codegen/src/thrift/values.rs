//! Constants: values of the contract, defaults, annotations.

use super::{Writer, spelled};
use crate::export::quoted;
use dovetail_schema::{TypeId, TypeKind, TypedAnnotation, Value};

impl Writer<'_> {
    /// A value of the definition or field that is called so.
    pub(super) fn value(&self, value: &Value, at: &str) -> String {
        let all = |values: Vec<String>| values.join(", ");
        match value {
            Value::Bool(truth) => truth.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Double(number) => self.double(*number, at),
            Value::String(text) => quoted(text),
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => quoted(text),
                Err(_) => {
                    self.refuse("a constant of bytes is the UTF-8 of a text in Thrift", at);
                    String::new()
                }
            },
            Value::Uuid(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("\"{hex}\"")
            }
            Value::Enum(id, number) => self.named_number(*id, *number),
            Value::List(items) => {
                let items = items.iter().map(|item| self.value(item, at));
                format!("[{}]", all(items.collect()))
            }
            Value::Map(entries) => {
                let pair =
                    |(key, value)| format!("{}: {}", self.value(key, at), self.value(value, at));
                let entries = entries.iter().map(|(key, value)| pair((key, value)));
                format!("{{{}}}", all(entries.collect()))
            }
            Value::Struct(_, fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| format!("{}: {}", quoted(name), self.value(value, at)));
                format!("{{{}}}", all(fields.collect()))
            }
        }
    }

    /// `Range{min = 1}`.
    pub(super) fn typed(&self, annotation: &TypedAnnotation) -> String {
        let def = &self.schema[annotation.ty];
        let name = self.name(def.package, &def.name);
        let fields = match &annotation.value {
            Value::Struct(_, fields) => fields.as_slice(),
            _ => &[],
        };
        let fields = fields
            .iter()
            .map(|(field, value)| format!("{field} = {}", self.value(value, field)));
        match fields.collect::<Vec<_>>().join(", ") {
            fields if fields.is_empty() => name,
            fields => format!("{name}{{{fields}}}"),
        }
    }

    fn double(&self, number: f64, at: &str) -> String {
        if !number.is_finite() {
            self.refuse("a constant is a finite number in Thrift", at);
        }
        format!("{number:?}")
    }

    /// `Colour.RED`.
    fn named_number(&self, id: TypeId, number: i32) -> String {
        let def = &self.schema[id];
        let value = match &def.kind {
            TypeKind::Enum(values) => values.values.iter().find(|value| value.number == number),
            _ => None,
        };
        match value {
            Some(value) => format!(
                "{}.{}",
                self.name(def.package, &def.name),
                spelled(&value.name)
            ),
            None => number.to_string(),
        }
    }
}
