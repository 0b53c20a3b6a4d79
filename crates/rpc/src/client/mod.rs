//! Clients: a channel to a server, or to the servers of a name, blocking or async, shared by any
//! number of callers.

pub mod blocking;
mod contracts;
mod dial;
mod failures;
mod local_upgrade;
mod machine;
mod nested;
mod options;
mod outgoing;
mod policies;
mod pool;
mod recycled;
mod retries;
mod security;
mod servers;
#[cfg(feature = "service-config")]
mod service_config;
mod table;
mod waiting;
mod wake_list;

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

pub(crate) use machine::{Called, Fault, code_of};
pub(crate) use outgoing::Outgoing;
#[cfg(feature = "tls")]
pub(crate) use security::Security;
pub(crate) use table::Table;
pub(crate) use wake_list::WakeList;

use crate::functions::Spelling;
use crate::objects::local;
use crate::reply::ReplySlot;
use crate::{Code, Exceptions, Execution, MethodTypes, Status, Wire};
use dovetail_wire::{
    Bytes, Decode, Encoding, Field, FieldValue, Limits, ObjectNumbers, WithObjects, WriteParams,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The encoded body of a reply.
type Body = (Encoding, Bytes);

/// A reply, with the objects that it refers to.
pub(crate) struct Answered {
    pub(crate) body: Body,
    pub(crate) objects: Option<Arc<dyn ObjectNumbers>>,
}

impl From<Body> for Answered {
    fn from(body: Body) -> Self {
        let objects = None;
        Answered { body, objects }
    }
}

/// Decodes the reply to a call. `spare` is an old result whose memory may be reused.
pub(crate) fn decode<T: FieldValue, E: Exceptions>(
    method: &str,
    body: Result<impl Into<Answered>, Status>,
    spare: Option<T>,
    limits: Limits,
) -> Result<T, E> {
    let mut slot = ReplySlot::<T, E>::over(spare);
    decode_into(&mut slot, method, body?.into(), limits)?;
    slot.into_result(method)
}

/// Finds the objects in a reply whose value nobody takes. Returns an error if the reply is not a
/// result.
pub(crate) type ReadObjects = fn(&str, Answered, Limits) -> Result<(), Status>;

pub(crate) fn read_objects<T: FieldValue, E: Exceptions>(
    method: &str,
    answered: Answered,
    limits: Limits,
) -> Result<(), Status> {
    match decode::<T, E>(method, Ok(answered), None, limits) {
        Ok(_) => Ok(()),
        Err(exception) => Err(local::failure(method, &exception)),
    }
}

fn decode_into(
    slot: &mut impl Decode,
    method: &str,
    answered: Answered,
    limits: Limits,
) -> Result<(), Status> {
    let (encoding, body) = answered.body;
    let mut slot = WithObjects::new(slot, answered.objects);
    match encoding.decode(&mut slot, &body, limits) {
        Ok(_) => Ok(()),
        Err(error) => Err(Status::new(
            Code::Internal,
            format!("the reply to `{method}` cannot be decoded: {error}"),
        )
        .with_execution(Execution::Finished)),
    }
}

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
