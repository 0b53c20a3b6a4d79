//! The questions of a driver to a connection, and the events that it gets.

use super::ProtocolError;
use super::compression::Body;
use super::incoming::IncomingCall;
use super::slots::MethodKey;
use crate::{Headers, Status};
use dovetail_wire::{Bytes, EncodeError, Encoding};
use std::fmt;
use std::time::Duration;

/// A call to be made.
#[derive(Debug)]
pub struct OutgoingCall<'a> {
    /// The method, as it was bound or is to be.
    pub method: &'a MethodKey,
    /// The time that the callee has; `None` for [`Options::deadline`](super::Options::deadline),
    /// with streams for no limit.
    pub deadline: Option<Duration>,
    /// Sent along.
    pub headers: &'a Headers,
    /// It is not to be compressed, whatever [`Options::compression`](super::Options::compression)
    /// says.
    pub plain: bool,
    /// The object of the other end's that is called; `None` for a service.
    pub target: Option<Target>,
    /// Further calls may be addressed to the object that this one returns, until
    /// [`forget`](super::Connection::forget). Only for a call that is answered and has no streams.
    pub promise: bool,
    /// Which calls are to return what the parameters refer to; `None` where they cannot refer to
    /// objects.
    pub awaits: Option<&'a dyn Awaits>,
}

/// The calls to whose results the parameters of a call refer. Asked when they have been encoded.
pub trait Awaits: fmt::Debug {
    /// The earlier calls of this end's whose results they refer to, each once: at most
    /// [`MAX_RESULTS`].
    fn awaits(&self) -> Vec<u32>;
}

/// The most results that the parameters of a call may refer to.
pub const MAX_RESULTS: usize = 64;

/// The target of a call that is no service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object of the callee's, by its number.
    Object(u32),
    /// The result of the caller's earlier call of this number.
    Result(u32),
}

/// Why a call was not made.
#[derive(Debug)]
pub enum CallError {
    /// The parameters have no encoding.
    Encode(EncodeError),
    /// The other end has refused the method, or takes no further calls.
    Status(Status),
}

/// An event.
#[derive(Debug)]
pub enum Event {
    /// The other end calls.
    Call(IncomingCall),
    /// The answer to a call of this end: its encoded body, or why it failed. Where the callee has a
    /// stream, that follows, unless the call failed.
    Reply {
        /// The number that [`Connection::call`](super::Connection::call) gave.
        call: u32,
        /// The answer, a union of the result and the declared exceptions.
        result: Result<(Encoding, Bytes), Status>,
        /// The headers that came along.
        headers: Headers,
    },
    /// An item of a stream.
    Item {
        /// The number of its call.
        call: u32,
        /// How it is encoded.
        encoding: Encoding,
        /// The item: a struct with it as field 0.
        body: Body,
        /// The credit to give back once somebody has [taken](super::Connection::taken) it.
        credit: usize,
    },
    /// The other end's stream of a call has ended. That of the callee ends its call.
    End {
        /// The number of its call.
        call: u32,
        /// The exception of the contract's with which it ended: a union of those that are declared.
        /// A status where it was broken off.
        result: Result<Option<(Encoding, Bytes)>, Status>,
    },
    /// There is credit again, for one call, or for all: items that were refused for want of it may
    /// be sent.
    Credit {
        /// The number of its call; `None` for all.
        call: Option<u32>,
    },
    /// The other end has no longer so many of the references to an object that it was sent.
    Released {
        /// The number of the object, one of this end's.
        object: u32,
        /// How many, at least one.
        count: u64,
    },
    /// The caller of this call has gone; the call is still to be answered, most often with
    /// `CANCELLED`.
    Cancelled {
        /// Its number, as in [`ReplyTo::call`](super::ReplyTo::call).
        call: u32,
    },
}

/// The result of sending an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// It was appended.
    Yes,
    /// It has to wait for [`Event::Credit`].
    NoCredit,
    /// The stream has ended, or its call.
    Ended,
}

impl Target {
    pub(super) fn to_wire(self) -> u64 {
        match self {
            Target::Object(number) => u64::from(number) << 1,
            Target::Result(call) => u64::from(call) << 1 | 1,
        }
    }

    pub(super) fn from_wire(target: u64) -> Result<Self, ProtocolError> {
        let number = u32::try_from(target >> 1);
        let number =
            number.map_err(|_| ProtocolError::malformed("a target of more than 33 bits"))?;
        Ok(match target & 1 {
            0 => Target::Object(number),
            _ => Target::Result(number),
        })
    }
}
