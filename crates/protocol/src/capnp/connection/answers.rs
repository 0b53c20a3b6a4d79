//! The questions of the peer, and their answers.

use super::objects::object_at;
use super::{Answer, Connection, Event, Held, IncomingCall, Object, Payload, State};
use crate::capnp::message::{Exception, ExceptionKind, Promised, Target};
use crate::capnp::write::Outgoing;
use dovetail_wire::capnp::{PointerAt, Segments};
use dovetail_wire::{Bytes, EncodeError};

impl Connection {
    pub(super) fn open(&mut self, question: u32) -> Result<(), String> {
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
    pub(super) fn called(&mut self, call: Held) -> Result<(), String> {
        match call.call.target.clone() {
            Target::Hosted(number) => match self.exports.object(number) {
                Some(object) => self.run(object, call),
                None => Err(format!("there is no object {number}")),
            },
            Target::Promised(promised) => self.called_on_answer(&promised, call),
        }
    }

    pub(super) fn called_on_answer(
        &mut self,
        promised: &Promised,
        call: Held,
    ) -> Result<(), String> {
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

    pub(super) fn run_on(
        &mut self,
        found: Result<Object, Exception>,
        call: Held,
    ) -> Result<(), String> {
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

    pub(super) fn refuse(&mut self, question: u32, why: &str) {
        let exception = Exception {
            reason: why.to_owned(),
            kind: ExceptionKind::Failed,
        };
        self.answer(question, Err(exception));
    }

    pub(super) fn run(&mut self, object: u64, call: Held) -> Result<(), String> {
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

    pub(super) fn is_open(&self, question: u32) -> bool {
        let answer = self.answers.get(&question);
        answer.is_some_and(|answer| matches!(answer.state, State::Open(_)))
    }

    pub(super) fn answer(&mut self, question: u32, result: Result<Payload, Exception>) {
        if !self.is_open(question) {
            return;
        }
        if let Err(exception) = &result {
            self.send(|out| out.failure(question, exception));
        }
        self.settle(question, result, Vec::new());
    }

    /// Keeps an answer until the peer finishes the question, and lets the calls run that wait for it.
    pub(super) fn settle(
        &mut self,
        question: u32,
        results: Result<Payload, Exception>,
        exported: Vec<u32>,
    ) {
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

    pub(super) fn finished(&mut self, question: u32, release: bool) -> Result<(), String> {
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

    pub(super) fn forget(&mut self, question: u32, release: bool) {
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
}
