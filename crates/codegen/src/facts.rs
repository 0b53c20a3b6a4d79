//! Facts that a generator has to know of a schema as a whole: types that recurse, that serve as a
//! key, that cannot be compared.

use dovetail_schema::{
    ArrayForm, Dimension, Field, Method, Presence, Schema, ServiceId, Sharing, Struct, StructKind,
    Type, TypeId, TypeKind,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The longest array that has a default in Rust's standard library.
const MAX_OF_AN_EXTENT: u32 = 32;

/// Elements of an array that can stand on the stack, however deep its struct is.
const MAX_IN_PLACE: u64 = 256;

/// The conclusions, one bit for each type.
pub(crate) struct Facts<'a> {
    schema: &'a Schema,
    /// See [`Schema::families`].
    families: BTreeMap<TypeId, Vec<TypeId>>,
    /// Types that stand in a key or in an element of a set, directly or inside another one.
    keyed: HashSet<TypeId>,
    /// Types that contain a floating point number, something that may be one, or a reference, also
    /// to an object, and are not keyed.
    floating: HashSet<TypeId>,
    /// Types that contain a set or map, and are not keyed.
    hashing: HashSet<TypeId>,
    /// For each type the ones that it contains in place, not through a container.
    inline: Vec<HashSet<TypeId>>,
    /// For each type the ones that it contains, counting only fields that a default value of the
    /// type must fill.
    filled: Vec<HashSet<TypeId>>,
}

/// A part of a named type.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// The struct that it extends.
    Base(TypeId),
    /// A field that is a reference.
    Ref,
    /// Any other field, or what an alias stands for.
    Value(&'a Type),
}

