//! The one place where a Thrift wire's failures and [`Status`] are turned into each other.
//!
//! A `TApplicationException` is a struct of a message and a type. What a status says beyond the
//! type goes into the message: `CODE: message`, which is what a person with an Apache client sees,
//! and which is read back here.
//!
//! | type | name | read as | written for |
//! |---|---|---|---|
//! | 0 | `UNKNOWN` | `UNKNOWN` | every code not below |
//! | 1 | `UNKNOWN_METHOD` | `UNIMPLEMENTED` | `UNIMPLEMENTED` |
//! | 2 | `INVALID_MESSAGE_TYPE` | `INVALID_ARGUMENT` | |
//! | 3 | `WRONG_METHOD_NAME` | `INTERNAL` | |
//! | 4 | `BAD_SEQUENCE_ID` | `INTERNAL` | |
//! | 5 | `MISSING_RESULT` | `INTERNAL` | |
//! | 6 | `INTERNAL_ERROR` | `INTERNAL` | `INTERNAL`, `DATA_LOSS` |
//! | 7 | `PROTOCOL_ERROR` | `INVALID_ARGUMENT` | `INVALID_ARGUMENT`, protocol errors |
//! | 8 | `INVALID_TRANSFORM` | `UNIMPLEMENTED` | unsupported transforms |
//! | 9 | `INVALID_PROTOCOL` | `UNIMPLEMENTED` | unsupported protocols |
//! | 10 | `UNSUPPORTED_CLIENT_TYPE` | `UNIMPLEMENTED` | |
//! | 11 | `LOADSHEDDING` | `RESOURCE_EXHAUSTED`, not started | |
//! | 12 | `TIMEOUT` | `DEADLINE_EXCEEDED` | |
//! | 14 | `CHECKSUM_MISMATCH` | `DATA_LOSS` | |
//! | 15 | `INTERRUPTION` | `CANCELLED` | |
//! | 16 | `TENANT_QUOTA_EXCEEDED` | `RESOURCE_EXHAUSTED`, not started | |
//! | other | | `UNKNOWN` | |
//!
//! Those from 11 on are fbthrift's.
//!
//! Beside them stands field 100, `execution`, which readers of Apache's libraries skip: 1 where the
//! call did not run, 2 where it did not run and the server asks for the description of the caller's
//! contract (`docs/spec/contract-header.md`); and field 101, `retry_after_ms`, an `i64`: the caller
//! may try again after so many milliseconds, or never where it is negative.

use super::ProtocolError;
use crate::{Code, Execution, Status, execution, pushback};
use dovetail_wire::{Bytes, Encoding, Limits, message};

/// A failure as Thrift sends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ApplicationException {
    message: Option<String>,
    r#type: Option<i32>,
    /// [`NOT_STARTED`] or [`UNDESCRIBED`] where the call did not run.
    execution: Option<i32>,
    retry_after_ms: Option<i64>,
}

message!(ApplicationException as "TApplicationException" {
    1 message: Option<String>,
    2 r#type as "type": Option<i32>,
    100 execution: Option<i32>,
    101 retry_after_ms: Option<i64>,
});

const NOT_STARTED: i32 = 1;
const UNDESCRIBED: i32 = 2;

const UNKNOWN: i32 = 0;
const UNKNOWN_METHOD: i32 = 1;
const INTERNAL_ERROR: i32 = 6;
const PROTOCOL_ERROR: i32 = 7;
const INVALID_TRANSFORM: i32 = 8;
const INVALID_PROTOCOL: i32 = 9;
const LOADSHEDDING: i32 = 11;
const TENANT_QUOTA_EXCEEDED: i32 = 16;

impl From<&Status> for ApplicationException {
    fn from(status: &Status) -> Self {
        let r#type = match status.code() {
            Code::Unimplemented => UNKNOWN_METHOD,
            Code::Internal | Code::DataLoss => INTERNAL_ERROR,
            Code::InvalidArgument => PROTOCOL_ERROR,
            _ => UNKNOWN,
        };
        ApplicationException {
            message: Some(format!("{}: {}", status.code(), status.message())),
            r#type: Some(r#type),
            execution: match status.asks_for_description() {
                true => Some(UNDESCRIBED),
                false => status.is_not_started().then_some(NOT_STARTED),
            },
            retry_after_ms: status.retry_after().map(pushback::milliseconds),
        }
    }
}

