//! A call over HTTP/2: one stream of a connection.

use super::super::{Handlers, in_flight};
use super::answer::{AnswerEnd, Respond};
use super::head::{self, refused};
use super::request::{Request, Stop};
use super::{ConnectionParts, STREAM_WINDOW};
use crate::Code;
use crate::buffers::Gathered;
use crate::counters::count;
use crate::dispatch::running::{Waiting, outcome};
use crate::grpc::{Messages, coding};
use crate::method::Method;
use crate::peer::failures::cancelled;
use crate::peer::incoming::Incoming;
use crate::peer::intercept::Preview;
use crate::server::http::{Ask, Parameters, may_be_compressed};
use crate::server::{LINGER, ServerLimits};
use crate::web::{Exchange, Plain, Protocol, WebAnswer, WebReplyTo};
use bytes::Bytes;
use dovetail_protocol::Execution;
use dovetail_protocol::connect::Refusal;
use dovetail_protocol::http::Response;
use futures_util::future::abortable;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::request::Parts;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::timeout;

/// A call that is to be answered.
pub(super) struct Call<'a> {
    parts: &'a ConnectionParts<'a>,
    respond: Respond,
    /// The call, once interceptors have seen its head.
    preview: Option<Box<Preview>>,
    /// The body of the request has come to its end, or is broken.
    is_read: bool,
}

/// An answer, complete or but for its end.
enum Answered {
    Whole(Option<WebAnswer>),
    /// Items, what of them is still queued, and what comes behind them.
    Items(SendStream<Bytes>, Arc<Exchange>, AnswerEnd),
    /// To a request that calls nothing.
    Known(Response),
}

/// The reason why there is no answer of a handler.
enum Unanswered {
    Stopped(Stop),
    /// An interceptor has refused the call by its head.
    ByHead(Box<Ask>),
}

impl<T: Into<Stop>> From<T> for Unanswered {
    fn from(why: T) -> Self {
        Unanswered::Stopped(why.into())
    }
}

/// How far an answer with items has come.
enum Sending {
    Waiting,
    Begun(SendStream<Bytes>),
    /// Its caller has gone.
    Gone,
}

impl<'a> Call<'a> {
    pub(super) fn new(parts: &'a ConnectionParts<'a>, respond: SendResponse<Bytes>) -> Self {
        let respond = Respond::new(respond, parts.shared, parts.session);
        Call {
            parts,
            respond,
            preview: None,
            is_read: false,
        }
    }

    /// `arriving` is of all streams of the connection; see [`Request::new`].
    pub(super) async fn run(
        mut self,
        head: Parts,
        mut body: RecvStream,
        arriving: &'a Cell<usize>,
    ) {
        self.is_read = body.is_end_stream();
        // As long as this exists, a request that is answered early is not reset.
        let stream = body.flow_control().clone();
        let answered = match self.answer(&head, body, arriving).await {
            Err(Unanswered::ByHead(ask)) => {
                let nothing = ask.nothing();
                self.whole(*ask, nothing).await
            }
            answered => answered,
        };
        match answered {
            Ok(Answered::Whole(answer)) => self.respond.send(answer).await,
            Ok(Answered::Items(stream, queued, end)) => {
                self.respond.end(stream, &queued, end).await;
            }
            Ok(Answered::Known(response)) => self.respond.with(response).await,
            Err(Unanswered::Stopped(Stop::Refused(why))) => {
                self.respond.send(Some((&why).into())).await;
            }
            Err(_) => return count(&self.parts.shared.counters.cancelled_calls),
        }
        if !self.is_read {
            self.linger().await;
        }
        drop(stream);
    }

    /// Lets the caller read the answer before the rest of its request is refused: curl 7.88
    /// takes a reset for an error, though nothing is wrong. The caller gets no credit meanwhile.
    async fn linger(&mut self) {
        let reset = poll_fn(|context| self.respond.poll_reset(context));
        // Either has the same meaning here.
        let _ = timeout(LINGER, reset).await;
    }

