//! The calls of one connection that wait for their replies: what blocking and async clients have in common.

use super::Body;
use super::options::Options;
use crate::{Code, Execution, Status};
use bytes::BytesMut;
use dovetail_protocol::thrift::{CallId, ClientConnection, Headers, IncomingReply, ProtocolError};
use dovetail_wire::{Encode, EncodeError};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A call to be sent.
pub(crate) struct Outgoing<'a, P> {
    pub(crate) method: &'a str,
    pub(crate) oneway: bool,
    pub(crate) headers: &'a Headers,
    pub(crate) params: &'a P,
}

impl<P> Clone for Outgoing<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Outgoing<'_, P> {}

/// Hands each reply to the waiter of its call. `W` is whatever wakes one.
pub(crate) struct Table<W> {
    machine: ClientConnection,
    /// Encoded calls that no one has begun to send.
    pub(crate) out: Vec<u8>,
    pub(crate) input: BytesMut,
    waiting: HashMap<CallId, W, BuildHasherDefault<IdHasher>>,
    most: usize,
    /// Why the connection is no longer used.
    broken: Option<Status>,
}

/// Ids are numbers in order: they are spread well enough as they are.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl<W> Table<W> {
    pub(crate) fn new(options: &Options) -> Self {
        Table {
            machine: ClientConnection::new(options.wire, options.client.clone()),
            out: Vec::new(),
            input: BytesMut::new(),
            waiting: HashMap::default(),
            most: options.calls,
            broken: None,
        }
    }

    /// Queues a call; the reply will go to the waiter. `None` where the call has to wait for its
    /// [`turn`](Self::turn).
    pub(crate) fn call(
        &mut self,
        Outgoing {
            method,
            oneway,
            headers,
            params,
        }: Outgoing<'_, impl Encode>,
        waiter: Option<W>,
    ) -> Result<Option<CallId>, Status> {
        if let Some(why) = &self.broken {
            return Err(why.clone().with_execution(Execution::NotSent));
        }
        if self.machine.closing() {
            let why = "the server takes no further call on this connection";
            return Err(Status::new(Code::Unavailable, why).with_execution(Execution::NotSent));
        }
        if !self.turn() {
            return Ok(None);
        }
        if self.waiting.len() >= self.most {
            return Err(Status::new(
                Code::ResourceExhausted,
                format!(
                    "{} calls wait on this connection already; `calls_in_flight` allows more, \
                     `connections` spreads them",
                    self.most
                ),
            ));
        }
        let call = self
            .machine
            .call_with(method, oneway, headers, params, &mut self.out)
            .map_err(|error| unencodable(method, &error))?;
        if let Some(waiter) = waiter {
            self.waiting.insert(call, waiter);
        }
        Ok(Some(call))
    }

    /// False where a call has to wait until another one is answered; see [`ClientConnection::exclusive`].
    pub(crate) fn turn(&self) -> bool {
        self.broken.is_some() || self.machine.closing() || !self.machine.exclusive()
    }

    /// True where a one-way call has an answer to wait for.
    pub(crate) fn answers_oneway(&self) -> bool {
        self.machine.answers_oneway()
    }

    /// Takes the replies that have arrived, each with its waiter.
    pub(crate) fn receive(
        &mut self,
        mut deliver: impl FnMut(W, Result<Body, Status>),
    ) -> Result<(), ProtocolError> {
        while let Some(reply) = self.machine.receive(&mut self.input)? {
            self.deliver(reply, &mut deliver);
        }
        Ok(())
    }

    /// The peer has closed the connection, which can be the end of a reply.
    pub(crate) fn end(
        &mut self,
        mut deliver: impl FnMut(W, Result<Body, Status>),
    ) -> Result<(), ProtocolError> {
        if let Some(reply) = self.machine.end(&mut self.input)? {
            self.deliver(reply, &mut deliver);
        }
        Ok(())
    }

    fn deliver(&mut self, reply: IncomingReply, deliver: &mut impl FnMut(W, Result<Body, Status>)) {
        if let Some(waiter) = self.waiting.remove(&reply.call) {
            deliver(waiter, reply.result);
        }
    }

    /// How much to receive next.
    pub(crate) fn needs(&self) -> usize {
        self.machine.needs()
    }

    /// The caller is gone; a late reply is dropped.
    pub(crate) fn abandon(&mut self, call: CallId) {
        if self.waiting.remove(&call).is_none() {
            return;
        }
        self.machine.abandon(call);
        if self.machine.exclusive() {
            // Nobody else can use the connection before an answer comes that nobody waits for.
            self.broken.get_or_insert_with(|| {
                Status::new(
                    Code::Unavailable,
                    "the connection belonged to a call that was given up",
                )
            });
        }
    }

    /// Gives the connection up; the callers that still wait get the reason.
    pub(crate) fn fail(&mut self, why: Status) -> Vec<W> {
        self.broken.get_or_insert(why);
        self.waiting.drain().map(|(_, waiter)| waiter).collect()
    }

    /// Why the connection is no longer used; also where the server said that it takes no further call.
    pub(crate) fn broken(&self) -> bool {
        self.broken.is_some() || (self.machine.closing() && self.waiting.is_empty())
    }

    /// Somebody who waits for a reply.
    pub(crate) fn any_waiter(&self) -> Option<&W> {
        self.waiting.values().next()
    }

    pub(crate) fn idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cold]
fn unencodable(method: &str, error: &EncodeError) -> Status {
    Status::new(
        Code::InvalidArgument,
        format!("the parameters of `{method}` cannot be encoded: {error}"),
    )
}

/// The connection ended while calls were waiting.
#[cold]
pub(crate) fn lost(target: &str, why: &dyn std::fmt::Display) -> Status {
    Status::new(
        Code::Unavailable,
        format!("the connection to {target} was lost: {why}"),
    )
    .with_execution(Execution::MayHaveRun)
}

/// The peer broke the rules of its wire.
#[cold]
pub(crate) fn misbehaved(target: &str, error: &ProtocolError) -> Status {
    Status::new(
        Code::Internal,
        format!("{target} answered with what is no reply: {error}"),
    )
    .with_execution(Execution::MayHaveRun)
}

/// The time is over.
#[cold]
pub(crate) fn too_late(method: &str, timeout: std::time::Duration, execution: Execution) -> Status {
    Status::new(
        Code::DeadlineExceeded,
        format!("`{method}` took longer than its {timeout:?}; `with_timeout` allows more"),
    )
    .with_execution(execution)
}
