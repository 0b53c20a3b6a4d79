//! The half of a connection that answers.

use super::ProtocolError;
use super::connection::Event;
use super::contract::{Directory, MethodKind};
use super::cursor::{Cursor, put_bytes, put_varint};
use super::frame::{self, Flags, Frame, Kind};
use super::incoming::{IncomingCall, ReplyTo};
use super::message::{Message, Sending};
use super::settings::Settings;
use super::slots::{AnsweredMethods, MOST_HELD, State};
use super::status;
use crate::{ConnectionLimits, Execution};
use dovetail_wire::Encoding;

/// A call that has waited for a description; without an event where it has been refused.
pub(super) struct Released {
    pub(super) call: u32,
    pub(super) event: Option<Event>,
}

/// What became of a call.
pub(super) enum Arrived {
    Runs(Event),
    /// It waits for the description of its method.
    Held(MethodKind),
    /// It has been answered, or is left to others.
    Refused,
}

/// The calls of the other end.
#[derive(Default)]
pub(super) struct Callee {
    methods: AnsweredMethods,
    /// Bytes of the calls that wait for a description.
    held: usize,
    /// The last call that was taken.
    last: u32,
    draining: bool,
}

impl Callee {
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

    /// Takes DESCRIBE: the calls of the slot run, or are refused. All that have waited, and those that run.
    pub(super) fn describe(
        &mut self,
        slot: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Vec<Released>, ProtocolError> {
        let held = self.methods.describe(slot, payload, out)?;
        let state = &self.methods.get_mut(slot.into())?.state;
        let mut released = Vec::new();
        for call in held {
            self.held -= call.body.len();
            let number = call.reply.call;
            let event = match state {
                State::Found { route, tagless } => Some(found(call, *route, *tagless)),
                State::Refused(status) => {
                    refuse(&call, status, out);
                    None
                }
                State::Describing { .. } => None,
            };
            released.push(Released {
                call: number,
                event,
            });
        }
        Ok(released)
    }

    /// Takes a call, whose slot has been read.
    pub(super) fn call(
        &mut self,
        slot: u64,
        message: Message,
        sending: Sending,
        (ours, peer): (&Settings, &Settings),
        out: &mut Vec<u8>,
    ) -> Result<Arrived, ProtocolError> {
        if self.draining {
            // It is later than the last one that was promised: its caller sends it elsewhere.
            return Ok(Arrived::Refused);
        }
        let Message {
            call,
            encoding,
            extras,
            body,
        } = message;
        self.last = call;
        let answered = self.methods.get_mut(slot)?;
        let body = match body.decompress() {
            Ok(body) => body,
            Err(error) => {
                if !answered.kind.is_oneway() {
                    status::write(call, &status::undecodable_call(&error), out);
                }
                return Ok(Arrived::Refused);
            }
        };
        let call = IncomingCall {
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
        };
        match &mut answered.state {
            State::Found { tagless: false, .. } if matches!(encoding, Encoding::Tagless) => {
                Err(ProtocolError::malformed(
                    "a tagless call where the contracts are not known to be equal",
                ))
            }
            State::Found { route, tagless } => Ok(Arrived::Runs(found(call, *route, *tagless))),
            State::Refused(status) => {
                refuse(&call, status, out);
                Ok(Arrived::Refused)
            }
            State::Describing { held, .. } => {
                let bytes = self.held + call.body.len();
                if held.len() < MOST_HELD && bytes <= ours.message {
                    self.held = bytes;
                    let kind = call.kind;
                    held.push(call);
                    return Ok(Arrived::Held(kind));
                }
                refuse(&call, &status::held_up(), out);
                Ok(Arrived::Refused)
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
        if !self.methods.get_mut(slot)?.kind.is_oneway() {
            let status = status::too_large(most, Execution::NotStarted);
            status::write(frame.id, &status, out);
        }
        Ok(())
    }

    /// The caller of a call has gone. `None` where it has not been started, and never will be.
    pub(super) fn cancelled(&mut self, call: u32, out: &mut Vec<u8>) -> Option<Event> {
        match self.methods.cancel(call) {
            Some(held) => {
                self.held -= held.body.len();
                refuse(&held, &status::cancelled(), out);
                None
            }
            None => Some(Event::Cancelled { call }),
        }
    }

    /// Says DRAIN, once.
    pub(super) fn drain(&mut self, why: &str, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.draining, true) {
            return;
        }
        let start = frame::begin(out);
        put_varint(self.last.into(), out);
        put_bytes(why.as_bytes(), out);
        frame::end(out, start, Kind::Drain, Flags::NONE, 0);
    }
}

/// A call that can be run.
fn found(mut call: IncomingCall, route: usize, tagless: bool) -> Event {
    call.route = route;
    call.reply.tagless = tagless;
    Event::Call(call)
}

fn refuse(call: &IncomingCall, status: &crate::Status, out: &mut Vec<u8>) {
    if !call.kind.is_oneway() {
        call.reply.fail(out, status);
    }
}
