//! The intermediate representation of a Dovetail contract.
//!
//! Front ends (`.thrift`, `.proto`, later Rust traits) make a [`Schema`]; generators, exporters,
//! the breaking check, reflection and descriptions of methods read it. It is plain data: no syntax
//! tree, no spans, no files, no I/O. It can be serialized with serde and compared.
//!
//! A schema is *closed*: every id in it points into it. [`Schema::types`], [`Schema::services`] and
//! [`Schema::constants`] are arenas indexed by [`TypeId`], [`ServiceId`] and [`ConstantId`]; a
//! front end that builds one must keep that invariant, everybody else may index without looking.
#![forbid(unsafe_code)]

mod annotation;
pub mod capnp;
mod service;
pub mod text;
mod type_name;
mod types;
mod value;

pub use annotation::{Annotation, Annotations, TypedAnnotation};
pub use service::{Idempotency, Method, OPTIONS_PROTO, PERMISSION, Service, Stream};
pub use type_name::{type_name, type_name_in};
pub use types::{
    ArrayForm, Dimension, Enum, EnumValue, ErrorKind, ExceptionTraits, Fault, Field, IntFormat,
    JsonForm, Presence, Protobuf, Reserved, Safety, Sharing, Struct, StructKind, Type, TypeDef,
    TypeKind,
};
pub use value::Value;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Index, RangeInclusive};

/// Ids that structs in a family, and targets of references, leave free: on the wire they say which
/// struct it is and which node.
pub const RESERVED_IDS: RangeInclusive<i32> = 32765..=32767;

/// How many structs one can extend, one through the other. Front ends refuse more, and circles.
pub const LONGEST_CHAIN: usize = 64;

macro_rules! arena_id {
    ($(#[$doc:meta])* $name:ident => $field:ident: $item:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl Index<$name> for Schema {
            type Output = $item;

            fn index(&self, id: $name) -> &$item {
                &self.$field[id.0 as usize]
            }
        }
    };
}

arena_id!(
    /// The place of a [`Package`] in [`Schema::packages`].
    PackageId => packages: Package
);
arena_id!(
    /// The place of a [`TypeDef`] in [`Schema::types`].
    TypeId => types: TypeDef
);
arena_id!(
    /// The place of a [`Service`] in [`Schema::services`].
    ServiceId => services: Service
);
arena_id!(
    /// The place of a [`Constant`] in [`Schema::constants`].
    ConstantId => constants: Constant
);

/// A whole contract: everything that a set of files defines, resolved and checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// One package for each file, in dependency order: includes come before the file that includes
    /// them, the file that was asked for is the last.
    pub packages: Vec<Package>,
    /// All named types, of all packages, in order of definition.
    pub types: Vec<TypeDef>,
    /// All services, of all packages, in order of definition.
    pub services: Vec<Service>,
    /// All constants, of all packages, in order of definition.
    pub constants: Vec<Constant>,
}

/// The contribution of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// The name by which other files refer to this one: the file's stem in Thrift, the package in
    /// protobuf.
    pub name: String,
    /// The path as the front end was given it, for messages only.
    pub path: String,
    /// The file's documentation comment, if any.
    pub doc: Option<String>,
    /// Namespace by language scope (`rs`, `cpp`, `java`, `*` …).
    pub namespaces: BTreeMap<String, String>,
    /// The packages that this one includes, in the order written.
    pub includes: Vec<PackageId>,
    /// Annotations of the file as a whole.
    pub annotations: Annotations,
    /// Calls take one message and answer with one, as in protobuf: gRPC sends these as they are,
    /// and messages around the parameters and the result of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
}

/// A named constant. Its value has been checked against, and converted to, its type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// The package that defines it.
    pub package: PackageId,
    /// The name as written.
    pub name: String,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// The declared type.
    pub ty: Type,
    /// The value.
    pub value: Value,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
}

impl Schema {
    /// The package of the file that was asked for: the last one. `None` for an empty schema.
    pub fn root(&self) -> Option<PackageId> {
        self.packages
            .len()
            .checked_sub(1)
            .map(|last| PackageId(last as u32))
    }

