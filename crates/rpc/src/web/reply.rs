//! Answers to calls over HTTP.

use super::message::{Form, draft, framed, write_json, write_protobuf};
use super::{Exchange, Style, socket};
use crate::Status;
use crate::method::Method;
use crate::peer::response_headers::ResponseHeaders;
use crate::peer::streams::ended;
use crate::web::messages::{first_field, thrown};
use dovetail_protocol::envelope::{PREFIX, prefix};
use dovetail_protocol::http::{self, Response};
use dovetail_protocol::{Codec, Failure};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits};
use std::sync::Arc;
#[cfg(feature = "grpc")]
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Context;

/// The way to answer a call, or a request that calls nothing.
#[derive(Clone)]
pub(crate) struct WebReplyTo {
    method: Option<&'static Method>,
    style: Style,
    said: ResponseHeaders,
    /// The streams of the call, if it has any.
    streams: Option<Arc<Exchange>>,
    place: ReplyPlace,
}

/// The place for the answer.
#[derive(Clone)]
enum ReplyPlace {
    /// It is left here for the stream of HTTP/2 that waits for it.
    #[cfg(feature = "grpc")]
    Left(Arc<Mutex<Option<WebAnswer>>>),
    /// Behind the answers before it, on a connection of HTTP/1.1.
    Next(http::ReplyTo),
    /// A request over HTTP/1.1 whose answer is known already.
    Known(http::ReplyTo, Arc<Response>),
    /// On a connection of its own, which is a WebSocket.
    Socket,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) enum WebAnswer {
    /// A message, with its prefix.
    Message(Bytes),
    /// No message.
    Failure(Thrown),
    /// Nothing more than the items that were sent.
    End,
}

/// A failure, or a declared exception.
#[derive(Debug)]
pub(crate) struct Thrown {
    pub(crate) failure: Failure,
    /// The exception in human-readable JSON.
    debug: Option<Vec<u8>>,
}

impl Thrown {
    pub(super) fn debug(&self) -> Option<&[u8]> {
        self.debug.as_deref()
    }
}

impl From<Failure> for Thrown {
    fn from(failure: Failure) -> Self {
        Thrown {
            failure,
            debug: None,
        }
    }
}

impl From<&Status> for WebAnswer {
    fn from(status: &Status) -> Self {
        WebAnswer::Failure(Failure::from(status.clone()).into())
    }
}

impl WebReplyTo {
    /// Makes the reply to a call over HTTP/2, of this method if it is known. Its headers and
    /// trailers go into `said`.
    #[cfg(feature = "grpc")]
    pub(crate) fn left(
        method: Option<&'static Method>,
        style: Style,
        said: ResponseHeaders,
    ) -> Self {
        WebReplyTo {
            method,
            style,
            said,
            streams: None,
            place: ReplyPlace::Left(Arc::default()),
        }
    }

    /// Returns the bytes of the answer that is left for a stream of HTTP/2; 0 for a failure.
    #[cfg(feature = "grpc")]
    pub(crate) fn left_bytes(&self) -> usize {
        match &self.place {
            ReplyPlace::Left(place) => match &*lock(place) {
                Some(WebAnswer::Message(message)) => message.len(),
                _ => 0,
            },
            _ => 0,
        }
    }

    #[cfg(not(feature = "grpc"))]
    pub(crate) fn left_bytes(&self) -> usize {
        0
    }

    /// Makes a reply over HTTP/1.1.
    pub(crate) fn next(method: Option<&'static Method>, style: Style, http: http::ReplyTo) -> Self {
        WebReplyTo {
            method,
            style,
            said: ResponseHeaders::default(),
            streams: None,
            place: ReplyPlace::Next(http),
        }
    }

    /// Makes a reply by WebSocket.
    pub(crate) fn socket(method: Option<&'static Method>, style: Style) -> Self {
        WebReplyTo {
            method,
            style,
            said: ResponseHeaders::default(),
            streams: None,
            place: ReplyPlace::Socket,
        }
    }

