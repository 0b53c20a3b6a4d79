//! Messages that have come. The places of their fields are those of `rpc.capnp`.

use dovetail_wire::DecodeError;
use dovetail_wire::capnp::{PointerAt, Segments, View};

type Result<T> = std::result::Result<T, DecodeError>;

/// The most objects that one message passes.
const MAX_CAPS: usize = 10_000;

/// The longest path from a result to an object in it.
const LONGEST_PATH: usize = 64;

/// A message.
#[derive(Debug)]
pub enum Message {
    /// The peer does not know a message of ours: the kind of that, and its question where it was
    /// one.
    Unimplemented {
        /// The tag of the message.
        kind: u16,
    },
    /// The peer ends the connection.
    Abort(Exception),
    /// A question for the main object.
    Bootstrap {
        /// The number of the question.
        question: u32,
    },
    /// A call.
    Call(Call),
    /// The answer to a question of ours.
    Return {
        /// The number of the question.
        question: u32,
        /// The answer gives back the objects that the question passed.
        release_params: bool,
        /// The answer.
        answer: Returned,
    },
    /// The peer asks no more about a question of its own.
    Finish {
        /// The number of the question.
        question: u32,
        /// The end of the question gives back the objects of the answer.
        release_results: bool,
    },
    /// A promise of the peer's has become something.
    Resolve {
        /// The number of the promise.
        promise: u32,
        /// The object, or why there is none.
        to: std::result::Result<Cap, Exception>,
    },
    /// The peer gives back references to an object of ours.
    Release {
        /// The number of the object.
        id: u32,
        /// How many references.
        count: u32,
    },
    /// A message that comes back behind all calls that went before it.
    Disembargo(Disembargo),
    /// A message that this end does not know.
    Unknown {
        /// Its tag.
        kind: u16,
    },
}

/// A call that has come.
#[derive(Debug)]
pub struct Call {
    /// The number of the question.
    pub question: u32,
    /// The object that is called.
    pub target: Target,
    /// The id of the interface.
    pub interface: u64,
    /// The ordinal of the method in it.
    pub method: u16,
    /// The parameters, where there are any.
    pub params: Option<PointerAt>,
    /// The objects that the parameters pass.
    pub caps: Vec<Cap>,
    /// The results stay at the callee, until they are asked for.
    pub keeps_results: bool,
}

/// The object that a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object of the receiver's.
    Hosted(u32),
    /// An object in the answer to a question.
    Promised(Promised),
}

/// An object in the answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// The number of the question, at the sender.
    pub question: u32,
    /// The numbers of the pointers that lead to it.
    pub path: Vec<u16>,
}

/// An object that a message passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cap {
    /// None.
    None,
    /// One of the sender's.
    SenderHosted(u32),
    /// A promise of the sender's, which says later what it is.
    SenderPromise(u32),
    /// One of the receiver's.
    ReceiverHosted(u32),
    /// One in the answer to a question of the sender's.
    ReceiverAnswer(Promised),
}

/// The answer to a question.
#[derive(Debug)]
pub enum Returned {
    /// The results.
    Results {
        /// The place of the results; `None` for null.
        content: Option<PointerAt>,
        /// The objects that they pass.
        caps: Vec<Cap>,
    },
    /// The call failed.
    Exception(Exception),
    /// The question was finished before the answer was there.
    Canceled,
    /// The results stay at the callee, as was asked.
    SentElsewhere,
    /// The answer is that to another question, of the receiver's.
    TakeFrom(u32),
}

/// Why a call failed, or a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// For people.
    pub reason: String,
    /// For programs.
    pub kind: ExceptionKind,
}

/// The kinds of failures, by the way in which a caller can react.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionKind {
    /// Nothing.
    Failed,
    /// Try again later.
    Overloaded,
    /// Connect again.
    Disconnected,
    /// Use something else.
    Unimplemented,
}

/// A message that comes back behind all calls that went before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disembargo {
    /// The object whose calls it follows.
    pub target: Target,
    /// The end that has sent it first.
    pub context: Context,
}

/// The end that has sent a disembargo first, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The sender's: the receiver sends it back.
    Sender(u32),
    /// The receiver's own, which has come back.
    Receiver(u32),
    /// One of three parties, of which this end knows nothing.
    Other,
}

