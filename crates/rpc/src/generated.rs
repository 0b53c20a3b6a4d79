//! The names that generated code and the macros use. It is not a part of the public interface: the
//! generators of one version write for the crate of the same version.

#[cfg(feature = "async")]
pub use crate::client::Channel;
pub use crate::exceptions::Exceptions;
pub use crate::headers::HeaderField;
pub use crate::method::{Method, MethodTypes, ServiceDescriptor};
pub use crate::peer::call::{Call, HandlerFuture, Reply};
pub use crate::peer::context::Context;
pub use crate::peer::objects::ObjectRef;
pub use crate::peer::service::Service;
pub use crate::peer::streams::{ItemSink, Items, Receiver, Streaming};
#[cfg(feature = "async")]
pub use crate::peer::streams::{Sender, Upload};
pub use crate::types::*;
pub use crate::{descriptor, exceptions, if_async, object};
pub use dovetail_protocol::Status;
pub use dovetail_wire as wire;
pub use dovetail_wire::{
    Message, enumeration, extends, family, masked_debug, message, oneof, thrown, union, variants,
};
