//! The half of a connection that answers.

use super::ProtocolError;
use super::contract::{Directory, MethodKind};
use super::cursor::{Cursor, put_bytes, put_varint};
use super::extras::ObjectExtras;
use super::frame::{self, Flags, Frame, Kind};
use super::incoming::{CallObjects, IncomingCall, ReplyTo};
use super::message::{Message, Sending};
use super::settings::Settings;
use super::slots::{AnsweredMethods, MAX_HELD, SlotState};
use super::status;
use crate::{ConnectionLimits, Execution, Status};
use dovetail_wire::Encoding;

/// A call that has waited for a description, and runs, or has been refused.
pub(super) struct Released {
    pub(super) call: u32,
    pub(super) outcome: Result<IncomingCall, Status>,
}

/// The result of an arrived call.
pub(super) enum Arrived {
    Runs(IncomingCall),
    /// It waits for the description of its method.
    Held(MethodKind),
    /// It has been answered, or is left to others.
    Refused(Option<Status>),
}

/// Counts calls that were refused for their methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedCalls {
    /// Calls of a service, method or object that is not there.
    pub unknown: u64,
    /// Calls whose contracts contradict those of this end.
    pub contradicting: u64,
}

impl RefusedCalls {
    fn count(&mut self, status: &Status) {
        match status::is_contradiction(status) {
            true => self.contradicting += 1,
            false => self.unknown += 1,
        }
    }
}

/// Says why a call is refused that was on its way at DRAIN.
const DRAINING: &str = "this end takes no further calls";

/// Ids of calls have 32 bits.
const FIRST_OF_UPPER_HALF: u32 = 1 << 31;

/// The calls of the other end.
#[derive(Default)]
pub(super) struct Callee {
    methods: AnsweredMethods,
    /// Bytes of the calls that wait for a description.
    held: usize,
    /// The last call that has begun; ids rise.
    last: u32,
    /// The last call before DRAIN, once that has been said.
    drained: Option<u32>,
    /// The calls that were refused since the driver has asked.
    pub(super) refused: RefusedCalls,
}

impl Callee {
    /// Returns whether calls wait for a description that may refer to objects.
    pub(super) fn holds(&self) -> bool {
        self.held > 0
    }

    /// Takes the id of a call that begins. Ids rise until they start again from the lowest: a lower
    /// one is in the lower half of all numbers, behind one in the upper half.
    pub(super) fn begins(&mut self, call: u32) -> Result<(), ProtocolError> {
        let starts_again = self.last >= FIRST_OF_UPPER_HALF && call < FIRST_OF_UPPER_HALF;
        if call <= self.last && !starts_again {
            let what = format!("call {call} behind call {}: ids of calls rise", self.last);
            return Err(ProtocolError::malformed(what));
        }
        self.last = call;
        Ok(())
    }

    /// Returns whether DRAIN has left a call to other connections: it is not answered.
    fn left_out(&self, call: u32) -> bool {
        self.drained.is_some_and(|last| call > last)
    }

    /// Takes BIND, and answers it.
    pub(super) fn bind(
        &mut self,
        slot: u32,
        payload: &[u8],
        directory: &dyn Directory,
        limits: &ConnectionLimits,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        self.methods.bind(slot, payload, directory, limits, out)
    }