    /// Makes the reply to a request over HTTP/1.1 whose answer is known.
    pub(crate) fn known(style: Style, http: http::ReplyTo, answer: Response) -> Self {
        WebReplyTo {
            place: ReplyPlace::Known(http.clone(), Arc::new(answer)),
            ..Self::next(None, style, http)
        }
    }

    /// Returns the reply for a call with these streams.
    pub(crate) fn with_streams(&self, streams: Arc<Exchange>) -> Self {
        let streams = Some(streams);
        WebReplyTo {
            streams,
            ..self.clone()
        }
    }

    /// Compresses the messages, or does not, where that is possible.
    pub(crate) fn compress(&mut self, compress: bool) {
        self.style.packs = compress;
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Returns whether the connection is to be closed after this answer.
    pub(crate) fn closes(&self) -> bool {
        match &self.place {
            #[cfg(feature = "grpc")]
            ReplyPlace::Left(_) => false,
            ReplyPlace::Socket => false,
            ReplyPlace::Next(http) | ReplyPlace::Known(http, _) => http.closes(),
        }
    }

    /// Returns whether the answer must not be sent before those to earlier calls.
    #[cfg(feature = "async")]
    pub(crate) fn ordered(&self) -> bool {
        match &self.place {
            #[cfg(feature = "grpc")]
            ReplyPlace::Left(_) => false,
            ReplyPlace::Socket => false,
            ReplyPlace::Next(_) | ReplyPlace::Known(..) => true,
        }
    }

    /// Returns the place for headers and trailers of the answer.
    pub(crate) fn response_headers(&self) -> ResponseHeaders {
        self.said.clone()
    }

    /// The streams of the call, where it has any.
    pub(crate) fn streams(&self) -> Option<&Arc<Exchange>> {
        self.streams.as_ref()
    }

    /// Returns whether the caller of a call with streams has gone. If not, the waker is woken when
    /// it goes.
    pub(crate) fn is_over(&self, context: &Context<'_>) -> bool {
        self.streams
            .as_ref()
            .is_some_and(|streams| streams.is_over(context))
    }

    /// Takes the answer, if it is there.
    #[cfg(feature = "grpc")]
    pub(crate) fn take(&self) -> Option<WebAnswer> {
        match &self.place {
            ReplyPlace::Left(answer) => lock(answer).take(),
            _ => None,
        }
    }

    /// Gives the answer. The first one counts where it is left: a deadline may pass while a handler
    /// in the pool is done.
    fn put(&self, answer: WebAnswer, out: &mut Vec<u8>) {
        match &self.place {
            #[cfg(feature = "grpc")]
            ReplyPlace::Left(place) => {
                lock(place).get_or_insert(answer);
            }
            ReplyPlace::Known(http, response) => http.write(response, out),
            ReplyPlace::Next(http) => self.write(http, answer, out),
            ReplyPlace::Socket => self.write_socket(answer, out),
        }
        if let Some(streams) = &self.streams {
            streams.fail(&ended());
        }
    }

    /// Appends an answer by WebSocket, or what is left of it, and the close.
    fn write_socket(&self, answer: WebAnswer, out: &mut Vec<u8>) {
        let rest = match &self.streams {
            Some(streams) => streams.last(),
            None => Some(Bytes::new()),
        };
        if let Some(rest) = rest {
            out.extend_from_slice(&rest);
            socket::write_last(self.method, answer, &self.said, out);
        }
    }

    /// Appends an answer over HTTP/1.1, or what is left of it.
    fn write(&self, http: &http::ReplyTo, answer: WebAnswer, out: &mut Vec<u8>) {
        let rest = self.streams.as_ref().and_then(|streams| streams.rest());
        let Some(rest) = rest else {
            return http.write(&self.style.whole(answer, &self.said), out);
        };
        let thrown = match &answer {
            WebAnswer::Failure(thrown) => Some(thrown),
            WebAnswer::Message(_) | WebAnswer::End => None,
        };
        let end = self.style.end(thrown, &self.said);
        if rest.first {
            let body = [&rest.bytes[..], &end].concat().into();
            let head = self.style.head(&self.said);
            return http.write(&Response { body, ..head }, out);
        }
        http.piece(&rest.bytes, out);
        http.piece(&end, out);
        http.end(out);
    }

    /// Appends what can be sent over HTTP/1.1, or by WebSocket, of an answer that has items.
    pub(crate) fn transmit(&self, out: &mut Vec<u8>) {
        let Some(piece) = self.streams.as_ref().and_then(|streams| streams.piece()) else {
            return;
        };
        match &self.place {
            ReplyPlace::Next(http) => {
                if piece.first {
                    http.begin(&self.style.head(&self.said), out);
                }
                http.piece(&piece.bytes, out);
            }
            ReplyPlace::Socket => out.extend_from_slice(&piece.bytes),
            _ => {}
        }
    }

    /// Gives a result or a declared exception. After an error `out` is as it was.
    pub(crate) fn reply(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        self.put(self.encode(body, Method::exceptions, limits)?, out);
        Ok(())
    }

    /// Gives a result that items follow. A method without a result has only items.
    pub(crate) fn accept(
        &self,
        body: &impl Encode,
        result: bool,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        let answer = self.encode(body, Method::exceptions, limits)?;
        if let (WebAnswer::Message(message), Some(streams)) = (answer, &self.streams) {
            streams.begin(result.then_some(message));
        }
        Ok(())
    }

    /// The items have come to their end.
    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        self.put(WebAnswer::End, out);
    }

