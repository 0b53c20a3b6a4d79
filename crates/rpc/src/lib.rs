//! Dovetail: one contract, one handler, one port, every wire.
#![deny(unsafe_code)]

mod call;
mod context;
mod descriptor;
mod exceptions;
mod method;
mod reply;
mod service;

#[cfg(feature = "async")]
mod channel;

pub mod blocking;

#[cfg(feature = "async")]
pub use channel::Channel;

pub use call::{Call, HandlerFuture, Reply};
pub use context::Context;
pub use dovetail_protocol::{Code, Execution, Origin, Status};
pub use dovetail_wire as wire;
pub use dovetail_wire::{Bytes, OrderedFloat, UnknownFields, Uuid, enumeration, message, union};
pub use exceptions::Exceptions;
pub use method::{Method, ServiceDescriptor};
pub use service::Service;
