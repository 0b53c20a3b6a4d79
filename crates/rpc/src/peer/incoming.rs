//! A call that has arrived, whatever the wire.

use super::machine::Called;
use super::share::{Charge, Over, SMALL};
use crate::peer::cancellation::Cancellation;
use crate::peer::capnp;
use crate::peer::context::Caller;
use crate::peer::intercept::Preview;
use crate::peer::link::Link;
use crate::peer::objects::{Lease, Owned, ReceivedCaps, Transfer, local};
use crate::peer::reply::ReplyBody;
use crate::peer::response_headers::ResponseHeaders;
use crate::peer::streams::{NativeCall, StreamCall, unencodable};
use crate::{Exceptions, Status, clock, web};
use dovetail_protocol::dovetail::{self, Body, MethodKind};
use dovetail_protocol::{Headers, Name, Wire, msgpack_rpc, thrift};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits, ObjectNumbers, Out};
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

/// A call that has arrived. It is large, and handed on often: in a box.
pub(crate) struct Incoming {
    pub(crate) target: Target,
    /// The object that is called; nothing where it is not there. `None` for a service.
    pub(crate) object: Option<Option<Owned>>,
    pub(crate) oneway: bool,
    /// Decompressed where it is decoded: what waits costs no more than was sent.
    pub(crate) body: Body,
    pub(crate) encoding: Encoding,
    /// Whether the body came compressed.
    pub(crate) compressed: bool,
    pub(crate) deadline: Option<Instant>,
    /// When it came, where the clock was asked for its deadline.
    pub(crate) arrived: Option<Instant>,
    pub(crate) headers: Headers,
    /// It came by GET.
    pub(crate) get: bool,
    pub(crate) reply: ReplyTo,
    /// The meaning of references to objects, where that is not for the connection to say.
    pub(crate) objects: Option<Arc<dyn ObjectNumbers>>,
    /// The results of earlier calls to which the parameters refer: the call, and the object of this
    /// end's.
    pub(crate) results: Vec<(u32, u32)>,
    /// The objects in the table of its message, on a wire that has one.
    pub(crate) caps: Option<Arc<ReceivedCaps>>,
    /// Until the parameters are read.
    pub(crate) lease: Option<Lease>,
    /// The cancellation of a handler that has a thread of its own.
    pub(crate) cancellation: Option<Arc<Cancellation>>,
    /// Memory charged to the caller for it.
    pub(crate) charge: Charge,
    /// The decisions of interceptors about its head.
    pub(crate) preview: Option<Box<Preview>>,
}

/// An arrival among the other end's calls.
pub(crate) enum Arrival {
    Call(Box<Incoming>),
    /// The caller of this call has gone.
    Cancelled(u32),
}

/// The target of a call.
#[derive(Clone)]
pub(crate) enum Target {
    /// By name, with each call.
    Named { service: Option<Name>, method: Name },
    /// By the router's number, found when the caller named the method once.
    Route(usize),
    /// Nothing: how it is answered is known to the reply.
    Nothing,
}

/// How to answer a call.
#[derive(Clone)]
pub(crate) enum ReplyTo {
    Thrift(thrift::ReplyTo),
    MsgpackRpc(msgpack_rpc::ReplyTo),
    Web(web::WebReplyTo),
    Capnp(capnp::CapnpReplyTo),
    Dovetail {
        reply: dovetail::ReplyTo,
        kind: MethodKind,
        /// The streams of the call, if it has any.
        streams: Option<NativeCall>,
        /// The connection that wants to know which object was returned.
        promise: Option<Arc<Link>>,
    },
    /// A call inside this process.
    Local(local::LocalAnswer),
}

impl From<thrift::IncomingCall> for Box<Incoming> {
    fn from(call: thrift::IncomingCall) -> Self {
        let target = Target::Named {
            service: call.service,
            method: call.method,
        };
        let params = (call.encoding, call.body);
        Box::new(Incoming {
            oneway: call.oneway,
            headers: call.headers,
            ..Incoming::new(target, params, ReplyTo::Thrift(call.reply))
        })
    }
}

impl From<msgpack_rpc::IncomingCall> for Box<Incoming> {
    fn from(call: msgpack_rpc::IncomingCall) -> Self {
        let oneway = call.oneway();
        let target = Target::Named {
            service: call.service,
            method: call.method,
        };
        let params = (Encoding::Msgpack, call.params);
        Box::new(Incoming {
            oneway,
            ..Incoming::new(target, params, ReplyTo::MsgpackRpc(call.reply))
        })
    }
}

