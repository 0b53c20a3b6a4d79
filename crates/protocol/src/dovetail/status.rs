//! The one place where this wire's codes and [`Status`] are turned into each other.
//!
//! The code is the number of [`Code`]; the execution is 1 (not started), 2 (may have run) or 3
//! (finished).

use super::ProtocolError;
use super::compression::DecompressError;
use super::contract::MethodKind;
use super::cursor::{Cursor, put_bytes};
use super::frame::{self, Flags, Kind};
use crate::{Code, Execution, Name, Status, pushback};
use dovetail_wire::description::Incompatible;

/// Appends the failure of a call.
pub(super) fn write(call: u32, status: &Status, out: &mut Vec<u8>) {
    let execution = match status.execution() {
        Execution::NotSent | Execution::NotStarted => 1,
        Execution::MayHaveRun => 2,
        Execution::Finished => 3,
    };
    let start = frame::begin(out);
    out.extend_from_slice(&[status.code() as u8, execution]);
    put_bytes(shortened(status.message()), out);
    if let Some(after) = status.retry_after() {
        out.push(RETRY_AFTER);
        put_bytes(&pushback::milliseconds(after).to_le_bytes(), out);
    }
    frame::end(out, start, Kind::Status, Flags::NONE, call);
}

/// The detail that says when to try again: milliseconds, as a signed number of 8 bytes; negative
/// for never.
const RETRY_AFTER: u8 = 1;

/// Messages longer than this are cut: they always fit a frame.
const MAX_TEXT: usize = 8 << 10;

fn shortened(text: &str) -> &[u8] {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}

/// Reads the payload of STATUS.
pub(super) fn read(payload: &[u8]) -> Result<Status, ProtocolError> {
    let mut fields = Cursor(payload);
    let code = code(fields.byte()?);
    let execution = match fields.byte()? {
        1 => Execution::NotStarted,
        2 => Execution::MayHaveRun,
        3 => Execution::Finished,
        other => {
            return Err(ProtocolError::malformed(format!(
                "{other} says nothing of a call's execution"
            )));
        }
    };
    let message = fields.text()?.to_owned();
    let mut status = Status::from_peer(code, message).with_execution(execution);
    while !fields.0.is_empty() {
        let (detail, value) = (fields.byte()?, fields.bytes()?);
        if let (RETRY_AFTER, Ok(after)) = (detail, value.try_into()) {
            status = status.with_retry_after(pushback::after(i64::from_le_bytes(after)));
        }
    }
    Ok(status)
}

/// Appends the end of the connection.
pub(super) fn write_goodbye(code: Code, why: &str, out: &mut Vec<u8>) {
    let start = frame::begin(out);
    out.push(code as u8);
    put_bytes(shortened(why), out);
    frame::end(out, start, Kind::Goodbye, Flags::NONE, 0);
}

/// Reads the payload of GOODBYE.
pub(super) fn read_goodbye(payload: &[u8]) -> Result<ProtocolError, ProtocolError> {
    let mut fields = Cursor(payload);
    let code = code(fields.byte()?);
    let why = format!("{} ({})", fields.text()?, code);
    fields.end()?;
    Ok(ProtocolError::Goodbye { why })
}

/// The connection ends because of what the other end did.
pub(super) fn write_error(error: &ProtocolError, out: &mut Vec<u8>) {
    write_goodbye(Code::InvalidArgument, &error.to_string(), out);
}

/// Returns the status of a call for a verdict of BOUND: the contracts contradict each other.
pub(super) fn contradicted(why: &str) -> Status {
    not_started(Status::from_peer(Code::FailedPrecondition, why.to_owned()))
}

/// Returns the status of a call for a verdict of BOUND: there is no such method.
pub(super) fn unknown(why: &str) -> Status {
    not_started(Status::from_peer(Code::Unimplemented, why.to_owned()))
}

/// The streams of a method are others here than there.
pub(super) fn other_streams(method: &Name, ours: MethodKind, theirs: MethodKind) -> Status {
    let what = format!(
        "the contracts of `{method}` contradict each other: it is {ours} here and {theirs} there"
    );
    not_started(Status::new(Code::FailedPrecondition, what))
}

impl Status {
    /// The contracts of a method contradict each other, this end has found.
    pub(crate) fn contradicting(method: &Name, difference: &Incompatible) -> Self {
        let what = format!("the contracts of `{method}` contradict each other: {difference}");
        not_started(Status::new(Code::FailedPrecondition, what))
    }
}

/// True for a status that says so.
pub(super) fn is_contradiction(status: &Status) -> bool {
    status.code() == Code::FailedPrecondition
}

/// A call of an end that answers nothing.
pub(super) fn no_methods(method: &str) -> Status {
    let what = format!("this end answers no calls, and so not `{method}`");
    Status::new(Code::Unimplemented, what)
}

/// A call on a connection whose other end has said DRAIN.
pub(super) fn closing() -> Status {
    let why = "the other end takes no further calls on this connection";
    Status::new(Code::Unavailable, why)
}

/// A call that the other end, which drains, has not taken.
pub(super) fn not_taken(why: &str) -> Status {
    not_started(Status::from_peer(Code::Unavailable, why.to_owned()))
}

/// A call that its caller gave up before it was started.
pub(super) fn cancelled() -> Status {
    not_started(Status::new(Code::Cancelled, "the caller gave the call up"))
}

/// A message that is too large for this end.
pub(super) fn too_large(most: usize, execution: Execution) -> Status {
    let what = format!(
        "a message of more than {most} bytes; `message_bytes` allows more, or `decompression_ratio`"
    );
    Status::new(Code::ResourceExhausted, what).with_execution(execution)
}

/// An answer whose body is not what the callee announced.
pub(super) fn undecodable_answer(error: &DecompressError) -> Status {
    Status::new(Code::Internal, error.to_string()).with_execution(Execution::Finished)
}

/// A call that is addressed to what another one returned, which returned nothing that could be
/// called.
pub(super) fn unfulfilled(why: &Status) -> Status {
    let what = format!(
        "the call that was to return the object failed: {}",
        why.message()
    );
    not_started(Status::new(why.code(), what))
}

/// A call that is addressed to what another one returns, of which nothing is known.
pub(super) fn no_promise(call: u32) -> Status {
    let what = format!("call {call} was not one to return an object, or is forgotten");
    not_started(Status::new(Code::FailedPrecondition, what))
}

/// A call too many that waits for what others return.
pub(super) fn too_many_pipelined() -> Status {
    let what = "too many calls wait for the objects that others are to return";
    not_started(Status::new(Code::ResourceExhausted, what))
}

/// A call too many that others may be addressed to.
pub(super) fn too_many(most: usize) -> Status {
    let what =
        format!("{most} calls have promised objects; `ConnectionLimits::objects` allows more");
    not_started(Status::new(Code::ResourceExhausted, what))
}

/// A call too many of a method that has to be described first.
pub(super) fn held_up() -> Status {
    let what = "too many calls before the contracts were compared";
    not_started(Status::new(Code::ResourceExhausted, what))
}

fn not_started(status: Status) -> Status {
    status.with_execution(Execution::NotStarted)
}

/// Codes of a newer version are unknown ones.
fn code(number: u8) -> Code {
    let index = usize::from(number).wrapping_sub(1);
    Code::ALL.get(index).copied().unwrap_or(Code::Unknown)
}
