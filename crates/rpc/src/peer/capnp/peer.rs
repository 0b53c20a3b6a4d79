//! One end of a connection. Both ends call each other's services and objects.
//!
//! The object that an end gives by bootstrap is all of its services at once: a call names the
//! interface. Calls of services go to the answer to bootstrap, before it is there.

use super::exception::{of_status, to_status, unknown};
use super::methods::Method;
use crate::peer::objects::{Lease, ObjectDirectory, Owned, SentCaps};
use crate::{Code, Status};
use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::capnp::{
    Connection, Event, Exception, Object, Payload, Promised, ProtocolError, Results, Target,
};
use dovetail_protocol::dovetail::{self, Owner, of_receiver, of_sender, owner};
use dovetail_wire::capnp::NO_OBJECT;
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits as Encoded};
use std::collections::HashMap;

/// The object that bootstrap gives. Others have numbers of 32 bits.
const MAIN: u64 = u64::MAX;

/// An answer that a peer may keep for a while: bytes.
const SMALL: usize = 1024;

/// Something that has arrived.
pub(crate) enum Arrival {
    Reply(Reply),
    Call(IncomingCall),
    /// The caller of this call has gone.
    Cancelled(u32),
    /// References to an object of this end's.
    Released {
        object: u32,
        count: u64,
    },
}

/// The answer to a call of this end's.
pub(crate) struct Reply {
    pub(crate) call: u32,
    pub(crate) result: Result<(Encoding, Bytes), Status>,
    /// The objects in the results, by the numbers that the own wire has for them.
    pub(crate) objects: Vec<u64>,
    /// The place of the object among them that others may have been called on before it was there.
    pub(crate) promised: Option<usize>,
}

/// A call of the other end's.
pub(crate) struct IncomingCall {
    pub(crate) question: u32,
    /// The object that is called; nothing where it is not there. `None` for a service.
    pub(crate) object: Option<Option<Owned>>,
    /// The router's number of the method.
    pub(crate) route: usize,
    pub(crate) method: &'static Method,
    pub(crate) params: Bytes,
    /// The objects among the parameters, by the numbers that the own wire has for them.
    pub(crate) objects: Vec<u64>,
    /// Until they are read.
    pub(crate) lease: Option<Lease>,
}

/// One end of a connection.
pub(crate) struct Peer {
    machine: Connection,
    encoding: Encoded,
    /// The question for the main object. It is never finished, so that calls can be addressed to
    /// its answer.
    main: Option<u32>,
    /// How the protocol has the methods that have been called, by their addresses.
    known: HashMap<usize, &'static Method>,
    /// The calls that are not answered, by their questions.
    open: HashMap<u32, Asked>,
    /// The questions of calls.
    questions: HashMap<u32, u32>,
    next: u32,
}

/// A call of this end's.
struct Asked {
    /// Its number, where an answer is wanted.
    call: Option<u32>,
    method: &'static Method,
}

impl Peer {
    pub(crate) fn new(limits: ConnectionLimits, encoding: Encoded) -> Self {
        Peer {
            machine: Connection::new(limits.into()),
            encoding,
            main: None,
            known: HashMap::new(),
            open: HashMap::new(),
            questions: HashMap::new(),
            next: 0,
        }
    }

