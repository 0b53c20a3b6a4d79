//! The definitions of a program to one [`Schema`].
//!
//! A generic type becomes one type for each set of types that it is applied to. So types are made
//! when they are first named: each gets its place in the schema at once, and is filled in later.
//! Values come last, since they need finished types.

mod annotation;
mod check;
mod constant;
mod enumeration;
mod members;
mod service;
mod types;

use super::load::Program;
use super::names::{Names, NodeId, Scope};
use super::syntax::{DeclarationKind, Expression, Member};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span, stem};
use dovetail_schema::{
    self as schema, Annotation, Annotations, PackageId, Schema, ServiceId, Type, TypeDef, TypeId,
    TypeKind,
};
use std::collections::{HashMap, HashSet};
use types::{Bindings, Ty};

pub(super) fn lower(program: &Program, sink: &mut Sink) -> Schema {
    let names = Names::declare(program, sink);
    check::ordinals(&names, sink);
    let mut lower = Lower {
        names,
        sink,
        schema: Schema::default(),
        types: HashMap::new(),
        services: HashMap::new(),
        open: Vec::new(),
        pending: Vec::new(),
        included: Vec::new(),
        used: HashSet::from([0]),
        converted: 0,
        is_full: false,
    };
    lower.definitions(0);
    lower.drain();
    lower.values();
    lower.inclusions();
    lower.packages();
    lower.schema
}

struct Lower<'a, 's> {
    names: Names<'a>,
    sink: &'s mut Sink,
    /// The package of a definition is the number of its file until [`Lower::packages`].
    schema: Schema,
    types: HashMap<(NodeId, Bindings), TypeId>,
    services: HashMap<(NodeId, Bindings), ServiceId>,
    /// The types and services that have a place, and nothing in it yet.
    open: Vec<Open<'a>>,
    pending: Vec<Pending<'a>>,
    /// Services, and those whose methods become theirs.
    included: Vec<(ServiceId, ServiceId)>,
    /// The files that something of the schema comes from.
    used: HashSet<usize>,
    /// How many values have been made.
    converted: usize,
    /// True once a type had no room.
    is_full: bool,
}

#[derive(Debug)]
enum Open<'a> {
    Type(TypeId, NodeId, Bindings),
    Service(ServiceId, NodeId, Bindings),
    /// The struct that the results of a method make.
    Results(TypeId, Scope<'a>, Bindings, &'a [Member]),
}

/// A value to be found once all types are known, and where it then goes.
#[derive(Debug)]
struct Pending<'a> {
    scope: Scope<'a>,
    ty: Type,
    value: &'a Expression,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Field(TypeId, usize),
    Param(ServiceId, usize, usize),
    /// A constant of this node.
    Constant(NodeId),
}

/// How many types and services a schema can have, and how long their names are. Generic types can
/// apply one another to ever larger types.
const MAX: usize = 100_000;
const LONGEST_NAME: usize = 1000;

