//! How an answer is sent on a stream of HTTP/2.

use super::head::{fine, response, trailers};
use crate::counters::count;
use crate::grpc::{metadata_into, send_bytes};
use crate::peer::response_headers::ResponseHeaders;
use crate::peer::share::{Charge, SMALL};
use crate::server::Shared;
use crate::server::session::Session;
use crate::web::{Exchange, Protocol, Style, WebAnswer};
use crate::{Code, Status};
use bytes::Bytes;
use dovetail_protocol::grpc::Coding;
use dovetail_protocol::{Codec, Execution, Failure, Headers, http as one};
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// An answer up to this is handed to the library as it is; of a longer one as much as the client
/// takes.
const SHORT: usize = 16 << 10;

/// How a stream is answered.
pub(super) struct Respond {
    respond: SendResponse<Bytes>,
    shared: Arc<Shared>,
    /// How long the client may take to take the answer.
    transfer: Duration,
    /// The answer, until it has been sent.
    charge: Charge,
    /// The protocol's part in it; gRPC's until more is known.
    pub(super) style: Style,
    /// HTTP's part in it.
    http: one::ReplyTo,
    /// The headers and trailers of the handler's answer.
    pub(super) said: ResponseHeaders,
}

/// The end behind the items of an answer.
pub(super) enum AnswerEnd {
    Trailers(HeaderMap),
    Data(Bytes),
}

impl Respond {
    pub(super) fn new(
        respond: SendResponse<Bytes>,
        shared: &Arc<Shared>,
        session: &Session<'_>,
    ) -> Self {
        Respond {
            respond,
            shared: shared.clone(),
            transfer: session.limits().transfer,
            charge: Charge::new(session.share()),
            style: Style::new(Protocol::Grpc, Codec::Proto),
            http: one::ReplyTo::last(),
            said: ResponseHeaders::default(),
        }
    }

    /// It is an answer to this request, which is none of gRPC's.
    pub(super) fn to(&mut self, request: &one::Request) {
        self.http = one::ReplyTo::new(request, self.shared.cors.as_ref());
        self.style = Style::new(Protocol::Connect, Codec::Json);
    }

