//! The contracts that this generator refuses, by name, before it prints a line.

use crate::Unsupported;
use crate::facts::Facts;
use dovetail_schema::{Dimension, Field, Method, Schema, Sharing, Type, TypeDef, TypeId, TypeKind};

/// Parameters and declared exceptions that the runtime's tables have room for.
const MAX: usize = 32;

/// Extents of an array that are part of its value, or stand before one that is.
const MAX_EXTENTS: usize = 8;

/// Everything in the schema that cannot be expressed.
pub(super) fn unsupported(schema: &Schema, facts: &Facts<'_>) -> Vec<Unsupported> {
    let mut check = Check {
        schema,
        facts,
        found: Vec::new(),
    };
    for (index, def) in schema.types.iter().enumerate() {
        check.type_def(TypeId(index as u32), def);
    }
    for constant in &schema.constants {
        let package = &schema[constant.package].name;
        check.ty(&constant.ty, &format!("`{package}.{}`", constant.name));
    }
    for service in &schema.services {
        let service_name = format!("{}.{}", schema[service.package].name, service.name);
        for method in &service.methods {
            check.method(method, &format!("`{service_name}.{}`", method.name));
        }
    }
    check.found
}

struct Check<'a> {
    schema: &'a Schema,
    facts: &'a Facts<'a>,
    found: Vec<Unsupported>,
}

impl Check<'_> {
    fn refuse(&mut self, at: &str, what: impl Into<String>) {
        self.found.push(Unsupported {
            what: what.into(),
            at: at.to_owned(),
        });
    }

    fn type_def(&mut self, id: TypeId, def: &TypeDef) {
        let at = format!("`{}`", self.schema.qualified_name(id));
        match &def.kind {
            TypeKind::Alias(target) => self.ty(target, &at),
            TypeKind::Enum(_) => {}
            TypeKind::Struct(def) => {
                for field in &def.fields {
                    self.field(field, &at);
                    if field.sharing == Sharing::Ref && self.facts.keyed(id) {
                        let at = format!("{at}, field `{}`", field.name);
                        self.refuse(&at, "a `ref` cannot be compared, and the struct is a key");
                    }
                }
            }
        }
    }

    fn field(&mut self, field: &Field, owner: &str) {
        let at = format!("{owner}, field `{}`", field.name);
        self.ty(&field.ty, &at);
    }

    fn ty(&mut self, ty: &Type, at: &str) {
        match ty {
            Type::List(item) | Type::Set(item) => self.ty(item, at),
            Type::Map(key, value) => {
                self.ty(key, at);
                self.ty(value, at);
            }
            Type::Array(item, dimensions) => {
                self.array(dimensions, at);
                self.ty(item, at);
            }
            _ => {}
        }
    }

    fn array(&mut self, dimensions: &[Dimension], at: &str) {
        let free = |dimension: &Dimension| *dimension == Dimension::Dynamic;
        let grouped = dimensions.iter().rposition(free).map_or(0, |last| last + 1);
        if grouped > MAX_EXTENTS {
            let text =
                format!("an array has at most {MAX_EXTENTS} extents up to the last free one");
            self.refuse(at, text);
        }
    }

    fn throws(&mut self, throws: &[Field], owner: &str) {
        for field in throws.iter().filter(|f| f.sharing == Sharing::Ref) {
            let at = format!("{owner}, field `{}`", field.name);
            self.refuse(&at, "an exception is thrown as a value; remove `ref`");
        }
    }

    fn method(&mut self, method: &Method, at: &str) {
        for param in &method.params {
            self.field(param, at);
        }
        if let Some(result) = &method.result {
            self.ty(result, at);
        }
        self.throws(&method.throws, at);
        let streams = method.client_stream.is_some() || method.server_stream.is_some();
        if (method.oneway || streams) && !self.facts.passed(method).is_empty() {
            self.refuse(
                at,
                "references to objects are passed by methods that have an answer and no streams",
            );
        }
        let mut counts = vec![
            (method.params.len(), "parameters"),
            (method.throws.len(), "declared exceptions"),
        ];
        for stream in [&method.client_stream, &method.server_stream]
            .into_iter()
            .flatten()
        {
            self.ty(&stream.item, at);
            self.throws(&stream.throws, at);
            let thrown = stream.throws.iter().map(|field| &field.ty);
            if !self.facts.objects(thrown.chain([&stream.item])).is_empty() {
                self.refuse(
                    at,
                    "the items of a stream cannot refer to objects; return them in a list",
                );
            }
            counts.push((stream.throws.len(), "exceptions of a stream"));
        }
        for (count, what) in counts {
            if count > MAX {
                let text = format!(
                    "it has {count} {what}, and at most {MAX} are possible; \
                     put them into a struct"
                );
                self.refuse(at, text);
            }
        }
    }
}
