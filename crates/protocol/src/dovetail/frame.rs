//! Frames: eight bytes of header and a payload. `docs/spec/wire.md`, "Frames".

use super::ProtocolError;
use dovetail_wire::{Bytes, Out, Piece};

/// Bytes before the payload.
pub(super) const HEADER: usize = 8;

/// The bytes that a client sends before its first frame.
pub(super) const PREFACE: [u8; 4] = [0xd7, b'D', b'V', b'T'];

/// The kind of a frame.
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
    /// True for frames that belong to no call, method or object: their id is 0.
    pub(super) fn is_of_connection(self) -> bool {
        matches!(
            self,
            Kind::Hello | Kind::Ping | Kind::Pong | Kind::Drain | Kind::Goodbye
        )
    }

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

/// The bytes in front of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    pub(super) id: u32,
    /// The length of the payload.
    pub(super) length: usize,
}

impl Header {
    /// Reads a header of a payload that is not larger than this.
    pub(super) fn read(bytes: [u8; HEADER], largest: usize) -> Result<Self, ProtocolError> {
        let [a, b, c, d, id @ ..] = bytes;
        let (kind, flags) = (d & 0x1f, d & 0xe0);
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        match Kind::find(kind) {
            None => Err(ProtocolError::InvalidFrame { kind }),
            Some((_, allowed)) if flags & !allowed != 0 => {
                Err(ProtocolError::InvalidFlags { kind, flags })
            }
            Some(_) if length > largest => Err(ProtocolError::FrameTooLarge { length, largest }),
            Some((kind, _)) => Ok(Header {
                kind,
                flags: Flags(flags),
                id: u32::from_le_bytes(id),
                length,
            }),
        }
    }
}

impl Header {
    /// How much room to keep for what follows this frame: to let the buffer of a long message grow
    /// is to copy it. Most that are cut are hardly longer than a frame.
    pub(super) fn promised(&self) -> usize {
        match self.flags.has(Flags::MORE) {
            true => self.length / 4,
            false => 0,
        }
    }
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

/// Like [`end`], and cuts a payload longer than `largest` into several frames. Blobs that stand
/// elsewhere count.
pub(super) fn end_message(
    out: Out<'_>,
    start: usize,
    kind: Kind,
    flags: Flags,
    id: u32,
    largest: usize,
) {
    let payload = out.buffer.len() + out.apart() - start - HEADER;
    let pieces = payload.div_ceil(largest).max(1);
    let header = |piece: usize| {
        let flags = match piece {
            0 => flags,
            // The extras stand in the first frame.
            _ => Flags(flags.0 & !Flags::EXTRAS.0),
        };
        let flags = flags.with(Flags::MORE, piece + 1 < pieces);
        let length = largest.min(payload - piece * largest);
        (header(length, kind, flags, id), length)
    };
    if pieces == 1 {
        if let Some(room) = out.buffer[start..].first_chunk_mut() {
            *room = header(0).0;
        }
    } else if out.apart() > 0 {
        cut_apart(out, start, header);
    } else {
        cut(out.buffer, start, (pieces, largest), header);
    }
}

/// Cuts a payload that stands in one piece.
fn cut(
    out: &mut Vec<u8>,
    start: usize,
    (pieces, largest): (usize, usize),
    header: impl Fn(usize) -> ([u8; HEADER], usize),
) {
    out.resize(out.len() + (pieces - 1) * HEADER, 0);
    // From the last one to the first, each moves behind as many headers as there are pieces before
    // it.
    for piece in (0..pieces).rev() {
        let from = start + HEADER + piece * largest;
        let (header, length) = header(piece);
        let to = from + piece * HEADER;
        out.copy_within(from..from + length, to);
        out[to - HEADER..to].copy_from_slice(&header);
    }
}

/// Cuts a payload of which blobs stand elsewhere, and stay there.
fn cut_apart(mut out: Out<'_>, start: usize, header: impl Fn(usize) -> ([u8; HEADER], usize)) {
    let whole = std::mem::take(out.buffer);
    let blobs = out.blobs.as_deref_mut().map(std::mem::take);
    out.buffer.extend_from_slice(&whole[..start]);
    let (mut pieces, mut room) = (0.., 0);
    // The room for a header.
    let mut from = start + HEADER;
    for part in blobs.unwrap_or_default().parts(&whole) {
        let all = part.as_slice().len();
        while from < all {
            if room == 0
                && let Some(piece) = pieces.next()
            {
                let (header, length) = header(piece);
                out.buffer.extend_from_slice(&header);
                room = length;
            }
            let to = all.min(from + room);
            match part {
                Piece::Bytes(bytes) => out.buffer.extend_from_slice(&bytes[from..to]),
                Piece::Blob(blob) => out.blob(&blob.slice(from..to)),
            }
            room -= to - from;
            from = to;
        }
        from = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_wire::Blobs;

    /// A payload of small and of large parts, in frames of at most `largest` bytes.
    fn frames(parts: &[usize], largest: usize, apart: bool) -> Vec<u8> {
        let (mut buffer, mut blobs) = (b"before".to_vec(), Blobs::default());
        let start = begin(&mut buffer);
        let mut out = match apart {
            true => Out::with_blobs(&mut buffer, &mut blobs),
            false => (&mut buffer).into(),
        };
        for (index, part) in parts.iter().enumerate() {
            out.blob(&Bytes::from(vec![index as u8; *part]));
        }
        let flags = Flags::EXTRAS.with(Flags::TAGGED, true);
        end_message(out, start, Kind::Reply, flags, 7, largest);
        let whole = parts
            .iter()
            .filter(|part| (Blobs::LEAST..=largest).contains(part));
        if apart && largest == LARGEST {
            assert_eq!(blobs.len(), whole.sum());
        }
        blobs.join(&mut buffer);
        buffer
    }

    const LARGEST: usize = 1 << 20;

    #[test]
    fn blobs_apart_make_the_same_frames() {
        const LARGE: usize = Blobs::LEAST;
        let payloads: [&[usize]; 7] = [
            &[3],
            &[LARGE],
            &[0, LARGE, 0],
            &[5, LARGE + 1, 7, LARGE],
            &[LARGE, LARGE, 1],
            &[100_000, 1, 100_000],
            &[1, 3 * LARGE],
        ];
        for parts in payloads {
            for largest in [LARGE, LARGE + 1, 2 * LARGE, 50_000, LARGEST] {
                let (apart, whole) = (frames(parts, largest, true), frames(parts, largest, false));
                assert!(apart == whole, "{parts:?} in frames of {largest}");
            }
        }
    }
}
