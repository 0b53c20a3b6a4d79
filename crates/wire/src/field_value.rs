use crate::description::{Named, Type};
use crate::layout::Layout;
use crate::{
    Cursor, DecodeError, EncodeError, Field, Kind, NextField, Plain, Reader, Value, Writer,
};

/// Anything that can be a field: a [`Value`], which is always written, or an `Option` of one, which
/// is written when present.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a contract",
    note = "types of a contract have `#[derive(dovetail::Message)]`; a reference is none, the value itself is"
)]
pub trait FieldValue: Default {
    /// The shape of the value.
    const KIND: Kind;

    /// The shape of its elements, where it is a list or a set.
    const ELEMENT: Option<Kind> = None;

    /// JSON's `null` is one of its values, and not the absence of one.
    const NULLABLE: bool = false;

    /// Writes the field with its header, if there is something to write.
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError>;

    /// Reads the field's value, after its header.
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// The type in the words of a contract; `None` for what none speaks of.
    fn describe() -> Option<Type<Named>>;

    /// The value may be absent.
    const OPTIONAL: bool = false;

    /// See [`Value::PLAIN`].
    const PLAIN: Plain = Plain::NOT;

    /// Whether the value is there; `None` where it always is.
    #[inline]
    fn presence(&self) -> Option<bool> {
        None
    }

    /// True for a reference that was made to lead to nothing, which no required field is.
    #[inline]
    fn is_null(&self) -> bool {
        false
    }

    /// Writes the value without a header, if there is something to write.
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// See [`Value::write_plain`].
    #[must_use]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        let _ = room;
        false
    }

    /// See [`Value::read_plain`].
    #[must_use]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// Writes the positional answer to a call, a union, with this as its result.
    fn write_answer<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_union(1)?;
        self.write_value(writer)?;
        writer.end_struct()
    }

    /// Returns the value for the absence of the field where it is the only one, as in the reply to
    /// a call; `None` where it must not be absent.
    fn when_absent() -> Option<Self> {
        None
    }
}

/// Nothing, as the result of a `void` method: never written, skipped when read.
impl FieldValue for () {
    const KIND: Kind = Kind::Struct;

    fn write_field<W: Writer + ?Sized>(&self, _: &Field<'_>, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        if reader.dynamic()?.is_some() {
            return Ok(());
        }
        reader.begin_struct()?;
        let mut cursor = Cursor::default();
        while reader.next_field(&[], &mut cursor)? != NextField::End {
            reader.unknown_value()?;
        }
        Ok(())
    }

    fn describe() -> Option<Type<Named>> {
        None
    }

    fn write_value<W: Writer + ?Sized>(&self, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn write_answer<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_union(0)?;
        writer.end_struct()
    }

    fn when_absent() -> Option<Self> {
        Some(())
    }
}

/// Whether the value of this type that was read last is to be left out. Only values of enums are.
#[inline]
pub(crate) fn leaves_out<'de, T: Value, R: Reader<'de> + ?Sized>(reader: &R) -> bool {
    matches!(T::KIND, Kind::Enum) && reader.is_left_out()
}

impl<T: Value> FieldValue for T {
    const KIND: Kind = T::KIND;
    const ELEMENT: Option<Kind> = T::ELEMENT;
    const NULLABLE: bool = T::NULLABLE;

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        // A `dynamic` that is nothing is not there, either.
        let implicit = field.implicit || T::NULLABLE && matches!(T::KIND, Kind::Struct);
        if implicit && writer.leaves_out_defaults() && self.is_zero() {
            return Ok(());
        }
        writer.begin_field(field)?;
        self.write(writer)?;
        writer.end_field()
    }

    #[inline]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.read(reader)?;
        if leaves_out::<T, R>(reader) {
            *self = T::default();
        }
        Ok(())
    }

    fn describe() -> Option<Type<Named>> {
        Some(<T as Value>::describe())
    }

    const PLAIN: Plain = T::PLAIN;

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.write(writer)
    }

    #[inline]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        T::write_plain::<L>(self, room)
    }

    #[inline(always)]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
        T::read_plain::<L>(self, bytes)
    }
}

impl<T: Value> FieldValue for Option<T> {
    const KIND: Kind = T::KIND;
    const ELEMENT: Option<Kind> = T::ELEMENT;
    const NULLABLE: bool = T::NULLABLE;

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.write_field(field, writer),
            None => Ok(()),
        }
    }

    #[inline]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.get_or_insert_default().read(reader)?;
        if leaves_out::<T, R>(reader) {
            *self = None;
        }
        Ok(())
    }

    fn describe() -> Option<Type<Named>> {
        Some(<T as Value>::describe())
    }

    const OPTIONAL: bool = true;

    #[inline]
    fn presence(&self) -> Option<bool> {
        Some(self.is_some())
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.write(writer),
            None => Ok(()),
        }
    }
}
