//! Values that take the same bytes each time: written and read as blocks of memory.

use crate::layout::{Layout, Tagless, ThriftBinary};
use crate::{DecodeError, EncodeError, Field, FieldValue, Value};

/// How many bytes every value of a type takes, at least one, in each [`Layout`]; `None` where that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    pub(crate) tagless: Option<usize>,
    pub(crate) thrift: Option<usize>,
}

impl Plain {
    /// Values that differ.
    pub const NOT: Self = Plain {
        tagless: None,
        thrift: None,
    };

    /// A number, which takes as many bytes in memory.
    pub(crate) const fn number(size: usize) -> Self {
        Plain {
            tagless: Some(size),
            thrift: Some(size),
        }
    }

    /// Some of these without anything between them, which Thrift's binary protocol writes in another way.
    pub(crate) const fn times(self, count: usize) -> Self {
        let tagless = match self.tagless {
            Some(size) => Some(count * size),
            None => None,
        };
        Plain {
            tagless,
            thrift: None,
        }
    }

    /// A struct with these fields.
    #[must_use]
    pub const fn of(fields: &[Field<'_>], values: &[Plain]) -> Self {
        let (mut tagless, mut thrift, mut index) = (Some(0), Some(ThriftBinary::END), 0);
        while index < values.len() {
            let id = fields[index].id;
            let header = match i16::MIN as i32 <= id && id <= i16::MAX as i32 {
                true => Some(ThriftBinary::HEADER),
                false => None,
            };
            tagless = sum(tagless, values[index].tagless);
            thrift = sum(sum(thrift, header), values[index].thrift);
            index += 1;
        }
        match values {
            [] => Plain::NOT,
            _ => Plain { tagless, thrift },
        }
    }

    /// Bytes in [`tagless`](crate::tagless).
    #[must_use]
    pub const fn tagless(self) -> Option<usize> {
        self.tagless
    }
}

const fn sum(left: Option<usize>, right: Option<usize>) -> Option<usize> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left + right),
        _ => None,
    }
}

/// Writes a field to the front of the room, which then begins behind it.
#[inline]
#[must_use]
pub fn write_plain_field<L: Layout, F: FieldValue>(
    value: &F,
    field: &Field<'_>,
    room: &mut &mut [u8],
) -> bool {
    L::write_header(field, room) & write_part::<L, F>(value, room)
}

/// Reads a field from the front of the bytes, which then begin behind it.
#[inline]
#[must_use]
pub fn read_plain_field<L: Layout, F: FieldValue>(
    value: &mut F,
    field: &Field<'_>,
    bytes: &mut &[u8],
) -> bool {
    L::read_header(field, bytes) & read_part::<L, F>(value, bytes)
}

#[inline]
pub(crate) fn write_part<L: Layout, F: FieldValue>(value: &F, room: &mut &mut [u8]) -> bool {
    let size = L::size(F::PLAIN).unwrap_or(0);
    match std::mem::take(room).split_at_mut_checked(size) {
        Some((own, rest)) => {
            *room = rest;
            value.write_plain::<L>(own)
        }
        None => false,
    }
}

#[inline]
pub(crate) fn read_part<L: Layout, F: FieldValue>(value: &mut F, bytes: &mut &[u8]) -> bool {
    let size = L::size(F::PLAIN).unwrap_or(0);
    match bytes.split_at_checked(size) {
        Some((own, rest)) => {
            *bytes = rest;
            value.read_plain::<L>(own)
        }
        None => false,
    }
}

/// Writes elements of `size` bytes each. Looks at what went wrong only at the end, for loops without
/// branches.
#[inline]
#[must_use]
pub(crate) fn write_all<L: Layout, T: Value>(items: &[T], size: usize, room: &mut [u8]) -> bool {
    let places = room.chunks_exact_mut(size);
    items.iter().zip(places).fold(true, |all, (item, place)| {
        all & item.write_plain::<L>(place)
    })
}

/// The same where tags cannot help.
#[inline]
pub(crate) fn write<T: Value>(
    items: &[T],
    size: usize,
    room: &mut [u8],
) -> Result<(), EncodeError> {
    match write_all::<Tagless, T>(items, size, room) {
        true => Ok(()),
        false => Err(EncodeError::NeedsTags),
    }
}

/// Reads elements of `size` bytes each in the place of those that are there.
#[inline]
pub(crate) fn read<T: Value>(
    items: &mut Vec<T>,
    size: usize,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    let mut all = true;
    let places = bytes.chunks_exact(size);
    items.resize_with(places.len(), T::default);
    for (item, place) in items.iter_mut().zip(places) {
        all &= item.read_plain::<Tagless>(place);
    }
    check(all)
}

#[inline]
pub(crate) fn check(valid: bool) -> Result<(), DecodeError> {
    match valid {
        true => Ok(()),
        false => Err(invalid()),
    }
}

/// Of plain values only these have bytes that mean nothing.
#[cold]
#[inline(never)]
pub(crate) fn invalid() -> DecodeError {
    DecodeError::malformed("a bool that is neither 0 nor 1, or a time out of range")
}
