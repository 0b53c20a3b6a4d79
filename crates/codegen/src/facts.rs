//! What a generator has to know of a schema as a whole: what recurses, what serves as a key, what cannot
//! be compared.

use dovetail_schema::{
    ArrayForm, Dimension, Field, Presence, Schema, Struct, StructKind, Type, TypeId, TypeKind,
};
use std::collections::HashSet;

/// The longest array that has a default in Rust's standard library.
const MOST_OF_AN_EXTENT: u32 = 32;

/// Elements of an array that can stand on the stack, however deep its struct is.
const MOST_IN_PLACE: u64 = 256;

/// The conclusions, one bit for each type.
pub(crate) struct Facts<'a> {
    schema: &'a Schema,
    /// Types that stand in a key or in an element of a set, directly or inside another one.
    keyed: HashSet<TypeId>,
    /// Types that contain a floating point number, or something that may be one, and are not keyed.
    floating: HashSet<TypeId>,
    /// Types that contain a set or map, and are not keyed.
    hashing: HashSet<TypeId>,
    /// For each type the ones that it contains in place, not through a container.
    inline: Vec<HashSet<TypeId>>,
    /// The same, counting only fields that a default value of the type must fill.
    filled: Vec<HashSet<TypeId>>,
}

/// The fields of a struct, those of its bases first.
pub(crate) fn all_fields<'a>(schema: &'a Schema, def: &'a Struct) -> Vec<&'a Field> {
    let mut fields = match def.extends.map(|base| &schema[base].kind) {
        Some(TypeKind::Struct(base)) => all_fields(schema, base),
        _ => Vec::new(),
    };
    fields.extend(&def.fields);
    fields
}

