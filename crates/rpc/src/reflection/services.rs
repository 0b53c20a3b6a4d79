//! The description of a server's services, for every wire: an ordinary service with one method.

use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::{Context, Service, Status, descriptor};
use dovetail_wire::description::TypeRemarks;
use dovetail_wire::{Bytes, message};

/// A service of a server, with its methods and those that it inherits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceDescription {
    /// The name in the contract.
    pub name: String,
    /// The package; may be empty.
    pub package: String,
    /// The contract is protobuf's: a call has one message, and so has its answer.
    pub messages: bool,
    /// The methods, inherited ones first.
    pub methods: Vec<MethodDescription>,
}

message!(ServiceDescription {
    1 name: String,
    2 package: String,
    3 messages: bool,
    4 methods: Vec<MethodDescription>,
});

/// A method of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodDescription {
    /// The name on the wire.
    pub name: String,
    /// Parameters, result, exceptions and streams, as `docs/spec/encoding.md` describes methods;
    /// empty where the server itself does not know them.
    pub description: Bytes,
    /// Calling it twice is as good as calling it once.
    pub idempotent: bool,
    /// The permission that it takes; empty where its contract names none.
    pub permission: String,
    /// The properties of its parameters, and of the structs that it reaches, that descriptions
    /// leave out.
    pub remarks: Vec<TypeRemarks>,
}

message!(MethodDescription {
    1 name: String,
    2 description: Bytes,
    3 idempotent: bool,
    4 permission: String,
    5 remarks: Vec<TypeRemarks>,
});

descriptor!(pub(super) static REFLECTION = "Reflection" in "dovetail.reflection.v1" {
    describe_services() -> Vec<ServiceDescription> [idempotent];
});

/// Answers for the services of a server.
pub(crate) struct Described(pub(crate) Vec<&'static ServiceDescriptor>);

impl Service for Described {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &REFLECTION
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((), |_: Context, ()| async move {
                let all = self.0.iter().map(|service| describe(service));
                Ok::<Vec<ServiceDescription>, Status>(all.collect())
            }),
            _ => call.no_such_method(),
        }
    }
}

pub(crate) fn describe(service: &'static ServiceDescriptor) -> ServiceDescription {
    let methods = service.iter().map(|(_, method)| MethodDescription {
        name: method.name.to_owned(),
        description: method
            .description()
            .map(|description| Bytes::from(description.into_owned()))
            .unwrap_or_default(),
        idempotent: method.idempotent,
        permission: method.permission.unwrap_or_default().to_owned(),
        remarks: method.remarks(),
    });
    ServiceDescription {
        name: service.name.to_owned(),
        package: service.package.to_owned(),
        messages: service.iter().any(|(_, method)| method.messages),
        methods: methods.collect(),
    }
}
