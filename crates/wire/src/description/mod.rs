//! The form of a method on the wire, in one canonical text, by which two ends find out whether they
//! understand each other. `docs/spec/encoding.md` is its specification.
//!
//! Generated types describe themselves; a schema can be described in the same words. Either way
//! named types have identities, and get their numbers here, in the order in which they are met.

mod compare;
mod logical;
mod masks;
mod named;
mod notes;
mod parse;
mod remarks;

pub use compare::{Incompatible, compare, spelled};
pub use logical::Logical;
pub(crate) use masks::HIDDEN;
pub use masks::{Masks, Part};
pub use named::Named;
pub use notes::{Notes, fresh, fresh_params};
pub use parse::{Parsed, parse};
pub use remarks::{FieldRemarks, TypeRemarks, remarks};

use crate::tagged::code;
use crate::{Field, Kind, Row, varint};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hash::Hash;

/// The version of the form.
const VERSION: u8 = 1;

/// The codes of types that are another one on the wire, besides those of the tagged encoding.
const LOGICAL: u8 = 21;
const ARRAY: u8 = 22;

const STRUCT: u8 = 1;
const UNION: u8 = 2;
const ENUM: u8 = 3;
const FAMILY: u8 = 4;
const SERVICE: u8 = 5;

/// The codes of types that the tagged encoding does not tell from a struct.
const REF_TYPE: u8 = 26;
const FAMILY_TYPE: u8 = 27;

/// Flags of a method.
const ONE_WAY: u8 = 1;
const CLIENT_STREAM: u8 = 2;
const SERVER_STREAM: u8 = 4;

/// A type. `N` is what a named type is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type<N> {
    /// A scalar, string, bytes or uuid.
    Scalar(Kind),
    /// Elements in order.
    List(Box<Type<N>>),
    /// Elements without order or repetition.
    Set(Box<Type<N>>),
    /// Keys, each with its value.
    Map(Box<Type<N>>, Box<Type<N>>),
    /// An enum.
    Enum(N),
    /// A struct, union or exception.
    Struct(N),
    /// A type that every contract has, and that is another one on the wire.
    Logical(Logical),
    /// An array of these extents, 0 for those that are part of the value.
    Array(Vec<u32>, Box<Type<N>>),
    /// A struct or exception, or one that extends it.
    Family(N),
    /// A reference to one of these, whose identity is kept.
    Ref(Box<Type<N>>),
    /// A reference to an object of a service.
    Object(N),
}

/// Whether a field may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPresence {
    /// It is always there, and where a peer leaves it out, its default is assumed.
    Always,
    /// A message without it is refused.
    Required,
    /// It is there or not.
    Optional,
}

/// A field of a struct, a parameter, or a declared exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType<'a, N> {
    /// The number on the wire.
    pub id: i32,
    /// The name in the contract.
    pub name: &'a str,
    /// Whether it may be absent.
    pub presence: FieldPresence,
    /// The type.
    pub ty: Type<N>,
}

/// The definition of a named type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition<'a, N> {
    /// A struct or exception: its name and fields, inherited ones first.
    Struct(&'a str, Vec<FieldType<'a, N>>),
    /// A union: its name and fields.
    Union(&'a str, Vec<FieldType<'a, N>>),
    /// An enum: its name, and its numbers with their names.
    Enum(&'a str, Vec<(i32, &'a str)>),
    /// A struct or exception that others extend: its name, and all of them, itself first.
    Family(&'a str, Vec<N>),
    /// A service: its name. Its methods are compared when they are called.
    Service(&'a str),
}

/// A method as the wire sees it.
#[derive(Clone, Debug)]
pub struct Signature<'a, N> {
    /// The name in the contract.
    pub name: &'a str,
    /// There is no answer.
    pub oneway: bool,
    /// The parameters, in order.
    pub params: Vec<FieldType<'a, N>>,
    /// The result; `None` for `void`.
    pub result: Option<Type<N>>,
    /// The declared exceptions, in order.
    pub exceptions: Vec<FieldType<'a, N>>,
    /// The stream that the caller sends.
    pub client_stream: Option<StreamTypes<'a, N>>,
    /// The stream that the server sends.
    pub server_stream: Option<StreamTypes<'a, N>>,
}

