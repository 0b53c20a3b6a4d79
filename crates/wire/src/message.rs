use crate::{
    DecodeError, DecodeErrorKind, EncodeError, Field, NextField, Reader, UnknownFields, Writer,
};

/// A struct, union or exception: a table of fields, and how to walk them.
///
/// Implemented once for all encodings, usually by [`message!`](crate::message) or
/// [`union!`](crate::union), which also make it a [`Value`](crate::Value). `Default` gives the value that a message with no fields decodes to.
pub trait Message: Default {
    /// The name in the contract.
    const NAME: &'static str;
    /// The fields, in order of definition, inherited ones first.
    const FIELDS: &'static [Field<'static>];

    /// Writes the fields that have a value, then the unknown ones.
    fn write_fields<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads the value of the field with this id, one of `FIELDS`. A field that comes twice overwrites,
    /// or, in encodings where that is the rule, is merged.
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        id: i32,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// Where fields that the contract does not have are kept; `None` drops them.
    fn unknown_fields(&mut self) -> Option<&mut UnknownFields>;
}

/// Writes a message as a struct.
#[inline]
pub fn write_message<M: Message, W: Writer + ?Sized>(
    message: &M,
    writer: &mut W,
) -> Result<(), EncodeError> {
    writer.begin_struct()?;
    message.write_fields(writer)?;
    writer.end_struct()
}

/// Reads a struct into a message, over the values that it has. Checks required fields.
#[inline]
pub fn read_message<'de, M: Message, R: Reader<'de> + ?Sized>(
    message: &mut M,
    reader: &mut R,
) -> Result<(), DecodeError> {
    let mut seen = SeenFields::default();
    reader.begin_struct()?;
    let mut hint = 0;
    loop {
        match reader.next_field(M::FIELDS, &mut hint)? {
            NextField::Known(index) => {
                let field = &M::FIELDS[index];
                message
                    .read_field(field.id, reader)
                    .map_err(|e| e.within(field.name))?;
                if field.required {
                    seen.insert(index);
                }
            }
            NextField::Unknown(id) => {
                let value = reader.unknown_value()?;
                if let Some(unknown) = message.unknown_fields() {
                    unknown.push(id, value);
                }
            }
            NextField::End => break,
        }
    }
    seen.check(M::FIELDS)
}

/// Which fields have come: the first 64 in a register, the rest, rarely needed, on the heap.
#[derive(Default)]
pub(crate) struct SeenFields {
    first: u64,
    rest: Vec<usize>,
}

impl SeenFields {
    pub(crate) fn insert(&mut self, index: usize) {
        match index {
            0..64 => self.first |= 1 << index,
            // A peer may send a field any number of times.
            _ if self.rest.contains(&index) => {}
            _ => self.rest.push(index),
        }
    }

    pub(crate) fn contains(&self, index: usize) -> bool {
        match index {
            0..64 => self.first & (1 << index) != 0,
            _ => self.rest.contains(&index),
        }
    }

    #[inline]
    pub(crate) fn check(&self, fields: &[Field<'_>]) -> Result<(), DecodeError> {
        for (index, field) in fields.iter().enumerate() {
            if field.required && !self.contains(index) {
                return Err(DecodeErrorKind::MissingField {
                    name: field.name.to_owned().into(),
                }
                .into());
            }
        }
        Ok(())
    }
}