impl From<&ProtocolError> for ApplicationException {
    fn from(error: &ProtocolError) -> Self {
        let (code, r#type) = match error {
            ProtocolError::UnsupportedTransform { .. } => (Code::Unimplemented, INVALID_TRANSFORM),
            ProtocolError::UnsupportedProtocol { .. } => (Code::Unimplemented, INVALID_PROTOCOL),
            ProtocolError::MessageTooLarge { .. }
            | ProtocolError::DecompressedTooLarge { .. }
            | ProtocolError::HeadersTooLarge { .. }
            | ProtocolError::NameTooLong { .. }
            | ProtocolError::TooDeep { .. } => (Code::ResourceExhausted, PROTOCOL_ERROR),
            ProtocolError::TooSlow { .. } => (Code::DeadlineExceeded, PROTOCOL_ERROR),
            _ => (Code::InvalidArgument, PROTOCOL_ERROR),
        };
        ApplicationException {
            message: Some(format!("{code}: {error}")),
            r#type: Some(r#type),
            // The message did not become a call.
            execution: Some(NOT_STARTED),
            retry_after_ms: None,
        }
    }
}

impl From<ApplicationException> for Status {
    fn from(exception: ApplicationException) -> Self {
        let header = match exception.execution {
            Some(NOT_STARTED) => Some(execution::NOT_STARTED.as_bytes()),
            Some(UNDESCRIBED) => Some(execution::UNDESCRIBED.as_bytes()),
            _ => None,
        };
        let after = exception.retry_after_ms.map(pushback::after);
        let status = said(exception).heed_execution(header);
        match after {
            Some(after) => status.with_retry_after(after),
            None => status,
        }
    }
}

/// Returns what message and type say.
fn said(exception: ApplicationException) -> Status {
    let message = exception.message.unwrap_or_default();
    if let Some((name, rest)) = message.split_once(": ")
        && let Some(code) = Code::from_name(name)
    {
        return Status::from_peer(code, rest.to_owned());
    }
    let code = match exception.r#type.unwrap_or(UNKNOWN) {
        UNKNOWN_METHOD | INVALID_TRANSFORM | INVALID_PROTOCOL | 10 => Code::Unimplemented,
        2 | PROTOCOL_ERROR => Code::InvalidArgument,
        3..=INTERNAL_ERROR => Code::Internal,
        LOADSHEDDING | TENANT_QUOTA_EXCEEDED => {
            return Status::from_peer(Code::ResourceExhausted, message)
                .with_execution(Execution::NotStarted);
        }
        12 => Code::DeadlineExceeded,
        14 => Code::DataLoss,
        15 => Code::Cancelled,
        _ => Code::Unknown,
    };
    Status::from_peer(code, message)
}

/// The status in the body of an exception.
pub(crate) fn read(encoding: Encoding, input: &Bytes) -> Status {
    let mut exception = ApplicationException::default();
    match encoding.decode(&mut exception, input, Limits::default()) {
        Ok(_) => exception.into(),
        Err(error) => Status::from_peer(
            Code::Unknown,
            format!("the server answered with an exception that cannot be read: {error}"),
        ),
    }
}

/// The status of an HTTP response that is not a 200, and thus has no Thrift message.
pub(crate) fn from_http(status: u16, reason: &str) -> Status {
    let code = match status {
        400 | 405 | 411 | 415 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 | 501 => Code::Unimplemented,
        408 | 504 => Code::DeadlineExceeded,
        413 | 429 | 431 => Code::ResourceExhausted,
        500 => Code::Internal,
        502 | 503 => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::from_peer(
        code,
        format!("the server answered with HTTP status {status} {reason}"),
    )
}
