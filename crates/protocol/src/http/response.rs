use super::write::write_status;
use super::{Cors, Method, Request};
use bytes::Bytes;
use std::borrow::Cow;

/// A header of an answer: its name, in any case, and its value.
pub type Header = (Cow<'static, str>, Cow<'static, str>);

/// An answer, whichever version of HTTP it goes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, but for those about the connection and the length.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Bytes,
}

impl Response {
    /// One with a body of this type.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Response {
            status,
            headers: vec![("Content-Type".into(), content_type.into())],
            body: body.into(),
        }
    }

    /// Adds a header. One that would break the answer apart is left out.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        let header = (name.into(), value.into());
        let breaks = |text: &str| text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        if !breaks(&header.0) && !breaks(&header.1) {
            self.headers.push(header);
        }
        self
    }
}

/// The data to answer a request with, whatever the answer is, independent of the connection.
#[derive(Clone, Debug)]
pub struct ReplyTo {
    keep_alive: bool,
    /// The answer must not have a body.
    head: bool,
    /// Headers that allow pages of other sites to read the answer.
    cors: Vec<Header>,
}

impl ReplyTo {
    /// To this request.
    pub fn new(request: &Request, cors: Option<&Cors>) -> Self {
        ReplyTo {
            keep_alive: request.keep_alive,
            head: request.method == Method::Head,
            cors: cors.map_or(Vec::new(), |cors| cors.headers(&request.headers)),
        }
    }

    /// To a request that cannot be read, with which the connection ends.
    pub fn last() -> Self {
        ReplyTo {
            keep_alive: false,
            head: false,
            cors: Vec::new(),
        }
    }

    /// Returns whether the connection is to be closed after this answer.
    pub fn closes(&self) -> bool {
        !self.keep_alive
    }

    /// The answer as it is sent over HTTP/2.
    #[must_use]
    pub fn complete(&self, mut response: Response) -> Response {
        response.headers.extend(self.cors.iter().cloned());
        if self.head {
            response.body = Bytes::new();
        }
        response
    }

    /// Appends an answer.
    pub fn write(&self, response: &Response, out: &mut Vec<u8>) {
        self.write_head(response, out);
        // One without content has no length either.
        if response.status != 204 {
            let length = response.body.len();
            out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        if !self.head {
            out.extend_from_slice(&response.body);
        }
    }

    /// Appends the beginning of an answer that comes in pieces, the first of which is its body:
    /// behind it comes [`piece`](Self::piece), as often as needed, and [`end`](Self::end).
    pub fn begin(&self, response: &Response, out: &mut Vec<u8>) {
        self.write_head(response, out);
        if self.keep_alive {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        out.extend_from_slice(b"\r\n");
        self.piece(&response.body, out);
    }

    /// Appends a piece of an answer that has begun. Where the connection ends with the answer,
    /// nothing is around it.
    pub fn piece(&self, bytes: &[u8], out: &mut Vec<u8>) {
        // A chunk without bytes would be the end.
        if bytes.is_empty() {
            return;
        }
        if self.keep_alive {
            out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        }
        out.extend_from_slice(bytes);
        if self.keep_alive {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Appends the end of an answer that came in pieces.
    pub fn end(&self, out: &mut Vec<u8>) {
        if self.keep_alive {
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }

    fn write_head(&self, response: &Response, out: &mut Vec<u8>) {
        write_status(response.status, self.keep_alive, out);
        for (name, value) in response.headers.iter().chain(&self.cors) {
            for part in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(keep_alive: bool, write: impl FnOnce(&ReplyTo, &mut Vec<u8>)) -> String {
        let reply = ReplyTo {
            keep_alive,
            ..ReplyTo::last()
        };
        let mut out = Vec::new();
        write(&reply, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn answers_come_whole_or_in_pieces() {
        let response = Response::new(200, "a/b", "abc").with("X", "y");
        let evil = response.clone().with("Evil", "a\r\nSet-Cookie: x");
        assert_eq!(evil, response);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX: y\r\n";
        assert_eq!(
            written(true, |reply, out| reply.write(&response, out)),
            format!("{head}Content-Length: 3\r\n\r\nabc")
        );
        let pieces = |reply: &ReplyTo, out: &mut Vec<u8>| {
            reply.begin(&response, out);
            reply.piece(b"", out);
            reply.piece(b"0123456789abcdef", out);
            reply.end(out);
        };
        assert_eq!(
            written(true, pieces),
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"
            )
        );
        let closing = head.replace("OK\r\n", "OK\r\nConnection: close\r\n");
        assert_eq!(
            written(false, pieces),
            format!("{closing}\r\nabc0123456789abcdef")
        );
    }
}