    fn limits(&self) -> &'a ServerLimits {
        self.parts.session.limits()
    }

    async fn answer(
        &mut self,
        head: &Parts,
        body: RecvStream,
        arriving: &'a Cell<usize>,
    ) -> Result<Answered, Unanswered> {
        let shared = self.parts.shared;
        let share = self.parts.session.share();
        let limits = self.limits().connection;
        let most = limits.message_bytes;
        let foreign = self
            .parts
            .session
            .foreign_host(head::hosts(head, self.parts.opaque_authority.get()));
        if let Some(ask) = head::grpc(head, shared) {
            if let Some(why) = foreign {
                return Err(why.into());
            }
            let messages = Messages::new(coding(&head.headers), body, limits);
            let request = Request::new(messages, most, arriving, share);
            return self.enveloped(ask?, request).await;
        }
        let mut asked = head::request(head);
        self.respond.to(&asked);
        if let Some(why) = foreign {
            return Ok(Answered::Known(Refusal::of(why).response()));
        }
        match Ask::enveloped(&asked, shared) {
            Some(Err(answer)) => Ok(Answered::Known(answer)),
            Some(Ok(ask)) => {
                let messages = Messages::new(ask.coding.clone(), body, limits);
                let messages = match ask.style.protocol {
                    Protocol::GrpcWeb { text: true } => messages.in_text(),
                    _ => messages,
                };
                self.enveloped(ask, Request::new(messages, most, arriving, share))
                    .await
            }
            None => {
                let mut request =
                    Request::new(Messages::new(None, body, limits), most, arriving, share);
                let compressed = may_be_compressed(&asked);
                let head = || Ask::of_head(&asked, shared);
                let body = self
                    .received(pin!(request.body()), compressed, head)
                    .await?;
                asked.body = body;
                drop(request);
                match Ask::single(&asked, shared) {
                    Ok((ask, parameters)) => self.whole(ask, parameters).await,
                    Err(answer) => Ok(Answered::Known(answer)),
                }
            }
        }
    }

    /// A call whose messages are in envelopes.
    async fn enveloped(
        &mut self,
        mut ask: Ask,
        mut request: Request<'a>,
    ) -> Result<Answered, Unanswered> {
        self.respond.style = ask.style;
        let shared = self.parts.shared;
        let method = match ask.method {
            Some(method) => method,
            // Why, and at once: a caller with a stream may wait for an answer before it sends
            // anything.
            None => {
                let route = shared.dispatcher.routes.find(&ask.target);
                route
                    .inspect_err(|_| count(&shared.counters.unknown_methods))?
                    .method
            }
        };
        if method.kind.streams() {
            return self.streamed(ask, method, request).await;
        }
        let message = self.message(&ask, pin!(request.single())).await?;
        drop(request);
        let parameters = ask.parameters(Some(method), message);
        self.whole(ask, parameters).await
    }

    /// Waits for the parameters of a call whose messages are in envelopes.
    async fn message(
        &mut self,
        ask: &Ask,
        message: Pin<&mut impl Future<Output = Result<Plain, Stop>>>,
    ) -> Result<Plain, Unanswered> {
        let coding = ask.coding.as_deref();
        let compressed = coding.is_some_and(|coding| coding != b"identity");
        let head = || Some(ask.clone());
        self.received(message, compressed, head).await
    }

    /// Waits for the body of a call. If it does not come with its head, or has to be decompressed,
    /// interceptors see the head first, and may refuse the call.
    async fn received<T>(
        &mut self,
        body: Pin<&mut impl Future<Output = Result<T, Stop>>>,
        compressed: bool,
        head: impl FnOnce() -> Option<Ask>,
    ) -> Result<T, Unanswered> {
        let shared = self.parts.shared;
        let mut body = pin!(in_time(self.parts, body));
        let at_once = poll_fn(|context| Poll::Ready(body.as_mut().poll(context)));
        if !compressed && let Poll::Ready(body) = at_once.await {
            return Ok(self.read(body)?);
        }
        if let Some(ask) = head() {
            self.respond.style = ask.style;
            let reply = WebReplyTo::left(ask.method, ask.style, self.respond.said.clone());
            self.preview = ask.preview(reply, shared, self.parts.session.caller());
            let preview = self.preview.as_ref();
            if preview.is_some_and(|preview| preview.refusal.is_some()) {
                return Err(Unanswered::ByHead(Box::new(ask)));
            }
        }
        Ok(self.read(body.await)?)
    }

    /// Remembers that nothing more of the request is to come, unless it was refused.
    fn read<T>(&mut self, body: Result<T, Stop>) -> Result<T, Stop> {
        self.is_read = body.is_ok();
        body
    }

    /// A call without streams.
    async fn whole(&mut self, ask: Ask, parameters: Parameters) -> Result<Answered, Unanswered> {
        self.respond.style = ask.style;
        let reply = WebReplyTo::left(ask.method, ask.style, self.respond.said.clone());
        let answer = self.handle(ask.call(parameters, reply.clone()));
        tokio::select! {
            biased;
            // Its bytes are for wires that answer in bytes.
            _ = answer => Ok(Answered::Whole(reply.take())),
            _ = poll_fn(|context| self.respond.poll_reset(context)) => Err(Stop::Gone.into()),
        }
    }

    /// A call with streams: its driver, as [`Exchange`] calls it.
    async fn streamed(
        &mut self,
        mut ask: Ask,
        method: &'static Method,
        mut request: Request<'a>,
    ) -> Result<Answered, Unanswered> {
        let parameters = match (method.kind.client_streams(), method.params) {
            (true, []) => ask.before_items(&Plain::default())?,
            (true, _) => ask.before_items(&self.message(&ask, pin!(request.first())).await?)?,
            (false, _) => {
                let message = self.message(&ask, pin!(request.single())).await?;
                ask.parameters(Some(method), message)
            }
        };
        let reply = WebReplyTo::left(Some(method), ask.style, self.respond.said.clone());
        let exchange = Exchange::at_callee(method, self.limits().message, ask.style);
        let left = Left(&exchange);
        let streams = reply.with_streams(exchange.clone());
        let mut answer = pin!(self.handle(ask.call(parameters, streams)));
        let mut request = method.kind.client_streams().then_some(request);
        self.is_read = false;
        let mut sending = Sending::Waiting;
        poll_fn(|context| {
            exchange.drive(context);
            receive(&mut request, &exchange, context);
            let answered = answer.as_mut().poll(context);
            self.poll_send(&mut sending, &exchange, context);
            answered.map(drop)
        })
        .await;
        drop(left);
        self.is_read = request.is_none();
        let stream = match sending {
            Sending::Waiting => return Ok(Answered::Whole(reply.take())),
            Sending::Begun(stream) => stream,
            Sending::Gone => return Ok(Answered::Whole(None)),
        };
        let end = self.respond.ending(reply.take());
        Ok(Answered::Items(stream, exchange, end))
    }

    /// Sends what the handler has queued.
    fn poll_send(&mut self, sending: &mut Sending, exchange: &Exchange, context: &mut Context<'_>) {
        if let Sending::Waiting = sending {
            if self.respond.poll_reset(context).is_ready() {
                *sending = Sending::Gone;
            } else if exchange.has_begun() {
                *sending = self.respond.begin().map_or(Sending::Gone, Sending::Begun);
            } else {
                return;
            }
        }
        if let Sending::Begun(stream) = sending {
            let queue = exchange.poll_queue(stream, context);
            if !matches!(queue, Poll::Ready(Err(()))) && stream.poll_reset(context).is_pending() {
                return;
            }
            *sending = Sending::Gone;
        }
        exchange.fail(&cancelled());
    }

    /// Runs the handler: in place, or in the pool. Its answer is left where the call says.
    fn handle(&mut self, mut call: Box<Incoming>) -> impl Future<Output = Gathered> + use<'a> {
        call.preview = self.preview.take();
        let waiting = Waiting {
            reply: call.reply.clone(),
            deadline: call.deadline,
        };
        let (answer, _) = abortable(run(self.parts, call));
        outcome(&self.parts.shared.dispatcher, answer, waiting)
    }
}

