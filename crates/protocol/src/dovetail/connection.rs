mod items;

use super::callee::{Arrived, Callee, Released};
use super::caller::{Called, Caller, Terms};
use super::compression::{Algorithms, Body, Compression};
use super::contract::{Contract, Directory, MethodKind};
use super::cursor::{Cursor, put_varint};
use super::events::{CallError, Event, OutgoingCall};
use super::extras::{self, Extras};
use super::frame::{self, Flags, Frame, Kind, PREFACE};
use super::headers::HeaderTable;
use super::meeting_point::MeetingPoint;
use super::message::{self, Message, Sending};
use super::promises::Promises;
use super::reassembly::{Added, Reassembly};
use super::settings::{LEAST_FRAME, MOST_FRAME, Settings};
use super::splitter::{Largest, Splitter};
use super::streams::{Directions, ItemEncoding, Streams, Taken};
use super::{ProtocolError, status};
use crate::limits::credible;
use crate::{Code, ConnectionLimits, Execution, Headers, Status};
use bytes::BytesMut;
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
    /// What the other end may cost.
    pub limits: ConnectionLimits,
    /// What encoding the parameters may cost.
    pub encoding: Limits,
    /// The deadline of calls without streams that do not bring their own.
    pub deadline: Option<Duration>,
    /// How messages are compressed, where the other end can undo it. Default: not at all.
    pub compression: Option<Compression>,
    /// Where a client on the same machine finds this server. Default: nowhere.
    pub meeting_point: Option<MeetingPoint>,
}

