//! Thrift over HTTP/1.1: one message in the body of a request, its reply in the body of the response.

use super::ProtocolError;
use super::message::Stop;
use crate::{ConnectionLimits, Headers};
use bytes::{Buf, BytesMut};
use dovetail_wire::{Bytes, EncodeError};

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
    expects_continue: bool,
    body: BodyLength,
}

#[derive(Clone, Debug)]
pub(crate) enum Start {
    Request { path: String },
    Response { status: u16, reason: String },
}

#[derive(Clone, Copy, Debug)]
enum BodyLength {
    Known(usize),
    Chunked,
    UntilEnd,
}

/// Splits requests or responses off what is received.
///
/// ```text
///          head ends        length known
///   Head ─────────────► Body ───────────────────────────────► (message) ─► Head
///     ▲                   │ chunked
///     │                   └─► Size ◄──► Data, DataEnd ─► Trailers ─► (message) ─► Head
///     └── 100 Continue, from a server
/// ```
pub(crate) struct Reader {
    side: Side,
    state: State,
    /// Bytes at the front of the input in which no line end was found.
    scanned: usize,
    /// A request waits for `100 Continue` before its body comes.
    must_continue: bool,
}

enum State {
    Head,
    Body(Box<Head>, BodyLength),
    Chunked {
        head: Box<Head>,
        body: BytesMut,
        part: ChunkPart,
    },
}

#[derive(Clone, Copy)]
enum ChunkPart {
    Size,
    Data(usize),
    DataEnd,
    /// Lines after the last chunk, and how many bytes they have had.
    Trailers(usize),
}

/// A line with the size of a chunk has no business being longer.
const CHUNK_LINE: usize = 256;
const MOST_HEADERS: usize = 64;

impl Reader {
    pub(crate) fn new(side: Side) -> Self {
        Reader {
            side,
            state: State::Head,
            scanned: 0,
            must_continue: false,
        }
    }

    /// True once for each request whose sender waits for `100 Continue`.
    pub(crate) fn take_continue(&mut self) -> bool {
        std::mem::take(&mut self.must_continue)
    }

    /// The next complete message.
    pub(crate) fn next(
        &mut self,
        input: &mut BytesMut,
        limits: &ConnectionLimits,
        accept: impl Fn(&Head) -> Result<(), ProtocolError>,
    ) -> Result<(Head, Bytes), Stop> {
        loop {
            match std::mem::replace(&mut self.state, State::Head) {
                State::Head => {
                    let head = self.head(input, limits)?;
                    if matches!(
                        head.start,
                        Start::Response {
                            status: 100..200,
                            ..
                        }
                    ) {
                        continue;
                    }
                    accept(&head)?;
                    self.state = self.begin_body(head, input, limits)?;
                }
                State::Body(head, BodyLength::Known(length)) if input.len() >= length => {
                    self.must_continue = false;
                    return Ok((*head, input.split_to(length).freeze()));
                }
                State::Body(head, length) => {
                    let missing = match length {
                        BodyLength::Known(length) => length - input.len(),
                        _ if input.len() > limits.message() => {
                            return Err(self.too_large(input.len() as u64, limits).into());
                        }
                        _ => 1,
                    };
                    self.state = State::Body(head, length);
                    return Err(Stop::Need(missing));
                }
                State::Chunked {
                    head,
                    mut body,
                    mut part,
                } => match self.chunks(input, &mut body, &mut part, limits) {
                    Ok(()) => return Ok((*head, body.freeze())),
                    Err(stop) => {
                        self.state = State::Chunked { head, body, part };
                        return Err(stop);
                    }
                },
            }
        }
    }

