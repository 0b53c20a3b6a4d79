mod items;
mod receive;

use super::callee::{Callee, RefusedCalls};
use super::caller::{Called, Caller, Terms};
use super::compression::{Algorithms, Compression};
use super::contract::Contract;
use super::cursor::put_varint;
use super::events::{CallError, Event, OutgoingCall};
use super::frame::{self, Flags, Kind, PREFACE};
use super::headers::HeaderTable;
use super::meeting_point::MeetingPoint;
use super::message::Sending;
use super::promises::Promises;
use super::reassembly::Reassembly;
use super::settings::{LEAST_FRAME, MAX_FRAME, Settings};
use super::splitter::Splitter;
use super::streams::{Directions, ItemEncoding, Streams};
use super::{ProtocolError, status};
use crate::{Code, ConnectionLimits};
use dovetail_wire::{Encode, Limits};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opened the connection.
    Client,
    /// It accepted the connection.
    Server,
}

/// How an end uses a connection.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Limits on the cost of the other end.
    pub limits: ConnectionLimits,
    /// Limits on the cost of encoding the parameters.
    pub encoding: Limits,
    /// The deadline of calls without streams that do not bring their own.
    pub deadline: Option<Duration>,
    /// How messages are compressed, where the other end can undo it. Default: not at all.
    pub compression: Option<Compression>,
    /// The place where a client on the same machine finds this server. Default: none.
    pub meeting_point: Option<MeetingPoint>,
}

/// One end of a connection that speaks Dovetail's wire.
///
/// # Calling contract
///
/// - [`call`](Self::call) appends a call to a buffer of your own; send it.
/// - Append what is received to another one, and call [`receive`](Self::receive) until it returns
///   `None`. [`needs`](Self::needs) then says how much to read next.
/// - [`transmit`](Self::transmit) after that, and after [`abandon`](Self::abandon) and
///   [`drain`](Self::drain): the machine may have something to say. [`call`](Self::call) does so by
///   itself.
/// - Answer each [`IncomingCall`](super::IncomingCall) that is not one-way through its
///   [`ReplyTo`](super::ReplyTo), exactly once, also after [`Event::Cancelled`].
/// - A call with streams is over for its callee with the answer, or, where the callee has a stream,
///   with [`end`](Self::end) behind answer and items; the machine is told by
///   [`answered`](Self::answered) or by `end`.
/// - After an error, [`transmit`](Self::transmit) a last time and close. When the other end has
///   [closed](Self::closed), and after an error, the calls in [`pending`](Self::pending) will not
///   be answered.
///
/// ```text
///   Preface ── D7 'D' 'V' 'T' ──► Hello ── HELLO ──► Open ──► Failed
/// ```
pub struct Connection {
    options: Options,
    pub(super) ours: Settings,
    peer: Settings,
    sending: Sending,
    opening: Opening,
    /// The other end's HELLO has come.
    greeted: bool,
    needs: usize,
    /// Frames of the machine itself.
    pub(super) control: Vec<u8>,

    /// The headers that the other end has sent.
    headers: HeaderTable,
    splitter: Splitter,
    partial: Reassembly,
    /// Events of the last frame that were not returned yet.
    pub(super) ready: VecDeque<Event>,
    caller: Caller,
    pub(super) callee: Callee,
    pub(super) streams: Streams,
    /// Events of calls that wait for a description, or for an object.
    pub(super) parked: HashMap<u32, Vec<Event>>,
    pub(super) promises: Promises,
    /// References that were released while earlier calls waited.
    pub(super) late: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug)]
enum Opening {
    Preface,
    Hello,
    Open,
    Failed(ProtocolError),
}

impl Connection {
    /// A connection that has just been made or accepted. Its first bytes wait for
    /// [`transmit`](Self::transmit).
    pub fn new(role: Role, options: Options) -> Self {
        let ours = Settings {
            frame: options.limits.frame_bytes.clamp(LEAST_FRAME, MAX_FRAME),
            message: options.limits.message_bytes,
            deadline: options.deadline,
            compression: Algorithms::ours(),
            meeting_point: options.meeting_point,
            ..Settings::default()
        };
        let peer = Settings::default();
        let mut control = PREFACE.to_vec();
        ours.write(&mut control);
        Connection {
            options,
            ours,
            sending: Sending::new(&peer, None),
            peer,
            opening: Opening::Preface,
            greeted: false,
            needs: 1,
            control,
            headers: HeaderTable::default(),
            splitter: Splitter::default(),
            partial: Reassembly::default(),
            ready: VecDeque::new(),
            caller: Caller::new(role),
            callee: Callee::default(),
            streams: Streams::new(ours.windows, role),
            parked: HashMap::new(),
            promises: Promises::default(),
            late: BTreeMap::new(),
        }
    }

    /// Returns the place where this client finds its server on the same machine. `None` as long as
    /// the server has not said anything.
    pub fn meeting_point(&self) -> Option<Option<MeetingPoint>> {
        self.greeted.then_some(self.peer.meeting_point)
    }

    /// Returns whether a peer that begins with this byte speaks this wire.
    pub fn detects(first: u8) -> bool {
        first == PREFACE[0]
    }

