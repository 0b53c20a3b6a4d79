//! The writers' half of the depth limit.

use crate::{EncodeError, Limits};

/// How deep a writer is, and how deep it may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    left: usize,
    limit: usize,
}

impl Depth {
    pub(crate) fn new(limits: Limits) -> Self {
        Depth {
            left: limits.depth,
            limit: limits.depth,
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(), EncodeError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(EncodeError::TooDeep { limit: self.limit }),
        }
    }

    /// The limits for a message inside this one.
    pub(crate) fn left(&self) -> Limits {
        Limits {
            depth: self.left,
            ..Limits::default()
        }
    }

    /// One level up. A caller that leaves more often than it enters gains no depth.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.left = self.limit.min(self.left + 1);
    }
}
