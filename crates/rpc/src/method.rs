//! The methods of services, for programs that describe or call them without generated code.

use crate::Exceptions;
use dovetail_protocol::Name;
pub use dovetail_protocol::dovetail::MethodKind;
use dovetail_protocol::dovetail::{Contract, Description};
use dovetail_wire::description::{
    Definition, FieldRemarks, FieldType, Masks, Named, Signature, StreamTypes, Type, TypeRemarks,
    describe, parse, remarks,
};
use dovetail_wire::{Field, FieldValue};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The properties of a method that the runtime needs. Generated code has one `static` of it for
/// each method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// The parameters, in order.
    pub params: &'static [Field<'static>],
    /// The messages beside the parameters.
    pub kind: MethodKind,
    /// Calling it twice is as good as calling it once: it may be sent again after a failure, and
    /// called by GET over HTTP.
    pub idempotent: bool,
    /// Parameters or answer may refer to objects.
    pub objects: bool,
    /// The one parameter is the request and the result the answer, as gRPC and Connect send them:
    /// the contract is protobuf's. Otherwise they have messages around them.
    pub messages: bool,
    /// Lines of its documentation, as `#[doc]` has them; none without the feature `export`.
    pub docs: &'static [&'static str],
    /// The service that it is a method of, with its package: `hello.v1.Hello`; empty where that is
    /// not known.
    pub service: &'static str,
    /// The methods of its service for Cap'n Proto's protocol, where a generator has made the table:
    /// of a `.capnp` contract, or by `Options::capnp`.
    pub capnp: Option<&'static [u8]>,
    /// The permission that it takes, where its contract names one; see
    /// [`Permissions`](crate::identity::Permissions).
    pub permission: Option<&'static str>,
    /// The properties of its fields that no description has, where the method has no types; see
    /// [`described`](Self::described).
    pub remarks: &'static [TypeRemarks],
    /// The handler is a plain function: it has its answer at once, or blocks its thread until then.
    pub(crate) plain: bool,
    describe: Describe,
}

/// The source of a method's description.
#[derive(Clone, Copy, Debug)]
enum Describe {
    Nothing,
    Types(fn() -> MethodTypes),
    Bytes(&'static [u8]),
}

/// The types of a method, in the words of a contract.
#[derive(Clone, Debug)]
pub struct MethodTypes {
    params: Vec<FieldType<'static, Named>>,
    result: Option<Type<Named>>,
    exceptions: Vec<FieldType<'static, Named>>,
    client_stream: Option<StreamTypes<'static, Named>>,
    server_stream: Option<StreamTypes<'static, Named>>,
    /// The default values of the parameters, in the tagged encoding.
    #[cfg_attr(not(feature = "export"), allow(dead_code))]
    fresh: fn() -> Option<Vec<u8>>,
}

impl MethodTypes {
    /// Those of a method with these parameters, that gives a `T` or fails with an `E`.
    pub fn of<T: FieldValue, E: Exceptions>(params: Vec<FieldType<'static, Named>>) -> Self {
        MethodTypes {
            params,
            result: T::describe(),
            exceptions: E::describe(),
            client_stream: None,
            server_stream: None,
            fresh: || None,
        }
    }

    /// Gives the parameters default values: all of them in the tagged encoding.
    #[must_use]
    pub fn fresh(mut self, fresh: fn() -> Option<Vec<u8>>) -> Self {
        self.fresh = fresh;
        self
    }

    /// The default values of the parameters.
    #[cfg(feature = "export")]
    pub(crate) fn defaults(&self) -> Option<Vec<u8>> {
        (self.fresh)()
    }

    /// Describes a method with these types, as `docs/spec/encoding.md` has it.
    pub(crate) fn description(self, name: &str, oneway: bool) -> Vec<u8> {
        describe(&self.signature(name, oneway))
    }

    pub(crate) fn signature(self, name: &str, oneway: bool) -> Signature<'_, Named> {
        Signature {
            name,
            oneway,
            params: self.params,
            result: self.result,
            exceptions: self.exceptions,
            client_stream: self.client_stream,
            server_stream: self.server_stream,
        }
    }

    /// Names the parameters, in order.
    pub(crate) fn named(mut self, names: &[&'static str]) -> Self {
        for (param, name) in self.params.iter_mut().zip(names) {
            param.name = name;
        }
        self
    }

    /// Adds a stream of the caller's.
    #[must_use]
    pub fn client_stream<T: FieldValue, E: Exceptions>(mut self) -> Self {
        self.client_stream = stream::<T, E>();
        self
    }

    /// Adds a stream of the server's.
    #[must_use]
    pub fn server_stream<T: FieldValue, E: Exceptions>(mut self) -> Self {
        self.server_stream = stream::<T, E>();
        self
    }
}

fn stream<T: FieldValue, E: Exceptions>() -> Option<StreamTypes<'static, Named>> {
    let item = T::describe()?;
    let exceptions = E::describe();
    Some(StreamTypes { item, exceptions })
}

