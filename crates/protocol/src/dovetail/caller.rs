//! The half of a connection that calls.

use super::ProtocolError;
use super::connection::Role;
use super::contract::{Contract, MethodKind};
use super::cursor::{Cursor, put_varint};
use super::events::{Awaits, CallError, Event, OutgoingCall};
use super::extras::{self, CallExtras};
use super::frame::{self, Flags, Kind};
use super::hasher::OwnMap;
use super::headers::HeaderTable;
use super::message::{self, Sending};
use super::slots::{CalledMethods, Verdict};
use super::status;
use crate::{Headers, Status};
use dovetail_wire::{Bytes, Encode, Encoding, Limits};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

/// The calls of this end.
pub(super) struct Caller {
    next: u32,
    pub(super) methods: CalledMethods,
    waiting: OwnMap<u32, Waiting>,
    headers: HeaderTable,
    /// The other end takes no further calls.
    pub(super) closing: bool,
}

/// How calls are written on a connection.
pub(super) struct Terms {
    pub(super) encoding: Limits,
    /// The deadline of HELLO for calls that do not bring their own.
    pub(super) deadline: Option<Duration>,
    pub(super) sending: Sending,
    /// How many headers the other end keeps.
    pub(super) headers: usize,
}

/// A call that was appended.
pub(super) struct Called {
    pub(super) id: u32,
    pub(super) slot: u32,
    pub(super) kind: MethodKind,
}

/// A call of this end that is not over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The answer is to come.
    Caller,
    /// The answer has come; the stream goes on.
    Streaming,
    /// The caller is gone; the answer is still to come.
    Nobody,
}

impl Caller {
    pub(super) fn new(role: Role) -> Self {
        Caller {
            next: match role {
                Role::Client => 1,
                Role::Server => 2,
            },
            methods: CalledMethods::default(),
            waiting: OwnMap::default(),
            headers: HeaderTable::default(),
            closing: false,
        }
    }

    /// Appends a call; see [`Connection::call`](super::Connection::call).
    pub(super) fn call(
        &mut self,
        call: &OutgoingCall<'_>,
        contract: impl FnOnce() -> Arc<Contract>,
        body: &impl Encode,
        terms: &Terms,
        out: &mut Vec<u8>,
    ) -> Result<Called, CallError> {
        if self.closing {
            return Err(CallError::Status(status::closing()));
        }
        let (slot, called) = self.methods.bind(call.method, contract, out);
        let tagless = match &called.verdict {
            Verdict::Tagged => false,
            Verdict::Tagless => true,
            Verdict::Refused(status) => return Err(CallError::Status(status.clone())),
        };
        let kind = called.contract.kind;
        let implied = terms.deadline.filter(|_| !kind.streams());
        let deadline = call.deadline.filter(|deadline| Some(*deadline) != implied);
        let start = frame::begin(out);
        put_varint(slot.into(), out);
        let body_at = out.len();
        let tagged = message::body(
            body,
            tagless,
            (terms.encoding, terms.sending.message),
            start,
            out.into(),
        )
        .map_err(CallError::Encode)?;
        let sending = match call.plain {
            true => terms.sending.plain(),
            false => terms.sending,
        };
        let packed = sending.compress(body_at, out);
        // The extras are written last and moved to the front: after an error, the table must not
        // have headers that were not sent.
        let (headers, table) = (call.headers, &mut self.headers);
        let has_extras = extras::put_before(body_at, out, |out| {
            let extras = CallExtras {
                deadline,
                packed,
                target: call.target,
                promise: call.promise,
                results: call.awaits.map(Awaits::awaits).unwrap_or_default(),
            };
            extras::write(&extras, headers, table, terms.headers, out);
        });
        let flags = Flags::NONE
            .with(Flags::TAGGED, tagged)
            .with(Flags::EXTRAS, has_extras);
        let id = self.number();
        frame::end_message(
            out.into(),
            start,
            Kind::Call,
            flags,
            id,
            terms.sending.frame,
        );
        if !kind.is_oneway() {
            self.waiting.insert(id, Waiting::Caller);
        }
        Ok(Called { id, slot, kind })
    }