    /// Takes DESCRIBE: the calls of the slot run, or are refused. All that have waited, and those
    /// that run.
    pub(super) fn describe(
        &mut self,
        slot: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Vec<Released>, ProtocolError> {
        let held = self.methods.describe(slot, payload, out)?;
        let state = &self.methods.get_mut(slot.into())?.state;
        let mut released = Vec::new();
        for mut call in held {
            self.held -= call.body.held();
            let number = call.reply.call;
            let outcome = match state {
                SlotState::Found { route, tagless } => {
                    call.found(*route, *tagless);
                    Ok(call)
                }
                SlotState::Refused(status) => {
                    self.refused.count(status);
                    refuse(&call, status, out);
                    Err(status.clone())
                }
                SlotState::Describing { .. } => continue,
            };
            released.push(Released {
                call: number,
                outcome,
            });
        }
        Ok(released)
    }

    /// The bytes of the calls that wait for a description.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Takes a call, whose slot has been read; with a status it is refused.
    pub(super) fn call(
        &mut self,
        slot: u64,
        (message, refused): (Message, Option<Status>),
        sending: Sending,
        (ours, peer): (&Settings, &Settings),
        out: &mut Vec<u8>,
    ) -> Result<Arrived, ProtocolError> {
        if self.left_out(message.call) {
            // Its caller sends it elsewhere.
            return Ok(Arrived::Refused(None));
        }
        // It had begun before DRAIN, and has come as a whole only now.
        let refused = refused.or_else(|| self.drained.map(|_| status::not_taken(DRAINING)));
        let Message {
            call,
            encoding,
            extras,
            body,
        } = message;
        let answered = self.methods.get_mut(slot)?;
        let returned = |objects: &ObjectExtras| objects.promise || !objects.results.is_empty();
        let has_objects = extras.objects.as_deref().is_some_and(returned);
        if has_objects && (answered.kind.is_oneway() || answered.kind.streams()) {
            let what = "a call that promises or refers to objects, and has none";
            return Err(ProtocolError::malformed(what));
        }
        if let Some(why) = refused {
            if !answered.kind.is_oneway() {
                status::write(call, &why, out);
            }
            return Ok(Arrived::Refused(Some(why)));
        }
        let mut call = IncomingCall {
            route: 0,
            kind: answered.kind,
            body,
            encoding,
            deadline: extras.deadline.or(match answered.kind.streams() {
                true => None,
                false => peer.deadline,
            }),
            headers: extras.headers,
            reply: ReplyTo {
                call,
                tagless: false,
                sending,
            },
            objects: extras
                .objects
                .map(|objects| Box::new(CallObjects::new(*objects))),
        };
        match &mut answered.state {
            SlotState::Found { tagless: false, .. } if matches!(encoding, Encoding::Tagless) => {
                Err(ProtocolError::malformed(
                    "a tagless call where the contracts are not known to be equal",
                ))
            }
            SlotState::Found { route, tagless } => {
                call.found(*route, *tagless);
                Ok(Arrived::Runs(call))
            }
            SlotState::Refused(status) => {
                self.refused.count(status);
                refuse(&call, status, out);
                Ok(Arrived::Refused(Some(status.clone())))
            }
            SlotState::Describing { held, .. } => {
                let bytes = self.held + call.body.held();
                if held.len() < MAX_HELD && bytes <= ours.message {
                    self.held = bytes;
                    let kind = call.kind;
                    held.push(call);
                    return Ok(Arrived::Held(kind));
                }
                let why = status::held_up();
                refuse(&call, &why, out);
                Ok(Arrived::Refused(Some(why)))
            }
        }
    }

    /// Refuses a call whose message has become too large; this is its beginning.
    pub(super) fn too_large(
        &mut self,
        frame: &Frame,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let slot = Cursor(&frame.payload).varint()?;
        let oneway = self.methods.get_mut(slot)?.kind.is_oneway();
        if !oneway && !self.left_out(frame.id) {
            let status = status::too_large(most, Execution::NotStarted);
            status::write(frame.id, &status, out);
        }
        Ok(())
    }

    /// The caller of a call has gone. True where it waited for a description, and has been refused.
    pub(super) fn cancelled(&mut self, call: u32, out: &mut Vec<u8>) -> bool {
        let Some(held) = self.methods.cancel(call) else {
            return false;
        };
        self.held -= held.body.held();
        refuse(&held, &status::cancelled(), out);
        true
    }

    /// Says DRAIN, once, and refuses the calls that wait for a description, which are given. Nobody
    /// may be there to run them when it comes.
    pub(super) fn drain(&mut self, why: &str, out: &mut Vec<u8>) -> Vec<u32> {
        if self.drained.is_some() {
            return Vec::new();
        }
        self.drained = Some(self.last);
        self.held = 0;
        let mut refused = Vec::new();
        for call in self.methods.take_held() {
            refuse(&call, &status::not_taken(why), out);
            refused.push(call.reply.call);
        }
        let start = frame::begin(out);
        put_varint(self.last.into(), out);
        put_bytes(why.as_bytes(), out);
        frame::end(out, start, Kind::Drain, Flags::NONE, 0);
        refused
    }
}

pub(super) fn refuse(call: &IncomingCall, status: &Status, out: &mut Vec<u8>) {
    if !call.kind.is_oneway() {
        call.reply.fail(out, status);
    }
}