    /// The connection has ended. `Some`: that was what the message waited for.
    pub(crate) fn end(
        &mut self,
        input: &mut BytesMut,
    ) -> Result<Option<(Head, Bytes)>, ProtocolError> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Head if input.is_empty() => Ok(None),
            State::Body(head, BodyLength::UntilEnd) => Ok(Some((*head, input.split().freeze()))),
            _ => Err(ProtocolError::Truncated {
                what: "an HTTP message",
            }),
        }
    }

    fn head(&mut self, input: &mut BytesMut, limits: &ConnectionLimits) -> Result<Head, Stop> {
        if self.scanned == 0 {
            // Empty lines before a first line are tolerated, as RFC 9112 advises.
            let blank = input
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let blank = blank.count();
            input.advance(blank);
        }
        let within = input.len().min(limits.header_bytes);
        match head_end(&input[..within], self.scanned) {
            Some(end) => {
                self.scanned = 0;
                let bytes = input.split_to(end);
                Ok(parse(&bytes, self.side)?)
            }
            None if input.len() >= limits.header_bytes => Err(match self.side {
                Side::Server => http(431, "the headers are too large").into(),
                Side::Client => ProtocolError::HeadersTooLarge {
                    limit: limits.header_bytes,
                }
                .into(),
            }),
            None => {
                self.scanned = input.len().saturating_sub(2);
                Err(Stop::Need(1))
            }
        }
    }

    fn begin_body(
        &mut self,
        head: Head,
        input: &BytesMut,
        limits: &ConnectionLimits,
    ) -> Result<State, ProtocolError> {
        if let BodyLength::Known(length) = head.body
            && length > limits.message()
        {
            return Err(self.too_large(length as u64, limits));
        }
        self.must_continue = head.expects_continue && input.is_empty();
        let length = head.body;
        let head = Box::new(head);
        Ok(match length {
            BodyLength::Chunked => State::Chunked {
                head,
                body: BytesMut::new(),
                part: ChunkPart::Size,
            },
            _ => State::Body(head, length),
        })
    }

    fn chunks(
        &mut self,
        input: &mut BytesMut,
        body: &mut BytesMut,
        part: &mut ChunkPart,
        limits: &ConnectionLimits,
    ) -> Result<(), Stop> {
        loop {
            match *part {
                ChunkPart::Size => {
                    let line = self.line(input, CHUNK_LINE)?;
                    *part = match httparse::parse_chunk_size(&line) {
                        Ok(httparse::Status::Complete((_, 0))) => ChunkPart::Trailers(0),
                        Ok(httparse::Status::Complete((_, size))) => {
                            let total = (body.len() as u64).saturating_add(size);
                            if total > limits.message() as u64 {
                                return Err(self.too_large(total, limits).into());
                            }
                            ChunkPart::Data(size as usize)
                        }
                        _ => return Err(self.bad("the size of a chunk is not a number").into()),
                    };
                }
                ChunkPart::Data(left) => {
                    let take = left.min(input.len());
                    body.extend_from_slice(&input[..take]);
                    input.advance(take);
                    if take < left {
                        *part = ChunkPart::Data(left - take);
                        // What follows the chunk is at least its line end and the last chunk.
                        return Err(Stop::Need(left - take));
                    }
                    *part = ChunkPart::DataEnd;
                }
                ChunkPart::DataEnd => {
                    if !self.line(input, 2)?.trim_ascii().is_empty() {
                        return Err(self.bad("a chunk is longer than its size").into());
                    }
                    *part = ChunkPart::Size;
                }
                ChunkPart::Trailers(before) => {
                    let line = self.line(input, limits.header_bytes.saturating_sub(before))?;
                    if line.trim_ascii().is_empty() {
                        return Ok(());
                    }
                    *part = ChunkPart::Trailers(before + line.len());
                }
            }
        }
    }

    /// The next line, with its end.
    fn line(&mut self, input: &mut BytesMut, limit: usize) -> Result<BytesMut, Stop> {
        let within = &input[..input.len().min(limit)];
        let found = within[self.scanned..]
            .iter()
            .position(|byte| *byte == b'\n');
        match found {
            Some(index) => {
                let end = self.scanned + index + 1;
                self.scanned = 0;
                Ok(input.split_to(end))
            }
            None if within.len() == limit => Err(self.bad("a line is too long").into()),
            None => {
                self.scanned = input.len();
                Err(Stop::Need(1))
            }
        }
    }

    fn bad(&self, what: &'static str) -> ProtocolError {
        bad(self.side, what)
    }

    fn too_large(&self, size: u64, limits: &ConnectionLimits) -> ProtocolError {
        match self.side {
            Side::Server => http(413, "the body is too large"),
            Side::Client => ProtocolError::MessageTooLarge {
                size,
                limit: limits.message(),
            },
        }
    }
}

