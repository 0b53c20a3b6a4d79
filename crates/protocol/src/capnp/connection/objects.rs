//! The objects that the ends pass to each other.

use super::{AnswerEntry, AnswerState, Connection, Event, Object, Payload};
use crate::capnp::message::{Cap, Context, Disembargo, Exception, ExceptionKind, Target};
use crate::capnp::tables::{Exports, Imports};
use dovetail_wire::capnp::{Object as Pointee, View};

impl Connection {
    /// The objects in the answer to a question of this end's, as this end knows them.
    pub(super) fn receive_objects(&mut self, caps: &[Cap]) -> Result<Vec<Object>, String> {
        caps.iter().map(|cap| self.receive_object(cap)).collect()
    }

    /// An object that the peer passes, as this end knows it. None in an answer that is not there,
    /// which no answer can refer to.
    pub(super) fn receive_object(&mut self, cap: &Cap) -> Result<Object, String> {
        Ok(match cap {
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
                Some(AnswerEntry {
                    state:
                        AnswerState::Done {
                            results: Ok(payload),
                            ..
                        },
                    ..
                }) => {
                    let object = object_at(payload, &promised.path).unwrap_or(Object::None);
                    lend(&mut self.imports, &object);
                    object
                }
                Some(_) => Object::None,
                None => return Err(format!("there is no question {}", promised.question)),
            },
        })
    }

    /// The objects that this end passes, as the peer knows them, and the numbers of those that it
    /// gets a reference to. Those of a call that is `forwarded` are passed by this end, and not by
    /// the owners of the objects.
    pub(super) fn pass_objects(
        &mut self,
        objects: &[Object],
        forwarded: bool,
    ) -> (Vec<Cap>, Vec<u32>) {
        let mut exported = Vec::new();
        let caps = objects.iter().map(|object| match object {
            Object::None => Cap::None,
            Object::Own(object) => {
                let number = self.exports.pass(*object, forwarded);
                exported.push(number);
                Cap::SenderHosted(number)
            }
            Object::Peer(number) => Cap::ReceiverHosted(*number),
            Object::Promised(promised) => Cap::ReceiverAnswer(promised.clone()),
        });
        (caps.collect(), exported)
    }

    pub(super) fn released(&mut self, id: u32, count: u32) -> Result<(), String> {
        match self.exports.release(id, count) {
            Ok((object, count)) => {
                if count > 0 {
                    self.events.push_back(Event::Released { object, count });
                }
                Ok(())
            }
            Err(_) => Err(format!(
                "the peer has not so many references to object {id}"
            )),
        }
    }

    pub(super) fn resolved(
        &mut self,
        promise: u32,
        to: Result<Cap, Exception>,
    ) -> Result<(), String> {
        let to = match to {
            Ok(cap) => Ok(self.receive_object(&cap)?),
            Err(exception) => Err(exception),
        };
        match self.imports.get_mut(promise) {
            // Calls still go by way of the promise, which the peer forwards: no order is lost.
            Some(import) => import.resolved = Some(to),
            // It has been released meanwhile, and with it what it has become.
            None => {
                if let Ok(Object::Peer(number)) = to {
                    self.release(number, 1);
                }
            }
        }
        Ok(())
    }

    pub(super) fn disembargo(&mut self, disembargo: Disembargo) -> Result<(), String> {
        match disembargo.context {
            // Calls run in the order in which they come: all that went before it have been
            // delivered.
            Context::Sender(id) => {
                let target = match disembargo.target {
                    Target::Hosted(number) => Target::Hosted(number),
                    Target::Promised(promised) => match self.answers.get(&promised.question) {
                        Some(AnswerEntry {
                            state:
                                AnswerState::Done {
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

    /// Lets those of these objects go that are the peer's.
    pub fn release_all(&mut self, objects: &[Object]) {
        for object in objects {
            if let Object::Peer(number) = object {
                self.release(*number, 1);
            }
        }
    }

    /// An answer or a waiting call does not lead to an object any longer.
    pub(super) fn let_go(&mut self, object: &Object) {
        match object {
            Object::Own(object) => {
                let (object, count) = (*object, self.exports.let_go(*object));
                if count > 0 {
                    self.events.push_back(Event::Released { object, count });
                }
            }
            Object::Peer(number) => {
                let count = self.imports.let_go(*number);
                self.release(*number, count);
            }
            Object::None | Object::Promised(_) => {}
        }
    }

    /// Gives back so many references to an object of the peer's: each message that passed it has
    /// brought one.
    pub fn release(&mut self, object: u32, count: u32) {
        let released = self.imports.release(object, count);
        if released.count > 0 {
            self.send(|out| out.release(object, released.count));
        }
        if let Some(Ok(Object::Peer(number))) = released.resolved {
            self.release(number, 1);
        }
    }

    /// The connection is over: the objects that the peer had references to.
    pub fn end(&mut self) -> Vec<u64> {
        self.exports.drain()
    }
}

/// An answer or a waiting call leads to an object, which stays until it is [let
/// go](Connection::let_go).
pub(super) fn hold(exports: &mut Exports, imports: &mut Imports, object: &Object) {
    match object {
        Object::Own(object) => exports.hold(*object),
        Object::Peer(number) => imports.hold(*number),
        Object::None | Object::Promised(_) => {}
    }
}

/// Counts a reference to an object of the peer's that comes out of an answer of this end's: its
/// reader gives one back, and the message has brought none.
pub(super) fn lend(imports: &mut Imports, object: &Object) {
    if let Object::Peer(number) = object {
        imports.lend(*number);
    }
}

impl Payload {
    /// The object that a path of pointers leads to.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn object(&self, path: &[u16]) -> Result<Object, Exception> {
        object_at(self, path)
    }
}

/// The object that a path of pointers leads to in results.
pub(super) fn object_at(payload: &Payload, path: &[u16]) -> Result<Object, Exception> {
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
