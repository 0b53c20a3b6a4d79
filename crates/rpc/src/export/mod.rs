//! The contract of a program, out of the program: for those who have written it in Rust.

mod notes;

use crate::method::ServiceDescriptor;
pub use dovetail_codegen::Unsupported;
use dovetail_dynamic::Described;
pub use dovetail_dynamic::Indescribable;
pub use dovetail_schema::Schema;
use dovetail_schema::ServiceId;
use dovetail_wire::DecodeError;
use std::fmt;

/// Why a contract cannot be written out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportError {
    /// Methods do not say enough about themselves.
    Indescribable(Indescribable),
    /// The language cannot say all of it.
    Unsupported(Vec<Unsupported>),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indescribable(error) => error.fmt(f),
            Self::Unsupported(all) => all.iter().try_for_each(|what| writeln!(f, "{what}")),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<Indescribable> for ExportError {
    fn from(error: Indescribable) -> Self {
        Self::Indescribable(error)
    }
}

/// The contract of these services, and of those that they extend, under this name. It has their
/// methods and types, and of those that macros have derived, documentation and default values.
///
/// # Errors
///
/// Services with structs that extend others, or with references to objects, need their IDL.
pub fn schema(name: &str, services: &[&'static ServiceDescriptor]) -> Result<Schema, ExportError> {
    let mut export = Export::new(name, false);
    for service in services {
        export.service(service)?;
    }
    Ok(export.into_schema())
}

/// Writes the contract as the text of a `.thrift` file.
///
/// ```
/// use dovetail::{descriptor, export};
///
/// descriptor!(static ADDER = "Adder" {
///     add(1 a: i32, 2 b: i32) -> i32;
/// });
///
/// let text = export::thrift("adder", &[&ADDER])?;
/// assert_eq!(text, "service Adder {\n  i32 add(1: i32 a, 2: i32 b)\n}\n");
/// # Ok::<(), export::ExportError>(())
/// ```
///
/// # Errors
///
/// Those of [`schema`], and names that are no names in Thrift.
pub fn thrift(name: &str, services: &[&'static ServiceDescriptor]) -> Result<String, ExportError> {
    let files = dovetail_codegen::thrift::write(&schema(name, services)?);
    let files = files.map_err(ExportError::Unsupported)?;
    Ok(files.into_iter().map(|file| file.text).collect())
}

/// Writes the contract as the text of a `.proto` file, with which gRPC's libraries call these
/// services. Its package is that of the services: those of a trait have none.
///
/// ```
/// use dovetail::{descriptor, export};
///
/// descriptor!(static ADDER = "Adder" in "sums" {
///     add(1 a: i32, 2 b: i32) -> i32;
/// });
///
/// let text = export::proto(&[&ADDER])?;
/// assert!(text.contains("package sums;"));
/// assert!(text.contains("rpc add(AddRequest) returns (AddResponse);"));
/// # Ok::<(), export::ExportError>(())
/// ```
///
/// # Errors
///
/// Those of [`schema`], services of several packages, and what no `.proto` file can say.
pub fn proto(services: &[&'static ServiceDescriptor]) -> Result<String, ExportError> {
    let package = services.first().map_or("", |service| service.package);
    if let Some(other) = services.iter().find(|service| service.package != package) {
        return Err(ExportError::Unsupported(vec![Unsupported {
            what: format!(
                "its package is `{}`, and not `{package}`: each has its own file",
                other.package
            ),
            at: format!("`{}`", other.name),
        }]));
    }
    let files = dovetail_codegen::proto::write(&schema(package, services)?);
    let files = files.map_err(ExportError::Unsupported)?;
    Ok(files.into_iter().map(|file| file.text).collect())
}

/// Writes an OpenAPI 3.1 document of the calls with JSON over HTTP, under this title. The services
/// may be of several packages.
///
/// ```
/// use dovetail::{descriptor, export};
///
/// descriptor!(static ADDER = "Adder" in "sums" {
///     add(1 a: i32, 2 b: i32) -> i32;
/// });
///
/// let text = export::openapi("A calculator", &[&ADDER])?;
/// assert!(text.contains("\"/sums.Adder/add\""));
/// # Ok::<(), export::ExportError>(())
/// ```
///
/// # Errors
///
/// Those of [`schema`].
pub fn openapi(
    title: &str,
    services: &[&'static ServiceDescriptor],
) -> Result<String, ExportError> {
    let mut export = Export::new("", true);
    let ids = services.iter().map(|service| export.service(service));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let file = dovetail_codegen::openapi::write_services(&export.into_schema(), title, &ids);
    Ok(file.map_err(ExportError::Unsupported)?.text)
}

struct Export {
    contract: Described,
    /// Services are in packages of their own, and not all in that of the contract.
    apart: bool,
    /// Those that are part of the contract already.
    services: Vec<(&'static ServiceDescriptor, ServiceId)>,
}

impl Export {
    fn new(name: &str, apart: bool) -> Self {
        Export {
            contract: Described::new(name),
            apart,
            services: Vec::new(),
        }
    }

    fn into_schema(self) -> Schema {
        let mut schema = self.contract.into_schema();
        notes::add(&mut schema, &self.services);
        schema
    }

    fn service(&mut self, service: &'static ServiceDescriptor) -> Result<ServiceId, Indescribable> {
        let known = self
            .services
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, service));
        if let Some((_, id)) = known {
            return Ok(*id);
        }
        let base = service.base.map(|base| self.service(base)).transpose()?;
        if self.apart {
            self.contract
                .package(service.package, service.has_messages());
        }
        let id = self.contract.service(service.name, base);
        self.services.push((service, id));
        for method in service.methods {
            let missing = || DecodeError::malformed(format!("`{}` knows no types", method.name));
            let description = method.description().ok_or_else(missing)?;
            self.contract
                .method(id, &description, method.idempotent, method.permission)?;
            self.contract.remarks(&method.remarks());
        }
        Ok(id)
    }
}
