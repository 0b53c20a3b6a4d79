use super::machine::code_of;
use super::record::Record;
use super::share::{Charge, SMALL};
use crate::buffers::Gathered;
use crate::method::Method;
use crate::peer::context::{CallInfo, Caller, Compress, OpenCall};
use crate::peer::extensions::Extensions;
use crate::peer::incoming::{Incoming, ReplyTo, Target};
use crate::peer::intercept::{Direction, Observed, Outcome};
use crate::peer::objects::{Transfer, Unsent};
use crate::peer::reply::{ReplyBody, Thrown};
use crate::peer::streams::{ItemOf, Receiver, StreamCall, Streaming};
use crate::{Code, Context, Exceptions, Status};
use dovetail_protocol::Execution;
use dovetail_wire::{
    Blobs, Bytes, Decode, DecodeError, DecodeErrorKind, EncodeError, FieldValue, Kind, Limits,
    ObjectNumbers, Out, ReadParams, Reader, Received, WithObjects,
};
use futures_core::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The answer to a call, on its way.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// An encoded answer, ready to be sent. Dropped instead, it passes no objects.
#[derive(Debug)]
pub struct Reply {
    message: Gathered,
    passed: Option<Unsent>,
}

impl Reply {
    pub(crate) fn new(message: impl Into<Gathered>) -> Self {
        Reply {
            message: message.into(),
            passed: None,
        }
    }

    /// Bytes of the answer.
    pub(crate) fn size(&self) -> usize {
        self.message.len()
    }

    /// Gives up the bytes, to be sent.
    pub(crate) fn sent(self) -> Gathered {
        if let Some(passed) = self.passed {
            passed.sent();
        }
        self.message
    }
}

/// A call that has arrived, its parameters not yet decoded.
pub struct Call {
    context: OpenCall,
    method: &'static Method,
    /// Without what the context has.
    incoming: Box<Incoming>,
    limits: Limits,
    /// The place for the answer.
    out: Vec<u8>,
}

impl Call {
    /// A call of a method that the router has found. Its answer goes into `out`, which is empty.
    pub(crate) fn new(
        mut incoming: Box<Incoming>,
        method: &'static Method,
        caller: Arc<Caller>,
        limits: Limits,
        out: Vec<u8>,
        observed: Observed,
    ) -> Self {
        let preview = incoming.preview.as_mut();
        let extensions = preview.map(|preview| std::mem::take(&mut preview.extensions));
        let call = CallInfo {
            caller,
            service: match &mut incoming.target {
                Target::Named { service, .. } => service.take(),
                Target::Route(_) | Target::Nothing => None,
            },
            method: method.name,
            wire: incoming.reply.wire(),
            deadline: incoming.deadline,
            headers: std::mem::take(&mut incoming.headers),
            get: incoming.get,
            answer: incoming.reply.response_headers(),
            compressed: incoming.compressed,
            compress: Compress::default(),
            over: AtomicBool::new(false),
            cancellation: incoming.cancellation.take(),
            extensions: extensions.unwrap_or_default(),
            observed,
            stop: None,
            trace: None,
            recording: None,
        };
        Call {
            context: OpenCall(Context {
                call: Arc::new(call),
            }),
            method,
            incoming,
            limits,
            out,
        }
    }

    /// Gives up the values that interceptors have left.
    pub(crate) fn take_extensions(&mut self) -> Extensions {
        let info = Arc::get_mut(&mut self.context.0.call);
        info.map(|info| std::mem::take(&mut info.extensions))
            .unwrap_or_default()
    }

    /// Takes the status with which an interceptor has refused the call by its head.
    pub(crate) fn take_refusal(&mut self) -> Option<Status> {
        self.incoming.preview.take()?.refusal
    }

    /// Decodes the parameters over `initial`, runs the handler, and encodes its answer.
    /// Parameters that cannot be decoded are answered without running it.
    pub fn unary<'a, P, T, E, F>(
        mut self,
        initial: P,
        handler: impl FnOnce(Context, P) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        T: FieldValue,
        E: Exceptions,
        F: Future<Output = Result<T, E>> + Send + 'a,
    {
        match self.params(initial) {
            Ok(params) => {
                let running = handler(self.context.clone(), params);
                Box::pin(async move { self.reply(&running.await) })
            }
            Err(status) => self.refuse(&status),
        }
    }

