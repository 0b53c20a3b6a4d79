use crate::{Annotations, Field, PackageId, ServiceId, Type};
use serde::{Deserialize, Serialize};

/// A group of methods under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The package that defines it.
    pub package: PackageId,
    /// The name as written.
    pub name: String,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
    /// Why it should no longer be used; empty where no reason is given.
    pub deprecated: Option<String>,
    /// The service whose methods this one answers too.
    pub extends: Option<ServiceId>,
    /// Own methods, in the order written; inherited ones are not repeated.
    pub methods: Vec<Method>,
}

/// One method of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The name as written, which is also its name on the wire.
    pub name: String,
    /// The documentation comment, if any.
    pub doc: Option<String>,
    /// Annotations, typed and untyped.
    pub annotations: Annotations,
    /// Why it should no longer be used; empty where no reason is given.
    pub deprecated: Option<String>,
    /// The parameters, in the order written.
    pub params: Vec<Field>,
    /// The result; `None` for `void`.
    pub result: Option<Type>,
    /// The items that the caller sends after the parameters.
    pub client_stream: Option<Stream>,
    /// The items that the server sends after the result.
    pub server_stream: Option<Stream>,
    /// The declared exceptions; their ids are field ids of the reply.
    pub throws: Vec<Field>,
    /// No reply is sent, not even an error.
    pub oneway: bool,
    /// Whether it can be called twice without harm.
    pub idempotency: Idempotency,
}

/// The annotation that names a permission.
pub const PERMISSION: &str = "permission";

/// The text of `dovetail/v1/options.proto`, which declares the options of protobuf that name
/// permissions. Other compilers have to be given it.
pub const OPTIONS_PROTO: &str = include_str!("options.proto");

impl Service {
    /// The permission that a method of this service takes: its own, else that of the service.
    pub fn permission<'a>(&'a self, method: &'a Method) -> Option<&'a str> {
        let own = method.annotations.get(PERMISSION);
        let permission = own.or_else(|| self.annotations.get(PERMISSION));
        permission.filter(|permission| !permission.is_empty())
    }
}

/// A sequence of items in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The type of each item.
    pub item: Type,
    /// The exceptions that can end it.
    pub throws: Vec<Field>,
}

/// Whether a method can be called twice without harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idempotency {
    /// Nothing: a call that may have run is not sent again.
    #[default]
    Unknown,
    /// Twice is as good as once.
    Idempotent,
    /// It only reads.
    ReadOnly,
}
