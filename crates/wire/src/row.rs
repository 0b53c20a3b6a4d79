//! The rows of a message's table: where a struct keeps each field, and how it is written and read.

use crate::description::{Named, Type};
use crate::layout::Layout;
use crate::{DecodeError, EncodeError, Field, FieldValue, Kind, Plain, Reader, Writer};

/// The type that a row of a [`message!`](crate::message) names: a [`FieldValue`], which is in a
/// field of its own, or a [`Case`](crate::Case), which shares one. The functions do what those of
/// [`FieldValue`] do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a contract",
    note = "types of a contract have `#[derive(dovetail::Message)]`; a reference is none, the value itself is"
)]
pub trait Row {
    /// The type of the field that the value is in.
    type Place;

    /// See [`FieldValue::KIND`].
    const KIND: Kind;
    /// See [`FieldValue::ELEMENT`].
    const ELEMENT: Option<Kind>;
    /// See [`FieldValue::NULLABLE`].
    const NULLABLE: bool;
    /// See [`FieldValue::OPTIONAL`].
    const OPTIONAL: bool;
    /// See [`FieldValue::PLAIN`].
    const PLAIN: Plain = Plain::NOT;
    /// The name of the oneof that the field is in.
    const ONEOF: Option<&'static str> = None;

    /// See [`FieldValue::describe`].
    fn describe() -> Option<Type<Named>>;

    /// See [`FieldValue::write_field`].
    fn write_field<W: Writer + ?Sized>(
        place: &Self::Place,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError>;

    /// See [`FieldValue::read_field`].
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        place: &mut Self::Place,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// Takes the value away, or makes it the default one.
    fn clear(place: &mut Self::Place);

    /// See [`FieldValue::presence`].
    fn presence(place: &Self::Place) -> Option<bool>;

    /// See [`FieldValue::is_null`].
    fn is_null(place: &Self::Place) -> bool {
        let _ = place;
        false
    }

    /// See [`FieldValue::write_value`].
    fn write_value<W: Writer + ?Sized>(
        place: &Self::Place,
        writer: &mut W,
    ) -> Result<(), EncodeError>;

    /// See [`FieldValue::write_plain`].
    #[must_use]
    fn write_plain<L: Layout>(place: &Self::Place, room: &mut &mut [u8]) -> bool {
        let _ = (place, room);
        false
    }

    /// See [`FieldValue::read_plain`].
    #[must_use]
    fn read_plain<L: Layout>(place: &mut Self::Place, bytes: &mut &[u8]) -> bool {
        let _ = (place, bytes);
        false
    }
}

impl<T: FieldValue> Row for T {
    type Place = T;

    const KIND: Kind = <T as FieldValue>::KIND;
    const ELEMENT: Option<Kind> = <T as FieldValue>::ELEMENT;
    const NULLABLE: bool = <T as FieldValue>::NULLABLE;
    const OPTIONAL: bool = <T as FieldValue>::OPTIONAL;
    const PLAIN: Plain = <T as FieldValue>::PLAIN;

    fn describe() -> Option<Type<Named>> {
        <T as FieldValue>::describe()
    }

    #[inline(always)]
    fn write_field<W: Writer + ?Sized>(
        place: &T,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        FieldValue::write_field(place, field, writer)
    }

    #[inline(always)]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        place: &mut T,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        FieldValue::read_field(place, reader)
    }

    #[inline(always)]
    fn clear(place: &mut T) {
        *place = T::default();
    }

    #[inline(always)]
    fn presence(place: &T) -> Option<bool> {
        FieldValue::presence(place)
    }

    #[inline(always)]
    fn is_null(place: &T) -> bool {
        FieldValue::is_null(place)
    }

    #[inline(always)]
    fn write_value<W: Writer + ?Sized>(place: &T, writer: &mut W) -> Result<(), EncodeError> {
        FieldValue::write_value(place, writer)
    }

    #[inline(always)]
    fn write_plain<L: Layout>(place: &T, room: &mut &mut [u8]) -> bool {
        FieldValue::write_plain::<L>(place, room)
    }

    #[inline(always)]
    fn read_plain<L: Layout>(place: &mut T, bytes: &mut &[u8]) -> bool {
        FieldValue::read_plain::<L>(place, bytes)
    }
}
