//! Values that callers have done with, for answers to come.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many are kept; further ones are dropped.
const KEPT: usize = 64;

#[derive(Default)]
pub(crate) struct Recycled {
    /// Most channels never see a value again: their calls do not take the lock.
    used: AtomicBool,
    values: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Recycled {
    pub(crate) fn put(&self, value: impl Any + Send) {
        self.used.store(true, Ordering::Relaxed);
        let mut values = self.lock();
        if values.len() < KEPT {
            values.push(Box::new(value));
        }
    }

    /// A value of this type, with whatever it held before.
    pub(crate) fn take<T: Any>(&self) -> Option<T> {
        if !self.used.load(Ordering::Relaxed) {
            return None;
        }
        let mut values = self.lock();
        let index = values.iter().rposition(|value| value.is::<T>())?;
        let value = values.swap_remove(index);
        drop(values);
        value.downcast().ok().map(|value| *value)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<dyn Any + Send>>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recycled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recycled({})", self.lock().len())
    }
}
