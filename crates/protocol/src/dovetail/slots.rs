//! Methods by number, and what both ends found out about each. `docs/spec/wire.md`, "Methods".

use super::ProtocolError;
use super::contract::{Contract, Directory, MethodKind, NO_FINGERPRINT};
use super::cursor::{Cursor, put_bytes};
use super::frame::{self, Flags, Kind};
use super::hasher::OwnMap;
use super::incoming::IncomingCall;
use super::status;
use crate::{ConnectionLimits, Execution, Name, Status};
use dovetail_wire::description::compare;
use std::sync::Arc;

const EQUAL: u8 = 0;
const COMPATIBLE: u8 = 1;
const REFUSED: u8 = 2;
const UNKNOWN: u8 = 3;
const DESCRIBE: u8 = 4;

/// The most methods that a peer may name on one connection.
const MAX_SLOTS: usize = 4_096;

/// How a caller names a method that it calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MethodKey {
    /// A method that exists once in this process, by its address.
    Address(usize),
    /// A method called on objects of a service, which has an address as well.
    OfObject {
        /// The address of the method.
        method: usize,
        /// The address of the service.
        service: usize,
    },
    /// A method of which only the name is known.
    Name(Name),
    /// A method that is called by name, with parameters of these types.
    Typed {
        /// The name.
        method: Name,
        /// The address of the function that describes the types.
        types: usize,
    },
    /// Any of these, of a service that is named with the call.
    OfService {
        /// The name of the service.
        service: Name,
        /// The key of the method.
        method: Box<MethodKey>,
    },
}

/// The methods that this end calls.
#[derive(Default)]
pub(super) struct CalledMethods {
    slots: Vec<CalledSlot>,
    by_key: OwnMap<MethodKey, u32>,
}

pub(super) struct CalledSlot {
    pub(super) contract: Arc<Contract>,
    pub(super) verdict: Verdict,
}

/// The verdict about a method that is called.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// Nothing yet, or that the contracts agree by tag.
    Tagged,
    Tagless,
    Refused(Status),
}

impl CalledMethods {
    /// The slot of a method; says BIND where it is new.
    pub(super) fn bind(
        &mut self,
        key: &MethodKey,
        contract: impl FnOnce() -> Arc<Contract>,
        out: &mut Vec<u8>,
    ) -> (u32, &CalledSlot) {
        let slot = match self.by_key.get(key) {
            Some(slot) => *slot,
            None => self.add(key.clone(), contract(), out),
        };
        (slot, &self.slots[slot as usize])
    }

    /// Returns whether both ends are known to have the same contract of a method.
    pub(super) fn is_tagless(&self, slot: u32) -> bool {
        let called = self.slots.get(slot as usize);
        called.is_some_and(|called| matches!(called.verdict, Verdict::Tagless))
    }

    fn add(&mut self, key: MethodKey, contract: Arc<Contract>, out: &mut Vec<u8>) -> u32 {
        let slot = self.slots.len() as u32;
        let start = frame::begin(out);
        out.push(contract.kind.flags());
        put_bytes(contract.service.as_bytes(), out);
        put_bytes(contract.method.as_bytes(), out);
        out.extend_from_slice(&contract.fingerprint());
        frame::end(out, start, Kind::Bind, Flags::NONE, slot);
        self.by_key.insert(key, slot);
        self.slots.push(CalledSlot {
            contract,
            verdict: Verdict::Tagged,
        });
        slot
    }

    /// Takes BOUND; may answer with DESCRIBE.
    pub(super) fn bound(
        &mut self,
        slot: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let Some(called) = self.slots.get_mut(slot as usize) else {
            return Err(ProtocolError::malformed(
                "BOUND for a slot that was not bound",
            ));
        };
        let mut fields = Cursor(payload);
        let (verdict, text) = (fields.byte()?, fields.text()?);
        fields.end()?;
        called.verdict = match verdict {
            EQUAL => Verdict::Tagless,
            COMPATIBLE => Verdict::Tagged,
            REFUSED => Verdict::Refused(status::contradicted(text)),
            UNKNOWN => Verdict::Refused(status::unknown(text)),
            DESCRIBE => {
                let description = called.contract.description.as_ref();
                let bytes = description.map_or(&[][..], |description| description.bytes());
                frame::put(Kind::Describe, slot, bytes, out);
                Verdict::Tagged
            }
            other => {
                return Err(ProtocolError::malformed(format!("a verdict of {other}")));
            }
        };
        Ok(())
    }
}

/// The methods that the other end calls.
#[derive(Default)]
pub(super) struct AnsweredMethods {
    slots: Vec<AnsweredSlot>,
}

pub(super) struct AnsweredSlot {
    pub(super) kind: MethodKind,
    pub(super) state: SlotState,
}

pub(super) enum SlotState {
    Found {
        /// The driver's number of the method.
        route: usize,
        /// Both ends have the same contract.
        tagless: bool,
    },
    Refused(Status),
    /// The calls wait for the caller's description.
    Describing {
        route: usize,
        contract: Arc<Contract>,
        held: Vec<IncomingCall>,
    },
}