    /// Follows aliases (`typedef`) until something that is not an alias.
    pub fn resolve<'a>(&'a self, mut ty: &'a Type) -> &'a Type {
        while let Type::Named(id) = ty {
            match &self[*id].kind {
                TypeKind::Alias(target) => ty = target,
                _ => break,
            }
        }
        ty
    }

    /// Whether protobuf leaves the field of a type out where its value is zero or empty: one
    /// without presence, in a contract in protobuf's language.
    pub fn is_implicit(&self, owner: TypeId, field: &Field) -> bool {
        self[self[owner].package].messages
            && field.presence == Presence::Default
            && match self.resolve(&field.ty) {
                Type::Named(id) => matches!(self[*id].kind, TypeKind::Enum(_)),
                _ => true,
            }
    }

    /// Returns the form of a type in protobuf's JSON, if it is one of `google.protobuf` that has a
    /// form of its own there.
    pub fn json_form(&self, id: TypeId) -> JsonForm {
        let def = &self[id];
        let package = &self[def.package];
        if !package.messages || package.name != "google.protobuf" {
            return JsonForm::Fields;
        }
        match def.name.as_str() {
            "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value"
            | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue" | "Struct"
            | "ListValue" => JsonForm::Bare,
            "FieldMask" => JsonForm::Mask,
            "NullValue" => JsonForm::Null,
            _ => JsonForm::Fields,
        }
    }

    /// Finds a type by `name`, or by `package.name`; an unqualified name is looked up in the root
    /// package.
    pub fn find_type(&self, name: &str) -> Option<TypeId> {
        self.find(name, &self.types, |def| (def.package, &def.name))
            .map(TypeId)
    }

    /// Finds a service by `name`, or by `package.name`; an unqualified name is looked up in the
    /// root package.
    pub fn find_service(&self, name: &str) -> Option<ServiceId> {
        self.find(name, &self.services, |service| {
            (service.package, &service.name)
        })
        .map(ServiceId)
    }

    fn find<T>(
        &self,
        name: &str,
        items: &[T],
        key: impl Fn(&T) -> (PackageId, &String),
    ) -> Option<u32> {
        let root = self.root()?;
        let at = items.iter().position(|item| {
            let (package, own) = key(item);
            // Several files may share a name: all of them are looked at.
            let rest = name.strip_prefix(self[package].name.as_str());
            let qualified = rest.and_then(|rest| rest.strip_prefix('.')) == Some(own);
            qualified || (package == root && own == name)
        })?;
        Some(at as u32)
    }

    /// The structs and exceptions that others extend, each with itself and all that do, directly or
    /// not, in the order of [`types`](Self::types).
    pub fn families(&self) -> BTreeMap<TypeId, Vec<TypeId>> {
        let mut families: BTreeMap<TypeId, Vec<TypeId>> = BTreeMap::new();
        for index in 0..self.types.len() {
            let id = TypeId(index as u32);
            for base in self.bases(id) {
                families.entry(base).or_insert_with(|| vec![base]).push(id);
            }
        }
        families
    }

    /// The structs that a struct extends, the nearest first.
    pub fn bases(&self, id: TypeId) -> Vec<TypeId> {
        let base = |id: TypeId| match &self[id].kind {
            TypeKind::Struct(def) => def.extends,
            _ => None,
        };
        std::iter::successors(base(id), |id| base(*id))
            .take(LONGEST_CHAIN)
            .collect()
    }

    /// All methods that a service answers, its own after the inherited ones, base first.
    pub fn methods(&self, service: ServiceId) -> Vec<(ServiceId, &Method)> {
        let mut chain = vec![service];
        while let Some(base) = self[*chain.last().unwrap_or(&service)].extends {
            chain.push(base);
        }
        let own = |id: &ServiceId| {
            let id = *id;
            self[id].methods.iter().map(move |method| (id, method))
        };
        chain.iter().rev().flat_map(own).collect()
    }

    /// The name of a type with its package in front, as in `shared.SharedStruct`.
    pub fn qualified_name(&self, id: TypeId) -> String {
        let def = &self[id];
        match self[def.package].name.as_str() {
            "" => def.name.clone(),
            package => format!("{package}.{}", def.name),
        }
    }
}