impl Method {
    /// A method that is answered, and of which nothing is known about calling it twice.
    pub const fn new(name: &'static str, params: &'static [Field<'static>]) -> Self {
        Method {
            name,
            params,
            kind: MethodKind::Unary,
            idempotent: false,
            objects: false,
            messages: false,
            docs: &[],
            service: "",
            permission: None,
            capnp: None,
            remarks: &[],
            plain: false,
            describe: Describe::Nothing,
        }
    }

    /// The method as Dovetail's own wire presents it to the other end.
    pub(crate) fn contract(&self, service: Name) -> Contract {
        Contract {
            service,
            method: Name::new(self.name),
            kind: self.kind,
            description: self.description().map(Description::new),
        }
    }

    /// Adds the types of the method.
    pub const fn typed(mut self, types: fn() -> MethodTypes) -> Self {
        self.describe = Describe::Types(types);
        self
    }

    /// Adds the documentation of the method.
    pub const fn documented(mut self, docs: &'static [&'static str]) -> Self {
        self.docs = docs;
        self
    }

    /// Its types, where they are known.
    #[cfg(feature = "export")]
    pub(crate) fn types(&self) -> Option<MethodTypes> {
        match self.describe {
            Describe::Types(types) => Some(types()),
            Describe::Nothing | Describe::Bytes(_) => None,
        }
    }

    /// Adds the description of the method.
    pub const fn described(mut self, description: &'static [u8]) -> Self {
        self.describe = Describe::Bytes(description);
        self
    }

    /// Returns the description of the method, as `docs/spec/encoding.md` has it; `None` where it is
    /// not known.
    pub fn description(&self) -> Option<Cow<'static, [u8]>> {
        let types = match self.describe {
            Describe::Nothing => return None,
            Describe::Bytes(bytes) => return Some(Cow::Borrowed(bytes)),
            Describe::Types(types) => types(),
        };
        let oneway = self.kind.is_oneway();
        Some(Cow::Owned(types.description(self.name, oneway)))
    }

    /// Returns the properties of its fields that its description leaves out.
    pub(crate) fn remarks(&self) -> Vec<TypeRemarks> {
        let types = match self.describe {
            Describe::Types(types) => types(),
            Describe::Nothing | Describe::Bytes(_) => return self.remarks.to_vec(),
        };
        let fields = |named: Named| {
            let fields = named.notes().fields.iter();
            fields.filter_map(FieldRemarks::of).collect()
        };
        let signature = types.signature(self.name, self.kind.is_oneway());
        remarks(&signature, self.params, Named::define, fields)
    }

    /// Returns the places of the sensitive fields in its messages; `None` where it has none.
    pub(crate) fn masks(&self) -> Option<Masks> {
        let (description, remarks) = (self.description(), self.remarks());
        let parsed = description.as_deref().map(parse);
        if let Some(Ok(method)) = parsed {
            return Masks::of(&method, &remarks);
        }
        let mut fields = remarks.iter().flat_map(|remarks| &remarks.fields);
        let mut params = self.params.iter();
        let is_sensitive =
            fields.any(|field| field.sensitive) || params.any(|param| param.sensitive);
        is_sensitive.then(Masks::all)
    }

    /// Makes the method one that is never answered.
    pub const fn oneway(mut self) -> Self {
        self.kind = MethodKind::OneWay;
        self
    }

    /// Adds a stream of the caller's.
    #[doc(hidden)]
    pub const fn client_stream_of<T>(mut self, _: PhantomData<T>) -> Self {
        self.kind = MethodKind::new(false, true, self.kind.server_streams());
        self
    }

    /// Adds a stream of the server's.
    #[doc(hidden)]
    pub const fn server_stream_of<T>(mut self, _: PhantomData<T>) -> Self {
        self.kind = MethodKind::new(false, self.kind.client_streams(), true);
        self
    }

    /// Lets parameters or answer refer to objects. Methods with streams and one-way methods
    /// pass none.
    pub const fn objects(mut self) -> Self {
        self.objects = matches!(self.kind, MethodKind::Unary);
        self
    }

    /// Makes the method one of this service.
    pub const fn of(mut self, service: &'static str) -> Self {
        self.service = service;
        self
    }

    /// Adds the table that has a row of the method, perhaps: see [`capnp`](Self::capnp).
    pub const fn placed(mut self, table: Option<&'static [u8]>) -> Self {
        self.capnp = table;
        self
    }

    /// Makes request and answer messages of protobuf.
    pub const fn messages(mut self) -> Self {
        self.messages = true;
        self
    }

    /// The declared exceptions: their ids, and their names as the contract has them.
    pub(crate) fn exceptions(&self) -> Vec<(i32, &'static str)> {
        match self.describe {
            Describe::Nothing => Vec::new(),
            Describe::Types(types) => named(&types().exceptions),
            Describe::Bytes(bytes) => read(bytes, |signature| &signature.exceptions),
        }
    }

    /// Returns the exceptions that end the server's stream.
    pub(crate) fn stream_exceptions(&self) -> Vec<(i32, &'static str)> {
        match self.describe {
            Describe::Nothing => Vec::new(),
            Describe::Types(types) => {
                let stream = types().server_stream;
                stream.map_or_else(Vec::new, |stream| named(&stream.exceptions))
            }
            Describe::Bytes(bytes) => read(bytes, |signature| {
                let stream = signature.server_stream.as_ref();
                stream.map_or(&[], |stream| &stream.exceptions)
            }),
        }
    }

    /// Sets the permission that the method takes.
    pub const fn permission(mut self, permission: &'static str) -> Self {
        self.permission = Some(permission);
        self
    }

    /// Says whether the handler is a plain function.
    pub(crate) const fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }

    /// Makes the method one that may be called twice.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }
}

