//! Memory that values take from the allocator, and containers that grow only as far as a budget
//! pays for it.

use crate::{Budget, DecodeError};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

/// Bytes that the allocator uses for a block of `bytes`: a word of its own, in steps of 16, and no
/// less than 32.
#[inline]
pub const fn block(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..=24 => 32,
        _ => bytes.saturating_add(8 + 15) & !15,
    }
}

/// A container whose memory a [`Budget`] pays for, see [`Budget::reserve`] and [`Budget::room`].
pub trait Grow {
    /// Returns how many elements it has.
    fn count(&self) -> usize;

    /// Makes room for `count` more elements, if the container takes memory before they come.
    fn reserve_within(&mut self, count: usize, budget: &mut Budget) -> Result<(), DecodeError>;

    /// Makes room for one more element, whose number nobody knew before.
    fn room_within(&mut self, budget: &mut Budget) -> Result<(), DecodeError>;
}

impl<T> Grow for Vec<T> {
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn reserve_within(&mut self, count: usize, budget: &mut Budget) -> Result<(), DecodeError> {
        match self.capacity() - self.len() < count {
            true => grow(self, self.len().saturating_add(count), budget),
            false => Ok(()),
        }
    }

    #[inline]
    fn room_within(&mut self, budget: &mut Budget) -> Result<(), DecodeError> {
        match self.len() == self.capacity() {
            true => grow(self, self.len() + few::<T>(), budget),
            false => Ok(()),
        }
    }
}

/// For how many elements a list without any makes room.
const fn few<T>() -> usize {
    match size_of::<T>() {
        0..=1024 => 4,
        _ => 1,
    }
}

/// Makes room for `len` elements, and for twice as many as before: a list that gets them in many
/// steps is copied a few times only. While it is copied there are two of it.
#[cold]
#[inline(never)]
fn grow<T>(items: &mut Vec<T>, len: usize, budget: &mut Budget) -> Result<(), DecodeError> {
    let memory = |elements: usize| block(elements.saturating_mul(size_of::<T>()));
    let before = items.capacity();
    let after = len.max(before.saturating_mul(2));
    budget.allocate(memory(after))?;
    items.reserve_exact(after - items.len());
    budget.release(memory(before));
    Ok(())
}

/// Bytes that a tree with this many entries grows by with the next one.
///
/// A node has room for eleven entries. It is split when a twelfth comes; of the two each has five
/// at least, and one stands between them. So there is a node for every six entries, and a branch
/// for every five nodes or more.
#[inline]
const fn tree_growth(len: usize, entry: usize) -> usize {
    match len {
        0 => leaf(entry),
        11 => leaf(entry) + branch(entry) + branch(entry) / 5,
        12.. if len % 6 == 5 => leaf(entry) + branch(entry) / 5,
        _ => 0,
    }
}

const fn leaf(entry: usize) -> usize {
    block((11_usize.saturating_mul(entry)).saturating_add(24))
}

const fn branch(entry: usize) -> usize {
    leaf(entry).saturating_add(12 * size_of::<usize>())
}

/// Bytes of a hash table with room for this many entries.
const fn table(capacity: usize, entry: usize) -> usize {
    // One place in eight stays empty. Small entries have more places than they need.
    let places = match capacity {
        0 => return 0,
        _ if entry <= 1 && capacity < 15 => 16,
        _ if entry <= 3 && capacity < 8 => 8,
        1..4 => 4,
        4..8 => 8,
        8..15 => 16,
        _ => (capacity.saturating_mul(8) / 7).next_power_of_two(),
    };
    // A byte for each place, and some that are compared at once.
    let control = places.saturating_add(16 + 15);
    block(places.saturating_mul(entry).saturating_add(control))
}

macro_rules! grow {
    ($tree:ident, $table:ident, $($value:ident)?) => {
        impl<K: Ord, $($value)?> Grow for $tree<K, $($value)?> {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }

            #[inline]
            fn reserve_within(&mut self, _: usize, _: &mut Budget) -> Result<(), DecodeError> {
                Ok(())
            }

            #[inline]
            fn room_within(&mut self, budget: &mut Budget) -> Result<(), DecodeError> {
                let entry = size_of::<K>() $(+ size_of::<$value>())?;
                budget.allocate(tree_growth(self.len(), entry))
            }
        }

        impl<K: Eq + Hash, $($value,)? S: BuildHasher> Grow for $table<K, $($value,)? S> {
            #[inline]
            fn count(&self) -> usize {
                self.len()
            }

            fn reserve_within(
                &mut self,
                count: usize,
                budget: &mut Budget,
            ) -> Result<(), DecodeError> {
                let before = self.capacity();
                let after = self.len().saturating_add(count);
                if after <= before {
                    return Ok(());
                }
                let entry = size_of::<(K, $($value)?)>();
                budget.allocate(table(after.max(before + 1), entry))?;
                self.reserve(count);
                budget.release(table(before, entry));
                Ok(())
            }

            #[inline]
            fn room_within(&mut self, budget: &mut Budget) -> Result<(), DecodeError> {
                self.reserve_within(1, budget)
            }
        }
    };
}

grow!(BTreeMap, HashMap, V);
grow!(BTreeSet, HashSet,);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn blocks() {
        let rows = [
            (0, 0),
            (1, 32),
            (24, 32),
            (25, 48),
            (40, 48),
            (41, 64),
            (4096, 4112),
        ];
        for (bytes, expected) in rows {
            assert_eq!(block(bytes), expected, "{bytes}");
        }
        assert!(block(usize::MAX) >= usize::MAX - 15);
    }

    /// A list that grows is charged for both of its blocks, and then for the new one only.
    #[test]
    fn lists() {
        let mut budget = Budget::new(Limits {
            allocation: 4096,
            ..Limits::default()
        });
        let mut items = Vec::<u64>::new();
        for (number, left) in [(0, 4096 - 48), (4, 4096 - 80), (8, 4096 - 144)] {
            items.resize(number, 0);
            budget.room(&mut items).unwrap();
            assert_eq!(budget.left().allocation, left, "{number}");
        }
        assert!(budget.reserve(&mut items, 500).is_err());
        assert_eq!(items.capacity(), 16);
    }
}
