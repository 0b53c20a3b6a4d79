//! The items that this end sends on the streams of calls.

use super::Connection;
use crate::dovetail::events::Sent;
use crate::dovetail::frame::{self, Flags, Kind};
use crate::dovetail::message::{self, Sending};
use dovetail_wire::{Encode, EncodeError};

impl Connection {
    /// Appends an item of this end's stream of a call: a struct with the item as field 0. After an
    /// error `out` is as it was.
    pub fn item(
        &mut self,
        call: u32,
        item: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Sent, EncodeError> {
        self.append_item(call, item, self.sending, out)
    }

    /// Sends an item that is not compressed.
    pub fn plain_item(
        &mut self,
        call: u32,
        item: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<Sent, EncodeError> {
        self.append_item(call, item, self.sending.plain(), out)
    }

    fn append_item(
        &mut self,
        call: u32,
        item: &impl Encode,
        sending: Sending,
        out: &mut Vec<u8>,
    ) -> Result<Sent, EncodeError> {
        let Some(encoding) = self.streams.outgoing(call) else {
            return Ok(Sent::Ended);
        };
        if !self.streams.has_credit(call) {
            return Ok(Sent::NoCredit);
        }
        self.transmit(out);
        let start = frame::begin(out);
        let tagless = self.is_tagless(encoding);
        let tagged = message::body(
            item,
            tagless,
            (self.options.encoding, sending.message),
            start,
            out.into(),
        )?;
        let bytes = sending.end(Kind::Item, call, tagged, start, out.into());
        self.streams.sent(call, bytes);
        Ok(Sent::Yes)
    }

    /// Ends this end's stream of a call, which for its callee ends the call.
    pub fn end(&mut self, call: u32, out: &mut Vec<u8>) {
        if self.streams.outgoing(call).is_some() {
            self.transmit(out);
            frame::put(Kind::End, call, &[], out);
            self.ended_ours(call);
        }
    }

    /// Ends the stream with an exception that the contract declares for it: a union of those. After
    /// an error the stream has not ended.
    pub fn end_with(
        &mut self,
        call: u32,
        exception: &impl Encode,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let Some(encoding) = self.streams.outgoing(call) else {
            return Ok(());
        };
        self.transmit(out);
        let start = frame::begin(out);
        let tagless = self.is_tagless(encoding);
        let tagged = message::body(
            exception,
            tagless,
            (self.options.encoding, self.sending.message),
            start,
            out.into(),
        )?;
        let flags = Flags::NONE.with(Flags::TAGGED, tagged);
        frame::end_message(out.into(), start, Kind::End, flags, call, self.peer.frame);
        self.ended_ours(call);
        Ok(())
    }
}