/// The exceptions among these fields that have names.
fn named(fields: &[FieldType<'static, Named>]) -> Vec<(i32, &'static str)> {
    let named = |field: &FieldType<'static, Named>| match &field.ty {
        Type::Struct(named) | Type::Family(named) => match named.define() {
            Definition::Struct(name, _) | Definition::Family(name, _) => Some((field.id, name)),
            _ => None,
        },
        _ => None,
    };
    fields.iter().filter_map(named).collect()
}

/// Reads a description: those of its exceptions that have names.
fn read(
    description: &'static [u8],
    exceptions: impl for<'a> Fn(&'a Signature<'static, usize>) -> &'a [FieldType<'static, usize>],
) -> Vec<(i32, &'static str)> {
    let Ok(parsed) = parse(description) else {
        return Vec::new();
    };
    let named = |field: &FieldType<'static, usize>| match &field.ty {
        Type::Struct(number) | Type::Family(number) => match parsed.definitions.get(*number) {
            Some(Definition::Struct(name, _) | Definition::Family(name, _)) => {
                Some((field.id, *name))
            }
            _ => None,
        },
        _ => None,
    };
    exceptions(&parsed.signature)
        .iter()
        .filter_map(named)
        .collect()
}

/// The properties of a service that the runtime needs.
#[derive(Clone, Copy, Debug)]
pub struct ServiceDescriptor {
    /// The name in the contract, by which multiplexed calls address it.
    pub name: &'static str,
    /// The package before the name where services of several contracts meet, as in gRPC:
    /// `hello.v1`; may be empty.
    pub package: &'static str,
    /// The service whose methods come before this one's.
    pub base: Option<&'static ServiceDescriptor>,
    /// The service's own methods.
    pub methods: &'static [Method],
    /// Lines of its documentation, as `#[doc]` has them; none without the feature `export`.
    pub docs: &'static [&'static str],
    /// The services of the objects that its own methods pass.
    pub objects: &'static [&'static ServiceDescriptor],
}

/// Returns a method behind its service, `shop.v1.Orders/place`; a function, which has none, by its
/// name alone.
pub(crate) fn path(service: &str, method: &str) -> String {
    match service {
        "" => method.to_owned(),
        service => format!("{service}/{method}"),
    }
}

impl ServiceDescriptor {
    /// How many methods it has, inherited ones included.
    pub const fn len(&self) -> usize {
        match self.base {
            Some(base) => base.len() + self.methods.len(),
            None => self.methods.len(),
        }
    }

    /// Returns whether its contract is protobuf's: a call has one message, and so has its answer.
    pub(crate) fn has_messages(&self) -> bool {
        self.iter().any(|(_, method)| method.messages)
    }

    /// The name with its package, as gRPC has it: `hello.v1.Hello`.
    pub fn full_name(&self) -> Cow<'static, str> {
        match self.package {
            "" => Cow::Borrowed(self.name),
            package => Cow::Owned(format!("{package}.{}", self.name)),
        }
    }

    /// True for a service without methods.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True for this service, and for those that extend it.
    pub(crate) fn is(&'static self, service: &'static ServiceDescriptor) -> bool {
        std::ptr::eq(self, service) || self.base.is_some_and(|base| base.is(service))
    }

    /// The method with this number; inherited methods come first.
    pub fn method(&self, index: usize) -> Option<&'static Method> {
        let inherited = self.base.map_or(0, ServiceDescriptor::len);
        match index.checked_sub(inherited) {
            Some(own) => self.methods.get(own),
            None => self.base.and_then(|base| base.method(index)),
        }
    }

    /// All methods with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'static Method)> + '_ {
        (0..self.len()).filter_map(|index| Some((index, self.method(index)?)))
    }
}
