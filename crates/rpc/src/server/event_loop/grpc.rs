//! A connection of gRPC's on a loop: HTTP/2 is a library's, each of its streams a call.

use super::Phase;
use super::flight;
use crate::buffers::Gathered;
use crate::grpc::{Answer, ReplyTo, as_field, metadata, plain};
use crate::incoming::{self, Incoming, Target};
use crate::server::counters::count;
use crate::server::running::{Waiting, outcome};
use crate::server::session::Session;
use crate::server::{LINGER, ServerLimits, Shared};
use crate::transport::{AsyncSocket, Prefixed};
use crate::{Code, Execution, Reply, Status};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::grpc::{
    Assembler, CONTENT_TYPE, Failure, FrameError, Trailers, is_grpc, parse_timeout,
};
use dovetail_protocol::{Headers, Name};
use dovetail_wire::Encoding;
use futures_util::future::abortable;
use futures_util::stream::{FuturesUnordered, StreamExt};
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::header::CONTENT_TYPE as CONTENT_TYPE_NAME;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::{sleep, timeout};

/// What a stream and the connection may bring before somebody takes it.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;

/// An answer up to this is handed to the library as it is; of a longer one as much as the client takes.
const SHORT: usize = 16 << 10;

/// Messages that arrive on the streams of one connection at the same time: so many of the largest.
const LARGEST_AT_A_TIME: usize = 4;

/// What the calls of a connection share.
pub(super) struct Place<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) session: &'a Session<'a>,
    /// True where handlers run in the pool.
    pub(super) pooled: bool,
}

/// Serves a connection that began with these bytes.
pub(super) async fn serve(
    place: Place<'_>,
    stream: AsyncSocket,
    received: BytesMut,
    mut told: watch::Receiver<Phase>,
) -> io::Result<()> {
    let limits = &place.shared.limits;
    let handshake = builder(limits).handshake(Prefixed::new(received, stream));
    let Ok(shaken) = timeout(limits.handshake, handshake).await else {
        count(&place.shared.counters.transfer_timeouts);
        return Err(io::ErrorKind::TimedOut.into());
    };
    let mut connection = shaken.map_err(|error| broken(place.shared, error))?;
    let arriving = Cell::new(0);
    let mut calls = FuturesUnordered::new();
    let mut leaving = false;
    loop {
        let patience = match leaving {
            true => LINGER,
            false => place.session.idle_limit(),
        };
        tokio::select! {
            biased;
            Some(()) = calls.next() => {}
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let (head, body) = request.into_parts();
                    let call = Call { place: &place, arriving: &arriving, respond };
                    // Not counted against the budget of the connection's task, as in a flight.
                    calls.push(Box::pin(unconstrained(call.run(head, body))));
                    if !place.session.is_welcome() {
                        leaving = true;
                        connection.graceful_shutdown();
                    }
                }
                Some(Err(error)) => return Err(broken(place.shared, error)),
                None => return Ok(()),
            },
            _ = told.wait_for(|phase| *phase != Phase::Serving), if !leaving => {
                leaving = true;
                connection.graceful_shutdown();
            }
            () = sleep(patience), if calls.is_empty() => {
                if leaving {
                    return Ok(());
                }
                count(&place.shared.counters.idle_timeouts);
                leaving = true;
                connection.graceful_shutdown();
            }
        }
    }
}

fn builder(limits: &ServerLimits) -> Builder {
    let number = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(number(limits.connection.header_bytes))
        .max_concurrent_streams(number(limits.calls_per_connection));
    builder
}

/// The connection has ended with an error: of the transport, or because of what the peer sent.
fn broken(shared: &Shared, error: h2::Error) -> io::Error {
    match error.into_io() {
        Some(error) => error,
        None => {
            count(&shared.counters.protocol_errors);
            io::ErrorKind::InvalidData.into()
        }
    }
}

/// A call that is to be answered.
struct Call<'a> {
    place: &'a Place<'a>,
    /// Bytes of messages that have arrived in part, on all streams.
    arriving: &'a Cell<usize>,
    respond: SendResponse<Bytes>,
}

/// What the headers of a request say.
struct Head {
    service: Name,
    method: Name,
    deadline: Option<Instant>,
    coding: Option<HeaderValue>,
    headers: Headers,
}

/// Why a call is over before there is an answer.
enum Stop {
    Refused(Status),
    /// Its caller has gone, or the connection.
    Gone,
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Stop::Refused(status)
    }
}

impl From<FrameError> for Stop {
    fn from(error: FrameError) -> Self {
        let code = match error {
            FrameError::TooLong { .. } => Code::ResourceExhausted,
            FrameError::Flag(_) | FrameError::Cut { .. } => Code::Internal,
        };
        refused(code, error.to_string()).into()
    }
}

