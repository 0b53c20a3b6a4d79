//! Expressions of types, resolved.

use super::Lower;
use crate::capnp::names::{Applied, Entity, NodeId, Scope};
use crate::capnp::syntax::{DeclarationKind, Expression};
use crate::spelling::spell;
use dovetail_schema::{Type, TypeKind, capnp};

/// The id of the file with types of other languages.
const TYPES_ID: u64 = 0xa7603d72ec771dd4;

/// The types that generic definitions are applied to, in the order of the definitions. A definition
/// without an entry is applied to pointers to anything.
pub(super) type Bindings = Vec<(NodeId, Vec<Ty>)>;

/// A type, and whether the bytes in it are a pointer to anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ty {
    pub(super) ty: Type,
    pub(super) any: bool,
}

impl Ty {
    pub(super) const fn any() -> Self {
        Ty {
            ty: Type::Bytes,
            any: true,
        }
    }

    pub(super) fn of(ty: Type) -> Self {
        Ty { ty, any: false }
    }
}

impl<'a> Lower<'a, '_> {
    /// The type that an expression stands for. Where it stands for none, that has been reported,
    /// and any will do.
    pub(super) fn ty(
        &mut self,
        scope: Scope<'a>,
        bindings: &Bindings,
        expression: &'a Expression,
    ) -> Ty {
        let Some(entity) = self.names.resolve(scope, expression, self.sink) else {
            return Ty::of(Type::Bool);
        };
        let span = expression.span;
        match entity {
            Entity::Implicit => Ty::any(),
            Entity::Parameter(node, place) => {
                let bound = bindings.iter().find(|(bound, _)| *bound == node);
                let argument = bound.and_then(|(_, arguments)| arguments.get(place));
                argument.cloned().unwrap_or(Ty::any())
            }
            Entity::BuiltIn("List") => {
                let help = "write `List(Text)`";
                let message = "a list of what?".to_owned();
                self.error("E2406", scope.node, span, message, help);
                Ty::of(Type::Bool)
            }
            Entity::BuiltIn(name) => self.built_in(name),
            Entity::List(applied) => self.list(&applied, bindings, expression),
            Entity::Node(node, applied) => {
                if let Some(other) = self.other_type(node) {
                    return Ty::of(other);
                }
                let bindings = self.bind(scope, node, &applied, bindings);
                let declaration = self.names.nodes[node].declaration;
                match declaration.map(|declaration| &declaration.kind) {
                    Some(DeclarationKind::Struct { .. } | DeclarationKind::Enum(_)) => {
                        Ty::of(Type::Named(self.named(node, bindings)))
                    }
                    Some(DeclarationKind::Interface { .. }) => {
                        Ty::of(Type::Object(self.service(node, bindings)))
                    }
                    _ => {
                        let message = "this is the name of something that is not a type";
                        let help = "write the name of a struct, an enum or an interface";
                        self.error("E2402", scope.node, span, message.to_owned(), help);
                        Ty::of(Type::Bool)
                    }
                }
            }
        }
    }

    fn list(&mut self, applied: &Applied<'a>, bindings: &Bindings, whole: &Expression) -> Ty {
        let [only] = applied.arguments else {
            let message = "a list has one type of elements".to_owned();
            self.error(
                "E2406",
                applied.node,
                whole.span,
                message,
                "write `List(Text)`",
            );
            return Ty::of(Type::Bool);
        };
        let element = self.ty(applied.scope, bindings, &only.value);
        Ty {
            ty: Type::List(Box::new(element.ty)),
            any: element.any,
        }
    }

    fn built_in(&mut self, name: &str) -> Ty {
        Ty::of(match name {
            "Void" => Type::Named(self.void()),
            "Text" => Type::String,
            "Data" => Type::Bytes,
            name => return number(name).map_or(Ty::any(), Ty::of),
        })
    }

    /// The name of a definition in the file with types of other languages.
    fn name_in_types(&self, node: NodeId) -> Option<&'a str> {
        let found = &self.names.nodes[node];
        let file = &self.names.program.files[found.file];
        let is_types = file.id.is_some_and(|id| id.value == TYPES_ID);
        found
            .declaration
            .filter(|_| is_types)
            .map(|it| it.name.text.as_str())
    }

    /// The type of another language that a struct stands for.
    fn other_type(&self, node: NodeId) -> Option<Type> {
        match self.name_in_types(node)? {
            "Timestamp" => Some(Type::Timestamp { offset: false }),
            "TimestampTz" => Some(Type::Timestamp { offset: true }),
            "Duration" => Some(Type::Duration),
            _ => None,
        }
    }

    /// The type of a field, and whether it is a number that may be absent: a struct around one says
    /// so.
    pub(super) fn field_type(
        &mut self,
        scope: Scope<'a>,
        bindings: &Bindings,
        expression: &'a Expression,
    ) -> (Ty, bool) {
        let node = self.names.node_of(scope, expression);
        let name = node.and_then(|node| self.name_in_types(node));
        let boxed = name.and_then(|name| number(name.strip_prefix("Optional")?));
        match boxed {
            Some(number) => (Ty::of(number), true),
            None => (self.ty(scope, bindings, expression), false),
        }
    }

    /// The struct that stands for `Void`.
    pub(super) fn void(&mut self) -> dovetail_schema::TypeId {
        let file = self.names.files[self.names.program.language];
        self.named(file + 1, Bindings::default())
    }

    /// The types that a definition and those around it are applied to.
    fn bind(
        &mut self,
        scope: Scope<'a>,
        node: NodeId,
        applied: &[Applied<'a>],
        bindings: &Bindings,
    ) -> Bindings {
        let mut bound = Bindings::new();
        let around: Vec<NodeId> = self.names.around(node).collect();
        for outer in around {
            let parameters = self.names.nodes[outer].parameters();
            if parameters.is_empty() {
                continue;
            }
            let arguments = match applied.iter().rfind(|applied| applied.node == outer) {
                Some(applied) => self.arguments(applied, bindings),
                // Inside a generic type its parameters go on to what it contains.
                None if self.names.around(scope.node).any(|here| here == outer)
                    && outer != node =>
                {
                    bindings
                        .iter()
                        .find(|(known, _)| *known == outer)
                        .map_or_else(|| vec![Ty::any(); parameters.len()], |it| it.1.clone())
                }
                None => vec![Ty::any(); parameters.len()],
            };
            bound.push((outer, arguments));
        }
        bound.sort_by_key(|(node, _)| *node);
        bound
    }

    fn arguments(&mut self, applied: &Applied<'a>, bindings: &Bindings) -> Vec<Ty> {
        let parameters = self.names.nodes[applied.node].parameters();
        let (wanted, given) = (parameters.len(), applied.arguments.len());
        let mut arguments = Vec::new();
        for argument in applied.arguments {
            let ty = self.ty(applied.scope, bindings, &argument.value);
            if !self.is_pointer(&ty.ty) {
                let message = format!("{} is not a pointer type", spell(&self.schema, &ty.ty));
                let help = "generic types are applied to structs, lists, interfaces, Text and Data";
                let span = argument.value.span;
                self.error("E2408", applied.scope.node, span, message, help);
            }
            arguments.push(ty);
        }
        if let Some(first) = applied.arguments.first()
            && wanted != given
        {
            let message = format!("{wanted} types are expected here, found {given}");
            let help = "give one type for each parameter";
            self.error("E2406", applied.scope.node, first.value.span, message, help);
        }
        arguments.resize(wanted, Ty::any());
        arguments
    }

    fn is_pointer(&self, ty: &Type) -> bool {
        match ty {
            Type::String | Type::Bytes | Type::List(_) | Type::Object(_) => true,
            Type::Named(id) => {
                let def = &self.schema[*id];
                matches!(def.kind, TypeKind::Struct(_)) && !capnp::is_void(def)
            }
            _ => false,
        }
    }

    /// A type as a part of a name.
    pub(super) fn spelled(&self, ty: &Ty) -> String {
        if *ty == Ty::any() {
            return "AnyPointer".to_owned();
        }
        let spelled = match &ty.ty {
            Type::String => "Text".to_owned(),
            Type::Bytes => "Data".to_owned(),
            Type::List(element) => {
                let element = Ty {
                    ty: (**element).clone(),
                    any: ty.any,
                };
                format!("List_{}", self.spelled(&element))
            }
            other => spell(&self.schema, other),
        };
        let name = spelled.chars();
        name.map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect()
    }
}

/// The number type of this name.
fn number(name: &str) -> Option<Type> {
    Some(match name {
        "Bool" => Type::Bool,
        "Int8" => Type::I8,
        "Int16" => Type::I16,
        "Int32" => Type::I32,
        "Int64" => Type::I64,
        "UInt8" => Type::U8,
        "UInt16" => Type::U16,
        "UInt32" => Type::U32,
        "UInt64" => Type::U64,
        "Float32" => Type::F32,
        "Float64" => Type::F64,
        _ => return None,
    })
}
