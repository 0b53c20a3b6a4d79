use crate::grow::{Grow, block};
use crate::{DecodeError, DecodeErrorKind};

/// What decoding one message may cost. The message's own size is limited where it is framed, not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Structs and containers inside one another. Default 64.
    pub depth: usize,
    /// Bytes that the allocator gives for the decoded value at any time. Default 128 MiB.
    pub allocation: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            depth: 64,
            allocation: 128 << 20,
        }
    }
}

/// What is left of [`Limits`] while one message is decoded.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    depth_left: usize,
    allocation_left: usize,
}

impl Budget {
    /// Everything is left.
    pub fn new(limits: Limits) -> Self {
        Budget {
            limits,
            depth_left: limits.depth,
            allocation_left: limits.allocation,
        }
    }

    /// One level deeper. Every `enter` that succeeds is followed by one [`leave`](Self::leave),
    /// unless decoding fails.
    #[inline]
    pub fn enter(&mut self) -> Result<(), DecodeError> {
        match self.depth_left.checked_sub(1) {
            Some(left) => self.depth_left = left,
            None => {
                return Err(DecodeErrorKind::TooDeep {
                    limit: self.limits.depth,
                }
                .into());
            }
        }
        Ok(())
    }

    /// One level up again.
    #[inline]
    pub fn leave(&mut self) {
        self.depth_left += 1;
    }

    /// The limits for a message inside this one.
    pub fn left(&self) -> Limits {
        Limits {
            depth: self.depth_left,
            allocation: self.allocation_left,
        }
    }

    /// How deep the decoder is now.
    pub fn depth(&self) -> usize {
        self.limits.depth - self.depth_left
    }

    /// Takes `bytes` from what may still be allocated. Call it *before* allocating. For one block of memory,
    /// [`block`](Self::block) counts what the allocator adds.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> Result<(), DecodeError> {
        match self.allocation_left.checked_sub(bytes) {
            Some(left) => self.allocation_left = left,
            None => {
                return Err(DecodeErrorKind::AllocationLimit {
                    limit: self.limits.allocation,
                }
                .into());
            }
        }
        Ok(())
    }

    /// Takes what the allocator gives for a block of so many bytes, which is more than they are.
    #[inline]
    pub fn block(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.allocate(block(bytes))
    }

    /// Makes room for `count` more elements, of which the input has said that they follow.
    #[inline]
    pub fn reserve<C: Grow>(&mut self, container: &mut C, count: usize) -> Result<(), DecodeError> {
        container.reserve_within(count, self)
    }

    /// Makes room for one more element.
    #[inline]
    pub fn room<C: Grow>(&mut self, container: &mut C) -> Result<(), DecodeError> {
        container.room_within(self)
    }

    /// Gives back what was taken for memory that has been freed.
    #[inline]
    pub(crate) fn release(&mut self, bytes: usize) {
        let left = self.allocation_left.saturating_add(bytes);
        self.allocation_left = left.min(self.limits.allocation);
    }
}