    /// Returns how the protocol has a method.
    pub(crate) fn method(
        &mut self,
        name: &str,
        method: Option<&'static crate::method::Method>,
    ) -> Result<&'static Method, Status> {
        let method = method.ok_or_else(|| unplaced(name))?;
        let address = std::ptr::from_ref(method).addr();
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        let found = Method::of(method).ok_or_else(|| unplaced(name))?;
        self.known.insert(address, found);
        Ok(found)
    }

    /// Appends a call of an object, or of a service where there is no target. Its number is `None`
    /// where no answer is wanted.
    pub(crate) fn call(
        &mut self,
        target: Option<dovetail::Target>,
        method: &'static Method,
        oneway: bool,
        params: &impl Encode,
        caps: Option<&SentCaps>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, EncodeError> {
        let target = self.target(target)?;
        let limits = self.encoding;
        let (asked, open) = (&self.questions, &self.open);
        let question = self.machine.call(&target, method.place, |message, at| {
            method.params.write(message, at, params, limits)?;
            objects_of(caps, |call| promised(call, asked, open))
        })?;
        let call = (!oneway).then_some(self.next);
        self.next = self.next.wrapping_add(1);
        self.open.insert(question, Asked { call, method });
        if let Some(call) = call {
            self.questions.insert(call, question);
        }
        self.machine.transmit(out);
        Ok(call)
    }

    fn target(&mut self, target: Option<dovetail::Target>) -> Result<Target, EncodeError> {
        Ok(match target {
            Some(dovetail::Target::Object(number)) => Target::Hosted(number),
            Some(dovetail::Target::Result(call)) => {
                Target::Promised(promised(call, &self.questions, &self.open)?)
            }
            None => {
                let machine = &mut self.machine;
                Target::Promised(Promised {
                    question: *self.main.get_or_insert_with(|| machine.bootstrap()),
                    path: Vec::new(),
                })
            }
        })
    }

    /// The next thing that has arrived; `None` where more must be received first.
    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &ObjectDirectory<'_>,
    ) -> Result<Option<Arrival>, ProtocolError> {
        while let Some(event) = self.machine.receive(input)? {
            if let Some(arrival) = self.take_in(event, directory) {
                return Ok(Some(arrival));
            }
        }
        Ok(None)
    }

    /// Returns the next arrival among what has been received already.
    pub(crate) fn ready(&mut self, directory: &ObjectDirectory<'_>) -> Option<Arrival> {
        loop {
            let event = self.machine.ready()?;
            if let Some(arrival) = self.take_in(event, directory) {
                return Some(arrival);
            }
        }
    }

    fn take_in(&mut self, event: Event, directory: &ObjectDirectory<'_>) -> Option<Arrival> {
        match event {
            Event::Bootstrap { question } => {
                self.machine.bootstrapped(question, MAIN);
                None
            }
            Event::Call(call) => {
                let found = directory.placed((call.interface, call.method));
                let Some((route, method)) = found else {
                    self.machine.release_all(&call.params.objects);
                    let why = unknown(call.interface, call.method);
                    self.machine.fail_call(call.question, why);
                    return None;
                };
                let object = u32::try_from(call.object).ok();
                let passes = !call.params.objects.is_empty();
                Some(Arrival::Call(IncomingCall {
                    question: call.question,
                    object: object.map(|number| directory.objects.get(number)),
                    lease: passes.then(|| directory.objects.lease()).flatten(),
                    route,
                    method,
                    objects: call.params.objects.iter().map(number_of).collect(),
                    params: call.params.frame,
                }))
            }
            Event::Canceled { question } => Some(Arrival::Cancelled(question)),
            Event::Answered { question, result } => self.answered(question, result),
            Event::Released { object, count } => {
                let object = u32::try_from(object).ok()?;
                let count = count.into();
                Some(Arrival::Released { object, count })
            }
            // Calls on an answer go by way of the peer also when it is there.
            Event::Disembargoed(_) => None,
        }
    }

    fn answered(&mut self, question: u32, result: Result<Results, Exception>) -> Option<Arrival> {
        if Some(question) == self.main {
            // Calls that were addressed to a failure fail themselves.
            return None;
        }
        let Asked { call, method } = self.open.remove(&question)?;
        match &result {
            Ok(results) if results.payload.frame.len() <= SMALL => {
                self.machine.finish_late(question)
            }
            // The peer keeps the answer until then.
            _ => self.machine.finish(question),
        }
        let Some(call) = call else {
            let results = result.ok()?;
            self.machine.release_all(&results.payload.objects);
            return None;
        };
        self.questions.remove(&call);
        Some(Arrival::Reply(reply(call, method, result)))
    }

    /// The caller does not wait any longer.
    pub(crate) fn abandon(&mut self, call: u32) {
        if let Some(question) = self.questions.remove(&call) {
            self.open.remove(&question);
            self.machine.finish(question);
        }
    }

    /// Answers a call with results that `body` has. Objects in them are in `caps`.
    pub(crate) fn reply(
        &mut self,
        question: u32,
        method: &'static Method,
        body: &impl Encode,
        caps: Option<&SentCaps>,
        limits: Encoded,
    ) -> Result<(), EncodeError> {
        let (asked, open) = (&self.questions, &self.open);
        self.machine.reply(question, |message, at| {
            method.results.write(message, at, body, limits)?;
            objects_of(caps, |call| promised(call, asked, open))
        })
    }

    /// Answers a call of a method that has no answer.
    pub(crate) fn accepted(&mut self, question: u32) {
        // Nothing is written.
        let _ = self.machine.reply(question, |_, _| Ok(Vec::new()));
    }

    /// Answers a call with a failure.
    pub(crate) fn fail(&mut self, question: u32, status: &Status) {
        self.machine.fail_call(question, of_status(status));
    }

    /// Gives references to an object of the other end's back.
    pub(crate) fn release(&mut self, object: u32, count: u64) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.machine.release(object, count);
    }

    /// Ends the connection, for this reason.
    pub(crate) fn abort(&mut self, why: &str) {
        self.machine.abort(why);
    }

    /// True as long as this end has called nothing: its messages are answers, which can leave in
    /// any order.
    pub(crate) fn only_answers(&self) -> bool {
        self.main.is_none()
    }

    /// The bytes that are kept of the peer's questions.
    pub(crate) fn held(&self) -> usize {
        self.machine.held()
    }

    /// How many bytes to receive next, at least.
    pub(crate) fn needs(&self) -> usize {
        self.machine.needs()
    }

    /// Moves what is to be sent behind these bytes.
    pub(crate) fn transmit(&mut self, out: &mut Vec<u8>) {
        self.machine.transmit(out);
    }
}

