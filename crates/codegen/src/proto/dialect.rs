//! Which of its dialects says a contract.

use super::messages::twice_in_json;
use dovetail_schema::{Enum, Field, PackageId, Presence, Schema, Type, TypeKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Proto3,
    Proto2,
    Edition2023,
}

impl Dialect {
    /// The first that says everything: contracts that did not come from protobuf's language have no
    /// closed enums, and what is required and defaults are not on the wire.
    pub(super) fn of(schema: &Schema, id: PackageId) -> Dialect {
        let facts = Facts::of(schema, id);
        let says_new = |field: &&Field| {
            field.presence != Presence::Required
                && field.default.is_none()
                && !field.protobuf.delimited
                && !is_closed(schema, &field.ty)
        };
        let says_old = |field: &&Field| {
            let implicit = field.presence == Presence::Default && !is_repeated(schema, &field.ty);
            !implicit && !field.protobuf.delimited
        };
        let closed = |def: &&Enum| def.closed;
        let is_new =
            facts.fields.iter().all(says_new) && !facts.enums.iter().any(closed) && !facts.clash;
        let is_old = facts.fields.iter().all(says_old) && facts.enums.iter().all(closed);
        if is_new || !schema[id].messages {
            Dialect::Proto3
        } else if is_old {
            Dialect::Proto2
        } else {
            Dialect::Edition2023
        }
    }

    pub(super) fn statement(self) -> &'static str {
        match self {
            Dialect::Proto3 => "syntax = \"proto3\";",
            Dialect::Proto2 => "syntax = \"proto2\";",
            Dialect::Edition2023 => "edition = \"2023\";",
        }
    }
}

/// The contents of the types of a package.
#[derive(Default)]
struct Facts<'a> {
    fields: Vec<&'a Field>,
    enums: Vec<&'a Enum>,
    /// Fields have the same name in JSON, which only proto2 permits.
    clash: bool,
}

impl<'a> Facts<'a> {
    fn of(schema: &'a Schema, id: PackageId) -> Self {
        let mut facts = Facts::default();
        for def in schema.types.iter().filter(|def| def.package == id) {
            match &def.kind {
                TypeKind::Struct(def) => {
                    facts.clash |= twice_in_json(def.fields.iter()).is_some();
                    facts.fields.extend(&def.fields);
                }
                TypeKind::Enum(def) => facts.enums.push(def),
                TypeKind::Alias(_) => {}
            }
        }
        facts
    }
}

fn is_repeated(schema: &Schema, ty: &Type) -> bool {
    matches!(
        schema.resolve(ty),
        Type::List(_) | Type::Set(_) | Type::Map(..)
    )
}

fn is_closed(schema: &Schema, ty: &Type) -> bool {
    match schema.resolve(ty) {
        Type::List(item) | Type::Map(_, item) => is_closed(schema, item),
        Type::Named(id) => matches!(&schema[*id].kind, TypeKind::Enum(def) if def.closed),
        _ => false,
    }
}
