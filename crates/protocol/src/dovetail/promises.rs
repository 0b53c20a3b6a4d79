//! Calls that are addressed to what earlier calls return. `docs/spec/wire.md`, "Objects".

use super::connection::Connection;
use super::events::Event;
use super::incoming::IncomingCall;
use super::slots::MAX_HELD;
use super::{ProtocolError, callee, status};
use crate::Status;
use std::collections::{BTreeMap, HashMap};

/// The calls of the other end that may return an object to which others are addressed, or refer.
#[derive(Default)]
pub(super) struct Promises {
    calls: HashMap<u32, Promised>,
    /// The number of calls that have been promises so far.
    opened: u64,
    /// Calls that wait for the answers to others, in order, and the bytes of their bodies.
    held: BTreeMap<u64, IncomingCall>,
    bytes: usize,
    /// How many have waited.
    count: u64,
}

/// A call that may return an object.
struct Promised {
    /// Rises with each promise that comes. A call waits for earlier ones alone, so that none wait
    /// for each other.
    order: u64,
    promise: Promise,
}

/// ```text
///   Waiting ── answered ──► Settled ── CANCEL ──► gone;    Waiting ── CANCEL, answered ──► gone
/// ```
enum Promise {
    /// It has not been answered.
    Waiting {
        /// Those that are held for it, perhaps among others.
        waiters: Vec<u64>,
        /// Its caller is going to name it no more.
        forgotten: bool,
    },
    /// The object that it returned, or why there is none.
    Settled(Result<u32, Status>),
}

/// The most objects whose references may be released while calls wait. There are not more in a
/// table by default.
const MAX_LATE: usize = 10_000;

/// The fate of a call.
enum Fate {
    Runs(IncomingCall),
    Held,
    Refused(IncomingCall, Status),
}

impl Promises {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// True for a call that later ones may still name.
    pub(super) fn knows(&self, call: u32) -> bool {
        !self.calls.is_empty() && self.calls.contains_key(&call)
    }

    fn open(&mut self, call: u32) {
        let promise = Promise::Waiting {
            waiters: Vec::new(),
            forgotten: false,
        };
        self.opened += 1;
        let order = self.opened;
        self.calls.insert(call, Promised { order, promise });
    }

    fn get_mut(&mut self, call: u32) -> Option<&mut Promise> {
        Some(&mut self.calls.get_mut(&call)?.promise)
    }

    /// A promise that came before the call `of`.
    fn earlier(&self, call: u32, of: u32) -> Option<&Promise> {
        let own = self.calls.get(&of).map(|own| own.order);
        let found = self.calls.get(&call)?;
        own.is_none_or(|own| found.order < own)
            .then_some(&found.promise)
    }

    /// A call whose method is known: its objects are, too, or it waits for them.
    fn resolve(&mut self, mut call: IncomingCall, most_bytes: usize) -> Fate {
        for promise in call.awaited() {
            match self.earlier(promise, call.reply.call) {
                None => return Fate::Refused(call, status::no_promise(promise)),
                Some(Promise::Settled(Err(why))) => return Fate::Refused(call, why.clone()),
                Some(Promise::Settled(Ok(object))) => call.settle(promise, *object),
                Some(Promise::Waiting { .. }) => {}
            }
        }
        if !call.waits() {
            return Fate::Runs(call);
        }
        let bytes = self.bytes + call.body.held();
        if self.held.len() >= MAX_HELD || bytes > most_bytes {
            return Fate::Refused(call, status::too_many_pipelined());
        }
        self.bytes = bytes;
        self.count += 1;
        let waiter = self.count;
        for promise in call.awaited() {
            if let Some(Promise::Waiting { waiters, .. }) = self.get_mut(promise) {
                waiters.push(waiter);
            }
        }
        self.held.insert(self.count, call);
        Fate::Held
    }

    /// The bytes of the calls that wait.
    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// Returns whether calls wait.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// A call has been answered. Those that have waited for it, and now for no other one, or are to
    /// be refused.
    fn settle(&mut self, call: u32, outcome: &Result<u32, Status>) -> Vec<IncomingCall> {
        let Some(promise @ Promise::Waiting { .. }) = self.get_mut(call) else {
            return Vec::new();
        };
        let settled = Promise::Settled(outcome.clone());
        let Promise::Waiting { waiters, forgotten } = std::mem::replace(promise, settled) else {
            return Vec::new();
        };
        if forgotten {
            self.calls.remove(&call);
        }
        let done = |waiter| {
            if let Ok(object) = outcome {
                let held = self.held.get_mut(&waiter)?;
                held.settle(call, *object);
                if held.waits() {
                    return None;
                }
            }
            self.take(waiter)
        };
        waiters.into_iter().filter_map(done).collect()
    }

    /// Takes a call out of those that wait.
    fn take(&mut self, waiter: u64) -> Option<IncomingCall> {
        let call = self.held.remove(&waiter)?;
        self.bytes -= call.body.held();
        for promise in call.awaited() {
            if let Some(Promise::Waiting { waiters, .. }) = self.get_mut(promise) {
                waiters.retain(|other| *other != waiter);
            }
        }
        Some(call)
    }