    /// Appends a call; `contract` is asked where the method has not been called on this connection
    /// before. The number is `None` for a one-way call. After an error there is no call.
    pub fn call(
        &mut self,
        call: &OutgoingCall<'_>,
        contract: impl FnOnce() -> Arc<Contract>,
        body: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Option<u32>, CallError> {
        self.transmit(out);
        let terms = Terms {
            encoding: self.options.encoding,
            deadline: self.options.deadline,
            sending: self.sending,
            // The other end's limit is not known before its HELLO.
            headers: match self.greeted {
                true => self.peer.headers,
                false => 0,
            },
        };
        let Called { id, slot, kind } = self.caller.call(call, contract, body, &terms, out)?;
        let has = Directions {
            sends: kind.client_streams(),
            receives: kind.server_streams(),
        };
        self.streams.open(id, has, ItemEncoding::Slot(slot), false);
        Ok((!kind.is_oneway()).then_some(id))
    }

    fn ended_ours(&mut self, call: u32) {
        match self.caller.made(call) {
            true => self.streams.end(call),
            false => self.close(call),
        }
    }

    fn is_tagless(&self, encoding: ItemEncoding) -> bool {
        match encoding {
            ItemEncoding::Slot(slot) => self.caller.methods.is_tagless(slot),
            ItemEncoding::Tagless(tagless) => tagless,
        }
    }

    /// Says that a call with streams has its last answer: one that no stream follows, or a status.
    pub fn answered(&mut self, call: u32) {
        self.close(call);
    }

    /// Says that the application has taken an item: the other end may send as much again.
    pub fn taken(&mut self, call: u32, credit: usize) {
        self.streams.taken(call, credit, &mut self.control);
    }

    /// Drops the further items of a call that goes on.
    pub fn ignore(&mut self, call: u32) {
        self.streams.ignore(call);
        self.drop_partial(call);
    }

    /// Gives back the credit for the part of an item that nobody takes.
    fn drop_partial(&mut self, call: u32) {
        let bytes = self.partial.remove(Kind::Item, call);
        if bytes > 0 {
            self.taken(call, bytes);
        }
    }

    /// The call is over.
    pub(super) fn close(&mut self, call: u32) {
        self.drop_partial(call);
        self.streams.close(call);
    }

    /// Abandons a call of this end: tells the other end, and drops the answer.
    pub fn abandon(&mut self, call: u32) {
        if self.caller.abandon(call, &mut self.control) {
            self.partial.forget(Kind::Reply, call);
            self.streams.drop_items(call);
            self.drop_partial(call);
        }
    }

    /// Cancels a call. Its answer still comes as an event, since it may bring objects to release.
    pub fn cancel(&mut self, call: u32) {
        if self.caller.is_open(call) {
            frame::put(Kind::Cancel, call, &[], &mut self.control);
        }
    }

    /// Tells the other end that no further call will be addressed to the result of an answered
    /// call.
    pub fn forget(&mut self, call: u32) {
        frame::put(Kind::Cancel, call, &[], &mut self.control);
    }

    /// Gives back references to an object that the other end has sent.
    pub fn release(&mut self, object: u32, count: u64) {
        let start = frame::begin(&mut self.control);
        put_varint(count, &mut self.control);
        frame::end(&mut self.control, start, Kind::Release, Flags::NONE, object);
    }

    /// Returns whether this end has made the call, ended or not.
    pub fn made(&self, call: u32) -> bool {
        self.caller.made(call)
    }

    /// Returns whether this end has made the call, and still waits for its answer.
    pub fn is_open(&self, call: u32) -> bool {
        self.caller.is_open(call)
    }

    /// Returns the calls of this end that wait for their answers. If the connection is lost, they
    /// may have run.
    pub fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        self.caller.pending()
    }

    /// Returns whether the other end said that it takes no further calls.
    pub fn closing(&self) -> bool {
        self.caller.closing
    }

    /// Takes the count of calls that were refused for their methods, since the last time.
    pub fn take_refused(&mut self) -> RefusedCalls {
        std::mem::take(&mut self.callee.refused)
    }

    /// Tells the other end that this one takes no further calls.
    pub fn drain(&mut self, why: &str) {
        for call in self.callee.drain(why, &mut self.control) {
            self.never_runs(call, status::not_taken(why));
        }
    }

    /// Ends the connection for a reason of the driver's, and tells the other end.
    pub fn fail(&mut self, code: Code, why: &str) {
        status::write_goodbye(code, why, &mut self.control);
        let error = ProtocolError::malformed(why.to_owned());
        self.opening = Opening::Failed(error);
    }

    /// Appends the frames that wait to be sent.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if !self.control.is_empty() {
            out.append(&mut self.control);
        }
    }

    /// Returns whether [`transmit`](Self::transmit) would append something.
    pub fn wants_to_transmit(&self) -> bool {
        !self.control.is_empty()
    }

    /// Returns how many more bytes the current frame needs, after `receive` has returned `None`: at
    /// least one, and never much more than the peer has sent.
    pub fn needs(&self) -> usize {
        self.needs
    }
}

const _: () = {
    // A connection is handed from the thread that accepts to the one that serves.
    const fn is_send<T: Send>() {}
    is_send::<Connection>();
};
