//! The streams of calls, and the credit that bounds them. `docs/spec/wire.md`, "Streams".

use super::ProtocolError;
use super::connection::Role;
use super::cursor::put_varint;
use super::frame::{self, Flags, Kind};
use super::settings::Windows;
use std::collections::HashMap;

/// The streams of all calls of a connection, in both directions.
pub(super) struct Streams {
    calls: HashMap<u32, Halves>,
    /// The bytes that this end may still send, on all streams together.
    credit: i64,
    /// The bytes that the other end may still send.
    allowed: Allowance,
    ours: Windows,
    /// If true, the credit of all streams together is given back as frames arrive, and windows of
    /// streams bound what is kept; false where it is given back as items are taken.
    gives_on_receipt: bool,
    /// The other end's, as far as they are known.
    theirs: Windows,
}

/// The streams of one call. A direction that has ended, or never was, is `None`.
struct Halves {
    outgoing: Option<Outgoing>,
    incoming: Option<Incoming>,
    /// The call waits for a description, and its items with it.
    held: bool,
    /// There is, or was, a stream that this end sends.
    sends: bool,
}

/// A stream that this end sends.
struct Outgoing {
    credit: i64,
    encoding: ItemEncoding,
}

/// The source of the encoding of items.
#[derive(Clone, Copy)]
pub(super) enum ItemEncoding {
    /// As the other end says of the method with this slot.
    Slot(u32),
    Tagless(bool),
}

/// A stream that this end receives.
struct Incoming {
    allowed: Allowance,
    /// Nobody takes its items.
    dropped: bool,
}

/// The bytes that the other end may send before it has to wait.
struct Allowance {
    left: i64,
    /// Taken by the application, and not granted again so far.
    taken: usize,
    window: usize,
}

/// The streams that a call has at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Directions {
    pub(super) sends: bool,
    pub(super) receives: bool,
}

/// The fate of an item that has arrived.
pub(super) enum Taken {
    Wanted,
    /// Its call is held.
    Held,
    Dropped,
}

impl Allowance {
    fn new(window: usize) -> Self {
        Allowance {
            left: window as i64,
            taken: 0,
            window,
        }
    }

    /// The bytes have been taken: grants them once they are worth a frame.
    fn give(&mut self, id: u32, bytes: usize, out: &mut Vec<u8>) {
        self.taken += bytes;
        if self.taken < self.window.div_ceil(2) {
            return;
        }
        let start = frame::begin(out);
        put_varint(self.taken as u64, out);
        frame::end(out, start, Kind::Credit, Flags::NONE, id);
        self.left = self.left.saturating_add(self.taken as i64);
        self.taken = 0;
    }
}

impl Streams {
    /// A client opens its streams itself, so it bounds them. What a server keeps for all streams of
    /// a client has a bound of its own.
    pub(super) fn new(ours: Windows, role: Role) -> Self {
        let theirs = Windows::default();
        Streams {
            calls: HashMap::new(),
            credit: theirs.all as i64,
            allowed: Allowance::new(ours.all),
            ours,
            gives_on_receipt: role == Role::Client,
            theirs,
        }
    }

    /// The other end has said how much it takes.
    pub(super) fn greeted(&mut self, theirs: Windows) {
        self.credit += theirs.all as i64 - self.theirs.all as i64;
        for halves in self.calls.values_mut() {
            if let Some(outgoing) = &mut halves.outgoing {
                outgoing.credit += theirs.stream as i64 - self.theirs.stream as i64;
            }
        }
        self.theirs = theirs;
    }

    /// A call with streams begins.
    pub(super) fn open(&mut self, call: u32, has: Directions, encoding: ItemEncoding, held: bool) {
        if !has.sends && !has.receives {
            return;
        }
        let outgoing = has.sends.then_some(Outgoing {
            credit: self.theirs.stream as i64,
            encoding,
        });
        let incoming = has.receives.then(|| Incoming {
            allowed: Allowance::new(self.ours.stream),
            dropped: false,
        });
        let halves = Halves {
            outgoing,
            incoming,
            held,
            sends: has.sends,
        };
        self.calls.insert(call, halves);
    }

    /// The call is over, and its streams with it.
    pub(super) fn close(&mut self, call: u32) {
        if !self.calls.is_empty() {
            self.calls.remove(&call);
        }
    }

    /// Nobody sends or takes items of this call any longer, though the other end may still send
    /// some.
    pub(super) fn drop_items(&mut self, call: u32) {
        if let Some(halves) = self.calls.get_mut(&call) {
            halves.outgoing = None;
            self.ignore(call);
        }
    }

    /// Nobody takes items of this call any longer.
    pub(super) fn ignore(&mut self, call: u32) {
        if let Some(Halves {
            incoming: Some(incoming),
            ..
        }) = self.calls.get_mut(&call)
        {
            incoming.dropped = true;
        }
    }