    /// Gives a call up and says so. False where nobody waits for it.
    pub(super) fn abandon(&mut self, call: u32, out: &mut Vec<u8>) -> bool {
        match self.waiting.get_mut(&call) {
            Some(waiting @ (Waiting::Caller | Waiting::Streaming)) => {
                *waiting = Waiting::Nobody;
                frame::put(Kind::Cancel, call, &[], out);
                true
            }
            _ => false,
        }
    }

    pub(super) fn is_open(&self, call: u32) -> bool {
        let waiting = self.waiting.get(&call);
        waiting.is_some_and(|waiting| *waiting != Waiting::Nobody)
    }

    /// The calls that are not over, and that somebody waits for.
    pub(super) fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        let waiting = |(call, waiting): (&u32, &Waiting)| match waiting {
            Waiting::Caller | Waiting::Streaming => Some(*call),
            Waiting::Nobody => None,
        };
        self.waiting.iter().filter_map(waiting)
    }

    /// Ends a call, or its first part where a stream follows; `None` where nobody waits for it.
    pub(super) fn reply(
        &mut self,
        call: u32,
        result: Result<(Encoding, Bytes), Status>,
        headers: Headers,
        streams: bool,
    ) -> Option<Event> {
        let Entry::Occupied(mut waiting) = self.waiting.entry(call) else {
            return None;
        };
        let before = *waiting.get();
        match streams {
            true if before == Waiting::Caller => *waiting.get_mut() = Waiting::Streaming,
            // The second of two answers is dropped.
            true => return None,
            false => drop(waiting.remove()),
        }
        match (before, result) {
            (Waiting::Caller, result) => Some(Event::Reply {
                call,
                result,
                headers,
            }),
            (Waiting::Streaming, Err(status)) => Some(Event::End {
                call,
                result: Err(status),
            }),
            (Waiting::Streaming, Ok(_)) | (Waiting::Nobody, _) => None,
        }
    }

    /// True for a call of this end's.
    pub(super) fn made(&self, call: u32) -> bool {
        call % 2 == self.next % 2
    }

    /// True for a call of this end's that is not over.
    pub(super) fn waits_for(&self, call: u32) -> bool {
        self.waiting.contains_key(&call)
    }

    /// True for a call whose answer is to come.
    pub(super) fn awaits_answer(&self, call: u32) -> bool {
        self.waiting.get(&call) == Some(&Waiting::Caller)
    }

    /// The callee's stream has ended, and its call. False where the answer has not come.
    pub(super) fn ended(&mut self, call: u32) -> bool {
        let waits = self.awaits_answer(call);
        if !waits {
            self.waiting.remove(&call);
        }
        !waits
    }

    /// Takes DRAIN: calls that the other end has not taken have not been started.
    pub(super) fn drained(&mut self, payload: &[u8]) -> Result<Vec<Event>, ProtocolError> {
        let mut fields = Cursor(payload);
        let (last, why) = (fields.varint()?, fields.text()?);
        fields.end()?;
        self.closing = true;
        let later = |call: &u32| u64::from(*call) > last;
        let mut lost: Vec<u32> = self.waiting.keys().copied().filter(later).collect();
        lost.sort_unstable();
        let not_taken = |call| self.reply(call, Err(status::not_taken(why)), Headers::new(), false);
        Ok(lost.into_iter().filter_map(not_taken).collect())
    }

    /// The number of the next call: odd or even, and none that is in use.
    fn number(&mut self) -> u32 {
        loop {
            let number = self.next;
            self.next = match number.checked_add(2) {
                Some(next) => next,
                None => 2 - number % 2,
            };
            if !self.waiting.contains_key(&number) {
                return number;
            }
        }
    }
}
