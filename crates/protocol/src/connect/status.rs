//! How a call ended: the name of the code, the status that HTTP has for it, and the object in the
//! body. The one place that maps codes of Connect; `docs/http.md` has the table.

use crate::metadata::decode_base64;
use crate::{Code, Failure, Headers, Status};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use dovetail_wire::json::quote;
use dovetail_wire::{Any, Dynamic};

/// The name of a code.
fn name(code: Code) -> &'static str {
    match code {
        Code::Cancelled => "canceled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

/// The status of HTTP that answers with a code have.
pub(super) fn http_status(code: Code) -> u16 {
    match code {
        Code::Cancelled => 499,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::AlreadyExists | Code::Aborted => 409,
        Code::ResourceExhausted => 429,
        Code::Unknown | Code::Internal | Code::DataLoss => 500,
        Code::Unimplemented => 501,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
    }
}

/// The code of an answer that names none, by its status.
pub(super) fn of_http(http: u16) -> Code {
    match http {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    }
}

/// Makes the status for headers that are wrong, or for their substitutes in a GET request.
pub(super) fn invalid(what: impl Into<String>) -> Status {
    Status::new(Code::InvalidArgument, what.into())
}

/// The version of the protocol, where it is said, is 1.
pub(super) fn check_version(headers: &Headers) -> Result<(), Status> {
    match headers.get("connect-protocol-version") {
        None | Some(b"1") => Ok(()),
        Some(_) => Err(invalid("the protocol's version is 1")),
    }
}

/// A browser calls for a page that may not.
pub(super) fn foreign_page() -> Status {
    let what = "a page of another site, which the server does not let call";
    Status::new(Code::PermissionDenied, what)
}

/// A path or a compression that is not known.
pub(super) fn unimplemented(what: String) -> Status {
    Status::new(Code::Unimplemented, what)
}

/// Returns the last status of the connection, for a request that HTTP answers with this one.
pub(super) fn of_refusal(status: u16, what: &str) -> Status {
    let code = match status {
        413 | 431 => Code::ResourceExhausted,
        408 => Code::DeadlineExceeded,
        _ => Code::InvalidArgument,
    };
    Status::new(code, what.to_owned())
}

/// Appends the object that says it. `debug` is the only detail, in human-readable JSON.
pub(super) fn write(failure: &Failure, debug: Option<&[u8]>, out: &mut Vec<u8>) {
    let Failure { status, details } = failure;
    out.extend_from_slice(format!("{{\"code\":\"{}\"", name(status.code())).as_bytes());
    if !status.message().is_empty() {
        out.extend_from_slice(b",\"message\":");
        quote(status.message(), out);
    }
    for (at, detail) in details.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"details\":[" } else { b"," });
        out.extend_from_slice(b"{\"type\":");
        quote(detail.name(), out);
        let value = BASE64_STANDARD_NO_PAD.encode(&detail.value);
        out.extend_from_slice(format!(",\"value\":\"{value}\"").as_bytes());
        if let Some(debug) = debug {
            out.extend_from_slice(b",\"debug\":");
            out.extend_from_slice(debug);
        }
        out.push(b'}');
    }
    out.extend_from_slice(if details.is_empty() { b"}" } else { b"]}" });
}

/// The failure that an object says. Where it names no code that is known, the status of HTTP
/// counts, if there is one. What is broken in it is left out.
pub(super) fn read(object: &Dynamic, http: Option<u16>) -> Failure {
    let text = |key| object.get(key).and_then(Dynamic::as_str);
    let named = |code: &Code| text("code") == Some(name(*code));
    let code = Code::ALL.into_iter().find(named);
    let code = code.unwrap_or_else(|| http.map_or(Code::Unknown, of_http));
    let details = match object.get("details") {
        Some(Dynamic::List(list)) => list.values.iter().filter_map(detail).collect(),
        _ => Vec::new(),
    };
    let message = text("message").unwrap_or_default().to_owned();
    Failure {
        status: Status::from_peer(code, message),
        details,
    }
}

fn detail(object: &Dynamic) -> Option<Any> {
    let text = |key| object.get(key).and_then(Dynamic::as_str);
    Some(Any {
        type_name: format!("type.googleapis.com/{}", text("type")?),
        value: decode_base64(text("value")?.as_bytes())?,
        ..Any::default()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{end, failure, read_end, read_failure};
    use super::*;
    use crate::Execution;
    use crate::envelope::PREFIX;
    use dovetail_wire::Bytes;

    #[test]
    fn failures() {
        let detail = |name: &str| Any {
            type_name: format!("type.googleapis.com/{name}"),
            value: Bytes::from_static(b"\x0a\x01x"),
            ..Any::default()
        };
        for (code, message, details, debug, expected) in [
            (Code::Cancelled, "", vec![], None, r#"{"code":"canceled"}"#),
            (
                Code::NotFound,
                "no \"x\"\n",
                vec![],
                None,
                r#"{"code":"not_found","message":"no \"x\"\n"}"#,
            ),
            (
                Code::Unknown,
                "thrown",
                vec![detail("shop.Refused")],
                Some(r#"{"why":"x"}"#),
                r#"{"code":"unknown","message":"thrown","details":[{"type":"shop.Refused","value":"CgF4","debug":{"why":"x"}}]}"#,
            ),
            (
                Code::Aborted,
                "",
                vec![detail("A"), detail("B")],
                None,
                r#"{"code":"aborted","details":[{"type":"A","value":"CgF4"},{"type":"B","value":"CgF4"}]}"#,
            ),
        ] {
            let status = Status::new(code, message);
            let mut out = Vec::new();
            let debug = debug.map(str::as_bytes);
            write(&Failure { status, details }, debug, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }

    #[test]
    fn what_a_server_says_is_read() {
        let detail = Any {
            type_name: "type.googleapis.com/shop.Refused".to_owned(),
            value: Bytes::from_static(b"\x0a\x01x"),
            ..Any::default()
        };
        let executions = [Execution::NotStarted, Execution::Finished];
        for (code, execution) in Code::ALL.into_iter().zip(executions.into_iter().cycle()) {
            let status = Status::from_peer(code, "why").with_execution(execution);
            let details = vec![detail.clone()];
            let sent = Failure { status, details };
            let answer = failure(&sent, Some(b"{\"why\":\"x\"}"));
            let get = |name: &str| {
                let header = answer
                    .headers
                    .iter()
                    .find(|(known, _)| known.eq_ignore_ascii_case(name));
                header.map(|(_, value)| value.as_bytes())
            };
            let read = read_failure(answer.status, get, &answer.body);
            assert_eq!(read, sent);
            let trailers = [("a-bin", "eA"), ("b", "y"), ("b", "z")];
            let trailers = trailers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let read = read_end(&end(Some(&sent), None, &trailers)[PREFIX..]).unwrap();
            assert_eq!(read.outcome, Err(sent));
            let pairs = [("a-bin", "x"), ("b", "y"), ("b", "z")];
            assert_eq!(read.trailers, pairs.into_iter().collect());
        }
    }

    #[test]
    fn codes() {
        for code in Code::ALL {
            let grpc = code.name().to_ascii_lowercase();
            assert_eq!(name(code), grpc.replace("cancelled", "canceled"));
            assert!((400..600).contains(&http_status(code)));
        }
    }
}
