//! The wakers to run after the lock is released.

use std::task::Waker;

/// Wakes callers when it is dropped: where they find the table unlocked.
#[derive(Default)]
pub(crate) struct WakeList {
    /// Mostly there is one at most.
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl WakeList {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }
}

impl Drop for WakeList {
    fn drop(&mut self) {
        if let Some(first) = self.first.take() {
            first.wake();
        }
        for other in std::mem::take(&mut self.others) {
            other.wake();
        }
    }
}