impl<'a> Facts<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Self {
        let mut facts = Facts {
            schema,
            families: schema.families(),
            keyed: HashSet::new(),
            floating: HashSet::new(),
            hashing: HashSet::new(),
            inline: Vec::new(),
            filled: Vec::new(),
        };
        facts.find_keys();
        facts.floating = facts.containing(|part| match part {
            Part::Value(ty) => {
                matches!(ty, Type::F32 | Type::F64 | Type::Dynamic | Type::Object(_))
            }
            Part::Ref => true,
            Part::Base(_) => false,
        });
        facts.hashing = facts.containing(
            |part| matches!(part, Part::Value(ty) if matches!(ty, Type::Set(_) | Type::Map(..))),
        );
        facts.inline = facts.closure(|_, _| true, |facts, id| facts.members(id));
        facts.filled = facts.closure(
            |def, field| {
                def.kind != StructKind::Union
                    && field.presence != Presence::Optional
                    && field.default.is_none()
            },
            |_, id| vec![id],
        );
        facts
    }

    /// The struct and all that extend it; nothing where none does.
    pub(crate) fn family(&self, id: TypeId) -> Option<&[TypeId]> {
        self.families.get(&id).map(Vec::as_slice)
    }

    /// Returns the types that a value of this type can have.
    fn members(&self, id: TypeId) -> Vec<TypeId> {
        self.family(id).map_or_else(|| vec![id], <[_]>::to_vec)
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

    /// Returns whether a type is another one inside a key: an alias with one of `leaf` in it.
    pub(crate) fn alias_contains(&self, ty: &Type, leaf: fn(&Type) -> bool) -> bool {
        let ty = self.schema.resolve(ty);
        leaf(ty) || children(ty).any(|child| self.alias_contains(child, leaf))
    }

    /// Returns whether a field of this type, inside `owner`, would make `owner` infinitely large.
    pub(crate) fn recursive(&self, owner: TypeId, ty: &Type) -> bool {
        match self.element(ty) {
            Type::Named(id) => self
                .members(*id)
                .into_iter()
                .any(|id| closes_circle(&self.inline, owner, id)),
            _ => false,
        }
    }

    /// Returns whether filling the field with its default would never come to an end.
    pub(crate) fn endless(&self, owner: TypeId, field: &Field) -> bool {
        field.presence != Presence::Optional
            && field.default.is_none()
            && field.sharing == Sharing::Value
            && !self.is_union(owner)
            && match self.element(&field.ty) {
                Type::Named(id) => closes_circle(&self.filled, owner, *id),
                _ => false,
            }
    }

    pub(crate) fn is_union(&self, id: TypeId) -> bool {
        self.struct_of(id)
            .is_some_and(|def| def.kind == StructKind::Union)
    }

    /// The services of the objects that values of these types can hold.
    pub(crate) fn objects<'t>(
        &'t self,
        types: impl IntoIterator<Item = &'t Type>,
    ) -> BTreeSet<ServiceId> {
        let mut left: Vec<&Type> = types.into_iter().collect();
        let (mut found, mut seen) = (BTreeSet::new(), HashSet::new());
        while let Some(ty) = left.pop() {
            left.extend(children(ty));
            match ty {
                Type::Object(id) => drop(found.insert(*id)),
                Type::Named(id) => {
                    for id in self.members(*id).into_iter().filter(|id| seen.insert(*id)) {
                        left.extend(self.parts_of(id));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The types of which a named type is made, also behind references, and in what it extends.
    fn parts_of(&self, id: TypeId) -> Vec<&'a Type> {
        match &self.schema[id].kind {
            TypeKind::Alias(target) => vec![target],
            TypeKind::Enum(_) => Vec::new(),
            TypeKind::Struct(def) => {
                let base = def.extends.map(|base| self.parts_of(base));
                let fields = def.fields.iter().map(|field| &field.ty);
                fields.chain(base.into_iter().flatten()).collect()
            }
        }
    }

    /// The services of the objects that a method passes.
    pub(crate) fn passed(&self, method: &Method) -> BTreeSet<ServiceId> {
        let fields = method.params.iter().chain(&method.throws);
        self.objects(fields.map(|field| &field.ty).chain(&method.result))
    }

    /// Returns whether the service is the type of something.
    pub(crate) fn is_type(&self, service: ServiceId) -> bool {
        let methods = self.schema.services.iter().flat_map(|s| &s.methods);
        let by_methods = methods.flat_map(|method| self.passed(method));
        let parts = self.ids().flat_map(|id| self.parts_of(id));
        let mut all = self.objects(parts).into_iter().chain(by_methods);
        all.any(|used| used == service)
    }

    /// Returns whether anything is deprecated.
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

    /// Returns the type that a type consists of where it stands: of arrays of fixed extents, the
    /// elements.
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
        extent > MAX_OF_AN_EXTENT || u64::from(extent) * self.in_place(item, inside) > MAX_IN_PLACE
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
    fn parts(&self, id: TypeId) -> Vec<Part<'a>> {
        match &self.schema[id].kind {
            TypeKind::Alias(target) => vec![Part::Value(target)],
            TypeKind::Enum(_) => Vec::new(),
            TypeKind::Struct(def) => {
                let fields = def.fields.iter().map(|field| match field.sharing {
                    Sharing::Ref => Part::Ref,
                    Sharing::Value => Part::Value(&field.ty),
                });
                def.extends
                    .map(Part::Base)
                    .into_iter()
                    .chain(fields)
                    .collect()
            }
        }
    }

    /// Which types each type reaches in place, through what it extends and the fields that `follow`
    /// accepts; `members` are those that a field can hold.
    fn closure(
        &self,
        follow: fn(&Struct, &Field) -> bool,
        members: fn(&Self, TypeId) -> Vec<TypeId>,
    ) -> Vec<HashSet<TypeId>> {
        let edges: Vec<Vec<TypeId>> = self
            .ids()
            .map(|id| {
                let Some(def) = self.struct_of(id) else {
                    return Vec::new();
                };
                let fields = def.fields.iter();
                let values = fields.filter(|f| f.sharing == Sharing::Value && follow(def, f));
                let held = values.flat_map(|field| match self.element(&field.ty) {
                    Type::Named(target) => members(self, *target),
                    _ => Vec::new(),
                });
                held.chain(def.extends).collect()
            })
            .collect();
        self.ids().map(|id| reachable(&edges, id)).collect()
    }

    fn find_keys(&mut self) {
        let schema = self.schema;
        for id in self.ids() {
            for part in self.parts(id) {
                if let Part::Value(ty) = part {
                    self.keys_in(ty);
                }
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
        if let Type::Named(id) = ty {
            for id in self.members(*id) {
                self.mark_parts(id);
            }
        }
    }

    fn mark_parts(&mut self, id: TypeId) {
        if !self.keyed.insert(id) {
            return;
        }
        for part in self.parts(id) {
            match part {
                Part::Base(base) => self.mark_parts(base),
                Part::Value(ty) => self.mark_keyed(ty),
                Part::Ref => {}
            }
        }
    }

    /// The structs that contain a `leaf` at any depth, where it would count: not inside a keyed
    /// type.
    fn containing(&self, leaf: fn(Part<'_>) -> bool) -> HashSet<TypeId> {
        let mut found = HashSet::new();
        loop {
            let before = found.len();
            for id in self.ids() {
                let keyed = matches!(self.schema[id].kind, TypeKind::Struct(_)) && self.keyed(id);
                let counts = |part: &Part<'_>| match part {
                    Part::Base(base) => found.contains(base),
                    Part::Ref => leaf(*part),
                    Part::Value(ty) => self.contains(ty, leaf, &found),
                };
                if !keyed && self.parts(id).iter().any(counts) {
                    found.insert(id);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    fn contains(&self, ty: &Type, leaf: fn(Part<'_>) -> bool, found: &HashSet<TypeId>) -> bool {
        // A type inside a key is spelled so that it can be compared.
        let counts = |child: &Type| self.contains(child, leaf, found);
        leaf(Part::Value(ty))
            || match ty {
                Type::Named(id) => self.members(*id).iter().any(|id| found.contains(id)),
                Type::Set(_) => false,
                Type::Map(_, value) => counts(value),
                _ => children(ty).any(counts),
            }
    }
}

fn closes_circle(edges: &[HashSet<TypeId>], owner: TypeId, id: TypeId) -> bool {
    id == owner || edges[id.0 as usize].contains(&owner)
}

fn children(ty: &Type) -> impl Iterator<Item = &Type> {
    let (first, second) = match ty {
        Type::List(item) | Type::Set(item) | Type::Array(item, _) => (Some(item), None),
        Type::Map(key, value) => (Some(key), Some(value)),
        _ => (None, None),
    };
    first.into_iter().chain(second).map(|child| &**child)
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
