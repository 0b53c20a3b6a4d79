use super::WORD;
use super::pointer::ElementSize;
use super::reader::structure_of;
use super::segments::{Segments, Spot, StructAt, Target};
use crate::DecodeError;

type Result<T> = std::result::Result<T, DecodeError>;

/// A struct of a message, whose fields are read one by one, by their places.
///
/// Nothing of it is decoded before it is asked for. What a shorter struct lacks is zero or
/// null. Who walks through pointers bounds how many: they may lead to one place.
#[derive(Clone, Copy, Debug)]
pub struct View<'m> {
    message: &'m Segments,
    at: StructAt,
}

/// The place of a pointer in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerAt(pub(super) Spot);

/// The object that a pointer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A null pointer.
    Null,
    /// The number of a capability in the table of the message.
    Capability(u32),
    /// A struct or a list.
    Value,
}

impl PointerAt {
    /// The root of a message.
    pub const ROOT: Self = PointerAt(Spot {
        segment: 0,
        word: 0,
    });

    /// The pointer in this word of the first segment.
    #[must_use]
    pub const fn in_first_segment(word: usize) -> Self {
        PointerAt(Spot { segment: 0, word })
    }
}

impl<'m> View<'m> {
    /// The struct at the root of a message; a null root is a struct without words.
    pub fn root(message: &'m Segments) -> Result<Self> {
        let root = Self::follow(message, PointerAt::ROOT)?;
        Ok(root.unwrap_or(View {
            message,
            at: StructAt::EMPTY,
        }))
    }

    /// The struct that a pointer leads to; `None` for null.
    pub fn at(message: &'m Segments, pointer: PointerAt) -> Result<Option<Self>> {
        Self::follow(message, pointer)
    }

    /// The kind of object that a pointer stands for.
    pub fn object_at(message: &Segments, pointer: PointerAt) -> Result<Object> {
        Ok(match message.follow(pointer.0)? {
            Target::Null => Object::Null,
            Target::Capability(index) => Object::Capability(index),
            Target::Struct(_) | Target::List(_) => Object::Value,
        })
    }

    fn follow(message: &'m Segments, pointer: PointerAt) -> Result<Option<Self>> {
        match message.follow(pointer.0)? {
            Target::Null => Ok(None),
            Target::Struct(at) => Ok(Some(View { message, at })),
            _ => Err(DecodeError::malformed(
                "a struct is expected behind a pointer",
            )),
        }
    }

    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        let at = offset * N;
        let segment = self.message.segment(self.at.segment);
        let found = segment.filter(|_| at + N <= self.at.data_len);
        let bytes = found.and_then(|bytes| bytes.get(self.at.data + at..)?.first_chunk());
        bytes.copied().unwrap_or([0; N])
    }

    /// A bit of the data.
    #[must_use]
    pub fn bool(&self, bit: usize) -> bool {
        let [byte] = self.bytes(bit / 8);
        byte >> (bit % 8) & 1 == 1
    }

    /// A number of 16 bits; the offset counts such numbers.
    #[must_use]
    pub fn u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.bytes(offset))
    }

    /// A number of 32 bits.
    #[must_use]
    pub fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.bytes(offset))
    }

    /// A number of 64 bits.
    #[must_use]
    pub fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.bytes(offset))
    }

    /// The place of a pointer; `None` where a shorter struct lacks it.
    #[must_use]
    pub fn pointer(&self, number: usize) -> Option<PointerAt> {
        (number < self.at.pointers).then(|| {
            PointerAt(Spot {
                segment: self.at.segment,
                word: self.at.pointer + number,
            })
        })
    }

    /// The struct behind a pointer; `None` for null.
    pub fn structure(&self, number: usize) -> Result<Option<Self>> {
        match self.pointer(number) {
            Some(pointer) => Self::follow(self.message, pointer),
            None => Ok(None),
        }
    }

    /// The kind of object behind a pointer.
    pub fn object(&self, number: usize) -> Result<Object> {
        match self.pointer(number) {
            Some(pointer) => Self::object_at(self.message, pointer),
            None => Ok(Object::Null),
        }
    }

    /// The structs of a list behind a pointer: at most so many, and no more than the message has
    /// words. Those without words could be any number.
    pub fn structs(&self, number: usize, most: usize) -> Result<Vec<Self>> {
        let Some(pointer) = self.pointer(number) else {
            return Ok(Vec::new());
        };
        match self.message.follow(pointer.0)? {
            Target::Null => Ok(Vec::new()),
            Target::List(list)
                if list.count <= most.min(self.message.words())
                    && list.size != ElementSize::Bit =>
            {
                let message = self.message;
                let all = (0..list.count).filter_map(|index| structure_of(&list, index));
                Ok(all.map(|at| View { message, at }).collect())
            }
            Target::List(_) => Err(DecodeError::malformed("a list with too many elements")),
            _ => Err(DecodeError::malformed(
                "a list is expected behind a pointer",
            )),
        }
    }

    /// The text behind a pointer; empty for null.
    pub fn text(&self, number: usize) -> Result<&'m str> {
        let Some(pointer) = self.pointer(number) else {
            return Ok("");
        };
        match self.message.follow(pointer.0)? {
            Target::Null => Ok(""),
            Target::List(list) if list.size == ElementSize::Byte => {
                let start = list.word * WORD;
                let segment = self.message.segment(list.segment);
                let bytes = segment.and_then(|bytes| bytes.get(start..start + list.count));
                let text = bytes.and_then(|bytes| bytes.strip_suffix(&[0]));
                let text = text.and_then(|text| std::str::from_utf8(text).ok());
                text.ok_or_else(|| {
                    DecodeError::malformed("a text that is not UTF-8, or has no end")
                })
            }
            _ => Err(DecodeError::malformed(
                "a text is expected behind a pointer",
            )),
        }
    }
}
