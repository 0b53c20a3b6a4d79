//! A server's description of its contracts, and asking one: gRPC's reflection
//! (`grpc/reflection/v1/reflection.proto` of github.com/grpc/grpc-proto), and for every wire a
//! service of one method that describes all methods.
//!
//! A caller without generated code makes a schema of the answers: of [`descriptors`] with
//! `dovetail_idl::proto::from_descriptors`, of [`describe_services`] with
//! `dovetail_dynamic::Described`.

#[cfg(feature = "async")]
mod client;
mod files;
mod messages;
mod services;

#[cfg(feature = "async")]
pub use client::{describe_services, descriptors, list_services};
pub(crate) use services::{Described, describe};
pub use services::{MethodDescription, ServiceDescription};

use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::peer::streams::{Items, Receiver};
use crate::{Context, Service, Status, descriptor};
use dovetail_wire::{Bytes, DecodeError};
use files::Files;
use messages::{
    ErrorResponse, FileDescriptorResponse, ListServiceResponse, NumbersResponse, Request, Response,
    ServiceResponse,
};
use std::sync::Arc;

/// Tells clients what a server's contracts say, so that they call it without a file.
///
/// On every wire there is the service `dovetail.reflection.v1.Reflection`, which knows all services
/// of the server and needs nothing: `Reflection::default()` will do. For `grpcurl` and its like
/// there are `grpc.reflection.v1.ServerReflection` and its older form `v1alpha`, which are the
/// same. They know the descriptors that they are given, and no others:
/// `dovetail_build::descriptors("calls.proto")` writes them in a build script, of `.thrift` files,
/// too.
///
/// ```
/// use dovetail::Server;
/// use dovetail::reflection::Reflection;
///
/// # fn example(descriptors: &'static [u8]) -> Result<(), dovetail::encoding::DecodeError> {
/// let reflection = Reflection::of(descriptors)?;
/// let server = Server::new().reflection(&reflection);
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reflection(Arc<Files>);

descriptor!(static V1 = "ServerReflection" in "grpc.reflection.v1" {
    ServerReflectionInfo() -> (), sink<Request>, stream<Response> [messages];
});

descriptor!(static V1_ALPHA = "ServerReflection" in "grpc.reflection.v1alpha" {
    ServerReflectionInfo() -> (), sink<Request>, stream<Response> [messages];
});

/// The codes of gRPC that answers have.
const NOT_FOUND: i32 = 5;
const UNIMPLEMENTED: i32 = 12;

impl Reflection {
    /// Reads the files of an encoded `google.protobuf.FileDescriptorSet`. An error where it is
    /// none.
    pub fn of(descriptors: impl Into<Bytes>) -> Result<Self, DecodeError> {
        let mut files = Files::default();
        files.add(&descriptors.into())?;
        Ok(Reflection(Arc::new(files)))
    }

    /// Adds the files of another set. Of files with the same name the first one counts.
    pub fn and(&self, descriptors: impl Into<Bytes>) -> Result<Self, DecodeError> {
        let mut files = (*self.0).clone();
        files.add(&descriptors.into())?;
        Ok(Reflection(Arc::new(files)))
    }

    /// gRPC's two services.
    pub(crate) fn services(&self) -> [impl Service + use<>; 2] {
        [&V1, &V1_ALPHA].map(|descriptor| Version {
            files: self.0.clone(),
            descriptor,
        })
    }
}

/// Reflection under one of its names.
struct Version {
    files: Arc<Files>,
    descriptor: &'static ServiceDescriptor,
}

impl Service for Version {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.descriptor
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.chat(
                (),
                |_: Context, (), mut asked: Receiver<Request>| async move {
                    Ok::<_, Status>(Items::<Response>::with(move |mut out| async move {
                        while let Some(request) = asked.next().await {
                            out.send(answer(&self.files, request?)).await;
                        }
                        Ok(())
                    }))
                },
            ),
            _ => call.no_such_method(),
        }
    }
}

fn answer(files: &Files, request: Request) -> Response {
    let mut response = Response {
        valid_host: request.host.clone(),
        ..Response::default()
    };
    let file = |name: &str, found: Option<Bytes>| {
        let missing = || (NOT_FOUND, format!("`{name}` is not known"));
        let files = found.ok_or_else(missing).map(|file| vec![file]);
        files.map(|file_descriptor_proto| FileDescriptorResponse {
            file_descriptor_proto,
        })
    };
    let answered = if let Some(name) = &request.file_by_filename {
        file(name, files.by_name(name)).map(|found| response.file_descriptor = Some(found))
    } else if let Some(name) = &request.file_containing_symbol {
        file(name, files.with_symbol(name)).map(|found| response.file_descriptor = Some(found))
    } else if let Some(asked) = &request.file_containing_extension {
        let (name, number) = (&asked.containing_type, asked.extension_number);
        let found = files.with_extension(name, number);
        file(&format!("extension {number} of {name}"), found)
            .map(|found| response.file_descriptor = Some(found))
    } else if let Some(name) = &request.all_extension_numbers_of_type {
        let missing = (NOT_FOUND, format!("`{name}` is not known"));
        let numbers = files.extensions_of(name).ok_or(missing);
        numbers.map(|extension_number| {
            response.numbers = Some(NumbersResponse {
                base_type_name: name.clone(),
                extension_number,
            });
        })
    } else if request.list_services.is_some() {
        let service = files.services().map(|name| ServiceResponse {
            name: name.to_owned(),
        });
        response.services = Some(ListServiceResponse {
            service: service.collect(),
        });
        Ok(())
    } else {
        Err((UNIMPLEMENTED, "a question that is not known".to_owned()))
    };
    response.error = answered
        .err()
        .map(|(error_code, error_message)| ErrorResponse {
            error_code,
            error_message,
        });
    response.original_request = Some(request);
    response
}
