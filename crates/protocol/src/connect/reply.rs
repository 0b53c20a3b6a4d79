//! Answers to calls without streams, and to what is no call.

use super::{Codec, Refusal, content_type, status};
use crate::http::{Cors, ReplyTo, Response};
use crate::{Failure, pushback};
use bytes::Bytes;

/// The answer that is this message, compressed by gzip where that is said.
pub fn message(codec: Codec, message: Bytes, gzip: bool) -> Response {
    let response = Response::new(200, content_type(codec), message);
    match gzip {
        true => response
            .with("Content-Encoding", "gzip")
            .with("Vary", "Accept-Encoding"),
        false => response,
    }
}

/// A failure. `debug` is its only detail, as human-readable JSON.
pub fn failure(failure: &Failure, debug: Option<&[u8]>) -> Response {
    let http = status::http_status(failure.status.code());
    error(http, failure, debug)
}

fn error(http: u16, failure: &Failure, debug: Option<&[u8]>) -> Response {
    let mut body = Vec::new();
    status::write(failure, debug, &mut body);
    let response = Response::new(http, content_type(Codec::Json), body);
    let response = match http {
        // RFC 9110, 15.5.2: it says how.
        401 => response.with("WWW-Authenticate", "Bearer"),
        _ => response,
    };
    let status = &failure.status;
    let retry = status.retry_after().and_then(pushback::http_header);
    let response = match retry {
        Some((name, value)) => response.with(name, value),
        None => response,
    };
    let said = status.response_headers();
    said.fold(response, |response, (name, value)| {
        response.with(name, value)
    })
}

impl Refusal {
    /// The answer to a request that is no call. What is none at all, by its method or content type,
    /// may be another protocol's, whose clients do not read JSON.
    pub fn response(self) -> Response {
        let response = match self.http {
            405 | 415 => {
                let text = format!("{}\n", self.status.message());
                Response::new(self.http, "text/plain; charset=utf-8", text)
            }
            http => error(http, &self.status.into(), None),
        };
        match self.header {
            Some((name, value)) => response.with(name, value),
            None => response,
        }
    }
}

/// A document in JSON, for whoever wants to know what can be called.
pub fn document(document: &Bytes) -> Response {
    Response::new(200, content_type(Codec::Json), document.clone())
}

/// The answer to a browser that asks what a page may send; what that is, nothing says where no page
/// of another site may call.
pub fn preflight(cors: Option<&Cors>) -> Response {
    match cors {
        None => Refusal::method().response(),
        Some(cors) => Response {
            status: 204,
            headers: cors.preflight(),
            body: Bytes::new(),
        },
    }
}

/// Appends the last answer on a connection, to a request that HTTP refuses with this status.
pub fn goodbye(status: u16, what: &str, out: &mut Vec<u8>) {
    let refusal = Refusal {
        http: status,
        header: None,
        status: status::of_refusal(status, what),
    };
    ReplyTo::last().write(&refusal.response(), out);
}