impl<'a> Lower<'a, '_> {
    fn error(&mut self, code: &'static str, node: NodeId, span: Span, message: String, help: &str) {
        let file = FileId(self.names.nodes[node].file as u32);
        let error = Diagnostic::error(code, message).at(file, span, "");
        self.sink.push(error.help(help));
    }

    /// Makes all that a file defines; generic types only as they are used.
    fn definitions(&mut self, file: usize) {
        let inside = |node: &NodeId| self.names.nodes[*node].file == file;
        let nodes: Vec<NodeId> = (0..self.names.nodes.len()).filter(inside).collect();
        for node in nodes {
            let generic = |node: NodeId| !self.names.nodes[node].parameters().is_empty();
            let Some(declaration) = self.names.nodes[node].declaration else {
                continue;
            };
            if self.names.around(node).any(generic) {
                continue;
            }
            match &declaration.kind {
                DeclarationKind::Using(target) => self.check_name(node, target),
                DeclarationKind::Const { ty, value } => self.constant(node, ty, value),
                DeclarationKind::Annotation(ty) => {
                    self.ty(self.outside(node), &Bindings::default(), ty);
                }
                DeclarationKind::Interface { .. } => _ = self.service(node, Bindings::default()),
                DeclarationKind::Struct { .. } | DeclarationKind::Enum(_) => {
                    self.named(node, Bindings::default());
                }
            }
        }
    }

    fn check_name(&mut self, node: NodeId, target: &'a Expression) {
        let scope = self.outside(node);
        self.names.resolve(scope, target, self.sink);
    }

    /// The scope that a definition stands in.
    fn outside(&self, node: NodeId) -> Scope<'a> {
        Scope {
            node: self.names.nodes[node].parent.unwrap_or(node),
            implicit: &[],
        }
    }

    /// Fills in types and services until none is left without contents.
    fn drain(&mut self) {
        let mut next = 0;
        while next < self.open.len() {
            let open =
                std::mem::replace(&mut self.open[next], Open::Type(TypeId(0), 0, Vec::new()));
            match open {
                Open::Type(id, node, bindings) => self.fill_type(id, node, &bindings),
                Open::Service(id, node, bindings) => self.fill_service(id, node, &bindings),
                Open::Results(id, scope, bindings, members) => {
                    let name = self.schema[id].name.clone();
                    let group = self.structure(id, &name, scope, &bindings, members);
                    self.schema.types[id.0 as usize].kind = TypeKind::Struct(group);
                }
            }
            next += 1;
        }
    }

    fn fill_type(&mut self, id: TypeId, node: NodeId, bindings: &Bindings) {
        let scope = Scope {
            node,
            implicit: &[],
        };
        let Some(declaration) = self.names.nodes[node].declaration else {
            return;
        };
        let kind = match &declaration.kind {
            DeclarationKind::Enum(enumerants) => {
                TypeKind::Enum(self.enumeration(scope, enumerants))
            }
            DeclarationKind::Struct { members, .. } => {
                let name = self.schema[id].name.clone();
                TypeKind::Struct(self.structure(id, &name, scope, bindings, members))
            }
            _ => return,
        };
        self.schema.types[id.0 as usize].kind = kind;
    }

    /// The type of a struct or an enum, made where it is not there yet.
    fn named(&mut self, node: NodeId, bindings: Bindings) -> TypeId {
        if let Some(known) = self.types.get(&(node, bindings.clone())) {
            return *known;
        }
        let name = self.path(node, &bindings);
        let has_room = self.has_room(node, &name);
        let id = self.add_type(node, name);
        let declaration = self.names.nodes[node].declaration;
        let def = &mut self.schema.types[id.0 as usize];
        def.annotations.untyped.push(Annotation {
            key: schema::capnp::ID.to_owned(),
            value: format!("{:#x}", self.names.nodes[node].id),
        });
        if let Some(declaration) = declaration {
            if let DeclarationKind::Enum(_) = declaration.kind {
                // A field that names it needs to know that, before it is filled in.
                def.kind = TypeKind::Enum(schema::Enum::default());
            }
            def.doc.clone_from(&declaration.attributes.doc);
            let annotations = self.annotations(self.outside(node), &declaration.attributes);
            self.schema.types[id.0 as usize]
                .annotations
                .untyped
                .extend(annotations);
        }
        self.types.insert((node, bindings.clone()), id);
        if has_room {
            self.open.push(Open::Type(id, node, bindings));
        }
        id
    }

    /// Adds a struct without fields, which belongs to a definition.
    fn add_type(&mut self, node: NodeId, name: String) -> TypeId {
        let id = TypeId(self.schema.types.len() as u32);
        let file = self.names.nodes[node].file;
        self.used.insert(file);
        self.schema.types.push(TypeDef {
            package: PackageId(file as u32),
            name,
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            kind: TypeKind::Struct(schema::Struct {
                kind: schema::StructKind::Struct,
                extends: None,
                fields: Vec::new(),
                reserved: schema::Reserved::default(),
            }),
        });
        id
    }

    /// Returns whether a type or a service of this name can be filled in. The first one that cannot
    /// is reported.
    fn has_room(&mut self, node: NodeId, name: &str) -> bool {
        let has_room = self.open.len() < MAX && name.len() < LONGEST_NAME;
        if !has_room && !std::mem::replace(&mut self.is_full, true) {
            let declaration = self.names.nodes[node].declaration;
            let span = declaration.map_or_else(Span::default, |it| it.name.span);
            let message = "this type is applied to ever larger types".to_owned();
            let help = "a generic type can contain itself, but not one applied to a larger type";
            self.error("E2409", node, span, message, help);
        }
        has_room
    }

    /// The name of a definition with those around it, and the types that they are applied to:
    /// `Outer.Map_Text_Data`. Nothing is inside a service in other languages: there is no dot
    /// behind or before the name of an interface.
    fn path(&self, node: NodeId, bindings: &Bindings) -> String {
        let mut path = String::new();
        let mut inner_dot = None;
        for node in self.names.around(node) {
            let Some(declaration) = self.names.nodes[node].declaration else {
                break;
            };
            let has_dot = !matches!(declaration.kind, DeclarationKind::Interface { .. });
            let dot = match inner_dot.replace(has_dot) {
                Some(inner) if inner && has_dot => ".",
                _ => "",
            };
            let mut part = declaration.name.text.clone();
            let bound = bindings.iter().find(|(bound, _)| *bound == node);
            let arguments = bound.map_or(&[][..], |(_, arguments)| arguments);
            if arguments.iter().any(|argument| *argument != Ty::any()) {
                for argument in arguments {
                    part.push('_');
                    part.push_str(&self.spelled(argument));
                }
            }
            path = format!("{part}{dot}{path}");
        }
        path
    }

    /// Puts the packages in order, those that something is used of.
    fn packages(&mut self) {
        let program = self.names.program;
        let used = |file: &usize| self.used.contains(file);
        let files: Vec<usize> = program.order.iter().copied().filter(used).collect();
        let number = |file: usize| files.iter().position(|other| *other == file);
        let id = |file| PackageId(number(file).unwrap_or_default() as u32);
        let types = self.schema.types.iter_mut().map(|def| &mut def.package);
        let services = self.schema.services.iter_mut().map(|def| &mut def.package);
        let constants = self.schema.constants.iter_mut().map(|def| &mut def.package);
        for package in types.chain(services).chain(constants) {
            *package = id(package.0 as usize);
        }
        for &file in &files {
            let source = &program.sources[file];
            let mut includes: Vec<PackageId> = program.imports[file]
                .values()
                .filter_map(|import| number(*import))
                .map(|number| PackageId(number as u32))
                .filter(|include| *include != id(file))
                .collect();
            includes.sort();
            includes.dedup();
            let namespaces = self.namespaces(file);
            let node = &self.names.nodes[self.names.files[file]];
            let annotations = Annotations {
                untyped: vec![Annotation {
                    key: schema::capnp::ID.to_owned(),
                    value: format!("{:#x}", node.id),
                }],
                typed: Vec::new(),
            };
            self.schema.packages.push(schema::Package {
                annotations,
                name: package_name(&source.name),
                path: source.name.clone(),
                includes,
                namespaces,
                ..schema::Package::default()
            });
        }
    }
}

/// The name of a file as a name in other languages: `c__` for `c++.capnp`.
fn package_name(path: &str) -> String {
    let name = stem(path).chars();
    name.map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