    /// Calls a method that answers with a stream: [`Items`](crate::stream::Items), or a result and
    /// those.
    pub fn stream<'a, P, O, E, F>(
        self,
        initial: P,
        handler: impl FnOnce(Context, P) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        O: Streaming<'a> + 'a,
        E: Exceptions + 'a,
        F: Future<Output = Result<O, E>> + Send + 'a,
    {
        self.with_streams(initial, |streams, context, params| {
            let running = handler(context, params);
            move |call: Call| call.accept(streams, running)
        })
    }

    /// Calls a method that takes a stream.
    pub fn upload<'a, P, I, S, T, E, F>(
        self,
        initial: P,
        handler: impl FnOnce(Context, P, Receiver<I, S>) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        I: FieldValue,
        S: Exceptions,
        T: FieldValue,
        E: Exceptions,
        F: Future<Output = Result<T, E>> + Send + 'a,
    {
        self.with_streams(initial, |streams, context, params| {
            let observer = context.clone();
            let running = handler(context, params, Receiver::of_caller(streams, &observer));
            move |call: Call| async move { call.reply(&running.await) }
        })
    }

    /// Calls a method that takes a stream and answers with one.
    pub fn chat<'a, P, I, S, O, E, F>(
        self,
        initial: P,
        handler: impl FnOnce(Context, P, Receiver<I, S>) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        I: FieldValue,
        S: Exceptions,
        O: Streaming<'a> + 'a,
        E: Exceptions + 'a,
        F: Future<Output = Result<O, E>> + Send + 'a,
    {
        self.with_streams(initial, |streams, context, params| {
            let observer = context.clone();
            let receiver = Receiver::of_caller(streams.clone(), &observer);
            let running = handler(context, params, receiver);
            move |call: Call| call.accept(streams, running)
        })
    }

