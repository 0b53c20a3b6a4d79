//! The contracts of a server's services, for programs that show them and make calls by them.

use crate::method::{Method, ServiceDescriptor};
use dovetail_wire::description::{
    Definition, FieldPresence, FieldType, Parsed, StreamTypes, TypeRemarks, parse, spelled,
};
use dovetail_wire::message;

/// A service.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContractService {
    name: String,
    doc: String,
    messages: bool,
    methods: Vec<ContractMethod>,
}

message!(ContractService {
    /// The service with its package; empty for functions.
    1 name: String,
    /// Its documentation, where the program was built with it.
    2 doc: String,
    /// A call has one message, and so has its answer: the contract is protobuf's.
    3 messages: bool,
    /// The methods, inherited ones first.
    4 methods: Vec<ContractMethod>,
});

/// A method with the types that it uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContractMethod {
    name: String,
    doc: String,
    described: bool,
    params: Vec<ContractField>,
    result: Option<String>,
    exceptions: Vec<ContractField>,
    sent: Option<String>,
    received: Option<String>,
    oneway: bool,
    idempotent: bool,
    permission: Option<String>,
    types: Vec<ContractType>,
}

message!(ContractMethod {
    1 name: String,
    2 doc: String,
    /// The server knows its types.
    3 described: bool,
    4 params: Vec<ContractField>,
    /// The type of the result, as a contract has it: `map<string, list<Order>>`.
    5 result: Option<String>,
    6 exceptions: Vec<ContractField>,
    /// The type of the items that the caller sends.
    7 sent as "caller_stream": Option<String>,
    /// The type of the items that the server sends.
    8 received as "server_stream": Option<String>,
    9 oneway: bool,
    10 idempotent: bool,
    11 permission: Option<String>,
    /// The types that these name.
    12 types: Vec<ContractType>,
});

/// A parameter, a field, or a declared exception.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContractField {
    id: i32,
    name: String,
    ty: String,
    required: bool,
    optional: bool,
    sensitive: bool,
}

message!(ContractField {
    1 id: i32,
    2 name: String,
    3 ty as "type": String,
    /// A message without it is refused.
    4 required: bool,
    /// It may be absent.
    5 optional: bool,
    6 sensitive: bool,
});

/// A named type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContractType {
    name: String,
    kind: String,
    fields: Vec<ContractField>,
    values: Vec<ContractValue>,
    members: Vec<String>,
}

message!(ContractType {
    1 name: String,
    /// `struct`, `union`, `enum`, `service`, or `family`: a struct or one that extends it.
    2 kind: String,
    3 fields: Vec<ContractField>,
    /// The values of an enum.
    4 values: Vec<ContractValue>,
    /// The structs of a family.
    5 members: Vec<String>,
});

/// A value of an enum.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContractValue {
    number: i32,
    name: String,
}

message!(ContractValue {
    1 number: i32,
    2 name: String,
});

impl From<&&'static ServiceDescriptor> for ContractService {
    fn from(service: &&'static ServiceDescriptor) -> Self {
        let methods = service.iter().map(|(_, method)| method);
        ContractService {
            name: service.full_name().into_owned(),
            doc: service.docs.join("\n"),
            messages: service.has_messages(),
            methods: methods.map(ContractMethod::from).collect(),
        }
    }
}

impl From<&'static Method> for ContractMethod {
    fn from(method: &'static Method) -> Self {
        let row = ContractMethod {
            name: method.name.to_owned(),
            doc: method.docs.join("\n"),
            oneway: method.kind.is_oneway(),
            idempotent: method.idempotent,
            permission: method.permission.map(str::to_owned),
            ..ContractMethod::default()
        };
        let description = method.description();
        match description.as_deref().map(parse) {
            Some(Ok(parsed)) => row.described(&parsed, &method.remarks()),
            _ => row,
        }
    }
}

impl ContractMethod {
    fn described(self, parsed: &Parsed<'_>, remarks: &[TypeRemarks]) -> Self {
        let signature = &parsed.signature;
        let item = |stream: &StreamTypes<'_, usize>| spelled(parsed, &stream.item);
        let definitions = parsed.definitions.iter();
        ContractMethod {
            described: true,
            params: fields(parsed, "", &signature.params, remarks),
            result: signature.result.as_ref().map(|ty| spelled(parsed, ty)),
            exceptions: fields(parsed, "", &signature.exceptions, &[]),
            sent: signature.client_stream.as_ref().map(item),
            received: signature.server_stream.as_ref().map(item),
            types: definitions
                .map(|definition| ContractType::of(parsed, definition, remarks))
                .collect(),
            ..self
        }
    }
}

impl ContractType {
    fn of(
        parsed: &Parsed<'_>,
        definition: &Definition<'_, usize>,
        remarks: &[TypeRemarks],
    ) -> Self {
        let row = |kind: &str, name: &str| ContractType {
            name: name.to_owned(),
            kind: kind.to_owned(),
            ..ContractType::default()
        };
        match definition {
            Definition::Struct(name, of) => ContractType {
                fields: fields(parsed, name, of, remarks),
                ..row("struct", name)
            },
            Definition::Union(name, of) => ContractType {
                fields: fields(parsed, name, of, remarks),
                ..row("union", name)
            },
            Definition::Enum(name, values) => ContractType {
                values: values
                    .iter()
                    .map(|(number, name)| ContractValue {
                        number: *number,
                        name: (*name).to_owned(),
                    })
                    .collect(),
                ..row("enum", name)
            },
            Definition::Family(name, members) => ContractType {
                members: members
                    .iter()
                    .filter_map(|member| match parsed.definitions.get(*member) {
                        Some(Definition::Struct(name, _)) => Some((*name).to_owned()),
                        _ => None,
                    })
                    .collect(),
                ..row("family", name)
            },
            Definition::Service(name) => row("service", name),
        }
    }
}

/// The fields of the struct of this name.
fn fields(
    parsed: &Parsed<'_>,
    name: &str,
    fields: &[FieldType<'_, usize>],
    remarks: &[TypeRemarks],
) -> Vec<ContractField> {
    let of_struct = remarks.iter().find(|remarks| remarks.name == name);
    let sensitive = |id| {
        let mut fields = of_struct.iter().flat_map(|remarks| &remarks.fields);
        fields.any(|field| field.id == id && field.sensitive)
    };
    let fields = fields.iter().map(|field| ContractField {
        id: field.id,
        name: field.name.to_owned(),
        ty: spelled(parsed, &field.ty),
        required: field.presence == FieldPresence::Required,
        optional: field.presence == FieldPresence::Optional,
        sensitive: sensitive(field.id),
    });
    fields.collect()
}
