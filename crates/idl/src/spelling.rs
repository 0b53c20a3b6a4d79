//! Types as a file spells them.

use dovetail_schema::{Dimension, Schema, Type};

/// The spelling of a type in a `.thrift` file, with plain names for what the schema defines.
pub fn spell(schema: &Schema, ty: &Type) -> String {
    let name = match ty {
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
        Type::List(item) => return format!("list<{}>", spell(schema, item)),
        Type::Set(item) => return format!("set<{}>", spell(schema, item)),
        Type::Map(key, value) => {
            return format!("map<{}, {}>", spell(schema, key), spell(schema, value));
        }
        Type::Array(item, dimensions) => {
            let extent = |dimension: &Dimension| match dimension {
                Dimension::Fixed(size) => format!(", {size}"),
                Dimension::Dynamic => ", *".to_owned(),
            };
            let extents: String = dimensions.iter().map(extent).collect();
            return format!("array<{}{extents}>", spell(schema, item));
        }
        Type::Named(id) => schema
            .types
            .get(id.0 as usize)
            .map_or("?", |def| def.name.as_str()),
        Type::Object(id) => schema
            .services
            .get(id.0 as usize)
            .map_or("?", |s| s.name.as_str()),
    };
    name.to_owned()
}
