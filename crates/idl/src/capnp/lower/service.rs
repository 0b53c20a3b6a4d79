//! Interfaces.

use super::members::{capitalized, flag};
use super::types::{Bindings, Ty};
use super::{Lower, Open, Place};
use crate::capnp::identity;
use crate::capnp::names::{Entity, NodeId, Scope};
use crate::capnp::syntax::{DeclarationKind, Expression, Member, MemberKind, Method, Parameters};
use dovetail_schema::{
    Annotation, Annotations, Field, Idempotency, PackageId, Presence, Service, ServiceId, Type,
    capnp,
};
use std::collections::HashSet;

impl<'a> Lower<'a, '_> {
    /// The service of an interface, made where it is not there yet.
    pub(super) fn service(&mut self, node: NodeId, bindings: Bindings) -> ServiceId {
        if let Some(known) = self.services.get(&(node, bindings.clone())) {
            return *known;
        }
        let name = self.path(node, &bindings);
        let has_room = self.has_room(node, &name);
        let id = ServiceId(self.schema.services.len() as u32);
        let found = &self.names.nodes[node];
        self.used.insert(found.file);
        let mut service = Service {
            package: PackageId(found.file as u32),
            name,
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            extends: None,
            methods: Vec::new(),
        };
        service.annotations.untyped.push(Annotation {
            key: capnp::ID.to_owned(),
            value: format!("{:#x}", found.id),
        });
        if let Some(declaration) = found.declaration {
            service.doc.clone_from(&declaration.attributes.doc);
            let annotations = self.annotations(self.outside(node), &declaration.attributes);
            service.annotations.untyped.extend(annotations);
        }
        self.schema.services.push(service);
        self.services.insert((node, bindings.clone()), id);
        if has_room {
            self.open.push(Open::Service(id, node, bindings));
        }
        id
    }

    pub(super) fn fill_service(&mut self, id: ServiceId, node: NodeId, bindings: &Bindings) {
        let declaration = self.names.nodes[node].declaration;
        let Some(DeclarationKind::Interface {
            extends, methods, ..
        }) = declaration.map(|declaration| &declaration.kind)
        else {
            return;
        };
        let scope = Scope {
            node,
            implicit: &[],
        };
        let mut ordered: Vec<&'a Method> = methods.iter().collect();
        ordered.sort_by_key(|method| method.ordinal.value);
        for (place, method) in ordered.into_iter().enumerate() {
            let method = self.method(id, place, scope, bindings, method);
            self.schema.services[id.0 as usize].methods.push(method);
        }
        let bases = self.bases(scope, bindings, extends);
        if self.is_circular(node) {
            let span = declaration.map_or_else(Default::default, |it| it.name.span);
            let message = "this interface extends itself".to_owned();
            self.error("E2410", node, span, message, "remove one of the `extends`");
            return;
        }
        let mut bases = bases.into_iter();
        self.schema.services[id.0 as usize].extends = bases.next();
        // Their methods come at the end, when all services have theirs.
        self.included.extend(bases.map(|base| (id, base)));
    }

    fn bases(
        &mut self,
        scope: Scope<'a>,
        bindings: &Bindings,
        extends: &'a [Expression],
    ) -> Vec<ServiceId> {
        let mut bases = Vec::new();
        for base in extends {
            match self.ty(scope, bindings, base).ty {
                Type::Object(base) => bases.push(base),
                // An expression that is no type has been reported.
                Type::Bool => {}
                _ => {
                    let message = "an interface extends only interfaces".to_owned();
                    self.error("E2410", scope.node, base.span, message, "name an interface");
                }
            }
        }
        bases
    }

    /// Returns whether an interface leads to itself by what it extends.
    fn is_circular(&self, node: NodeId) -> bool {
        let (mut open, mut seen) = (vec![node], HashSet::new());
        while let Some(next) = open.pop() {
            let declaration = self.names.nodes[next].declaration.map(|it| &it.kind);
            let Some(DeclarationKind::Interface { extends, .. }) = declaration else {
                continue;
            };
            let scope = Scope {
                node: next,
                implicit: &[],
            };
            for base in extends {
                match self.names.node_of(scope, base) {
                    Some(base) if base == node => return true,
                    Some(base) if seen.insert(base) => open.push(base),
                    _ => {}
                }
            }
        }
        false
    }

    /// Gives services the methods of the second and of further interfaces that they extend: a
    /// service of a schema extends one.
    pub(super) fn inclusions(&mut self) {
        for (id, base) in std::mem::take(&mut self.included) {
            let mut known: HashSet<String> = self
                .schema
                .methods(id)
                .into_iter()
                .map(|(_, method)| method.name.clone())
                .collect();
            let methods: Vec<_> = self
                .schema
                .methods(base)
                .into_iter()
                .map(|(owner, method)| (owner, method.clone()))
                .collect();
            for (owner, mut method) in methods {
                if !known.insert(method.name.clone()) {
                    continue;
                }
                if method.annotations.get(capnp::INHERITED).is_none() {
                    let own = &self.schema[owner];
                    let place = own.methods.iter().position(|it| it.name == method.name);
                    let interface = own.annotations.get(capnp::ID).unwrap_or_default();
                    method.annotations.untyped.push(Annotation {
                        key: capnp::INHERITED.to_owned(),
                        value: format!("{interface}.{}", place.unwrap_or_default()),
                    });
                }
                self.schema.services[id.0 as usize].methods.push(method);
            }
        }
    }

    fn method(
        &mut self,
        service: ServiceId,
        place: usize,
        scope: Scope<'a>,
        bindings: &Bindings,
        method: &'a Method,
    ) -> dovetail_schema::Method {
        let scope = Scope {
            implicit: &method.implicit,
            ..scope
        };
        let mut annotations = Annotations {
            untyped: self.annotations(scope, &method.attributes),
            typed: Vec::new(),
        };
        let params = match &method.params {
            Parameters::List(members) => {
                let place = |param| Place::Param(service, place, param);
                self.parameters(scope, bindings, members, place)
            }
            Parameters::Struct(ty) => {
                annotations.untyped.push(flag(capnp::PARAMS));
                let ty = self.struct_of(scope, bindings, ty);
                let mut field = Field::new(1, "params", ty);
                field.presence = Presence::Optional;
                vec![field]
            }
            Parameters::Stream => Vec::new(),
        };
        let result = self.result(service, scope, bindings, method, &mut annotations.untyped);
        let idempotency = idempotency(&annotations);
        dovetail_schema::Method {
            name: method.name.text.clone(),
            doc: method.attributes.doc.clone(),
            annotations,
            deprecated: None,
            params,
            result,
            client_stream: None,
            server_stream: None,
            throws: Vec::new(),
            oneway: false,
            idempotency,
        }
    }

    /// The result of a method: its only one, or a struct of all.
    fn result(
        &mut self,
        service: ServiceId,
        scope: Scope<'a>,
        bindings: &Bindings,
        method: &'a Method,
        annotations: &mut Vec<Annotation>,
    ) -> Option<Type> {
        match method.results.as_ref()? {
            Parameters::Stream => {
                annotations.push(flag(capnp::STREAM));
                None
            }
            Parameters::Struct(ty) => {
                annotations.push(flag(capnp::RESULTS));
                Some(self.struct_of(scope, bindings, ty))
            }
            Parameters::List(members) if members.is_empty() => None,
            Parameters::List(members) => match self.only_result(scope, bindings, members) {
                Some((name, ty)) => {
                    annotations.push(Annotation {
                        key: capnp::RESULT.to_owned(),
                        value: name,
                    });
                    annotations.extend(ty.any.then(|| flag(capnp::ANY)));
                    Some(ty.ty)
                }
                None => {
                    annotations.push(flag(capnp::RESULTS));
                    Some(self.results(service, scope, bindings, method, members))
                }
            },
        }
    }

    /// The only result of a method, unless it has a default, which is a fact of a field.
    fn only_result(
        &mut self,
        scope: Scope<'a>,
        bindings: &Bindings,
        members: &'a [Member],
    ) -> Option<(String, Ty)> {
        let [only] = members else { return None };
        let MemberKind::Field { ty, default: None } = &only.kind else {
            return None;
        };
        let name = only.name.as_ref()?.text.clone();
        Some((name, self.ty(scope, bindings, ty)))
    }

    /// Makes the struct of the results of a method: `StoreFindResults`.
    fn results(
        &mut self,
        service: ServiceId,
        scope: Scope<'a>,
        bindings: &Bindings,
        method: &'a Method,
        members: &'a [Member],
    ) -> Type {
        let camel = capitalized(&method.name.text);
        let name = format!("{}{camel}Results", self.schema[service].name);
        let id = self.add_type(scope.node, name);
        let interface = self.names.nodes[scope.node].id;
        let own = identity::parameters(interface, method.ordinal.value as u16, true);
        self.schema.types[id.0 as usize]
            .annotations
            .untyped
            .push(Annotation {
                key: capnp::ID.to_owned(),
                value: format!("{own:#x}"),
            });
        self.open
            .push(Open::Results(id, scope, bindings.clone(), members));
        Type::Named(id)
    }

    /// The struct whose fields are the parameters or the results of a method.
    fn struct_of(&mut self, scope: Scope<'a>, bindings: &Bindings, ty: &'a Expression) -> Type {
        let entity = self.names.resolve(scope, ty, self.sink);
        let is_struct = match entity {
            Some(Entity::Node(node, _)) => {
                let declaration = self.names.nodes[node].declaration;
                declaration.is_some_and(|it| matches!(it.kind, DeclarationKind::Struct { .. }))
            }
            Some(_) => false,
            // It has been reported.
            None => return Type::Bool,
        };
        if !is_struct {
            let message = "parameters and results are a struct, or a list in parentheses";
            let help = "write `(name :Type)`";
            self.error("E2411", scope.node, ty.span, message.to_owned(), help);
            return Type::Bool;
        }
        self.ty(scope, bindings, ty).ty
    }
}

fn idempotency(annotations: &Annotations) -> Idempotency {
    match (
        annotations.get("readOnly").is_some(),
        annotations.get("idempotent").is_some(),
    ) {
        (true, _) => Idempotency::ReadOnly,
        (false, true) => Idempotency::Idempotent,
        (false, false) => Idempotency::Unknown,
    }
}
