//! The questions of this end.

use super::objects::object_at;
use super::{Connection, Event, Frame, MAX_LATE, Object, Payload, Question, Results};
use crate::capnp::message::{Context, Exception, ExceptionKind, Promised, Returned, Target};
use crate::capnp::write::Outgoing;
use dovetail_wire::EncodeError;
use dovetail_wire::capnp::Words;

impl Connection {
    /// Asks for the peer's main object; returns the number of the question.
    pub fn bootstrap(&mut self) -> u32 {
        let question = self.questions.add(Question::default());
        self.send(|out| out.bootstrap(question));
        question
    }

    /// Calls an object of the peer's, or one in the answer to a question; returns the number of the
    /// question. `write` makes the parameters, and returns the objects in them.
    ///
    /// # Errors
    ///
    /// The error of `write`; there is no question then.
    pub fn call(
        &mut self,
        target: &Target,
        place: (u64, u16),
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<Vec<Object>, EncodeError>,
    ) -> Result<u32, EncodeError> {
        self.ask(target, place, false, write)
    }

    /// Calls as [`call`](Self::call) does; `forwarded` as in [`pass_objects`](Self::pass_objects).
    pub(super) fn ask(
        &mut self,
        target: &Target,
        (interface, method): (u64, u16),
        forwarded: bool,
        write: impl FnOnce(&mut Outgoing<'_>, usize) -> Result<Vec<Object>, EncodeError>,
    ) -> Result<u32, EncodeError> {
        let question = self.questions.add(Question::default());
        let start = self.out.len();
        let mut message = Outgoing::new(&mut self.out);
        let made = message.call(question, target, interface, method);
        let written = made.and_then(|payload: Words| {
            let objects = write(&mut message, payload.pointer(0))?;
            Ok((payload, objects))
        });
        let (payload, objects) = match written {
            Ok(payload) => payload,
            Err(problem) => {
                self.out.truncate(start);
                self.questions.remove(question);
                return Err(problem);
            }
        };
        let (caps, exported) = self.pass_objects(&objects, forwarded);
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

    pub(super) fn returned(
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
        for number in exported.into_iter().filter(|_| release_params) {
            self.released(number, 1)?;
        }
        let result = match answer {
            Returned::Results { content, caps } => Ok(Payload {
                frame: frame.bytes,
                message: frame.message,
                content,
                objects: self.receive_objects(&caps)?,
            }),
            Returned::Exception(exception) => Err(exception),
            Returned::Canceled => Err(Exception {
                reason: "the call was cancelled".to_owned(),
                kind: ExceptionKind::Failed,
            }),
            Returned::TakeFrom(kept) => match self.take_kept(kept, question)? {
                Some(result) => result,
                // It comes when that question has been answered.
                None => return Ok(()),
            },
            Returned::SentElsewhere => {
                return Err("an answer that was not asked for".to_owned());
            }
        };
        self.conclude(question, result);
        Ok(())
    }

    /// The answer to a question is there.
    pub(super) fn conclude(&mut self, question: u32, result: Result<Payload, Exception>) {
        let Some(own) = self.questions.get_mut(question) else {
            return;
        };
        own.concluded = true;
        let (pipelined, finished) = (std::mem::take(&mut own.pipelined), own.finished);
        let forwards = own.forwards;
        if finished {
            self.questions.remove(question);
        }
        match (finished, forwards, result) {
            // Nobody waits for it.
            (true, _, Ok(payload)) => self.release_all(&payload.objects),
            (true, _, Err(_)) => {}
            (false, Some(asked), result) => {
                self.answer_forwarded(asked, result);
                self.finish(question);
            }
            (false, None, result) => {
                let result = result.map(|payload| self.results(question, payload, &pipelined));
                self.events.push_back(Event::Answered { question, result });
            }
        }
    }

    /// Results that have come. Calls that went to objects of this end by way of the peer come back
    /// to it: a disembargo goes behind them.
    pub(super) fn results(
        &mut self,
        question: u32,
        payload: Payload,
        pipelined: &[Vec<u16>],
    ) -> Results {
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

    /// Finishes a question whose answer has come without objects. The peer is told with the next
    /// message, or after 16 such questions.
    pub fn finish_late(&mut self, question: u32) {
        let start = self.out.len();
        self.finish(question);
        if start == 0 && self.late_count < MAX_LATE {
            self.late.append(&mut self.out);
            self.late_count += 1;
        }
    }

    /// Nobody waits for the answer to a question any longer, or it has been used: no further calls
    /// are addressed to it. The objects that came with it are released one by one.
    pub fn finish(&mut self, question: u32) {
        let Some(own) = self.questions.get_mut(question) else {
            return;
        };
        own.finished = true;
        if own.concluded {
            self.questions.remove(question);
        }
        self.send(|out| out.finish_question(question, false));
    }
}
