//! The statuses of calls that end without their handlers.

use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::io;

/// No further call may wait on a connection.
#[cold]
pub(crate) fn crowded(most: usize) -> Status {
    Status::new(
        Code::ResourceExhausted,
        format!(
            "{most} calls wait on this connection already; `calls_in_flight` allows more, \
             `connections` spreads them"
        ),
    )
}

/// The caller of a call has gone; nothing is known of its execution.
#[cold]
pub(crate) fn cancelled() -> Status {
    let what = "the caller gave the call up";
    Status::new(Code::Cancelled, what).with_execution(Execution::MayHaveRun)
}

/// The time of a call is over; nothing is known of its execution.
#[cold]
pub(crate) fn too_late() -> Status {
    let what = "the deadline of the call has passed";
    Status::new(Code::DeadlineExceeded, what).with_execution(Execution::MayHaveRun)
}

/// The handler panicked.
#[cold]
pub(crate) fn panicked() -> Status {
    Status::new(Code::Internal, "the handler panicked").with_execution(Execution::MayHaveRun)
}

/// A handler that waits needs a thread, and there is none.
#[cold]
pub(crate) fn no_thread(error: &io::Error) -> Status {
    let what = format!("no thread for a handler that waits: {error}");
    Status::new(Code::ResourceExhausted, what).with_execution(Execution::MayHaveRun)
}
