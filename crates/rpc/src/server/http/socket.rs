//! A connection that has become a WebSocket: one call, whose messages are JSON.

use super::Ask;
use crate::counters::count;
use crate::method::Method;
use crate::peer::failures::cancelled;
use crate::peer::incoming::Incoming;
use crate::server::Shared;
use crate::server::machine::Progress;
use crate::server::pace::Parts;
use crate::web::{Exchange, Plain, Protocol, Style, WebReplyTo};
use crate::{Code, Status};
use bytes::BytesMut;
use dovetail_protocol::websocket::{
    CloseCode, Error, Message, Reader, Said, write_close, write_close_reply, write_pong,
};
use dovetail_protocol::{Codec, Execution, Headers, connect, http};
use dovetail_wire::{Bytes, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const STYLE: Style = Style::new(Protocol::WebSocket, Codec::Json);

pub(in crate::server) struct Socket {
    reader: Reader,
    /// How many whole messages have come.
    messages: u64,
    stage: Stage,
    /// The frames of the wire itself.
    out: Vec<u8>,
}

/// ```text
///   Before ── params ──► Running ── answer ──► (over)
///     │                     │
///     └── close, refusal ───┴── close ──► Over
/// ```
enum Stage {
    /// The request, with which the headers of the call are, and whether those of a message are
    /// among them.
    Before(Box<http::Request>, bool),
    Running {
        method: &'static Method,
        reply: WebReplyTo,
        exchange: Arc<Exchange>,
        /// Items may come.
        open: bool,
    },
    Over,
}

impl Socket {
    /// Makes a socket of the connection after this request, to which the answer is `accepted`.
    pub(super) fn new(request: http::Request, accepted: Vec<u8>, shared: &Shared) -> Self {
        Socket {
            reader: Reader::new(&shared.sizes.connection),
            messages: 0,
            stage: Stage::Before(Box::new(request), false),
            out: accepted,
        }
    }

    /// The call, once its parameters have come; `None` where more must be received first, or
    /// nothing more is.
    pub(super) fn receive(
        &mut self,
        input: &mut BytesMut,
        shared: &Shared,
    ) -> Result<Option<Box<Incoming>>, Error> {
        while !self.is_over() && self.full().is_none() {
            match self.reader.receive(input)? {
                None => return Ok(None),
                Some(Message::Text(message)) => {
                    self.messages += 1;
                    if let Some(call) = self.said(message, shared)? {
                        return Ok(Some(call));
                    }
                }
                Some(Message::Binary(_)) => return Err(Error::Binary),
                Some(Message::Ping(bytes)) => write_pong(&bytes, &mut self.out),
                Some(Message::Pong) => {}
                Some(Message::Close(code)) => {
                    write_close_reply(code, &mut self.out);
                    self.lost();
                    self.stage = Stage::Over;
                }
            }
        }
        Ok(None)
    }

    fn said(&mut self, message: Bytes, shared: &Shared) -> Result<Option<Box<Incoming>>, Error> {
        let what = match (&mut self.stage, Said::read(&message)) {
            (Stage::Before(request, said @ false), Some(Said::Headers(value))) => {
                let most = shared.sizes.connection.header_bytes;
                request.headers = with_headers(&value, &request.headers, most)?;
                *said = true;
                return Ok(None);
            }
            (Stage::Before(request, _), Some(Said::Params(value))) => {
                let begun = begin(request, value, shared);
                return Ok(self.run(begun));
            }
            (
                Stage::Running {
                    method,
                    exchange,
                    open: true,
                    ..
                },
                Some(Said::Item(value)),
            ) => {
                let item = if method.messages { value } else { message };
                exchange.arrived(plain(item));
                return Ok(None);
            }
            (Stage::Running { exchange, open, .. }, Some(Said::End)) => {
                *open = false;
                exchange.caller_ends(Ok(()));
                return Ok(None);
            }
            (Stage::Before(_, false), _) => {
                r#"the first message is {"headers": …} or {"params": …}"#
            }
            (Stage::Before(_, true), _) => r#"behind the headers comes {"params": …}"#,
            (Stage::Running { open: true, .. }, _) => {
                r#"behind the parameters come messages {"item": …}, then {"end": {}}"#
            }
            (_, _) => "nothing comes behind the end, nor behind parameters that no items follow",
        };
        Err(Error::Message { what })
    }

    /// The call begins, or is refused.
    fn run(&mut self, begun: Result<(Stage, Box<Incoming>), Status>) -> Option<Box<Incoming>> {
        match begun {
            Ok((stage, call)) => {
                self.stage = stage;
                Some(call)
            }
            Err(status) => {
                self.stage = Stage::Over;
                let reply = WebReplyTo::socket(None, STYLE);
                reply.fail(&mut self.out, &status);
                None
            }
        }
    }

    /// How the call is answered, where it runs.
    pub(super) fn streaming(&self) -> Option<&WebReplyTo> {
        match &self.stage {
            Stage::Running { reply, .. } => Some(reply),
            Stage::Before(..) | Stage::Over => None,
        }
    }

    /// Returns whether everything is said, so that nothing more is received.
    pub(in crate::server) fn is_over(&self) -> bool {
        match &self.stage {
            Stage::Before(..) => false,
            Stage::Running { exchange, .. } => exchange.is_answered(),
            Stage::Over => true,
        }
    }

    /// The call whose handler has to take what is there before more is received.
    pub(in crate::server) fn full(&self) -> Option<&Arc<Exchange>> {
        match &self.stage {
            Stage::Running { exchange, .. } => Some(exchange).filter(|exchange| exchange.is_full()),
            Stage::Before(..) | Stage::Over => None,
        }
    }

    pub(super) fn progress(&self) -> Progress {
        let within = self.reader.is_within();
        Progress {
            parts: within.then(|| Parts::one(self.messages)),
            held: match within {
                true => self.reader.held(),
                false => 0,
            },
            needs: self.reader.needs(),
            ..Progress::default()
        }
    }

    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    /// The server goes down, or has waited for too long. A call that runs goes on without its
    /// caller's items.
    pub(super) fn leave(&mut self, why: &'static str) {
        match &self.stage {
            Stage::Before(..) => {
                self.stage = Stage::Over;
                write_close(CloseCode::GoingAway, why, &mut self.out);
            }
            Stage::Running { exchange, .. } => {
                exchange.caller_ends(Err(Status::new(Code::Unavailable, why)));
            }
            Stage::Over => {}
        }
    }

    /// The peer has gone, or has broken the rules: the handler need not go on, and nobody takes its
    /// answer.
    pub(super) fn lost(&self) {
        if let Stage::Running { exchange, .. } = &self.stage {
            exchange.silence(&cancelled());
        }
    }

    /// A message takes the peer too long.
    pub(super) fn too_slow(&self, limit: Duration) -> Error {
        self.lost();
        Error::TooSlow { limit }
    }

    /// More has come of a message than is held for a peer.
    pub(super) fn too_much(&self, size: u64, limit: usize) -> Error {
        self.lost();
        Error::TooLarge { size, limit }
    }

    /// The connection has ended.
    pub(super) fn end(&self, input: &BytesMut) -> Result<(), Error> {
        match input.is_empty() && !self.reader.is_within() {
            true => Ok(()),
            false => Err(Error::Truncated),
        }
    }
}

/// A message as it came: there is no compression.
fn plain(message: Bytes) -> Plain {
    Plain {
        message,
        compressed: false,
    }
}

/// The call of a request that has these parameters.
fn begin(
    request: &http::Request,
    params: Bytes,
    shared: &Shared,
) -> Result<(Stage, Box<Incoming>), Status> {
    let mut ask = Ask::new(
        request,
        STYLE,
        connect::stream_terms(&request.headers),
        shared,
    )?;
    let method = match ask.method {
        Some(method) => method,
        None => {
            let route = shared.dispatcher.routes.find(&ask.target);
            let route = route.inspect_err(|_| count(&shared.counters.unknown_methods));
            route
                .map_err(|why| why.with_execution(Execution::NotStarted))?
                .method
        }
    };
    let exchange = Exchange::at_callee(method, shared.sizes.message, STYLE);
    let reply = WebReplyTo::socket(Some(method), STYLE).with_streams(exchange.clone());
    let parameters = ask.parameters(Some(method), plain(params));
    let stage = Stage::Running {
        method,
        reply: reply.clone(),
        exchange,
        open: method.kind.client_streams(),
    };
    Ok((stage, ask.call(parameters, reply)))
}

/// Headers from a message, behind which those of the request stand, and count where they are the
/// same.
fn with_headers(value: &Bytes, request: &Headers, most: usize) -> Result<Headers, Error> {
    if value.len() > most {
        let size = value.len() as u64;
        return Err(Error::TooLarge { size, limit: most });
    }
    let mut said = BTreeMap::<String, String>::new();
    let mut reader = json::Reader::new(value, dovetail_wire::Limits::default());
    let read = said.read(&mut reader);
    if read.is_err() || reader.position() != value.len() {
        let what = "`headers` is an object whose values are text";
        return Err(Error::Message { what });
    }
    let own = request.iter();
    let own = own.map(|(name, value)| (name.to_owned(), Bytes::copy_from_slice(value)));
    let said = said.into_iter();
    Ok(said
        .map(|(name, value)| (name, value.into()))
        .chain(own)
        .collect())
}
