//! The parameters of a call, as a tuple: what Thrift calls the arguments struct, without a type for it.

use crate::message::SeenFields;
use crate::{DecodeError, EncodeError, Field, FieldValue, NextField, Reader, Value, Writer};

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
}

impl Argument for &str {
    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        writer.string(self)?;
        writer.end_field()
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
        writer.begin_list(T::KIND, self.len())?;
        self.iter().try_for_each(|item| item.write(writer))?;
        writer.end_list()?;
        writer.end_field()
    }
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
                let _ = fields;
                writer.begin_struct()?;
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
                let mut seen = SeenFields::default();
                reader.begin_struct()?;
                let mut hint = 0;
                loop {
                    let index = match reader.next_field(fields, &mut hint)? {
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
