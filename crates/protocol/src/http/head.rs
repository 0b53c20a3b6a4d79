//! The first line and the headers of a request or response.

use super::{Error, Method};
use crate::{ConnectionLimits, Headers};
use bytes::Bytes;

/// Which end of the connection is reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Reads requests.
    Server,
    /// Reads responses.
    Client,
}

/// The first line and the headers of a request or response, as far as they matter.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) start: Start,
    pub(crate) headers: Headers,
    pub(crate) keep_alive: bool,
    pub(super) upgrades: bool,
    /// How many of the longest messages the body may hold.
    pub(crate) messages: usize,
    pub(super) expects_continue: bool,
    pub(super) body: BodyLength,
}

impl Head {
    /// The longest body.
    pub(super) fn most(&self, limits: &ConnectionLimits) -> usize {
        limits.message().saturating_mul(self.messages)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Start {
    Request { method: Method, path: String },
    Response { status: u16, reason: String },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum BodyLength {
    Known(usize),
    Chunked,
    UntilEnd,
}

const MAX_HEADERS: usize = 64;

pub(super) fn parse(bytes: &[u8], side: Side) -> Result<Head, Error> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let malformed = |error: httparse::Error| match (side, error) {
        (Side::Server, httparse::Error::TooManyHeaders) => {
            refused(431, "there are too many headers")
        }
        (Side::Server, _) => refused(400, "the request cannot be read"),
        (Side::Client, error) => Error::malformed(format!("an HTTP response: {error}")),
    };
    match side {
        Side::Server => {
            let mut request = httparse::Request::new(&mut headers);
            let status = request.parse(bytes).map_err(malformed)?;
            let (httparse::Status::Complete(_), Some(method), Some(path)) =
                (status, request.method, request.path)
            else {
                return Err(refused(400, "the request cannot be read"));
            };
            if has_bare_newline(bytes) {
                return Err(refused(
                    400,
                    "a line of the head ends without a carriage return",
                ));
            }
            check_request(request.version, request.headers)?;
            let method = Method::of(method);
            let start = Start::Request {
                method,
                path: path.into(),
            };
            let mut head = fields(start, request.version, request.headers, side)?;
            match (head.body, method) {
                (BodyLength::UntilEnd, Method::Post) => {
                    Err(refused(411, "the request has no length"))
                }
                (BodyLength::UntilEnd, _) => {
                    head.body = BodyLength::Known(0);
                    Ok(head)
                }
                _ => Ok(head),
            }
        }
        Side::Client => {
            let mut response = httparse::Response::new(&mut headers);
            let status = response.parse(bytes).map_err(malformed)?;
            let (httparse::Status::Complete(_), Some(code)) = (status, response.code) else {
                return Err(bad(side, "an HTTP response that cannot be read"));
            };
            let start = Start::Response {
                status: code,
                reason: response.reason.unwrap_or_default().into(),
            };
            let mut head = fields(start, response.version, response.headers, side)?;
            if matches!(code, 100..200 | 204 | 304) {
                head.body = BodyLength::Known(0);
            }
            Ok(head)
        }
    }
}

/// Returns whether a line feed has no carriage return before it. Two servers could then see
/// different lines.
fn has_bare_newline(head: &[u8]) -> bool {
    let mut before = 0;
    head.iter().any(|byte| {
        let bare = *byte == b'\n' && before != b'\r';
        before = *byte;
        bare
    })
}

/// Headers that name the host of a request may come only once (RFC 9112, section 3.2), and HTTP/1.0
/// has no chunks (section 6.1).
fn check_request(version: Option<u8>, list: &[httparse::Header<'_>]) -> Result<(), Error> {
    let all = |name| {
        let named = move |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        list.iter().filter(named)
    };
    let what = match (all("host").count(), version) {
        (0, Some(1)) => "the request has no `Host`",
        (2.., _) => "the request has two `Host` headers",
        (1, _) if all("host").any(|host| host.value.trim_ascii().is_empty()) => {
            "the `Host` of the request is empty"
        }
        _ if all("origin").count() > 1 => "the request has two `Origin` headers",
        (_, Some(0)) if all("transfer-encoding").count() > 0 => {
            "a request of HTTP/1.0 has no transfer encoding"
        }
        _ => return Ok(()),
    };
    Err(refused(400, what))
}

fn fields(
    start: Start,
    version: Option<u8>,
    list: &[httparse::Header<'_>],
    side: Side,
) -> Result<Head, Error> {
    let mut head = Head {
        start,
        headers: Headers::new(),
        keep_alive: version == Some(1),
        upgrades: false,
        messages: 1,
        expects_continue: false,
        body: BodyLength::UntilEnd,
    };
    let mut length = None;
    for header in list {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let value = parse_length(header.value).ok_or_else(|| bad(side, "a wrong length"))?;
            if length.replace(value).is_some_and(|before| before != value) {
                return Err(bad(side, "two different lengths"));
            }
        } else if is("transfer-encoding") {
            if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(bad(side, "a transfer encoding other than chunked"));
            }
            head.body = BodyLength::Chunked;
        } else if is("connection") {
            for token in header.value.split(|byte| *byte == b',') {
                match token.trim_ascii().to_ascii_lowercase().as_slice() {
                    b"close" => head.keep_alive = false,
                    // The reply to a client of HTTP/1.0 would have to say so; the client gets
                    // `close`.
                    b"keep-alive" if side == Side::Client => head.keep_alive = true,
                    b"upgrade" => head.upgrades = version == Some(1),
                    _ => {}
                }
            }
        } else if is("expect") {
            head.expects_continue = header.value.eq_ignore_ascii_case(b"100-continue");
        } else {
            let value = Bytes::copy_from_slice(header.value);
            head.headers.push(header.name, value);
        }
    }
    match (length, head.body) {
        // A proxy before this server could read one message as two: refused, as RFC 9112 allows.
        (Some(_), BodyLength::Chunked) => Err(bad(side, "a length and chunks")),
        (Some(length), _) => {
            head.body = BodyLength::Known(length);
            Ok(head)
        }
        (None, _) => Ok(head),
    }
}

/// Digits only: no sign, which Rust's own parser would take.
fn parse_length(value: &[u8]) -> Option<usize> {
    let value = value.trim_ascii();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

pub(super) fn bad(side: Side, what: &'static str) -> Error {
    match side {
        Side::Server => refused(400, what),
        Side::Client => Error::malformed(what),
    }
}

pub(crate) fn refused(status: u16, what: &'static str) -> Error {
    Error::Refused { status, what }
}
