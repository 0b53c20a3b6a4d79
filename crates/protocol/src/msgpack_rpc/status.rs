//! Failures, as the error of a response has them.
//!
//! Written: the text `CODE: message`, which every peer shows to its caller. A declared exception is
//! a map with one entry, from its name in the contract to its value. The result beside an error is
//! nil, or, where the call did not run, the text `not-started`. Where the caller may try again
//! later, `;retry-after-ms=` and a number follow.
//!
//! Read:
//!
//! | error | becomes |
//! |---|---|
//! | text `CODE: message` | that code |
//! | other text | `UNKNOWN`; `UNIMPLEMENTED` or `INVALID_ARGUMENT` where rpclib says so, as text or as `client error C0002: …` |
//! | `[number, text]`, Neovim's | `INVALID_ARGUMENT` for 1 (validation), else `UNKNOWN`; `UNIMPLEMENTED` where the text says so |
//! | `[text, text]`, Ruby's class and message | `UNIMPLEMENTED` for `NoMethodError`, `INVALID_ARGUMENT` for `ArgumentError`, else `UNKNOWN` |
//! | map with one entry, from text to an array or map | a declared exception |
//! | map with a text `message` | `UNKNOWN`, or what its `code` names |
//! | anything else | `UNKNOWN`, with the value as the message |

use super::ProtocolError;
use crate::execution::NOT_STARTED;
use crate::{Code, Execution, Status, pushback};
use dovetail_wire::msgpack::{Head, put};
use dovetail_wire::{Bytes, Decode, Dynamic, Encoding, Limits, msgpack};

/// How other libraries say that there is no such method: what their text begins with.
const NO_METHOD: &[&str] = &[
    "rpclib: server could not find function",
    "Invalid method: ",
    "Unknown method: ",
];

/// The texts for wrong parameters.
const WRONG_PARAMS: &[&str] = &["rpclib: Function '", "Wrong number of arguments"];

/// Appends a failure as the error of a response, and what stands for its result.
pub(super) fn write(status: &Status, out: &mut Vec<u8>) {
    put::str(out, &format!("{}: {}", status.code(), status.message()));
    match (status.is_not_started(), status.retry_after()) {
        (false, None) => put::nil(out),
        (not_started, after) => {
            let said = if not_started { NOT_STARTED } else { "" };
            let after = after.map(|after| format!("{RETRY_AFTER}{}", pushback::text(after)));
            put::str(out, &format!("{said}{}", after.unwrap_or_default()));
        }
    }
}

/// The words before the number of milliseconds after which a caller may try again.
const RETRY_AFTER: &str = ";retry-after-ms=";

/// Reads an answer, error and result: itself, to be decoded by a caller that knows the contract, or
/// a failure.
pub(super) fn read(answer: &Bytes) -> Result<(), Status> {
    match Head::read(answer) {
        Ok((Head::Nil, _)) => Ok(()),
        Ok((Head::Map(1), len)) if names_exception(answer.get(len..).unwrap_or_default()) => Ok(()),
        _ => Err(failure(answer)),
    }
}

/// True for text followed by the value of an exception.
fn names_exception(entry: &[u8]) -> bool {
    let Ok((name @ Head::Str(_), len)) = Head::read(entry) else {
        return false;
    };
    let value = entry.get(len + name.content()..).unwrap_or_default();
    matches!(Head::read(value), Ok((Head::Array(_) | Head::Map(_), _)))
}

#[cold]
fn failure(answer: &Bytes) -> Status {
    let mut error = Dynamic::default();
    let mut reader = msgpack::Reader::new(answer, Limits::default());
    if let Err(problem) = error.decode(&mut reader) {
        let what = format!("the peer answered with an error that cannot be read: {problem}");
        return Status::from_peer(Code::Unknown, what);
    }
    let mut result = Dynamic::default();
    let result = result.decode(&mut reader).is_ok().then_some(result);
    let result = result.as_ref().and_then(Dynamic::as_str);
    let said = result.unwrap_or_default();
    let (execution, after) = said.split_once(RETRY_AFTER).unwrap_or((said, ""));
    let status = of_error(&error).heed_execution(Some(execution.as_bytes()));
    match after.parse() {
        Ok(after) => status.with_retry_after(pushback::after(after)),
        Err(_) => status,
    }
}

fn of_error(error: &Dynamic) -> Status {
    match error {
        Dynamic::String(text) => from_text(text),
        Dynamic::List(list) => match list.as_slice() {
            [Dynamic::Int(kind), Dynamic::String(text)] => from_kind(*kind, text),
            [Dynamic::String(class), Dynamic::String(text), ..] => from_class(class, text),
            _ => other(error),
        },
        Dynamic::Map(map) => match map.get("message").and_then(Dynamic::as_str) {
            Some(text) => {
                let code = map.get("code").and_then(Dynamic::as_str);
                let code = code.and_then(Code::from_name).unwrap_or(Code::Unknown);
                Status::from_peer(code, text.to_owned())
            }
            None => other(error),
        },
        _ => other(error),
    }
}

fn from_text(text: &str) -> Status {
    if let Some((name, rest)) = text.split_once(": ")
        && let Some(code) = Code::from_name(name)
    {
        return Status::from_peer(code, rest.to_owned());
    }
    Status::from_peer(said(text), text.to_owned())
}

/// Neovim's: 0 for exceptions, 1 for what it found wrong before it began. rpclib's handlers may
/// choose any.
fn from_kind(kind: i64, text: &str) -> Status {
    let code = match (said(text), kind) {
        (Code::Unknown, 1) => Code::InvalidArgument,
        (code, _) => code,
    };
    Status::from_peer(code, text.to_owned())
}

fn from_class(class: &str, text: &str) -> Status {
    let code = match class {
        "NoMethodError" => Code::Unimplemented,
        "ArgumentError" => Code::InvalidArgument,
        _ => Code::Unknown,
    };
    Status::from_peer(code, format!("{class}: {text}"))
}

fn other(error: &Dynamic) -> Status {
    let shown: String = format!("{error:?}").chars().take(300).collect();
    Status::from_peer(Code::Unknown, shown)
}

/// Returns the code for a text of another library.
fn said(text: &str) -> Code {
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    // rpclib's `client_error` numbers its codes, in hexadecimal digits behind this.
    let numbered = text.split_once("client error C").map(|(_, rest)| rest);
    match numbered.and_then(|rest| rest.split(':').next()) {
        Some("0001") => return Code::Unimplemented,
        Some("0002") => return Code::InvalidArgument,
        _ => {}
    }
    if begins(NO_METHOD) {
        Code::Unimplemented
    } else if begins(WRONG_PARAMS) {
        Code::InvalidArgument
    } else {
        Code::Unknown
    }
}

/// The encoding of answers.
pub(super) const ENCODING: Encoding = Encoding::Msgpack;

/// The answer of an end that only calls.
pub(super) fn no_services() -> Status {
    let what = "this end of the connection takes no calls";
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}

/// Returns the status for a peer that broke a rule, or a limit.
pub(super) fn misbehaved(error: &ProtocolError) -> Status {
    let code = match error {
        ProtocolError::MessageTooLarge { .. }
        | ProtocolError::NameTooLong { .. }
        | ProtocolError::TooDeep { .. } => Code::ResourceExhausted,
        ProtocolError::TooSlow { .. } => Code::DeadlineExceeded,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.to_string())
}
