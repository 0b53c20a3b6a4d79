//! The writers' half of the depth limit.

use crate::limits::{DEPTH, Stack};
use crate::{EncodeError, Limits};

/// How deep a writer is, and how deep it may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    left: usize,
    limits: Limits,
    stack: Stack,
}

impl Depth {
    pub(crate) fn new(limits: Limits) -> Self {
        Depth {
            left: limits.depth,
            limits,
            stack: Stack::new(limits),
        }
    }

    /// True if most of the depth that peers allow is used, so that further nodes belong behind the
    /// value.
    pub(crate) fn is_deep(&self) -> bool {
        let most = self.limits.depth.min(DEPTH);
        self.limits.depth - self.left >= most - most.div_ceil(4)
    }

    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(), EncodeError> {
        match self.left.checked_sub(1) {
            Some(left) if !self.stack.ends(left) => {
                self.left = left;
                Ok(())
            }
            _ => Err(self.too_deep()),
        }
    }

    #[cold]
    fn too_deep(&self) -> EncodeError {
        let limit = self.limits.depth - self.left;
        EncodeError::TooDeep { limit }
    }

    /// The limits for a message inside this one.
    pub(crate) fn left(&self) -> Limits {
        Limits {
            depth: self.left,
            ..self.limits
        }
    }

    /// One level up. A caller that leaves more often than it enters gains no depth.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.left = self.limits.depth.min(self.left + 1);
    }
}