    /// Decodes the parameters and starts a handler with streams.
    fn with_streams<'a, P, F, R>(
        mut self,
        initial: P,
        start: impl FnOnce(StreamCall, Context, P) -> F,
    ) -> HandlerFuture<'a>
    where
        P: ReadParams,
        F: FnOnce(Call) -> R,
        R: Future<Output = Reply> + Send + 'a,
    {
        let Some(streams) = self.incoming.reply.streams(self.method.name) else {
            let status = no_streams(self.method.name);
            return self.refuse(&status);
        };
        match self.params(initial) {
            Ok(params) => {
                let context = self.context.clone();
                Box::pin(start(streams, context, params)(self))
            }
            Err(status) => self.refuse(&status),
        }
    }

    /// Answers with what the handler gives, then sends its items as the caller takes them.
    async fn accept<'a, O, E>(
        mut self,
        mut streams: StreamCall,
        running: impl Future<Output = Result<O, E>>,
    ) -> Reply
    where
        O: Streaming<'a>,
        E: Exceptions,
    {
        let (result, mut items) = match running.await {
            Ok(output) => output.split(),
            Err(exception) => return self.decline::<O::Result, E>(&streams, exception),
        };
        let answer: Result<_, E> = Ok(result);
        if let Err(status) = self.begin(&answer) {
            return self.fail(&status);
        }
        loop {
            match poll_fn(|context| Pin::new(&mut items).poll_next(context)).await {
                Some(Ok(item)) => {
                    streams.compress(self.context.call.compress.get());
                    if let Err(status) = self.context.observe_item(Direction::Sent, None) {
                        return self.fail(&status);
                    }
                    self.record(|recording| recording.item(Direction::Sent, &ItemOf(&item, 0)));
                    if let Err(status) = streams.send(item).await {
                        return self.fail(&status);
                    }
                }
                Some(Err(exception)) => return self.break_off(&streams, exception),
                None => {
                    self.end(Outcome::Returned);
                    self.incoming.reply.end(&streams, &mut self.out);
                    return Reply::new(self.out);
                }
            }
        }
    }

    /// Gives the answer that a stream follows.
    fn begin<T: FieldValue, E: Exceptions>(&mut self, answer: &Result<T, E>) -> Result<(), Status> {
        self.choose();
        self.record(|recording| recording.reply(&ReplyBody(answer)));
        let result = T::when_absent().is_none();
        let begun = self
            .incoming
            .reply
            .accept(&ReplyBody(answer), result, self.limits);
        begun.map_err(unencodable)
    }

    /// Compresses the answer, or does not, where the handler has said so.
    fn choose(&mut self) {
        if let Some(compress) = self.context.call.compress.get() {
            self.incoming.reply.compress(compress);
        }
    }

    /// Answers with an exception, or a status, that no stream follows.
    fn decline<T: FieldValue, E: Exceptions>(
        mut self,
        streams: &StreamCall,
        exception: E,
    ) -> Reply {
        if let Some(status) = exception.as_status() {
            return self.fail(status);
        }
        let answer: Result<T, E> = Err(exception);
        self.record(|recording| recording.reply(&ReplyBody(&answer)));
        let (body, limits) = (ReplyBody(&answer), self.limits);
        match self
            .incoming
            .reply
            .decline(streams, &mut self.out, &body, limits)
        {
            Ok(()) => self.excepted(),
            Err(error) => self.fail(&unencodable(error)),
        }
    }

    /// Ends the stream with an exception, or the call with a status.
    fn break_off<E: Exceptions>(mut self, streams: &StreamCall, exception: E) -> Reply {
        if exception.as_status().is_none() {
            self.record(|recording| recording.thrown(&Thrown(&exception)));
        }
        let (reply, out) = (&self.incoming.reply, &mut self.out);
        match reply.end_with(streams, out, exception, self.limits) {
            Ok(()) => self.excepted(),
            Err(status) => self.fail(&status),
        }
    }

    /// The answer is a declared exception, and has been written.
    fn excepted(self) -> Reply {
        self.end(Outcome::Exception);
        Reply::new(self.out)
    }

    /// Keeps a message of the call, where it is captured.
    fn record(&self, keep: impl FnOnce(&dyn Record)) {
        if let Some(recording) = &self.context.call.recording {
            keep(&**recording);
        }
    }

    /// Tells interceptors how the call has ended.
    fn end(&self, outcome: Outcome) {
        self.context.call.observed.end(|| outcome);
    }

    /// The answer to a method number that the service does not have: what generated code falls back
    /// to.
    pub fn no_such_method<'a>(self) -> HandlerFuture<'a> {
        let status = Status::new(Code::Unimplemented, "the service has no such method");
        self.refuse(&status)
    }

    /// Answers without running the handler: for a [`Service`](crate::Service) in front of another
    /// one, which lets only some calls pass.
    pub fn refuse<'a>(self, status: &Status) -> HandlerFuture<'a> {
        Box::pin(std::future::ready(self.answer(status)))
    }

    /// Answers with a result that is not the handler's.
    pub(crate) fn respond<T: FieldValue>(self, value: T) -> Reply {
        if self.method.kind.streams() {
            let what = format!(
                "`{}` has streams, which no interceptor can answer",
                self.method.name
            );
            return self.fail(&Status::new(Code::Internal, what));
        }
        self.reply(&Ok::<_, Status>(value))
    }

    pub(crate) fn context_mut(&mut self) -> &mut Context {
        &mut self.context.0
    }

    pub(crate) fn method(&self) -> &'static Method {
        self.method
    }

    pub(crate) fn reply_to(&self) -> &ReplyTo {
        &self.incoming.reply
    }

    /// Bytes of the parameters, decompressed.
    pub(crate) fn size(&self) -> usize {
        self.incoming.body.size()
    }

    /// Returns the deadline of a call of which an interceptor has shortened it.
    pub(crate) fn shortened(&self) -> Option<Instant> {
        let deadline = self.context.call.deadline;
        deadline.filter(|_| deadline != self.incoming.deadline)
    }

    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The parameters, decoded over `initial`. The body is given back afterwards: ask once.
    fn params<P: ReadParams>(&mut self, mut initial: P) -> Result<P, Status> {
        let body = std::mem::replace(&mut self.incoming.body, Bytes::new().into());
        let body = body.decompress();
        let body = body.map_err(|error| {
            let why = Status::new(Code::InvalidArgument, error.to_string());
            why.with_execution(Execution::NotStarted)
        })?;
        let lease = self.incoming.lease.take();
        let results = std::mem::take(&mut self.incoming.results);
        let caps = self.incoming.caps.take().filter(|_| self.method.objects);
        let objects = match caps {
            Some(caps) => Some(caps as Arc<dyn ObjectNumbers>),
            None => self
                .transfer(results)
                .map(|transfer| transfer as Arc<dyn ObjectNumbers>)
                .or(self.incoming.objects.clone()),
        };
        let mut params = (&mut initial, self.method.params);
        let mut params = Counted {
            value: WithObjects::new(&mut params, objects.clone()),
            left: None,
        };
        let limits = self.affordable(body.len());
        let read = self.incoming.encoding.decode(&mut params, &body, limits);
        drop(lease);
        if let Some(left) = params.left {
            self.hold(limits.allocation.saturating_sub(left));
        }
        let error = match read {
            Ok(read) if read == body.len() => {
                let params = Received(&initial, self.method.params);
                self.record(|recording| recording.parameters(&params));
                return Ok(initial);
            }
            Ok(read) => DecodeErrorKind::TrailingBytes {
                left: body.len() - read,
            }
            .into(),
            Err(error) => error,
        };
        if let Some(objects) = objects {
            objects.undo();
        }
        match is_for_memory(&error) && limits != self.limits {
            true => Err(self.unaffordable()),
            false => Err(self.undecodable(&error)),
        }
    }

    /// Limits for decoding this many bytes, within the room on the caller's account.
    fn affordable(&self, length: usize) -> Limits {
        let share = &self.context.call.caller.share;
        let Some(share) = share.as_ref().filter(|_| length >= SMALL) else {
            return self.limits;
        };
        Limits {
            allocation: self.limits.allocation.min(share.room()),
            ..self.limits
        }
    }

    /// Charges the caller for what its parameters take, until the call has been answered.
    fn hold(&mut self, decoded: usize) {
        if decoded < SMALL {
            return;
        }
        let charge = &mut self.incoming.charge;
        if charge.is_empty() {
            *charge = Charge::new(self.context.call.caller.share.as_ref());
        }
        charge.add(decoded);
    }

    /// The parameters take more than there is room for on the caller's account.
    #[cold]
    fn unaffordable(&self) -> Status {
        let share = &self.context.call.caller.share;
        share.iter().for_each(|share| share.refused());
        let method = self.method.name;
        let what = format!(
            "the server holds too much for its callers to decode the parameters of `{method}`"
        );
        Status::new(Code::ResourceExhausted, what).with_execution(Execution::NotStarted)
    }

    #[cold]
    fn undecodable(&self, error: &DecodeError) -> Status {
        let message = format!(
            "the parameters of `{}` cannot be decoded: {error}",
            self.method.name
        );
        let code = match error.kind() {
            DecodeErrorKind::NoObjects => Code::Unimplemented,
            DecodeErrorKind::TooManyObjects { .. } => Code::ResourceExhausted,
            _ => Code::InvalidArgument,
        };
        Status::new(code, message).with_execution(Execution::NotStarted)
    }

    /// The objects of a message of the call's; `None` where it has none, or the connection has no
    /// say.
    fn transfer(&self, results: Vec<(u32, u32)>) -> Option<Arc<Transfer>> {
        if !self.method.objects || self.incoming.objects.is_some() {
            return None;
        }
        let objects = self.context.call.caller.objects()?;
        Some(Arc::new(Transfer::new(objects, None).with_results(results)))
    }

    /// Encodes the answer.
    fn reply<T: FieldValue, E: Exceptions>(mut self, result: &Result<T, E>) -> Reply {
        if self.context.call.observed.is_observed() {
            self.observe_result(result);
        }
        if self.method.kind.is_oneway() {
            self.incoming.reply.accepted(&mut self.out);
            return Reply::new(self.out);
        }
        let failed = result.as_ref().err().and_then(Exceptions::as_status);
        if let Some(status) = failed {
            return self.fail(status);
        }
        self.choose();
        let transfer = self.transfer(Vec::new());
        let reply = &mut self.incoming.reply;
        let objects = transfer.clone().map(|transfer| reply.numbers(transfer));
        let body = ReplyBody(result);
        let body = WithObjects::new(&body, objects.or(self.incoming.objects.clone()));
        let mut blobs = Blobs::default();
        let out = Out::with_blobs(&mut self.out, &mut blobs);
        match self.incoming.reply.reply(out, &body, self.limits) {
            Ok(()) => {
                self.incoming.reply.returned(|| match (&transfer, result) {
                    (Some(transfer), Ok(_)) if T::KIND == Kind::Object => {
                        transfer.first().ok_or_else(no_object)
                    }
                    _ => Err(no_object()),
                });
                let sent = self.incoming.reply.is_sent();
                let exports = transfer.filter(|transfer| !sent && transfer.exports());
                Reply {
                    message: Gathered {
                        bytes: self.out,
                        blobs,
                    },
                    passed: exports.map(Unsent::new),
                }
            }
            Err(error) => self.fail(&unencodable(error)),
        }
    }

    /// Answers with the failure of a handler that has run, whatever it knows of calls of its own.
    fn fail(self, status: &Status) -> Reply {
        self.answer(&status.clone().with_execution(Execution::Finished))
    }

    #[cold]
    fn observe_result<T: FieldValue, E: Exceptions>(&self, result: &Result<T, E>) {
        let failed = result.as_ref().err().and_then(Exceptions::as_status);
        if failed.is_none() {
            self.record(|recording| recording.reply(&ReplyBody(result)));
        }
        match result {
            Ok(_) => self.end(Outcome::Returned),
            Err(exception) if exception.as_status().is_none() => self.end(Outcome::Exception),
            // Told by `answer`, but for one-way calls.
            Err(exception) if self.method.kind.is_oneway() => {
                let failed = exception.as_status().cloned().map(Outcome::Failed);
                failed.into_iter().for_each(|failed| self.end(failed));
            }
            Err(_) => {}
        }
    }

    pub(crate) fn answer(mut self, status: &Status) -> Reply {
        let failed = || Outcome::Failed(status.clone());
        self.context.call.observed.end(failed);
        match self.method.kind.is_oneway() {
            true => self.incoming.reply.accepted(&mut self.out),
            false => self.incoming.reply.fail(&mut self.out, status),
        }
        Reply::new(self.out)
    }
}

/// A decoded value, and the rest of the memory limit.
struct Counted<D> {
    value: D,
    left: Option<usize>,
}

impl<D: Decode> Decode for Counted<D> {
    #[inline]
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        self.value.decode(reader)?;
        self.left = Some(reader.budget().left().allocation);
        Ok(())
    }
}

fn is_for_memory(error: &DecodeError) -> bool {
    matches!(error.kind(), DecodeErrorKind::AllocationLimit { .. })
}

#[cold]
fn unencodable(error: EncodeError) -> Status {
    Status::new(
        code_of(&error, Code::Internal),
        format!("the answer cannot be encoded: {error}"),
    )
}

/// A call to whose result others are addressed, and that has none.
#[cold]
fn no_object() -> Status {
    let what = "the call returned no object of this end's";
    Status::new(Code::FailedPrecondition, what)
}

#[cold]
pub(crate) fn no_streams(method: &str) -> Status {
    let what = format!(
        "`{method}` has streams, which need Dovetail's own wire, gRPC, gRPC-Web, WebSocket, or application/connect+json of Connect"
    );
    Status::new(Code::Unimplemented, what).with_execution(Execution::NotStarted)
}
