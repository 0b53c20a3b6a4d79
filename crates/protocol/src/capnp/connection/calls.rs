//! Calls of the peer: they run when the object that they are addressed to, and those among their
//! parameters, are known.

use super::objects::{hold, lend, object_at};
use super::{AnswerEntry, AnswerState, Connection, Event, Frame, IncomingCall, Object, Payload};
use crate::capnp::message::{Call, Cap, Exception, ExceptionKind, Promised, Target};

/// A call, with its message.
#[derive(Debug)]
pub(super) struct Held {
    frame: Frame,
    call: Call,
    /// The object that is called, and then the objects among the parameters.
    objects: Vec<Found>,
    /// How many of the objects are in answers that are not there yet.
    missing: usize,
}

/// A step to take once a question has been answered.
#[derive(Debug)]
pub(super) enum Ready {
    /// A call that has waited for the answer.
    Call(Held),
    /// The peer has finished the question, and whether that gives back the objects of the answer.
    Forget(u32, bool),
}

/// The object of a call that waits for an answer: the number of the call, and the place among its
/// objects.
pub(super) type Waiter = (u32, usize);

/// The place of the object that is called.
const TARGET: usize = 0;

#[derive(Debug)]
enum Found {
    Object(Result<Object, Exception>),
    /// In the answer to a question that is open.
    Awaited(Promised),
}

impl Connection {
    /// Lets a call run, or wait for the answers that its objects are in.
    pub(super) fn called(&mut self, call: Call, frame: Frame) -> Result<(), String> {
        let target = match &call.target {
            Target::Hosted(number) => match self.exports.object(*number) {
                Some(object) => Found::Object(Ok(Object::Own(object))),
                None => return Err(format!("there is no object {number}")),
            },
            Target::Promised(promised) => self.find(promised)?,
        };
        let mut objects = vec![target];
        for cap in &call.caps {
            objects.push(match cap {
                Cap::ReceiverAnswer(promised) => {
                    let found = self.find(promised)?;
                    if let Found::Object(Ok(object)) = &found {
                        lend(&mut self.imports, object);
                    }
                    found
                }
                cap => Found::Object(Ok(self.receive_object(cap)?)),
            });
        }
        let awaited = |found: &&Found| matches!(found, Found::Awaited(_));
        let missing = objects.iter().filter(awaited).count();
        let call = Held {
            frame,
            call,
            objects,
            missing,
        };
        match missing {
            0 => {
                self.run(call);
                Ok(())
            }
            _ => self.hold(call),
        }
    }

    /// The object in an answer of this end's.
    fn find(&self, promised: &Promised) -> Result<Found, String> {
        match self.answers.get(&promised.question).map(|it| &it.state) {
            None => Err(format!("there is no question {}", promised.question)),
            Some(AnswerState::Open(_)) => Ok(Found::Awaited(promised.clone())),
            Some(AnswerState::Done { results, .. }) => {
                Ok(Found::Object(in_results(results, promised)))
            }
        }
    }

    /// Keeps a call until its objects are known.
    fn hold(&mut self, call: Held) -> Result<(), String> {
        let (question, size) = (call.call.question, call.frame.bytes.len());
        if self.waiting + size > self.limits.waiting {
            self.release_found(&call.objects);
            self.refuse(question, "too many calls wait for others");
            return Ok(());
        }
        let awaited = call.objects.iter().enumerate();
        let awaited = awaited.filter_map(|(place, found)| match found {
            Found::Awaited(promised) => Some((place, promised.question)),
            Found::Object(_) => None,
        });
        let awaited: Vec<(usize, u32)> = awaited.collect();
        if awaited.iter().any(|(_, awaited)| *awaited == question) {
            return Err(format!("question {question} waits for itself"));
        }
        self.waiting += size;
        for found in &call.objects {
            if let Found::Object(Ok(object)) = found {
                hold(&mut self.exports, &mut self.imports, object);
            }
        }
        let number = self.held.add(call);
        for (place, question) in awaited {
            if let Some(AnswerEntry {
                state: AnswerState::Open(waiters),
                ..
            }) = self.answers.get_mut(&question)
            {
                waiters.push((number, place));
            }
        }
        Ok(())
    }

