//! Fields: labels, options, default values.

use super::dialect::Dialect;
use super::messages::json_name;
use super::types::Form;
use super::{Writer, comment};
use crate::export::quoted;
use dovetail_schema::{Field, Presence, Protobuf, Sharing, TypeKind, Value};

/// The largest number of a field, and those that protobuf keeps for itself.
const MAX: i32 = (1 << 29) - 1;
const KEPT: std::ops::RangeInclusive<i32> = 19_000..=19_999;

impl Writer<'_> {
    /// A field on a line of its own; where it is one of several, it has no label.
    pub(super) fn field(&self, field: &Field, choice: bool, indent: &str) -> String {
        let (id, name) = (field.id, field.short_name());
        self.check(field);
        let Protobuf {
            format, key_format, ..
        } = field.protobuf;
        let ty = self.map_type(&field.ty, key_format, format);
        let label = match ty.form {
            Form::Repeated(_) => "repeated ",
            Form::Map => "",
            _ if choice => "",
            form => self.label(field, form),
        };
        let options = match self.options(field, ty.form) {
            options if options.is_empty() => String::new(),
            options => format!(" [{}]", options.join(", ")),
        };
        let before = comment(field.doc.as_deref(), &self.notes(field), indent);
        let name = self.style.field(name);
        format!(
            "{before}{indent}{label}{} {name} = {id}{options};\n",
            ty.name
        )
    }

    fn check(&self, field: &Field) {
        let (id, name) = (field.id, field.short_name());
        self.identifier(name);
        if !(1..=MAX).contains(&id) || KEPT.contains(&id) {
            self.refuse(
                "the number of a field is one from 1 to 18999 or 20000 to 536870911 in protobuf",
                name,
            );
        }
        if field.sharing == Sharing::Ref {
            self.refuse(
                "which references lead to one value cannot be said in protobuf",
                name,
            );
        }
    }

    fn label(&self, field: &Field, form: Form) -> &'static str {
        match (self.dialect, field.presence) {
            (Dialect::Edition2023, _) => "",
            (Dialect::Proto2, Presence::Required) => "required ",
            (Dialect::Proto2, _) => "optional ",
            _ if form == Form::Message => "",
            // A peer that leaves out zeros must not get something else for them, or be refused.
            (Dialect::Proto3, Presence::Default) if field.default.as_ref().is_none_or(is_zero) => {
                ""
            }
            (Dialect::Proto3, _) => "optional ",
        }
    }

    fn options(&self, field: &Field, form: Form) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |option: &str| options.push(option.to_owned());
        match (self.dialect, form, field.protobuf.expanded) {
            (Dialect::Edition2023, Form::Repeated(true), true) => {
                add("features.repeated_field_encoding = EXPANDED");
            }
            (Dialect::Proto3, Form::Repeated(true), true) => add("packed = false"),
            (Dialect::Proto2, Form::Repeated(true), false) => add("packed = true"),
            _ => {}
        }
        match (self.dialect, form, field.presence) {
            (Dialect::Edition2023, Form::Scalar | Form::Message, Presence::Required) => {
                add("features.field_presence = LEGACY_REQUIRED");
            }
            (Dialect::Edition2023, Form::Scalar, Presence::Default) => {
                add("features.field_presence = IMPLICIT");
            }
            _ => {}
        }
        if field.protobuf.delimited {
            add("features.message_encoding = DELIMITED");
        }
        if self.dialect != Dialect::Proto3
            && let Some(literal) = field.default.as_ref().and_then(|value| self.literal(value))
        {
            add(&format!("default = {literal}"));
        }
        let own = field.protobuf.json_name.clone();
        let name = own.unwrap_or_else(|| json_name(&field.name));
        if json_name(&self.style.field(&field.name)) != name {
            add(&format!("json_name = {}", quoted(&name)));
        }
        if field.deprecated.is_some() {
            add("deprecated = true");
        }
        if field.is_sensitive() {
            add("debug_redact = true");
        }
        options
    }

    /// Returns the properties of a field that a contract in another language has, and this one
    /// lacks.
    fn notes(&self, field: &Field) -> Vec<String> {
        if self.package.messages {
            return Vec::new();
        }
        let required = (field.presence == Presence::Required).then(|| "Required.".to_owned());
        let default = field.default.as_ref().and_then(|value| self.literal(value));
        let default = default.map(|literal| format!("Default: {literal}."));
        required.into_iter().chain(default).collect()
    }

    /// A default value; nothing for those that only other languages have.
    fn literal(&self, value: &Value) -> Option<String> {
        Some(match value {
            Value::Bool(truth) => truth.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Double(number) if number.is_nan() => "nan".to_owned(),
            Value::Double(number) => format!("{number:?}"),
            Value::String(text) => quoted(text),
            Value::Bytes(bytes) => escaped(bytes),
            Value::Enum(id, number) => match &self.schema[*id].kind {
                TypeKind::Enum(def) => {
                    let mut values = def.values.iter();
                    values.find(|value| value.number == *number)?.name.clone()
                }
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// True for what a field has in protobuf that nobody has set.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => !truth,
        Value::Int(number) => *number == 0,
        Value::Double(number) => number.to_bits() == 0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Uuid(bytes) => bytes.iter().all(|byte| *byte == 0),
        Value::Enum(_, number) => *number == 0,
        Value::List(_) | Value::Map(_) | Value::Struct(..) => false,
    }
}

/// Bytes as a literal, three digits for each that is no letter.
fn escaped(bytes: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", bytes.iter().map(byte).collect::<String>())
}
