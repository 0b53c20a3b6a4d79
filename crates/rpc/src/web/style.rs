//! The part of an answer for which each protocol has its own way: the place of headers, and the
//! form of the end.

use super::message::{Form, is_packed, packed};
use super::reply::{Thrown, WebAnswer};
use super::socket;
use crate::Wire;
use crate::method::Method;
use crate::peer::response_headers::ResponseHeaders;
use dovetail_protocol::grpc::{Coding, Text, Web, encode_value, web_end};
use dovetail_protocol::http::Response;
use dovetail_protocol::{Codec, Headers, connect};
use dovetail_wire::Bytes;

/// The protocol of a call over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[cfg(feature = "grpc")]
    Grpc,
    /// gRPC-Web, in base64 or not.
    GrpcWeb { text: bool },
    /// Connect's, for calls without streams.
    Connect,
    /// Connect's for calls with streams.
    ConnectStream,
    /// JSON by WebSocket, over HTTP/1.1; [`socket`](super::socket) has its messages.
    WebSocket,
}

/// How a caller spells the names of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spelling {
    #[default]
    Contract,
    /// In the style of buf's linter, as a `.proto` of the contract can have them.
    Buf,
}

/// How a call over HTTP is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) protocol: Protocol,
    pub(crate) codec: Codec,
    /// How messages may be compressed; over gRPC-Web and Connect not at all, or with gzip.
    pub(crate) coding: Option<Coding>,
    /// Whether they are.
    pub(crate) packs: bool,
    pub(crate) spelling: Spelling,
}

impl Style {
    /// Without compression.
    pub(crate) const fn new(protocol: Protocol, codec: Codec) -> Self {
        Style {
            protocol,
            codec,
            coding: None,
            packs: false,
            spelling: Spelling::Contract,
        }
    }

    pub(crate) fn wire(self) -> Wire {
        match self.protocol {
            #[cfg(feature = "grpc")]
            Protocol::Grpc => Wire::Grpc,
            Protocol::GrpcWeb { .. } => Wire::GrpcWeb(self.codec),
            Protocol::Connect | Protocol::ConnectStream => Wire::Connect(self.codec),
            Protocol::WebSocket => Wire::WebSocket,
        }
    }

    pub(crate) fn form(self, method: Option<&Method>) -> Form {
        Form {
            codec: self.codec,
            messages: method.is_some_and(|method| method.messages),
            spelling: self.spelling,
        }
    }

    /// Returns whether failures are also said in human-readable JSON.
    pub(super) fn debugs(self) -> bool {
        matches!(
            self.protocol,
            Protocol::Connect | Protocol::ConnectStream | Protocol::WebSocket
        )
    }

    /// An item, or a result before the items, as it is sent.
    pub(super) fn item(self, method: &Method, message: Bytes) -> Bytes {
        match self.protocol {
            Protocol::WebSocket => socket::item(method, &message).into(),
            _ => self.in_body(message),
        }
    }

    /// A message behind its prefix, compressed where that is wanted and makes it smaller.
    pub(crate) fn packed(self, frame: Bytes) -> Bytes {
        packed(frame, self.packing())
    }

    /// Returns the compression of messages, unless their handler wants something else.
    pub(crate) fn packing(self) -> Option<Coding> {
        self.coding.filter(|_| self.packs)
    }

    /// How the only message of an answer is said to be compressed, which it need not be.
    pub(crate) fn coding_of(self, message: &[u8]) -> Option<Coding> {
        self.coding.filter(|_| self.packs || is_packed(message))
    }

    /// Messages as they stand in the body.
    pub(super) fn in_body(self, messages: Bytes) -> Bytes {
        match self.protocol {
            Protocol::GrpcWeb { text: true } => Text::write(&messages).into(),
            _ => messages,
        }
    }

    /// An answer of which nothing has been sent.
    pub(crate) fn whole(self, answer: WebAnswer, said: &ResponseHeaders) -> Response {
        if self.protocol == Protocol::Connect {
            return self.single(answer, said);
        }
        let (message, end) = match answer {
            WebAnswer::Message(message) => (message, None),
            WebAnswer::Failure(thrown) => (Bytes::new(), Some(thrown)),
            WebAnswer::End => (Bytes::new(), None),
        };
        let end = self.ending(end.as_ref(), said);
        let body = self.in_body([&message[..], &end].concat().into());
        Response {
            body,
            ..self.begin(self.coding_of(&message).is_some(), said)
        }
    }

    /// The one message of Connect's, or a failure; trailers are headers with another name.
    fn single(self, answer: WebAnswer, said: &ResponseHeaders) -> Response {
        let response = match answer {
            WebAnswer::Message(message) => {
                let gzip = is_packed(&message);
                connect::message(self.codec, Form::without_prefix(&message), gzip)
            }
            WebAnswer::Failure(thrown) => connect::failure(&thrown.failure, thrown.debug()),
            WebAnswer::End => connect::message(self.codec, Bytes::new(), false),
        };
        let trailers = said.with_trailers(|said| sendable(said)).into_iter();
        let trailers = trailers.map(|(name, value)| (format!("trailer-{name}"), value));
        with(
            with(response, said.with_headers(|said| sendable(said))),
            trailers,
        )
    }

    /// The beginning of an answer that comes in pieces.
    pub(crate) fn head(self, said: &ResponseHeaders) -> Response {
        self.begin(self.coding.is_some(), said)
    }

    fn begin(self, gzip: bool, said: &ResponseHeaders) -> Response {
        let codec = self.codec;
        let response = match self.protocol {
            Protocol::GrpcWeb { text } => Web { codec, text }.begin(gzip),
            _ => connect::stream(codec, gzip),
        };
        with(response, said.with_headers(|said| sendable(said)))
    }

    /// The end of such an answer, as it stands in the body.
    pub(crate) fn end(self, thrown: Option<&Thrown>, said: &ResponseHeaders) -> Bytes {
        self.in_body(self.ending(thrown, said).into())
    }

    fn ending(self, thrown: Option<&Thrown>, said: &ResponseHeaders) -> Vec<u8> {
        let trailers = said.with_trailers(|said| sendable(said));
        let failure = thrown.map(|thrown| &thrown.failure);
        match self.protocol {
            Protocol::GrpcWeb { .. } => web_end(failure, &trailers),
            _ => connect::end(failure, thrown.and_then(Thrown::debug), &trailers),
        }
    }
}

/// Returns a handler's headers in HTTP's form. A header that cannot be sent was refused when it was
/// set.
pub(super) fn sendable(said: &Headers) -> Vec<(String, String)> {
    let encoded = said.iter().map(|(name, value)| encode_value(name, value));
    encoded.filter_map(Result::ok).collect()
}

fn with(response: Response, headers: impl IntoIterator<Item = (String, String)>) -> Response {
    let headers = headers.into_iter();
    headers.fold(response, |response, (name, value)| {
        response.with(name, value)
    })
}