impl<'a> Call<'a> {
    async fn run(mut self, head: Parts, body: RecvStream) {
        if let Some((status, why)) = no_grpc(&head) {
            return self.refuse(status, &why.into());
        }
        match self.answer(head, body).await {
            Ok(answer) => self.send(answer).await,
            Err(Stop::Refused(why)) => self.refuse(StatusCode::OK, &why.into()),
            Err(Stop::Gone) => count(&self.place.shared.counters.cancelled_calls),
        }
    }

    async fn answer(&mut self, head: Parts, body: RecvStream) -> Result<Option<Answer>, Stop> {
        let shared = self.place.shared;
        let head = Head::read(&head, &shared.limits)?;
        let message = self.receive(body, head.coding.as_ref()).await?;
        let target = Target::Named {
            service: Some(head.service),
            method: head.method,
        };
        let method = shared.router.find(&target).ok().map(|route| route.method);
        let reply = ReplyTo::new(method);
        let call = Incoming {
            target,
            object: None,
            oneway: method.is_some_and(|method| method.kind.is_oneway()),
            body: match method.is_some_and(|method| method.messages) {
                true => as_field(&message),
                false => message,
            },
            encoding: Encoding::Protobuf,
            deadline: head.deadline,
            headers: head.headers,
            reply: incoming::ReplyTo::Grpc(reply.clone()),
            objects: None,
            lease: None,
        };
        let waiting = Waiting {
            reply: call.reply.clone(),
            deadline: call.deadline,
        };
        let (answer, _) = abortable(self.handle(call));
        let answer = outcome(shared, answer, waiting);
        tokio::select! {
            biased;
            // What it gives is for wires that answer in bytes.
            _ = answer => Ok(reply.take()),
            _ = poll_fn(|context| self.respond.poll_reset(context)) => Err(Stop::Gone),
        }
    }

    /// Runs the handler: in place, or in the pool.
    fn handle(&self, call: Incoming) -> impl Future<Output = Gathered> + use<'a> {
        let Place {
            shared,
            session,
            pooled,
        } = *self.place;
        async move {
            if !pooled || session.no_room().is_some() {
                let running = session.start(call, Vec::new());
                let _place = flight::Place::take(&shared.waiting);
                return running.await;
            }
            let _place = flight::Place::take(&shared.waiting);
            let start = session.starter();
            let answer = tokio::task::spawn_blocking(|| start(call)).await;
            // Fails only when the runtime is going down, and nobody is there to be answered.
            answer.map(Reply::sent).unwrap_or_default()
        }
    }

    /// The one message of a request.
    async fn receive(
        &self,
        mut body: RecvStream,
        coding: Option<&HeaderValue>,
    ) -> Result<Bytes, Stop> {
        let Place { shared, .. } = *self.place;
        let most = shared.limits.connection.message_bytes;
        let coding = coding.map(HeaderValue::as_bytes);
        let received = timeout(shared.limits.transfer, async {
            let mut assembler = Assembler::new(most);
            let mut arrived = Arrived::new(self.arriving);
            let mut message = None;
            while let Some(piece) = body.data().await {
                let mut piece = piece.map_err(|_| Stop::Gone)?;
                // Nothing waits for room of which the library has too much.
                let _ = body.flow_control().release_capacity(piece.len());
                arrived.add(piece.len(), most)?;
                while let Some(frame) = assembler.take(&mut piece)? {
                    if message.replace(plain(frame, coding, most)?).is_some() {
                        return Err(no_single_message("more than one message").into());
                    }
                }
            }
            assembler.end()?;
            message.ok_or_else(|| no_single_message("no message").into())
        });
        received.await.unwrap_or_else(|_| {
            count(&shared.counters.transfer_timeouts);
            let limit = shared.limits.transfer;
            let what = format!("the request took longer than {limit:?}");
            Err(refused(Code::DeadlineExceeded, what).into())
        })
    }

    /// Answers with a failure and nothing else.
    fn refuse(mut self, status: StatusCode, failure: &Failure) {
        let mut response = response(status);
        response.headers_mut().extend(trailers(failure));
        // Its caller has gone where this fails.
        let _ = self.respond.send_response(response, true);
    }

    async fn send(mut self, answer: Option<Answer>) {
        let message = match answer {
            Some(Answer::Message(message)) => message,
            Some(Answer::Failure(failure)) => return self.refuse(StatusCode::OK, &failure),
            None => {
                let what = "the call ended without an answer";
                let why = Status::new(Code::Internal, what);
                return self.refuse(StatusCode::OK, &why.into());
            }
        };
        // Its caller has gone where anything fails from here on.
        let Ok(mut stream) = self.respond.send_response(response(StatusCode::OK), false) else {
            return;
        };
        if send_message(&mut stream, message, &self.place.shared.limits).await {
            let ok = [(status_name(), HeaderValue::from_static("0"))];
            let _ = stream.send_trailers(ok.into_iter().collect());
        } else {
            count(&self.place.shared.counters.transfer_timeouts);
            stream.send_reset(Reason::CANCEL);
        }
    }
}

