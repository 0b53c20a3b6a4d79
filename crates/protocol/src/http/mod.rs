//! HTTP/1.1 (RFC 9112), as far as calls need it: heads, bodies, and where they end. The call
//! protocols over HTTP/1.1 are built on it.

mod connection;
mod cors;
mod error;
mod head;
mod reader;
mod response;
mod write;

pub use connection::{Request, ServerConnection};
pub use cors::Cors;
pub use error::Error;
pub use response::{Header, ReplyTo, Response};
pub use write::HttpTarget;

pub(crate) use error::Stop;
pub(crate) use head::{Head, Side, Start, refused};
pub(crate) use reader::Reader;
pub(crate) use write::{CONTINUE, set_length, write_refusal, write_request, write_response};

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// To call.
    Post,
    /// To call something that changes nothing, or to read.
    Get,
    /// The answer to a GET request without its body.
    Head,
    /// To ask for what is allowed.
    Options,
    /// A method that makes no call.
    Other,
}

impl Method {
    /// Returns the method with this name.
    pub fn of(name: &str) -> Self {
        match name {
            "POST" => Method::Post,
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "OPTIONS" => Method::Options,
            _ => Method::Other,
        }
    }
}

/// The beginnings of requests, by which a connection is known.
pub(crate) const BEGINNINGS: [&[u8]; 9] = [
    b"POST ",
    b"GET ",
    b"PUT ",
    b"HEAD ",
    b"OPTIONS ",
    b"DELETE ",
    b"PATCH ",
    b"CONNECT ",
    b"TRACE ",
];

/// Returns whether a connection that begins with these bytes speaks HTTP/1; `None` if it takes more
/// bytes to tell.
pub fn detects(first: &[u8]) -> Option<bool> {
    if BEGINNINGS.iter().any(|method| first.starts_with(method)) {
        return Some(true);
    }
    match BEGINNINGS.iter().any(|method| method.starts_with(first)) {
        true => None,
        false => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_as_soon_as_they_can_be() {
        for (first, answer) in [
            (&b""[..], None),
            (b"P", None),
            (b"POST", None),
            (b"POST ", Some(true)),
            (b"GET /x HTTP/1.1", Some(true)),
            (b"PRI ", Some(false)),
            (b"GETS", Some(false)),
            (b"\x80\x01", Some(false)),
        ] {
            assert_eq!(detects(first), answer, "{first:?}");
        }
    }
}
