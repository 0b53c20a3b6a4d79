//! Types that contain themselves.

use super::Lower;
use crate::diagnostic::Diagnostic;
use crate::graph::{self, Edges};
use crate::thrift::ast::DefinitionKind;
use crate::thrift::parser::MAX_DEPTH;
use crate::thrift::resolve::{POISON, resolve};
use dovetail_schema::{Dimension, Presence, Sharing, StructKind, Type, TypeId, TypeKind};

impl Lower<'_, '_> {
    /// Refuses typedefs that lead back to themselves, and those that nest too deeply when followed.
    pub(super) fn alias_cycles(&mut self) {
        let mut edges = Edges::new();
        for def in &self.schema.types {
            let mut needed = Vec::new();
            if let TypeKind::Alias(target) = &def.kind {
                named(target, &mut needed);
            }
            // Structs and enums are names on their own: a typedef may lead back to itself through
            // them.
            needed.retain(|id| {
                let target = self.schema.types.get(*id);
                target.is_some_and(|def| matches!(def.kind, TypeKind::Alias(_)))
            });
            edges.push(needed);
        }
        for cycle in graph::cycles(&edges) {
            let name = |index: &usize| self.schema.types[*index].name.as_str();
            let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
            let message = format!("typedefs go in a circle: {}", path.join(" → "));
            let error = self.circle("E0308", message, &cycle);
            self.sink
                .push(error.help("one of them must name a type that is not among them"));
        }
        let mut depth = vec![0; edges.len()];
        for component in graph::components(&edges) {
            for &index in &component {
                let TypeKind::Alias(target) = &self.schema.types[index].kind else {
                    continue;
                };
                let circle = component.len() > 1 || edges[index].contains(&index);
                depth[index] = if circle {
                    usize::MAX
                } else {
                    nesting(target, &depth)
                };
                if depth[index] > MAX_DEPTH {
                    if depth[index] != usize::MAX {
                        let (file, span) = self.names.type_span(TypeId(index as u32));
                        let message = format!("this type nests more than {MAX_DEPTH} deep");
                        let error = Diagnostic::error("E0418", message).at(file, span, "");
                        self.sink
                            .push(error.help("put one of the inner types into a struct"));
                        depth[index] = 0;
                    }
                    self.schema.types[index].kind = TypeKind::Alias(POISON);
                }
            }
        }
    }

    /// Finds structs that always contain themselves: no finite value exists. A field that leads
    /// back becomes optional, which is what peers make of one of default presence; one that is
    /// required Apache accepts, and nobody can write it.
    pub(super) fn recursion(&mut self) {
        self.break_extends();
        loop {
            let cycles = graph::cycles(&self.containment(false));
            if cycles.is_empty() || !cycles.iter().all(|cycle| self.break_required(cycle)) {
                break;
            }
        }
        let always = self.containment(true);
        let mut member_of = vec![usize::MAX; always.len()];
        for (number, component) in graph::components(&always).iter().enumerate() {
            component
                .iter()
                .for_each(|member| member_of[*member] = number);
        }
        for index in 0..self.schema.types.len() {
            let DefinitionKind::Struct(body) = &self.names.types[index].definition.kind else {
                continue;
            };
            let TypeKind::Struct(def) = &self.schema.types[index].kind else {
                continue;
            };
            let mut endless = Vec::new();
            for (place, field) in def.fields.iter().enumerate() {
                let target = self.contained(&field.ty);
                let back = target.is_some_and(|target| member_of[target] == member_of[index]);
                if back && field.presence == Presence::Default && field.sharing == Sharing::Value {
                    endless.push(place);
                }
            }
            if def.kind == StructKind::Union {
                continue;
            }
            for place in endless {
                let (file, _) = self.names.type_span(TypeId(index as u32));
                let written = &body.fields[place];
                let message = format!("`{}` leads back to its own struct", written.name.text);
                let warning = Diagnostic::warning("W0408", message)
                    .at(file, written.ty.span, "treated as optional")
                    .note("a value that always contains another one of its kind has no end");
                self.sink.push(warning.help("write `optional`"));
                if let TypeKind::Struct(def) = &mut self.schema.types[index].kind {
                    def.fields[place].presence = Presence::Optional;
                }
            }
        }
        self.warn_of_depth();
    }

    /// Warns of structs whose every value nests deeper than readers allow. Of those that contain
    /// each other, the innermost is named.
    fn warn_of_depth(&mut self) {
        let contained = self.containment(true);
        let mut depths = vec![1; contained.len()];
        for index in graph::components(&contained).concat() {
            let inside = contained[index].iter().map(|inside| depths[*inside]).max();
            depths[index] = 1 + inside.unwrap_or(0);
            if depths[index] == MAX_NESTED + 1 {
                let (file, span) = self.names.type_span(TypeId(index as u32));
                let name = &self.schema.types[index].name;
                let message = format!("every `{name}` nests more than {MAX_NESTED} structs deep");
                let warning = Diagnostic::warning("W0410", message).at(file, span, "");
                let warning =
                    warning.note("readers refuse it, unless their limit `depth` is raised");
                self.sink
                    .push(warning.help("make one of the fields optional"));
            }
        }
    }

