use super::WORD;
use super::copy::copy;
use super::pointer::{ElementSize, MAX, Pointer};
use super::segments::Segments;
use super::view::PointerAt;
use crate::EncodeError;

type Result<T = ()> = std::result::Result<T, EncodeError>;

pub(super) const TOO_LARGE: EncodeError = EncodeError::Unsupported {
    what: "values of more than 4 GiB in Cap'n Proto",
};

/// A segment in the making, at the end of a buffer. All places are bytes of the buffer.
#[derive(Debug)]
pub struct Builder<'a> {
    out: &'a mut Vec<u8>,
    /// The place where the segment begins.
    base: usize,
}

/// The place of a struct: its data and its pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    pub(super) data: usize,
    pub(super) pointers: usize,
}

impl Words {
    /// The place of a pointer, by its number.
    #[must_use]
    pub fn pointer(self, number: usize) -> usize {
        self.pointers + number * WORD
    }

    /// The struct behind this one in a list of structs with so many words of data and pointers.
    #[must_use]
    pub fn next(self, data: usize, pointers: usize) -> Self {
        let step = (data + pointers) * WORD;
        Words {
            data: self.data + step,
            pointers: self.pointers + step,
        }
    }
}

impl<'a> Builder<'a> {
    /// Begins a segment with a null pointer, its root; returns the root's place as well.
    pub fn new(out: &'a mut Vec<u8>) -> (Self, usize) {
        let base = out.len();
        out.extend_from_slice(&[0; WORD]);
        (Builder { out, base }, base)
    }

    /// Goes on with a segment that begins at the byte `base`.
    pub fn resume(out: &'a mut Vec<u8>, base: usize) -> Self {
        Builder { out, base }
    }

    /// The buffer, and where the segment begins.
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, usize) {
        (self.out, self.base)
    }

    /// The end of the buffer with so many words more.
    fn end_behind(&self, words: usize) -> Result<usize> {
        let start = self.out.len();
        let len = words.checked_mul(WORD).ok_or(TOO_LARGE)?;
        match (start - self.base) / WORD + words > MAX {
            true => Err(TOO_LARGE),
            false => Ok(start + len),
        }
    }

    /// Makes zeroed room for so many words at the end; returns the first byte.
    fn room(&mut self, words: usize) -> Result<usize> {
        let (start, end) = (self.out.len(), self.end_behind(words)?);
        self.out.resize(end, 0);
        Ok(start)
    }

    /// Writes bytes into a place that is there; others are dropped.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.out.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Writes the low bytes of a number into a place that is there.
    #[inline]
    pub(super) fn put_number<const BYTES: usize>(&mut self, at: usize, value: u64) {
        let place = self.out.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        let place: Option<&mut [u8; BYTES]> = place;
        if let (Some(place), Some(bytes)) = (place, value.to_le_bytes().first_chunk()) {
            *place = *bytes;
        }
    }

    /// Writes a bit.
    pub(super) fn put_bit(&mut self, byte: usize, bit: u8, value: bool) {
        if let Some(place) = self.out.get_mut(byte) {
            *place = *place & !(1 << bit) | u8::from(value) << bit;
        }
    }

    /// Writes a number of 16 bits of a struct; the offset counts such numbers.
    pub fn put_u16(&mut self, words: Words, offset: usize, value: u16) {
        self.put_number::<2>(words.data + offset * 2, value.into());
    }

    /// Writes a number of 32 bits of a struct.
    pub fn put_u32(&mut self, words: Words, offset: usize, value: u32) {
        self.put_number::<4>(words.data + offset * 4, value.into());
    }

    /// Writes a number of 64 bits of a struct.
    pub fn put_u64(&mut self, words: Words, offset: usize, value: u64) {
        self.put_number::<8>(words.data + offset * 8, value);
    }

    fn point(&mut self, at: usize, pointer: Pointer) {
        self.put_number::<8>(at, pointer.encode());
    }

    /// Makes a pointer the object with this number in the table of the message.
    pub fn capability(&mut self, at: usize, index: u32) {
        self.point(at, Pointer::Capability(index));
    }

    /// The distance from the word behind the pointer at `at` to `target`, in words.
    fn distance(&self, at: usize, target: usize) -> i32 {
        // Both are in a segment of at most 2^29 words.
        let word = |byte: usize| ((byte - self.base) / WORD) as i64;
        (word(target) - word(at) - 1) as i32
    }

    /// Makes a struct that the pointer at `at` leads to.
    pub fn structure(&mut self, at: usize, data: u16, pointers: u16) -> Result<Words> {
        let words = usize::from(data) + usize::from(pointers);
        let start = self.room(words)?;
        let offset = match words {
            // A pointer to nothing must differ from null.
            0 => -1,
            _ => self.distance(at, start),
        };
        self.point(
            at,
            Pointer::Struct {
                offset,
                data,
                pointers,
            },
        );
        Ok(Words {
            data: start,
            pointers: start + usize::from(data) * WORD,
        })
    }

    /// Makes a list that the pointer at `at` leads to; returns its first byte.
    pub(super) fn list(
        &mut self,
        at: usize,
        size: ElementSize,
        count: usize,
        words: usize,
    ) -> Result<usize> {
        let start = self.room(words)?;
        self.point_to_list(at, size, count, start)?;
        Ok(start)
    }

    fn point_to_list(
        &mut self,
        at: usize,
        size: ElementSize,
        count: usize,
        start: usize,
    ) -> Result {
        if count > MAX {
            return Err(TOO_LARGE);
        }
        let pointer = Pointer::List {
            offset: self.distance(at, start),
            size,
            count: count as u32,
        };
        self.point(at, pointer);
        Ok(())
    }

    /// Makes a list of structs; returns the place of the first one. They follow one another.
    pub fn structs(&mut self, at: usize, count: usize, data: u16, pointers: u16) -> Result<Words> {
        let each = usize::from(data) + usize::from(pointers);
        let words = each.checked_mul(count).ok_or(TOO_LARGE)?;
        if words > MAX || count > MAX {
            return Err(TOO_LARGE);
        }
        let start = self.list(at, ElementSize::Composite, words, words + 1)?;
        let tag = Pointer::Struct {
            offset: count as i32,
            data,
            pointers,
        };
        self.point(start, tag);
        Ok(Words {
            data: start + WORD,
            pointers: start + WORD + usize::from(data) * WORD,
        })
    }

    /// Makes bytes that the pointer at `at` leads to; a text has a zero byte behind it.
    pub(super) fn blob(&mut self, at: usize, bytes: &[u8], is_text: bool) -> Result {
        let count = bytes.len() + usize::from(is_text);
        let end = self.end_behind(count.div_ceil(WORD))?;
        let start = self.out.len();
        // Not zeroed first: data may be large.
        self.out.reserve(end - start);
        self.out.extend_from_slice(bytes);
        self.out.resize(end, 0);
        self.point_to_list(at, ElementSize::Byte, count, start)
    }

    /// Copies what a pointer of another message leads to. Objects keep their places in the table of
    /// the message.
    pub fn copy(&mut self, at: usize, from: &Segments, pointer: PointerAt) -> Result {
        copy(from, pointer.0, self.out, (self.base, at), true).map_err(|_| {
            EncodeError::Unsupported {
                what: "a message that cannot be read, in another one",
            }
        })
    }

    /// Makes a text that the pointer at `at` leads to.
    pub fn text(&mut self, at: usize, text: &str) -> Result {
        self.blob(at, text.as_bytes(), true)
    }
}
