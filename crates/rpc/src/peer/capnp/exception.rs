//! Statuses as exceptions of Cap'n Proto.

use crate::{Code, Status};
use dovetail_protocol::Execution;
use dovetail_protocol::capnp::{Exception, ExceptionKind};

/// The exception of a failed call. Its reason begins with the code, where the kind of the exception
/// does not say it.
pub(super) fn of_status(status: &Status) -> Exception {
    let kind = match status.code() {
        Code::ResourceExhausted => ExceptionKind::Overloaded,
        Code::Unavailable => ExceptionKind::Disconnected,
        Code::Unimplemented => ExceptionKind::Unimplemented,
        _ => ExceptionKind::Failed,
    };
    let reason = match kind {
        ExceptionKind::Failed if status.code() != Code::Unknown => {
            format!("{}: {}", status.code(), status.message())
        }
        _ => status.message().to_owned(),
    };
    Exception { reason, kind }
}

/// The status of a call that failed at a peer.
pub(super) fn to_status(exception: &Exception) -> Status {
    let reason = exception.reason.as_str();
    let (code, message) = match exception.kind {
        ExceptionKind::Overloaded => (Code::ResourceExhausted, reason),
        ExceptionKind::Disconnected => (Code::Unavailable, reason),
        ExceptionKind::Unimplemented => (Code::Unimplemented, reason),
        ExceptionKind::Failed => reason
            .split_once(": ")
            .and_then(|(name, message)| Some((Code::from_name(name)?, message)))
            .unwrap_or((Code::Unknown, reason)),
    };
    Status::new(code, message.to_owned()).with_execution(Execution::MayHaveRun)
}

/// The exception of an object or a method that is not there.
pub(super) fn unknown(interface: u64, method: u16) -> Exception {
    let status = Status::new(
        Code::Unimplemented,
        format!("no method {method} of an interface @{interface:#x} here"),
    );
    of_status(&status.with_execution(Execution::NotStarted))
}
