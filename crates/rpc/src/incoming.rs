//! A call that has arrived, whatever the wire.

use crate::client::Called;
#[cfg(feature = "grpc")]
use crate::grpc;
use crate::link::Link;
use crate::objects::{Lease, local};
use crate::streams::StreamCall;
use crate::{MethodKind, Service, Status};
use dovetail_protocol::{Headers, Name, Wire, dovetail, msgpack_rpc, thrift};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits, ObjectNumbers, Out};
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

/// A call that has arrived.
pub(crate) struct Incoming {
    pub(crate) target: Target,
    /// The object that is called; nothing where it is not there. `None` for a service.
    pub(crate) object: Option<Option<Arc<dyn Service>>>,
    pub(crate) oneway: bool,
    pub(crate) body: Bytes,
    pub(crate) encoding: Encoding,
    pub(crate) deadline: Option<Instant>,
    pub(crate) headers: Headers,
    pub(crate) reply: ReplyTo,
    /// What references to objects mean, where that is not for the connection to say.
    pub(crate) objects: Option<Arc<dyn ObjectNumbers>>,
    /// Until the parameters are read.
    pub(crate) lease: Option<Lease>,
}

/// What has arrived of the other end's calls.
#[expect(
    clippy::large_enum_variant,
    reason = "a call is what it nearly always is"
)]
pub(crate) enum Arrival {
    Call(Incoming),
    /// The caller of this call has gone.
    #[cfg_attr(
        not(feature = "async"),
        expect(dead_code, reason = "calls run one after the other there")
    )]
    Cancelled(u32),
}

/// What is called.
#[derive(Clone)]
pub(crate) enum Target {
    /// By name, with each call.
    Named { service: Option<Name>, method: Name },
    /// By the router's number, found when the caller named the method once.
    Route(usize),
}

/// How to answer a call.
#[derive(Clone)]
pub(crate) enum ReplyTo {
    Thrift(thrift::ReplyTo),
    MsgpackRpc(msgpack_rpc::ReplyTo),
    #[cfg(feature = "grpc")]
    Grpc(grpc::ReplyTo),
    Dovetail {
        reply: dovetail::ReplyTo,
        kind: MethodKind,
        /// Where the call has any.
        streams: Option<StreamCall>,
        /// Who wants to know what was returned.
        promise: Option<Arc<Link>>,
    },
    /// A call inside this process.
    Local(local::Answer),
}

impl From<thrift::IncomingCall> for Incoming {
    fn from(call: thrift::IncomingCall) -> Self {
        Incoming {
            target: Target::Named {
                service: call.service,
                method: call.method,
            },
            object: None,
            oneway: call.oneway,
            body: call.body,
            encoding: call.encoding,
            deadline: None,
            headers: call.headers,
            reply: ReplyTo::Thrift(call.reply),
            objects: None,
            lease: None,
        }
    }
}

impl From<msgpack_rpc::IncomingCall> for Incoming {
    fn from(call: msgpack_rpc::IncomingCall) -> Self {
        Incoming {
            oneway: call.oneway(),
            target: Target::Named {
                service: call.service,
                method: call.method,
            },
            object: None,
            body: call.params,
            encoding: Encoding::Msgpack,
            deadline: None,
            headers: Headers::new(),
            reply: ReplyTo::MsgpackRpc(call.reply),
            objects: None,
            lease: None,
        }
    }
}

impl Arrival {
    /// What the other end of this connection calls.
    pub(crate) fn over(called: Called, link: &Arc<Link>) -> Self {
        match called {
            Called::Call(call) => Arrival::Call(Incoming::over(call, link)),
            Called::Named(call) => Arrival::Call(call.into()),
            Called::Cancelled(call) => Arrival::Cancelled(call),
        }
    }
}

impl Incoming {
    /// A call over Dovetail's own wire.
    fn over(call: dovetail::IncomingCall, link: &Arc<Link>) -> Self {
        let number = call.reply.call();
        let streams = call.kind.streams();
        let streams = streams.then(|| StreamCall::new(link.clone(), number));
        Incoming {
            target: Target::Route(call.route),
            object: call.object.map(|number| link.objects.get(number)),
            oneway: call.kind.is_oneway(),
            body: call.body,
            encoding: call.encoding,
            // Farther away than a clock can say is no deadline.
            deadline: call
                .deadline
                .and_then(|left| Instant::now().checked_add(left)),
            headers: call.headers,
            reply: ReplyTo::Dovetail {
                reply: call.reply,
                kind: call.kind,
                streams,
                promise: call.promise.then(|| link.clone()),
            },
            objects: None,
            lease: link.objects.lease(),
        }
    }
}

impl ReplyTo {
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
            #[cfg(feature = "grpc")]
            ReplyTo::Grpc(reply) => reply.reply(body, limits),
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
            _ => None,
        }
    }

    /// True where the caller of a call with streams has gone; else who asks is woken when it goes.
    pub(crate) fn is_over(&self, context: &Context<'_>) -> bool {
        match self {
            ReplyTo::Dovetail {
                streams: Some(streams),
                ..
            } => streams.is_over(context),
            _ => false,
        }
    }

    /// The call with its streams; `None` where the wire has none, or the method.
    pub(crate) fn streams(&self, method: &'static str) -> Option<StreamCall> {
        match self {
            ReplyTo::Dovetail {
                streams: Some(streams),
                ..
            } => Some(streams.named(method)),
            _ => None,
        }
    }

    /// Appends the answer that a stream follows.
    pub(crate) fn accept(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        match self {
            ReplyTo::Dovetail { reply, .. } => reply.reply(out, body, limits),
            _ => Ok(()),
        }
    }

    /// Appends a failure; to a one-way call, what [`accepted`](Self::accepted) says.
    pub(crate) fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        match self {
            ReplyTo::Thrift(reply) => reply.exception(out, status),
            ReplyTo::MsgpackRpc(reply) => reply.exception(out, status),
            #[cfg(feature = "grpc")]
            ReplyTo::Grpc(reply) => reply.fail(status),
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
            #[cfg(feature = "grpc")]
            ReplyTo::Grpc(reply) => reply.accepted(),
            ReplyTo::Dovetail { .. } | ReplyTo::Local(_) => {}
        }
    }

    /// True where this answer must not be sent before those to earlier calls.
    #[cfg(feature = "async")]
    pub(crate) fn ordered(&self) -> bool {
        match self {
            ReplyTo::Thrift(reply) => reply.ordered(),
            _ => false,
        }
    }

    /// True where the connection is to be closed after this answer.
    pub(crate) fn closes(&self) -> bool {
        match self {
            ReplyTo::Thrift(reply) => reply.closes(),
            _ => false,
        }
    }

    /// The number under which the caller may cancel the call.
    #[cfg(feature = "async")]
    pub(crate) fn cancelled_as(&self) -> Option<u32> {
        match self {
            ReplyTo::Dovetail { reply, .. } => Some(reply.call()),
            _ => None,
        }
    }

    pub(crate) fn wire(&self) -> Wire {
        match self {
            ReplyTo::Thrift(reply) => reply.wire().into(),
            ReplyTo::MsgpackRpc(_) => Wire::MsgpackRpc,
            #[cfg(feature = "grpc")]
            ReplyTo::Grpc(_) => Wire::Grpc,
            ReplyTo::Dovetail { .. } | ReplyTo::Local(_) => Wire::Dovetail,
        }
    }
}
