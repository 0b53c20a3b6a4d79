//! Calls as their callers have them: what a request says beside its messages, and what an answer
//! means.

use super::status::{self, of_http};
use super::{codec, content_type, stream_type};
use crate::http::Header;
use crate::metadata::{decode_value, is_custom};
use crate::{Ask, Codec, Coding, Execution, Failure, Headers, Status};
use dovetail_wire::{Dynamic, Limits, Value, json};
use std::time::Duration;

/// The headers of a request without streams, but for the application's; `coding` is how its body is
/// compressed.
pub fn request_headers(ask: &Ask) -> Vec<Header> {
    headers(content_type(ask.codec), "", ask)
}

/// Returns the headers of a request with streams.
pub fn stream_request_headers(ask: &Ask) -> Vec<Header> {
    headers(stream_type(ask.codec), "connect-", ask)
}

/// Names of headers about compression begin with this.
fn headers(kind: &'static str, begin: &'static str, ask: &Ask) -> Vec<Header> {
    let mut headers: Vec<Header> = vec![
        ("content-type".into(), kind.into()),
        ("connect-protocol-version".into(), "1".into()),
        (
            format!("{begin}accept-encoding").into(),
            Coding::ACCEPTED.into(),
        ),
    ];
    if let Some(left) = ask.timeout {
        headers.push(("connect-timeout-ms".into(), timeout(left).into()));
    }
    if let Some(coding) = ask.coding {
        let name = format!("{begin}content-encoding");
        headers.push((name.into(), coding.name().into()));
    }
    headers
}

/// Rounded up, so that the server does not give up before the client does.
fn timeout(left: Duration) -> String {
    /// The largest number of ten digits: 115 days.
    const MAX: u128 = 9_999_999_999;
    left.as_nanos().div_ceil(1_000_000).min(MAX).to_string()
}

/// The headers and the trailers of an answer without streams, whose trailers are headers with
/// another name.
pub fn split_trailers(all: &Headers) -> (Headers, Headers) {
    const TRAILER: &str = "trailer-";
    let trailer = |name: &str| {
        let (begin, rest) = name.split_at_checked(TRAILER.len())?;
        begin.eq_ignore_ascii_case(TRAILER).then(|| rest.to_owned())
    };
    let (mut headers, mut trailers) = (Headers::new(), Headers::new());
    for (name, value) in all.iter() {
        let value = value.to_vec();
        match trailer(name) {
            Some(name) => trailers.push(name, value),
            None => headers.push(name, value),
        }
    }
    (headers, trailers)
}

/// Reads why a call without streams has failed: from the status of its answer, which is not 200,
/// from its headers, and from its body.
pub fn read_failure<'a>(
    http: u16,
    header: impl Fn(&'static str) -> Option<&'a [u8]>,
    body: &[u8],
) -> Failure {
    let body = match header("content-type").and_then(codec) {
        Some(Codec::Json) => object(body),
        _ => None,
    };
    let mut failure = body.map_or_else(
        || from_http(http).into(),
        |body| status::read(&body, Some(http)),
    );
    failure.status = failure.status.heed(header);
    failure
}

/// Returns the status for an answer that is none of Connect's, by its HTTP status.
pub fn from_http(http: u16) -> Status {
    let what = format!("the answer is HTTP status {http}, and none of Connect");
    Status::from_peer(of_http(http), what).with_execution(Execution::MayHaveRun)
}

/// How a call with streams ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Whether it went well, as far as its server knows.
    pub outcome: Result<(), Failure>,
    /// The headers behind the answer.
    pub trailers: Headers,
}

/// Reads the last message of an answer; `None` where it is no object. Of a broken trailer nothing
/// is kept.
pub fn read_end(message: &[u8]) -> Option<End> {
    let end = object(message)?;
    let Dynamic::Map(_) = &end else { return None };
    let error = end.get("error").filter(|error| !error.is_null());
    let metadata = end.get("metadata");
    let header = |name| match metadata.and_then(|metadata| metadata.get(name)) {
        Some(Dynamic::List(list)) => list.values.first()?.as_str().map(str::as_bytes),
        _ => None,
    };
    let failure = |error| {
        let mut failure = status::read(error, None);
        failure.status = failure.status.heed(header);
        failure
    };
    Some(End {
        outcome: error.map_or(Ok(()), |error| Err(failure(error))),
        trailers: end.get("metadata").map(trailers).unwrap_or_default(),
    })
}

