//! One end of a connection.

use super::message::{
    Answer as Returned, Call, Cap, Context, Disembargo, Exception, ExceptionKind, Message,
    Promised, Target,
};
use super::tables::{Exports, Imports, Numbered};
use super::write::Outgoing;
use bytes::BytesMut;
use dovetail_wire::capnp::{Object as Pointee, PointerAt, Segments, View, Words};
use dovetail_wire::{Bytes, DecodeError, EncodeError};
use std::collections::{HashMap, VecDeque};

/// The most ends of questions that wait for a message to leave with.
const MOST_LATE: usize = 16;

/// What the peer may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message. Default 64 MiB.
    pub message: usize,
    /// Questions of the peer that are not finished. Default 100,000.
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
            answers: 100_000,
            objects: 100_000,
            waiting: 16 << 20,
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
    /// One of the peer's. Whoever gets it releases it once.
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
    /// The peer has let go of the last reference to an object of this end's.
    Dropped(u64),
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
#[derive(Debug)]
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
    /// For each object of this end's that calls went to by way of the peer, the number of the event after which calls may go there
    /// directly.
    pub embargoes: Vec<(usize, u32)>,
}

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

/// One end of a connection. Both may call and be called.
///
/// # Calling contract
///
/// - Append what is received to a buffer, and call [`receive`](Self::receive) until it returns `None`.
/// - Send what [`transmit`](Self::transmit) gives.
/// - Answer each call and each bootstrap that arrives once, in any order.
/// - Finish each question once, when its answer has been used, or nobody waits for it.
/// - After an error write [`goodbye`](Self::goodbye), and close.
#[derive(Debug, Default)]
pub struct Connection {
    limits: Limits,
    questions: Numbered<Question>,
    answers: HashMap<u32, Answer>,
    exports: Exports,
    imports: Imports,
    embargoes: Numbered<()>,
    events: VecDeque<Event>,
    /// Bytes of the calls that wait.
    waiting: usize,
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
    answered: bool,
    finished: bool,
}

/// A question of the peer's.
#[derive(Debug)]
struct Answer {
    state: State,
    /// The peer has finished it, and whether that gives back the objects of the answer.
    finished: Option<bool>,
}

#[derive(Debug)]
enum State {
    /// It runs, or waits; with the calls that are addressed to its answer.
    Open(Vec<Held>),
    /// It has been answered, with these objects.
    Done {
        results: Result<Payload, Exception>,
        /// Their numbers at the peer.
        exported: Vec<u32>,
    },
}

