//! The body of a reply, as Thrift has it: a struct with the result as field 0, or one exception. Where
//! fields have no ids it is a union of them.

use crate::Exceptions;
use crate::exceptions::missing_result;
use dovetail_wire::{
    Cursor, Decode, DecodeError, Encode, EncodeError, Field, FieldValue, NextField, Reader, Writer,
    read_place,
};
use std::marker::PhantomData;

/// A result or a declared exception, on its way out.
pub(crate) struct ReplyBody<'a, T, E>(pub(crate) &'a Result<T, E>);

impl<T: FieldValue, E: Exceptions> Encode for ReplyBody<'_, T, E> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        if writer.is_positional() {
            return match self.0 {
                Ok(value) => value.write_answer(writer),
                Err(exception) => exception.write_answer(Table::<T, E>::places(), writer),
            };
        }
        writer.begin_struct()?;
        match self.0 {
            Ok(value) => value.write_field(&const { success::<T>() }, writer)?,
            Err(exception) => exception.write(writer)?,
        }
        writer.end_struct()
    }
}

/// A result or a declared exception, on its way in.
pub(crate) struct ReplySlot<T, E>(Option<Result<T, E>>);

impl<T: FieldValue, E: Exceptions> ReplySlot<T, E> {
    /// Nothing has been read yet.
    pub(crate) fn new() -> Self {
        ReplySlot(None)
    }

    /// Reads the result or the exception that is this field.
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        field: &Field<'static>,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.0 = Some(if field.id == 0 {
            let mut value = T::default();
            value.read_field(reader).map_err(|e| e.within("result"))?;
            Ok(value)
        } else {
            Err(E::read(field.id, reader).map_err(|e| e.within(field.name))?)
        });
        Ok(())
    }

    /// What the reply said; an error where it had to say something and did not.
    pub(crate) fn into_result(self, method: &str) -> Result<T, E> {
        match self.0 {
            Some(result) => result,
            None => T::when_absent().ok_or_else(|| missing_result(method).into()),
        }
    }
}

impl<T: FieldValue, E: Exceptions> Decode for ReplySlot<T, E> {
    fn decode<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if reader.is_positional() {
            if let Some(field) = read_place(Table::<T, E>::places(), reader)? {
                self.read(field, reader)?;
            }
            return reader.end_positional();
        }
        reader.begin_struct()?;
        let mut cursor = Cursor::default();
        loop {
            let field = match reader.next_field(Table::<T, E>::FIELDS, &mut cursor)? {
                NextField::Known(index) => &Table::<T, E>::FIELDS[index],
                NextField::Unknown(_) => {
                    reader.unknown_value()?;
                    continue;
                }
                NextField::End => return Ok(()),
            };
            self.read(field, reader)?;
        }
    }
}

/// The result and up to 32 declared exceptions; a method with more fails to compile.
const MOST: usize = 33;

/// The fields of a reply: the result, then the declared exceptions.
struct Table<T, E>(PhantomData<(T, E)>);

impl<T: FieldValue, E: Exceptions> Table<T, E> {
    const ROOM: [Field<'static>; MOST] = {
        let mut fields = [success::<T>(); MOST];
        let mut index = 0;
        while index < E::FIELDS.len() {
            fields[index + 1] = E::FIELDS[index];
            index += 1;
        }
        fields
    };

    const FIELDS: &'static [Field<'static>] = Self::ROOM.split_at(E::FIELDS.len() + 1).0;

    /// The fields as a union has them: without the result, if the method has none.
    fn places() -> &'static [Field<'static>] {
        match T::when_absent() {
            None => Self::FIELDS,
            Some(_) => E::FIELDS,
        }
    }
}

const fn success<T: FieldValue>() -> Field<'static> {
    Field::new(0, "success", T::KIND)
}
