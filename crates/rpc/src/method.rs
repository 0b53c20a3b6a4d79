use crate::Exceptions;
use dovetail_protocol::Name;
use dovetail_protocol::dovetail::{Contract, Description, MethodKind};
#[cfg(feature = "grpc")]
use dovetail_wire::description::Definition;
use dovetail_wire::description::{FieldType, Named, Signature, StreamTypes, Type, describe};
use dovetail_wire::{Field, FieldValue};
use std::borrow::Cow;
use std::marker::PhantomData;

/// What the runtime needs to know of a method. Generated code has one `static` of it for each method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// The parameters, in order.
    pub params: &'static [Field<'static>],
    /// What is sent beside the parameters.
    pub kind: MethodKind,
    /// True where calling it twice is as good as calling it once: it may be sent again after a failure.
    pub idempotent: bool,
    /// True where parameters or answer may refer to objects.
    pub objects: bool,
    /// True where the one parameter is the request and the result the answer, as gRPC sends them: the contract is
    /// protobuf's. Otherwise gRPC has messages around them.
    pub messages: bool,
    /// The service that it is a method of, with its package: `hello.v1.Hello`; empty where that is not known.
    pub service: &'static str,
    describe: Describe,
}

/// Where the description of a method comes from.
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
        }
    }

    /// The same with a stream of the caller's.
    #[must_use]
    pub fn client_stream<T: FieldValue, E: Exceptions>(mut self) -> Self {
        self.client_stream = stream::<T, E>();
        self
    }

    /// The same with a stream of the server's.
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
            service: "",
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

    /// The same method, which knows its types.
    pub const fn typed(mut self, types: fn() -> MethodTypes) -> Self {
        self.describe = Describe::Types(types);
        self
    }

    /// The same method, whose description is known.
    pub const fn described(mut self, description: &'static [u8]) -> Self {
        self.describe = Describe::Bytes(description);
        self
    }

    /// What the method says on the wire, as `docs/spec/encoding.md` has it; `None` where that is not known.
    pub fn description(&self) -> Option<Cow<'static, [u8]>> {
        let types = match self.describe {
            Describe::Nothing => return None,
            Describe::Bytes(bytes) => return Some(Cow::Borrowed(bytes)),
            Describe::Types(types) => types(),
        };
        let signature = Signature {
            name: self.name,
            oneway: self.kind.is_oneway(),
            params: types.params,
            result: types.result,
            exceptions: types.exceptions,
            client_stream: types.client_stream,
            server_stream: types.server_stream,
        };
        Some(Cow::Owned(describe(&signature)))
    }

    /// The same method, never answered.
    pub const fn oneway(mut self) -> Self {
        self.kind = MethodKind::OneWay;
        self
    }

    /// The same method, with a stream of the caller's.
    #[doc(hidden)]
    pub const fn client_stream_of<T>(mut self, _: PhantomData<T>) -> Self {
        self.kind = MethodKind::new(false, true, self.kind.server_streams());
        self
    }

    /// The same method, with a stream of the server's.
    #[doc(hidden)]
    pub const fn server_stream_of<T>(mut self, _: PhantomData<T>) -> Self {
        self.kind = MethodKind::new(false, self.kind.client_streams(), true);
        self
    }

    /// The same method, whose parameters or answer may refer to objects. Methods with streams and one-way methods
    /// pass none.
    pub const fn objects(mut self) -> Self {
        self.objects = matches!(self.kind, MethodKind::Unary);
        self
    }

    /// The same method, of this service.
    pub const fn of(mut self, service: &'static str) -> Self {
        self.service = service;
        self
    }

    /// The same method, whose request and answer are messages of protobuf.
    pub const fn messages(mut self) -> Self {
        self.messages = true;
        self
    }

    /// The declared exceptions: their ids, and their names as the contract has them.
    #[cfg(feature = "grpc")]
    pub(crate) fn exceptions(&self) -> Vec<(i32, &'static str)> {
        let types = match self.describe {
            Describe::Types(types) => types(),
            Describe::Nothing | Describe::Bytes(_) => return Vec::new(),
        };
        let named = |field: &FieldType<'static, Named>| match &field.ty {
            Type::Struct(named) | Type::Family(named) => match named.define() {
                Definition::Struct(name, _) | Definition::Family(name, _) => Some((field.id, name)),
                _ => None,
            },
            _ => None,
        };
        types.exceptions.iter().filter_map(named).collect()
    }

    /// The same method, which may be called twice.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }
}

/// What the runtime needs to know of a service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceDescriptor {
    /// The name in the contract, by which multiplexed calls address it.
    pub name: &'static str,
    /// What stands before the name where services of several contracts meet, as in gRPC: `hello.v1`; may be empty.
    pub package: &'static str,
    /// The service whose methods come before this one's.
    pub base: Option<&'static ServiceDescriptor>,
    /// The service's own methods.
    pub methods: &'static [Method],
    /// The services of the objects that its own methods pass.
    pub objects: &'static [&'static ServiceDescriptor],
}

impl ServiceDescriptor {
    /// How many methods it has, inherited ones included.
    pub const fn len(&self) -> usize {
        match self.base {
            Some(base) => base.len() + self.methods.len(),
            None => self.methods.len(),
        }
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
