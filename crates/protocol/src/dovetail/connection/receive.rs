//! Input from the other end: bytes to frames, frames to messages, messages to events.

use super::{Connection, Opening};
use crate::dovetail::callee::{Arrived, Released};
use crate::dovetail::compression::Body;
use crate::dovetail::contract::{Directory, MethodKind};
use crate::dovetail::cursor::Cursor;
use crate::dovetail::events::Event;
use crate::dovetail::extras::{self, Extras};
use crate::dovetail::frame::{self, Flags, Frame, Kind, PREFACE};
use crate::dovetail::message::{self, Message, Sending};
use crate::dovetail::reassembly::Added;
use crate::dovetail::settings::Settings;
use crate::dovetail::splitter::Largest;
use crate::dovetail::streams::{Directions, ItemEncoding, Taken};
use crate::dovetail::{ProtocolError, status};
use crate::limits::credible;
use crate::{Execution, Headers, Status};
use bytes::BytesMut;
use std::ops::Range;

impl Connection {
    /// Returns the next event of `input`; `None` where more must be received first. Methods that
    /// the other end wants to call are looked up in the directory.
    pub fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &dyn Directory,
    ) -> Result<Option<Event>, ProtocolError> {
        if let Some(event) = self.ready() {
            return Ok(Some(event));
        }
        if input.is_empty() {
            // Whoever takes what has come asks once more than there is.
            self.needs = 1;
            return match &self.opening {
                Opening::Failed(error) => Err(error.clone()),
                _ => Ok(None),
            };
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

    /// The messages of which frames are missing: the number of the oldest, and how many have begun
    /// in several frames so far. `None` where all are whole.
    pub fn unfinished(&self) -> Option<Range<u64>> {
        self.partial.unfinished()
    }

    /// The bytes of messages that have come in part, and of calls that wait for a description or
    /// for another one's result.
    pub fn held(&self) -> usize {
        self.partial.bytes() + self.callee.held() + self.promises.held()
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
                    Ok(frame) => match self.frame(frame, directory) {
                        Ok(None) => {}
                        event => return event,
                    },
                    Err(missing) => {
                        self.needs = credible(missing, input.len());
                        return Ok(None);
                    }
                },
                Opening::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// Reads the preface. Returns false where it has not come as a whole.
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
        if frame.kind.is_of_connection() && id != 0 {
            return Err(ProtocolError::malformed(format!(
                "{:?} with the id {id}, where it has none",
                frame.kind
            )));
        }
        match frame.kind {
            Kind::Hello => self.hello(payload)?,
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
            Kind::Credit => return self.credit(id, payload),
            Kind::Status => {
                self.is_answer(id)?;
                let status = status::read(payload)?;
                self.partial.forget(Kind::Reply, id);
                self.close(id);
                return Ok(self.caller.reply(id, Err(status), Headers::new(), false));
            }
            Kind::Cancel => {
                Cursor(payload).end()?;
                return self.cancel_frame(id);
            }
            Kind::Ping => frame::put(Kind::Pong, 0, &echo(payload)?, &mut self.control),
            Kind::Pong => drop(echo(payload)?),
            Kind::Drain => self.drain_frame(payload)?,
            Kind::Release => return self.release_frame(id, payload),
            Kind::Goodbye => return Err(status::read_goodbye(payload)?),
        }
        Ok(self.ready.pop_front())
    }

    fn hello(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        self.peer = Settings::read(payload)?;
        self.sending = Sending::new(&self.peer, self.options.compression);
        self.streams.greeted(self.peer.windows);
        self.opening = Opening::Open;
        self.greeted = true;
        Ok(())
    }

    fn credit(&mut self, id: u32, payload: &[u8]) -> Result<Option<Event>, ProtocolError> {
        let bytes = number(payload)?;
        if self.caller.waits_for(id) && !self.streams.knows(id) || self.streams.never_sends(id) {
            return Err(ProtocolError::malformed("credit for no stream"));
        }
        let call = (id != 0).then_some(id);
        let event = Event::Credit { call };
        Ok(self.streams.granted(id, bytes).then_some(event))
    }

    fn cancel_frame(&mut self, id: u32) -> Result<Option<Event>, ProtocolError> {
        if self.caller.made(id) {
            return Err(ProtocolError::malformed("CANCEL from the callee"));
        }
        self.partial.forget(Kind::Call, id);
        self.streams.drop_items(id);
        self.drop_partial(id);
        if self.callee.cancelled(id, &mut self.control) {
            self.cancelled(id);
            self.never_runs(id, status::cancelled());
        } else if self.cancelled(id) {
            return Ok(Some(Event::Cancelled { call: id }));
        }
        Ok(self.ready.pop_front())
    }

    fn drain_frame(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        for event in self.caller.drained(payload)? {
            if let Event::Reply { call, .. } | Event::End { call, .. } = &event {
                self.streams.close(*call);
            }
            self.ready.push_back(event);
        }
        Ok(())
    }

    fn release_frame(&mut self, id: u32, payload: &[u8]) -> Result<Option<Event>, ProtocolError> {
        match number(payload)? {
            0 => Err(ProtocolError::malformed("a release of nothing")),
            count => self.released(id, count),
        }
    }

    /// A frame of a call or of an answer.
    fn message(&mut self, frame: Frame) -> Result<Option<Event>, ProtocolError> {
        let kind = frame.kind;
        if kind == Kind::Call && !self.partial.has(kind, frame.id) {
            self.call_begins(frame.id)?;
        }
        match (self.partial.add(frame, self.ours.message)?, kind) {
            (Added::Part, _) => Ok(None),
            (Added::Whole(frame), Kind::Call) => self.called(&frame),
            (Added::Whole(frame), Kind::Reply) => self.reply(&frame),
            (Added::Whole(frame), Kind::Item) => self.item_arrived(&frame),
            (Added::Whole(frame), _) => self.end_arrived(&frame),
            (Added::TooLarge(frame), _) => {
                self.read_extras(&frame)?;
                self.too_large(&frame, self.ours.message)
            }
        }
    }

    /// The first frame of a call has come, under an id of the other end's that no open call has.
    fn call_begins(&mut self, call: u32) -> Result<(), ProtocolError> {
        if call == 0 || self.caller.made(call) {
            let what = format!("a call with the id {call}, which is not one of its caller's");
            return Err(ProtocolError::malformed(what));
        }
        if self.streams.knows(call) || self.promises.knows(call) {
            let what = format!("a call with the id {call}, which another one has");
            return Err(ProtocolError::malformed(what));
        }
        self.callee.begins(call)
    }

    /// Reads the extras of a message that nobody takes: the table of headers has to stay the same
    /// at both ends.
    fn read_extras(&mut self, frame: &Frame) -> Result<(), ProtocolError> {
        let mut fields = Cursor(&frame.payload);
        if frame.kind == Kind::Call {
            fields.varint()?;
        }
        self.open(frame, fields).map(drop)
    }

    /// A message is larger than this end takes.
    fn too_large(&mut self, frame: &Frame, most: usize) -> Result<Option<Event>, ProtocolError> {
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

    /// The bytes that a message may have which has this body.
    fn most(&self, body: &Body) -> usize {
        match body.is_compressed() {
            true => self
                .options
                .limits
                .decompressed(body.held())
                .min(self.ours.message),
            false => self.ours.message,
        }
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
        let most = self.most(&message.body);
        if message.body.size() > most {
            return self.too_large(frame, most);
        }
        let objects = message.extras.objects.as_deref();
        let promise = objects.is_some_and(|objects| objects.promise);
        let id = frame.id;
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
    pub(super) fn never_runs(&mut self, call: u32, why: Status) {
        self.unpark(call);
        self.close(call);
        self.returned(call, Err(why));
    }

    /// Drops what has come for a call that is not going to run.
    pub(in crate::dovetail) fn unpark(&mut self, call: u32) {
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
        self.streams
            .arrived(call, bytes, begins && wanted, &mut self.control)?;
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
        let most = self.most(&body);
        if body.size() > most {
            return self.too_large(frame, most);
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

    /// Lets an event of a call that waits for a description wait with it.
    fn deliver(&mut self, call: u32, event: Event) -> Option<Event> {
        match self.streams.take(call) {
            Taken::Held => {
                self.parked.entry(call).or_default().push(event);
                None
            }
            _ => Some(event),
        }
    }

    /// An answer is to a call of this end's.
    fn is_answer(&self, call: u32) -> Result<(), ProtocolError> {
        match call != 0 && self.caller.made(call) {
            true => Ok(()),
            false => Err(ProtocolError::malformed(format!(
                "an answer to call {call}, which is not one of this end's"
            ))),
        }
    }

    fn reply(&mut self, frame: &Frame) -> Result<Option<Event>, ProtocolError> {
        self.is_answer(frame.id)?;
        let Message {
            call,
            encoding,
            extras,
            body,
        } = self.open(frame, Cursor(&frame.payload))?;
        let most = self.most(&body);
        if body.size() > most {
            return self.too_large(frame, most);
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

/// The payload of PING and PONG.
fn echo(payload: &[u8]) -> Result<[u8; 8], ProtocolError> {
    let mut fields = Cursor(payload);
    let echo = fields.array()?;
    fields.end()?;
    Ok(echo)
}

/// Reads a frame that has a number, and nothing else.
fn number(payload: &[u8]) -> Result<u64, ProtocolError> {
    let mut fields = Cursor(payload);
    let number = fields.varint()?;
    fields.end()?;
    Ok(number)
}
