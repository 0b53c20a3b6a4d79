//! Clients: a channel to one server, blocking or async, shared by any number of callers.

pub mod blocking;
mod dial;
mod options;
mod table;

#[cfg(feature = "async")]
mod channel;

pub use options::Backoff;

#[cfg(feature = "async")]
pub use channel::{Channel, ChannelBuilder};

use crate::Status;
use crate::reply::ReplySlot;
use crate::{Code, Exceptions, Execution};
use dovetail_wire::{Bytes, Decode, Encoding, FieldValue, Limits};

/// The encoded body of a reply.
type Body = (Encoding, Bytes);

/// Decodes the reply to a call.
fn decode<T: FieldValue, E: Exceptions>(
    method: &str,
    body: Result<Body, Status>,
    limits: Limits,
) -> Result<T, E> {
    let mut slot = ReplySlot::<T, E>::new();
    decode_into(&mut slot, method, body?, limits)?;
    slot.into_result(method)
}

fn decode_into(
    slot: &mut impl Decode,
    method: &str,
    (encoding, body): Body,
    limits: Limits,
) -> Result<(), Status> {
    match encoding.decode(slot, &body, limits) {
        Ok(_) => Ok(()),
        Err(error) => Err(Status::new(
            Code::Internal,
            format!("the reply to `{method}` cannot be decoded: {error}"),
        )
        .with_execution(Execution::Finished)),
    }
}

/// True where another attempt cannot do harm: nothing ran, or the contract says that twice is as good as once.
fn harmless(status: &Status, idempotent: bool) -> bool {
    match status.execution() {
        Execution::NotSent | Execution::NotStarted => true,
        Execution::MayHaveRun => idempotent,
        Execution::Finished => false,
    }
}
