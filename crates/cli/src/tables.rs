//! The tables of a contract that the runtime needs, as generated code has them. They live as long
//! as the process.

use dovetail::method::{Method, MethodKind, ServiceDescriptor};
use dovetail_dynamic::Contract;
use dovetail_schema::{self as schema, Idempotency, Schema, ServiceId};

/// A contract that lives as long as the process; `defaults` where it has all default values that
/// there are.
pub(crate) fn forever(schema: Schema, defaults: bool) -> &'static Contract<'static> {
    let contract = Contract::new(Box::leak(Box::new(schema)));
    Box::leak(Box::new(match defaults {
        true => contract,
        false => contract.without_defaults(),
    }))
}

/// A service with its methods, inherited ones first.
pub(crate) struct Table {
    pub(crate) descriptor: &'static ServiceDescriptor,
    /// The methods as the contract has them.
    pub(crate) methods: Vec<&'static schema::Method>,
}

impl Table {
    /// Returns the runtime's row for a method of the contract.
    pub(crate) fn row(&self, method: &schema::Method) -> Option<&'static Method> {
        let mut places = self.methods.iter();
        let place = places.position(|known| std::ptr::eq(*known, method))?;
        self.descriptor.methods.get(place)
    }
}

/// The table of a service.
pub(crate) fn table(contract: &'static Contract<'static>, service: ServiceId) -> Table {
    let schema = contract.schema();
    let methods = schema.methods(service);
    let (capnp, _) = dovetail_codegen::capnp::interface(schema, &methods);
    let capnp: &'static [u8] = capnp.leak();
    let methods: Vec<&'static schema::Method> = methods.into_iter().map(|(_, m)| m).collect();
    let package = &schema[schema[service].package];
    let mut descriptor = ServiceDescriptor {
        name: &schema[service].name,
        package: &package.name,
        base: None,
        methods: &[],
        docs: &[],
        objects: &[],
    };
    let full: &'static str = descriptor.full_name().into_owned().leak();
    let rows = schema.methods(service).into_iter().map(|(owner, method)| {
        let mut row = row(contract, method).of(full).placed(Some(capnp));
        row.permission = schema[owner].permission(method);
        row.messages = package.messages;
        row
    });
    descriptor.methods = rows.collect::<Vec<_>>().leak();
    Table {
        descriptor: Box::leak(Box::new(descriptor)),
        methods,
    }
}

fn row(contract: &'static Contract<'static>, method: &'static schema::Method) -> Method {
    let fields = contract.params(method).wire().to_vec();
    let mut row = Method::new(&method.name, fields.leak());
    let streams = (
        method.client_stream.is_some(),
        method.server_stream.is_some(),
    );
    row.kind = MethodKind::new(method.oneway, streams.0, streams.1);
    row.idempotent = method.idempotency != Idempotency::Unknown;
    row.remarks = contract.remarks(method).leak();
    match contract.describe(method) {
        Some(description) => row.described(description.leak()),
        None => row,
    }
}