    /// Ready where the caller has gone.
    pub(super) fn poll_reset(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Reason, h2::Error>> {
        self.respond.poll_reset(context)
    }

    fn is_grpc(&self) -> bool {
        self.style.protocol == Protocol::Grpc
    }

    /// Sends an answer of which nothing has been sent.
    pub(super) async fn send(&mut self, answer: Option<WebAnswer>) {
        let answer = answer.unwrap_or_else(|| (&no_answer()).into());
        let answer = self.hold(answer);
        if !self.is_grpc() {
            let response = self.style.whole(answer, &self.said);
            return self.with(response).await;
        }
        match answer {
            WebAnswer::Message(message) => self.message(message).await,
            WebAnswer::Failure(thrown) => self.refuse(&thrown.failure),
            WebAnswer::End => self.refuse(&no_answer().into()),
        }
    }

    /// Charges the client for an answer, which may have to wait for its window; where there is no
    /// room, that is the answer.
    fn hold(&mut self, answer: WebAnswer) -> WebAnswer {
        match &answer {
            WebAnswer::Message(message) if message.len() >= SMALL => {
                let held = self.charge.grow(message.len());
                held.map_or_else(
                    |over| {
                        self.charge.refused();
                        (&Status::from(over).with_execution(Execution::Finished)).into()
                    },
                    |()| answer,
                )
            }
            _ => answer,
        }
    }

    /// Sends gRPC's answer that is a message.
    async fn message(&mut self, message: Bytes) {
        if let Some(mut stream) = self.begin_grpc(self.style.coding_of(&message)) {
            let sent = self
                .in_time(send_bytes(&mut stream, message, SHORT, false))
                .await;
            self.close(stream, sent, AnswerEnd::Trailers(fine()));
        }
    }

    /// Sends gRPC's answer that is a failure and nothing else.
    fn refuse(&mut self, failure: &Failure) {
        let coding = self.style.packing();
        let mut response = response(self.style, coding);
        let headers = response.headers_mut();
        headers.extend(trailers(failure));
        self.said.with_headers(|said| add(said, headers));
        self.said.with_trailers(|said| add(said, headers));
        // Its caller has gone where this fails.
        let _ = self.respond.send_response(response, true);
    }

    /// Sends this answer.
    pub(super) async fn with(&mut self, response: one::Response) {
        let mut response = self.http.complete(response);
        let body = std::mem::take(&mut response.body);
        let head = head_of(response);
        let Ok(mut stream) = self.respond.send_response(head, body.is_empty()) else {
            return;
        };
        if !body.is_empty()
            && !self
                .in_time(send_bytes(&mut stream, body, SHORT, true))
                .await
        {
            self.give_up(stream);
        }
    }

    /// Sends the headers of an answer with items, each of which may be compressed; `None` where its
    /// caller has gone.
    pub(super) fn begin(&mut self) -> Option<SendStream<Bytes>> {
        if self.is_grpc() {
            return self.begin_grpc(self.style.coding);
        }
        let head = head_of(self.http.complete(self.style.head(&self.said)));
        self.respond.send_response(head, false).ok()
    }

    /// Begins an answer of gRPC's, whose messages may be compressed so.
    fn begin_grpc(&mut self, coding: Option<Coding>) -> Option<SendStream<Bytes>> {
        let mut response = response(self.style, coding);
        self.said
            .with_headers(|said| add(said, response.headers_mut()));
        self.respond.send_response(response, false).ok()
    }

    /// Returns the end behind the items of this answer.
    pub(super) fn ending(&self, answer: Option<WebAnswer>) -> AnswerEnd {
        let thrown = match answer {
            Some(WebAnswer::End) => None,
            Some(WebAnswer::Failure(thrown)) => Some(thrown),
            Some(WebAnswer::Message(_)) | None => Some(Failure::from(no_answer()).into()),
        };
        match self.is_grpc() {
            true => {
                AnswerEnd::Trailers(thrown.map_or_else(fine, |thrown| trailers(&thrown.failure)))
            }
            false => AnswerEnd::Data(self.style.end(thrown.as_ref(), &self.said)),
        }
    }

    /// Sends the rest of the items, and the end.
    pub(super) async fn end(
        &self,
        mut stream: SendStream<Bytes>,
        queued: &Exchange,
        end: AnswerEnd,
    ) {
        let sending = poll_fn(|context| {
            queued.drive(context);
            queued.poll_queue(&mut stream, context)
        });
        let mut sent = self.in_time(sending).await;
        if let (AnswerEnd::Data(bytes), true) = (&end, sent) {
            let last = send_bytes(&mut stream, bytes.clone(), SHORT, true);
            sent = self.in_time(last).await;
        }
        self.close(stream, sent, end);
    }

    /// Waits no longer for the client to take something than that may take. False where it took
    /// longer.
    async fn in_time<T>(&self, sending: impl Future<Output = T>) -> bool {
        timeout(self.transfer, sending).await.is_ok()
    }

    fn close(&self, mut stream: SendStream<Bytes>, sent: bool, end: AnswerEnd) {
        match end {
            _ if !sent => self.give_up(stream),
            AnswerEnd::Trailers(mut end) => {
                self.said.with_trailers(|said| add(said, &mut end));
                let _ = stream.send_trailers(end);
            }
            AnswerEnd::Data(_) => {}
        }
    }

    fn give_up(&self, mut stream: SendStream<Bytes>) {
        count(&self.shared.counters.transfer_timeouts);
        stream.send_reset(Reason::CANCEL);
    }
}

/// The head of an answer.
fn head_of(response: one::Response) -> Response<()> {
    let mut head = Response::new(());
    // The answer there is a status, and headers.
    *head.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers.into_iter();
    head.headers_mut()
        .extend(headers.filter_map(|(name, value)| {
            let name = HeaderName::try_from(&*name).ok()?;
            Some((name, HeaderValue::try_from(&*value).ok()?))
        }));
    head
}

/// Adds what a handler has said.
fn add(said: &mut Headers, headers: &mut HeaderMap) {
    // A header that cannot be sent was refused when it was set.
    let _ = metadata_into(said, headers);
}

#[cold]
fn no_answer() -> Status {
    let status = Status::new(Code::Internal, "the call ended without an answer");
    status.with_execution(Execution::MayHaveRun)
}
