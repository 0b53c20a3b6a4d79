//! The messages of protobuf itself that are types of every contract, as messages.

use crate::{Contract, Typed, TypedSlot, Value};
use dovetail_schema::{
    Annotations, Enum, EnumValue, Field, Package, PackageId, Presence, Reserved, Schema, Struct,
    StructKind, Type, TypeDef, TypeId, TypeKind,
};
use dovetail_wire::{Bytes, Encoding};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);
static CONTRACT: LazyLock<Contract<'static>> = LazyLock::new(|| Contract::new(&SCHEMA));

const TIMESTAMP: TypeId = TypeId(0);
const DURATION: TypeId = TypeId(1);
pub(super) const ANY: TypeId = TypeId(2);
const VALUE: TypeId = TypeId(3);
const STRUCT: TypeId = TypeId(4);
const LIST: TypeId = TypeId(5);
const NULL: TypeId = TypeId(6);

/// The numbers of the fields of `Any`.
pub(super) const TYPE_URL: i32 = 1;
pub(super) const ANY_VALUE: i32 = 2;

/// The message that a type is.
pub(super) fn find(ty: &Type) -> Option<(&'static Contract<'static>, TypeId)> {
    let id = match ty {
        Type::Timestamp { offset: false } => TIMESTAMP,
        Type::Duration => DURATION,
        Type::Any => ANY,
        Type::Dynamic => VALUE,
        _ => return None,
    };
    Some((&CONTRACT, id))
}

/// True for `Any`.
pub(super) fn is_any(contract: &Contract<'_>, id: TypeId) -> bool {
    std::ptr::eq(contract.schema(), &*SCHEMA) && id == ANY
}

/// A value of one type as a value of another one that is the same message in protobuf.
pub(super) fn convert(
    (from, from_type): (&Contract<'_>, &Type),
    value: &Value,
    (to, to_type): (&Contract<'_>, &Type),
) -> Result<Value, String> {
    let typed = Typed {
        contract: from,
        ty: from_type,
        value,
    };
    let bytes = Encoding::Protobuf.to_bytes(&typed);
    let bytes: Bytes = bytes.map_err(|problem| problem.to_string())?.into();
    read(to, to_type, &bytes)
}

/// The value that bytes are in protobuf.
pub(super) fn read(contract: &Contract<'_>, ty: &Type, bytes: &Bytes) -> Result<Value, String> {
    let mut slot = TypedSlot {
        contract,
        ty,
        value: None,
    };
    let read = Encoding::Protobuf.decode(&mut slot, bytes, Default::default());
    read.map_err(|problem| problem.to_string())?;
    slot.value
        .ok_or_else(|| "a message without a value".to_owned())
}

fn schema() -> Schema {
    let list = |ty| Type::List(Box::new(ty));
    let map = |key, value| Type::Map(Box::new(key), Box::new(value));
    let value = Type::Named(VALUE);
    let kinds = [
        ("null_value", Type::Named(NULL)),
        ("number_value", Type::F64),
        ("string_value", Type::String),
        ("bool_value", Type::Bool),
        ("struct_value", Type::Named(STRUCT)),
        ("list_value", Type::Named(LIST)),
    ];
    let mut types = vec![
        message("Timestamp", [("seconds", Type::I64), ("nanos", Type::I32)]),
        message("Duration", [("seconds", Type::I64), ("nanos", Type::I32)]),
        message("Any", [("type_url", Type::String), ("value", Type::Bytes)]),
        message("Value", kinds),
        message("Struct", [("fields", map(Type::String, value.clone()))]),
        message("ListValue", [("values", list(value))]),
        define(
            "NullValue",
            TypeKind::Enum(Enum {
                values: vec![EnumValue {
                    name: "NULL_VALUE".to_owned(),
                    number: 0,
                    doc: None,
                    annotations: Annotations::default(),
                    deprecated: None,
                }],
                closed: false,
                reserved: Reserved::default(),
            }),
        ),
    ];
    if let Some(TypeKind::Struct(value)) = types
        .get_mut(VALUE.0 as usize)
        .map(|def: &mut TypeDef| &mut def.kind)
    {
        for field in &mut value.fields {
            field.presence = Presence::Optional;
            field.protobuf.oneof = Some("kind".to_owned());
        }
    }
    let package = Package {
        name: "google.protobuf".to_owned(),
        messages: true,
        ..Package::default()
    };
    Schema {
        packages: vec![package],
        types,
        ..Schema::default()
    }
}

fn message<const N: usize>(name: &str, fields: [(&str, Type); N]) -> TypeDef {
    let fields = fields.into_iter().zip(1..);
    define(
        name,
        TypeKind::Struct(Struct {
            kind: StructKind::Struct,
            extends: None,
            fields: fields
                .map(|((name, ty), id)| Field::new(id, name, ty))
                .collect(),
            reserved: Reserved::default(),
        }),
    )
}

fn define(name: &str, kind: TypeKind) -> TypeDef {
    TypeDef {
        package: PackageId(0),
        name: name.to_owned(),
        doc: None,
        annotations: Annotations::default(),
        deprecated: None,
        kind,
    }
}