/// A stream as the wire sees it.
#[derive(Clone, Debug)]
pub struct StreamTypes<'a, N> {
    /// The items.
    pub item: Type<N>,
    /// The exceptions that can end it, in order.
    pub exceptions: Vec<FieldType<'a, N>>,
}

impl<N> Signature<'_, N> {
    /// Returns all types that it names directly.
    pub fn types(&self) -> impl Iterator<Item = &Type<N>> {
        let streams = [&self.client_stream, &self.server_stream];
        let streams = || streams.into_iter().flatten();
        let thrown = streams().flat_map(|stream| &stream.exceptions);
        let fields = self.params.iter().chain(&self.exceptions).chain(thrown);
        let items = streams().map(|stream| &stream.item);
        let fields = fields.map(|field| &field.ty);
        fields.chain(&self.result).chain(items)
    }

    fn flags(&self) -> u8 {
        let flag = |flag, set| if set { flag } else { 0 };
        flag(ONE_WAY, self.oneway)
            | flag(CLIENT_STREAM, self.client_stream.is_some())
            | flag(SERVER_STREAM, self.server_stream.is_some())
    }
}

impl FieldType<'static, Named> {
    /// A field of a Rust type; `None` where that describes nothing.
    pub fn of<F: Row>(field: Field<'static>) -> Option<Self> {
        Some(FieldType {
            id: field.id,
            name: field.name,
            presence: match (field.required, F::OPTIONAL) {
                (true, _) => FieldPresence::Required,
                (false, true) => FieldPresence::Optional,
                (false, false) => FieldPresence::Always,
            },
            ty: F::describe()?,
        })
    }
}

/// The fields of a macro's table.
#[doc(hidden)]
pub fn fields<const N: usize>(
    fields: [Option<FieldType<'static, Named>>; N],
) -> Vec<FieldType<'static, Named>> {
    fields.into_iter().flatten().collect()
}

/// The first 16 bytes of the SHA-256 of a description.
pub fn fingerprint(description: &[u8]) -> [u8; 16] {
    let digest = Sha256::digest(description);
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    first
}

/// The description of a method made of Rust types.
pub fn describe(signature: &Signature<'_, Named>) -> Vec<u8> {
    describe_with(signature, Named::define)
}

/// The description of a type by itself: that of a method without a name and without parameters
/// which returns it.
pub fn describe_type<'a, N: Copy + Eq + Hash>(
    ty: Type<N>,
    define: impl Fn(N) -> Definition<'a, N>,
) -> Vec<u8> {
    let signature = Signature {
        name: "",
        oneway: false,
        params: Vec::new(),
        result: Some(ty),
        exceptions: Vec::new(),
        client_stream: None,
        server_stream: None,
    };
    describe_with(&signature, define)
}

/// The description of a method. `define` says what the named types are.
pub fn describe_with<'a, N: Copy + Eq + Hash>(
    signature: &Signature<'_, N>,
    define: impl Fn(N) -> Definition<'a, N>,
) -> Vec<u8> {
    let mut text = Text {
        out: vec![VERSION],
        named: Vec::new(),
        numbers: HashMap::new(),
    };
    text.name(signature.name);
    text.out.push(signature.flags());
    text.fields(&signature.params);
    match &signature.result {
        Some(ty) => text.ty(ty),
        None => text.out.push(0),
    }
    text.fields(&signature.exceptions);
    let streams = [&signature.client_stream, &signature.server_stream];
    for stream in streams.into_iter().flatten() {
        text.ty(&stream.item);
        text.fields(&stream.exceptions);
    }
    // How many definitions there are is only known behind them.
    let head = std::mem::take(&mut text.out);
    let mut next = 0;
    while let Some(named) = text.named.get(next) {
        text.definition(&define(*named));
        next += 1;
    }
    let mut out = head;
    varint::write(&mut out, next as u64);
    out.append(&mut text.out);
    out
}

