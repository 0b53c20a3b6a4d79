use super::{Definition, Notes};
use crate::Message;
use std::any::TypeId;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A struct, union or enum of Rust: what it is known by, and how to ask what it is. Asking later is
/// what lets types contain themselves.
#[derive(Clone, Copy)]
pub struct Named {
    id: TypeId,
    define: fn() -> Definition<'static, Named>,
    notes: fn() -> Notes,
}

impl Named {
    /// The type `T`.
    pub fn new<T: 'static>(define: fn() -> Definition<'static, Named>) -> Self {
        Named {
            id: TypeId::of::<T>(),
            define,
            notes: Notes::default,
        }
    }

    /// Adds remarks of the type about itself.
    #[must_use]
    pub fn noted(mut self, notes: fn() -> Notes) -> Self {
        self.notes = notes;
        self
    }

    /// A struct, union or exception.
    pub fn message<M: Message + 'static>() -> Self {
        Self::new::<M>(M::define).noted(M::notes)
    }

    /// Returns the definition.
    pub fn define(self) -> Definition<'static, Named> {
        (self.define)()
    }

    /// Returns the remarks of the type about itself.
    pub fn notes(self) -> Notes {
        (self.notes)()
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.id, f)
    }
}
