//! Fields, parameters and declared exceptions.

use super::{Writer, untyped};
use dovetail_schema::{Field, Presence, Sharing, StructKind};

/// The largest id of a field that Thrift has.
const MAX: i32 = i16::MAX as i32;

impl Writer<'_> {
    /// A field on a line of its own.
    pub(super) fn line(&self, field: &Field, of: StructKind) -> String {
        let deprecated = field.deprecated.as_deref();
        let before = self.before(field.doc.as_deref(), &field.annotations, deprecated, "  ");
        format!("{before}  {}\n", self.field(field, of == StructKind::Union))
    }

    /// Parameters, or, as a choice of one, exceptions.
    pub(super) fn list(&self, fields: &[Field], choice: bool) -> String {
        let fields = fields.iter().map(|field| {
            let deprecated = field.deprecated.as_deref();
            let before = self.before(field.doc.as_deref(), &field.annotations, deprecated, "    ");
            let field = self.field(field, choice);
            match before.is_empty() {
                true => field,
                false => format!("\n{before}    {field}"),
            }
        });
        fields.collect::<Vec<_>>().join(", ")
    }

    /// ` throws (1: NotFound missing)`, or nothing.
    pub(super) fn throws(&self, fields: &[Field]) -> String {
        match fields.is_empty() {
            true => String::new(),
            false => format!(" throws ({})", self.list(fields, true)),
        }
    }

    /// `1: required i32 number = 7`. Of the fields of a choice there is one: presence goes without
    /// saying.
    fn field(&self, field: &Field, choice: bool) -> String {
        let (id, name) = (field.id, field.short_name());
        if field.extension().is_some() {
            self.refuse("Thrift has no extensions", name);
        }
        if id > MAX {
            self.refuse("the largest id of a field is 32767 in Thrift", name);
        }
        let presence = match field.presence {
            Presence::Required => "required ",
            Presence::Optional if !choice => "optional ",
            _ => "",
        };
        let sharing = match field.sharing {
            Sharing::Value => "",
            Sharing::Ref => "ref ",
        };
        let default = match &field.default {
            Some(value) => format!(" = {}", self.value(value, name)),
            None => String::new(),
        };
        let after = untyped(&field.annotations.untyped);
        format!(
            "{id}: {presence}{sharing}{} {name}{default}{after}",
            self.ty(&field.ty)
        )
    }
}
