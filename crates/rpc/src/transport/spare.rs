//! Receives into memory that nobody has cleared: to clear the place of a large message costs as
//! much as to copy it.
#![allow(unsafe_code)]

use bytes::BytesMut;
use std::mem::MaybeUninit;

/// Receives behind what `input` holds, at most `most` bytes; 0 at the end. `receive` gives the part
/// that it has filled, which is the beginning.
pub(super) fn receive<E>(
    input: &mut BytesMut,
    most: usize,
    receive: impl for<'a> FnOnce(&'a mut [MaybeUninit<u8>]) -> Result<&'a mut [u8], E>,
) -> Result<usize, E> {
    input.reserve(most);
    let spare = input.spare_capacity_mut();
    let room = most.min(spare.len());
    let start = spare.as_ptr().cast::<u8>();
    let filled = receive(&mut spare[..room])?;
    let received = filled.len();
    assert!(received <= room && (received == 0 || filled.as_ptr() == start));
    // SAFETY: the first `received` bytes of the spare capacity have a value: they are the slice
    // that was given.
    unsafe { input.set_len(input.len() + received) };
    Ok(received)
}
