//! A chunk: bytes that the peer has written beside its ring.

use super::End;
use crate::place::Place;
use std::sync::Arc;

/// A large payload, where the peer has written it. The peer gets the memory back when this is
/// dropped.
///
/// It does not dereference to a slice: a peer that breaks the rules can go on writing, and Rust may
/// assume of what stands behind a reference that it does not change. So bytes are copied out; what
/// was copied is checked, and used, and cannot change any more.
#[derive(Debug)]
pub struct Chunk {
    end: Arc<End>,
    index: u32,
    length: u32,
}

impl Chunk {
    pub(super) fn new(end: Arc<End>, index: u32, length: u32) -> Self {
        Chunk { end, index, length }
    }

    /// How many bytes it has; at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Copies the bytes from `at` on, as far as the buffer goes, and says how many these were.
    pub fn copy_to(&self, at: usize, buffer: &mut [u8]) -> usize {
        self.read(at, buffer.len(), &mut Place::from(buffer))
    }

    /// All of it, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.copy_to(0, &mut bytes);
        bytes
    }

    /// Appends the bytes from `at` on, at most so many, and says how many these were.
    pub(super) fn read(&self, at: usize, count: usize, into: &mut Place<'_>) -> usize {
        let count = count.min(self.len().saturating_sub(at));
        self.end.peer.read_chunk(self.index, at, count, into)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let returned = &self.end.own.words().returned;
        if let Some(count) = returned.get(self.index as usize) {
            count.increment();
        }
    }
}
