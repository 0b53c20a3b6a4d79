//! A message: segments, and what pointers in them lead to.

use super::WORD;
use super::pointer::{ElementSize, Pointer};
use crate::DecodeError;
use bytes::Bytes;

/// The most segments of a message, as in Cap'n Proto's own libraries.
const MAX_SEGMENTS: usize = 512;

/// A message that has come.
#[derive(Clone, Debug, Default)]
pub struct Segments(Vec<Bytes>);

/// The place of a word: the segment, and the number of the word in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) segment: u32,
    pub(super) word: usize,
}

/// The target of a pointer. All of it is within its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Null,
    Struct(StructAt),
    List(ListAt),
    Capability(u32),
}

/// A struct: its data, and the pointers behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StructAt {
    pub(super) segment: u32,
    /// The first byte of data in the segment, and how many there are.
    pub(super) data: usize,
    pub(super) data_len: usize,
    /// The first pointer, and how many there are.
    pub(super) pointer: usize,
    pub(super) pointers: usize,
}

impl StructAt {
    /// A struct without words.
    pub(super) const EMPTY: Self = StructAt {
        segment: 0,
        data: 0,
        data_len: 0,
        pointer: 0,
        pointers: 0,
    };
}

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListAt {
    pub(super) segment: u32,
    pub(super) size: ElementSize,
    pub(super) count: usize,
    /// The word of the first element.
    pub(super) word: usize,
    /// Words of data and pointers of each element, where they are structs.
    pub(super) data: usize,
    pub(super) pointers: usize,
}

impl ListAt {
    /// The words that the list takes; elements without room count as one each, since a reader
    /// spends time on them.
    pub(super) fn cost(&self) -> usize {
        let bits = match self.size {
            ElementSize::Composite => (self.data + self.pointers).max(1) * 64,
            ElementSize::Void => 64,
            size => size.bits(),
        };
        (self.count.saturating_mul(bits)).div_ceil(64)
    }
}

/// The bytes of the table of so many segments.
fn table(segments: usize) -> usize {
    (4 + 4 * segments).next_multiple_of(WORD)
}

