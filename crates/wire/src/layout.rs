//! How plain values stand in memory.

use crate::thrift::{binary, compact};
use crate::varint::{self, unzigzag, zigzag};
use crate::{Field, Plain};
use std::mem;

/// How plain values are written, and what is between them. Whatever writes does so to the front of
/// the room, which then begins behind it; whatever reads takes from the front of the bytes. True
/// where there was room, or the right thing.
///
/// Numbers are given as in memory, least significant byte first.
pub trait Layout {
    /// All values of one type take as many bytes.
    const IS_FIXED: bool = true;

    /// Two steps. Where values have fixed places the second is made in any case, which takes less
    /// time than to ask.
    #[inline]
    fn both(first: bool, second: impl FnOnce() -> bool) -> bool {
        match Self::IS_FIXED {
            true => first & second(),
            false => first && second(),
        }
    }

    /// How many bytes a value takes at most.
    fn size(plain: Plain) -> Option<usize>;

    /// Writes what stands before a field. `last` is the id of the one before.
    #[inline]
    fn write_header(field: &Field<'_>, last: &mut i32, room: &mut &mut [u8]) -> bool {
        let _ = (field, last, room);
        true
    }

    /// Reads what stands before a field.
    #[inline]
    fn read_header(field: &Field<'_>, last: &mut i32, bytes: &mut &[u8]) -> bool {
        let _ = (field, last, bytes);
        true
    }

    /// Writes what stands behind the last field.
    #[inline]
    fn write_end(room: &mut &mut [u8]) -> bool {
        let _ = room;
        true
    }

    /// Reads what stands behind the last field.
    #[inline]
    fn read_end(bytes: &mut &[u8]) -> bool {
        let _ = bytes;
        true
    }

    /// Writes a number of a fixed width.
    #[inline]
    fn write_number<const N: usize>(number: [u8; N], room: &mut &mut [u8]) -> bool {
        put(number, room)
    }

    /// Reads a number of a fixed width.
    #[inline]
    fn read_number<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        take(bytes)
    }

    /// Writes an integer.
    #[inline]
    fn write_integer<const N: usize>(integer: [u8; N], room: &mut &mut [u8]) -> bool {
        Self::write_number(integer, room)
    }

    /// Reads an integer.
    #[inline]
    fn read_integer<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        Self::read_number(bytes)
    }
}

/// The layouts of elements in encodings that have headers between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayout {
    /// [`ThriftBinary`].
    ThriftBinary,
    /// [`ThriftCompact`].
    ThriftCompact,
}

/// Writes bytes as they are.
#[inline]
pub(crate) fn put<const N: usize>(bytes: [u8; N], room: &mut &mut [u8]) -> bool {
    let Some((place, rest)) = mem::take(room).split_first_chunk_mut() else {
        return false;
    };
    *place = bytes;
    *room = rest;
    true
}

/// Reads bytes as they are.
#[inline]
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (found, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*found)
}

/// That of [`tagless`](crate::tagless): one value behind the other.
#[derive(Debug)]
pub struct Tagless;

impl Layout for Tagless {
    #[inline]
    fn size(plain: Plain) -> Option<usize> {
        plain.tagless
    }
}

/// That of [`thrift::binary`](crate::thrift::binary): where all fields of a struct are numbers, and
/// have come in the order of its table, the header of each has its place, too.
#[derive(Debug)]
pub struct ThriftBinary;

impl ThriftBinary {
    /// Bytes before a field: its type and its id.
    pub(crate) const HEADER: usize = 3;
    /// Bytes behind the last one: the type of none.
    pub(crate) const END: usize = 1;
}

impl Layout for ThriftBinary {
    #[inline]
    fn size(plain: Plain) -> Option<usize> {
        plain.binary
    }

    #[inline]
    fn write_header(field: &Field<'_>, _: &mut i32, room: &mut &mut [u8]) -> bool {
        put(binary::header(field), room)
    }

    #[inline]
    fn read_header(field: &Field<'_>, _: &mut i32, bytes: &mut &[u8]) -> bool {
        take(bytes) == Some(binary::header(field))
    }

    #[inline]
    fn write_end(room: &mut &mut [u8]) -> bool {
        put([binary::STOP], room)
    }

    #[inline]
    fn read_end(bytes: &mut &[u8]) -> bool {
        take(bytes) == Some([binary::STOP])
    }

    #[inline]
    fn write_number<const N: usize>(mut number: [u8; N], room: &mut &mut [u8]) -> bool {
        number.reverse();
        put(number, room)
    }

    #[inline]
    fn read_number<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let mut number: [u8; N] = take(bytes)?;
        number.reverse();
        Some(number)
    }
}

/// That of [`thrift::compact`](crate::thrift::compact), where integers take as many bytes as they
/// need. A struct has its place without looking at what is there first, for each of its fields.
#[derive(Debug)]
pub struct ThriftCompact;

impl ThriftCompact {
    /// Bytes before a field: its type, and how far its id is from the one before.
    pub(crate) const HEADER: usize = 1;
    /// Bytes behind the last one: the type of none.
    pub(crate) const END: usize = 1;

    /// How many bytes an integer takes at most, or is written with before it is known how many it
    /// takes.
    pub(crate) const fn integer(size: usize) -> usize {
        match size {
            1 => 1,
            2 | 4 => varint::STEP,
            _ => varint::LONGEST,
        }
    }
}

impl Layout for ThriftCompact {
    const IS_FIXED: bool = false;

    #[inline]
    fn size(plain: Plain) -> Option<usize> {
        plain.compact
    }

    #[inline]
    fn write_header(field: &Field<'_>, last: &mut i32, room: &mut &mut [u8]) -> bool {
        let header = compact::header(field, *last);
        *last = field.id;
        header.is_some_and(|header| put([header], room))
    }

    #[inline]
    fn read_header(field: &Field<'_>, last: &mut i32, bytes: &mut &[u8]) -> bool {
        let header = compact::header(field, *last);
        *last = field.id;
        take(bytes).map(|[found]| found) == header
    }

    #[inline]
    fn write_end(room: &mut &mut [u8]) -> bool {
        put([compact::STOP], room)
    }

    #[inline]
    fn read_end(bytes: &mut &[u8]) -> bool {
        take(bytes) == Some([compact::STOP])
    }

    #[inline]
    fn write_integer<const N: usize>(integer: [u8; N], room: &mut &mut [u8]) -> bool {
        match N {
            1 => put(integer, room),
            _ => varint::put(zigzag(extend(integer)), room),
        }
    }

    #[inline]
    fn read_integer<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        if N == 1 {
            return take(bytes);
        }
        let wide = unzigzag(varint::take(bytes)?);
        let narrow = *wide.to_le_bytes().first_chunk()?;
        (extend(narrow) == wide).then_some(narrow)
    }
}

/// Gives an integer eight bytes.
#[inline]
fn extend<const N: usize>(integer: [u8; N]) -> i64 {
    let mut wide = [0; 8];
    for (to, from) in wide.iter_mut().zip(integer) {
        *to = from;
    }
    let unused = 8 * 8usize.saturating_sub(N);
    (i64::from_le_bytes(wide) << unused) >> unused
}
