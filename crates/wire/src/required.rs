use crate::description::{Named, Type};
use crate::{DecodeError, EncodeError, Kind, Reader, Value, Writer};
use std::ops::{Deref, DerefMut};

/// The value of a required field in a struct that such a field leads back to. No value of that
/// struct is whole by itself, so a fresh one has `None` here, which cannot be written.
///
/// ```
/// use dovetail_wire::{Required, message, protobuf};
///
/// #[derive(Debug, Default, PartialEq)]
/// struct Loop {
///     next: Required<Loop>,
/// }
///
/// message!(Loop { 1 next: Required<Loop> [required], });
///
/// let short = Loop { next: Loop::default().into() };
/// assert!(protobuf::to_bytes(&short).is_err());
/// assert_eq!(short.next.as_deref(), Some(&Loop::default()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Required<T>(pub Option<Box<T>>);

impl<T> Default for Required<T> {
    fn default() -> Self {
        Required(None)
    }
}

impl<T> From<T> for Required<T> {
    fn from(value: T) -> Self {
        Required(Some(Box::new(value)))
    }
}

impl<T> Deref for Required<T> {
    type Target = Option<Box<T>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for Required<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T: Value> Value for Required<T> {
    const KIND: Kind = T::KIND;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match &self.0 {
            Some(value) => value.write(writer),
            None => Err(EncodeError::Unsupported {
                what: "a struct without one of its required fields",
            }),
        }
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        self.0.get_or_insert_default().read(reader)
    }

    fn describe() -> Type<Named> {
        T::describe()
    }
}
