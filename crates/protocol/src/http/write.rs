//! Heads of requests and responses, as they are sent.

use crate::Headers;
use dovetail_wire::EncodeError;

/// The target of a client's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    /// The `Host` header: name or address, and port unless it is 80.
    pub host: String,
    /// The path, from its first slash on.
    pub path: String,
}

impl Default for HttpTarget {
    fn default() -> Self {
        HttpTarget {
            host: "localhost".into(),
            path: "/".into(),
        }
    }
}

/// Writes the head of a request, its length to be set by [`set_length`].
pub(crate) fn write_request(
    target: &HttpTarget,
    content_type: &str,
    headers: &Headers,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let line_break = |text: &[u8]| text.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
    let fields = headers.iter().map(|(name, value)| (name.as_bytes(), value));
    let target_fields = [(target.path.as_bytes(), target.host.as_bytes())];
    if fields
        .chain(target_fields)
        .any(|(name, value)| line_break(name) || line_break(value))
    {
        return Err(EncodeError::Unsupported {
            what: "a line break in an HTTP header",
        });
    }
    out.extend_from_slice(b"POST ");
    out.extend_from_slice(target.path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(target.host.as_bytes());
    out.extend_from_slice(b"\r\nAccept: ");
    out.extend_from_slice(content_type.as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers.iter() {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    write_length(content_type, out);
    Ok(())
}

/// Writes the head of a response, its length to be set by [`set_length`]. `headers` are whole
/// lines.
pub(crate) fn write_response(
    status: u16,
    keep_alive: bool,
    content_type: &str,
    headers: &str,
    out: &mut Vec<u8>,
) {
    write_status(status, keep_alive, out);
    out.extend_from_slice(headers.as_bytes());
    write_length(content_type, out);
}

/// Writes the first line of a response, and `Connection: close` if the connection ends with it.
pub(super) fn write_status(status: u16, keep_alive: bool, out: &mut Vec<u8>) {
    let reason = reason(status);
    out.extend_from_slice(format!("HTTP/1.1 {status} {reason}\r\n").as_bytes());
    if !keep_alive {
        out.extend_from_slice(b"Connection: close\r\n");
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        499 => "Client Closed Request",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Refused",
    }
}

/// Room for the digits of a length. Spaces before a value mean nothing, so unused room stays blank.
const LENGTH_ROOM: usize = 10;

fn write_length(content_type: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Type: ");
    out.extend_from_slice(content_type.as_bytes());
    out.extend_from_slice(b"\r\nContent-Length: ");
    out.extend_from_slice(&[b' '; LENGTH_ROOM]);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Sets the length in the head that ends at `body` to the number of bytes after it.
pub(crate) fn set_length(out: &mut [u8], body: usize) {
    let digits = (out.len() - body).to_string();
    let end = body - 4;
    out[end - digits.len()..end].copy_from_slice(digits.as_bytes());
}

/// The answer to a request that is refused; the connection ends with it.
pub(crate) fn write_refusal(status: u16, text: &str, out: &mut Vec<u8>) {
    let allow = if status == 405 { "Allow: POST\r\n" } else { "" };
    write_response(status, false, "text/plain; charset=utf-8", allow, out);
    let body = out.len();
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
    set_length(out, body);
}

/// The answer that lets the sender of a large request go on.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