impl Message {
    /// Reads a message.
    pub fn read(message: &Segments) -> Result<Self> {
        let root = View::root(message)?;
        let kind = root.u16(0);
        let body = root.structure(0)?;
        let body = match kind {
            0..=6 | 8 | 13 => body.ok_or_else(empty)?,
            _ => return Ok(Message::Unknown { kind }),
        };
        Ok(match kind {
            0 => Message::Unimplemented { kind: body.u16(0) },
            1 => Message::Abort(exception(&body)?),
            2 => Message::Call(call(&body)?),
            3 => Message::Return {
                question: body.u32(0),
                // A default of true: the bit says the contrary.
                release_params: !body.bool(32),
                answer: answer(&body)?,
            },
            4 => Message::Finish {
                question: body.u32(0),
                release_results: !body.bool(32),
            },
            5 => Message::Resolve {
                promise: body.u32(0),
                to: resolution(&body)?,
            },
            6 => Message::Release {
                id: body.u32(0),
                count: body.u32(1),
            },
            8 => Message::Bootstrap {
                question: body.u32(0),
            },
            _ => Message::Disembargo(Disembargo {
                target: target(&body.structure(0)?.ok_or_else(empty)?)?,
                context: match body.u16(2) {
                    0 => Context::Sender(body.u32(0)),
                    1 => Context::Receiver(body.u32(0)),
                    _ => Context::Other,
                },
            }),
        })
    }
}

/// The place of the parameters in a call, or of the results in its answer; `None` where there are
/// none.
pub fn content(message: &Segments) -> Result<Option<PointerAt>> {
    let root = View::root(message)?;
    let body = root.structure(0)?.ok_or_else(empty)?;
    let payload = match root.u16(0) {
        2 => body.structure(1)?,
        3 if body.u16(3) == 0 => body.structure(0)?,
        _ => return Err(DecodeError::malformed("a message without a value")),
    };
    Ok(payload.and_then(|payload| payload.pointer(0)))
}

fn call(body: &View<'_>) -> Result<Call> {
    let (params, caps) = payload(body.structure(1)?)?;
    Ok(Call {
        question: body.u32(0),
        target: target(&body.structure(0)?.ok_or_else(empty)?)?,
        interface: body.u64(1),
        method: body.u16(2),
        params,
        caps,
        keeps_results: match body.u16(3) {
            0 => false,
            1 => true,
            _ => return Err(DecodeError::malformed("results for a third party")),
        },
    })
}

fn answer(body: &View<'_>) -> Result<Returned> {
    Ok(match body.u16(3) {
        0 => {
            let (content, caps) = payload(body.structure(0)?)?;
            Returned::Results { content, caps }
        }
        1 => Returned::Exception(exception(&body.structure(0)?.ok_or_else(empty)?)?),
        2 => Returned::Canceled,
        3 => Returned::SentElsewhere,
        4 => Returned::TakeFrom(body.u32(2)),
        _ => return Err(DecodeError::malformed("an answer of a third party")),
    })
}

fn resolution(body: &View<'_>) -> Result<std::result::Result<Cap, Exception>> {
    let inside = body.structure(0)?.ok_or_else(empty)?;
    Ok(match body.u16(2) {
        0 => Ok(cap(&inside)?),
        _ => Err(exception(&inside)?),
    })
}

fn payload(body: Option<View<'_>>) -> Result<(Option<PointerAt>, Vec<Cap>)> {
    let Some(body) = body else {
        return Ok((None, Vec::new()));
    };
    let caps = body.structs(1, MAX_CAPS)?;
    let caps = caps.iter().map(cap).collect::<Result<_>>()?;
    Ok((body.pointer(0), caps))
}

fn cap(body: &View<'_>) -> Result<Cap> {
    Ok(match body.u16(0) {
        0 => Cap::None,
        1 => Cap::SenderHosted(body.u32(1)),
        2 => Cap::SenderPromise(body.u32(1)),
        3 => Cap::ReceiverHosted(body.u32(1)),
        4 => Cap::ReceiverAnswer(promised(&body.structure(0)?.ok_or_else(empty)?)?),
        // An object of a third party is reached through the sender, which keeps one that stands for
        // it.
        5 => Cap::SenderHosted(body.structure(0)?.ok_or_else(empty)?.u32(0)),
        _ => return Err(DecodeError::malformed("an unknown kind of object")),
    })
}

fn target(body: &View<'_>) -> Result<Target> {
    match body.u16(2) {
        0 => Ok(Target::Hosted(body.u32(0))),
        1 => {
            let inside = body.structure(0)?.ok_or_else(empty)?;
            promised(&inside).map(Target::Promised)
        }
        _ => Err(DecodeError::malformed("an unknown kind of target")),
    }
}

fn promised(body: &View<'_>) -> Result<Promised> {
    let steps = body.structs(0, LONGEST_PATH)?;
    let steps = steps.iter().filter_map(|step| match step.u16(0) {
        0 => None,
        1 => Some(Ok(step.u16(1))),
        _ => Some(Err(DecodeError::malformed("an unknown step of a path"))),
    });
    Ok(Promised {
        question: body.u32(0),
        path: steps.collect::<Result<_>>()?,
    })
}

fn exception(body: &View<'_>) -> Result<Exception> {
    Ok(Exception {
        reason: body.text(0)?.to_owned(),
        kind: match body.u16(2) {
            1 => ExceptionKind::Overloaded,
            2 => ExceptionKind::Disconnected,
            3 => ExceptionKind::Unimplemented,
            _ => ExceptionKind::Failed,
        },
    })
}

#[cold]
fn empty() -> DecodeError {
    DecodeError::malformed("a message without contents")
}
