//! Receives into memory that nobody has cleared: to clear the place of a large message costs as much as to copy it.
#![allow(unsafe_code)]

use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::os::fd::AsFd;

/// Receives behind what `input` holds, at most `most` bytes; 0 at the end.
pub(super) fn recv(
    fd: impl AsFd,
    input: &mut BytesMut,
    most: usize,
    flags: RecvFlags,
) -> Result<usize, Errno> {
    input.reserve(most);
    let spare = input.spare_capacity_mut();
    let room = most.min(spare.len());
    let ((filled, _), _) = rustix::net::recv(fd, &mut spare[..room], flags)?;
    let received = filled.len();
    // SAFETY: the first `received` bytes of the spare capacity have just been filled.
    unsafe { input.set_len(input.len() + received) };
    Ok(received)
}