/// The most calls that wait for one description.
pub(super) const MAX_HELD: usize = 1_000;

impl AnsweredMethods {
    /// Takes BIND and answers it.
    pub(super) fn bind(
        &mut self,
        slot: u32,
        payload: &[u8],
        directory: &dyn Directory,
        limits: &ConnectionLimits,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        if slot as usize != self.slots.len() || self.slots.len() >= MAX_SLOTS {
            return Err(ProtocolError::malformed(format!("slot {slot} out of turn")));
        }
        let mut fields = Cursor(payload);
        let flags = fields.byte()?;
        let kind = MethodKind::from_flags(flags)
            .ok_or_else(|| ProtocolError::malformed(format!("a method with the flags {flags}")))?;
        let (service, method) = (fields.text()?, fields.text()?);
        let length = service.len() + method.len();
        if length > limits.name_bytes {
            return Err(ProtocolError::NameTooLong {
                length,
                limit: limits.name_bytes,
            });
        }
        let fingerprint = fields.array()?;
        fields.end()?;
        let state = match directory.find(service, method) {
            Err(status) => SlotState::Refused(status.with_execution(Execution::NotStarted)),
            Ok((route, contract)) => found(route, contract, kind, fingerprint),
        };
        answer(slot, &state, out);
        self.slots.push(AnsweredSlot { kind, state });
        Ok(())
    }

    /// Takes DESCRIBE and answers it; gives the calls that waited for it.
    pub(super) fn describe(
        &mut self,
        slot: u32,
        theirs: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Vec<IncomingCall>, ProtocolError> {
        let unasked = || ProtocolError::malformed("a description that nobody asked for");
        let answered = self.slots.get_mut(slot as usize).ok_or_else(unasked)?;
        let SlotState::Describing {
            route,
            contract,
            held,
        } = &mut answered.state
        else {
            return Err(unasked());
        };
        let (route, held) = (*route, std::mem::take(held));
        let ours = contract.description.as_ref().map_or(&[][..], |d| d.bytes());
        answered.state = match compare(ours, theirs) {
            Ok(()) => SlotState::Found {
                route,
                tagless: false,
            },
            Err(difference) => {
                SlotState::Refused(Status::contradicting(&contract.method, &difference))
            }
        };
        answer(slot, &answered.state, out);
        Ok(held)
    }

    /// Takes a call out of those that wait for a description.
    pub(super) fn cancel(&mut self, call: u32) -> Option<IncomingCall> {
        self.held().find_map(|held| {
            let index = held.iter().position(|held| held.reply.call == call)?;
            Some(held.remove(index))
        })
    }

    /// Takes all calls that wait for a description.
    pub(super) fn take_held(&mut self) -> Vec<IncomingCall> {
        self.held().flat_map(std::mem::take).collect()
    }

    /// The calls that wait, description by description.
    fn held(&mut self) -> impl Iterator<Item = &mut Vec<IncomingCall>> {
        self.slots
            .iter_mut()
            .filter_map(|slot| match &mut slot.state {
                SlotState::Describing { held, .. } => Some(held),
                _ => None,
            })
    }

    pub(super) fn get_mut(&mut self, slot: u64) -> Result<&mut AnsweredSlot, ProtocolError> {
        let slot = usize::try_from(slot).ok();
        slot.and_then(|slot| self.slots.get_mut(slot))
            .ok_or_else(|| ProtocolError::malformed("a call of a method that was not bound"))
    }
}

fn found(
    route: usize,
    contract: Arc<Contract>,
    kind: MethodKind,
    fingerprint: [u8; 16],
) -> SlotState {
    if kind != contract.kind && (kind.streams() || contract.kind.streams()) {
        return SlotState::Refused(status::other_streams(&contract.method, contract.kind, kind));
    }
    let tagless = fingerprint == contract.fingerprint();
    match fingerprint == NO_FINGERPRINT || contract.description.is_none() {
        true => SlotState::Found {
            route,
            tagless: false,
        },
        false if tagless => SlotState::Found { route, tagless },
        false => SlotState::Describing {
            route,
            contract,
            held: Vec::new(),
        },
    }
}

fn answer(slot: u32, state: &SlotState, out: &mut Vec<u8>) {
    let (verdict, text) = match state {
        SlotState::Found { tagless: true, .. } => (EQUAL, ""),
        SlotState::Found { tagless: false, .. } => (COMPATIBLE, ""),
        SlotState::Refused(status) if status::is_contradiction(status) => {
            (REFUSED, status.message())
        }
        SlotState::Refused(status) => (UNKNOWN, status.message()),
        SlotState::Describing { .. } => (DESCRIBE, ""),
    };
    let start = frame::begin(out);
    out.push(verdict);
    put_bytes(text.as_bytes(), out);
    frame::end(out, start, Kind::Bound, Flags::NONE, slot);
}