/// Behind the empty line that ends the headers. Bytes before `from` are known to have no line end with
/// anything decisive behind it.
fn head_end(input: &[u8], from: usize) -> Option<usize> {
    let mut at = from.min(input.len());
    while let Some(index) = input[at..].iter().position(|byte| *byte == b'\n') {
        at += index + 1;
        match &input[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

fn parse(bytes: &[u8], side: Side) -> Result<Head, ProtocolError> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let malformed = |error: httparse::Error| match (side, error) {
        (Side::Server, httparse::Error::TooManyHeaders) => http(431, "there are too many headers"),
        (Side::Server, _) => http(400, "the request cannot be read"),
        (Side::Client, error) => ProtocolError::malformed(format!("an HTTP response: {error}")),
    };
    match side {
        Side::Server => {
            let mut request = httparse::Request::new(&mut headers);
            let status = request.parse(bytes).map_err(malformed)?;
            let (httparse::Status::Complete(_), Some(method), Some(path)) =
                (status, request.method, request.path)
            else {
                return Err(http(400, "the request cannot be read"));
            };
            if method != "POST" {
                return Err(http(405, "Thrift calls are POST requests"));
            }
            let start = Start::Request { path: path.into() };
            let head = fields(start, request.version, request.headers, side)?;
            match head.body {
                BodyLength::UntilEnd => Err(http(411, "the request has no length")),
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

fn fields(
    start: Start,
    version: Option<u8>,
    list: &[httparse::Header<'_>],
    side: Side,
) -> Result<Head, ProtocolError> {
    let mut head = Head {
        start,
        headers: Headers::new(),
        keep_alive: version == Some(1),
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
                    // A client of HTTP/1.0 would have to be told so in the reply; it gets `close`.
                    b"keep-alive" if side == Side::Client => head.keep_alive = true,
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
        // One message read as two by a proxy before us: refused, as RFC 9112 allows.
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

fn bad(side: Side, what: &'static str) -> ProtocolError {
    match side {
        Side::Server => http(400, what),
        Side::Client => ProtocolError::malformed(what),
    }
}

pub(crate) fn http(status: u16, what: &'static str) -> ProtocolError {
    ProtocolError::Http { status, what }
}

/// What a client addresses.
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
    out.extend_from_slice(b"\r\nAccept: application/x-thrift\r\n");
    for (name, value) in headers.iter() {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    write_length(out);
    Ok(())
}

/// Writes the head of a response, its length to be set by [`set_length`].
pub(crate) fn write_response(keep_alive: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    if !keep_alive {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    write_length(out);
}

/// Room for the digits of a length. Spaces before a value mean nothing, so what is left stays blank.
const LENGTH_ROOM: usize = 10;

fn write_length(out: &mut Vec<u8>) {
    out.extend_from_slice(b"Content-Type: application/x-thrift\r\nContent-Length: ");
    out.extend_from_slice(&[b' '; LENGTH_ROOM]);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Sets the length in the head that ends at `body` to what stands behind it.
pub(crate) fn set_length(out: &mut [u8], body: usize) {
    let digits = (out.len() - body).to_string();
    let end = body - 4;
    out[end - digits.len()..end].copy_from_slice(digits.as_bytes());
}

/// The answer to a request that is refused; the connection ends with it.
pub(crate) fn write_refusal(status: u16, text: &str, out: &mut Vec<u8>) {
    let reason = match status {
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed\r\nAllow: POST",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Refused",
    };
    let length = text.len() + 1;
    out.extend_from_slice(
        format!(
            "HTTP/1.1 {status} {reason}\r\nConnection: close\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{text}\n"
        )
        .as_bytes(),
    );
}

/// What lets the sender of a large request go on.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
