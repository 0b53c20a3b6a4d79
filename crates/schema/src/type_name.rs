//! Types as a person reads them.

use crate::{Dimension, Schema, Type};

/// A type as Thrift's IDL writes it: `map<string, list<Point>>`.
pub fn type_name(schema: &Schema, ty: &Type) -> String {
    let simple = match ty {
        Type::Bool => "bool",
        Type::I8 => "i8",
        Type::I16 => "i16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::String => "string",
        Type::Bytes => "binary",
        Type::Uuid => "uuid",
        Type::Timestamp { offset: false } => "timestamp",
        Type::Timestamp { offset: true } => "timestamp_tz",
        Type::Date => "date",
        Type::Duration => "duration",
        Type::Decimal => "decimal",
        Type::Any => "any",
        Type::Dynamic => "dynamic",
        Type::List(item) => return format!("list<{}>", type_name(schema, item)),
        Type::Set(item) => return format!("set<{}>", type_name(schema, item)),
        Type::Map(key, value) => {
            let (key, value) = (type_name(schema, key), type_name(schema, value));
            return format!("map<{key}, {value}>");
        }
        Type::Array(item, dimensions) => return array_name(schema, item, dimensions),
        Type::Named(id) if Some(schema[*id].package) != schema.root() => {
            return schema.qualified_name(*id);
        }
        Type::Named(id) => &schema[*id].name,
        Type::Object(id) => &schema[*id].name,
    };
    simple.to_owned()
}

fn array_name(schema: &Schema, item: &Type, dimensions: &[Dimension]) -> String {
    let mut name = format!("array<{}", type_name(schema, item));
    for dimension in dimensions {
        match dimension {
            Dimension::Fixed(extent) => name += &format!(", {extent}"),
            Dimension::Dynamic => name += ", *",
        }
    }
    name + ">"
}
