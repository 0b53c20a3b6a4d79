//! Puts messages together that came in several frames.

use super::ProtocolError;
use super::frame::{Flags, Frame, Kind};
use bytes::BytesMut;
use std::collections::HashMap;
use std::ops::Range;

/// The messages of which frames are missing.
#[derive(Default)]
pub(super) struct Reassembly {
    partial: HashMap<(Kind, u32), Partial>,
    /// The bytes of all of them.
    bytes: usize,
    /// How many messages have begun in several frames.
    begun: u64,
}

struct Partial {
    /// How many had begun before it.
    number: u64,
    flags: Flags,
    payload: BytesMut,
    /// It grew too large: its frames are thrown away.
    dropped: bool,
}

/// The most unfinished messages at a time. A sender needs no more than a few.
const MAX: usize = 1_024;

/// The result of a frame.
pub(super) enum Added {
    /// A whole message, as if it had come in one frame.
    Whole(Frame),
    /// More frames have to come, or the message was too large already.
    Part,
    /// The message has become too large; this is its beginning.
    TooLarge(Frame),
}

impl Reassembly {
    /// Takes a frame; `most` bytes are allowed for a message, twice as many for all.
    pub(super) fn add(&mut self, frame: Frame, most: usize) -> Result<Added, ProtocolError> {
        let more = frame.flags.has(Flags::MORE);
        let key = (frame.kind, frame.id);
        if !more && (self.partial.is_empty() || !self.partial.contains_key(&key)) {
            return Ok(match frame.payload.len() > most {
                true => Added::TooLarge(frame),
                false => Added::Whole(frame),
            });
        }
        if self.partial.len() >= MAX && !self.partial.contains_key(&key) {
            let what = format!("more than {MAX} unfinished messages");
            return Err(ProtocolError::malformed(what));
        }
        if frame.flags.has(Flags::EXTRAS) && self.partial.contains_key(&key) {
            let what = "extras behind the beginning of a message";
            return Err(ProtocolError::malformed(what));
        }
        let begun = &mut self.begun;
        let partial = self.partial.entry(key).or_insert_with(|| {
            let number = *begun;
            *begun += 1;
            Partial {
                number,
                flags: Flags(frame.flags.0 & !Flags::MORE.0),
                payload: BytesMut::new(),
                dropped: false,
            }
        });
        let length = partial.payload.len() + frame.payload.len();
        let too_large = length > most || self.bytes + frame.payload.len() > 2 * most;
        let outcome = match (partial.dropped, too_large) {
            (true, _) => Added::Part,
            (false, true) => {
                partial.dropped = true;
                self.bytes -= partial.payload.len();
                let mut payload = std::mem::take(&mut partial.payload);
                payload.extend_from_slice(&frame.payload);
                Added::TooLarge(Frame {
                    flags: partial.flags,
                    payload: payload.freeze(),
                    ..frame
                })
            }
            (false, false) => {
                partial.payload.extend_from_slice(&frame.payload);
                self.bytes += frame.payload.len();
                match more {
                    true => return Ok(Added::Part),
                    false => {
                        self.bytes -= length;
                        Added::Whole(Frame {
                            flags: partial.flags,
                            payload: std::mem::take(&mut partial.payload).freeze(),
                            ..frame
                        })
                    }
                }
            }
        };
        if !more {
            self.partial.remove(&key);
        }
        Ok(outcome)
    }

    /// The number of the oldest message of which frames are missing, and how many have begun;
    /// `None` where all are whole.
    pub(super) fn unfinished(&self) -> Option<Range<u64>> {
        let oldest = self.partial.values().map(|partial| partial.number).min()?;
        Some(oldest..self.begun)
    }

    /// The bytes of the messages of which frames are missing.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the frames so far of such a message are here.
    pub(super) fn has(&self, kind: Kind, id: u32) -> bool {
        self.partial.contains_key(&(kind, id))
    }

    /// Removes what has come of a message whose other frames are not going to be added: its bytes.
    pub(super) fn remove(&mut self, kind: Kind, id: u32) -> usize {
        if self.partial.is_empty() {
            // A number is hashed in vain for each call without streams.
            return 0;
        }
        let partial = self.partial.remove(&(kind, id));
        let bytes = partial.map_or(0, |partial| partial.payload.len());
        self.bytes -= bytes;
        bytes
    }

    /// Forgets a message that nobody waits for.
    pub(super) fn forget(&mut self, kind: Kind, id: u32) {
        if let Some(partial) = self.partial.get_mut(&(kind, id)) {
            self.bytes -= partial.payload.len();
            partial.payload = BytesMut::new();
            partial.dropped = true;
        }
    }
}