    /// Makes a required field optional that is part of a circle. False where the circle has none.
    fn break_required(&mut self, cycle: &[usize]) -> bool {
        let next = cycle.iter().cycle().skip(1);
        let steps = cycle.iter().zip(next);
        let broken = steps.into_iter().find_map(|(index, next)| {
            let TypeKind::Struct(def) = &self.schema.types[*index].kind else {
                return None;
            };
            let place = def.fields.iter().position(|field| {
                field.presence == Presence::Required
                    && field.sharing == Sharing::Value
                    && self.contained(&field.ty) == Some(*next)
            });
            Some((*index, place?))
        });
        let name = |index: &usize| self.schema.types[*index].name.as_str();
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
        let message = match path.as_slice() {
            [only, _] => format!("`{only}` always contains another `{only}`, without end"),
            _ => format!(
                "these structs always contain each other: {}",
                path.join(" → ")
            ),
        };
        let Some((index, place)) = broken else {
            return false;
        };
        let (file, _) = self.names.type_span(TypeId(index as u32));
        let mut warning = Diagnostic::warning("W0409", message);
        if let DefinitionKind::Struct(body) = &self.names.types[index].definition.kind
            && let Some(written) = body.fields.get(place)
        {
            warning = warning.at(file, written.ty.span, "treated as optional");
        }
        let warning =
            warning.note("Apache Thrift accepts it, though no message can have all of its fields");
        self.sink
            .push(warning.help("write `optional`, or make it a list"));
        if let TypeKind::Struct(def) = &mut self.schema.types[index].kind {
            def.fields[place].presence = Presence::Optional;
        }
        true
    }

    /// Which structs are always part of which; with `default`, fields of default presence count,
    /// too.
    fn containment(&self, default: bool) -> Edges {
        let edges = self.schema.types.iter().map(|def| {
            let TypeKind::Struct(def) = &def.kind else {
                return Vec::new();
            };
            if def.kind == StructKind::Union {
                return Vec::new();
            }
            let always = def.fields.iter().filter(|field| match field.presence {
                Presence::Required => field.sharing == Sharing::Value,
                Presence::Default => default && field.sharing == Sharing::Value,
                Presence::Optional => false,
            });
            let fields = always.filter_map(|field| self.contained(&field.ty));
            fields
                .chain(def.extends.map(|base| base.0 as usize))
                .collect()
        });
        edges.collect()
    }

    /// The struct that a value of this type always contains.
    fn contained(&self, ty: &Type) -> Option<usize> {
        match resolve(&self.schema, ty)? {
            Type::Named(id) => {
                matches!(self.schema[*id].kind, TypeKind::Struct(_)).then_some(id.0 as usize)
            }
            // One with a free extent can be empty.
            Type::Array(item, dimensions) if !dimensions.contains(&Dimension::Dynamic) => {
                self.contained(item)
            }
            _ => None,
        }
    }

    fn break_extends(&mut self) {
        let base = |def: &dovetail_schema::TypeDef| match &def.kind {
            TypeKind::Struct(def) => def
                .extends
                .map(|base| base.0 as usize)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        };
        let edges: Edges = self.schema.types.iter().map(base).collect();
        for cycle in graph::cycles(&edges) {
            let name = |index: &usize| self.schema.types[*index].name.as_str();
            let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
            let message = format!(
                "structs extend each other in a circle: {}",
                path.join(" → ")
            );
            let error = self.circle("E0309", message, &cycle);
            self.sink
                .push(error.help("one of them must stand on its own"));
            for index in cycle {
                if let TypeKind::Struct(def) = &mut self.schema.types[index].kind {
                    def.extends = None;
                }
            }
        }
    }

    /// An error about a path of types.
    fn circle(&self, code: &'static str, message: String, cycle: &[usize]) -> Diagnostic {
        let mut error = Diagnostic::error(code, message);
        for (at, index) in cycle.iter().take(8).enumerate() {
            let (file, span) = self.names.type_span(TypeId(*index as u32));
            error = match at {
                0 => error.at(file, span, ""),
                _ => error.also(file, span, ""),
            };
        }
        error
    }
}

/// Structs within each other that readers take, unless they are told otherwise.
const MAX_NESTED: usize = 64;

/// The named types in a type.
fn named(ty: &Type, found: &mut Vec<usize>) {
    match ty {
        Type::Named(id) => found.push(id.0 as usize),
        Type::List(item) | Type::Set(item) | Type::Array(item, _) => named(item, found),
        Type::Map(key, value) => {
            named(key, found);
            named(value, found);
        }
        _ => {}
    }
}

/// How deep a type nests when typedefs are followed, whose depths are known.
fn nesting(ty: &Type, depth: &[usize]) -> usize {
    match ty {
        Type::Named(id) => depth.get(id.0 as usize).copied().unwrap_or(0),
        Type::List(item) | Type::Set(item) | Type::Array(item, _) => {
            nesting(item, depth).saturating_add(1)
        }
        Type::Map(key, value) => nesting(key, depth)
            .max(nesting(value, depth))
            .saturating_add(1),
        _ => 0,
    }
}
