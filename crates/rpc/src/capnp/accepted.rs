//! A connection that a server has accepted.
//!
//! The object that clients get by bootstrap is all services of the server at once: a call names the interface.

use super::Place;
use super::exception::{of_status, unknown};
use super::methods::{Form, Method};
use crate::incoming::{self, Arrival, Incoming, Target};
use crate::{Code, Status};
use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::capnp::{Connection, Event, IncomingCall, ProtocolError};
use dovetail_wire::{Encode, EncodeError, Encoding, Limits as Encoded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of the object that bootstrap gives.
const MAIN: u64 = 0;

/// The method at a place, and the number of its entry in the router.
pub(crate) type Found = (usize, &'static Method);

/// A connection that a server has accepted.
pub(crate) struct Accepted(Mutex<Connection>);

impl Accepted {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        let machine = Connection::new(limits.into());
        Arc::new(Accepted(Mutex::new(machine)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next call; `None` where more must be received first. `find` knows the methods.
    pub(crate) fn receive(
        self: &Arc<Self>,
        input: &mut BytesMut,
        find: impl Fn(Place) -> Option<Found>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Arrival>, ProtocolError> {
        let mut machine = self.lock();
        let arrival = loop {
            match machine.receive(input) {
                Ok(Some(event)) => {
                    if let Some(arrival) = self.take_in(&mut machine, event, &find) {
                        break Ok(Some(arrival));
                    }
                }
                other => break other.map(|_| None),
            }
        };
        machine.transmit(out);
        arrival
    }

    fn take_in(
        self: &Arc<Self>,
        machine: &mut Connection,
        event: Event,
        find: impl Fn(Place) -> Option<Found>,
    ) -> Option<Arrival> {
        match event {
            Event::Bootstrap { question } => machine.bootstrapped(question, MAIN),
            Event::Call(call) => {
                // There is no handler that could use them.
                machine.release_all(&call.params.objects);
                match find((call.interface, call.method)) {
                    Some(found) => return Some(Arrival::Call(self.incoming(call, found))),
                    None => machine.fail_call(call.question, unknown(call.interface, call.method)),
                }
            }
            Event::Canceled { question } => return Some(Arrival::Cancelled(question)),
            // This end asks nothing, and keeps its one object.
            Event::Answered { .. } | Event::Dropped(_) | Event::Disembargoed(_) => {}
        }
        None
    }

    fn incoming(self: &Arc<Self>, call: IncomingCall, (entry, method): Found) -> Box<Incoming> {
        let reply = ReplyTo {
            connection: self.clone(),
            question: call.question,
            results: &method.results,
        };
        let params = (Encoding::Custom(&method.params), call.params.frame);
        let reply = incoming::ReplyTo::Capnp(reply);
        Box::new(Incoming::new(Target::Route(entry), params, reply))
    }

    /// Ends the connection, for this reason.
    pub(crate) fn abort(&self, why: &str) {
        self.lock().abort(why);
    }

    /// Moves what is to be sent behind these bytes.
    pub(crate) fn transmit(&self, out: &mut Vec<u8>) {
        self.lock().transmit(out);
    }

    /// The bytes that are kept of the peer's questions.
    pub(crate) fn held(&self) -> usize {
        self.lock().held()
    }

    /// How many bytes to receive next, at least.
    pub(crate) fn needs(&self) -> usize {
        self.lock().needs()
    }
}

/// How to answer a call.
#[derive(Clone)]
pub(crate) struct ReplyTo {
    connection: Arc<Accepted>,
    question: u32,
    results: &'static Form,
}

impl ReplyTo {
    pub(crate) fn question(&self) -> u32 {
        self.question
    }

    /// Appends the answer. A declared exception, for which the language has no word, is an exception whose reason has it in JSON.
    pub(crate) fn reply(
        &self,
        out: &mut Vec<u8>,
        body: &impl Encode,
        limits: Encoded,
    ) -> Result<(), EncodeError> {
        let mut machine = self.connection.lock();
        let written = machine.reply(self.question, &[], |message, at| {
            self.results.write(message, at, body, limits)
        });
        if let Err(problem) = written {
            let thrown = thrown(body, limits).ok_or(problem)?;
            machine.fail_call(self.question, of_status(&thrown));
        }
        machine.transmit(out);
        Ok(())
    }

    /// Appends the answer of a method that has none.
    pub(crate) fn accepted(&self, out: &mut Vec<u8>) {
        let mut machine = self.connection.lock();
        // Nothing is written.
        let _ = machine.reply(self.question, &[], |_, _| Ok(()));
        machine.transmit(out);
    }

    pub(crate) fn fail(&self, out: &mut Vec<u8>, status: &Status) {
        let mut machine = self.connection.lock();
        machine.fail_call(self.question, of_status(status));
        machine.transmit(out);
    }
}

/// The declared exception that an answer is.
fn thrown(body: &impl Encode, limits: Encoded) -> Option<Status> {
    let mut json = Vec::new();
    Encoding::Json.encode(body, &mut json, limits).ok()?;
    if json.starts_with(b"{\"success\"") {
        return None;
    }
    let json = String::from_utf8_lossy(&json);
    Some(Status::new(
        Code::Unknown,
        format!("the method threw {json}"),
    ))
}
