//! Values that take the same bytes each time: written and read as blocks of memory.

use crate::layout::{Layout, Tagless, ThriftBinary, ThriftCompact};
use crate::thrift::compact;
use crate::{DecodeError, EncodeError, Field, Row, Value};
use std::mem;

/// How many bytes every value of a type takes, at least one, in each [`Layout`]; `None` where that
/// differs. In [`ThriftCompact`] it is how many it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    pub(crate) tagless: Option<usize>,
    pub(crate) binary: Option<usize>,
    pub(crate) compact: Option<usize>,
}

impl Plain {
    /// Values that differ.
    pub const NOT: Self = Plain {
        tagless: None,
        binary: None,
        compact: None,
    };

    /// The layout of a value that takes as many bytes in memory, everywhere.
    pub(crate) const fn number(size: usize) -> Self {
        Plain {
            tagless: Some(size),
            binary: Some(size),
            compact: Some(size),
        }
    }

    /// An integer of so many bytes.
    pub(crate) const fn integer(size: usize) -> Self {
        Plain {
            compact: Some(ThriftCompact::integer(size)),
            ..Self::number(size)
        }
    }

    /// The layout of a value that Thrift's compact protocol keeps in the header of a field.
    pub(crate) const fn bool() -> Self {
        Plain {
            compact: None,
            ..Self::number(1)
        }
    }

    /// Some of these without anything between them, which Thrift's protocols write in another way.
    pub(crate) const fn times(self, count: usize) -> Self {
        let tagless = match self.tagless {
            Some(size) => Some(count * size),
            None => None,
        };
        Plain {
            tagless,
            ..Self::NOT
        }
    }

    /// A struct with these fields.
    #[must_use]
    pub const fn of(fields: &[Field<'_>], values: &[Plain]) -> Self {
        let mut all = Plain {
            tagless: Some(0),
            binary: Some(ThriftBinary::END),
            compact: Some(ThriftCompact::END),
        };
        let (mut last, mut index) = (0, 0);
        while index < values.len() {
            let (field, value) = (&fields[index], values[index]);
            let fits = i16::MIN as i32 <= field.id && field.id <= i16::MAX as i32;
            let is_near = compact::header(field, last).is_some();
            all.tagless = sum(all.tagless, value.tagless);
            all.binary = with_header(all.binary, fits, ThriftBinary::HEADER, value.binary);
            all.compact = with_header(all.compact, is_near, ThriftCompact::HEADER, value.compact);
            last = field.id;
            index += 1;
        }
        match values {
            [] => Plain::NOT,
            _ => all,
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

const fn with_header(
    before: Option<usize>,
    has_header: bool,
    header: usize,
    value: Option<usize>,
) -> Option<usize> {
    match has_header {
        true => sum(sum(before, Some(header)), value),
        false => None,
    }
}

/// Writes a field behind the one with the id `last`.
#[inline]
#[must_use]
pub fn write_plain_field<L: Layout, F: Row>(
    place: &F::Place,
    field: &Field<'_>,
    last: &mut i32,
    room: &mut &mut [u8],
) -> bool {
    let header = L::write_header(field, last, room);
    L::both(header, || F::write_plain::<L>(place, room))
}

/// Reads a field behind the one with the id `last`.
#[inline]
#[must_use]
pub fn read_plain_field<L: Layout, F: Row>(
    place: &mut F::Place,
    field: &Field<'_>,
    last: &mut i32,
    bytes: &mut &[u8],
) -> bool {
    let header = L::read_header(field, last, bytes);
    L::both(header, || F::read_plain::<L>(place, bytes))
}

/// Writes elements of at most `size` bytes each. Looks at what went wrong only at the end, for
/// loops without branches.
#[inline]
#[must_use]
pub(crate) fn write_all<L: Layout, T: Value>(
    items: &[T],
    size: usize,
    room: &mut &mut [u8],
) -> bool {
    if !L::IS_FIXED {
        return items.iter().all(|item| item.write_plain::<L>(room));
    }
    let places = mem::take(room).chunks_exact_mut(size);
    items
        .iter()
        .zip(places)
        .fold(true, |all, (item, mut place)| {
            all & item.write_plain::<L>(&mut place)
        })
}

/// Room for so many bytes more.
#[inline]
pub(crate) fn room(out: &mut Vec<u8>, len: usize) -> Option<&mut [u8]> {
    let start = out.len();
    out.resize(start.checked_add(len)?, 0);
    out.get_mut(start..)
}

/// Takes the last `len` bytes back.
#[inline]
pub(crate) fn take_back(out: &mut Vec<u8>, len: usize) {
    out.truncate(out.len().saturating_sub(len));
}

/// Writes elements of `size` bytes each where tags cannot help.
#[inline]
pub(crate) fn write<T: Value>(
    items: &[T],
    size: usize,
    mut room: &mut [u8],
) -> Result<(), EncodeError> {
    match write_all::<Tagless, T>(items, size, &mut room) {
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
    for (item, mut place) in items.iter_mut().zip(places) {
        all &= item.read_plain::<Tagless>(&mut place);
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

/// The error for bytes that mean nothing: of plain values only these have any.
#[cold]
#[inline(never)]
pub(crate) fn invalid() -> DecodeError {
    DecodeError::malformed("a bool that is neither 0 nor 1, or a time out of range")
}
