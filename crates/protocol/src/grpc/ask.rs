//! The headers of a request, but for the application's.

use super::{CONTENT_TYPE, Coding, Web, timeout};
use crate::http::Header;
use crate::{Ask, Codec};

/// The headers of a request of gRPC; of gRPC-Web, see [`Web::request_headers`].
pub fn request_headers(ask: &Ask) -> Vec<Header> {
    let kind = match ask.codec {
        Codec::Proto => CONTENT_TYPE,
        Codec::Json => "application/grpc+json",
    };
    headers(("te", "trailers"), kind, ask)
}

impl Web {
    /// The headers of a request whose messages are sent so; the codec is this one's.
    pub fn request_headers(self, ask: &Ask) -> Vec<Header> {
        headers(("x-grpc-web", "1"), self.content_type(), ask)
    }
}

fn headers(first: (&'static str, &'static str), kind: &'static str, ask: &Ask) -> Vec<Header> {
    let mut headers: Vec<Header> = vec![
        (first.0.into(), first.1.into()),
        ("content-type".into(), kind.into()),
        (Coding::ACCEPT_HEADER.into(), Coding::ACCEPTED.into()),
    ];
    if let Some(left) = ask.timeout {
        headers.push(("grpc-timeout".into(), timeout(left).into()));
    }
    if let Some(coding) = ask.coding {
        headers.push((Coding::HEADER.into(), coding.name().into()));
    }
    headers
}