fn reply(call: u32, method: &'static Method, result: Result<Results, Exception>) -> Reply {
    let Results { payload, .. } = match result {
        Ok(results) => results,
        Err(exception) => {
            return Reply {
                call,
                result: Err(to_status(&exception)),
                objects: Vec::new(),
                promised: None,
            };
        }
    };
    let place = || place_of(&payload, method.returns.as_deref()?);
    Reply {
        call,
        promised: (!payload.objects.is_empty()).then(place).flatten(),
        objects: payload.objects.iter().map(number_of).collect(),
        result: Ok((Encoding::Custom(&method.results), payload.frame)),
    }
}

/// The place of the object at the end of a path, among those of a message.
fn place_of(payload: &Payload, path: &[u16]) -> Option<usize> {
    let found = payload.object(path).ok()?;
    payload.objects.iter().position(|object| *object == found)
}

/// The number that an object of a message has on the own wire.
fn number_of(object: &Object) -> u64 {
    match object {
        Object::Peer(number) => of_sender(*number),
        Object::Own(number) => u32::try_from(*number).map_or(NO_OBJECT, of_receiver),
        Object::None | Object::Promised(_) => NO_OBJECT,
    }
}

/// The objects of a message that has been written. `promised` knows those in answers that are not
/// there yet.
fn objects_of(
    caps: Option<&SentCaps>,
    promised: impl Fn(u32) -> Result<Promised, EncodeError>,
) -> Result<Vec<Object>, EncodeError> {
    let numbers = caps.map(SentCaps::take).unwrap_or_default();
    let objects = numbers.into_iter().map(|number| {
        Ok(match owner(number) {
            Some(Owner::Sender(number)) => Object::Own(number.into()),
            Some(Owner::Receiver(number)) => Object::Peer(number),
            Some(Owner::Result(call)) => Object::Promised(promised(call)?),
            None => Object::None,
        })
    });
    objects.collect()
}

/// The object that a call is to return.
fn promised(
    call: u32,
    asked: &HashMap<u32, u32>,
    open: &HashMap<u32, Asked>,
) -> Result<Promised, EncodeError> {
    let found = asked.get(&call).and_then(|question| {
        let method = open.get(question)?.method;
        Some(Promised {
            question: *question,
            path: method.returns.clone()?,
        })
    });
    found.ok_or(EncodeError::Unsupported {
        what: "an object that no call is to return",
    })
}

#[cold]
fn unplaced(method: &str) -> Status {
    let what = format!(
        "`{method}` has no place in Cap'n Proto's protocol: it takes a client that is generated of a `.capnp` contract, or with the option `capnp`"
    );
    Status::new(Code::Unimplemented, what)
}
