//! One end of a connection.

mod answers;
mod calls;
mod forward;
mod kept;
mod objects;
mod questions;

use super::message::{Exception, ExceptionKind, Message, Promised};
use super::tables::{Exports, Imports, Numbered};
use super::write::Outgoing;
use crate::ConnectionLimits;
use bytes::BytesMut;
use calls::{Held, Ready, Waiter};
use dovetail_wire::capnp::{PointerAt, Segments};
use dovetail_wire::{Bytes, DecodeError, EncodeError};
use std::collections::{HashMap, VecDeque};

/// The most ends of questions that wait for a message to leave with.
const MAX_LATE: usize = 16;

/// Bounds on a connection, against its peer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message. Default 64 MiB.
    pub message: usize,
    /// Questions of the peer that are not finished. Default 200,000.
    pub answers: usize,
    /// Objects in each direction. Default 100,000.
    pub objects: usize,
    /// Bytes of calls that wait for the answers to others. Default 16 MiB.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message: 64 << 20,
            answers: 200_000,
            objects: 100_000,
            waiting: 16 << 20,
        }
    }
}

impl From<ConnectionLimits> for Limits {
    fn from(limits: ConnectionLimits) -> Self {
        Limits {
            message: limits.message_bytes,
            objects: limits.objects,
            ..Limits::default()
        }
    }
}

/// An object that a message passes, as this end knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// None.
    None,
    /// One of this end's, by the number that its owner has given it.
    Own(u64),
    /// One of the peer's. Each time that it comes is a reference, to be released.
    Peer(u32),
    /// One in the answer to a question of this end's.
    Promised(Promised),
}

/// Something that has arrived.
#[derive(Debug)]
pub enum Event {
    /// The peer asks for the main object. Answer with [`Connection::bootstrapped`].
    Bootstrap {
        /// The question.
        question: u32,
    },
    /// The peer calls an object of this end's. Answer it once.
    Call(IncomingCall),
    /// The peer does not wait for an answer any longer. Answer nevertheless.
    Canceled {
        /// The question.
        question: u32,
    },
    /// The answer to a question of this end's.
    Answered {
        /// The question.
        question: u32,
        /// The results, or why there are none.
        result: Result<Results, Exception>,
    },
    /// The peer has given back references to an object of this end's: one for each time that it was
    /// passed.
    Released {
        /// The object.
        object: u64,
        /// How many references.
        count: u32,
    },
    /// The calls that went by way of the peer to an object of this end's have all arrived.
    Disembargoed(u32),
}

/// A call that has arrived.
#[derive(Debug)]
pub struct IncomingCall {
    /// The question.
    pub question: u32,
    /// The object, by the number that its owner has given it.
    pub object: u64,
    /// The id of the interface.
    pub interface: u64,
    /// The ordinal of the method.
    pub method: u16,
    /// The parameters.
    pub params: Payload,
}

/// Parameters or results: where they are in their message, and the objects that they pass.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// The message with its table of segments, of a peer.
    pub frame: Bytes,
    /// The message.
    pub message: Segments,
    /// The value; `None` for null.
    pub content: Option<PointerAt>,
    /// The objects, in the order of their numbers in the value.
    pub objects: Vec<Object>,
}

/// Results.
#[derive(Debug)]
pub struct Results {
    /// The value, and the objects.
    pub payload: Payload,
    /// For each object of this end's that calls went to by way of the peer, the number of the event
    /// after which calls may go there directly.
    pub embargoes: Vec<(usize, u32)>,
}

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

/// One end of a connection. Both may call and be called.
///
/// # Calling contract
///
/// - Append what is received to a buffer, and call [`receive`](Self::receive) until it returns
///   `None`.
/// - Send what [`transmit`](Self::transmit) gives.
/// - Answer each call and each bootstrap that arrives once, in any order.
/// - Finish each question once, when its answer has been used, or nobody waits for it.
/// - After an error send what is left, and close: the peer is told why.
#[derive(Debug, Default)]
pub struct Connection {
    limits: Limits,
    questions: Numbered<Question>,
    answers: HashMap<u32, AnswerEntry>,
    exports: Exports,
    imports: Imports,
    embargoes: Numbered<()>,
    events: VecDeque<Event>,
    /// Calls that wait for answers.
    held: Numbered<Held>,
    /// Calls that do not wait any longer, and whether they are being run.
    ready: VecDeque<Ready>,
    runs: bool,
    /// Bytes of the calls that wait.
    waiting: usize,
    /// Bytes of results that are kept until the peer finishes their questions.
    kept: usize,
    /// Bytes that a message lacks of which there is a part.
    needs: usize,
    out: Vec<u8>,
    /// The ends of questions, which leave with the next message, and how many they are.
    late: Vec<u8>,
    late_count: usize,
    failed: Option<ProtocolError>,
}

/// A question of this end's.
#[derive(Debug, Default)]
struct Question {
    /// The objects that its parameters pass, by their numbers at the peer.
    exported: Vec<u32>,
    /// The paths to which calls have been addressed before the answer was there.
    pipelined: Vec<Vec<u16>>,
    /// The peer has sent the answer, or has said in which other answer it is.
    answered: bool,
    /// The answer is there.
    concluded: bool,
    finished: bool,
    /// The question of the peer's that has been forwarded to the peer.
    forwards: Option<u32>,
}

