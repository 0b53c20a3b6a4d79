//! The statuses of calls that fail because of the connection, or the time.

use crate::{Code, Status};
use dovetail_protocol::Execution;
use std::time::Duration;

/// The connection ended while calls were waiting.
#[cold]
pub(crate) fn lost(target: &str, why: &dyn std::fmt::Display) -> Status {
    Status::new(
        Code::Unavailable,
        format!("the connection to {target} was lost: {why}"),
    )
    .with_execution(Execution::MayHaveRun)
}

/// The peer broke the rules of its wire.
#[cold]
pub(crate) fn misbehaved(target: &str, error: &dyn std::fmt::Display) -> Status {
    Status::new(
        Code::Internal,
        format!("{target} answered with what is no reply: {error}"),
    )
    .with_execution(Execution::MayHaveRun)
}

/// The call in whose handler another one is made has no time left.
#[cold]
pub(crate) fn nested_too_late(outer: &str) -> Status {
    let what = format!("the deadline of `{outer}`, in whose handler the call was made, has passed");
    Status::new(Code::DeadlineExceeded, what)
}

/// The time is over.
#[cold]
pub(crate) fn too_late(method: &str, timeout: Duration, execution: Execution) -> Status {
    Status::new(
        Code::DeadlineExceeded,
        format!("`{method}` took longer than its {timeout:?}; `with_timeout` allows more"),
    )
    .with_execution(execution)
}

/// One attempt of a call has taken too long; another one may follow.
#[cold]
pub(crate) fn attempt_too_late(method: &str, limit: Duration) -> Status {
    let what = format!("an attempt of `{method}` took longer than its {limit:?}");
    Status::new(Code::Unavailable, what).with_execution(Execution::MayHaveRun)
}
