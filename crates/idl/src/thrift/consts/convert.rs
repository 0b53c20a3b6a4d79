//! From the kind of value that was written, or referred to, to the type that is wanted.

use super::Evaluator;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::spelling;
use crate::thrift::resolve::resolve;
use crate::thrift::text_form;
use dovetail_schema::{Dimension, Type, TypeId, TypeKind, Value, text};
use std::collections::HashSet;

impl<'a> Evaluator<'a, '_> {
    /// Converts a value that stands on its own, or that a reference brought in.
    pub(super) fn convert(&mut self, value: Value, ty: &'a Type, span: Span) -> Option<Value> {
        let ty = resolve(self.schema, ty)?;
        let converted = match (value, ty) {
            (Value::Bool(value), Type::Bool) => Value::Bool(value),
            (Value::Int(value), Type::Bool) => {
                if !(0..=1).contains(&value) {
                    let message = format!("{value} stands for `true` here");
                    let warning = Diagnostic::warning("W0505", message).at(self.file, span, "");
                    self.sink.push(warning.help("write `true`"));
                }
                Value::Bool(value != 0)
            }
            (Value::Bool(value), ty) if range(ty).is_some() => {
                let message = format!("a bool stands for {} here", i32::from(value));
                let warning = Diagnostic::warning("W0502", message).at(self.file, span, "");
                self.sink
                    .push(warning.help(format!("write `{}`", i32::from(value))));
                Value::Int(value.into())
            }
            (Value::Int(value), Type::F32 | Type::F64) => Value::Double(value as f64),
            (Value::Int(value), Type::Decimal) => Value::String(value.to_string()),
            (Value::Int(value), Type::Named(id)) => return self.enum_number(value, *id, span, ty),
            (Value::Enum(have, value), Type::Named(want)) if have == *want => {
                Value::Enum(have, value)
            }
            (Value::Enum(_, value), ty) if range(ty).is_some() => {
                return self.in_range(value.into(), ty, span);
            }
            (Value::Int(value), ty) if range(ty).is_some() => {
                return self.in_range(value, ty, span);
            }
            (Value::Double(value), Type::F64) => Value::Double(value),
            (Value::Double(value), Type::F32) => {
                if value.abs() > f64::from(f32::MAX) {
                    let message = format!("{value:e} is too large for a float");
                    self.error("E0504", message, span, "write `double` as its type");
                    return None;
                }
                Value::Double(value)
            }
            (Value::String(value), Type::String) => Value::String(value),
            (Value::String(value), Type::Bytes) => Value::Bytes(value.into_bytes()),
            (Value::Bytes(value), Type::Bytes) => Value::Bytes(value),
            (Value::Uuid(value), Type::Uuid) => Value::Uuid(value),
            (Value::String(value), Type::Uuid) => match text_form::uuid(&value) {
                Some(uuid) => Value::Uuid(uuid),
                None => {
                    return self.bad_text(
                        &value,
                        ty,
                        span,
                        "\"00112233-4455-6677-8899-aabbccddeeff\"",
                    );
                }
            },
            (
                Value::String(value),
                Type::Decimal | Type::Date | Type::Duration | Type::Timestamp { .. },
            ) => {
                let (valid, example) = match ty {
                    Type::Decimal => (text::decimal(&value).is_some(), "\"-12.50\""),
                    Type::Date => (text::date(&value).is_some(), "\"2026-11-20\""),
                    Type::Duration => (
                        text::duration(&value).is_some(),
                        "\"PT1.5S\" or \"P1DT12H\"",
                    ),
                    Type::Timestamp { offset: false } => (
                        text::timestamp(&value, true).is_some(),
                        "\"2026-11-20T22:47:36Z\"",
                    ),
                    _ => (
                        text::timestamp(&value, false).is_some(),
                        "\"2026-11-20T23:47:36+01:00\"",
                    ),
                };
                match valid {
                    true => Value::String(value),
                    false => return self.bad_text(&value, ty, span, example),
                }
            }
            (Value::List(values), Type::List(item)) => {
                Value::List(self.convert_all(values, item, span)?)
            }
            (Value::List(values), Type::Set(item)) => {
                let mut values = self.convert_all(values, item, span)?;
                let (mut seen, count) = (HashSet::new(), values.len());
                values.retain(|value| seen.insert(format!("{value:?}")));
                if values.len() < count {
                    let message = "the list that this set refers to contains an element twice";
                    let warning = Diagnostic::warning("W0503", message).at(self.file, span, "");
                    self.sink.push(warning.help("refer to a set"));
                }
                Value::List(values)
            }
            (Value::Map(entries), Type::Map(key, value)) => {
                let mut converted = Vec::with_capacity(entries.len());
                for (have_key, have_value) in entries {
                    let key = self.convert(have_key, key, span)?;
                    converted.push((key, self.convert(have_value, value, span)?));
                }
                Value::Map(converted)
            }
            (Value::List(values), Type::Array(item, dimensions)) => {
                let value = Value::List(values);
                match shape(&value, dimensions) {
                    true => self.convert_array(value, item, dimensions.len(), span)?,
                    false => return self.mismatch(span, "an array of another shape", ty),
                }
            }
            (Value::Struct(have, fields), Type::Named(want)) if have == *want => {
                Value::Struct(have, fields)
            }
            (other, ty) => {
                let found = self.describe_value(&other);
                return self.mismatch(span, &found, ty);
            }
        };
        Some(converted)
    }

    fn convert_all(
        &mut self,
        values: Vec<Value>,
        item: &'a Type,
        span: Span,
    ) -> Option<Vec<Value>> {
        values
            .into_iter()
            .map(|value| self.convert(value, item, span))
            .collect()
    }

    fn convert_array(
        &mut self,
        value: Value,
        item: &'a Type,
        dimensions: usize,
        span: Span,
    ) -> Option<Value> {
        match value {
            Value::List(values) if dimensions > 0 => {
                let rows = values.into_iter();
                let rows = rows.map(|row| self.convert_array(row, item, dimensions - 1, span));
                rows.collect::<Option<Vec<_>>>().map(Value::List)
            }
            value => self.convert(value, item, span),
        }
    }

    fn enum_number(&mut self, value: i128, id: TypeId, span: Span, ty: &Type) -> Option<Value> {
        let TypeKind::Enum(def) = &self.schema[id].kind else {
            return self.mismatch(span, "an integer", ty);
        };
        let known = def
            .values
            .iter()
            .find(|known| i128::from(known.number) == value);
        if let Some(known) = known {
            return Some(Value::Enum(id, known.number));
        }
        let (file, place) = self.names.type_span(id);
        let message = format!(
            "no value of `{}` has the number {value}",
            self.schema[id].name
        );
        let error = Diagnostic::error("E0516", message)
            .at(self.file, span, "")
            .also(file, place, "defined here");
        let owner = self.written_name(id);
        let help = def
            .values
            .first()
            .map(|first| format!("name one of its values: `{owner}.{}`", first.name));
        self.sink.push(error.maybe_help(help));
        None
    }

    fn in_range(&mut self, value: i128, ty: &Type, span: Span) -> Option<Value> {
        let (low, high) = range(ty)?;
        if (low..=high).contains(&value) {
            return Some(Value::Int(value));
        }
        let name = self.describe(ty);
        let message = format!("{value} does not fit into {name}");
        self.error(
            "E0517",
            message,
            span,
            &format!("{name} goes from {low} to {high}"),
        );
        None
    }

    fn bad_text(&mut self, text: &str, ty: &Type, span: Span, example: &str) -> Option<Value> {
        let shown: String = text.chars().take(40).collect();
        let message = format!("\"{}\" is no {}", shown.escape_debug(), self.describe(ty));
        self.error(
            "E0518",
            message,
            span,
            &format!("it is written like {example}"),
        );
        None
    }

    pub(super) fn mismatch(&mut self, span: Span, found: &str, ty: &Type) -> Option<Value> {
        let message = format!("expected {}, found {found}", self.describe(ty));
        let help = match ty {
            Type::Bool => "write `true` or `false`".to_owned(),
            Type::String | Type::Bytes => "write \"…\"".to_owned(),
            Type::List(_) | Type::Set(_) | Type::Array(..) => "write `[…]`".to_owned(),
            Type::Map(..) => "write `{key: value}`".to_owned(),
            Type::Uuid => {
                "write it as a string: \"00112233-4455-6677-8899-aabbccddeeff\"".to_owned()
            }
            Type::Decimal => "write a number, or a string with its digits".to_owned(),
            Type::Timestamp { .. } | Type::Date | Type::Duration => {
                "write it as a string, in the form of ISO 8601".to_owned()
            }
            Type::Any | Type::Dynamic | Type::Object(_) => {
                "there are no constants of this type: leave the value out".to_owned()
            }
            Type::Named(id) => match &self.schema[*id].kind {
                TypeKind::Enum(def) => match def.values.first() {
                    Some(value) => format!(
                        "name one of its values: `{}.{}`",
                        self.written_name(*id),
                        value.name
                    ),
                    None => "this enum has no values".to_owned(),
                },
                _ => "write `{\"field\": value}`".to_owned(),
            },
            Type::F32 | Type::F64 => "write a number".to_owned(),
            _ => "write an integer".to_owned(),
        };
        self.error("E0519", message, span, &help);
        None
    }

    /// A type as messages name it.
    pub(super) fn describe(&self, ty: &Type) -> String {
        match ty {
            Type::Named(id) => format!("`{}`", self.schema[*id].name),
            Type::Object(id) => format!("`{}`", self.schema[*id].name),
            ty => spelling::spell(self.schema, ty),
        }
    }

    fn describe_value(&self, value: &Value) -> String {
        match value {
            Value::Bool(value) => format!("`{value}`"),
            Value::Int(value) => format!("the integer {value}"),
            Value::Double(_) => "a floating point number".to_owned(),
            Value::String(_) => "a string".to_owned(),
            Value::Bytes(_) => "a binary".to_owned(),
            Value::Uuid(_) => "a uuid".to_owned(),
            Value::Enum(id, _) => format!("a value of `{}`", self.schema[*id].name),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            Value::Struct(id, _) => format!("a `{}`", self.schema[*id].name),
        }
    }
}

