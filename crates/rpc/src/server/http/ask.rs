//! The call that a request asks for, over both versions of HTTP.

use crate::counters::count;
use crate::dispatch::Route;
use crate::method::Method;
use crate::peer::call::no_streams;
use crate::peer::context::Caller;
use crate::peer::incoming::{self, Incoming, Target};
use crate::peer::intercept::Preview;
use crate::peer::response_headers::ResponseHeaders;
use crate::server::Shared;
use crate::web::{
    Plain, Protocol, Style, WebReplyTo, gunzip, known_coding, no_parameters, of_field, parameters,
};
use crate::{Code, Status, clock};
use dovetail_protocol::connect::{self, Refusal};
use dovetail_protocol::grpc::{Coding, Web, web_terms};
use dovetail_protocol::http::{self, Cors, Response};
use dovetail_protocol::{Codec, Execution, Headers, Terms};
use dovetail_wire::{Bytes, Encoding};
use std::sync::Arc;
use std::time::Instant;

/// A call without its messages.
#[derive(Clone)]
pub(in crate::server) struct Ask {
    pub(in crate::server) target: Target,
    /// `None` for an unknown method, and as long as only a part of the request has come.
    pub(in crate::server) method: Option<&'static Method>,
    pub(in crate::server) style: Style,
    /// The compression of the request's messages.
    pub(in crate::server) coding: Option<Bytes>,
    /// Whether its parameters came compressed, once they have.
    pub(in crate::server) compressed: bool,
    pub(in crate::server) deadline: Option<Instant>,
    pub(in crate::server) headers: Headers,
    /// A request by GET.
    pub(in crate::server) get: bool,
}

/// The parameters of a call, with their encoding.
pub(in crate::server) type Parameters = (Encoding, Bytes);

impl Ask {
    /// Finds the method of a request whose messages are in envelopes, or the answer to a request
    /// that calls nothing. `None` for a request that is, or may be, a call without envelopes.
    pub(in crate::server) fn enveloped(
        request: &http::Request,
        shared: &Shared,
    ) -> Option<Result<Self, Response>> {
        let (protocol, codec) = protocol(request.method, &request.headers)?;
        let terms = match protocol {
            Protocol::GrpcWeb { .. } => web_terms(&request.headers),
            _ => connect::stream_terms(&request.headers),
        };
        if Cors::refuses(shared.cors.as_ref(), &request.headers) {
            return Some(Err(Refusal::foreign().response()));
        }
        let style = Style::new(protocol, codec);
        Some(
            Ask::new(request, style, terms, shared)
                .map_err(|why| style.whole((&why).into(), &ResponseHeaders::default())),
        )
    }

    /// A call of this request, which stands for what its path names.
    pub(super) fn new(
        request: &http::Request,
        style: Style,
        terms: Result<Terms, Status>,
        shared: &Shared,
    ) -> Result<Self, Status> {
        let limits = &shared.sizes.connection;
        let (service, method) = connect::target(request, limits)?;
        let target = Target::Named { service, method };
        let route = shared.dispatcher.routes.find(&target).ok();
        let terms = terms?;
        known_coding(terms.coding.as_deref())?;
        Ok(Ask::with(target, route, style, terms))
    }

    fn with(target: Target, route: Option<Route>, style: Style, terms: Terms) -> Self {
        let asked = match style.protocol {
            Protocol::GrpcWeb { .. } => terms.coding.as_deref() == Some(b"gzip"),
            _ => true,
        };
        Ask {
            target,
            method: route.map(|route| route.method),
            style: Style {
                coding: terms.accepts_gzip.then_some(Coding::Gzip),
                packs: asked,
                spelling: route.map(|route| route.spelling).unwrap_or_default(),
                ..style
            },
            coding: terms.coding,
            compressed: false,
            // A time beyond the range of the clock is no deadline.
            deadline: terms
                .timeout
                .and_then(|left| clock::now().checked_add(left)),
            headers: terms.headers,
            get: false,
        }
    }

    /// Reads a complete request with one message and no envelopes. Returns the answer instead if it
    /// is not a call.
    pub(in crate::server) fn single(
        request: &http::Request,
        shared: &Shared,
    ) -> Result<(Self, Parameters), Response> {
        let cors = shared.cors.as_ref();
        if request.method == http::Method::Options {
            return Err(connect::preflight(cors));
        }
        let mut pages = shared.pages.iter();
        if request.method == http::Method::Get
            && let Some((_, page)) = pages.find(|(path, _)| *path == request.path())
        {
            return Err(page(request));
        }
        if Cors::refuses(cors, &request.headers) {
            return Err(Refusal::foreign().response());
        }
        Self::read(request, shared).map_err(Refusal::response)
    }

    fn read(request: &http::Request, shared: &Shared) -> Result<(Self, Parameters), Refusal> {
        let limits = &shared.sizes.connection;
        let (target, route) = Self::route(request, shared)
            .inspect_err(|_| count(&shared.counters.unknown_methods))
            .map_err(Refusal::unknown)?;
        let method = route.method;
        let call = connect::Call::read(request)?;
        if method.kind.streams() {
            return Err(Refusal::of(no_streams(method.name)));
        }
        if call.get && !method.idempotent {
            return Err(Refusal::not_by_get());
        }
        let message = match call.gzip {
            true => gunzip(&call.message, limits.decompressed(call.message.len()))
                .map_err(Refusal::of)?,
            false => call.message,
        };
        let parameters = parameters(method, call.codec, message);
        let style = Style::new(Protocol::Connect, call.codec);
        let ask = Ask {
            compressed: call.gzip,
            get: call.get,
            ..Ask::with(target, Some(route), style, call.terms)
        };
        Ok((ask, parameters))
    }

