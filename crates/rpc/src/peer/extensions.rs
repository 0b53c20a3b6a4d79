//! Values of any type, found by their type.

use std::any::Any;
use std::fmt;

/// Few values, so that looking at each is the quickest search. Empty it takes no memory.
#[derive(Default)]
pub(crate) struct Extensions(Vec<Box<dyn Any + Send + Sync>>);

impl Extensions {
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.iter().find_map(|value| value.downcast_ref())
    }

    /// Adds a value, in place of an earlier one of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.retain(|known| !known.is::<T>());
        self.0.push(Box::new(value));
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}
