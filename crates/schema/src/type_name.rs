//! Types as a person reads them.

use crate::{Dimension, PackageId, Schema, Type};

/// A type as Thrift's IDL writes it: `map<string, list<Point>>`. Types that the root package does
/// not define have their package in front.
pub fn type_name(schema: &Schema, ty: &Type) -> String {
    type_name_in(schema, ty, schema.root())
}

/// Returns the name for a reader of this package: its types have no package in front.
pub fn type_name_in(schema: &Schema, ty: &Type, here: Option<PackageId>) -> String {
    let name = |ty: &Type| type_name_in(schema, ty, here);
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
        Type::List(item) => return format!("list<{}>", name(item)),
        Type::Set(item) => return format!("set<{}>", name(item)),
        Type::Map(key, value) => {
            let (key, value) = (name(key), name(value));
            return format!("map<{key}, {value}>");
        }
        Type::Array(item, dimensions) => return array_name(&name(item), dimensions),
        Type::Named(id) if Some(schema[*id].package) != here => {
            return schema.qualified_name(*id);
        }
        Type::Named(id) => &schema[*id].name,
        Type::Object(id) => &schema[*id].name,
    };
    simple.to_owned()
}

fn array_name(item: &str, dimensions: &[Dimension]) -> String {
    let mut name = format!("array<{item}");
    for dimension in dimensions {
        match dimension {
            Dimension::Fixed(extent) => name += &format!(", {extent}"),
            Dimension::Dynamic => name += ", *",
        }
    }
    name + ">"
}
