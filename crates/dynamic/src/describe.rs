//! Methods of a schema in the words by which two ends compare contracts.

use crate::contract::logical;
use crate::{Contract, array};
use dovetail_schema::{
    ArrayForm, Dimension, Field, Method, Presence, ServiceId, Sharing, Stream, Type, TypeId,
    TypeKind,
};
use dovetail_wire::description::{
    self, Definition, FieldPresence, FieldRemarks, FieldType, Signature, StreamTypes, TypeRemarks,
    remarks,
};
use std::cell::Cell;

impl Contract<'_> {
    /// The description of a method, the same as that of generated code; `None` where it reaches a
    /// type that no encoding of this version carries.
    pub fn describe(&self, method: &Method) -> Option<Vec<u8>> {
        let walk = Walk::new(self);
        let signature = walk.signature(method);
        let description = description::describe_with(&signature, |name| walk.define(name));
        walk.complete.get().then_some(description)
    }

    /// Returns the properties of fields that the description of a method leaves out.
    pub fn remarks(&self, method: &Method) -> Vec<TypeRemarks> {
        let walk = Walk::new(self);
        let fields = |name| {
            let table = match name {
                Name::Type(id) => self.table(id),
                Name::Family(_) | Name::Service(_) => None,
            };
            let rows = table.iter().flat_map(|table| table.wire());
            rows.filter_map(FieldRemarks::of).collect()
        };
        let signature = walk.signature(method);
        let params = self.params(method);
        remarks(&signature, params.wire(), |name| walk.define(name), fields)
    }

    /// The description of a type, as a message in an `Any` brings it along.
    pub(crate) fn describe_type(&self, ty: &Type) -> Option<Vec<u8>> {
        let walk = Walk::new(self);
        let description = description::describe_type(walk.ty(ty)?, |name| walk.define(name));
        walk.complete.get().then_some(description)
    }
}

/// A named type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    /// The type itself.
    Type(TypeId),
    /// It, or one that extends it.
    Family(TypeId),
    Service(ServiceId),
}

struct Walk<'a> {
    contract: &'a Contract<'a>,
    /// False once a type was met that cannot be described.
    complete: Cell<bool>,
}

impl<'a> Walk<'a> {
    fn new(contract: &'a Contract<'a>) -> Self {
        Walk {
            contract,
            complete: Cell::new(true),
        }
    }

    fn signature(&self, method: &'a Method) -> Signature<'a, Name> {
        Signature {
            name: &method.name,
            oneway: method.oneway,
            params: self.fields(&method.params),
            result: method.result.as_ref().and_then(|ty| self.ty(ty)),
            exceptions: self.choices(&method.throws),
            client_stream: self.stream(method.client_stream.as_ref()),
            server_stream: self.stream(method.server_stream.as_ref()),
        }
    }

    fn stream(&self, stream: Option<&'a Stream>) -> Option<StreamTypes<'a, Name>> {
        let stream = stream?;
        Some(StreamTypes {
            item: self.ty(&stream.item)?,
            exceptions: self.choices(&stream.throws),
        })
    }

    fn define(&self, name: Name) -> Definition<'a, Name> {
        let schema = self.contract.schema();
        let id = match name {
            Name::Type(id) => id,
            Name::Family(id) => {
                let members = self.contract.family(id).unwrap_or_default().iter();
                let members = members.map(|id| Name::Type(*id)).collect();
                return Definition::Family(&schema[id].name, members);
            }
            Name::Service(id) => return Definition::Service(&schema[id].name),
        };
        let def = &schema[id];
        match (&def.kind, self.contract.table(id)) {
            (TypeKind::Enum(kind), _) => {
                let values = kind.values.iter();
                let values = values.map(|value| (value.number, value.name.as_str()));
                Definition::Enum(&def.name, values.collect())
            }
            (_, Some(table)) if table.union => {
                Definition::Union(&def.name, self.choices(table.fields.iter().copied()))
            }
            (_, table) => {
                let fields = table
                    .into_iter()
                    .flat_map(|table| table.fields.iter().copied());
                Definition::Struct(&def.name, self.fields(fields))
            }
        }
    }

    fn fields(&self, fields: impl IntoIterator<Item = &'a Field>) -> Vec<FieldType<'a, Name>> {
        let field = |field: &'a Field| {
            Some(FieldType {
                id: field.id,
                name: &field.name,
                presence: match (field.presence, field.sharing) {
                    (Presence::Required, _) => FieldPresence::Required,
                    (Presence::Optional, Sharing::Value) => FieldPresence::Optional,
                    // Nothing is one of the values of a reference.
                    (Presence::Default, _) | (_, Sharing::Ref) => FieldPresence::Always,
                },
                ty: match field.sharing {
                    Sharing::Value => self.ty(&field.ty)?,
                    Sharing::Ref => description::Type::Ref(Box::new(self.ty(&field.ty)?)),
                },
            })
        };
        fields.into_iter().filter_map(field).collect()
    }

    /// Fields of which there is one: that it may be absent goes without saying.
    fn choices(&self, fields: impl IntoIterator<Item = &'a Field>) -> Vec<FieldType<'a, Name>> {
        let mut fields = self.fields(fields);
        fields
            .iter_mut()
            .for_each(|field| field.presence = FieldPresence::Always);
        fields
    }

    fn ty(&self, ty: &Type) -> Option<description::Type<Name>> {
        let boxed = |ty| self.ty(ty).map(Box::new);
        Some(match self.contract.schema().resolve(ty) {
            Type::List(item) => description::Type::List(boxed(item)?),
            Type::Set(item) => description::Type::Set(boxed(item)?),
            Type::Map(key, item) => description::Type::Map(boxed(key)?, boxed(item)?),
            Type::Array(item, dimensions) => return self.array(item, dimensions),
            Type::Named(id) => match self.contract.schema()[*id].kind {
                TypeKind::Enum(_) => description::Type::Enum(Name::Type(*id)),
                _ if self.contract.family(*id).is_some() => {
                    description::Type::Family(Name::Family(*id))
                }
                _ => description::Type::Struct(Name::Type(*id)),
            },
            Type::Object(id) => description::Type::Object(Name::Service(*id)),
            ty => match (logical(ty), self.contract.kind(ty)) {
                (Some(logical), _) => description::Type::Logical(logical),
                (_, Some(kind)) => description::Type::Scalar(kind),
                _ => {
                    self.complete.set(false);
                    return None;
                }
            },
        })
    }

    fn array(&self, item: &Type, dimensions: &[Dimension]) -> Option<description::Type<Name>> {
        let boxed = |inside| self.array(item, inside).map(Box::new);
        Some(match ArrayForm::of(dimensions) {
            None => return self.ty(item),
            Some(ArrayForm::Fixed(extent, inside)) => {
                description::Type::Array(vec![extent], boxed(inside)?)
            }
            Some(ArrayForm::List(inside)) => description::Type::List(boxed(inside)?),
            Some(ArrayForm::Free(outside, inside)) => {
                let extents = array::shape(outside).into_iter();
                let extents = extents.map(|extent| extent.unwrap_or(0)).collect();
                description::Type::Array(extents, boxed(inside)?)
            }
        })
    }
}
