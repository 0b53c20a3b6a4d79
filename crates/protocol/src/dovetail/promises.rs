//! Calls that are addressed to what earlier calls return. `docs/spec/wire.md`, "Objects".

use super::connection::Connection;
use super::events::Event;
use super::incoming::IncomingCall;
use super::slots::MOST_HELD;
use super::{callee, status};
use crate::Status;
use std::collections::HashMap;

/// The calls of the other end that may return an object to which others are addressed.
#[derive(Default)]
pub(super) struct Promises {
    calls: HashMap<u32, Promise>,
    /// Calls that wait for the answers to others, and the bytes of their bodies.
    held: usize,
    bytes: usize,
}

/// ```text
///   Waiting ── answered ──► Settled ── CANCEL ──► gone;    Waiting ── CANCEL, answered ──► gone
/// ```
enum Promise {
    /// It has not been answered.
    Waiting {
        held: Vec<IncomingCall>,
        /// Its caller is going to name it no more.
        forgotten: bool,
    },
    /// The object that it returned, or why there is none.
    Settled(Result<u32, Status>),
}

/// What becomes of a call.
enum Fate {
    Runs(IncomingCall),
    Held,
    Refused(IncomingCall, Status),
}

impl Promises {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    fn open(&mut self, call: u32) {
        let waiting = Promise::Waiting {
            held: Vec::new(),
            forgotten: false,
        };
        self.calls.insert(call, waiting);
    }

    /// A call whose method is known: its object is, too, or it waits for it.
    fn resolve(&mut self, mut call: IncomingCall, most_bytes: usize) -> Fate {
        let Some(promise) = call.awaits else {
            return Fate::Runs(call);
        };
        match self.calls.get_mut(&promise) {
            None => Fate::Refused(call, status::no_promise(promise)),
            Some(Promise::Settled(Err(why))) => {
                let why = why.clone();
                Fate::Refused(call, why)
            }
            Some(Promise::Settled(Ok(object))) => {
                call.object = Some(*object);
                Fate::Runs(call)
            }
            Some(Promise::Waiting { held, .. }) => {
                let bytes = self.bytes + call.body.len();
                if self.held >= MOST_HELD || bytes > most_bytes {
                    return Fate::Refused(call, status::too_many_pipelined());
                }
                self.held += 1;
                self.bytes = bytes;
                held.push(call);
                Fate::Held
            }
        }
    }

    /// A call has been answered. Those that have waited for it.
    fn settle(&mut self, call: u32, outcome: Result<u32, Status>) -> Vec<IncomingCall> {
        let Some(promise @ Promise::Waiting { .. }) = self.calls.get_mut(&call) else {
            return Vec::new();
        };
        match std::mem::replace(promise, Promise::Settled(outcome)) {
            Promise::Waiting { held, forgotten } => {
                if forgotten {
                    self.calls.remove(&call);
                }
                held.iter().for_each(|held| self.let_go(held));
                held
            }
            Promise::Settled(_) => Vec::new(),
        }
    }

    fn let_go(&mut self, call: &IncomingCall) {
        self.held -= 1;
        self.bytes -= call.body.len();
    }

    /// Takes a call out of those that wait.
    fn cancel(&mut self, call: u32) -> Option<IncomingCall> {
        if self.held == 0 {
            return None;
        }
        let found = self.calls.values_mut().find_map(|promise| match promise {
            Promise::Waiting { held, .. } => {
                let index = held.iter().position(|held| held.reply.call == call)?;
                Some(held.remove(index))
            }
            Promise::Settled(_) => None,
        })?;
        self.let_go(&found);
        Some(found)
    }

    /// The caller of a call will not name it again. True where it has been answered before.
    fn forget(&mut self, call: u32) -> bool {
        match self.calls.get_mut(&call) {
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
    /// A call whose [`IncomingCall::promise`] is set has been answered: with this object of this end's, or
    /// without one. The calls that were addressed to its result follow as events, or are refused.
    pub fn returned(&mut self, call: u32, outcome: Result<u32, Status>) {
        self.settled(call, outcome.map_err(|why| status::unfulfilled(&why)));
    }

    fn settled(&mut self, call: u32, outcome: Result<u32, Status>) {
        let mut settled = vec![(call, outcome)];
        while let Some((call, outcome)) = settled.pop() {
            for mut waiting in self.promises.settle(call, outcome.clone()) {
                match &outcome {
                    Ok(object) => {
                        waiting.object = Some(*object);
                        self.runs(waiting);
                    }
                    Err(why) => settled.extend(self.refuse_held(&waiting, why.clone())),
                }
            }
        }
    }

    /// What [`returned`](Self::returned) has let go, without receiving anything; `None` where that is nothing.
    pub fn ready(&mut self) -> Option<Event> {
        self.ready.pop_front()
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
        call.promise.then_some((number, Err(why)))
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

    /// The same for a call that waited until its method was known.
    pub(super) fn found_late(&mut self, call: IncomingCall) {
        if let Some(call) = self.found(call) {
            self.runs(call);
        }
    }

    /// A call that others may be addressed to has come.
    pub(super) fn promised(&mut self, call: u32) {
        self.promises.open(call);
    }

    /// The caller of a call has gone. False where that ends the matter: the call has waited for another one,
    /// or is over, and its caller will not name it again.
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
