//! The oneofs of a message: fields of which at most one has a value, kept as one enum.

use crate::description::{Named, Type};
use crate::field_value::leaves_out;
use crate::{DecodeError, EncodeError, Field, FieldValue, Kind, Reader, Row, Value, Writer};
use std::fmt;
use std::marker::PhantomData;

/// An enum of a oneof, as its field with this id sees it. [`oneof!`](crate::oneof) implements it
/// for each field.
pub trait Oneof<const ID: i32>: Sized {
    /// The name of the oneof in the contract.
    const NAME: &'static str;

    /// The type of the field.
    type Value: Value;

    /// Makes the variant of the field.
    fn new(value: Self::Value) -> Self;

    /// Returns the value of the field; `None` if another one has a value.
    fn get(&self) -> Option<&Self::Value>;

    /// Returns the value of the field to write to; `None` if another one has a value.
    fn get_mut(&mut self) -> Option<&mut Self::Value>;
}

/// The row of a field that is in a oneof, in the table of a [`message!`](crate::message): all
/// fields of the oneof are in one `Option<E>`, where `E` is the [`Oneof`].
pub struct Case<E, const ID: i32>(PhantomData<E>);

impl<E, const ID: i32> fmt::Debug for Case<E, ID> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({ID})")
    }
}

fn value<E: Oneof<ID>, const ID: i32>(place: &Option<E>) -> Option<&E::Value> {
    place.as_ref().and_then(E::get)
}

impl<E: Oneof<ID>, const ID: i32> Row for Case<E, ID> {
    type Place = Option<E>;

    const KIND: Kind = <E::Value as Value>::KIND;
    const ELEMENT: Option<Kind> = <E::Value as Value>::ELEMENT;
    const NULLABLE: bool = <E::Value as Value>::NULLABLE;
    const OPTIONAL: bool = true;
    const ONEOF: Option<&'static str> = Some(E::NAME);

    fn describe() -> Option<Type<Named>> {
        Some(<E::Value as Value>::describe())
    }

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        place: &Option<E>,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match value(place) {
            Some(value) => FieldValue::write_field(value, field, writer),
            None => Ok(()),
        }
    }

    /// The last field that comes has a value. A second value of the same field is merged where the
    /// encoding merges.
    #[inline]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        place: &mut Option<E>,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        if Self::KIND == Kind::Struct
            && let Some(value) = place.as_mut().and_then(E::get_mut)
        {
            return value.read(reader);
        }
        let mut value = E::Value::default();
        value.read(reader)?;
        if !leaves_out::<E::Value, R>(reader) {
            *place = Some(E::new(value));
        }
        Ok(())
    }

    #[inline]
    fn clear(place: &mut Option<E>) {
        if value(place).is_some() {
            *place = None;
        }
    }

    #[inline]
    fn presence(place: &Option<E>) -> Option<bool> {
        Some(value(place).is_some())
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(
        place: &Option<E>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match value(place) {
            Some(value) => value.write(writer),
            None => Ok(()),
        }
    }
}