    /// The description has come that the call waited for.
    pub(super) fn release(&mut self, call: u32, tagless: bool) {
        if let Some(halves) = self.calls.get_mut(&call) {
            halves.held = false;
            if let Some(outgoing) = &mut halves.outgoing {
                outgoing.encoding = ItemEncoding::Tagless(tagless);
            }
        }
    }

    /// True for a call with streams that is not over.
    pub(super) fn knows(&self, call: u32) -> bool {
        self.calls.contains_key(&call)
    }

    /// True for such a call where this end has not had a stream.
    pub(super) fn never_sends(&self, call: u32) -> bool {
        self.calls.get(&call).is_some_and(|halves| !halves.sends)
    }

    /// Returns whether the call still has the other end's stream.
    pub(super) fn receives(&self, call: u32) -> bool {
        let halves = self.calls.get(&call);
        halves.is_some_and(|halves| halves.incoming.is_some())
    }

    /// How this end encodes its items; `None` where it has no stream, or that has ended.
    pub(super) fn outgoing(&self, call: u32) -> Option<ItemEncoding> {
        let outgoing = self.calls.get(&call)?.outgoing.as_ref();
        outgoing.map(|outgoing| outgoing.encoding)
    }

    /// Returns whether another item may be sent.
    pub(super) fn has_credit(&self, call: u32) -> bool {
        let outgoing = self
            .calls
            .get(&call)
            .and_then(|call| call.outgoing.as_ref());
        self.credit > 0 && outgoing.is_some_and(|outgoing| outgoing.credit > 0)
    }

    fn outgoing_mut(&mut self, call: u32) -> Option<&mut Outgoing> {
        self.calls.get_mut(&call)?.outgoing.as_mut()
    }

    /// An item of so many bytes has been sent.
    pub(super) fn sent(&mut self, call: u32, bytes: usize) {
        self.credit -= bytes as i64;
        if let Some(outgoing) = self.outgoing_mut(call) {
            outgoing.credit -= bytes as i64;
        }
    }

    /// This end's stream of a call ends.
    pub(super) fn end(&mut self, call: u32) {
        if let Some(halves) = self.calls.get_mut(&call) {
            halves.outgoing = None;
        }
    }

    /// A frame of an item arrives: is there credit for it? `begins` where it is the first one of
    /// its item.
    pub(super) fn arrived(
        &mut self,
        call: u32,
        bytes: usize,
        begins: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let incoming = self
            .calls
            .get_mut(&call)
            .and_then(|call| call.incoming.as_mut());
        let stream = incoming.map(|incoming| &mut incoming.allowed);
        for allowed in [Some(&mut self.allowed), stream].into_iter().flatten() {
            if begins && allowed.left <= 0 {
                return Err(ProtocolError::malformed(
                    "an item for which there is no credit",
                ));
            }
            allowed.left = allowed.left.saturating_sub(bytes as i64);
        }
        if self.gives_on_receipt {
            self.allowed.give(0, bytes, out);
        }
        Ok(())
    }

    /// A whole item has arrived.
    pub(super) fn take(&self, call: u32) -> Taken {
        match self.calls.get(&call) {
            Some(Halves {
                incoming: Some(incoming),
                held,
                ..
            }) if !incoming.dropped => match held {
                true => Taken::Held,
                false => Taken::Wanted,
            },
            _ => Taken::Dropped,
        }
    }

    /// The application has taken items of so many bytes, or nobody will.
    pub(super) fn taken(&mut self, call: u32, bytes: usize, out: &mut Vec<u8>) {
        if !self.gives_on_receipt {
            self.allowed.give(0, bytes, out);
        }
        let incoming = self
            .calls
            .get_mut(&call)
            .and_then(|call| call.incoming.as_mut());
        if let Some(incoming) = incoming {
            incoming.allowed.give(call, bytes, out);
        }
    }

    /// The other end's stream of a call has ended. False where it had none, or somebody has lost
    /// interest.
    pub(super) fn ended(&mut self, call: u32) -> bool {
        let halves = self.calls.get_mut(&call);
        let incoming = halves.and_then(|halves| halves.incoming.take());
        incoming.is_some_and(|incoming| !incoming.dropped)
    }

    /// The other end grants more. True where somebody may have waited for that.
    pub(super) fn granted(&mut self, id: u32, bytes: u64) -> bool {
        let credit = match id {
            0 => Some(&mut self.credit),
            call => self.outgoing_mut(call).map(|outgoing| &mut outgoing.credit),
        };
        let Some(credit) = credit else { return false };
        let waited = *credit <= 0;
        *credit = credit.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        waited && *credit > 0
    }
}
