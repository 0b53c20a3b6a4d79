//! Values that take the same bytes each time: written and read as blocks of memory.

use crate::{DecodeError, EncodeError, FieldValue, Value};

/// Bytes that a struct of such fields takes; `None` where one of them is not plain, or there are none.
#[must_use]
pub const fn plain_size(fields: &[Option<usize>]) -> Option<usize> {
    let (mut size, mut index) = (0, 0);
    while index < fields.len() {
        match fields[index] {
            Some(field) => size += field,
            None => return None,
        }
        index += 1;
    }
    match fields {
        [] => None,
        _ => Some(size),
    }
}

/// Writes a field to the front of the room, which then begins behind it.
#[inline]
#[must_use]
pub fn write_plain_field<F: FieldValue>(field: &F, room: &mut &mut [u8]) -> bool {
    let size = F::PLAIN.unwrap_or(0);
    match std::mem::take(room).split_at_mut_checked(size) {
        Some((own, rest)) => {
            *room = rest;
            field.write_plain(own)
        }
        None => false,
    }
}

/// Reads a field from the front of the bytes, which then begin behind it.
#[inline]
#[must_use]
pub fn read_plain_field<F: FieldValue>(field: &mut F, bytes: &mut &[u8]) -> bool {
    let size = F::PLAIN.unwrap_or(0);
    match bytes.split_at_checked(size) {
        Some((own, rest)) => {
            *bytes = rest;
            field.read_plain(own)
        }
        None => false,
    }
}

/// Writes elements of `size` bytes each. Looks at what went wrong only at the end, for loops without
/// branches.
#[inline]
pub(crate) fn write<T: Value>(
    items: &[T],
    size: usize,
    room: &mut [u8],
) -> Result<(), EncodeError> {
    let places = room.chunks_exact_mut(size);
    let all = items
        .iter()
        .zip(places)
        .fold(true, |all, (item, place)| all & item.write_plain(place));
    match all {
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
    let mut places = bytes.chunks_exact(size);
    items.truncate(places.len());
    for (item, place) in items.iter_mut().zip(&mut places) {
        all &= item.read_plain(place);
    }
    items.extend(places.map(|place| {
        let mut item = T::default();
        all &= item.read_plain(place);
        item
    }));
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
