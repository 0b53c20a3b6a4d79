//! A schema of what methods say about themselves: for contracts that were never written down.

use dovetail_schema::{
    Annotation, Annotations, Dimension, Enum, EnumValue, ExceptionTraits, Field, Idempotency,
    IntFormat, Method, PERMISSION, Package, PackageId, Presence, Reserved, Schema, Service,
    ServiceId, Sharing, Stream, Struct, StructKind, Type, TypeDef, TypeId, TypeKind,
};
use dovetail_wire::description::{
    self as said, Definition, FieldPresence, FieldRemarks, Logical, TypeRemarks, parse,
};
use dovetail_wire::{DecodeError, Kind};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A contract that is put together from [descriptions](said::describe) of methods. It has what
/// these have: names, ids, types, presence, and with [`remarks`](Described::remarks) the form in
/// protobuf; neither documentation nor default values.
#[derive(Debug)]
pub struct Described {
    schema: Schema,
    /// The package of further services and types.
    package: PackageId,
    /// The types by name.
    named: HashMap<(PackageId, String), TypeId>,
    /// Those that are declared as exceptions.
    thrown: HashSet<TypeId>,
    /// The remarks of structs, by the place and the id of a field.
    remarks: HashMap<(TypeId, i32), FieldRemarks>,
}

/// Why a method cannot be part of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Indescribable {
    /// It does not say what it is, or says it in a form that is none.
    Malformed(DecodeError),
    /// Two different types have this name.
    Ambiguous(String),
    /// Structs that extend this one are told apart; descriptions do not say which of its fields are
    /// whose.
    Extended(String),
    /// It passes references to objects of this service.
    Object(String),
}

impl fmt::Display for Indescribable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "a method is not described: {error}"),
            Self::Ambiguous(name) => write!(
                f,
                "two different types are called `{name}`; rename one of them"
            ),
            Self::Extended(name) => write!(
                f,
                "structs extend `{name}`, which only the contract itself says"
            ),
            Self::Object(name) => write!(
                f,
                "objects of `{name}` are passed, which only the contract itself says"
            ),
        }
    }
}

impl std::error::Error for Indescribable {}

impl From<DecodeError> for Indescribable {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl Described {
    /// A contract of this name, with nothing in it.
    pub fn new(name: &str) -> Self {
        let package = Package {
            name: name.to_owned(),
            ..Package::default()
        };
        Described {
            schema: Schema {
                packages: vec![package],
                ..Schema::default()
            },
            package: PackageId(0),
            named: HashMap::new(),
            thrown: HashSet::new(),
            remarks: HashMap::new(),
        }
    }

    /// Begins the package of this name: its types are apart from those of others.
    /// `messages` says that its contract is protobuf's.
    pub fn package(&mut self, name: &str, messages: bool) {
        let packages = &mut self.schema.packages;
        let known = packages.iter().position(|package| package.name == name);
        let index = known.unwrap_or_else(|| {
            packages.push(Package {
                name: name.to_owned(),
                ..Package::default()
            });
            packages.len() - 1
        });
        packages[index].messages = messages;
        self.package = PackageId(index as u32);
    }

    /// Adds a service without methods of its own.
    pub fn service(&mut self, name: &str, extends: Option<ServiceId>) -> ServiceId {
        self.schema.services.push(Service {
            package: self.package,
            name: name.to_owned(),
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            extends,
            methods: Vec::new(),
        });
        ServiceId(self.schema.services.len() as u32 - 1)
    }

    /// Adds a method to a service, by its description, and the types that it needs.
    ///
    /// # Errors
    ///
    /// The contract may then have types that nothing uses.
    pub fn method(
        &mut self,
        service: ServiceId,
        description: &[u8],
        idempotent: bool,
        permission: Option<&str>,
    ) -> Result<(), Indescribable> {
        let parsed = parse(description)?;
        let names = self.declare(&parsed.definitions)?;
        let signature = &parsed.signature;
        let method = Method {
            name: signature.name.to_owned(),
            doc: None,
            annotations: Annotations {
                untyped: permission.into_iter().map(requires).collect(),
                typed: Vec::new(),
            },
            deprecated: None,
            params: names.fields(&signature.params)?,
            result: signature
                .result
                .as_ref()
                .map(|ty| names.ty(ty))
                .transpose()?,
            client_stream: names.stream(signature.client_stream.as_ref())?,
            server_stream: names.stream(signature.server_stream.as_ref())?,
            throws: names.choices(&signature.exceptions)?,
            oneway: signature.oneway,
            idempotency: match idempotent {
                true => Idempotency::Idempotent,
                false => Idempotency::Unknown,
            },
        };
        let streams = [&method.client_stream, &method.server_stream];
        let streams = streams
            .into_iter()
            .flatten()
            .flat_map(|stream| &stream.throws);
        let thrown = method
            .throws
            .iter()
            .chain(streams)
            .filter_map(|thrown| match thrown.ty {
                Type::Named(id) => Some(id),
                _ => None,
            });
        self.thrown.extend(thrown);
        if let Some(service) = self.schema.services.get_mut(service.0 as usize) {
            service.methods.push(method);
        }
        Ok(())
    }

