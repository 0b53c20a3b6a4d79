//! The parameters of a call, as a tuple: what Thrift calls the arguments struct, without a type for it.

use crate::containers::write_list;
use crate::message::SeenFields;
use crate::{
    Cursor, DecodeError, EncodeError, Field, FieldValue, NextField, Presence, Present, Reader,
    Value, Writer, presence_size, read_required,
};

/// Parameters to send. Implemented for tuples of up to 32 [`Argument`]s, and by hand for dynamic calls.
pub trait WriteParams {
    /// Writes the parameters as a struct. `fields` is the method's table, one row for each parameter.
    fn write<W: Writer + ?Sized>(
        &self,
        fields: &[Field<'_>],
        writer: &mut W,
    ) -> Result<(), EncodeError>;
}

/// Parameters to receive. Implemented for tuples of up to 32 field values, and by hand for dynamic calls.
pub trait ReadParams {
    /// Reads a struct over these values; fields that the table does not have are dropped.
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<(), DecodeError>;
}

/// One parameter to send, borrowed: `&T` for any field value, `&str` for a string, `&[T]` for a list.
pub trait Argument {
    /// True where the value may be absent.
    const OPTIONAL: bool = false;

    /// Whether the value is there; `None` where it always is.
    #[inline]
    fn presence(&self) -> Option<bool> {
        None
    }

    /// Writes the value without a header, if there is something to write.
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Writes the field with its header, if there is something to write.
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError>;
}

impl<T: FieldValue> Argument for &T {
    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        T::write_field(self, field, writer)
    }

    const OPTIONAL: bool = T::OPTIONAL;

    #[inline]
    fn presence(&self) -> Option<bool> {
        T::presence(self)
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        T::write_value(self, writer)
    }
}

impl Argument for &str {
    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        self.write_value(writer)?;
        writer.end_field()
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.string(self)
    }
}

impl<T: Value> Argument for &[T] {
    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        self.write_value(writer)?;
        writer.end_field()
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write_list(self, writer)
    }
}

/// Presence bytes of 32 parameters.
const MOST: usize = 4;

macro_rules! count {
    ($($index:tt)*) => { <[usize]>::len(&[$($index),*]) };
}

macro_rules! tuple {
    ($($T:ident $index:tt),*) => {
        impl<$($T: Argument),*> WriteParams for ($($T,)*) {
            #[inline]
            fn write<W: Writer + ?Sized>(
                &self,
                fields: &[Field<'_>],
                writer: &mut W,
            ) -> Result<(), EncodeError> {
                if writer.is_positional() {
                    let optional = 0 $(+ usize::from($T::OPTIONAL))*;
                    let size = presence_size(count!($($index)*), optional);
                    #[allow(unused_mut)]
                    let mut presence = Presence::new([0; MOST]);
                    $(presence.push(self.$index.presence());)*
                    writer.begin_positional(presence.bytes().get(..size).unwrap_or_default())?;
                    $(self.$index.write_value(writer)?;)*
                    return writer.end_struct();
                }
                writer.begin_params(fields)?;
                $(self.$index.write_field(&fields[$index], writer)?;)*
                writer.end_struct()
            }
        }

        impl<$($T: FieldValue),*> ReadParams for ($($T,)*) {
            #[inline]
            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                fields: &[Field<'_>],
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                if reader.is_positional() {
                    let optional = 0 $(+ usize::from($T::OPTIONAL))*;
                    #[allow(unused_mut)]
                    let mut present = Present::read(reader, count!($($index)*), optional)?;
                    let _ = &present;
                    $(present
                        .field(&mut self.$index, reader)
                        .and_then(|()| read_required(&self.$index, &fields[$index]))
                        .map_err(|e| e.within(fields[$index].name.to_owned()))?;)*
                    return reader.end_positional();
                }
                let mut seen = SeenFields::default();
                reader.begin_params()?;
                let mut cursor = Cursor::default();
                loop {
                    let index = match reader.next_field(fields, &mut cursor)? {
                        NextField::Known(index) => index,
                        NextField::Unknown(_) => {
                            reader.unknown_value()?;
                            continue;
                        }
                        NextField::End => break,
                    };
                    match index {
                        $($index => self.$index.read_field(reader),)*
                        _ => Err(DecodeError::no_such_field(fields[index].id)),
                    }
                    .map_err(|e| e.within(fields[index].name.to_owned()))?;
                    seen.insert(index);
                }
                seen.check(fields)
            }
        }
    };
}

macro_rules! tuples {
    ($($T:ident $index:tt),* ;) => { tuple!($($T $index),*); };
    ($($T:ident $index:tt),* ; $N:ident $next:tt $(, $M:ident $rest:tt)*) => {
        tuple!($($T $index),*);
        tuples!($($T $index,)* $N $next ; $($M $rest),*);
    };
    ($($T:ident $index:tt,)* ; $($M:ident $rest:tt),*) => { tuples!($($T $index),* ; $($M $rest),*); };
}

tuples!(; A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, S 17, T 18, U 19, V 20, X 21, Y 22, Z 23, Aa 24, Ab 25, Ac 26, Ad 27, Ae 28, Af 29, Ag 30, Ah 31);