impl Arrival {
    /// Takes in a call of the other end of this connection.
    pub(crate) fn over(called: Called, link: &Arc<Link>) -> Self {
        match called {
            Called::Call(call) => Arrival::Call(Incoming::over(call, link)),
            Called::Named(call) => Arrival::Call(call.into()),
            Called::Placed(call) => Arrival::Call(Incoming::placed(call, link)),
            Called::Cancelled(call) => Arrival::Cancelled(call),
        }
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
impl Incoming {
    /// A call that has nothing but this.
    pub(crate) fn new(target: Target, (encoding, body): (Encoding, Bytes), reply: ReplyTo) -> Self {
        Incoming {
            target,
            object: None,
            oneway: false,
            body: body.into(),
            encoding,
            compressed: false,
            deadline: None,
            arrived: None,
            headers: Headers::new(),
            get: false,
            reply,
            objects: None,
            results: Vec::new(),
            caps: None,
            lease: None,
            cancellation: None,
            charge: Charge::default(),
            preview: None,
        }
    }

    /// Bytes that its parameters take, decompressed.
    pub(crate) fn weight(&self) -> usize {
        match self.body.is_compressed() {
            true => self.body.held().saturating_add(self.body.size()),
            false => self.body.held(),
        }
    }

    /// Answers a one-way call before its handler runs, where the wire has an answer. True where
    /// something was appended.
    pub(crate) fn acknowledge(&mut self, out: &mut Vec<u8>) -> bool {
        match &mut self.reply {
            ReplyTo::Thrift(reply) => reply.acknowledge(out),
            ReplyTo::MsgpackRpc(_)
            | ReplyTo::Web(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => false,
        }
    }

    /// Charges the caller for it.
    pub(crate) fn charge(&mut self, caller: &Caller) -> Result<(), Over> {
        let weight = self.weight();
        if weight >= SMALL && self.charge.is_empty() {
            self.charge = Charge::new(caller.share.as_ref());
            self.charge.grow(weight)?;
        }
        Ok(())
    }

    /// A call over Dovetail's own wire.
    fn over(call: dovetail::IncomingCall, link: &Arc<Link>) -> Box<Self> {
        let number = call.reply.call();
        let streams = call.kind.streams();
        let streams = streams.then(|| NativeCall::new(link.clone(), number));
        let promise = call.promises().then(|| link.clone());
        let results = call.results().to_vec();
        let arrived = call.deadline.map(|_| clock::now());
        Box::new(Incoming {
            target: Target::Route(call.route),
            object: call.object().map(|number| link.objects.get(number)),
            oneway: call.kind.is_oneway(),
            compressed: call.body.is_compressed(),
            body: call.body,
            encoding: call.encoding,
            // Farther away than a clock can say is no deadline.
            deadline: call
                .deadline
                .zip(arrived)
                .and_then(|(left, now)| now.checked_add(left)),
            arrived,
            headers: call.headers,
            get: false,
            reply: ReplyTo::Dovetail {
                reply: call.reply,
                kind: call.kind,
                streams,
                promise,
            },
            objects: None,
            results,
            caps: None,
            lease: link.objects.lease(),
            cancellation: None,
            charge: Charge::default(),
            preview: None,
        })
    }
}

impl Incoming {
    /// A call over Cap'n Proto's protocol.
    fn placed(call: capnp::IncomingCall, link: &Arc<Link>) -> Box<Self> {
        let reply = capnp::CapnpReplyTo::new(link.clone(), call.question, call.method);
        let params = (Encoding::Custom(&call.method.params), call.params);
        let caps = (!call.objects.is_empty()).then(|| {
            let transfer = Transfer::new(link.objects.clone(), call.lease);
            Arc::new(ReceivedCaps::new(transfer, call.objects))
        });
        Box::new(Incoming {
            object: call.object,
            caps,
            ..Incoming::new(Target::Route(call.route), params, ReplyTo::Capnp(reply))
        })
    }
}

#[deny(clippy::wildcard_enum_match_arm)]
impl ReplyTo {
    /// The numbers of objects in the answer.
    pub(crate) fn numbers(&mut self, transfer: Arc<Transfer>) -> Arc<dyn ObjectNumbers> {
        match self {
            ReplyTo::Capnp(reply) => reply.table(transfer),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Web(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => transfer,
        }
    }

    /// Returns whether an answer counts as sent once it is encoded, because the machine of the
    /// connection has made it.
    pub(crate) fn is_sent(&self) -> bool {
        matches!(self, ReplyTo::Capnp(_))
    }

    /// Appends the answer: a result or a declared exception. After an error `out` is as it was.
    pub(crate) fn reply(
        &self,
        out: Out<'_>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        match self {
            ReplyTo::Thrift(reply) => reply.reply(out, body, limits),
            ReplyTo::MsgpackRpc(reply) => reply.reply(out.buffer, body, limits),
            ReplyTo::Web(reply) => reply.reply(out.buffer, body, limits),
            ReplyTo::Capnp(reply) => reply.reply(out.buffer, body, limits),
            ReplyTo::Dovetail {
                kind: MethodKind::OneWay,
                ..
            } => Ok(()),
            ReplyTo::Dovetail {
                reply,
                streams: Some(streams),
                ..
            } => {
                let mut answer = Vec::new();
                reply.reply(&mut answer, body, limits)?;
                streams.answer(|out| out.append(&mut answer));
                Ok(())
            }
            ReplyTo::Dovetail { reply, .. } => reply.reply(out, body, limits),
            ReplyTo::Local(answer) => answer.reply(body, limits),
        }
    }

    /// Compresses the answer, or does not, where that is possible.
    pub(crate) fn compress(&mut self, compress: bool) {
        match self {
            ReplyTo::Web(reply) => reply.compress(compress),
            ReplyTo::Dovetail { reply, .. } if !compress => *reply = reply.plain(),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => {}
        }
    }

    /// Says what object was returned, if anybody wants to know.
    pub(crate) fn returned(&self, outcome: impl FnOnce() -> Result<u32, Status>) {
        if let ReplyTo::Dovetail {
            reply,
            promise: Some(link),
            ..
        } = self
        {
            link.returned(reply.call(), outcome());
        }
    }

    /// The connection whose calls may go on once this one is answered.
    pub(crate) fn promised_to(&self) -> Option<&Arc<Link>> {
        match self {
            ReplyTo::Dovetail { promise, .. } => promise.as_ref(),
            ReplyTo::Capnp(reply) => reply.promised_to(),
            ReplyTo::Thrift(_) | ReplyTo::MsgpackRpc(_) | ReplyTo::Web(_) | ReplyTo::Local(_) => {
                None
            }
        }
    }

    /// Returns whether the caller of a call with streams has gone; else the waker is woken when it
    /// goes.
    pub(crate) fn is_over(&self, context: &Context<'_>) -> bool {
        match self {
            ReplyTo::Dovetail {
                streams: Some(streams),
                ..
            } => streams.is_over(context),
            ReplyTo::Web(reply) => reply.is_over(context),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => false,
        }
    }

    /// The call with its streams; `None` where the wire has none, or the method.
    pub(crate) fn streams(&self, method: &'static str) -> Option<StreamCall> {
        match self {
            ReplyTo::Dovetail {
                streams: Some(streams),
                ..
            } => Some(StreamCall::native(streams.clone(), method)),
            ReplyTo::Web(reply) => {
                let streams = reply.streams()?;
                Some(StreamCall::web(streams.handle(), method))
            }
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => None,
        }
    }

    /// Gives the answer that a stream follows; `result` where it is more than that the stream
    /// follows.
    pub(crate) fn accept(
        &self,
        body: &impl Encode,
        result: bool,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        match self {
            ReplyTo::Web(reply) => reply.accept(body, result, limits),
            ReplyTo::Dovetail {
                reply,
                streams: Some(streams),
                ..
            } => streams.append(|out| reply.reply(out, body, limits)),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => Ok(()),
        }
    }

    /// Ends the items of an answer that [`accept`](Self::accept) began.
    pub(crate) fn end(&self, streams: &StreamCall, out: &mut Vec<u8>) {
        match self {
            ReplyTo::Web(reply) => reply.end(out),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => streams.end(),
        }
    }

    /// Ends the items with an exception that the contract declares for them; returns the status
    /// where it is none.
    pub(crate) fn end_with<E: Exceptions>(
        &self,
        streams: &StreamCall,
        out: &mut Vec<u8>,
        exception: E,
        limits: Limits,
    ) -> Result<(), Status> {
        let ReplyTo::Web(reply) = self else {
            return streams.end_with(exception);
        };
        if let Some(status) = exception.as_status() {
            return Err(status.clone());
        }
        let answer: Result<(), E> = Err(exception);
        let ended = reply.end_with(out, &ReplyBody(&answer), limits);
        ended.map_err(|error| unencodable(streams.method(), &error))
    }

    /// Answers a call with streams with an exception that no items follow.
    pub(crate) fn decline(
        &self,
        streams: &StreamCall,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        if let ReplyTo::Web(reply) = self {
            return reply.reply(out, body, limits);
        }
        self.accept(body, false, limits)?;
        streams.end();
        Ok(())
    }

    /// Returns the bytes of the answer that is left for a stream of HTTP/2.
    pub(crate) fn left_bytes(&self) -> usize {
        match self {
            ReplyTo::Web(reply) => reply.left_bytes(),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => 0,
        }
    }

    /// Returns the place for headers and trailers of the answer; `None` where the wire has nothing
    /// for them.
    pub(crate) fn response_headers(&self) -> Option<ResponseHeaders> {
        match self {
            ReplyTo::Web(reply) => Some(reply.response_headers()),
            ReplyTo::Thrift(_)
            | ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => None,
        }
    }

    /// Appends a failure; to a one-way call, what [`accepted`](Self::accepted) says.
    pub(crate) fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        match self {
            ReplyTo::Thrift(reply) => reply.exception(out, status),
            ReplyTo::MsgpackRpc(reply) => reply.exception(out, status),
            ReplyTo::Web(reply) => reply.fail(out, status),
            ReplyTo::Capnp(reply) => reply.fail(out, status),
            ReplyTo::Dovetail {
                kind: MethodKind::OneWay,
                ..
            } => {}
            ReplyTo::Dovetail {
                reply,
                streams: Some(streams),
                ..
            } => streams.answer(|out| reply.fail(out, status)),
            ReplyTo::Dovetail { reply, .. } => {
                reply.fail(out, status);
                self.returned(|| Err(status.clone()));
            }
            ReplyTo::Local(answer) => answer.fail(status),
        }
    }

    /// Appends what a one-way call is answered with, where the wire has something for it.
    pub(crate) fn accepted(&self, out: &mut Vec<u8>) {
        match self {
            ReplyTo::Thrift(reply) => reply.accepted(out),
            ReplyTo::MsgpackRpc(reply) => reply.accepted(out),
            ReplyTo::Web(reply) => reply.accepted(out),
            ReplyTo::Capnp(reply) => reply.accepted(out),
            ReplyTo::Dovetail { .. } | ReplyTo::Local(_) => {}
        }
    }

    /// Returns whether this answer must not be sent before those to earlier calls.
    #[cfg(feature = "async")]
    pub(crate) fn ordered(&self) -> bool {
        match self {
            ReplyTo::Thrift(reply) => reply.ordered(),
            ReplyTo::Web(reply) => reply.ordered(),
            ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => false,
        }
    }

    /// Returns whether the connection is to be closed after this answer.
    pub(crate) fn closes(&self) -> bool {
        match self {
            ReplyTo::Thrift(reply) => reply.closes(),
            ReplyTo::Web(reply) => reply.closes(),
            ReplyTo::MsgpackRpc(_)
            | ReplyTo::Capnp(_)
            | ReplyTo::Dovetail { .. }
            | ReplyTo::Local(_) => false,
        }
    }

    /// The number under which the caller may cancel the call.
    pub(crate) fn cancelled_as(&self) -> Option<u32> {
        match self {
            ReplyTo::Dovetail { reply, .. } => Some(reply.call()),
            ReplyTo::Capnp(reply) => Some(reply.question()),
            ReplyTo::Thrift(_) | ReplyTo::MsgpackRpc(_) | ReplyTo::Web(_) | ReplyTo::Local(_) => {
                None
            }
        }
    }

    pub(crate) fn wire(&self) -> Wire {
        match self {
            ReplyTo::Thrift(reply) => reply.wire().into(),
            ReplyTo::MsgpackRpc(_) => Wire::MsgpackRpc,
            ReplyTo::Capnp(_) => Wire::Capnp,
            ReplyTo::Web(reply) => reply.style().wire(),
            ReplyTo::Dovetail { .. } | ReplyTo::Local(_) => Wire::Dovetail,
        }
    }
}
