//! The free places in words that have been given out.

/// How many sizes a place can have: 1, 2, 4 … 64 bits. A size is given by its binary logarithm.
const SIZES: u32 = 6;

/// At most one free place of each size but the whole word; 0 stands for none, since the first place
/// of a word is never left free.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holes([u32; SIZES as usize]);

impl Holes {
    fn at(&mut self, size: u32) -> Option<&mut u32> {
        self.0.get_mut(size as usize)
    }

    /// The smallest hole that has at least this size.
    pub(super) fn smallest(&self, size: u32) -> Option<u32> {
        (size..SIZES).find(|size| self.0.get(*size as usize) != Some(&0))
    }

    /// Takes a place out of the smallest hole that has room; the rest of it become smaller ones.
    pub(super) fn take(&mut self, size: u32) -> Option<u32> {
        let from = self.smallest(size)?;
        let mut offset = std::mem::take(self.at(from)?);
        for half in (size..from).rev() {
            offset *= 2;
            *self.at(half)? = offset + 1;
        }
        Some(offset)
    }

    /// Adds the holes from this place up to the end of a space of size `end`. The offset is odd.
    pub(super) fn add(&mut self, size: u32, offset: u32, end: u32) {
        let mut offset = offset;
        for size in size..end {
            if let Some(hole) = self.at(size) {
                *hole = offset;
            }
            offset = offset.div_ceil(2);
        }
    }

    /// Makes a place larger by the holes behind it, `factor` times twice as large. False, and
    /// nothing has changed, where there are none.
    pub(super) fn expand(&mut self, size: u32, offset: u32, factor: u32) -> bool {
        let behind = |step: u32| {
            let hole = self.0.get((size + step) as usize).copied();
            hole == (offset >> step).checked_add(1)
        };
        let all = (0..factor).all(behind);
        if all {
            for step in 0..factor {
                self.at(size + step).into_iter().for_each(|hole| *hole = 0);
            }
        }
        all
    }
}
