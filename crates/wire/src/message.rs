use crate::Kind;
use crate::description::{Definition, Named, Notes};
use crate::layout::{Layout, Tagless};
use crate::{
    Begun, Cursor, DecodeError, DecodeErrorKind, EncodeError, Field, Form, NextField, Plain,
    Reader, UnknownFields, Writer, plain,
};

/// A struct, union or exception: a table of fields, and how to walk them.
///
/// Implemented once for all encodings, usually by [`message!`](crate::message) or
/// [`union!`](crate::union), which also make it a [`Value`](crate::Value). `Default` gives the
/// value that a message with no fields decodes to.
pub trait Message: Default {
    /// The name in the contract.
    const NAME: &'static str;
    /// The package in front of the name, where an [`Any`](crate::Any) holds the message; empty for
    /// none.
    const PACKAGE: &'static str = "";
    /// The fields, in order of definition, inherited ones first.
    const FIELDS: &'static [Field<'static>];

    /// Its form in JSON.
    const FORM: Form = Form::Fields;

    /// Writes the fields that have a value, then the unknown ones.
    fn write_fields<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads the value of the field with this id, one of `FIELDS`. A field that comes twice
    /// overwrites, or, in encodings where that is the rule, is merged.
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        id: i32,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// Reads the fields that come first in the order of definition; [`is_next`](Reader::is_next)
    /// tells which do. Notes the required ones.
    fn read_in_order<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        cursor: &mut Cursor,
        seen: &mut SeenFields,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        let _ = (cursor, seen, reader);
        Ok(())
    }

    /// Returns its definition, in the words of a contract.
    fn define() -> Definition<'static, Named>;

    /// Returns its remarks about itself beside that.
    fn notes() -> Notes {
        Notes::default()
    }

    /// See [`Value::PLAIN`](crate::Value::PLAIN).
    const PLAIN: Plain = Plain::NOT;

    /// Writes all of it in a positional encoding.
    fn write_positional<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads all of it from a positional encoding.
    fn read_positional<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// See [`Value::write_plain`](crate::Value::write_plain).
    #[must_use]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        let _ = room;
        false
    }

    /// See [`Value::read_plain`](crate::Value::read_plain).
    #[must_use]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// Returns the place for fields that the contract does not have; `None` drops them.
    fn unknown_fields(&mut self) -> Option<&mut UnknownFields>;
}

/// Writes a message as a struct.
#[inline]
pub fn write_message<M: Message, W: Writer + ?Sized>(
    message: &M,
    writer: &mut W,
) -> Result<(), EncodeError> {
    if writer.is_positional() {
        return write_positional(message, writer);
    }
    writer.begin_message(M::FORM)?;
    message.write_fields(writer)?;
    writer.end_struct()
}

#[inline]
fn write_positional<M: Message, W: Writer + ?Sized>(
    message: &M,
    writer: &mut W,
) -> Result<(), EncodeError> {
    if let Some(size) = M::PLAIN.tagless
        && let Some(mut room) = writer.plain(size)
    {
        return match message.write_plain::<Tagless>(&mut room) {
            true => Ok(()),
            false => Err(EncodeError::NeedsTags),
        };
    }
    message.write_positional(writer)
}

#[inline]
fn read_positional<'de, M: Message, R: Reader<'de> + ?Sized>(
    message: &mut M,
    reader: &mut R,
) -> Result<(), DecodeError> {
    if let Some(size) = M::PLAIN.tagless
        && let Some(mut bytes) = reader.plain(size)?
    {
        return plain::check(message.read_plain::<Tagless>(&mut bytes));
    }
    message.read_positional(reader)
}

/// Reads a struct into a message, over the values that it has. Checks required fields.
#[inline]
pub fn read_message<'de, M: Message, R: Reader<'de> + ?Sized>(
    message: &mut M,
    reader: &mut R,
) -> Result<(), DecodeError> {
    if reader.is_positional() {
        return read_positional(message, reader);
    }
    reader.begin_message(M::FORM)?;
    let (mut begun, mut seen) = (Begun::default(), SeenFields::default());
    message.read_in_order(&mut begun.cursor, &mut seen, reader)?;
    read_others(message, begun, seen, reader)
}

/// Reads the rest of a struct that has begun.
#[inline]
pub fn read_rest<'de, M: Message, R: Reader<'de> + ?Sized>(
    message: &mut M,
    begun: Begun,
    reader: &mut R,
) -> Result<(), DecodeError> {
    read_others(message, begun, SeenFields::default(), reader)
}

#[inline]
fn read_others<'de, M: Message, R: Reader<'de> + ?Sized>(
    message: &mut M,
    mut begun: Begun,
    mut seen: SeenFields,
    reader: &mut R,
) -> Result<(), DecodeError> {
    loop {
        let next = match begun.next.take() {
            Some(next) => next,
            None => reader.next_field(M::FIELDS, &mut begun.cursor)?,
        };
        match next {
            NextField::Known(index) => {
                let field = &M::FIELDS[index];
                message
                    .read_field(field.id, reader)
                    .map_err(|e| e.within_field(field))?;
                if field.required {
                    seen.insert(index);
                }
            }
            NextField::Unknown(id) => {
                begun.check_unknown(id)?;
                let value = reader.unknown_value()?;
                if let Some(unknown) = message.unknown_fields() {
                    unknown.keep(id, value, reader.budget())?;
                }
            }
            NextField::End => break,
        }
    }
    begun.keep(message.unknown_fields(), reader)?;
    seen.check(M::FIELDS, reader.leaves_out_defaults())
}

/// Which fields have come: the first 64 in a register, the rest, rarely needed, on the heap.
#[derive(Debug, Default)]
pub struct SeenFields {
    first: u64,
    rest: Vec<usize>,
}

impl SeenFields {
    /// Notes the field with this index in the table.
    #[inline]
    pub fn insert(&mut self, index: usize) {
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
    pub(crate) fn check(
        &self,
        fields: &[Field<'_>],
        leaves_out_defaults: bool,
    ) -> Result<(), DecodeError> {
        for (index, field) in fields.iter().enumerate() {
            // An empty container leaves no trace in encodings such as protobuf's.
            let is_empty =
                leaves_out_defaults && matches!(field.kind, Kind::List | Kind::Set | Kind::Map);
            if field.required && !is_empty && !self.contains(index) {
                return Err(DecodeErrorKind::MissingField {
                    name: field.name.to_owned().into(),
                }
                .into());
            }
        }
        Ok(())
    }
}
