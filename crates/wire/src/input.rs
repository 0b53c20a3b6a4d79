//! The input of the decoders: a cursor that never reads past its end.

use crate::text::text;
use crate::{Budget, DecodeError, DecodeErrorKind, block};
use bytes::Bytes;
use std::borrow::Cow;

/// From this length on, bytes share the input instead of being copied. A smaller blob that outlives
/// its message would pin a receive buffer many times its size.
pub(crate) const SHARE_FROM: usize = 4096;

/// Memory of `Bytes` made from a vector with spare capacity, beside the vector's.
pub(crate) const SHARED: usize = block(24);

/// Unread input. Every access is checked; nothing is consumed by an access that fails.
#[derive(Clone)]
pub(crate) struct Input<'de> {
    rest: &'de [u8],
    len: usize,
    owner: Option<&'de Bytes>,
}

impl<'de> Input<'de> {
    pub(crate) fn new(input: &'de [u8]) -> Self {
        Input {
            rest: input,
            len: input.len(),
            owner: None,
        }
    }

    pub(crate) fn shared(input: &'de Bytes) -> Self {
        Input {
            owner: Some(input),
            ..Self::new(input)
        }
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'de [u8] {
        self.rest
    }

    /// Goes on with `rest`, a part of the input.
    #[inline]
    pub(crate) fn set_rest(&mut self, rest: &'de [u8]) {
        self.rest = rest;
    }

    /// Goes on so many bytes further.
    #[inline]
    pub(crate) fn pass(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    /// How much has been read; only where `rest` always reaches to the end of the input.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        match self.rest.split_first() {
            Some((byte, rest)) => {
                self.rest = rest;
                Ok(*byte)
            }
            None => Err(truncated()),
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(*array)
            }
            None => Err(truncated()),
        }
    }

    /// The next `len` bytes, where `len` was sent.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'de [u8], DecodeError> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(beyond_input(len as u64, self.rest.len())),
        }
    }

    /// The next `len` bytes as text; the budget pays for the copy that the caller is going to make.
    #[inline]
    pub(crate) fn text(
        &mut self,
        len: usize,
        budget: &mut Budget,
    ) -> Result<Cow<'de, str>, DecodeError> {
        budget.string(len)?;
        let bytes = self.take(len)?;
        budget.block(len)?;
        match text(bytes) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => Err(DecodeErrorKind::InvalidUtf8.into()),
        }
    }

    /// The next `len` bytes: shared with the input where that is possible and pays, copied
    /// otherwise.
    #[inline]
    pub(crate) fn blob(&mut self, len: usize, budget: &mut Budget) -> Result<Bytes, DecodeError> {
        budget.string(len)?;
        let bytes = self.take(len)?;
        if let Some(owner) = self.owner
            && len >= SHARE_FROM
        {
            return Ok(owner.slice_ref(bytes));
        }
        budget.block(len)?;
        Ok(Bytes::copy_from_slice(bytes))
    }

    /// Checks a count of elements that take at least `wire_size` bytes of input, before anything is
    /// allocated for them.
    #[inline]
    pub(crate) fn count(&self, count: usize, wire_size: usize) -> Result<(), DecodeError> {
        match count.checked_mul(wire_size) {
            Some(bytes) if bytes <= self.rest.len() => Ok(()),
            _ => Err(beyond_input(count as u64, self.rest.len())),
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn truncated() -> DecodeError {
    DecodeErrorKind::Truncated.into()
}

#[cold]
#[inline(never)]
pub(crate) fn beyond_input(length: u64, left: usize) -> DecodeError {
    DecodeErrorKind::LengthBeyondInput { length, left }.into()
}

#[cold]
#[inline(never)]
pub(crate) fn negative(length: i64) -> DecodeError {
    DecodeErrorKind::NegativeLength { length }.into()
}