fn trailers(metadata: &Dynamic) -> Headers {
    let mut trailers = Headers::new();
    let Dynamic::Map(map) = metadata else {
        return trailers;
    };
    for (name, values) in map.fields.iter().filter(|(name, _)| is_custom(name)) {
        let name = name.to_ascii_lowercase();
        let Dynamic::List(list) = values else {
            continue;
        };
        for text in list.values.iter().filter_map(Dynamic::as_str) {
            for value in decode_value(&name, text.as_bytes()).unwrap_or_default() {
                trailers.push(name.as_str(), value);
            }
        }
    }
    trailers
}

/// A value in JSON, and nothing behind it.
fn object(text: &[u8]) -> Option<Dynamic> {
    let mut reader = json::Reader::new(text, Limits::default());
    let mut value = Dynamic::NULL;
    value.read(&mut reader).ok()?;
    (reader.position() == text.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts() {
        for (left, text) in [
            (Duration::ZERO, "0"),
            (Duration::from_micros(1), "1"),
            (Duration::from_millis(1500), "1500"),
            (Duration::MAX, "9999999999"),
        ] {
            assert_eq!(timeout(left), text);
        }
    }

    #[test]
    fn failures_of_others() {
        let detail = |name: &str| (format!("type.googleapis.com/{name}"), &b"x"[..]);
        for (http, kind, body, code, message, details) in [
            (
                401,
                "application/json",
                "null",
                "UNAUTHENTICATED",
                "",
                vec![],
            ),
            (
                401,
                "application/json",
                r#"{"code":null,"message":"m"}"#,
                "UNAUTHENTICATED",
                "m",
                vec![],
            ),
            (
                429,
                "application/json",
                r#"{"code":"odd","message":null}"#,
                "UNAVAILABLE",
                "",
                vec![],
            ),
            (
                422,
                "application/json",
                r#"{"code":"out_of_range","more":[{}]}"#,
                "OUT_OF_RANGE",
                "",
                vec![],
            ),
            (
                422,
                "application/json; charset=utf-8",
                r#"{"code":"aborted","details":[{"type":"a.B","value":"eA=="},{"type":"C","value":"!"},{"value":"eA"},7,{"type":"D","value":"eA","debug":0}]}"#,
                "ABORTED",
                "",
                vec![detail("a.B"), detail("D")],
            ),
            (
                422,
                "application/json",
                "{\"code\":\"aborted\"} x",
                "UNKNOWN",
                "the answer is HTTP status 422, and none of Connect",
                vec![],
            ),
            (
                403,
                "application/proto",
                "{\"code\":\"aborted\"}",
                "PERMISSION_DENIED",
                "the answer is HTTP status 403, and none of Connect",
                vec![],
            ),
        ] {
            let header = |name| (name == "content-type").then_some(kind.as_bytes());
            let read = read_failure(http, header, body.as_bytes());
            assert_eq!(
                (read.status.code().name(), read.status.message()),
                (code, message),
                "{body}"
            );
            let found: Vec<_> = read
                .details
                .iter()
                .map(|any| (any.type_name.clone(), &any.value[..]))
                .collect();
            assert_eq!(found, details, "{body}");
        }
    }

    #[test]
    fn ends_of_others() {
        for (text, outcome) in [
            ("{}", Some(Ok(()))),
            (r#" {"error":null} "#, Some(Ok(()))),
            (r#"{"error":{"code":null}}"#, Some(Err("UNKNOWN"))),
            (r#"{"error":{}}"#, Some(Err("UNKNOWN"))),
            (r#"{"error":7}"#, Some(Err("UNKNOWN"))),
            (
                r#"{"error":{"code":"aborted"},"metadata":[]}"#,
                Some(Err("ABORTED")),
            ),
            (
                r#"{"metadata":{"a-bin":["!"],"b":"x","c":[1]}}"#,
                Some(Ok(())),
            ),
            ("", None),
            ("null", None),
            ("[]", None),
            ("{} {}", None),
        ] {
            let read = read_end(text.as_bytes());
            assert!(read.iter().all(|end| end.trailers.is_empty()), "{text}");
            let read = read.map(|end| end.outcome.map_err(|failure| failure.status.code().name()));
            assert_eq!(read, outcome, "{text}");
        }
    }

    #[test]
    fn trailers_are_told_from_headers() {
        let all = [("a", "1"), ("Trailer-B", "2"), ("trailer", "3")];
        let (headers, trailers) = split_trailers(&all.into_iter().collect());
        assert_eq!(
            headers,
            [("a", "1"), ("trailer", "3")].into_iter().collect()
        );
        assert_eq!(trailers, [("B", "2")].into_iter().collect());
    }
}
