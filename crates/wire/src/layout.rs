//! How plain values stand in a block of memory.

use crate::thrift::binary;
use crate::{Field, Plain};
use std::mem;

/// The order of the bytes of plain values, and what is between them. True where there was room, or the right thing.
pub trait Layout {
    /// True where the most significant byte comes first.
    const BIG_ENDIAN: bool;

    /// How many bytes a value takes.
    fn size(plain: Plain) -> Option<usize>;

    /// Writes what stands before a field.
    #[inline]
    fn write_header(field: &Field<'_>, room: &mut &mut [u8]) -> bool {
        let _ = (field, room);
        true
    }

    /// Reads what stands before a field.
    #[inline]
    fn read_header(field: &Field<'_>, bytes: &mut &[u8]) -> bool {
        let _ = (field, bytes);
        true
    }

    /// Writes what stands behind the last field.
    #[inline]
    fn write_end(room: &mut [u8]) -> bool {
        room.is_empty()
    }

    /// Reads what stands behind the last field.
    #[inline]
    fn read_end(bytes: &[u8]) -> bool {
        bytes.is_empty()
    }
}

/// That of [`tagless`](crate::tagless): one value behind the other.
#[derive(Debug)]
pub struct Tagless;

impl Layout for Tagless {
    const BIG_ENDIAN: bool = false;

    #[inline]
    fn size(plain: Plain) -> Option<usize> {
        plain.tagless
    }
}

/// That of [`thrift::binary`](crate::thrift::binary): where all fields of a struct are numbers, and have come in the order of its table, the header
/// of each has its place, too.
#[derive(Debug)]
pub struct ThriftBinary;

impl ThriftBinary {
    /// Bytes before a field: its type and its id.
    pub(crate) const HEADER: usize = 3;
    /// Bytes behind the last one: the type of none.
    pub(crate) const END: usize = 1;
}

impl Layout for ThriftBinary {
    const BIG_ENDIAN: bool = true;

    #[inline]
    fn size(plain: Plain) -> Option<usize> {
        plain.thrift
    }

    #[inline]
    fn write_header(field: &Field<'_>, room: &mut &mut [u8]) -> bool {
        let Some((place, rest)) = mem::take(room).split_first_chunk_mut() else {
            return false;
        };
        *place = binary::header(field);
        *room = rest;
        true
    }

    #[inline]
    fn read_header(field: &Field<'_>, bytes: &mut &[u8]) -> bool {
        let Some((found, rest)) = bytes.split_first_chunk() else {
            return false;
        };
        *bytes = rest;
        *found == binary::header(field)
    }

    #[inline]
    fn write_end(room: &mut [u8]) -> bool {
        let place = room.first_mut();
        place.map(|place| *place = binary::STOP).is_some()
    }

    #[inline]
    fn read_end(bytes: &[u8]) -> bool {
        bytes == [binary::STOP]
    }
}