    /// Adds the properties of fields that descriptions leave out: those of the method that was
    /// added last, and of the structs that it reaches.
    pub fn remarks(&mut self, remarks: &[TypeRemarks]) {
        for TypeRemarks { name, fields } in remarks {
            if name.is_empty() {
                let service = self.schema.services.last_mut();
                let method = service.and_then(|service| service.methods.last_mut());
                let params = method.map(|method| &mut method.params);
                params.into_iter().flatten().for_each(|param| {
                    let own = fields.iter().find(|remarks| remarks.id == param.id);
                    own.into_iter().for_each(|remarks| remark(param, remarks));
                });
            } else if let Some(id) = self.named.get(&(self.package, name.clone())) {
                let fields = fields.iter();
                let fields = fields.map(|remarks| ((*id, remarks.id), remarks.clone()));
                self.remarks.extend(fields);
            }
        }
    }

    /// The contract.
    pub fn into_schema(mut self) -> Schema {
        for (index, def) in self.schema.types.iter_mut().enumerate() {
            let id = TypeId(index as u32);
            let TypeKind::Struct(def) = &mut def.kind else {
                continue;
            };
            if self.thrown.contains(&id) {
                def.kind = StructKind::Exception(ExceptionTraits::default());
            }
            for field in &mut def.fields {
                if let Some(remarks) = self.remarks.get(&(id, field.id)) {
                    remark(field, remarks);
                }
            }
        }
        self.schema
    }

    /// Makes the types of a method those of the contract.
    fn declare<'a>(
        &mut self,
        definitions: &'a [Definition<'a, usize>],
    ) -> Result<Names<'a>, Indescribable> {
        let known = self.schema.types.len();
        let ids = definitions
            .iter()
            .map(|definition| self.declare_type(name(definition)))
            .collect();
        let names = Names { definitions, ids };
        for (definition, id) in definitions.iter().zip(&names.ids) {
            let kind = names.kind(definition)?;
            let Some(def) = self.schema.types.get_mut(id.0 as usize) else {
                continue;
            };
            // Two of one description with the same name would be one type, too.
            if id.0 as usize >= known && def.kind == UNKNOWN {
                def.kind = kind;
            } else if def.kind != kind {
                return Err(Indescribable::Ambiguous(def.name.clone()));
            }
        }
        Ok(names)
    }

    fn declare_type(&mut self, name: &str) -> TypeId {
        let key = (self.package, name.to_owned());
        if let Some(id) = self.named.get(&key) {
            return *id;
        }
        let id = TypeId(self.schema.types.len() as u32);
        self.named.insert(key, id);
        self.schema.types.push(TypeDef {
            package: self.package,
            name: name.to_owned(),
            doc: None,
            annotations: Annotations::default(),
            deprecated: None,
            kind: UNKNOWN,
        });
        id
    }
}

/// The kind of a type whose definition has not been read.
const UNKNOWN: TypeKind = TypeKind::Alias(Type::Any);

fn name<'a>(definition: &Definition<'a, usize>) -> &'a str {
    match definition {
        Definition::Struct(name, _)
        | Definition::Union(name, _)
        | Definition::Enum(name, _)
        | Definition::Family(name, _)
        | Definition::Service(name) => name,
    }
}

/// The named types of one description, by their numbers there.
struct Names<'a> {
    definitions: &'a [Definition<'a, usize>],
    ids: Vec<TypeId>,
}