    /// Reads the head of a request, whose body does not matter. `None` where it is not known to be
    /// a call, or the whole request is answered with an error.
    pub(in crate::server) fn of_head(request: &http::Request, shared: &Shared) -> Option<Self> {
        if let Some(ask) = Ask::enveloped(request, shared) {
            return ask.ok();
        }
        if Cors::refuses(shared.cors.as_ref(), &request.headers) {
            return None;
        }
        let (target, route) = Self::route(request, shared).ok()?;
        let call = connect::Call::read(request).ok()?;
        let style = Style::new(Protocol::Connect, call.codec);
        Some(Ask::with(target, Some(route), style, call.terms))
    }

    fn route(request: &http::Request, shared: &Shared) -> Result<(Target, Route), Status> {
        let (service, method) = connect::target(request, &shared.sizes.connection)?;
        let target = Target::Named { service, method };
        let route = shared.dispatcher.routes.find(&target)?;
        Ok((target, route))
    }

    /// Shows interceptors the call before its parameters come. `None` where there are none.
    pub(in crate::server) fn preview(
        &self,
        reply: WebReplyTo,
        shared: &Shared,
        caller: &Arc<Caller>,
    ) -> Option<Box<Preview>> {
        let head = self.clone().without_parameters(reply);
        shared.dispatcher.preview(head, caller)
    }

    /// Makes the call that interceptors see before there are parameters.
    pub(super) fn without_parameters(self, reply: WebReplyTo) -> Box<Incoming> {
        let nothing = self.nothing();
        self.call(nothing, reply)
    }

    /// Returns no bytes, in place of parameters that nobody decodes.
    pub(in crate::server) fn nothing(&self) -> Parameters {
        (no_parameters(self.style.codec).0, Bytes::new())
    }

    /// The parameters of a call that has one message.
    pub(in crate::server) fn parameters(
        &mut self,
        method: Option<&'static Method>,
        message: Plain,
    ) -> Parameters {
        self.compressed = message.compressed;
        of_message(method, self.style.codec, message.message)
    }

    /// Reads the parameters, which come in a message of their own before the items of a caller.
    pub(in crate::server) fn before_items(&mut self, first: &Plain) -> Result<Parameters, Status> {
        self.compressed = first.compressed;
        before_items(self.style.codec, &first.message)
    }

    /// Makes a call of these parameters, with the way to its answer.
    pub(in crate::server) fn call(
        self,
        parameters: Parameters,
        reply: WebReplyTo,
    ) -> Box<Incoming> {
        let reply = incoming::ReplyTo::Web(reply);
        Box::new(Incoming {
            oneway: self.method.is_some_and(|method| method.kind.is_oneway()),
            compressed: self.compressed,
            deadline: self.deadline,
            headers: self.headers,
            get: self.get,
            ..Incoming::new(self.target, parameters, reply)
        })
    }
}

/// Returns whether a message of a request may be compressed.
pub(in crate::server) fn may_be_compressed(request: &http::Request) -> bool {
    let headers = [
        "content-encoding",
        Coding::HEADER,
        "connect-content-encoding",
    ];
    let mut codings = headers.iter().filter_map(|name| request.headers.get(name));
    codings.any(|coding| coding != b"identity") || request.query().contains("compression=")
}

/// The protocol and the codec of a request whose messages are in envelopes.
pub(super) fn protocol(method: http::Method, headers: &Headers) -> Option<(Protocol, Codec)> {
    let kind = headers.get("content-type").unwrap_or_default();
    let web = Web::of(kind).map(|Web { codec, text }| (Protocol::GrpcWeb { text }, codec));
    let stream = || connect::stream_codec(kind).map(|codec| (Protocol::ConnectStream, codec));
    web.or_else(stream).filter(|_| method == http::Method::Post)
}

fn of_message(method: Option<&'static Method>, codec: Codec, message: Bytes) -> Parameters {
    match method {
        Some(method) if !method.params.is_empty() => parameters(method, codec, message),
        // A method without parameters takes no message, or a message whose fields mean nothing.
        _ if message.is_empty() => no_parameters(codec),
        Some(_) | None => match codec {
            Codec::Json => (Encoding::Json, message),
            Codec::Proto => (Encoding::Protobuf, message),
        },
    }
}

fn before_items(codec: Codec, first: &Bytes) -> Result<Parameters, Status> {
    let params = of_field(first, codec).ok_or_else(|| {
        let what = "the first message has other fields than 1, which are the parameters";
        Status::new(Code::InvalidArgument, what).with_execution(Execution::NotStarted)
    })?;
    let (encoding, _) = no_parameters(codec);
    Ok((encoding, params))
}

/// Returns the error for a request without a message, or with more than one, where the method takes
/// one.
#[cold]
pub(in crate::server) fn no_single_message(none: bool) -> Status {
    let what = match none {
        true => "no message",
        false => "more than one message",
    };
    // doc/statuscodes.md of github.com/grpc/grpc has this code for it.
    let what = format!("{what} in the request: the method takes one");
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}
