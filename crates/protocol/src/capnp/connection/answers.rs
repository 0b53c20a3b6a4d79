//! The questions of the peer, and their answers.

use super::calls::Ready;
use super::objects::hold;
use super::{AnswerEntry, AnswerState, Connection, Event, Object, Payload};
use crate::capnp::message::{Exception, ExceptionKind};
use crate::capnp::write::{Outgoing, TABLE};
use dovetail_wire::capnp::{PointerAt, Segments};
use dovetail_wire::{Bytes, EncodeError};

impl Connection {
    pub(super) fn open(&mut self, question: u32, keeps: bool) -> Result<(), String> {
        if self.answers.len() >= self.limits.answers {
            return Err("too many questions that are not finished".to_owned());
        }
        let answer = AnswerEntry {
            state: AnswerState::Open(Vec::new()),
            forwarded: None,
            keeps,
            taken_by: None,
            finished: None,
        };
        match self.answers.insert(question, answer) {
            None => Ok(()),
            Some(_) => Err(format!("question {question} is asked twice")),
        }
    }

    pub(super) fn refuse(&mut self, question: u32, why: &str) {
        let exception = Exception {
            reason: why.to_owned(),
            kind: ExceptionKind::Failed,
        };
        self.answer(question, Err(exception));
    }

    /// Answers a question of the peer's with results, whose value `write` makes; it returns the
    /// objects in the value. A question that has been answered stays so.
    ///
    /// # Errors
    ///
    /// The error of `write`; the question is not answered then.
    pub fn reply(
        &mut self,
        question: u32,
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<Vec<Object>, EncodeError>,
    ) -> Result<(), EncodeError> {
        self.answer_with(question, false, write)
    }

    /// Answers as [`reply`](Self::reply) does; `forwarded` as in
    /// [`pass_objects`](Self::pass_objects).
    pub(super) fn answer_with(
        &mut self,
        question: u32,
        forwarded: bool,
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<Vec<Object>, EncodeError>,
    ) -> Result<(), EncodeError> {
        if !self.is_open(question) {
            return Ok(());
        }
        let start = self.out.len();
        let mut message = Outgoing::new(&mut self.out);
        let payload = message.results(question);
        let written = payload.and_then(|payload| {
            let objects = write(&mut message, payload.pointer(0))?;
            Ok((payload, objects))
        });
        let (payload, objects) = match written {
            Ok(payload) => payload,
            Err(problem) => {
                self.out.truncate(start);
                return Err(problem);
            }
        };
        message.finish();
        // Behind the table of one segment.
        let content = (payload.pointer(0) - start - TABLE) / 8;
        let content = PointerAt::in_first_segment(content);
        if self.keeps(question) {
            self.keep(question, start, content, objects);
            return Ok(());
        }
        let (caps, exported) = self.pass_objects(&objects, forwarded);
        let mut message = Outgoing::resume(&mut self.out, start);
        message.caps(payload, &caps)?;
        message.finish();
        let segment = self.out.get(start + TABLE..).unwrap_or_default();
        // Calls may be addressed to the objects in it, as long as the peer does not finish the
        // question.
        let results = match objects.is_empty() {
            true => Payload::default(),
            false => Payload {
                frame: Bytes::new(),
                message: Segments::single(Bytes::copy_from_slice(segment)).unwrap_or_default(),
                content: Some(content),
                objects,
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
        let _ = self.reply(question, |message, at| {
            message.segment().capability(at, 0);
            Ok(vec![Object::Own(object)])
        });
    }

    pub(super) fn is_open(&self, question: u32) -> bool {
        let answer = self.answers.get(&question);
        answer.is_some_and(|answer| matches!(answer.state, AnswerState::Open(_)))
    }

    pub(super) fn answer(&mut self, question: u32, result: Result<Payload, Exception>) {
        if !self.is_open(question) {
            return;
        }
        match &result {
            Err(_) if self.keeps(question) => self.send(|out| out.sent_elsewhere(question)),
            Err(exception) => self.send(|out| out.failure(question, exception)),
            Ok(_) => {}
        }
        self.settle(question, result, Vec::new());
    }

    /// Keeps an answer until the peer finishes the question, and lets the calls run that wait for
    /// it.
    pub(super) fn settle(
        &mut self,
        question: u32,
        results: Result<Payload, Exception>,
        exported: Vec<u32>,
    ) {
        let Some(answer) = self.answers.get_mut(&question) else {
            return;
        };
        let objects = results.iter().flat_map(|payload| &payload.objects);
        objects.for_each(|object| hold(&mut self.exports, &mut self.imports, object));
        self.kept += results.as_ref().map_or(0, Payload::size);
        let done = AnswerState::Done { results, exported };
        let AnswerState::Open(waiting) = std::mem::replace(&mut answer.state, done) else {
            return;
        };
        self.answered(question, waiting);
        self.hand_on(question);
        if let Some(AnswerEntry {
            finished: Some(release),
            ..
        }) = self.answers.get(&question)
        {
            // Behind the calls that have waited: they keep the objects of the answer.
            self.ready.push_back(Ready::Forget(question, *release));
        }
        self.run_ready();
    }

    pub(super) fn finished(&mut self, question: u32, release: bool) -> Result<(), String> {
        let Some(answer) = self.answers.get_mut(&question) else {
            return Err(format!("there is no question {question}"));
        };
        if answer.finished.replace(release).is_some() {
            return Err(format!("question {question} is finished twice"));
        }
        match (&answer.state, answer.forwarded) {
            (AnswerState::Open(_), Some(forwarded)) => {
                self.finish(forwarded);
                self.refuse(question, "the call was cancelled");
            }
            // Calls wait for the answer, and so somebody does.
            (AnswerState::Open(waiters), None) if !waiters.is_empty() => {}
            (AnswerState::Open(_), None) => self.events.push_back(Event::Canceled { question }),
            (AnswerState::Done { .. }, _) => self.forget(question, release),
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, question: u32, release: bool) {
        let Some(AnswerEntry {
            state: AnswerState::Done { results, exported },
            keeps,
            ..
        }) = self.answers.remove(&question)
        else {
            return;
        };
        self.kept = (self.kept).saturating_sub(results.as_ref().map_or(0, Payload::size));
        let objects = results.iter().flat_map(|payload| &payload.objects);
        for object in objects {
            self.let_go(object);
            if let (Object::Own(object), true) = (object, keeps) {
                // The peer was never sent the reference that its owner has passed.
                let (object, count) = (*object, 1);
                self.events.push_back(Event::Released { object, count });
            }
        }
        for number in exported.into_iter().filter(|_| release) {
            // The reference is there, unless the peer has given it back on its own.
            let _ = self.released(number, 1);
        }
    }
}
