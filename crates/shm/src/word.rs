//! A number in shared memory.

use crate::atomic::{AtomicU32, Ordering, fence};

/// A number with one writing process.
#[repr(transparent)]
#[derive(Debug, Default)]
pub(crate) struct Word(AtomicU32);

impl Word {
    /// Reads, and sees everything that was written before this value was published. A relaxed load
    /// and a fence, as an acquiring load of memory that is mapped read-only is not defined.
    pub(crate) fn observe(&self) -> u32 {
        let value = self.0.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// Writes; whoever observes the value sees everything that was written before.
    pub(crate) fn publish(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }

    /// Publishes the next value.
    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    /// Swaps the value of a word that only this process knows.
    pub(crate) fn swap(&self, value: u32) -> u32 {
        self.0.swap(value, Ordering::Relaxed)
    }

    /// For the kernel.
    #[cfg(not(loom))]
    pub(crate) fn atomic(&self) -> &AtomicU32 {
        &self.0
    }
}