/// A description while it is written.
struct Text<N> {
    out: Vec<u8>,
    /// The named types in the order of their numbers.
    named: Vec<N>,
    numbers: HashMap<N, usize>,
}

impl<N: Copy + Eq + Hash> Text<N> {
    fn count(&mut self, count: usize) {
        varint::write(&mut self.out, count as u64);
    }

    fn number(&mut self, number: i32) {
        varint::write(&mut self.out, varint::zigzag(number.into()));
    }

    fn name(&mut self, name: &str) {
        self.count(name.len());
        self.out.extend_from_slice(name.as_bytes());
    }

    fn fields(&mut self, fields: &[FieldType<'_, N>]) {
        self.count(fields.len());
        for field in fields {
            self.number(field.id);
            self.name(field.name);
            self.out.push(field.presence as u8);
            self.ty(&field.ty);
        }
    }

    fn ty(&mut self, ty: &Type<N>) {
        self.out.push(match ty {
            Type::Logical(_) => LOGICAL,
            Type::Array(..) => ARRAY,
            Type::Ref(_) => REF_TYPE,
            Type::Family(_) => FAMILY_TYPE,
            _ => code(ty.kind()),
        });
        match ty {
            Type::Scalar(_) => {}
            Type::Logical(logical) => self.out.push(*logical as u8),
            Type::Array(extents, item) => {
                self.count(extents.len());
                extents
                    .iter()
                    .for_each(|extent| self.count(*extent as usize));
                self.ty(item);
            }
            Type::List(item) | Type::Set(item) | Type::Ref(item) => self.ty(item),
            Type::Map(key, value) => {
                self.ty(key);
                self.ty(value);
            }
            Type::Enum(named) | Type::Struct(named) | Type::Family(named) | Type::Object(named) => {
                self.named(*named)
            }
        }
    }

    fn named(&mut self, named: N) {
        let next = self.named.len();
        let number = *self.numbers.entry(named).or_insert(next);
        if number == next {
            self.named.push(named);
        }
        self.count(number);
    }

    fn definition(&mut self, definition: &Definition<'_, N>) {
        let (kind, name) = match definition {
            Definition::Struct(name, _) => (STRUCT, name),
            Definition::Union(name, _) => (UNION, name),
            Definition::Enum(name, _) => (ENUM, name),
            Definition::Family(name, _) => (FAMILY, name),
            Definition::Service(name) => (SERVICE, name),
        };
        self.out.push(kind);
        self.name(name);
        match definition {
            Definition::Struct(_, fields) | Definition::Union(_, fields) => self.fields(fields),
            Definition::Enum(_, values) => {
                self.count(values.len());
                for (number, name) in values {
                    self.number(*number);
                    self.name(name);
                }
            }
            Definition::Family(_, members) => {
                self.count(members.len());
                members.iter().for_each(|member| self.named(*member));
            }
            Definition::Service(_) => {}
        }
    }
}

impl<N> Type<N> {
    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Scalar(kind) => *kind,
            Self::List(_) => Kind::List,
            Self::Set(_) => Kind::Set,
            Self::Map(..) => Kind::Map,
            Self::Enum(_) => Kind::Enum,
            Self::Struct(_) | Self::Family(_) | Self::Ref(_) => Kind::Struct,
            Self::Object(_) => Kind::Object,
            Self::Logical(logical) => logical.kind(),
            Self::Array(extents, _) if extents.contains(&0) => Kind::Struct,
            Self::Array(..) => Kind::List,
        }
    }
}
