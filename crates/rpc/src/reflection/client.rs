//! Asking a server what its contracts are.

use super::files::FileSet;
use super::messages::{FileDescriptorResponse, Request, Response};
use super::services::REFLECTION;
use super::{NOT_FOUND, ServiceDescription, V1, V1_ALPHA};
use crate::method::ServiceDescriptor;
use crate::peer::streams::{Answer, Receiver, Sender};
use crate::{Channel, Code, Status};
use dovetail_wire::{Bytes, message, protobuf};
use std::collections::{BTreeMap, HashSet};

/// The most bytes of all descriptors of a server together, and the most files.
const MAX_BYTES: usize = 16 << 20;
const MAX_FILES: usize = 10_000;

/// The services of a Dovetail server that [has reflection](crate::Server::reflection), over any
/// wire.
///
/// # Errors
///
/// `UNIMPLEMENTED` where the server does not answer such questions; otherwise those of any call.
pub async fn describe_services(channel: &Channel) -> Result<Vec<ServiceDescription>, Status> {
    channel.call(&REFLECTION.methods[0], ()).await
}

/// The full names of the services of any server that has gRPC's reflection. The channel speaks
/// gRPC, or Dovetail's own wire.
///
/// # Errors
///
/// `UNIMPLEMENTED` where the server has no reflection; otherwise those of any call.
pub async fn list_services(channel: &Channel) -> Result<Vec<String>, Status> {
    Ok(Conversation::begin(channel).await?.1)
}

/// The descriptors of these services, named in full, and of all that they use: an encoded
/// `google.protobuf.FileDescriptorSet`, its files in no particular order. Asks like
/// [`list_services`]. An imported file that the server does not have is left out.
/// `dovetail_idl::proto::from_descriptors` makes a schema of it.
///
/// # Errors
///
/// `NOT_FOUND` where the server does not know one of the services, `RESOURCE_EXHAUSTED` where all
/// is more than 16 MiB or 10,000 files, `INTERNAL` where an answer is none.
pub async fn descriptors(channel: &Channel, services: &[String]) -> Result<Vec<u8>, Status> {
    let (mut conversation, _) = Conversation::begin(channel).await?;
    let mut collected = Collected::default();
    for service in services {
        let request = Request {
            file_containing_symbol: Some(service.clone()),
            ..Request::default()
        };
        collected.add(conversation.files(request).await?)?;
    }
    while let Some(name) = collected.missing() {
        let request = Request {
            file_by_filename: Some(name),
            ..Request::default()
        };
        match conversation.files(request).await {
            Ok(files) => collected.add(files)?,
            // It may be there for options alone.
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(status),
        }
    }
    collected.encode()
}

/// Questions and answers, one after the other, on one stream.
struct Conversation {
    sender: Sender<Request>,
    answers: Receiver<Response>,
}

impl Conversation {
    /// Begins with the names of all services, in the version that the server has.
    async fn begin(channel: &Channel) -> Result<(Self, Vec<String>), Status> {
        match Self::begin_as(channel, &V1).await {
            Err(status) if status.code() == Code::Unimplemented => {
                Self::begin_as(channel, &V1_ALPHA).await
            }
            begun => begun,
        }
    }

    async fn begin_as(
        channel: &Channel,
        version: &'static ServiceDescriptor,
    ) -> Result<(Self, Vec<String>), Status> {
        let (mut sender, answer): (Sender<Request>, Answer<Receiver<Response>>) =
            channel.chat(&version.methods[0], ()).await?;
        let list = Request {
            list_services: Some(String::new()),
            ..Request::default()
        };
        // A server may say nothing before it has been asked. Where this fails, its answer says why.
        let _ = sender.send(&list).await;
        let answers = answer.await?;
        let mut conversation = Conversation { sender, answers };
        let response = conversation.answer().await?;
        let services = response.services.ok_or_else(no_answer)?.service;
        let names = services.into_iter().map(|service| service.name).collect();
        Ok((conversation, names))
    }

    async fn files(&mut self, request: Request) -> Result<Vec<Bytes>, Status> {
        let _ = self.sender.send(&request).await;
        let answer = self.answer().await?.file_descriptor;
        let FileDescriptorResponse {
            file_descriptor_proto,
        } = answer.ok_or_else(no_answer)?;
        Ok(file_descriptor_proto)
    }

    async fn answer(&mut self) -> Result<Response, Status> {
        let response = self.answers.next().await.ok_or_else(no_answer)??;
        match response.error {
            None => Ok(response),
            Some(error) => {
                let code = match error.error_code {
                    NOT_FOUND => Code::NotFound,
                    _ => Code::Unknown,
                };
                Err(Status::from_peer(code, error.error_message))
            }
        }
    }
}

/// The files that have come, and those that they import.
#[derive(Default)]
struct Collected {
    files: BTreeMap<String, Bytes>,
    /// The bytes of all files.
    bytes: usize,
    /// The imported files, and those of them that have not been asked for.
    imported: HashSet<String>,
    open: Vec<String>,
}

/// The part of a file that leads to others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Imports {
    name: String,
    dependency: Vec<String>,
}

message!(Imports {
    1 name: String,
    3 dependency: Vec<String>,
});

impl Collected {
    fn add(&mut self, files: Vec<Bytes>) -> Result<(), Status> {
        for file in files {
            let imports: Imports = protobuf::from_bytes(&file).map_err(|error| {
                let what = format!("the server's reflection gives what is no descriptor: {error}");
                Status::new(Code::Internal, what)
            })?;
            if self.files.contains_key(&imports.name) {
                continue;
            }
            for name in imports.dependency {
                if self.imported.insert(name.clone()) {
                    self.open.push(name);
                }
            }
            self.bytes = self.bytes.saturating_add(file.len());
            self.files.insert(imports.name, file);
            if self.bytes > MAX_BYTES || self.files.len().max(self.imported.len()) > MAX_FILES {
                let what = "the server's reflection gives more than 16 MiB or 10,000 files";
                return Err(Status::new(Code::ResourceExhausted, what));
            }
        }
        Ok(())
    }

    /// A file that is imported, has not come and has not been asked for.
    fn missing(&mut self) -> Option<String> {
        while let Some(name) = self.open.pop() {
            if !self.files.contains_key(&name) {
                return Some(name);
            }
        }
        None
    }

    fn encode(self) -> Result<Vec<u8>, Status> {
        let file = self.files.into_values().collect();
        let set = FileSet { file };
        protobuf::to_bytes(&set)
            .map_err(|error| Status::new(Code::ResourceExhausted, error.to_string()))
    }
}

#[cold]
fn no_answer() -> Status {
    Status::new(Code::Internal, "the server's reflection gives no answer")
}
