//! A connection over HTTP/1.1. Each of its requests is a call of Thrift, Connect or gRPC-Web, or
//! turns the connection into a WebSocket.

mod ask;
mod body;
mod socket;

pub(super) use ask::{Ask, Parameters, may_be_compressed, no_single_message};
pub(super) use socket::Socket;

use super::Shared;
use super::machine::{Fault, Progress};
use super::pace::Parts;
use crate::Status;
use crate::method::Method;
use crate::peer::context::Caller;
use crate::peer::failures::cancelled;
use crate::peer::incoming::{self, Incoming, Target};
use crate::peer::intercept::Preview;
use crate::peer::response_headers::ResponseHeaders;
use crate::web::{Exchange, Plain, Protocol, Style, WebReplyTo};
use body::messages;
use bytes::BytesMut;
use dovetail_protocol::http::{self, Cors, Response, ServerConnection};
use dovetail_protocol::{Codec, connect, grpc, thrift, websocket};
use dovetail_wire::{Bytes, Encoding};
use std::sync::Arc;
use std::time::Duration;

/// The number of messages of the largest size that fit into a request with envelopes.
const MESSAGES: usize = 4;

/// The answer to gRPC over HTTP/1.1, whose clients keep the request open.
const NO_GRPC: http::Error = http::Error::Refused {
    status: 415,
    what: "gRPC needs HTTP/2: name h2 by ALPN, or begin with HTTP/2 without TLS; gRPC-Web goes over HTTP/1.1",
};

pub(super) struct Http {
    connection: ServerConnection,
    thrift: thrift::ServerConnection,
    /// The last request, of which the body may not have come, is not Thrift's.
    claimed: bool,
    checks_hosts: bool,
    /// The number of requests that have come.
    requests: u64,
    /// The reply to the last request, if it is a call with streams.
    streaming: Option<WebReplyTo>,
    /// The socket that the connection has become.
    socket: Option<Box<Socket>>,
    /// The next request, once interceptors have seen its head.
    preview: Option<Box<Preview>>,
    /// The number of requests before the last one whose head they were to see.
    previewed: Option<u64>,
}

impl Http {
    pub(super) fn new(shared: &Shared, caller: &Caller) -> Self {
        Http {
            connection: ServerConnection::new(shared.sizes.connection),
            thrift: thrift::ServerConnection::new(shared.options.clone()),
            claimed: false,
            checks_hosts: caller.checks_hosts,
            requests: 0,
            streaming: None,
            socket: None,
            preview: None,
            previewed: None,
        }
    }

    /// Returns the next call, or an answer in its place.
    pub(super) fn receive(
        &mut self,
        input: &mut BytesMut,
        shared: &Shared,
        caller: &Arc<Caller>,
    ) -> Result<Option<Box<Incoming>>, Fault> {
        if let Some(socket) = &mut self.socket {
            return Ok(socket.receive(input, shared)?);
        }
        let claimed = &mut self.claimed;
        let request = self.connection.receive(input, |method, headers| {
            *claimed = connect::claims(method, headers);
            match ask::protocol(method, headers) {
                Some(_) => Ok(MESSAGES),
                // Its body may never end.
                None if headers.get("content-type").and_then(grpc::codec).is_some() => Err(NO_GRPC),
                None => Ok(1),
            }
        })?;
        let Some(request) = request else {
            let refused = self.see_head(shared, caller);
            if refused.is_some() {
                self.connection.answer_head();
            }
            return Ok(refused);
        };
        if may_be_compressed(&request)
            && let Some(refused) = self.see(&request, shared, caller)
        {
            return Ok(Some(refused));
        }
        self.requests += 1;
        let preview = self.preview.take();
        if let Some(why) = self.foreign_host(&request, shared) {
            let http = http::ReplyTo::new(&request, shared.cors.as_ref());
            let refused = connect::Refusal::of(why).response();
            return Ok(Some(answered(http, refused)));
        }
        if websocket::asks(&request) {
            return match upgrade(request, shared) {
                Ok(socket) => Ok(self.socket.insert(socket).receive(input, shared)?),
                Err(refused) => Ok(Some(refused)),
            };
        }
        let foreign = Cors::refuses(shared.cors.as_ref(), &request.headers);
        let thrift = !connect::is_call(&request) && thrift::is_message(&request.body);
        if thrift && !foreign && Cors::is_unasked(&request.headers) {
            let http = http::ReplyTo::new(&request, shared.cors.as_ref());
            return Ok(Some(answered(http, connect::Refusal::unasked().response())));
        }
        if thrift && !foreign {
            self.claimed = false;
            return Ok(Some(self.thrift.over_http(request)?.into()));
        }
        self.claimed = true;
        let mut call = call(request, shared);
        call.preview = preview;
        self.streaming = match &call.reply {
            incoming::ReplyTo::Web(reply) if reply.streams().is_some() => Some(reply.clone()),
            _ => None,
        };
        Ok(Some(call))
    }

