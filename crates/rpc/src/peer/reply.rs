//! The body of a reply, as Thrift has it: a struct with the result as field 0, or one
//! exception. Where fields have no ids it is a union of them.

use crate::Exceptions;
use crate::exceptions::{missing_result, undeclared_exception};
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
        writer.begin_reply()?;
        match self.0 {
            Ok(value) => value.write_field(&const { success::<T>() }, writer)?,
            Err(exception) => exception.write(writer)?,
        }
        writer.end_struct()
    }
}

/// A declared exception, as what a reply has in the place of a result. Only where fields have ids.
pub(crate) struct Thrown<'a, E>(pub(crate) &'a E);

impl<E: Exceptions> Encode for Thrown<'_, E> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_reply()?;
        self.0.write(writer)?;
        writer.end_struct()
    }
}

/// A result or a declared exception, on its way in.
pub(crate) struct ReplySlot<T, E> {
    reply: Option<Result<T, E>>,
    /// True for a reply in a field that the contract does not have: an exception that a newer one
    /// declares.
    undeclared: bool,
    /// A value of which the memory is used again.
    spare: Option<T>,
}

impl<T: FieldValue, E: Exceptions> ReplySlot<T, E> {
    /// Nothing has been read yet; the result is read over `spare`, where it will be set as a whole.
    pub(crate) fn over(spare: Option<T>) -> Self {
        ReplySlot {
            reply: None,
            undeclared: false,
            spare,
        }
    }

    /// Reads the result or the exception that is this field.
    fn read<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        field: &Field<'static>,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.reply = Some(if field.id == 0 {
            let spare = self.spare.take().filter(|_| reader.is_positional());
            let mut value = spare.unwrap_or_default();
            value.read_field(reader).map_err(|e| e.within("result"))?;
            Ok(value)
        } else {
            Err(E::read(field.id, reader).map_err(|e| e.within(field.name))?)
        });
        Ok(())
    }

    /// Returns the result; an error where the reply had to have one and has none.
    pub(crate) fn into_result(self, method: &str) -> Result<T, E> {
        match self.reply {
            Some(result) => result,
            None if self.undeclared => Err(undeclared_exception(method).into()),
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
        reader.begin_reply()?;
        let mut cursor = Cursor::default();
        loop {
            let field = match reader.next_field(Table::<T, E>::FIELDS, &mut cursor)? {
                NextField::Known(index) => &Table::<T, E>::FIELDS[index],
                NextField::Unknown(_) => {
                    reader.unknown_value()?;
                    self.undeclared = true;
                    continue;
                }
                NextField::End => break,
            };
            self.read(field, reader)?;
        }
        if self.reply.is_none() && reader.leaves_out_defaults() {
            self.reply = Some(Ok(T::default()));
        }
        Ok(())
    }
}

/// The result and up to 32 declared exceptions; a method with more fails to compile.
const MAX: usize = 33;

/// The fields of a reply: the result, then the declared exceptions.
struct Table<T, E>(PhantomData<(T, E)>);

impl<T: FieldValue, E: Exceptions> Table<T, E> {
    const ROOM: [Field<'static>; MAX] = {
        let mut fields = [success::<T>(); MAX];
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
    Field::new(0, "success", T::KIND).element(T::ELEMENT)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Status, exceptions};
    use dovetail_wire::{Bytes, Encoding, Limits, message};
    use std::fmt;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Problem {
        code: i8,
    }

    message!(Problem {
        1 code: i8,
    });

    impl fmt::Display for Problem {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Debug::fmt(self, f)
        }
    }

    #[derive(Clone, Debug)]
    enum Failure {
        First(Problem),
        Second(Problem),
        Status(Status),
    }

    exceptions!(Failure {
        1 First as "first": Problem [ambiguous],
        4 Second as "second": Problem [ambiguous],
    });

    fn check<T: FieldValue + fmt::Debug>(answer: &Result<T, Failure>, tagless: &[u8]) {
        for encoding in Encoding::BUILT_IN {
            let mut out = Vec::new();
            let limits = Limits::default();
            encoding
                .encode(&ReplyBody(answer), &mut out, limits)
                .unwrap();
            if matches!(encoding, Encoding::Tagless) {
                assert_eq!(out, tagless);
            }
            let bytes = Bytes::from(out);
            let mut slot = ReplySlot::<T, Failure>::over(None);
            assert_eq!(
                encoding.decode(&mut slot, &bytes, limits).unwrap(),
                bytes.len()
            );
            let back = slot.into_result("method");
            assert_eq!(format!("{back:?}"), format!("{answer:?}"), "{encoding:?}");
        }
    }

    #[test]
    fn answers_survive_every_encoding() {
        let second = || Failure::Second(Problem { code: 7 });
        check(&Ok(5i16), &[1, 5, 0]);
        check::<i16>(&Err(Failure::First(Problem { code: 7 })), &[2, 7]);
        check::<i16>(&Err(second()), &[3, 7]);
        check(&Ok(()), &[0]);
        check::<()>(&Err(second()), &[2, 7]);
    }

    #[test]
    fn an_exception_that_is_not_declared_is_no_result() {
        for encoding in [Encoding::ThriftBinary, Encoding::Tagged] {
            let thrown: Result<i16, _> = Err(Failure::First(Problem { code: 7 }));
            let mut out = Vec::new();
            let limits = Limits::default();
            encoding
                .encode(&ReplyBody(&thrown), &mut out, limits)
                .unwrap();
            let mut slot = ReplySlot::<(), Status>::over(None);
            encoding.decode(&mut slot, &out.into(), limits).unwrap();
            let status = slot.into_result("method").unwrap_err();
            assert!(status.message().contains("does not declare"), "{status}");
        }
    }

    #[test]
    fn no_other_places() {
        let mut slot = ReplySlot::<(), Failure>::over(None);
        let bytes = Bytes::from_static(&[3, 7]);
        assert!(
            Encoding::Tagless
                .decode(&mut slot, &bytes, Limits::default())
                .is_err()
        );
        let mut slot = ReplySlot::<i16, Failure>::over(None);
        let nothing = Bytes::from_static(&[0]);
        Encoding::Tagless
            .decode(&mut slot, &nothing, Limits::default())
            .unwrap();
        assert!(matches!(
            slot.into_result("method"),
            Err(Failure::Status(_))
        ));
    }
}
