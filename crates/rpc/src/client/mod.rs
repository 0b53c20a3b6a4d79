//! Clients: a channel to a server, or to the servers of a name, blocking or async, shared by any
//! number of callers.

pub mod blocking;
mod contracts;
mod dial;
mod failures;
mod nested;
mod options;
mod policies;
mod pool;
mod reached;
mod recycled;
mod retries;
mod security;
mod servers;
#[cfg(feature = "service-config")]
mod service_config;

#[cfg(feature = "async")]
mod channel;
#[cfg(feature = "grpc")]
mod http2;
#[cfg(feature = "async")]
mod task;

pub use options::Backoff;
pub use policies::{HedgingPolicy, RetryPolicy};
pub use servers::HealthCheck;

#[cfg(feature = "async")]
pub use channel::{Channel, ChannelBuilder};

#[cfg(feature = "tls")]
pub(crate) use security::Security;

use crate::dispatch::functions::Spelling;
use crate::method::MethodTypes;
use crate::{Code, Status, Wire};
use dovetail_protocol::Execution;
use dovetail_wire::{Field, FieldValue, WriteParams};
use std::borrow::Cow;

/// Returns the name of a method, and the table of its parameters without a contract; `method` may
/// name them.
fn by_name<'a, P: WriteParams>(
    method: &'a str,
    _: &P,
) -> Result<(&'a str, Cow<'a, [Field<'a>]>), Status> {
    let unusable = |what: &str| {
        let status = Status::new(Code::InvalidArgument, format!("`{method}`: {what}"));
        status.with_execution(Execution::NotSent)
    };
    let spelling = Spelling::of(method).map_err(unusable)?;
    Ok((
        spelling.name,
        spelling.fields(P::UNNAMED).map_err(unusable)?,
    ))
}

/// Returns a description of the types of a call by name.
fn typed<P: WriteParams, T: FieldValue>(_: &P) -> Option<fn() -> MethodTypes> {
    Some(|| MethodTypes::of::<T, Status>(P::unnamed_types()))
}

/// Returns the error of a channel that has no HTTP/2.
#[cold]
fn no_http2(wire: Wire) -> Status {
    let what =
        format!("{wire} needs an async channel, `dovetail::Channel`, and the feature `grpc`");
    Status::new(Code::Unimplemented, what)
}

/// Returns the error of a channel for WebSocket.
#[cold]
fn no_websocket() -> Status {
    let what =
        "WebSocket is for pages in browsers: servers speak it, clients have the wire `dovetail`";
    Status::new(Code::Unimplemented, what)
}
