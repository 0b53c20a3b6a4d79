//! Messages as text.

use super::lexer::Lexer;
use super::{group_name, message_of, scalar, well_known};
use crate::codec::{MISTYPED, deeper};
use crate::{Contract, MAX_DEPTH, Struct, Value, any};
use dovetail_schema::{Field, Type, TypeId, TypeKind};
use dovetail_wire::{
    Bytes, Cursor, DecodeError, EncodeError, Limits, NextField, Reader as _, UnknownValue, protobuf,
};

type Result<T> = std::result::Result<T, EncodeError>;

/// Whether text has the fields that the contract does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownText {
    /// They are left out.
    #[default]
    Omitted,
    /// They stand there by their numbers.
    Shown,
}

/// How deep bytes of unknown fields are looked into.
const UNKNOWN_DEPTH: usize = 10;

/// A message in protobuf's text format, with a field in each line. Messages in an `Any` are shown
/// with their fields where the contract has their types. Values that only other contracts than
/// protobuf's have are an error.
pub fn to_text(
    contract: &Contract<'_>,
    ty: &Type,
    value: &Value,
    unknown: UnknownText,
) -> Result<String> {
    let mut writer = Writer {
        out: Vec::new(),
        indent: 0,
        unknown,
    };
    writer.message(contract, ty, value, MAX_DEPTH)?;
    // All pieces are text.
    String::from_utf8(writer.out).map_err(|_| MISTYPED)
}

struct Writer {
    out: Vec<u8>,
    indent: usize,
    unknown: UnknownText,
}

impl Writer {
    fn line(&mut self, name: &str) {
        self.out.resize(self.out.len() + 2 * self.indent, b' ');
        self.out.extend_from_slice(name.as_bytes());
    }

    /// Writes `name { … }`.
    fn block(&mut self, name: &str, inside: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.line(name);
        self.out.extend_from_slice(b" {\n");
        self.indent += 1;
        inside(self)?;
        self.indent -= 1;
        self.line("}\n");
        Ok(())
    }

