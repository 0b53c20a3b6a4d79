//! Which buffers are used again. Fresh memory is dear: the kernel clears each page when it is first touched,
//! which takes longer than to copy a message into it.

use bytes::BytesMut;

/// A buffer that has grown beyond this is let go once it is empty.
pub(crate) const KEPT: usize = 256 << 10;

/// Gets an empty buffer's memory back from the messages that were split off it. False where some of them are
/// still there, or it has grown too large: the buffer is then not worth to be kept.
pub(crate) fn reclaim(buffer: &mut BytesMut) -> bool {
    buffer.is_empty() && buffer.try_reclaim(1) && buffer.capacity() <= KEPT
}

/// Empties a buffer of which everything has been sent.
pub(crate) fn sent(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEPT {
        *buffer = Vec::new();
    }
}
