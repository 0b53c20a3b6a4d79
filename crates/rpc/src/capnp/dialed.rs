//! A connection that a client has made. Calls go to the object that bootstrap gives, before it is there.

use super::exception::to_status;
use super::methods::Method;
use crate::{Code, Status};
use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::capnp::{
    Connection, Event, Exception, ExceptionKind, Promised, ProtocolError, Results, Target,
};
use dovetail_wire::{Bytes, Encode, EncodeError, Encoding, Limits as Encoded};
use std::collections::HashMap;

/// An answer that a server may keep for a while: bytes.
const SMALL: usize = 1024;

/// The answer to a call: its number, and its results.
pub(crate) type Reply = (u64, Result<(Encoding, Bytes), Status>);

/// A connection that a client has made.
pub(crate) struct Dialed {
    machine: Connection,
    encoding: Encoded,
    /// The question for the main object. It is never finished, so that calls can be addressed to its answer.
    main: u32,
    /// How the protocol has the methods that have been called, by their addresses.
    known: HashMap<usize, &'static Method>,
    /// The calls that are not answered, by their questions. Those without an answer have no number.
    open: HashMap<u32, (Option<u64>, &'static Method)>,
    /// The questions of calls.
    questions: HashMap<u64, u32>,
    next: u64,
}

impl Dialed {
    pub(crate) fn new(limits: ConnectionLimits, encoding: Encoded) -> Self {
        let mut machine = Connection::new(limits.into());
        Dialed {
            main: machine.bootstrap(),
            machine,
            encoding,
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
        method: Option<&'static crate::Method>,
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

    /// Appends a call; its number is `None` where no answer is wanted.
    pub(crate) fn call(
        &mut self,
        method: &'static Method,
        oneway: bool,
        params: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, EncodeError> {
        let target = Target::Promised(Promised {
            question: self.main,
            path: Vec::new(),
        });
        let (place, limits) = (method.place, self.encoding);
        let question = self.machine.call(&target, place, &[], |message, at| {
            method.params.write(message, at, params, limits)
        })?;
        let number = (!oneway).then_some(self.next);
        self.next += 1;
        self.open.insert(question, (number, method));
        if let Some(number) = number {
            self.questions.insert(number, question);
        }
        self.machine.transmit(out);
        Ok(number)
    }

    /// The next answer; `None` where more must be received first.
    pub(crate) fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Reply>, ProtocolError> {
        while let Some(event) = self.machine.receive(input)? {
            match event {
                Event::Answered { question, result } => {
                    if let Some(reply) = self.answered(question, result) {
                        return Ok(Some(reply));
                    }
                }
                // This end has no objects that the peer could know of.
                Event::Bootstrap { question } => self.machine.fail_call(question, no_objects()),
                Event::Call(call) => self.machine.fail_call(call.question, no_objects()),
                Event::Canceled { .. } | Event::Dropped(_) | Event::Disembargoed(_) => {}
            }
        }
        Ok(None)
    }

    fn answered(&mut self, question: u32, result: Result<Results, Exception>) -> Option<Reply> {
        if question == self.main {
            // Calls that were addressed to a failure fail themselves.
            return None;
        }
        let (number, method) = self.open.remove(&question)?;
        match &result {
            Ok(results) if results.payload.frame.len() <= SMALL => {
                self.machine.finish_late(question)
            }
            // The peer keeps the answer until then.
            _ => self.machine.finish(question),
        }
        let result = match result {
            Ok(results) => {
                self.machine.release_all(&results.payload.objects);
                let encoding = Encoding::Custom(&method.results);
                Ok((encoding, results.payload.frame))
            }
            Err(exception) => Err(to_status(&exception)),
        };
        let number = number?;
        self.questions.remove(&number);
        Some((number, result))
    }

    /// The caller does not wait any longer.
    pub(crate) fn abandon(&mut self, call: u64) {
        if let Some(question) = self.questions.remove(&call) {
            self.open.remove(&question);
            self.machine.finish(question);
        }
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

#[cold]
fn unplaced(method: &str) -> Status {
    let what = format!(
        "`{method}` has no place in Cap'n Proto's protocol: it takes a client that is generated of a `.capnp` contract, or with the option `capnp`"
    );
    Status::new(Code::Unimplemented, what)
}

fn no_objects() -> Exception {
    Exception {
        reason: "this client has no objects".to_owned(),
        kind: ExceptionKind::Unimplemented,
    }
}
