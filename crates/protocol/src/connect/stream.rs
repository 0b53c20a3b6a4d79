//! Calls with streams: their headers, and their last message.

use super::request::timeout;
use super::{Codec, status, stream_type};
use crate::envelope::flagged;
use crate::http::Response;
use crate::{Failure, Headers, Status, Terms, metadata};
use bytes::Bytes;
use dovetail_wire::json::quote;
use std::borrow::Cow;

/// The flag of the message that says how a call ended.
pub const END: u8 = 2;

/// The codec of a request that is a call with streams, by its content type.
pub fn stream_codec(content_type: &[u8]) -> Option<Codec> {
    Codec::behind(content_type, "application/connect+")
}

/// Reads the headers of such a request.
pub fn stream_terms(headers: &Headers) -> Result<Terms, Status> {
    status::check_version(headers)?;
    let accepts = headers.get("connect-accept-encoding").unwrap_or_default();
    let coding = headers.get("connect-content-encoding");
    Ok(Terms {
        timeout: timeout(headers)?,
        coding: coding.map(Bytes::copy_from_slice),
        accepts_gzip: metadata::lists(accepts, "gzip"),
        headers: metadata::of(headers).map_err(|error| status::invalid(error.to_string()))?,
    })
}

/// The head of an answer with messages. `gzip` says that they may be compressed.
pub fn stream(codec: Codec, gzip: bool) -> Response {
    let response = Response::new(200, stream_type(codec), Bytes::new())
        .with("Connect-Accept-Encoding", "gzip");
    match gzip {
        true => response.with("Connect-Content-Encoding", "gzip"),
        false => response,
    }
}

/// The last message of an answer: how the call ended, and the headers behind it, encoded. `debug`
/// is the only detail of the failure, as human-readable JSON.
pub fn end(
    failure: Option<&Failure>,
    debug: Option<&[u8]>,
    trailers: &[(String, String)],
) -> Vec<u8> {
    let mut object = b"{".to_vec();
    let mut trailers = Cow::Borrowed(trailers);
    if let Some(failure) = failure {
        object.extend_from_slice(b"\"error\":");
        status::write(failure, debug, &mut object);
        for (name, value) in failure.status.response_headers() {
            trailers
                .to_mut()
                .push((name.to_owned(), value.into_owned()));
        }
    }
    for (at, (name, value)) in trailers.iter().enumerate() {
        // Values of one name stand together.
        if trailers.iter().take(at).any(|(before, _)| before == name) {
            continue;
        }
        let comma: &[u8] = if object.len() > 1 { b"," } else { b"" };
        object.extend_from_slice(if at == 0 { comma } else { b"" });
        object.extend_from_slice(if at == 0 { b"\"metadata\":{" } else { b"," });
        quote(name, &mut object);
        object.extend_from_slice(b":[");
        quote(value, &mut object);
        for (_, more) in trailers
            .iter()
            .skip(at + 1)
            .filter(|(other, _)| other == name)
        {
            object.push(b',');
            quote(more, &mut object);
        }
        object.push(b']');
    }
    object.extend_from_slice(if trailers.is_empty() { b"}" } else { b"}}" });
    // A message too long for the prefix cannot come from a handler.
    flagged(END, &object).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Execution};

    #[test]
    fn ends() {
        let status = Status::from_peer(Code::Aborted, "why");
        let refused = Failure::from(status.clone().with_execution(Execution::NotStarted));
        let failure = Failure::from(status);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let two = [pair("a", "1"), pair("b", "\"2\""), pair("a", "3")];
        for (failure, trailers, expected) in [
            (None, &[][..], "{}"),
            (
                Some(&failure),
                &[],
                r#"{"error":{"code":"aborted","message":"why"}}"#,
            ),
            (None, &two, r#"{"metadata":{"a":["1","3"],"b":["\"2\""]}}"#),
            (
                Some(&failure),
                &two[..1],
                r#"{"error":{"code":"aborted","message":"why"},"metadata":{"a":["1"]}}"#,
            ),
            (
                Some(&refused),
                &two[..1],
                r#"{"error":{"code":"aborted","message":"why"},"metadata":{"a":["1"],"dovetail-execution":["not-started"]}}"#,
            ),
        ] {
            let end = end(failure, None, trailers);
            let length = expected.len() as u8;
            assert_eq!(end[..5], [END, 0, 0, 0, length]);
            assert_eq!(String::from_utf8_lossy(&end[5..]), expected);
        }
    }
}