    /// Writes `name: value`.
    fn scalar(&mut self, name: &str, value: &str) {
        self.line(name);
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'\n');
    }

    fn string(&mut self, name: &str, value: &[u8], all: bool) {
        self.line(name);
        self.out.extend_from_slice(b": ");
        scalar::quote(value, all, &mut self.out);
        self.out.push(b'\n');
    }

    /// Writes the fields of a message.
    fn message(
        &mut self,
        contract: &Contract<'_>,
        ty: &Type,
        value: &Value,
        left: usize,
    ) -> Result<()> {
        let left = deeper(left)?;
        let (known, id) = message_of(contract, ty).ok_or(MISTYPED)?;
        if let Value::Struct(fields) = value {
            return self.fields(known, id, fields, left);
        }
        if let Value::Any(value) = value
            && value.encoding == 0
            && is_readable(&value.type_name)
            && let Some(ty) = any::named(contract.schema(), value.name())
            && let Ok(inner) = well_known::read(contract, &ty, &value.value)
        {
            let name = format!("[{}]", value.type_name);
            return self.block(&name, |writer| writer.message(contract, &ty, &inner, left));
        }
        let same = well_known::convert((contract, ty), value, (known, &Type::Named(id)));
        match same {
            Ok(Value::Struct(fields)) => self.fields(known, id, &fields, left),
            _ => Err(MISTYPED),
        }
    }

    fn fields(
        &mut self,
        contract: &Contract<'_>,
        id: TypeId,
        value: &Struct,
        left: usize,
    ) -> Result<()> {
        let table = contract.table(id).ok_or(MISTYPED)?;
        for (field, row) in table.fields.iter().zip(table.wire()) {
            let Some(value) = value.get(field.id) else {
                continue;
            };
            if !(row.implicit && value.is_zero()) {
                self.field(contract, id, field, value, left)?;
            }
        }
        match self.unknown {
            UnknownText::Omitted => {}
            UnknownText::Shown => {
                let fields = value.unknown_fields.iter();
                fields.for_each(|(id, value)| self.unknown_field(*id, value, UNKNOWN_DEPTH));
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        contract: &Contract<'_>,
        owner: TypeId,
        field: &Field,
        value: &Value,
        left: usize,
    ) -> Result<()> {
        let name = group_name(contract, owner, field).unwrap_or(&field.name);
        match (contract.schema().resolve(&field.ty), value) {
            (Type::List(item), Value::List(items)) => items
                .iter()
                .try_for_each(|value| self.value(contract, name, item, value, left)),
            (Type::Map(key, item), Value::Map(entries)) => {
                let left = deeper(left)?;
                entries.iter().try_for_each(|(k, v)| {
                    self.block(name, |writer| {
                        writer.value(contract, "key", key, k, left)?;
                        writer.value(contract, "value", item, v, left)
                    })
                })
            }
            (ty, value) => self.value(contract, name, ty, value, left),
        }
    }

    fn value(
        &mut self,
        contract: &Contract<'_>,
        name: &str,
        ty: &Type,
        value: &Value,
        left: usize,
    ) -> Result<()> {
        let ty = contract.schema().resolve(ty);
        if message_of(contract, ty).is_some() {
            return self.block(name, |writer| writer.message(contract, ty, value, left));
        }
        let text = match (ty, value) {
            (_, Value::Bool(value)) => value.to_string(),
            (_, Value::Int(value)) => value.to_string(),
            (_, Value::UInt(value)) => value.to_string(),
            (_, Value::Float(value)) if value.is_nan() => "nan".to_owned(),
            (Type::F32, Value::Float(value)) => format!("{:?}", *value as f32),
            (_, Value::Float(value)) => format!("{value:?}"),
            (Type::Named(id), Value::Enum(number)) => match &contract.schema()[*id].kind {
                TypeKind::Enum(def) => {
                    let known = def.values.iter().find(|value| value.number == *number);
                    known.map_or_else(|| number.to_string(), |value| value.name.clone())
                }
                _ => return Err(MISTYPED),
            },
            (_, Value::String(value)) => {
                self.string(name, value.as_bytes(), false);
                return Ok(());
            }
            (_, Value::Bytes(value)) => {
                self.string(name, value, true);
                return Ok(());
            }
            (_, Value::Uuid(value)) => {
                self.string(name, value.as_bytes(), true);
                return Ok(());
            }
            _ => {
                return Err(EncodeError::Unsupported {
                    what: "a type that protobuf does not have, in its text format",
                });
            }
        };
        self.scalar(name, &text);
        Ok(())
    }

    /// Writes a field by its number. What has a length is shown as a message where it may be one.
    fn unknown_field(&mut self, id: i32, value: &UnknownValue, depth: usize) {
        let name = id.to_string();
        match value {
            UnknownValue::Varint(value) => self.scalar(&name, &value.to_string()),
            UnknownValue::Fixed32(value) => self.scalar(&name, &format!("{value:#010x}")),
            UnknownValue::Fixed64(value) => self.scalar(&name, &format!("{value:#018x}")),
            UnknownValue::Delimited(bytes) | UnknownValue::Group(bytes) => {
                let group = matches!(value, UnknownValue::Group(_));
                let message = depth.checked_sub(1).filter(|_| group || !bytes.is_empty());
                let fields = message.and_then(|left| Some((left, unknown_fields(bytes).ok()?)));
                // Text does not tell groups from other messages: bytes with some would be read as
                // others.
                let is_group = |(_, value): &(i32, _)| matches!(value, UnknownValue::Group(_));
                let fields = fields.filter(|(_, fields)| group || !fields.iter().any(is_group));
                let Some((left, fields)) = fields else {
                    return self.string(&name, bytes, true);
                };
                self.line(&name);
                self.out.extend_from_slice(b" {\n");
                self.indent += 1;
                for (id, value) in &fields {
                    self.unknown_field(*id, value, left);
                }
                self.indent -= 1;
                self.line("}\n");
            }
            // Other encodings than protobuf's have these.
            _ => {}
        }
    }
}

/// Whether the name of a type can stand in brackets.
fn is_readable(name: &str) -> bool {
    let bracketed = format!("{name}]");
    let read = Lexer::new(&bracketed).bracketed();
    name.contains('/') && read.as_deref() == Ok(name)
}

/// The fields of a message of which nothing is known.
fn unknown_fields(bytes: &Bytes) -> std::result::Result<Vec<(i32, UnknownValue)>, DecodeError> {
    let mut reader = protobuf::Reader::shared(bytes, Limits::default());
    let (mut fields, mut cursor) = (Vec::new(), Cursor::default());
    reader.begin_struct()?;
    while let NextField::Unknown(id) = reader.next_field(&[], &mut cursor)? {
        fields.push((id, reader.unknown_value()?));
    }
    Ok(fields)
}
