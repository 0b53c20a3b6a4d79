//! A quick hash, for keys that this end chooses: its calls, and the methods that it calls. A peer's
//! could be chosen to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are this end's own.
pub(super) type OwnMap<K, V> = HashMap<K, V, BuildHasherDefault<OwnHasher>>;

#[derive(Default)]
pub(super) struct OwnHasher(u64);

impl OwnHasher {
    fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for OwnHasher {
    /// Tables look at the lowest bits, which addresses have in common.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }
}