    /// Shows interceptors the head of a request whose body is still to come, once. Returns the call
    /// that it makes, if it is refused.
    fn see_head(&mut self, shared: &Shared, caller: &Arc<Caller>) -> Option<Box<Incoming>> {
        if self.previewed == Some(self.requests) {
            return None;
        }
        let head = self.connection.head()?;
        self.see(&head, shared, caller)
    }

    /// Does the same with any request.
    fn see(
        &mut self,
        request: &http::Request,
        shared: &Shared,
        caller: &Arc<Caller>,
    ) -> Option<Box<Incoming>> {
        if self.previewed.replace(self.requests) == Some(self.requests)
            || websocket::asks(request)
            || self.foreign_host(request, shared).is_some()
        {
            return None;
        }
        let ask = Ask::of_head(request, shared)?;
        let http = http::ReplyTo::new(request, shared.cors.as_ref());
        let reply = WebReplyTo::next(ask.method, ask.style, http);
        let preview = ask.preview(reply.clone(), shared, caller)?;
        if preview.refusal.is_none() {
            self.preview = Some(preview);
            return None;
        }
        self.claimed = true;
        self.requests += 1;
        let mut call = ask.without_parameters(reply);
        call.preview = Some(preview);
        Some(call)
    }

    /// Returns why a request is refused that names another host than this server has.
    fn foreign_host(&self, request: &http::Request, shared: &Shared) -> Option<Status> {
        let mut named = request.headers.get("host").into_iter();
        self.checks_hosts
            .then(|| shared.foreign_host(&mut named))
            .flatten()
    }

    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        self.connection.transmit(out);
    }

    /// Appends the frames of a WebSocket that need no place among the answers.
    pub(super) fn transmit_at_once(&mut self, out: &mut Vec<u8>) {
        if let Some(socket) = &mut self.socket {
            socket.transmit(out);
        }
    }

    /// Returns the socket that the connection has become, where it is a WebSocket.
    pub(super) fn socket(&self) -> Option<&Socket> {
        self.socket.as_deref()
    }

    pub(super) fn progress(&self) -> Progress {
        if let Some(socket) = &self.socket {
            return socket.progress();
        }
        let within = self.connection.is_within();
        Progress {
            parts: within.then(|| Parts {
                headed: true,
                ..Parts::one(self.requests)
            }),
            held: match within {
                true => self.connection.held(),
                false => 0,
            },
            needs: self.connection.needs(),
            ..Progress::default()
        }
    }

    /// Says that the server shuts down, or has waited for too long. Returns false if the peer
    /// cannot be told.
    pub(super) fn leave(&mut self, why: &'static str) -> bool {
        let socket = self.socket.as_mut();
        socket.map(|socket| socket.leave(why)).is_some()
    }

    /// Returns the reply to the last call with streams.
    pub(super) fn streaming(&self) -> Option<&WebReplyTo> {
        match &self.socket {
            Some(socket) => socket.streaming(),
            None => self.streaming.as_ref(),
        }
    }

    /// Says that the peer has gone: a handler with streams need not wait for it.
    pub(super) fn lost(&self) {
        if let Some(socket) = &self.socket {
            return socket.lost();
        }
        let streams = self.streaming.as_ref().and_then(WebReplyTo::streams);
        if let Some(streams) = streams {
            streams.fail(&cancelled());
        }
    }

    pub(super) fn too_slow(&mut self, limit: Duration) -> Fault {
        match &self.socket {
            Some(socket) => Fault::WebSocket(socket.too_slow(limit)),
            None => Fault::Http(self.connection.too_slow()),
        }
    }

    /// Returns the fault of a message that is larger than this server holds for a peer.
    pub(super) fn too_much(&mut self, size: u64, limit: usize) -> Fault {
        match &self.socket {
            Some(socket) => Fault::WebSocket(socket.too_much(size, limit)),
            None => Fault::Http(self.connection.too_much()),
        }
    }

    pub(super) fn end(&mut self, input: &mut BytesMut) -> Result<(), Fault> {
        match &self.socket {
            Some(socket) => Ok(socket.end(input)?),
            None => Ok(self.connection.end(input)?),
        }
    }

    /// Returns the last error in the protocol of the last request.
    pub(super) fn goodbye(&self, fault: &Fault, out: &mut Vec<u8>) {
        match fault {
            Fault::Http(error) if self.claimed => {
                connect::goodbye(error.status(), &error.to_string(), out);
            }
            Fault::Http(error) => self.connection.goodbye(error, out),
            Fault::Thrift(error) => self.thrift.goodbye(error, out),
            Fault::WebSocket(error) => {
                websocket::write_close(error.code(), &error.to_string(), out);
            }
            Fault::Noted(_) => {}
        }
    }
}

