use crate::grow::{Grow, block};
use crate::{DecodeError, DecodeErrorKind};

/// The depth that is allowed by default.
pub(crate) const DEPTH: usize = 64;

/// Limits on the cost of decoding one message. The message's own size is limited where it is
/// framed, not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Structs and containers inside one another. Default 64. Decoding and encoding take stack in
    /// proportion.
    pub depth: usize,
    /// Bytes of the thread's stack that values inside one another may take, with which a raised
    /// `depth` does not end the process. Default 512 KiB, a quarter of what threads of Rust have:
    /// raise both where a thread has more.
    pub stack: usize,
    /// Bytes that the allocator gives for the decoded value at any time. Default 128 MiB.
    pub allocation: usize,
    /// Bytes of one string or binary. Default: no limit but that of the message.
    pub string: usize,
    /// Elements of one list, set or map. Default: no limit but that of the message.
    pub elements: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            depth: DEPTH,
            stack: 512 << 10,
            allocation: 128 << 20,
            string: usize::MAX,
            elements: usize::MAX,
        }
    }
}

/// The rest of [`Limits`] while one message is decoded.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    depth_left: usize,
    allocation_left: usize,
    stack: Stack,
}

/// The stack's address when a walk through a value began, and the bytes of stack that the walk may
/// use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    begin: usize,
    limit: usize,
}

/// The stack is looked at on every so many levels.
const STEP: usize = 16;

impl Stack {
    #[inline]
    pub(crate) fn new(limits: Limits) -> Self {
        Stack {
            begin: here(),
            limit: limits.stack,
        }
    }

    /// True on a level on which there is no stack left for more of them.
    #[inline]
    pub(crate) fn ends(&self, level: usize) -> bool {
        level.is_multiple_of(STEP) && self.used() > self.limit
    }

    #[cold]
    fn used(&self) -> usize {
        here().abs_diff(self.begin)
    }
}

/// About where the top of the stack is.
#[inline]
fn here() -> usize {
    let local = 0_u8;
    std::hint::black_box(&raw const local).addr()
}

impl Budget {
    /// Everything is left.
    pub fn new(limits: Limits) -> Self {
        Budget {
            limits,
            depth_left: limits.depth,
            allocation_left: limits.allocation,
            stack: Stack::new(limits),
        }
    }

    /// One level deeper. Every `enter` that succeeds is followed by one [`leave`](Self::leave),
    /// unless decoding fails.
    #[inline]
    pub fn enter(&mut self) -> Result<(), DecodeError> {
        match self.depth_left.checked_sub(1) {
            Some(left) if !self.stack.ends(left) => {
                self.depth_left = left;
                Ok(())
            }
            _ => Err(self.too_deep()),
        }
    }

    #[cold]
    fn too_deep(&self) -> DecodeError {
        let limit = match self.depth_left {
            0 => self.limits.depth,
            _ => self.depth(),
        };
        DecodeErrorKind::TooDeep { limit }.into()
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
            stack: self.stack.limit.saturating_sub(self.stack.used()),
            ..self.limits
        }
    }

    /// How deep the decoder is now.
    pub fn depth(&self) -> usize {
        self.limits.depth - self.depth_left
    }

    /// Takes `bytes` from what may still be allocated. Call it *before* allocating. For one block
    /// of memory, [`block`](Self::block) counts what the allocator adds.
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
        if count > self.limits.elements {
            return Err(self.too_many());
        }
        container.reserve_within(count, self)
    }

    /// Makes room for one more element.
    #[inline]
    pub fn room<C: Grow>(&mut self, container: &mut C) -> Result<(), DecodeError> {
        if container.count() >= self.limits.elements {
            return Err(self.too_many());
        }
        container.room_within(self)
    }

    #[cold]
    fn too_many(&self) -> DecodeError {
        let limit = self.limits.elements;
        DecodeErrorKind::TooManyElements { limit }.into()
    }

    /// Checks the length of a string or binary.
    #[inline]
    pub fn string(&self, length: usize) -> Result<(), DecodeError> {
        match length <= self.limits.string {
            true => Ok(()),
            false => Err(self.too_long(length)),
        }
    }

    #[cold]
    fn too_long(&self, length: usize) -> DecodeError {
        let limit = self.limits.string;
        DecodeErrorKind::StringTooLong { length, limit }.into()
    }

    /// Gives back what was taken for memory that has been freed.
    #[inline]
    pub(crate) fn release(&mut self, bytes: usize) {
        let left = self.allocation_left.saturating_add(bytes);
        self.allocation_left = left.min(self.limits.allocation);
    }
}
