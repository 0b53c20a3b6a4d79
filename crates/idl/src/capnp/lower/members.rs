//! Structs, and the groups and unions in them.

use super::types::{Bindings, Ty};
use super::{Lower, Pending, Place};
use crate::capnp::names::Scope;
use crate::capnp::syntax::{Expression, Member, MemberKind, Name};
use dovetail_schema::{
    Annotation, Field, Presence, Struct, StructKind, Type, TypeId, TypeKind, capnp,
};

impl<'a> Lower<'a, '_> {
    /// The fields of a struct, a group or a union. A struct that is only a union becomes a union.
    /// In other structs the members of an unnamed union become optional fields with an annotation.
    pub(super) fn structure(
        &mut self,
        owner: TypeId,
        name: &str,
        scope: Scope<'a>,
        bindings: &Bindings,
        members: &'a [Member],
    ) -> Struct {
        let mut structure = Struct {
            kind: StructKind::Struct,
            extends: None,
            fields: Vec::new(),
            reserved: dovetail_schema::Reserved::default(),
        };
        let place = Owner {
            owner,
            name,
            scope,
            bindings,
        };
        if let [only] = members
            && let (None, MemberKind::Union(inside)) = (&only.name, &only.kind)
        {
            structure.kind = StructKind::Union;
            self.tag(owner, only);
            for member in inside {
                self.member(&place, member, Role::Union, &mut structure.fields);
            }
            return structure;
        }
        for member in members {
            match (&member.name, &member.kind) {
                (None, MemberKind::Union(inside)) => {
                    self.tag(owner, member);
                    for member in inside {
                        self.member(&place, member, Role::OneOf, &mut structure.fields);
                    }
                }
                _ => self.member(&place, member, Role::Field, &mut structure.fields),
            }
        }
        structure
    }

    fn member(
        &mut self,
        place: &Owner<'_, 'a>,
        member: &'a Member,
        role: Role,
        fields: &mut Vec<Field>,
    ) {
        let Some(name) = &member.name else {
            return;
        };
        let mut is_optional = role != Role::Field;
        let (id, ty) = match &member.kind {
            MemberKind::Field { ty, default } => {
                let (ty, is_boxed) = self.field_type(place.scope, place.bindings, ty);
                is_optional |= is_boxed;
                let at = Place::Field(place.owner, fields.len());
                self.default(place.scope, &ty, default.as_ref(), at);
                (id(member), ty)
            }
            MemberKind::Group(_) | MemberKind::Union(_) => self.group(place, name, member),
        };
        let mut field = self.field(place.scope, member, name, id, ty);
        if is_optional {
            field.presence = Presence::Optional;
        }
        if role == Role::OneOf {
            field.protobuf.oneof = Some(capnp::UNION.to_owned());
        }
        fields.push(field);
    }

    /// A field. Its default value is looked up later.
    fn field(
        &mut self,
        scope: Scope<'a>,
        member: &'a Member,
        name: &Name,
        id: i32,
        ty: Ty,
    ) -> Field {
        let mut field = Field::new(id, name.text.clone(), ty.ty);
        field.presence = self.presence(&field.ty, ty.any);
        field.doc.clone_from(&member.attributes.doc);
        field.annotations.untyped = self.annotations(scope, &member.attributes);
        if ty.any {
            field.annotations.untyped.push(flag(capnp::ANY));
        }
        field
    }

    /// The parameters of a method.
    pub(super) fn parameters(
        &mut self,
        scope: Scope<'a>,
        bindings: &Bindings,
        members: &'a [Member],
        place: impl Fn(usize) -> Place,
    ) -> Vec<Field> {
        let mut fields = Vec::new();
        for member in members {
            if let (Some(name), MemberKind::Field { ty, default }) = (&member.name, &member.kind) {
                let (ty, is_optional) = self.field_type(scope, bindings, ty);
                self.default(scope, &ty, default.as_ref(), place(fields.len()));
                let mut field = self.field(scope, member, name, id(member), ty);
                if is_optional {
                    field.presence = Presence::Optional;
                }
                fields.push(field);
            }
        }
        fields
    }

    /// A pointer to a struct, an object or anything can be null. A null text or list is empty.
    fn presence(&self, ty: &Type, any: bool) -> Presence {
        match ty {
            Type::Object(_) | Type::Timestamp { .. } | Type::Duration => Presence::Optional,
            Type::Bytes if any => Presence::Optional,
            Type::Named(id) => {
                let def = &self.schema[*id];
                let is_inline = capnp::is_group(def) || capnp::is_void(def);
                match &def.kind {
                    TypeKind::Struct(_) if !is_inline => Presence::Optional,
                    _ => Presence::Default,
                }
            }
            _ => Presence::Default,
        }
    }

    /// Makes the struct of a group, which has no pointer: its fields are those of the struct around
    /// it.
    fn group(&mut self, place: &Owner<'_, 'a>, name: &Name, member: &'a Member) -> (i32, Ty) {
        let own = self.group_name(place, &name.text);
        let id = self.add_type(place.scope.node, own.clone());
        let def = &mut self.schema.types[id.0 as usize];
        def.annotations.untyped.push(flag(capnp::GROUP));
        let mut structure = Struct {
            kind: StructKind::Union,
            extends: None,
            fields: Vec::new(),
            reserved: dovetail_schema::Reserved::default(),
        };
        match &member.kind {
            MemberKind::Union(inside) => {
                self.tag(id, member);
                let place = Owner {
                    owner: id,
                    name: &own,
                    ..*place
                };
                for member in inside {
                    self.member(&place, member, Role::Union, &mut structure.fields);
                }
            }
            MemberKind::Group(inside) => {
                structure = self.structure(id, &own, place.scope, place.bindings, inside);
            }
            MemberKind::Field { .. } => {}
        }
        let first = structure.fields.iter().map(|field| field.id).min();
        self.schema.types[id.0 as usize].kind = TypeKind::Struct(structure);
        (first.unwrap_or(1), Ty::of(Type::Named(id)))
    }

    /// Notes the ordinal of a union's tag, if it has one.
    fn tag(&mut self, owner: TypeId, union: &Member) {
        if let Some(ordinal) = union.ordinal {
            let annotations = &mut self.schema.types[owner.0 as usize].annotations.untyped;
            annotations.push(Annotation {
                key: capnp::TAG.to_owned(),
                value: ordinal.value.to_string(),
            });
        }
    }

    /// The name of a group's struct: `Person.Employment` for the group `employment` of `Person`.
    fn group_name(&self, place: &Owner<'_, 'a>, name: &str) -> String {
        let camel = capitalized(name);
        match self.names.has_child(place.scope.node, &camel) {
            true => format!("{}.{camel}Group", place.name),
            false => format!("{}.{camel}", place.name),
        }
    }

    fn default(&mut self, scope: Scope<'a>, ty: &Ty, value: Option<&'a Expression>, place: Place) {
        let Some(value) = value else {
            return;
        };
        if ty.any {
            let message = "a pointer to anything has no default".to_owned();
            let help = "remove the default, or give the field a type";
            self.error("E2505", scope.node, value.span, message, help);
            return;
        }
        self.pending.push(Pending {
            scope,
            ty: ty.ty.clone(),
            value,
            place,
        });
    }
}

/// The struct, group or union that a member belongs to.
#[derive(Clone, Copy)]
struct Owner<'o, 'a> {
    owner: TypeId,
    name: &'o str,
    scope: Scope<'a>,
    bindings: &'o Bindings,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Field,
    /// A member of a struct that is only a union.
    Union,
    /// A member of a union among fields.
    OneOf,
}

/// Ids count from 1: other languages have no field 0.
fn id(member: &Member) -> i32 {
    member.ordinal.map_or(1, |ordinal| ordinal.value as i32 + 1)
}

/// An annotation without a value.
pub(super) fn flag(key: &str) -> Annotation {
    Annotation {
        key: key.to_owned(),
        value: "1".to_owned(),
    }
}

/// A name with a capital letter in front.
pub(super) fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
