//! Which buffers are used again. Fresh memory is dear: the kernel clears each page when it is first touched,
//! which takes longer than to copy a message into it.

use bytes::BytesMut;
use dovetail_wire::Blobs;
#[cfg(feature = "async")]
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
        self.blobs.pieces(&self.bytes).map(IoSlice::new).collect()
    }
}

/// A buffer that has grown beyond this is let go once it is empty.
pub(crate) const KEPT: usize = 256 << 10;

/// Gets an empty buffer's memory back from the messages that were split off it. False where some of them are
/// still there, or it has grown too large: the buffer is then not worth to be kept.
pub(crate) fn reclaim(buffer: &mut BytesMut) -> bool {
    buffer.is_empty() && buffer.try_reclaim(1) && buffer.capacity() <= KEPT
}

/// Empties a buffer of which everything has been sent. One that has grown too large is taken out.
pub(crate) fn sent(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    buffer.clear();
    (buffer.capacity() > KEPT).then(|| std::mem::take(buffer))
}

/// As many are kept as are likely to be needed at the same moment.
#[cfg(feature = "async")]
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