/// A question of the peer's.
#[derive(Debug)]
struct AnswerEntry {
    state: AnswerState,
    /// The question of this end's that it has been forwarded with.
    forwarded: Option<u32>,
    /// The results stay at this end, for a question of this end's, which may be known already.
    keeps: bool,
    taken_by: Option<u32>,
    /// The peer has finished it, and whether that gives back the objects of the answer.
    finished: Option<bool>,
}

#[derive(Debug)]
enum AnswerState {
    /// It runs, or waits; with the calls that wait for its answer.
    Open(Vec<Waiter>),
    /// It has been answered, with these objects.
    Done {
        results: Result<Payload, Exception>,
        /// Their numbers at the peer.
        exported: Vec<u32>,
    },
}

/// A message that has come.
#[derive(Debug)]
struct Frame {
    /// All of it.
    bytes: Bytes,
    message: Segments,
}

impl Connection {
    /// A connection that has just been made.
    pub fn new(limits: Limits) -> Self {
        Connection {
            limits,
            ..Connection::default()
        }
    }

    /// The next thing that has arrived; `None` where more must be received first.
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if let Some(failed) = &self.failed {
                return Err(failed.clone());
            }
            let message = match self.split(input) {
                Ok(Some(frame)) => self.message(frame),
                Ok(None) => return Ok(None),
                Err(problem) => Err(problem.to_string()),
            };
            if let Err(problem) = message {
                self.fail(problem);
            }
        }
    }

    /// The next thing that has arrived, among what has been received: answers let calls run that
    /// waited for them.
    pub fn ready(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes a message off the input.
    fn split(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, DecodeError> {
        let len = Segments::len_of(input, self.limits.message)?;
        let missing = len.map_or(1, |len| len.saturating_sub(input.len()));
        self.needs = missing.max(1);
        let Some(len) = len.filter(|_| missing == 0) else {
            return Ok(None);
        };
        let bytes = input.split_to(len).freeze();
        let split = Segments::split(&bytes, self.limits.message)?;
        Ok(split.map(|(message, _)| Frame { bytes, message }))
    }

    /// The bytes that are kept of the peer's questions, until it finishes them.
    pub fn held(&self) -> usize {
        self.answers.len() * size_of::<(u32, AnswerEntry)>() + self.waiting + self.kept
    }

    /// How many bytes to receive next, at least.
    pub fn needs(&self) -> usize {
        self.needs.max(1)
    }

    /// Returns whether a stream that begins with these bytes is one of this protocol; `None` where
    /// more have to be received first.
    ///
    /// A client begins with a message of one segment, whose table begins with a zero of 32 bits:
    /// the length of an empty frame on any other wire.
    pub fn detects(input: &[u8]) -> Option<bool> {
        let start = input.get(..4).unwrap_or(input);
        match start.iter().any(|byte| *byte != 0) {
            true => Some(false),
            false => (start.len() == 4).then_some(true),
        }
    }

    /// Ends the connection, for this reason, which the peer is told.
    pub fn abort(&mut self, why: &str) {
        self.fail(why.to_owned());
    }

    fn fail(&mut self, problem: String) {
        if self.failed.is_none() {
            let exception = Exception {
                reason: problem.clone(),
                kind: ExceptionKind::Failed,
            };
            self.send(|out| out.abort(&exception));
            self.failed = Some(ProtocolError(problem));
        }
    }

    /// Moves what is to be sent behind these bytes.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if self.out.is_empty() {
            return;
        }
        if self.late_count > 0 {
            self.late_count = 0;
            out.append(&mut self.late);
        }
        match out.is_empty() {
            true => std::mem::swap(out, &mut self.out),
            false => out.append(&mut self.out),
        }
    }

    fn send(&mut self, write: impl FnOnce(&mut Outgoing<'_>) -> Result<(), EncodeError>) {
        let start = self.out.len();
        let mut message = Outgoing::new(&mut self.out);
        let written = write(&mut message);
        message.finish();
        if written.is_err() {
            self.out.truncate(start);
        }
    }

    fn message(&mut self, frame: Frame) -> Result<(), String> {
        match Message::read(&frame.message).map_err(|problem| problem.to_string())? {
            Message::Abort(exception) => Err(format!(
                "the peer ended the connection: {}",
                exception.reason
            )),
            Message::Unimplemented { .. } => Ok(()),
            Message::Unknown { .. } => {
                self.send(|out| out.unimplemented(&frame.message));
                Ok(())
            }
            Message::Bootstrap { question } => {
                self.open(question, false)?;
                self.events.push_back(Event::Bootstrap { question });
                Ok(())
            }
            Message::Call(call) => {
                self.open(call.question, call.keeps_results)?;
                self.called(call, frame)
            }
            Message::Return {
                question,
                release_params,
                answer,
            } => self.returned(question, release_params, answer, frame),
            Message::Finish {
                question,
                release_results,
            } => self.finished(question, release_results),
            Message::Resolve { promise, to } => self.resolved(promise, to),
            Message::Release { id, count } => self.released(id, count),
            Message::Disembargo(disembargo) => self.disembargo(disembargo),
        }
    }
}
