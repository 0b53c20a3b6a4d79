//! The reply to a call, before and after it is decoded.

use super::reply::ReplySlot;
use crate::{Code, Exceptions, Status};
use dovetail_protocol::Execution;
use dovetail_wire::{Bytes, Decode, Encoding, FieldValue, Limits, ObjectNumbers, WithObjects};
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
        Err(exception) => Err(failure(method, &exception)),
    }
}

pub(crate) fn decode_into(
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

/// Why a call returned no object.
pub(crate) fn failure(method: &str, exception: &impl Exceptions) -> Status {
    let other = || {
        let what = format!("`{method}` ended with an exception, and returned no object");
        Status::new(Code::FailedPrecondition, what).with_execution(Execution::Finished)
    };
    exception.as_status().cloned().unwrap_or_else(other)
}