    /// Gives the exception that ends the items.
    pub(crate) fn end_with(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        self.put(self.encode(body, Method::stream_exceptions, limits)?, out);
        Ok(())
    }

    fn encode(
        &self,
        body: &impl Encode,
        exceptions: impl FnOnce(&Method) -> Vec<(i32, &'static str)>,
        limits: Limits,
    ) -> Result<WebAnswer, EncodeError> {
        let form = self.style.form(self.method);
        let mut out = draft();
        // The id of the field says what it is: 0 is the result.
        let replied = match form.codec {
            Codec::Json => write_json(body, form, limits, &mut out.bytes)?,
            Codec::Proto => {
                Encoding::Protobuf.encode(body, &mut out.bytes, limits)?;
                let first = first_field(out.bytes.get(PREFIX..).unwrap_or_default());
                first.map(|(number, _)| number - 1)
            }
        };
        match replied {
            Some(id) if id != 0 => {
                let all = self.method.map(exceptions).unwrap_or_default();
                self.exception(&all, id, body, limits)
                    .map(WebAnswer::Failure)
            }
            _ => Ok(WebAnswer::Message(self.style.packed(framed(out, form)?))),
        }
    }

    /// A declared exception: in protobuf, as other peers know details, and in human-readable JSON.
    fn exception(
        &self,
        all: &[(i32, &'static str)],
        id: i32,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<Thrown, EncodeError> {
        let (mut value, mut debug) = (Vec::new(), Vec::new());
        write_protobuf(body, limits, &mut value)?;
        let debugs = self.style.debugs();
        if debugs {
            let form = Form {
                messages: true,
                ..self.style.form(self.method)
            };
            write_json(body, form, limits, &mut debug)?;
        }
        Ok(Thrown {
            failure: thrown(self.method, all, id, &value, self.style.spelling),
            debug: debugs.then_some(debug),
        })
    }

    /// Gives a failure.
    pub(crate) fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        self.put(status.into(), out);
    }

    /// Gives the empty answer to a one-way call.
    pub(crate) fn accepted(&self, out: &mut Vec<u8>) {
        let empty: &[u8] = match self.style.codec {
            Codec::Json => b"{}",
            Codec::Proto => b"",
        };
        let prefix = prefix(empty.len()).unwrap_or_default();
        self.put(
            WebAnswer::Message([&prefix[..], empty].concat().into()),
            out,
        );
    }
}

#[cfg(feature = "grpc")]
fn lock(answer: &Mutex<Option<WebAnswer>>) -> MutexGuard<'_, Option<WebAnswer>> {
    answer.lock().unwrap_or_else(PoisonError::into_inner)
}