/// The values of an integer type.
fn range(ty: &Type) -> Option<(i128, i128)> {
    Some(match ty {
        Type::I8 => (i8::MIN.into(), i8::MAX.into()),
        Type::I16 => (i16::MIN.into(), i16::MAX.into()),
        Type::I32 => (i32::MIN.into(), i32::MAX.into()),
        Type::I64 => (i64::MIN.into(), i64::MAX.into()),
        Type::U8 => (0, u8::MAX.into()),
        Type::U16 => (0, u16::MAX.into()),
        Type::U32 => (0, u32::MAX.into()),
        Type::U64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Returns whether a value has the shape of an array: rectangular, with the extents that are fixed.
fn shape(value: &Value, dimensions: &[Dimension]) -> bool {
    let Some((dimension, inner)) = dimensions.split_first() else {
        return true;
    };
    let Value::List(rows) = value else {
        return false;
    };
    let fits = match dimension {
        Dimension::Fixed(size) => rows.len() == *size as usize,
        Dimension::Dynamic => true,
    };
    let length = |row: &Value| match row {
        Value::List(items) => items.len(),
        _ => 0,
    };
    let first = rows.first().map(length);
    let even = inner.is_empty() || rows.iter().all(|row| Some(length(row)) == first);
    fits && even && rows.iter().all(|row| shape(row, inner))
}