/// Waits no longer for a message than one may take.
async fn in_time<T>(
    parts: &ConnectionParts<'_>,
    message: Pin<&mut impl Future<Output = Result<T, Stop>>>,
) -> Result<T, Stop> {
    let limit = parts.session.limits().transfer;
    timeout(limit, message).await.unwrap_or_else(|_| {
        count(&parts.shared.counters.transfer_timeouts);
        let what = format!("the request took longer than {limit:?}");
        Err(refused(Code::DeadlineExceeded, what).into())
    })
}

/// Tells a handler in the pool that nobody drives its call any longer.
struct Left<'a>(&'a Exchange);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fail(&cancelled());
    }
}

/// Takes in what has come of the caller's items.
fn receive(request: &mut Option<Request<'_>>, exchange: &Exchange, context: &mut Context<'_>) {
    // Messages may be many times as long as what came of them, so that HTTP's own window does not
    // limit them.
    while exchange.waiting() < STREAM_WINDOW as usize
        && let Some(messages) = request
    {
        let Poll::Ready(next) = messages.poll_next(exchange.waiting(), context) else {
            return;
        };
        match next {
            Ok(Some(message)) => {
                exchange.arrived(message);
                continue;
            }
            Ok(None) => exchange.caller_ends(Ok(())),
            Err(Stop::Refused(why)) => {
                exchange.caller_ends(Err(why.with_execution(Execution::MayHaveRun)));
            }
            Err(Stop::Gone) => exchange.fail(&cancelled()),
        }
        *request = None;
    }
}

/// Runs the handler of a call.
async fn run(parts: &ConnectionParts<'_>, mut call: Box<Incoming>) -> Gathered {
    parts.session.note_call(&call);
    let ConnectionParts {
        shared,
        session,
        handlers,
        ..
    } = *parts;
    let pooled = handlers == Handlers::Pool;
    if !pooled && session.is_long(&call) && session.no_room().is_none() && session.charge(&mut call)
    {
        let _place = in_flight::InFlightGuard::take(&shared.waiting);
        return session.decoded_aside(call, handlers).await;
    }
    if !pooled || session.no_room().is_some() || !session.charge(&mut call) {
        let running = session.start_on_loop(call, handlers, Vec::new());
        let _place = in_flight::InFlightGuard::take(&shared.waiting);
        return running.await;
    }
    let _place = in_flight::InFlightGuard::take(&shared.waiting);
    session.in_pool(call).await
}
