//! Memory for received bytes. It need not have been cleared, which would cost as much as to copy
//! into it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Memory that is filled from its beginning.
pub(crate) struct Place<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    /// The number of bytes that have a value; those behind them may have none.
    filled: usize,
}

impl<'a> Place<'a> {
    /// Nothing of it is filled yet.
    pub(crate) fn new(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        Place { memory, filled: 0 }
    }

    /// How many bytes have been filled.
    #[cfg(not(loom))]
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// How many bytes there is room for.
    pub(crate) fn room(&self) -> usize {
        self.memory.len() - self.filled
    }

    /// Fills the next bytes; there has to be room for them.
    ///
    /// # Safety
    ///
    /// `write` gives so many bytes a value, from where it is told to.
    pub(crate) unsafe fn fill(&mut self, count: usize, write: impl FnOnce(*mut u8)) {
        let (_, rest) = self.memory.split_at_mut(self.filled);
        let (next, _) = rest.split_at_mut(count);
        write(next.as_mut_ptr().cast());
        self.filled += count;
    }

    /// The bytes that have been filled.
    #[cfg(not(loom))]
    pub(crate) fn into_filled(self) -> &'a mut [u8] {
        let (filled, _) = self.memory.split_at_mut(self.filled);
        // SAFETY: so many bytes have a value, as who calls `fill` vouches for.
        unsafe { &mut *(std::ptr::from_mut(filled) as *mut [u8]) }
    }
}

impl<'a> From<&'a mut [u8]> for Place<'a> {
    fn from(memory: &'a mut [u8]) -> Self {
        // SAFETY: bytes with a value are also such that need none. None loses its value: only
        // `fill` writes here.
        Place::new(unsafe { &mut *(std::ptr::from_mut(memory) as *mut [MaybeUninit<u8>]) })
    }
}

#[cfg(test)]
impl Place<'_> {
    /// Appends bytes that lie in ordinary memory.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        // SAFETY: it is the bytes' number that is copied, to where there is room.
        unsafe {
            self.fill(bytes.len(), |to| {
                to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
            })
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_is_all_there_is() {
        let mut memory = [MaybeUninit::uninit(); 5];
        let mut place = Place::new(&mut memory);
        place.put(b"ab");
        place.put(b"");
        place.put(b"c");
        assert_eq!((place.filled(), place.room()), (3, 2));
        assert_eq!(place.into_filled(), b"abc");
    }
}
