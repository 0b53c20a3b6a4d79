//! Messages with their bodies, in the encoding that both ends understand.

use super::compression::{Body, Compression, Packed};
use super::extras::{self, Extras};
use super::frame::{self, Flags, Kind};
use super::settings::Settings;
use dovetail_wire::{Encode, EncodeError, Encoding, Limits, Out};

/// A message that has arrived, without what stands before the extras.
pub(super) struct Message {
    /// The number of its call.
    pub(super) call: u32,
    pub(super) encoding: Encoding,
    pub(super) extras: Extras,
    pub(super) body: Body,
}

/// How messages are sent to the other end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Its largest frame.
    pub(super) frame: usize,
    /// The largest message that it takes.
    pub(super) message: usize,
    /// The compression that this end wants, and the other one can undo.
    pub(super) compression: Option<Compression>,
}

impl Sending {
    pub(super) fn new(peer: &Settings, wanted: Option<Compression>) -> Self {
        Sending {
            frame: peer.frame,
            message: peer.message,
            compression: peer.compression.choose(wanted),
        }
    }

    /// Returns the message without compression.
    pub(super) fn plain(self) -> Self {
        Sending {
            compression: None,
            ..self
        }
    }

    /// Compresses the body that stands in `out` from `start` on, where that makes it smaller.
    pub(super) fn compress(&self, start: usize, out: &mut Vec<u8>) -> Option<Packed> {
        self.compression?.apply(start, out)
    }

    /// Ends a reply or an item, of which the body has been appended behind the room for a header.
    /// Gives the bytes of its payload. What is to be compressed has no blobs elsewhere.
    pub(super) fn end(
        &self,
        kind: Kind,
        call: u32,
        tagged: bool,
        start: usize,
        out: Out<'_>,
    ) -> usize {
        let body = start + frame::HEADER;
        let packed = self.compress(body, out.buffer);
        if let Some(packed) = packed {
            extras::put_before(body, out.buffer, |out| extras::write_packed(packed, out));
        }
        let payload = out.buffer.len() + out.apart() - body;
        let flags = Flags::NONE
            .with(Flags::TAGGED, tagged)
            .with(Flags::EXTRAS, packed.is_some());
        frame::end_message(out, start, kind, flags, call, self.frame);
        payload
    }
}

/// The other end takes no larger body.
fn fits(length: usize, limit: usize) -> Result<(), EncodeError> {
    match length > limit {
        true => Err(EncodeError::TooLarge { length, limit }),
        false => Ok(()),
    }
}

/// Appends a body of at most `most` bytes: tagless where that is agreed on and possible. True where
/// it is tagged. After an error `out` is as it was before `start`, where the message begins.
pub(super) fn body(
    body: &impl Encode,
    tagless: bool,
    (limits, most): (Limits, usize),
    start: usize,
    mut out: Out<'_>,
) -> Result<bool, EncodeError> {
    let (begin, apart) = (out.buffer.len(), out.apart());
    let mut tagged = !tagless;
    let mut written = encoding(tagged).encode_to(body, out.again(), limits);
    if !tagged && written == Err(EncodeError::NeedsTags) {
        // It has fields of another contract.
        out.truncate(begin);
        tagged = true;
        written = encoding(tagged).encode_to(body, out.again(), limits);
    }
    let written = written.and_then(|()| {
        fits(
            out.buffer.len() - begin + out.apart().saturating_sub(apart),
            most,
        )
    });
    if written.is_err() {
        out.truncate(start);
    }
    written.map(|()| tagged)
}

/// The encoding that a flag stands for.
pub(super) fn encoding(tagged: bool) -> Encoding {
    match tagged {
        true => Encoding::Tagged,
        false => Encoding::Tagless,
    }
}