/// The bytes of each segment of a message, which are within `most` together; `None` where the table
/// is not there as a whole.
fn sizes(input: &[u8], most: usize) -> Result<Option<Vec<usize>>, DecodeError> {
    let word = |at: usize| {
        let bytes = input.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let Some(count) = word(0) else {
        return Ok(None);
    };
    let count = count.saturating_add(1);
    if count > MAX_SEGMENTS {
        return Err(DecodeError::malformed(
            "a message of more than 512 segments",
        ));
    }
    let mut sizes = Vec::with_capacity(count);
    let mut len = table(count);
    for segment in 0..count {
        let Some(words) = word(4 + 4 * segment) else {
            return Ok(None);
        };
        len += words * WORD;
        if len > most {
            return Err(DecodeError::malformed(
                "a message that is larger than the limit",
            ));
        }
        sizes.push(words * WORD);
    }
    Ok(Some(sizes))
}

impl Segments {
    /// A message of one segment, of whole words.
    pub fn single(segment: Bytes) -> Result<Self, DecodeError> {
        match segment.len().is_multiple_of(WORD) {
            true => Ok(Segments(vec![segment])),
            false => Err(DecodeError::malformed(
                "a segment that does not end with a word",
            )),
        }
    }

    /// Splits a message off the front of a stream: the table of segments, and the segments. `None`
    /// where it is not there as a whole; the second value is how many bytes it takes. A message of
    /// more than `most` bytes is an error.
    pub fn split(input: &Bytes, most: usize) -> Result<Option<(Self, usize)>, DecodeError> {
        let Some(sizes) = sizes(input, most)? else {
            return Ok(None);
        };
        let mut at = table(sizes.len());
        let mut segments = Vec::with_capacity(sizes.len());
        for size in sizes {
            if at + size > input.len() {
                return Ok(None);
            }
            segments.push(input.slice(at..at + size));
            at += size;
        }
        Ok(Some((Segments(segments), at)))
    }

    /// The bytes of the message at the front of a stream, with its table of segments; `None` where
    /// the table is not there as a whole. More than `most` bytes are an error.
    pub fn len_of(input: &[u8], most: usize) -> Result<Option<usize>, DecodeError> {
        let sizes = sizes(input, most)?;
        Ok(sizes.map(|sizes| table(sizes.len()) + sizes.iter().sum::<usize>()))
    }

    /// The segments.
    pub fn parts(&self) -> &[Bytes] {
        &self.0
    }

    /// The words of all segments.
    pub(super) fn words(&self) -> usize {
        self.parts().iter().map(|part| part.len() / WORD).sum()
    }

    #[inline]
    pub(super) fn segment(&self, segment: u32) -> Option<&Bytes> {
        self.0.get(segment as usize)
    }

    #[inline]
    pub(super) fn word(&self, spot: Spot) -> Result<u64, DecodeError> {
        let segment = self.segment(spot.segment);
        let at = spot.word.checked_mul(WORD);
        let bytes = segment
            .zip(at)
            .and_then(|(segment, at)| segment.get(at..at + WORD)?.first_chunk::<WORD>());
        bytes
            .map(|bytes| u64::from_le_bytes(*bytes))
            .ok_or_else(outside)
    }

    /// Finds what the pointer in this word leads to.
    #[inline]
    pub(super) fn follow(&self, spot: Spot) -> Result<Target, DecodeError> {
        match Pointer::decode(self.word(spot)?) {
            Pointer::Far {
                double,
                position,
                segment,
            } => {
                let pad = Spot {
                    segment,
                    word: position as usize,
                };
                let first = Pointer::decode(self.word(pad)?);
                match (double, first) {
                    (false, Pointer::Far { .. }) => Err(two_fars()),
                    (false, pointer) => self.object(pointer, behind(pad, 1)),
                    // The pad says where the object begins; the word behind it what it is.
                    (
                        true,
                        Pointer::Far {
                            double: false,
                            position,
                            segment,
                        },
                    ) => {
                        let tag = Pointer::decode(self.word(behind(pad, 1))?);
                        let start = Spot {
                            segment,
                            word: position as usize,
                        };
                        self.object(tag, start)
                    }
                    (true, _) => Err(two_fars()),
                }
            }
            pointer => self.object(pointer, behind(spot, 1)),
        }
    }

    /// Finds what a pointer leads to; its offset counts from `from`.
    fn object(&self, pointer: Pointer, from: Spot) -> Result<Target, DecodeError> {
        let start = |offset: i32| {
            let word = from.word.checked_add_signed(offset as isize);
            word.ok_or_else(outside)
        };
        let segment = from.segment;
        match pointer {
            Pointer::Null => Ok(Target::Null),
            Pointer::Struct {
                offset,
                data,
                pointers,
            } => {
                let at = self.structure(segment, start(offset)?, data.into(), pointers.into())?;
                Ok(Target::Struct(at))
            }
            Pointer::List {
                offset,
                size,
                count,
            } => {
                let list = self.list(segment, start(offset)?, size, count as usize)?;
                Ok(Target::List(list))
            }
            Pointer::Capability(index) => Ok(Target::Capability(index)),
            Pointer::Far { .. } => Err(two_fars()),
            Pointer::Unknown => Err(DecodeError::malformed("a pointer of an unknown kind")),
        }
    }

    fn structure(
        &self,
        segment: u32,
        word: usize,
        data: usize,
        pointers: usize,
    ) -> Result<StructAt, DecodeError> {
        self.check(segment, word, data + pointers)?;
        Ok(StructAt {
            segment,
            data: word * WORD,
            data_len: data * WORD,
            pointer: word + data,
            pointers,
        })
    }

    fn list(
        &self,
        segment: u32,
        word: usize,
        size: ElementSize,
        count: usize,
    ) -> Result<ListAt, DecodeError> {
        let list = ListAt {
            segment,
            size,
            count,
            word,
            data: 0,
            pointers: 0,
        };
        if size != ElementSize::Composite {
            self.check(segment, word, (count * size.bits()).div_ceil(64))?;
            return Ok(list);
        }
        // The count is that of all words; the one in front says of how many structs, and of which
        // size.
        self.check(segment, word, count.saturating_add(1))?;
        let tag = Pointer::decode(self.word(Spot { segment, word })?);
        let (number, data, pointers) = match tag {
            Pointer::Struct {
                offset,
                data,
                pointers,
            } if offset >= 0 => (offset as usize, usize::from(data), usize::from(pointers)),
            Pointer::Null => (0, 0, 0),
            _ => {
                return Err(DecodeError::malformed(
                    "a list of structs that says no size",
                ));
            }
        };
        if number.saturating_mul(data + pointers) > count {
            return Err(outside());
        }
        Ok(ListAt {
            count: number,
            word: word + 1,
            data,
            pointers,
            ..list
        })
    }

    /// Checks that so many words from here on are in the segment.
    fn check(&self, segment: u32, word: usize, words: usize) -> Result<(), DecodeError> {
        let len = self.segment(segment).map_or(0, Bytes::len) / WORD;
        match word.checked_add(words) {
            Some(end) if end <= len => Ok(()),
            _ => Err(outside()),
        }
    }
}

fn behind(spot: Spot, words: usize) -> Spot {
    Spot {
        word: spot.word.saturating_add(words),
        ..spot
    }
}

#[cold]
fn outside() -> DecodeError {
    DecodeError::malformed("a pointer that leads out of its segment")
}

#[cold]
fn two_fars() -> DecodeError {
    DecodeError::malformed("a far pointer that leads to another one")
}

/// Puts the table of segments in front of a message of one segment.
pub fn frame(segment: &[u8]) -> Vec<u8> {
    let words = (segment.len() / WORD) as u32;
    let mut message = Vec::with_capacity(WORD + segment.len());
    message.extend_from_slice(&0u32.to_le_bytes());
    message.extend_from_slice(&words.to_le_bytes());
    message.extend_from_slice(segment);
    message
}
