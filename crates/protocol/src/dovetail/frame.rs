//! Frames: eight bytes of header and a payload. `docs/spec/wire.md`, "Frames".

use super::ProtocolError;
use bytes::BytesMut;
use dovetail_wire::Bytes;

/// Bytes before the payload.
pub(super) const HEADER: usize = 8;

/// What a client sends before its first frame.
pub(super) const PREFACE: [u8; 4] = [0xd7, b'D', b'V', b'T'];

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    Hello = 1,
    Bind = 2,
    Bound = 3,
    Describe = 4,
    Call = 5,
    Reply = 6,
    Status = 7,
    Cancel = 8,
    Item = 9,
    End = 10,
    Credit = 11,
    Ping = 12,
    Pong = 13,
    Drain = 14,
    Release = 15,
    Goodbye = 16,
}

/// The high bits of the fourth byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u8);

impl Flags {
    pub(super) const NONE: Self = Flags(0);
    pub(super) const MORE: Self = Flags(0x20);
    pub(super) const TAGGED: Self = Flags(0x40);
    pub(super) const EXTRAS: Self = Flags(0x80);

    pub(super) fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(super) fn with(self, flag: Self, set: bool) -> Self {
        match set {
            true => Flags(self.0 | flag.0),
            false => self,
        }
    }
}

/// A frame that has arrived.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    pub(super) id: u32,
    pub(super) payload: Bytes,
}

impl Kind {
    /// The kind with this number, and the flags that it may have.
    fn find(number: u8) -> Option<(Self, u8)> {
        let message = Flags::MORE.0 | Flags::TAGGED.0 | Flags::EXTRAS.0;
        Some(match number {
            1 => (Kind::Hello, 0),
            2 => (Kind::Bind, 0),
            3 => (Kind::Bound, 0),
            4 => (Kind::Describe, 0),
            5 => (Kind::Call, message),
            6 => (Kind::Reply, message),
            7 => (Kind::Status, 0),
            8 => (Kind::Cancel, 0),
            9 => (Kind::Item, message),
            10 => (Kind::End, Flags::MORE.0 | Flags::TAGGED.0),
            11 => (Kind::Credit, 0),
            12 => (Kind::Ping, 0),
            13 => (Kind::Pong, 0),
            14 => (Kind::Drain, 0),
            15 => (Kind::Release, 0),
            16 => (Kind::Goodbye, 0),
            _ => return None,
        })
    }
}

/// Splits a frame off the front; how many bytes are missing where it is not complete.
pub(super) fn split(
    input: &mut BytesMut,
    largest: usize,
) -> Result<Result<Frame, usize>, ProtocolError> {
    let Some(header) = input.first_chunk::<HEADER>() else {
        return Ok(Err(HEADER - input.len()));
    };
    let [a, b, c, d, id @ ..] = *header;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    let (kind, allowed) =
        Kind::find(d & 0x1f).ok_or(ProtocolError::InvalidFrame { kind: d & 0x1f })?;
    if d & 0xe0 & !allowed != 0 {
        return Err(ProtocolError::InvalidFlags {
            kind: d & 0x1f,
            flags: d & 0xe0,
        });
    }
    if length > largest {
        return Err(ProtocolError::FrameTooLarge { length, largest });
    }
    if input.len() < HEADER + length {
        return Ok(Err(HEADER + length - input.len()));
    }
    let mut frame = input.split_to(HEADER + length).freeze();
    Ok(Ok(Frame {
        kind,
        flags: Flags(d & 0xe0),
        id: u32::from_le_bytes(id),
        payload: frame.split_off(HEADER),
    }))
}

/// Appends a whole frame of which the payload is known to be short.
pub(super) fn put(kind: Kind, id: u32, payload: &[u8], out: &mut Vec<u8>) {
    let start = begin(out);
    out.extend_from_slice(payload);
    end(out, start, kind, Flags::NONE, id);
}

/// Makes room for a header; the payload is to be appended.
pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header of what was appended since [`begin`].
pub(super) fn end(out: &mut [u8], start: usize, kind: Kind, flags: Flags, id: u32) {
    let length = out.len() - start - HEADER;
    if let Some(room) = out[start..].first_chunk_mut() {
        *room = header(length, kind, flags, id);
    }
}

/// Header of a payload of this length, which fits 24 bits.
fn header(length: usize, kind: Kind, flags: Flags, id: u32) -> [u8; HEADER] {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    let [e, f, g, h] = id.to_le_bytes();
    [a, b, c, kind as u8 | flags.0, e, f, g, h]
}

/// Like [`end`], and cuts a payload longer than `largest` into several frames.
pub(super) fn end_message(
    out: &mut Vec<u8>,
    start: usize,
    kind: Kind,
    flags: Flags,
    id: u32,
    largest: usize,
) {
    if out.len() - start - HEADER <= largest {
        return end(out, start, kind, flags, id);
    }
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    out.reserve(payload.len() + payload.len().div_ceil(largest) * HEADER);
    let mut pieces = payload.chunks(largest).peekable();
    let mut flags = flags;
    while let Some(piece) = pieces.next() {
        let flags_here = flags.with(Flags::MORE, pieces.peek().is_some());
        out.extend_from_slice(&header(piece.len(), kind, flags_here, id));
        out.extend_from_slice(piece);
        // The extras stand in the first frame.
        flags = Flags(flags.0 & !Flags::EXTRAS.0);
    }
}
