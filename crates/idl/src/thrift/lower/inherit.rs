//! Checks that inherited members of structs and services do not clash with their own.

use super::Lower;
use crate::diagnostic::Diagnostic;
use crate::graph::{self, Edges};
use crate::source::{FileId, Span};
use crate::thrift::ast::DefinitionKind;
use crate::thrift::resolve::Defined;
use dovetail_schema::{LONGEST_CHAIN, ServiceId, StructKind, TypeId, TypeKind};
use std::collections::HashMap;

impl Lower<'_, '_> {
    pub(super) fn inheritance(&mut self) {
        self.service_cycles();
        for index in 0..self.schema.services.len() {
            if self.schema.services[index].extends.is_some() {
                self.inherited_methods(ServiceId(index as u32));
            }
        }
        for index in 0..self.schema.types.len() {
            let TypeKind::Struct(def) = &self.schema.types[index].kind else {
                continue;
            };
            if def.extends.is_some() && def.kind != StructKind::Union {
                self.inherited_fields(TypeId(index as u32));
            }
        }
    }

    fn service_cycles(&mut self) {
        let base = |service: &dovetail_schema::Service| {
            service
                .extends
                .map(|base| base.0 as usize)
                .into_iter()
                .collect()
        };
        let edges: Edges = self.schema.services.iter().map(base).collect();
        for cycle in graph::cycles(&edges) {
            let name = |index: &usize| self.schema.services[*index].name.as_str();
            let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
            let message = format!(
                "services extend each other in a circle: {}",
                path.join(" → ")
            );
            let mut error = Diagnostic::error("E0310", message);
            for (at, index) in cycle.iter().take(8).enumerate() {
                let Defined { file, definition } = self.names.services[*index];
                error = match at {
                    0 => error.at(file, definition.name.span, ""),
                    _ => error.also(file, definition.name.span, ""),
                };
            }
            self.sink
                .push(error.help("one of them must stand on its own"));
            for index in cycle {
                self.schema.services[index].extends = None;
            }
        }
    }

    /// The chain is walked for every service: contracts whose chains are long enough to make that
    /// slow are refused by [`LONGEST_CHAIN`].
    fn inherited_methods(&mut self, id: ServiceId) {
        let Defined { file, definition } = self.names.services[id.0 as usize];
        let DefinitionKind::Service { methods: own, .. } = &definition.kind else {
            return;
        };
        let own: HashMap<&str, Span> = own
            .iter()
            .map(|method| (method.name.text.as_str(), method.name.span))
            .collect();
        let mut next = self.schema[id].extends;
        for _ in 0..LONGEST_CHAIN {
            let Some(base) = next else { return };
            let Defined {
                file: other,
                definition,
            } = self.names.services[base.0 as usize];
            if let DefinitionKind::Service { methods, .. } = &definition.kind {
                for inherited in methods {
                    if let Some(span) = own.get(inherited.name.text.as_str()) {
                        let message = format!(
                            "`{}` is inherited from `{}` already",
                            inherited.name.text, definition.name.text
                        );
                        let error = Diagnostic::error("E0605", message)
                            .at(file, *span, "defined again")
                            .also(other, inherited.name.span, "inherited from here");
                        self.sink
                            .push(error.help("rename or remove it: methods cannot be replaced"));
                    }
                }
            }
            next = self.schema[base].extends;
        }
        // One report for a chain, at the first service that is too far down.
        if next.is_some_and(|base| self.schema[base].extends.is_none()) {
            self.chain_too_long(file, definition.name.span);
        }
    }

    fn inherited_fields(&mut self, id: TypeId) {
        let Defined { file, definition } = self.names.types[id.0 as usize];
        let DefinitionKind::Struct(body) = &definition.kind else {
            return;
        };
        let TypeKind::Struct(def) = &self.schema[id].kind else {
            return;
        };
        let spans = || body.fields.iter().map(|field| field.name.span);
        let own = || def.fields.iter().zip(spans());
        let names: HashMap<&str, Span> = own()
            .map(|(field, span)| (field.name.as_str(), span))
            .collect();
        let ids: HashMap<i32, Span> = own().map(|(field, span)| (field.id, span)).collect();
        let mut next = def.extends;
        for _ in 0..LONGEST_CHAIN {
            let Some(base) = next else { return };
            let TypeKind::Struct(def) = &self.schema[base].kind else {
                return;
            };
            let Defined {
                file: other,
                definition,
            } = self.names.types[base.0 as usize];
            let DefinitionKind::Struct(written) = &definition.kind else {
                return;
            };
            for (field, written) in def.fields.iter().zip(&written.fields) {
                let (span, what) = match (names.get(field.name.as_str()), ids.get(&field.id)) {
                    (Some(span), _) => (*span, format!("the name `{}`", field.name)),
                    (None, Some(span)) => (*span, format!("the id {}", field.id)),
                    (None, None) => continue,
                };
                let message = format!(
                    "{what} belongs to a field inherited from `{}`",
                    definition.name.text
                );
                let error = Diagnostic::error("E0420", message)
                    .at(file, span, "used again")
                    .also(other, written.name.span, "inherited from here");
                self.sink.push(
                    error.help("a struct and those that it extends share one set of ids and names"),
                );
            }
            next = def.extends;
        }
        let first = |base: TypeId| match &self.schema[base].kind {
            TypeKind::Struct(def) => def.extends.is_none(),
            _ => false,
        };
        if next.is_some_and(first) {
            self.chain_too_long(file, definition.name.span);
        }
    }

    fn chain_too_long(&mut self, file: FileId, span: Span) {
        let message = format!("more than {LONGEST_CHAIN} steps of `extends`");
        let error = Diagnostic::error("E0421", message).at(file, span, "");
        self.sink.push(error.help("leave out some of them"));
    }
}