/// Returns the call that a request makes.
fn call(request: http::Request, shared: &Shared) -> Box<Incoming> {
    let http = http::ReplyTo::new(&request, shared.cors.as_ref());
    let read = match Ask::enveloped(&request, shared) {
        Some(ask) => ask.and_then(|ask| enveloped(ask, &request.body, &http, shared)),
        None => Ask::single(&request, shared).map(|(ask, parameters)| {
            let reply = WebReplyTo::next(ask.method, ask.style, http.clone());
            ask.call(parameters, reply)
        }),
    };
    read.unwrap_or_else(|answer| answered(http, answer))
}

/// Returns the call of a complete request with envelopes.
fn enveloped(
    mut ask: Ask,
    body: &Bytes,
    http: &http::ReplyTo,
    shared: &Shared,
) -> Result<Box<Incoming>, Response> {
    let style = ask.style;
    let (mut messages, end) = messages(&ask, body, shared.sizes.connection);
    let streams = ask.method.filter(|method| method.kind.streams());
    let exchange = streams.map(|method| Exchange::at_callee(method, shared.sizes.message, style));
    let parameters = match (ask.method, &exchange) {
        (Some(method), Some(exchange)) if method.kind.client_streams() => {
            let parameters = before(&mut ask, method, &mut messages);
            messages.for_each(|message| exchange.arrived(message));
            exchange.caller_ends(end);
            parameters
        }
        (method, _) => end
            .and_then(|()| only(messages))
            .map(|message| ask.parameters(method, message)),
    };
    let parameters =
        parameters.map_err(|why| style.whole((&why).into(), &ResponseHeaders::default()))?;
    let reply = WebReplyTo::next(ask.method, style, http.clone());
    let reply = match exchange {
        Some(exchange) => reply.with_streams(exchange),
        None => reply,
    };
    Ok(ask.call(parameters, reply))
}

/// The parameters of a method that come before the items of its caller.
fn before(
    ask: &mut Ask,
    method: &Method,
    messages: &mut impl Iterator<Item = Plain>,
) -> Result<Parameters, Status> {
    let first = match method.params {
        [] => None,
        _ => messages.next(),
    };
    ask.before_items(&first.unwrap_or_default())
}

/// The message of a request that has one.
fn only(mut messages: impl Iterator<Item = Plain>) -> Result<Plain, Status> {
    match (messages.next(), messages.next()) {
        (Some(message), None) => Ok(message),
        (first, _) => Err(no_single_message(first.is_none())),
    }
}

/// A request that calls nothing. Its answer waits for the answers to the requests before it.
fn answered(http: http::ReplyTo, answer: Response) -> Box<Incoming> {
    let style = Style::new(Protocol::Connect, Codec::Json);
    let reply = incoming::ReplyTo::Web(WebReplyTo::known(style, http, answer));
    let nothing = (Encoding::Json, Bytes::new());
    Box::new(Incoming::new(Target::Nothing, nothing, reply))
}

/// Turns the connection of this request into a WebSocket. Returns the answer if that is refused.
fn upgrade(request: http::Request, shared: &Shared) -> Result<Box<Socket>, Box<Incoming>> {
    let cors = shared.cors.as_ref();
    let mut accepted = Vec::new();
    let answer = match Cors::refuses_socket(cors, &request.headers) {
        true => Err(connect::Refusal::foreign().response()),
        false => websocket::accept(&request, &mut accepted),
    };
    match answer {
        Ok(()) => Ok(Box::new(Socket::new(request, accepted, shared))),
        Err(refused) => {
            let http = http::ReplyTo::new(&request, cors);
            Err(answered(http, refused))
        }
    }
}