/// A call that waits, with its message.
#[derive(Debug)]
struct Held {
    call: Call,
    frame: Frame,
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
        self.answers.len() * size_of::<(u32, Answer)>() + self.waiting
    }

    /// How many bytes to receive next, at least.
    pub fn needs(&self) -> usize {
        self.needs.max(1)
    }

    /// True where a stream that begins with these bytes is one of this protocol; `None` where more have to be received first.
    ///
    /// A client begins with a message of one segment, whose table begins with a zero of 32 bits: the length of an empty frame on
    /// any other wire.
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
                self.open(question)?;
                self.events.push_back(Event::Bootstrap { question });
                Ok(())
            }
            Message::Call(call) => {
                self.open(call.question)?;
                self.called(Held { call, frame })
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

    fn open(&mut self, question: u32) -> Result<(), String> {
        if self.answers.len() >= self.limits.answers {
            return Err("too many questions that are not finished".to_owned());
        }
        let answer = Answer {
            state: State::Open(Vec::new()),
            finished: None,
        };
        match self.answers.insert(question, answer) {
            None => Ok(()),
            Some(_) => Err(format!("question {question} is asked twice")),
        }
    }

    /// Lets a call run, or wait for the answer that its object is in.
    fn called(&mut self, call: Held) -> Result<(), String> {
        match call.call.target.clone() {
            Target::Hosted(number) => match self.exports.object(number) {
                Some(object) => self.run(object, call),
                None => Err(format!("there is no object {number}")),
            },
            Target::Promised(promised) => self.called_on_answer(&promised, call),
        }
    }

    fn called_on_answer(&mut self, promised: &Promised, call: Held) -> Result<(), String> {
        let question = call.call.question;
        let size = call.frame.bytes.len();
        let Some(answer) = self.answers.get_mut(&promised.question) else {
            return Err(format!("there is no question {}", promised.question));
        };
        match &mut answer.state {
            State::Open(_) if promised.question == question => {
                Err(format!("question {question} waits for itself"))
            }
            State::Open(waiting) => {
                if self.waiting + size > self.limits.waiting {
                    self.refuse(question, "too many calls wait for others");
                    return Ok(());
                }
                self.waiting += size;
                waiting.push(call);
                Ok(())
            }
            State::Done { results, .. } => {
                let found = match results {
                    Ok(payload) => object_at(payload, &promised.path),
                    Err(exception) => Err(exception.clone()),
                };
                self.run_on(found, call)
            }
        }
    }

    fn run_on(&mut self, found: Result<Object, Exception>, call: Held) -> Result<(), String> {
        let question = call.call.question;
        match found {
            Ok(Object::Own(object)) => self.run(object, call),
            Ok(_) => {
                self.refuse(question, "the object is not one of this end");
                Ok(())
            }
            Err(exception) => {
                self.answer(question, Err(exception));
                Ok(())
            }
        }
    }

    fn refuse(&mut self, question: u32, why: &str) {
        let exception = Exception {
            reason: why.to_owned(),
            kind: ExceptionKind::Failed,
        };
        self.answer(question, Err(exception));
    }

    fn run(&mut self, object: u64, call: Held) -> Result<(), String> {
        let Held { call, frame } = call;
        let objects = self.receive_objects(&call.caps)?;
        self.events.push_back(Event::Call(IncomingCall {
            question: call.question,
            object,
            interface: call.interface,
            method: call.method,
            params: Payload {
                frame: frame.bytes,
                message: frame.message,
                content: call.params,
                objects,
            },
        }));
        Ok(())
    }

    /// The objects that the peer passes, as this end knows them.
    fn receive_objects(&mut self, caps: &[Cap]) -> Result<Vec<Object>, String> {
        let mut objects = Vec::new();
        for cap in caps {
            objects.push(match cap {
                Cap::None => Object::None,
                Cap::SenderHosted(number) | Cap::SenderPromise(number) => {
                    if self.imports.len() >= self.limits.objects {
                        return Err("too many objects".to_owned());
                    }
                    self.imports.receive(*number);
                    Object::Peer(*number)
                }
                Cap::ReceiverHosted(number) => match self.exports.object(*number) {
                    Some(object) => Object::Own(object),
                    None => return Err(format!("there is no object {number}")),
                },
                Cap::ReceiverAnswer(promised) => match self.answers.get(&promised.question) {
                    Some(Answer {
                        state:
                            State::Done {
                                results: Ok(payload),
                                ..
                            },
                        ..
                    }) => object_at(payload, &promised.path).unwrap_or(Object::None),
                    Some(_) => Object::None,
                    None => return Err(format!("there is no question {}", promised.question)),
                },
            });
        }
        Ok(objects)
    }

    /// The objects that this end passes, as the peer knows them, and the numbers of those that it gets a reference to.
    fn pass_objects(&mut self, objects: &[Object]) -> (Vec<Cap>, Vec<u32>) {
        let mut exported = Vec::new();
        let caps = objects.iter().map(|object| match object {
            Object::None => Cap::None,
            Object::Own(object) => {
                let number = self.exports.pass(*object);
                exported.push(number);
                Cap::SenderHosted(number)
            }
            Object::Peer(number) => Cap::ReceiverHosted(*number),
            Object::Promised(promised) => Cap::ReceiverAnswer(promised.clone()),
        });
        (caps.collect(), exported)
    }

    /// Answers a question of the peer's with results, whose value `write` makes. A question that has been answered stays so.
    ///
    /// # Errors
    ///
    /// The error of `write`; the question is not answered then.
    pub fn reply(
        &mut self,
        question: u32,
        objects: &[Object],
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if !self.is_open(question) {
            return Ok(());
        }
        let start = self.out.len();
        let mut message = Outgoing::new(&mut self.out);
        let payload = message.results(question);
        let written = payload.and_then(|payload| {
            write(&mut message, payload.pointer(0))?;
            Ok(payload)
        });
        let payload = match written {
            Ok(payload) => payload,
            Err(problem) => {
                self.out.truncate(start);
                return Err(problem);
            }
        };
        message.finish();
        let (caps, exported) = self.pass_objects(objects);
        let mut message = Outgoing::resume(&mut self.out, start);
        message.caps(payload, &caps)?;
        message.finish();
        // Behind the table of one segment.
        let segment_start = start + 8;
        let content = (payload.pointer(0) - segment_start) / 8;
        let segment = self.out.get(segment_start..).unwrap_or_default();
        // Calls may be addressed to the objects in it, as long as the peer does not finish the question.
        let results = match objects.is_empty() {
            true => Payload {
                frame: Bytes::new(),
                message: Segments::default(),
                content: None,
                objects: Vec::new(),
            },
            false => Payload {
                frame: Bytes::new(),
                message: Segments::single(Bytes::copy_from_slice(segment)).unwrap_or_default(),
                content: Some(PointerAt::in_first_segment(content)),
                objects: objects.to_vec(),
            },
        };
        self.settle(question, Ok(results), exported);
        Ok(())
    }

    /// Answers a question of the peer's with a failure.
    pub fn fail_call(&mut self, question: u32, exception: Exception) {
        self.answer(question, Err(exception));
    }

    /// Answers the question for the main object.
    pub fn bootstrapped(&mut self, question: u32, object: u64) {
        // Nothing is written but a pointer.
        let _ = self.reply(question, &[Object::Own(object)], |message, at| {
            message.segment().capability(at, 0);
            Ok(())
        });
    }

    fn is_open(&self, question: u32) -> bool {
        let answer = self.answers.get(&question);
        answer.is_some_and(|answer| matches!(answer.state, State::Open(_)))
    }

    fn answer(&mut self, question: u32, result: Result<Payload, Exception>) {
        if !self.is_open(question) {
            return;
        }
        if let Err(exception) = &result {
            self.send(|out| out.failure(question, exception));
        }
        self.settle(question, result, Vec::new());
    }

    /// Keeps an answer until the peer finishes the question, and lets the calls run that wait for it.
    fn settle(&mut self, question: u32, results: Result<Payload, Exception>, exported: Vec<u32>) {
        let Some(answer) = self.answers.get_mut(&question) else {
            return;
        };
        let done = State::Done { results, exported };
        let State::Open(waiting) = std::mem::replace(&mut answer.state, done) else {
            return;
        };
        for call in waiting {
            self.waiting = self.waiting.saturating_sub(call.frame.bytes.len());
            let Target::Promised(promised) = call.call.target.clone() else {
                continue;
            };
            if let Err(problem) = self.called_on_answer(&promised, call) {
                self.fail(problem);
            }
        }
        if let Some(Answer {
            finished: Some(release),
            ..
        }) = self.answers.get(&question)
        {
            let release = *release;
            self.forget(question, release);
        }
    }

    fn finished(&mut self, question: u32, release: bool) -> Result<(), String> {
        let Some(answer) = self.answers.get_mut(&question) else {
            return Err(format!("there is no question {question}"));
        };
        if answer.finished.replace(release).is_some() {
            return Err(format!("question {question} is finished twice"));
        }
        match answer.state {
            State::Open(_) => self.events.push_back(Event::Canceled { question }),
            State::Done { .. } => self.forget(question, release),
        }
        Ok(())
    }

    fn forget(&mut self, question: u32, release: bool) {
        let answer = self.answers.remove(&question);
        if let Some(Answer {
            state: State::Done { exported, .. },
            ..
        }) = answer
            && release
        {
            for number in exported {
                // The reference is there: the answer has passed it.
                let dropped = self.exports.release(number, 1).ok().flatten();
                self.events.extend(dropped.map(Event::Dropped));
            }
        }
    }

    fn released(&mut self, id: u32, count: u32) -> Result<(), String> {
        match self.exports.release(id, count) {
            Ok(dropped) => {
                self.events.extend(dropped.map(Event::Dropped));
                Ok(())
            }
            Err(_) => Err(format!(
                "the peer has not so many references to object {id}"
            )),
        }
    }

    fn resolved(&mut self, promise: u32, to: Result<Cap, Exception>) -> Result<(), String> {
        let to = match to {
            Ok(cap) => Ok(self
                .receive_objects(std::slice::from_ref(&cap))?
                .pop()
                .unwrap_or(Object::None)),
            Err(exception) => Err(exception),
        };
        match self.imports.get_mut(promise) {
            // Calls still go by way of the promise, which the peer forwards: no order is lost.
            Some(import) => import.resolved = Some(to),
            // It has been released meanwhile, and with it what it has become.
            None => {
                if let Ok(Object::Peer(number)) = to {
                    self.release(number);
                }
            }
        }
        Ok(())
    }

    fn disembargo(&mut self, disembargo: Disembargo) -> Result<(), String> {
        match disembargo.context {
            // Calls run in the order in which they come: all that went before it have been delivered.
            Context::Sender(id) => {
                let target = match disembargo.target {
                    Target::Hosted(number) => Target::Hosted(number),
                    Target::Promised(promised) => match self.answers.get(&promised.question) {
                        Some(Answer {
                            state:
                                State::Done {
                                    results: Ok(payload),
                                    ..
                                },
                            ..
                        }) => match object_at(payload, &promised.path) {
                            Ok(Object::Peer(number)) => Target::Hosted(number),
                            _ => {
                                return Err(
                                    "a disembargo of an object that is not the peer's".to_owned()
                                );
                            }
                        },
                        _ => return Err(format!("there is no question {}", promised.question)),
                    },
                };
                self.send(|out| out.disembargo(&target, Context::Receiver(id)));
                Ok(())
            }
            Context::Receiver(id) => match self.embargoes.remove(id) {
                Some(()) => {
                    self.events.push_back(Event::Disembargoed(id));
                    Ok(())
                }
                None => Err(format!("there is no embargo {id}")),
            },
            Context::Other => Err("a disembargo for a third party".to_owned()),
        }
    }

    /// Asks for the peer's main object; returns the number of the question.
    pub fn bootstrap(&mut self) -> u32 {
        let question = self.questions.add(Question::default());
        self.send(|out| out.bootstrap(question));
        question
    }

    /// Calls an object of the peer's, or one in the answer to a question; returns the number of the question. `write` makes the
    /// parameters.
    ///
    /// # Errors
    ///
    /// The error of `write`; there is no question then.
    pub fn call(
        &mut self,
        target: &Target,
        (interface, method): (u64, u16),
        objects: &[Object],
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<(), EncodeError>,
    ) -> Result<u32, EncodeError> {
        let question = self.questions.add(Question::default());
        let start = self.out.len();
        let mut message = Outgoing::new(&mut self.out);
        let made = message.call(question, target, interface, method);
        let written = made.and_then(|payload: Words| {
            write(&mut message, payload.pointer(0))?;
            Ok(payload)
        });
        let payload = match written {
            Ok(payload) => payload,
            Err(problem) => {
                self.out.truncate(start);
                self.questions.remove(question);
                return Err(problem);
            }
        };
        let (caps, exported) = self.pass_objects(objects);
        let mut message = Outgoing::resume(&mut self.out, start);
        message.caps(payload, &caps)?;
        message.finish();
        if let Some(own) = self.questions.get_mut(question) {
            own.exported = exported;
        }
        if let Target::Promised(promised) = target
            && let Some(other) = self.questions.get_mut(promised.question)
        {
            other.pipelined.push(promised.path.clone());
        }
        Ok(question)
    }

    fn returned(
        &mut self,
        question: u32,
        release_params: bool,
        answer: Returned,
        frame: Frame,
    ) -> Result<(), String> {
        let Some(own) = self.questions.get_mut(question) else {
            return Err(format!("there is no question {question}"));
        };
        if std::mem::replace(&mut own.answered, true) {
            return Err(format!("question {question} is answered twice"));
        }
        let exported = std::mem::take(&mut own.exported);
        let (pipelined, finished) = (std::mem::take(&mut own.pipelined), own.finished);
        if finished {
            self.questions.remove(question);
        }
        for number in exported.into_iter().filter(|_| release_params) {
            self.released(number, 1)?;
        }
        let result = match answer {
            Returned::Results { content, caps } => {
                let payload = Payload {
                    frame: frame.bytes,
                    message: frame.message,
                    content,
                    objects: self.receive_objects(&caps)?,
                };
                Ok(self.results(question, payload, &pipelined))
            }
            Returned::Exception(exception) => Err(exception),
            Returned::Canceled => Err(Exception {
                reason: "the call was cancelled".to_owned(),
                kind: ExceptionKind::Failed,
            }),
            Returned::SentElsewhere | Returned::TakeFrom(_) => {
                return Err("an answer that was not asked for".to_owned());
            }
        };
        match (finished, result) {
            // Nobody waits for it.
            (true, Ok(results)) => {
                for object in results.payload.objects {
                    if let Object::Peer(number) = object {
                        self.release(number);
                    }
                }
            }
            (true, Err(_)) => {}
            (false, result) => self.events.push_back(Event::Answered { question, result }),
        }
        Ok(())
    }

    /// Results that have come. Calls that went to objects of this end by way of the peer come back to it: a disembargo goes behind
    /// them.
    fn results(&mut self, question: u32, payload: Payload, pipelined: &[Vec<u16>]) -> Results {
        let mut embargoes = Vec::new();
        for path in pipelined {
            let Ok(object @ Object::Own(_)) = object_at(&payload, path) else {
                continue;
            };
            let place = payload.objects.iter().position(|other| *other == object);
            if let Some(place) = place {
                let id = self.embargoes.add(());
                let target = Target::Promised(Promised {
                    question,
                    path: path.clone(),
                });
                self.send(|out| out.disembargo(&target, Context::Sender(id)));
                embargoes.push((place, id));
            }
        }
        Results { payload, embargoes }
    }

    /// The same as [`finish`](Self::finish), for a question whose answer has come and holds nothing: the peer is told with the next
    /// message, or after some further ones.
    pub fn finish_late(&mut self, question: u32) {
        let start = self.out.len();
        self.finish(question);
        if start == 0 && self.late_count < MOST_LATE {
            self.late.append(&mut self.out);
            self.late_count += 1;
        }
    }

    /// Nobody waits for the answer to a question any longer, or it has been used: no further calls are addressed to it. The objects that
    /// came with it are released one by one.
    pub fn finish(&mut self, question: u32) {
        let Some(own) = self.questions.get_mut(question) else {
            return;
        };
        own.finished = true;
        if own.answered {
            self.questions.remove(question);
        }
        self.send(|out| out.finish_question(question, false));
    }

    /// Lets an object of the peer's go.
    pub fn release(&mut self, object: u32) {
        if let Some(count) = self.imports.release(object) {
            self.send(|out| out.release(object, count));
        }
    }

    /// The connection is over: the objects that the peer had references to.
    pub fn end(&mut self) -> Vec<u64> {
        self.exports.drain()
    }
}

/// The object that a path of pointers leads to in results.
fn object_at(payload: &Payload, path: &[u16]) -> Result<Object, Exception> {
    let failed = |reason: &str| Exception {
        reason: reason.to_owned(),
        kind: ExceptionKind::Failed,
    };
    let malformed = |_| failed("the results cannot be read");
    let Some(root) = payload.content else {
        return Err(failed("the results have no object there"));
    };
    let found = match path.split_last() {
        None => View::object_at(&payload.message, root).map_err(malformed)?,
        Some((last, path)) => {
            let mut view = View::at(&payload.message, root).map_err(malformed)?;
            for pointer in path {
                let next = view.map(|view| view.structure(usize::from(*pointer)));
                view = next.transpose().map_err(malformed)?.flatten();
            }
            match view {
                Some(view) => view.object(usize::from(*last)).map_err(malformed)?,
                None => Pointee::Null,
            }
        }
    };
    match found {
        Pointee::Capability(index) => match payload.objects.get(index as usize) {
            Some(object) => Ok(object.clone()),
            None => Err(failed("the results have no such object")),
        },
        Pointee::Null => Err(failed("the results have no object there")),
        Pointee::Value => Err(failed(
            "the results have something else than an object there",
        )),
    }
}