impl<'a> Facts<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Self {
        let mut facts = Facts {
            schema,
            keyed: HashSet::new(),
            floating: HashSet::new(),
            hashing: HashSet::new(),
            inline: Vec::new(),
            filled: Vec::new(),
        };
        facts.find_keys();
        facts.floating = facts.containing(|ty| matches!(ty, Type::F32 | Type::F64 | Type::Dynamic));
        facts.hashing = facts.containing(|ty| matches!(ty, Type::Set(_) | Type::Map(..)));
        facts.inline = facts.closure(|_, _| true);
        facts.filled = facts.closure(|def, field| {
            def.kind != StructKind::Union
                && field.presence != Presence::Optional
                && field.default.is_none()
        });
        facts
    }

    pub(crate) fn keyed(&self, id: TypeId) -> bool {
        self.keyed.contains(&id)
    }

    pub(crate) fn floating(&self, id: TypeId) -> bool {
        self.floating.contains(&id)
    }

    pub(crate) fn hashing(&self, id: TypeId) -> bool {
        self.hashing.contains(&id)
    }

    /// True where a type is not what it seems inside a key: an alias with one of `leaf` in it.
    pub(crate) fn alias_contains(&self, ty: &Type, leaf: fn(&Type) -> bool) -> bool {
        let ty = self.schema.resolve(ty);
        leaf(ty) || children(ty).any(|child| self.alias_contains(child, leaf))
    }

    /// True where a field of this type, inside `owner`, would make `owner` infinitely large.
    pub(crate) fn recursive(&self, owner: TypeId, ty: &Type) -> bool {
        self.closes_circle(&self.inline, owner, ty)
    }

    /// True where filling the field with its default would never come to an end.
    pub(crate) fn endless(&self, owner: TypeId, field: &Field) -> bool {
        field.presence != Presence::Optional
            && field.default.is_none()
            && !self.is_union(owner)
            && self.closes_circle(&self.filled, owner, &field.ty)
    }

    pub(crate) fn is_union(&self, id: TypeId) -> bool {
        self.struct_of(id)
            .is_some_and(|def| def.kind == StructKind::Union)
    }

    /// True where anything is deprecated.
    pub(crate) fn deprecations(&self) -> bool {
        let types = self.schema.types.iter().any(|def| {
            def.deprecated.is_some()
                || match &def.kind {
                    TypeKind::Alias(_) => false,
                    TypeKind::Enum(def) => def.values.iter().any(|v| v.deprecated.is_some()),
                    TypeKind::Struct(def) => def.fields.iter().any(|f| f.deprecated.is_some()),
                }
        });
        let services = self.schema.services.iter().any(|service| {
            service.deprecated.is_some() || service.methods.iter().any(|m| m.deprecated.is_some())
        });
        types || services
    }

    fn closes_circle(&self, edges: &[HashSet<TypeId>], owner: TypeId, ty: &Type) -> bool {
        match self.element(ty) {
            Type::Named(id) => *id == owner || edges[id.0 as usize].contains(&owner),
            _ => false,
        }
    }

    /// What a type is made of where it stands: of arrays of fixed extents, the elements.
    fn element<'t>(&'t self, ty: &'t Type) -> &'t Type {
        match self.schema.resolve(ty) {
            Type::Array(item, dimensions) if !dimensions.contains(&Dimension::Dynamic) => {
                self.element(item)
            }
            ty => ty,
        }
    }

    /// True for an array of so many of what is inside that is too long to stand in its struct.
    pub(crate) fn long(&self, extent: u32, item: &Type, inside: &[Dimension]) -> bool {
        extent > MOST_OF_AN_EXTENT
            || u64::from(extent) * self.in_place(item, inside) > MOST_IN_PLACE
    }

    /// How many elements an array has where it stands.
    fn in_place(&self, item: &Type, dimensions: &[Dimension]) -> u64 {
        match ArrayForm::of(dimensions) {
            Some(ArrayForm::Fixed(extent, inside)) if !self.long(extent, item, inside) => {
                u64::from(extent) * self.in_place(item, inside)
            }
            Some(_) => 1,
            None => match self.schema.resolve(item) {
                Type::Array(item, dimensions) => self.in_place(item, dimensions),
                _ => 1,
            },
        }
    }

    fn struct_of(&self, id: TypeId) -> Option<&'a Struct> {
        match &self.schema[id].kind {
            TypeKind::Struct(def) => Some(def),
            _ => None,
        }
    }

    fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.schema.types.len() as u32).map(TypeId)
    }

    /// The types of which a named type is made.
    fn parts(&self, id: TypeId) -> Vec<&'a Type> {
        match &self.schema[id].kind {
            TypeKind::Alias(target) => vec![target],
            TypeKind::Enum(_) => Vec::new(),
            TypeKind::Struct(def) => all_fields(self.schema, def).iter().map(|f| &f.ty).collect(),
        }
    }

    /// Which types each type reaches in place, through the fields that `follow` accepts.
    fn closure(&self, follow: fn(&Struct, &Field) -> bool) -> Vec<HashSet<TypeId>> {
        let edges: Vec<Vec<TypeId>> = self
            .ids()
            .map(|id| {
                let Some(def) = self.struct_of(id) else {
                    return Vec::new();
                };
                all_fields(self.schema, def)
                    .into_iter()
                    .filter(|field| follow(def, field))
                    .filter_map(|field| match self.element(&field.ty) {
                        Type::Named(target) => Some(*target),
                        _ => None,
                    })
                    .collect()
            })
            .collect();
        self.ids().map(|id| reachable(&edges, id)).collect()
    }

    fn find_keys(&mut self) {
        let schema = self.schema;
        for id in self.ids() {
            for part in self.parts(id) {
                self.keys_in(part);
            }
        }
        let methods = schema.services.iter().flat_map(|s| &s.methods);
        for method in methods {
            let streams = [&method.client_stream, &method.server_stream];
            let streams = streams.into_iter().flatten();
            let items = streams.clone().map(|stream| &stream.item);
            let thrown = streams.flat_map(|stream| &stream.throws);
            let fields = method.params.iter().chain(&method.throws).chain(thrown);
            let fields = fields.map(|f| &f.ty).chain(items);
            for ty in fields.chain(&method.result) {
                self.keys_in(ty);
            }
        }
        for constant in &schema.constants {
            self.keys_in(&constant.ty);
        }
    }

    fn keys_in(&mut self, ty: &'a Type) {
        match ty {
            Type::Set(key) | Type::Map(key, _) => self.mark_keyed(key),
            _ => {}
        }
        for child in children(ty) {
            self.keys_in(child);
        }
    }

    fn mark_keyed(&mut self, ty: &'a Type) {
        for child in children(ty) {
            self.mark_keyed(child);
        }
        if let Type::Named(id) = ty
            && self.keyed.insert(*id)
        {
            for part in self.parts(*id) {
                self.mark_keyed(part);
            }
        }
    }

    /// The structs that contain a `leaf` at any depth, where it would count: not inside a keyed type.
    fn containing(&self, leaf: fn(&Type) -> bool) -> HashSet<TypeId> {
        let mut found = HashSet::new();
        loop {
            let before = found.len();
            for id in self.ids() {
                let keyed = matches!(self.schema[id].kind, TypeKind::Struct(_)) && self.keyed(id);
                if !keyed && self.parts(id).iter().any(|ty| contains(ty, leaf, &found)) {
                    found.insert(id);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

fn children(ty: &Type) -> impl Iterator<Item = &Type> {
    let (first, second) = match ty {
        Type::List(item) | Type::Set(item) | Type::Array(item, _) => (Some(item), None),
        Type::Map(key, value) => (Some(key), Some(value)),
        _ => (None, None),
    };
    first.into_iter().chain(second).map(|child| &**child)
}

fn contains(ty: &Type, leaf: fn(&Type) -> bool, found: &HashSet<TypeId>) -> bool {
    // What stands in a key is spelled so that it can be compared.
    let counts = |child: &Type| contains(child, leaf, found);
    leaf(ty)
        || match ty {
            Type::Named(id) => found.contains(id),
            Type::Set(_) => false,
            Type::Map(_, value) => counts(value),
            _ => children(ty).any(counts),
        }
}

fn reachable(edges: &[Vec<TypeId>], from: TypeId) -> HashSet<TypeId> {
    let mut seen = HashSet::new();
    let mut todo = edges[from.0 as usize].clone();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            todo.extend(&edges[id.0 as usize]);
        }
    }
    seen
}