/// Bytes of a message that has arrived in part.
struct Arrived<'a> {
    all: &'a Cell<usize>,
    mine: usize,
}

impl<'a> Arrived<'a> {
    fn new(all: &'a Cell<usize>) -> Self {
        Arrived { all, mine: 0 }
    }

    /// Some more. A client that sends many large messages at once, and ends none, is told so.
    fn add(&mut self, bytes: usize, most: usize) -> Result<(), Status> {
        self.mine += bytes;
        self.all.set(self.all.get() + bytes);
        let limit = most.saturating_mul(LARGEST_AT_A_TIME);
        match self.all.get() > limit {
            true => {
                let what = format!("messages of more than {limit} bytes arrive at the same time");
                Err(refused(Code::ResourceExhausted, what))
            }
            false => Ok(()),
        }
    }
}

impl Drop for Arrived<'_> {
    fn drop(&mut self) {
        self.all.set(self.all.get().saturating_sub(self.mine));
    }
}

/// Sends a message as the client takes it. False where that takes too long.
async fn send_message(
    stream: &mut SendStream<Bytes>,
    mut message: Bytes,
    limits: &ServerLimits,
) -> bool {
    let sending = async {
        while message.len() > SHORT {
            stream.reserve_capacity(message.len());
            let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
                return;
            };
            let part = message.split_to(room.min(message.len()));
            if stream.send_data(part, false).is_err() {
                return;
            }
        }
        let _ = stream.send_data(message, false);
    };
    timeout(limits.transfer, sending).await.is_ok()
}

impl Head {
    fn read(head: &Parts, limits: &ServerLimits) -> Result<Self, Status> {
        let path = head.uri.path();
        let names = path
            .strip_prefix('/')
            .and_then(|path| path.rsplit_once('/'));
        let (service, method) = match names {
            Some(names) if path.len() <= limits.connection.name_bytes => names,
            _ => return Err(refused(Code::Unimplemented, format!("no method `{path}`"))),
        };
        let bad = |error: &dyn std::error::Error| refused(Code::InvalidArgument, error.to_string());
        let timeout = head.headers.get("grpc-timeout");
        let timeout = timeout.map(|text| parse_timeout(text.as_bytes()));
        let timeout: Option<Duration> = timeout.transpose().map_err(|error| bad(&error))?;
        Ok(Head {
            service: Name::new(service),
            method: Name::new(method),
            // Farther away than a clock can say is no deadline.
            deadline: timeout.and_then(|left| Instant::now().checked_add(left)),
            coding: head.headers.get("grpc-encoding").cloned(),
            headers: metadata(&head.headers).map_err(|error| bad(&error))?,
        })
    }
}

/// Why a request is none of gRPC, with the status that HTTP has for that.
fn no_grpc(head: &Parts) -> Option<(StatusCode, Status)> {
    if head.method != Method::POST {
        let what = format!("gRPC's requests are POST, not {}", head.method);
        let why = refused(Code::Internal, what);
        return Some((StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let kind = head.headers.get(CONTENT_TYPE_NAME);
    let kind = kind.map_or(&b""[..], HeaderValue::as_bytes);
    if is_grpc(kind) {
        return None;
    }
    let kind = String::from_utf8_lossy(kind);
    let what = format!("the content type is `{kind}`; `application/grpc` is known");
    let why = refused(Code::InvalidArgument, what);
    Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

fn response(status: StatusCode) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE_NAME, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(
        HeaderName::from_static("grpc-accept-encoding"),
        HeaderValue::from_static("identity,gzip"),
    );
    response
}

fn status_name() -> HeaderName {
    HeaderName::from_static(Trailers::STATUS)
}

fn trailers(failure: &Failure) -> HeaderMap {
    let headers = Trailers::write(failure).into_iter();
    // What is written there is text.
    let header = |(name, value)| {
        let value = HeaderValue::try_from(value).ok()?;
        Some((HeaderName::from_static(name), value))
    };
    headers.filter_map(header).collect()
}

#[cold]
fn no_single_message(what: &str) -> Status {
    // doc/statuscodes.md of github.com/grpc/grpc has this code for it.
    refused(
        Code::Unimplemented,
        format!("{what} in the request: the method takes one"),
    )
}

#[cold]
fn refused(code: Code, what: String) -> Status {
    Status::new(code, what).with_execution(Execution::NotStarted)
}
