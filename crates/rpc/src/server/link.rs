//! A connection of Dovetail's own wire that handlers use beside its driver: they send and take items.

use super::Shared;
use super::machine::Arrival;
use crate::Status;
use crate::streams::{Inboxes, Link, Locked, StreamCall, ended};
use bytes::BytesMut;
use dovetail_protocol::dovetail::{Connection, Event, ProtocolError};
use dovetail_wire::Limits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Sends what a [`StreamLink`] has queued, in its own time.
pub(super) trait Flush: Send + Sync {
    fn flush(&self, link: &StreamLink);
}

/// A connection of Dovetail's own wire.
pub(super) struct StreamLink {
    state: Mutex<State>,
    limits: Limits,
    driver: Arc<dyn Flush>,
}

struct State {
    machine: Connection,
    inboxes: Inboxes<Waker>,
    /// Frames of calls with streams that wait to be sent.
    out: Vec<u8>,
}

impl StreamLink {
    pub(super) fn new(machine: Connection, shared: &Shared, driver: Arc<dyn Flush>) -> Self {
        let state = State {
            machine,
            inboxes: Inboxes::default(),
            out: Vec::new(),
        };
        StreamLink {
            state: Mutex::new(state),
            limits: shared.limits.message,
            driver,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs this on the machine, for the driver.
    pub(super) fn machine<R>(&self, work: impl FnOnce(&mut Connection) -> R) -> R {
        work(&mut self.lock().machine)
    }

    /// The next thing that concerns the driver; what arrives on streams goes to its inbox.
    pub(super) fn receive(
        self: &Arc<Self>,
        input: &mut BytesMut,
        shared: &Shared,
    ) -> Result<Option<Arrival>, ProtocolError> {
        let mut state = self.lock();
        let State {
            machine, inboxes, ..
        } = &mut *state;
        loop {
            match machine.receive(input, &shared.router)? {
                None => return Ok(None),
                Some(Event::Call(call)) => {
                    let streams = call.kind.streams().then(|| {
                        let number = call.reply.call();
                        inboxes.open(number);
                        StreamCall::new(self.clone(), number)
                    });
                    return Ok(Some(Arrival::Call((call, streams).into())));
                }
                Some(Event::Cancelled { call }) => {
                    inboxes.fail(call, &ended());
                    return Ok(Some(Arrival::Cancelled(call)));
                }
                // A server calls nobody, so no answer can come: the machine drops those.
                Some(event) => inboxes.take_in(event, machine),
            }
        }
    }

    /// Moves what is to be sent behind `out`. Who sends it must not let another one do so in between.
    pub(super) fn transmit(&self, out: &mut Vec<u8>) {
        let mut state = self.lock();
        state.machine.transmit(out);
        out.append(&mut state.out);
    }

    /// The peer has gone: handlers that wait for it need not.
    pub(super) fn lost(&self, why: &Status) {
        self.lock().inboxes.fail_all(why);
    }
}

impl Link for StreamLink {
    fn with(&self, work: &mut dyn FnMut(&mut Locked<'_>)) {
        let mut state = self.lock();
        let State {
            machine,
            inboxes,
            out,
        } = &mut *state;
        work(&mut Locked {
            machine,
            inboxes,
            out,
        });
        let queued = !state.out.is_empty() || state.machine.wants_to_transmit();
        drop(state);
        if queued {
            self.driver.flush(self);
        }
    }

    fn leave(&self, call: u32) {
        self.with(&mut |locked| locked.inboxes.ignore(call, locked.machine));
    }

    fn close(&self, call: u32) {
        self.with(&mut |locked| locked.inboxes.close(call, locked.machine));
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}
