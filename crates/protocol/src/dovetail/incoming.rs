use super::compression::Body;
use super::contract::MethodKind;
use super::events::Target;
use super::extras::ObjectExtras;
use super::frame::{self, Kind};
use super::message::{self, Sending};
use super::status;
use crate::{Headers, Status};
use dovetail_wire::{Encode, EncodeError, Encoding, Limits, Out};
use std::time::Duration;

/// A call that has arrived.
#[derive(Debug)]
pub struct IncomingCall {
    /// The number under which the [`Directory`](super::Directory) found its method.
    pub route: usize,
    /// The messages beside the parameters. A one-way call is not to be answered.
    pub kind: MethodKind,
    /// The parameters: exactly one encoded struct.
    pub body: Body,
    /// How they are encoded.
    pub encoding: Encoding,
    /// The time that the caller gives, from now.
    pub deadline: Option<Duration>,
    /// The caller's headers.
    pub headers: Headers,
    /// How to answer.
    pub reply: ReplyTo,
    /// Its relations to objects; `None` where there are none.
    pub(super) objects: Option<Box<CallObjects>>,
}

/// The relations of a call to objects. Apart from the others, as few calls have any.
#[derive(Debug)]
pub(super) struct CallObjects {
    object: Option<u32>,
    promise: bool,
    results: Vec<(u32, u32)>,
    /// The call that returns the object that is called.
    awaits: Option<u32>,
    /// Those that return what the parameters refer to.
    refers: Vec<u32>,
}

impl IncomingCall {
    /// The object of this end's that is called; `None` for a service.
    pub fn object(&self) -> Option<u32> {
        self.objects.as_ref()?.object
    }

    /// Returns whether the driver has to say what the call [returned](super::Connection::returned).
    pub fn promises(&self) -> bool {
        let objects = self.objects.as_ref();
        objects.is_some_and(|objects| objects.promise)
    }

    /// Returns the results of the caller's earlier calls to which the parameters refer: the call,
    /// and the object of this end's.
    pub fn results(&self) -> &[(u32, u32)] {
        let objects = self.objects.as_ref();
        objects.map_or(&[], |objects| &objects.results)
    }

    /// It can be run.
    pub(super) fn found(&mut self, route: usize, tagless: bool) {
        self.route = route;
        self.reply.tagless = tagless;
    }

    /// The calls that have to be answered before.
    pub(super) fn awaited(&self) -> Vec<u32> {
        let objects = self.objects.as_deref();
        objects.map(CallObjects::awaited).unwrap_or_default()
    }

    /// Returns whether there are any.
    pub(super) fn waits(&self) -> bool {
        self.objects.as_deref().is_some_and(CallObjects::waits)
    }

    /// One of them has been: with this object.
    pub(super) fn settle(&mut self, call: u32, object: u32) {
        if let Some(objects) = &mut self.objects {
            objects.settle(call, object);
        }
    }
}

impl CallObjects {
    /// Makes the relations of a call with these extras.
    pub(super) fn new(extras: ObjectExtras) -> Self {
        let (object, awaits) = match extras.target {
            None => (None, None),
            Some(Target::Object(object)) => (Some(object), None),
            Some(Target::Result(call)) => (None, Some(call)),
        };
        CallObjects {
            object,
            promise: extras.promise,
            results: Vec::new(),
            awaits,
            refers: extras.results,
        }
    }

    fn awaited(&self) -> Vec<u32> {
        let target = self.awaits.into_iter();
        target.chain(self.refers.iter().copied()).collect()
    }

    fn waits(&self) -> bool {
        self.awaits.is_some() || !self.refers.is_empty()
    }

    fn settle(&mut self, call: u32, object: u32) {
        if self.awaits == Some(call) {
            self.awaits = None;
            self.object = Some(object);
        }
        let before = self.refers.len();
        self.refers.retain(|refers| *refers != call);
        if self.refers.len() < before {
            self.results.push((call, object));
        }
    }
}

/// The data to answer a call with, independent of the connection's machine. Where the call has
/// streams, the machine has to be told when it is over:
/// [`Connection::answered`](super::Connection::answered).
#[derive(Clone, Debug)]
pub struct ReplyTo {
    pub(super) call: u32,
    pub(super) tagless: bool,
    pub(super) sending: Sending,
}

impl ReplyTo {
    /// The call's number on its connection.
    pub fn call(&self) -> u32 {
        self.call
    }

    /// Returns a reply whose answer is not compressed.
    #[must_use]
    pub fn plain(&self) -> Self {
        ReplyTo {
            sending: self.sending.plain(),
            ..*self
        }
    }

    /// Appends the answer, a union of the result and the declared exceptions. After an error `out`
    /// is as it was.
    pub fn reply<'a>(
        &self,
        out: impl Into<Out<'a>>,
        body: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        let mut out = out.into();
        if self.sending.compression.is_some() {
            out.blobs = None;
        }
        let start = frame::begin(out.buffer);
        let tagged = message::body(
            body,
            self.tagless,
            (limits, self.sending.message),
            start,
            out.again(),
        )?;
        self.sending.end(Kind::Reply, self.call, tagged, start, out);
        Ok(())
    }

    /// Appends a failure.
    pub fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        status::write(self.call, status, out);
    }
}