    /// A question has been answered: the calls that have waited for no other are ready.
    pub(super) fn answered(&mut self, question: u32, waiters: Vec<Waiter>) {
        let Some(AnswerEntry {
            state: AnswerState::Done { results, .. },
            ..
        }) = self.answers.get(&question)
        else {
            return;
        };
        for (number, place) in waiters {
            let Some(call) = self.held.get_mut(number) else {
                continue;
            };
            if let Some(found) = call.objects.get_mut(place)
                && let Found::Awaited(promised) = found
            {
                let object = in_results(results, promised);
                if let Ok(object) = &object {
                    hold(&mut self.exports, &mut self.imports, object);
                    if place > TARGET {
                        lend(&mut self.imports, object);
                    }
                }
                *found = Found::Object(object);
                call.missing -= 1;
            }
            if call.missing == 0
                && let Some(call) = self.held.remove(number)
            {
                self.waiting = self.waiting.saturating_sub(call.frame.bytes.len());
                self.ready.push_back(Ready::Call(call));
            }
        }
    }

    /// Lets the calls run that are ready. One can make others ready: no call runs inside another
    /// one.
    pub(super) fn run_ready(&mut self) {
        if std::mem::replace(&mut self.runs, true) {
            return;
        }
        while let Some(ready) = self.ready.pop_front() {
            match ready {
                Ready::Forget(question, release) => self.forget(question, release),
                Ready::Call(call) => self.run_held(call),
            }
        }
        self.runs = false;
    }

    /// Runs a call that has waited, and has held its objects.
    fn run_held(&mut self, call: Held) {
        let objects = call.objects.iter().filter_map(|found| match found {
            Found::Object(Ok(object)) => Some(object.clone()),
            _ => None,
        });
        let objects: Vec<Object> = objects.collect();
        self.run(call);
        objects.iter().for_each(|object| self.let_go(object));
    }

    fn run(&mut self, call: Held) {
        let Held {
            frame,
            call,
            objects,
            ..
        } = call;
        let question = call.question;
        let mut objects = objects.into_iter().map(|found| match found {
            Found::Object(found) => found,
            Found::Awaited(_) => Ok(Object::None),
        });
        let target = objects.next().unwrap_or(Ok(Object::None));
        let params = Payload {
            frame: frame.bytes,
            message: frame.message,
            content: call.params,
            // The object of a call that has failed is none.
            objects: objects.map(|found| found.unwrap_or(Object::None)).collect(),
        };
        let target = match target {
            Ok(Object::Own(object)) => {
                self.events.push_back(Event::Call(IncomingCall {
                    question,
                    object,
                    interface: call.interface,
                    method: call.method,
                    params,
                }));
                return;
            }
            Ok(Object::Peer(number)) => Ok(Target::Hosted(number)),
            Ok(Object::Promised(promised)) => Ok(Target::Promised(promised)),
            Ok(Object::None) => Err(Exception {
                reason: "the results have no object there".to_owned(),
                kind: ExceptionKind::Failed,
            }),
            Err(exception) => Err(exception),
        };
        match target {
            Ok(target) => {
                let place = (call.interface, call.method);
                self.forward(question, &target, place, &params);
            }
            Err(exception) => self.answer(question, Err(exception)),
        }
        self.release_all(&params.objects);
    }

    fn release_found(&mut self, objects: &[Found]) {
        for found in objects {
            if let Found::Object(Ok(Object::Peer(number))) = found {
                self.release(*number, 1);
            }
        }
    }
}

fn in_results(
    results: &Result<Payload, Exception>,
    promised: &Promised,
) -> Result<Object, Exception> {
    match results {
        Ok(payload) => object_at(payload, &promised.path),
        Err(exception) => Err(exception.clone()),
    }
}