/// One end of a connection that speaks Dovetail's wire.
///
/// # Calling contract
///
/// - [`call`](Self::call) appends a call to a buffer of your own; send it.
/// - Append what is received to another one, and call [`receive`](Self::receive) until it returns `None`.
///   [`needs`](Self::needs) then says how much to read next.
/// - [`transmit`](Self::transmit) after that, and after [`abandon`](Self::abandon) and
///   [`drain`](Self::drain): the machine may have something to say. [`call`](Self::call) does so by itself.
/// - Answer each [`IncomingCall`](super::IncomingCall) that is not one-way through its [`ReplyTo`](super::ReplyTo), exactly once, also after
///   [`Event::Cancelled`].
/// - A call with streams is over for its callee with the answer, or, where the callee has a stream, with
///   [`end`](Self::end) behind answer and items; the machine is told by [`answered`](Self::answered) or by `end`.
/// - After an error, [`transmit`](Self::transmit) a last time and close. When the other end has
///   [closed](Self::closed), and after an error, the calls in [`pending`](Self::pending) will not be answered.
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
    /// What the machine has to say.
    pub(super) control: Vec<u8>,

    /// The headers that the other end has sent.
    headers: HeaderTable,
    splitter: Splitter,
    partial: Reassembly,
    /// Events that one frame led to.
    pub(super) ready: VecDeque<Event>,
    caller: Caller,
    pub(super) callee: Callee,
    pub(super) streams: Streams,
    /// What has come for calls that wait for a description, or for an object.
    pub(super) parked: HashMap<u32, Vec<Event>>,
    pub(super) promises: Promises,
    /// What has been released while calls waited that had come before.
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
    /// A connection that has just been made or accepted. Its first words wait for
    /// [`transmit`](Self::transmit).
    pub fn new(role: Role, options: Options) -> Self {
        let ours = Settings {
            frame: options.limits.frame_bytes.clamp(LEAST_FRAME, MOST_FRAME),
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
            streams: Streams::new(ours.windows),
            parked: HashMap::new(),
            promises: Promises::default(),
            late: BTreeMap::new(),
        }
    }

    /// Where this client finds its server on the same machine. `None` as long as the server has not said anything.
    pub fn meeting_point(&self) -> Option<Option<MeetingPoint>> {
        self.greeted.then_some(self.peer.meeting_point)
    }

    /// True where a peer that begins with this byte speaks this wire.
    pub fn detects(first: u8) -> bool {
        first == PREFACE[0]
    }

    /// Appends a call; `contract` is asked where the method has not been called on this connection before.
    /// The number is `None` for a one-way call. After an error there is no call.
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
            // How many the other end keeps is not known before its HELLO.
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

    /// A call with streams has been answered for good: with an answer that no stream follows, or a status.
    pub fn answered(&mut self, call: u32) {
        self.close(call);
    }

    /// The application has taken an item: the other end may send as much again.
    pub fn taken(&mut self, call: u32, credit: usize) {
        self.streams.taken(call, credit, &mut self.control);
    }

    /// Nobody takes further items of a call that goes on; those that come are dropped.
    pub fn ignore(&mut self, call: u32) {
        self.streams.ignore(call);
        self.drop_partial(call);
    }

    /// What has come of an item that nobody takes is given back.
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

    /// The caller does not wait any longer: the other end is told, and the answer dropped.
    pub fn abandon(&mut self, call: u32) {
        if self.caller.abandon(call, &mut self.control) {
            self.partial.forget(Kind::Reply, call);
            self.streams.drop_items(call);
            self.drop_partial(call);
        }
    }

    /// The same, but the answer comes as an event all the same: it may bring objects that are to be released.
    pub fn cancel(&mut self, call: u32) {
        if self.caller.is_open(call) {
            frame::put(Kind::Cancel, call, &[], &mut self.control);
        }
    }

    /// No further call will be addressed to what a call returned that has been answered.
    pub fn forget(&mut self, call: u32) {
        frame::put(Kind::Cancel, call, &[], &mut self.control);
    }

    /// This end has no longer so many of the references to an object that it was sent.
    pub fn release(&mut self, object: u32, count: u64) {
        let start = frame::begin(&mut self.control);
        put_varint(count, &mut self.control);
        frame::end(&mut self.control, start, Kind::Release, Flags::NONE, object);
    }

    /// True for a call of this end's, whatever became of it.
    pub fn made(&self, call: u32) -> bool {
        self.caller.made(call)
    }

    /// True for a call of this end's that is not over, and that somebody waits for.
    pub fn is_open(&self, call: u32) -> bool {
        self.caller.is_open(call)
    }

    /// The calls of this end that wait for their answers. If the connection is lost, these may have run.
    pub fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        self.caller.pending()
    }

    /// True where the other end said that it takes no further calls.
    pub fn closing(&self) -> bool {
        self.caller.closing
    }

    /// Tells the other end that this one takes no further calls.
    pub fn drain(&mut self, why: &str) {
        for call in self.callee.drain(why, &mut self.control) {
            self.never_runs(call, status::not_taken(why));
        }
    }

    /// Gives the connection up for a reason of the driver's; the other end is told.
    pub fn fail(&mut self, code: Code, why: &str) {
        status::write_goodbye(code, why, &mut self.control);
        let error = ProtocolError::malformed(why.to_owned());
        self.opening = Opening::Failed(error);
    }

    /// Appends what the machine has to say.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if !self.control.is_empty() {
            out.append(&mut self.control);
        }
    }

    /// True where [`transmit`](Self::transmit) would append something.
    pub fn wants_to_transmit(&self) -> bool {
        !self.control.is_empty()
    }

    /// How many more bytes the current frame surely needs, after `receive` said `None`. At least one, and
    /// never much more than the peer has sent already.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// What happened next, as far as `input` tells; `None` where more must be received first. Methods that
    /// the other end wants to call are looked up in the directory.
    pub fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        if let Some(event) = self.ready() {
            return Ok(Some(event));
        }
        let received = self.next(input, directory);
        if let Err(error) = &received
            && !matches!(self.opening, Opening::Failed(_))
        {
            if !matches!(
                error,
                ProtocolError::Goodbye { .. } | ProtocolError::WrongPreface { .. }
            ) {
                status::write_error(error, &mut self.control);
            }
            self.opening = Opening::Failed(error.clone());
        }
        received
    }

    /// The other end has closed its side: an error where that is in the middle of a frame.
    pub fn closed(&self, input: &[u8]) -> Result<(), ProtocolError> {
        match &self.opening {
            Opening::Failed(error) => Err(error.clone()),
            _ if !input.is_empty() => Err(ProtocolError::Truncated { what: "a frame" }),
            _ => Ok(()),
        }
    }

    fn next(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        let largest = Largest {
            frame: self.ours.frame,
            message: self.ours.message,
        };
        loop {
            match &self.opening {
                Opening::Preface => {
                    if !self.preface(input)? {
                        return Ok(None);
                    }
                }
                Opening::Hello | Opening::Open => match self.splitter.split(input, largest)? {
                    Ok(frame) => {
                        if let Some(event) = self.frame(frame, directory)? {
                            return Ok(Some(event));
                        }
                    }
                    Err(missing) => {
                        self.needs = credible(missing, input.len());
                        return Ok(None);
                    }
                },
                Opening::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// False where it has not come as a whole.
    fn preface(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        let compared = input.len().min(PREFACE.len());
        if input[..compared] != PREFACE[..compared] {
            let first = input[..input.len().min(8)].to_vec();
            return Err(ProtocolError::WrongPreface { first });
        }
        if compared < PREFACE.len() {
            self.needs = PREFACE.len() - compared;
            return Ok(false);
        }
        let _ = input.split_to(PREFACE.len());
        self.opening = Opening::Hello;
        Ok(true)
    }

    fn frame(
        &mut self,
        frame: Frame,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        let first = matches!(self.opening, Opening::Hello);
        if first != (frame.kind == Kind::Hello) {
            return Err(ProtocolError::malformed("HELLO comes first, and once"));
        }
        let (id, payload) = (frame.id, &frame.payload);
        match frame.kind {
            Kind::Hello => {
                self.peer = Settings::read(payload)?;
                self.sending = Sending::new(&self.peer, self.options.compression);
                self.streams.greeted(self.peer.windows);
                self.opening = Opening::Open;
                self.greeted = true;
            }
            Kind::Bind => {
                let limits = &self.options.limits;
                self.callee
                    .bind(id, payload, directory, limits, &mut self.control)?;
            }
            Kind::Bound => {
                let methods = &mut self.caller.methods;
                methods.bound(id, payload, &mut self.control)?;
            }
            Kind::Describe => {
                let released = self.callee.describe(id, payload, &mut self.control)?;
                for call in released {
                    self.described(call);
                }
            }
            Kind::Call | Kind::Reply | Kind::End => return self.message(frame),
            Kind::Item => return self.item_frame(frame),
            Kind::Credit => {
                let mut fields = Cursor(payload);
                let bytes = fields.varint()?;
                fields.end()?;
                let call = (id != 0).then_some(id);
                if self.caller.waits_for(id) && !self.streams.knows(id)
                    || self.streams.never_sends(id)
                {
                    return Err(ProtocolError::malformed("credit for no stream"));
                }
                let event = Event::Credit { call };
                return Ok(self.streams.granted(id, bytes).then_some(event));
            }
            Kind::Status => {
                let status = status::read(payload)?;
                self.partial.forget(Kind::Reply, id);
                self.close(id);
                return Ok(self.caller.reply(id, Err(status), Headers::new(), false));
            }
            Kind::Cancel if self.caller.made(id) => {
                return Err(ProtocolError::malformed("CANCEL from the callee"));
            }
            Kind::Cancel => {
                self.partial.forget(Kind::Call, id);
                self.streams.drop_items(id);
                self.drop_partial(id);
                if self.callee.cancelled(id, &mut self.control) {
                    self.cancelled(id);
                    self.never_runs(id, status::cancelled());
                } else if self.cancelled(id) {
                    return Ok(Some(Event::Cancelled { call: id }));
                }
            }
            Kind::Ping => {
                let echo: [u8; 8] = Cursor(payload).array()?;
                frame::put(Kind::Pong, 0, &echo, &mut self.control);
            }
            Kind::Pong => {}
            Kind::Drain => {
                for event in self.caller.drained(payload)? {
                    if let Event::Reply { call, .. } | Event::End { call, .. } = &event {
                        self.streams.close(*call);
                    }
                    self.ready.push_back(event);
                }
            }
            Kind::Release => {
                let mut fields = Cursor(payload);
                let count = fields.varint()?;
                fields.end()?;
                if count == 0 {
                    return Err(ProtocolError::malformed("a release of nothing"));
                }
                return self.released(id, count);
            }
            Kind::Goodbye => return Err(status::read_goodbye(payload)?),
        }
        Ok(self.ready.pop_front())
    }

    /// A frame of a call or of an answer.
    fn message(&mut self, frame: Frame) -> Result<Option<Event>, ProtocolError> {
        let kind = frame.kind;
        match (self.partial.add(frame, self.ours.message)?, kind) {
            (Added::Part, _) => Ok(None),
            (Added::Whole(frame), Kind::Call) => self.called(&frame),
            (Added::Whole(frame), Kind::Reply) => self.reply(&frame),
            (Added::Whole(frame), Kind::Item) => self.item_arrived(&frame),
            (Added::Whole(frame), _) => self.end_arrived(&frame),
            (Added::TooLarge(frame), _) => {
                self.read_extras(&frame)?;
                self.too_large(&frame)
            }
        }
    }

    /// Of a message that nobody takes: the table of headers has to stay the same at both ends.
    fn read_extras(&mut self, frame: &Frame) -> Result<(), ProtocolError> {
        let mut fields = Cursor(&frame.payload);
        if frame.kind == Kind::Call {
            fields.varint()?;
        }
        self.open(frame, fields).map(drop)
    }

    /// A message is larger than this end takes.
    fn too_large(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let most = self.ours.message;
        if frame.kind == Kind::Call {
            self.callee.too_large(frame, most, &mut self.control)?;
            return Ok(None);
        }
        if frame.kind == Kind::Item {
            self.taken(frame.id, frame.payload.len());
        }
        let status = status::too_large(most, Execution::Finished);
        Ok(self.break_off(frame.id, status))
    }

    /// An answer, an item or an end is not one that this end takes.
    fn break_off(&mut self, call: u32, status: Status) -> Option<Event> {
        if self.caller.made(call) {
            if self.streams.receives(call) {
                frame::put(Kind::Cancel, call, &[], &mut self.control);
            }
            self.close(call);
            return self.caller.reply(call, Err(status), Headers::new(), false);
        }
        let result = Err(status);
        let event = Event::End { call, result };
        // The caller, who does not know, may go on.
        let wanted = !matches!(self.streams.take(call), Taken::Dropped);
        self.streams.ignore(call);
        wanted.then_some(event)
    }

    fn called(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let mut fields = Cursor(&frame.payload);
        let slot = fields.varint()?;
        let message = self.open(frame, fields)?;
        if message.body.size() > self.ours.message {
            return self.too_large(frame);
        }
        let (id, promise) = (frame.id, message.extras.promise);
        let most = self.options.limits.objects;
        let room = self.promises.len() < most;
        let refused = (promise && !room).then(|| status::too_many(most));
        let settings = (&self.ours, &self.peer);
        let (sending, out) = (self.sending, &mut self.control);
        let arrived = self
            .callee
            .call(slot, (message, refused), sending, settings, out)?;
        if promise && room {
            self.promised(id);
        }
        match arrived {
            Arrived::Runs(call) => {
                let (kind, encoding) = (call.kind, ItemEncoding::Tagless(call.reply.tagless));
                let held = call.waits();
                self.open_called(id, kind, encoding, held);
                if held {
                    self.found_late(call);
                    return Ok(self.ready.pop_front());
                }
                Ok(Some(Event::Call(call)))
            }
            Arrived::Held(kind) => {
                self.open_called(id, kind, ItemEncoding::Tagless(false), true);
                Ok(None)
            }
            Arrived::Refused(why) => {
                if let Some(why) = why {
                    self.returned(id, Err(why));
                }
                Ok(self.ready.pop_front())
            }
        }
    }

    fn open_called(&mut self, call: u32, kind: MethodKind, encoding: ItemEncoding, held: bool) {
        let has = Directions {
            sends: kind.server_streams(),
            receives: kind.client_streams(),
        };
        self.streams.open(call, has, encoding, held);
    }

    /// A call that waited for a description runs now, or has been refused.
    fn described(&mut self, released: Released) {
        match released.outcome {
            Ok(call) => self.found_late(call),
            Err(why) => self.never_runs(released.call, why),
        }
    }

    /// A call that has waited has been refused.
    fn never_runs(&mut self, call: u32, why: Status) {
        self.unpark(call);
        self.close(call);
        self.returned(call, Err(why));
    }

    /// Drops what has come for a call that is not going to run.
    pub(super) fn unpark(&mut self, call: u32) {
        for event in self.parked.remove(&call).into_iter().flatten() {
            if let Event::Item { credit, .. } = event {
                self.taken(call, credit);
            }
        }
    }

    /// A frame of an item, if anybody takes it.
    fn item_frame(&mut self, frame: Frame) -> Result<Option<Event>, ProtocolError> {
        let (call, bytes) = (frame.id, frame.payload.len());
        let wanted = !matches!(self.streams.take(call), Taken::Dropped);
        if !wanted && self.has_no_stream(call) {
            return Err(ProtocolError::malformed("an item without a stream"));
        }
        if wanted && self.caller.awaits_answer(call) {
            return Err(ProtocolError::malformed("an item before its answer"));
        }
        let begins = !self.partial.has(Kind::Item, call);
        self.streams.arrived(call, bytes, begins && wanted)?;
        if wanted {
            return self.message(frame);
        }
        if begins {
            self.read_extras(&frame)?;
        }
        self.taken(call, bytes);
        Ok(None)
    }

    fn item_arrived(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let Message {
            call,
            encoding,
            body,
            ..
        } = self.open(frame, Cursor(&frame.payload))?;
        if body.size() > self.ours.message {
            return self.too_large(frame);
        }
        let event = Event::Item {
            call,
            encoding,
            body,
            credit: frame.payload.len(),
        };
        Ok(self.deliver(call, event))
    }

    /// True for a call that is not over, where the other end sends no stream, or none any longer.
    fn has_no_stream(&self, call: u32) -> bool {
        let known = self.caller.waits_for(call) || self.streams.knows(call);
        known && !self.streams.receives(call)
    }

    fn end_arrived(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let call = frame.id;
        let encoding = message::encoding(frame.flags.has(Flags::TAGGED));
        let exception = (!frame.payload.is_empty()).then(|| (encoding, frame.payload.clone()));
        let result = Ok(exception);
        let event = Event::End { call, result };
        let deliver = match self.streams.take(call) {
            Taken::Held => return Ok(self.deliver(call, event)),
            Taken::Wanted => true,
            Taken::Dropped if self.has_no_stream(call) => {
                return Err(ProtocolError::malformed("the end of no stream"));
            }
            Taken::Dropped => false,
        };
        self.drop_partial(call);
        self.streams.ended(call);
        if self.caller.made(call) {
            if !self.caller.ended(call) {
                return Err(ProtocolError::malformed(
                    "a stream that ended before its answer",
                ));
            }
            self.close(call);
        }
        Ok(deliver.then_some(event))
    }

    /// What belongs to a call that waits for a description waits with it.
    fn deliver(&mut self, call: u32, event: Event) -> Option<Event> {
        match self.streams.take(call) {
            Taken::Held => {
                self.parked.entry(call).or_default().push(event);
                None
            }
            _ => Some(event),
        }
    }

    fn reply(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        let Message {
            call,
            encoding,
            extras,
            body,
        } = self.open(frame, Cursor(&frame.payload))?;
        if body.size() > self.ours.message {
            return self.too_large(frame);
        }
        let answer = match body.decompress() {
            Ok(body) => Ok((encoding, body)),
            Err(error) => return Ok(self.break_off(call, status::undecodable_answer(&error))),
        };
        let streams = self.streams.receives(call);
        if !streams {
            self.close(call);
        }
        Ok(self.caller.reply(call, answer, extras.headers, streams))
    }

    /// Takes a message apart; `fields` is what is left of it, extras first where it has any.
    fn open(&mut self, frame: &Frame, mut fields: Cursor<'_>) -> Result<Message, ProtocolError> {
        let extras = match frame.flags.has(Flags::EXTRAS) {
            true => {
                let header_bytes = self.options.limits.header_bytes;
                let of_a_call = frame.kind == Kind::Call;
                extras::read(&mut fields, &mut self.headers, header_bytes, of_a_call)?
            }
            false => Extras::default(),
        };
        let body = frame.payload.slice(frame.payload.len() - fields.0.len()..);
        Ok(Message {
            call: frame.id,
            encoding: message::encoding(frame.flags.has(Flags::TAGGED)),
            body: Body::new(body, extras.packed),
            extras,
        })
    }
}

const _: () = {
    // A connection is handed from the thread that accepts to the one that serves.
    const fn is_send<T: Send>() {}
    is_send::<Connection>();
};
