//! References to objects: numbers that mean something to the two ends of one connection, and
//! nowhere else.

use crate::{Decode, DecodeError, Encode, EncodeError, Reader, Writer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Turns objects into numbers and back, for one message. The ends of a connection implement it:
/// only they know the types of objects.
pub trait ObjectNumbers: Send + Sync {
    /// Returns the number of an object on the wire.
    fn number(&self, object: &dyn Any) -> Result<u64, EncodeError>;

    /// The object for which a number stands.
    fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError>;

    /// Undoes the effects of the message so far: it failed, or is written again.
    fn undo(&self);
}

/// The numbers of a reader or writer; none, unless a [`WithObjects`] brings them.
#[derive(Clone, Default)]
pub struct Numbers(Option<Arc<dyn ObjectNumbers>>);

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Numbers" } else { "none" })
    }
}

impl Numbers {
    pub(crate) fn undo(&self) {
        if let Some(numbers) = &self.0 {
            numbers.undo();
        }
    }

    #[cold]
    pub(crate) fn number(&self, object: &dyn Any) -> Result<u64, EncodeError> {
        let numbers = self.0.as_ref().ok_or(OUT_OF_PLACE)?;
        numbers.number(object)
    }

    #[cold]
    pub(crate) fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError> {
        let numbers = self.0.as_ref().ok_or_else(out_of_place)?;
        numbers.object(number)
    }
}

/// Objects stand in calls that have an answer and no streams.
const OUT_OF_PLACE: EncodeError = EncodeError::Unsupported {
    what: "references to objects in the items of a stream, in one-way calls and outside of calls",
};

fn out_of_place() -> DecodeError {
    DecodeError::malformed("a reference to an object where there can be none")
}

/// A body that may refer to objects, with what their numbers mean.
pub struct WithObjects<B> {
    body: B,
    numbers: Numbers,
}

impl<B> WithObjects<B> {
    /// `None` for a body without any.
    pub fn new(body: B, numbers: Option<Arc<dyn ObjectNumbers>>) -> Self {
        let numbers = Numbers(numbers);
        WithObjects { body, numbers }
    }
}

impl<B: Encode> Encode for WithObjects<&B> {
    #[inline]
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        if self.numbers.0.is_some()
            && let Some(place) = writer.numbers()
        {
            // It may be the second attempt.
            self.numbers.undo();
            place.clone_from(&self.numbers);
        }
        self.body
            .encode(writer)
            .inspect_err(|_| self.numbers.undo())
    }
}

impl<B: Decode> Decode for WithObjects<&mut B> {
    #[inline]
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if self.numbers.0.is_some()
            && let Some(place) = reader.numbers()
        {
            place.clone_from(&self.numbers);
        }
        self.body
            .decode(reader)
            .inspect_err(|_| self.numbers.undo())
    }
}
