//! The first page of a segment: numbers that its owner writes and its peer only reads.

use crate::word::Word;
use std::ops::Deref;

/// The most chunks of a segment: so many counters fit into the page.
pub(crate) const MAX_CHUNKS: usize = 768;

/// Two cache lines of its own: processors fetch them in pairs.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub(crate) struct Padded<T>(T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The words that are written once, before the segment is passed on.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) magic: [Word; 2],
    pub(crate) version: Word,
    pub(crate) ring: Word,
    pub(crate) chunk: Word,
    pub(crate) chunks: Word,
}

/// One direction's progress, and whether more will come: `position` bytes, then `over` is not 0.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) position: Word,
    pub(crate) over: Word,
}

/// The page. docs/spec/shared-memory.md describes it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) header: Padded<Header>,
    /// The owner's position as the writer of its ring.
    pub(crate) tail: Padded<Progress>,
    /// The owner's position as the reader of the peer's ring.
    pub(crate) head: Padded<Progress>,
    /// How its receiver and its sender sleep.
    pub(crate) receiver_sleep: Padded<Word>,
    pub(crate) sender_sleep: Padded<Word>,
    /// The words on which the peer's receiver and the peer's sender sleep.
    pub(crate) receiver_bell: Padded<Word>,
    pub(crate) sender_bell: Padded<Word>,
    /// How often each chunk of the peer's was returned.
    pub(crate) returned: [Word; MAX_CHUNKS],
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Words, tail) == 128);
    assert!(offset_of!(Words, head) == 256);
    assert!(offset_of!(Words, receiver_sleep) == 384);
    assert!(offset_of!(Words, sender_sleep) == 512);
    assert!(offset_of!(Words, receiver_bell) == 640);
    assert!(offset_of!(Words, sender_bell) == 768);
    assert!(offset_of!(Words, returned) == 896);
    assert!(size_of::<Words>() <= 4096);
};