    /// Removes a call that its caller has given up.
    fn cancel(&mut self, call: u32) -> Option<IncomingCall> {
        let mut held = self.held.iter();
        let found = held.find(|(_, held)| held.reply.call == call);
        let waiter = found.map(|(waiter, _)| *waiter)?;
        self.take(waiter)
    }

    /// The caller of a call will not name it again. True where it has been answered before.
    fn forget(&mut self, call: u32) -> bool {
        match self.get_mut(call) {
            Some(Promise::Settled(_)) => self.calls.remove(&call).is_some(),
            Some(Promise::Waiting { forgotten, .. }) => {
                *forgotten = true;
                false
            }
            None => false,
        }
    }
}

impl Connection {
    /// A call whose [`IncomingCall::promises`] is true has been answered: with this object of this
    /// end's, or without one. The calls that were addressed to its result follow as events, or are
    /// refused.
    pub fn returned(&mut self, call: u32, outcome: Result<u32, Status>) {
        self.settled(call, outcome.map_err(|why| status::unfulfilled(&why)));
    }

    fn settled(&mut self, call: u32, outcome: Result<u32, Status>) {
        let mut settled = vec![(call, outcome)];
        while let Some((call, outcome)) = settled.pop() {
            for waiting in self.promises.settle(call, &outcome) {
                match &outcome {
                    Ok(_) => self.runs(waiting),
                    Err(why) => settled.extend(self.refuse_held(&waiting, why.clone())),
                }
            }
        }
    }

    /// Returns the next event that [`returned`](Self::returned) has let go, without receiving
    /// anything; `None` where there is none.
    pub fn ready(&mut self) -> Option<Event> {
        self.ready.pop_front().or_else(|| self.late_release())
    }

    /// Returns whether everything of `input` has been taken: nothing is received before more comes,
    /// or a call [returns](Self::returned).
    pub fn has_taken_all(&self, input: &[u8]) -> bool {
        let waits = self.late.is_empty() || self.holds();
        input.is_empty() && self.ready.is_empty() && waits
    }

    /// References have been released. While calls that came before are not read, that waits.
    pub(super) fn released(
        &mut self,
        object: u32,
        count: u64,
    ) -> Result<Option<Event>, ProtocolError> {
        if !self.holds() {
            return Ok(Some(Event::Released { object, count }));
        }
        if self.late.len() >= MAX_LATE && !self.late.contains_key(&object) {
            let what = format!("releases of more than {MAX_LATE} objects while calls wait");
            return Err(ProtocolError::malformed(what));
        }
        let late = self.late.entry(object).or_default();
        *late = late.saturating_add(count);
        Ok(None)
    }

    fn late_release(&mut self) -> Option<Event> {
        if self.late.is_empty() || self.holds() {
            return None;
        }
        let (object, count) = self.late.pop_first()?;
        Some(Event::Released { object, count })
    }

    /// Returns whether calls have come that wait for a description, or for others.
    fn holds(&self) -> bool {
        self.promises.holds() || self.callee.holds()
    }

    /// A call that waited is refused. Where others wait for what it returns, they are to be told.
    fn refuse_held(
        &mut self,
        call: &IncomingCall,
        why: Status,
    ) -> Option<(u32, Result<u32, Status>)> {
        let number = call.reply.call;
        callee::refuse(call, &why, &mut self.control);
        self.unpark(number);
        self.close(number);
        call.promises().then_some((number, Err(why)))
    }

    /// A call with everything that has come for it goes to the driver.
    fn runs(&mut self, call: IncomingCall) {
        let number = call.reply.call;
        self.streams.release(number, call.reply.tagless);
        self.ready.push_back(Event::Call(call));
        let parked = self.parked.remove(&number);
        self.ready.extend(parked.into_iter().flatten());
    }

    /// The method of a call is known. The call, where it runs now.
    pub(super) fn found(&mut self, call: IncomingCall) -> Option<IncomingCall> {
        match self.promises.resolve(call, self.ours.message) {
            Fate::Runs(call) => Some(call),
            Fate::Held => None,
            Fate::Refused(call, why) => {
                if let Some((call, outcome)) = self.refuse_held(&call, why) {
                    self.settled(call, outcome);
                }
                None
            }
        }
    }

    /// Takes in a call that waited until its method was known.
    pub(super) fn found_late(&mut self, call: IncomingCall) {
        if let Some(call) = self.found(call) {
            self.runs(call);
        }
    }

    /// A call that others may be addressed to has come.
    pub(super) fn promised(&mut self, call: u32) {
        self.promises.open(call);
    }

    /// The caller of a call has gone. False where that ends the matter: the call has waited for
    /// another one, or is over, and its caller will not name it again.
    pub(super) fn cancelled(&mut self, call: u32) -> bool {
        match self.promises.cancel(call) {
            Some(held) => {
                if let Some((call, outcome)) = self.refuse_held(&held, status::cancelled()) {
                    self.promises.forget(call);
                    self.returned(call, outcome);
                }
                false
            }
            None => !self.promises.forget(call),
        }
    }
}
