//! How much of a limit the connections of one address take.

use crate::peer::proxies::Source;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many of something each address has.
#[derive(Default)]
pub(super) struct Sources(Mutex<HashMap<Source, usize>>);

impl Sources {
    /// Counts one more. True for an address that has half of the limit already, where at most a
    /// quarter is left for others.
    pub(super) fn add(&self, source: Source, limit: usize, left: usize) -> bool {
        let mut sources = self.lock();
        let held = sources.entry(source).or_default();
        let greedy = *held >= limit.div_ceil(2) && left <= limit / 4;
        *held += 1;
        greedy
    }

    pub(super) fn remove(&self, source: Source) {
        if let Entry::Occupied(mut held) = self.lock().entry(source) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Source, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