impl Names<'_> {
    fn kind(&self, definition: &Definition<'_, usize>) -> Result<TypeKind, Indescribable> {
        let structure = |kind, fields| {
            TypeKind::Struct(Struct {
                kind,
                extends: None,
                fields,
                reserved: Reserved::default(),
            })
        };
        Ok(match definition {
            Definition::Struct(_, fields) => structure(StructKind::Struct, self.fields(fields)?),
            Definition::Union(_, fields) => structure(StructKind::Union, self.choices(fields)?),
            Definition::Enum(_, values) => {
                let values = values.iter().map(|(number, name)| EnumValue {
                    name: (*name).to_owned(),
                    number: *number,
                    doc: None,
                    annotations: Annotations::default(),
                    deprecated: None,
                });
                TypeKind::Enum(Enum {
                    values: values.collect(),
                    ..Enum::default()
                })
            }
            Definition::Family(name, _) => return Err(Indescribable::Extended((*name).to_owned())),
            Definition::Service(name) => return Err(Indescribable::Object((*name).to_owned())),
        })
    }

    fn stream(
        &self,
        stream: Option<&said::StreamTypes<'_, usize>>,
    ) -> Result<Option<Stream>, Indescribable> {
        let Some(stream) = stream else {
            return Ok(None);
        };
        let (item, throws) = (self.ty(&stream.item)?, self.choices(&stream.exceptions)?);
        Ok(Some(Stream { item, throws }))
    }

    fn fields(&self, fields: &[said::FieldType<'_, usize>]) -> Result<Vec<Field>, Indescribable> {
        fields.iter().map(|field| self.field(field)).collect()
    }

    /// Fields of which there is one: each may be absent.
    fn choices(&self, fields: &[said::FieldType<'_, usize>]) -> Result<Vec<Field>, Indescribable> {
        let mut fields = self.fields(fields)?;
        fields
            .iter_mut()
            .for_each(|field| field.presence = Presence::Optional);
        Ok(fields)
    }

    fn field(&self, field: &said::FieldType<'_, usize>) -> Result<Field, Indescribable> {
        let (sharing, ty) = match &field.ty {
            said::Type::Ref(ty) => (Sharing::Ref, self.ty(ty)?),
            ty => (Sharing::Value, self.ty(ty)?),
        };
        Ok(Field {
            presence: match (field.presence, sharing) {
                (FieldPresence::Required, _) => Presence::Required,
                (FieldPresence::Always, Sharing::Value) => Presence::Default,
                (FieldPresence::Optional, _) | (_, Sharing::Ref) => Presence::Optional,
            },
            sharing,
            ..Field::new(field.id, field.name, ty)
        })
    }

    /// The type; descriptions nest no deeper than they are read.
    fn ty(&self, ty: &said::Type<usize>) -> Result<Type, Indescribable> {
        let boxed = |ty| self.ty(ty).map(Box::new);
        Ok(match ty {
            said::Type::Scalar(kind) => scalar(*kind),
            said::Type::List(item) => Type::List(boxed(item)?),
            said::Type::Set(item) => Type::Set(boxed(item)?),
            said::Type::Map(key, value) => Type::Map(boxed(key)?, boxed(value)?),
            said::Type::Array(extents, item) => {
                let dimensions = extents.iter().map(|extent| match extent {
                    0 => Dimension::Dynamic,
                    extent => Dimension::Fixed(*extent),
                });
                Type::Array(boxed(item)?, dimensions.collect())
            }
            said::Type::Logical(logical) => self::logical(*logical),
            said::Type::Ref(ty) => self.ty(ty)?,
            said::Type::Enum(named) | said::Type::Struct(named) => {
                let id = self.ids.get(*named).copied();
                Type::Named(id.ok_or(DecodeError::malformed("a type without a definition"))?)
            }
            said::Type::Family(named) => return Err(Indescribable::Extended(self.name(*named))),
            said::Type::Object(named) => return Err(Indescribable::Object(self.name(*named))),
        })
    }

    fn name(&self, number: usize) -> String {
        self.definitions
            .get(number)
            .map(name)
            .unwrap_or_default()
            .to_owned()
    }
}

fn scalar(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::Bool,
        Kind::I8 => Type::I8,
        Kind::I16 => Type::I16,
        Kind::I32 => Type::I32,
        Kind::I64 => Type::I64,
        Kind::U8 => Type::U8,
        Kind::U16 => Type::U16,
        Kind::U32 => Type::U32,
        Kind::U64 => Type::U64,
        Kind::F32 => Type::F32,
        Kind::F64 => Type::F64,
        Kind::String => Type::String,
        Kind::Uuid => Type::Uuid,
        // The others are no scalars, and are not read as such.
        Kind::Bytes
        | Kind::Enum
        | Kind::Struct
        | Kind::List
        | Kind::Set
        | Kind::Map
        | Kind::Object => Type::Bytes,
    }
}

fn logical(logical: Logical) -> Type {
    match logical {
        Logical::Timestamp => Type::Timestamp { offset: false },
        Logical::TimestampTz => Type::Timestamp { offset: true },
        Logical::Date => Type::Date,
        Logical::Duration => Type::Duration,
        Logical::Decimal => Type::Decimal,
        Logical::Any => Type::Any,
        Logical::Dynamic => Type::Dynamic,
    }
}

/// Adds what a description leaves out.
fn remark(field: &mut Field, remarks: &FieldRemarks) {
    field.protobuf.format = format(remarks.format);
    field.protobuf.key_format = format(remarks.key_format);
    field.protobuf.expanded = remarks.expanded;
    field.protobuf.delimited = remarks.group;
    let name = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
    field.protobuf.oneof = name(&remarks.oneof);
    field.protobuf.json_name = name(&remarks.json_name);
    if remarks.sensitive {
        field.set_sensitive();
    }
}

fn format(number: i32) -> IntFormat {
    match number {
        1 => IntFormat::ZigZag,
        2 => IntFormat::Fixed,
        _ => IntFormat::Varint,
    }
}

/// The annotation of a method that takes a permission.
fn requires(permission: &str) -> Annotation {
    Annotation {
        key: PERMISSION.to_owned(),
        value: permission.to_owned(),
    }
}
