//! Which buffers are used again. Fresh memory is expensive: the kernel clears each page when it is
//! first touched, which takes longer than to copy a message into it.

use bytes::{Bytes, BytesMut};
use dovetail_wire::Blobs;
use std::cell::RefCell;
use std::io::IoSlice;

/// Bytes to be sent, with blobs that are sent from where they are.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) blobs: Blobs,
}

impl From<Vec<u8>> for Gathered {
    fn from(bytes: Vec<u8>) -> Self {
        let blobs = Blobs::default();
        Gathered { bytes, blobs }
    }
}

impl Gathered {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.blobs.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.blobs.len()
    }

    /// Appends another one, and gives a buffer back that is empty.
    pub(crate) fn append(&mut self, other: Gathered) -> Vec<u8> {
        let Gathered {
            mut bytes,
            mut blobs,
        } = other;
        self.blobs.append(self.bytes.len(), &mut blobs);
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, &mut bytes);
        } else {
            self.bytes.extend_from_slice(&bytes);
            bytes.clear();
        }
        bytes
    }

    /// All of it in one piece.
    pub(crate) fn joined(mut self) -> Vec<u8> {
        self.blobs.join(&mut self.bytes);
        self.bytes
    }

    /// All of it, in order.
    pub(crate) fn slices(&self) -> Vec<IoSlice<'_>> {
        self.pieces().map(IoSlice::new).collect()
    }

    /// Returns it as slices of bytes, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.blobs.pieces(&self.bytes)
    }
}

/// A buffer that has grown beyond this is let go once it is empty.
pub(crate) const KEPT: usize = 256 << 10;

/// Gets an empty buffer's memory back from the messages that were split off it. False where some of
/// them are still there, or it has grown too large: the buffer is then not worth to be kept.
pub(crate) fn reclaim(buffer: &mut BytesMut) -> bool {
    buffer.is_empty() && buffer.try_reclaim(1) && buffer.capacity() <= KEPT
}

/// Empties a buffer of which everything has been sent. One that has grown too large is taken out.
pub(crate) fn sent(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    buffer.clear();
    (buffer.capacity() > KEPT).then(|| std::mem::take(buffer))
}

/// As many are kept as are likely to be needed at the same moment.
pub(crate) const SPARES: usize = 8;

#[cfg(feature = "async")]
thread_local! {
    static INPUTS: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer for a connection that becomes busy, from one that is idle where there is one.
#[cfg(feature = "async")]
pub(crate) fn spare() -> BytesMut {
    INPUTS.with_borrow_mut(|inputs| inputs.pop().unwrap_or_default())
}

/// Keeps the buffer of a connection that is idle for the others of the same thread.
#[cfg(feature = "async")]
pub(crate) fn put_spare(mut input: BytesMut) {
    INPUTS.with_borrow_mut(|inputs| {
        if inputs.len() < SPARES && reclaim(&mut input) {
            inputs.push(input);
        }
    });
}

/// A shorter message is copied out of its draft, so that it does not keep memory many times its
/// size.
const SHORT: usize = 4 << 10;

thread_local! {
    static DRAFTS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A message that is being written, to memory that other messages of this thread have left.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) bytes: Vec<u8>,
}

impl Draft {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let bytes = DRAFTS.with_borrow_mut(|drafts| drafts.pop().unwrap_or_default());
        Draft { bytes }
    }

    /// The message. The memory of a long one is used again when it has been sent.
    pub(crate) fn finish(self) -> Bytes {
        match self.bytes.len() {
            ..SHORT => Bytes::copy_from_slice(&self.bytes),
            _ => Bytes::from_owner(self),
        }
    }
}

impl AsRef<[u8]> for Draft {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        // A thread that ends needs none.
        let _ = DRAFTS.try_with(|drafts| {
            let mut drafts = drafts.borrow_mut();
            if drafts.len() < SPARES && (1..=KEPT).contains(&bytes.capacity()) {
                drafts.push(bytes);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory that is left for the next draft of this thread after a message of so many bytes,
    /// before and after that has been sent.
    fn left_by(length: usize) -> (usize, usize) {
        DRAFTS.take();
        let mut draft = Draft::new();
        draft.bytes.resize(length, 7);
        let message = draft.finish();
        assert_eq!(message, vec![7; length]);
        let left = || DRAFTS.with_borrow(|drafts| drafts.iter().map(Vec::capacity).sum());
        let unsent = left();
        drop(message);
        (unsent, left())
    }

    #[test]
    fn drafts_come_back() {
        for (length, left) in [
            (0, (0, 0)),
            (100, (100, 100)),
            (SHORT, (0, SHORT)),
            (KEPT, (0, KEPT)),
            (KEPT + 1, (0, 0)),
        ] {
            assert_eq!(left_by(length), left, "{length}");
        }
    }
}
