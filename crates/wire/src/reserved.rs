//! Ids that contracts leave free in structs that take part in inheritance or are referred to: under
//! them a struct says more about itself than its fields. They come before all others, and a reader
//! that does not know them keeps or skips them like any field.

use crate::{
    Cursor, DecodeError, Field, Kind, NextField, Reader, Reference, UnknownFields, UnknownValue,
};

/// The struct has nothing else, and is the node of this number again.
pub const AGAIN: i32 = 32765;

/// The struct is the node of this number.
pub const NODE: i32 = 32766;

/// The name of the struct, where it is not the one that the contract says but one that extends it.
pub const TYPE: i32 = 32767;

pub(crate) const AGAIN_FIELD: Field<'static> = Field::new(AGAIN, "again", Kind::I32);
pub(crate) const NODE_FIELD: Field<'static> = Field::new(NODE, "node", Kind::I32);
pub(crate) const TYPE_FIELD: Field<'static> = Field::new(TYPE, "type", Kind::String);

pub(crate) fn is_reserved(id: i32) -> bool {
    matches!(id, AGAIN..=TYPE)
}

fn node_number(value: UnknownValue) -> Result<u64, DecodeError> {
    let number = match value {
        UnknownValue::I32(number) => u64::try_from(number).ok(),
        UnknownValue::I64(number) => u64::try_from(number).ok(),
        UnknownValue::Varint(number) => Some(number),
        _ => None,
    };
    number.ok_or_else(|| DecodeError::malformed("the number of a node, which is none"))
}

/// A struct that has begun, of which the next field may have been looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    /// The place of the reader among the fields.
    pub cursor: Cursor,
    /// The next field, if it is known; its value has not been read.
    pub next: Option<NextField>,
    /// It may have said which struct of a family it is.
    typed: bool,
    /// It is a struct of a family that this end does not know.
    pub foreign: bool,
}

impl Begun {
    /// The value of the reserved field with this id, if it comes next. `fields` is the struct's
    /// table.
    pub fn reserved<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        id: i32,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<Option<UnknownValue>, DecodeError> {
        self.typed |= id == TYPE;
        let next = match self.next {
            Some(next) => next,
            None => reader.next_field(fields, &mut self.cursor)?,
        };
        if next != NextField::Unknown(id) {
            self.next = Some(next);
            return Ok(None);
        }
        self.next = None;
        reader.unknown_value().map(Some)
    }

    /// Refuses the name of a struct of a family behind other fields, as what it means for these has
    /// been decided.
    pub fn check_unknown(&self, id: i32) -> Result<(), DecodeError> {
        match self.typed && id == TYPE {
            true => Err(DecodeError::malformed(
                "the type of a struct (field 32767, `#type` in JSON) behind other fields: it comes first",
            )),
            false => Ok(()),
        }
    }

    /// Decides what becomes of the type of a struct, which has just ended, where this end does not
    /// know the type and fields are lost, so that nobody could pass it on as what it is. A struct
    /// of a family is refused. Any other one, for which the number has no meaning, goes without the
    /// field.
    pub fn keep<'de, R: Reader<'de> + ?Sized>(
        &self,
        unknown: Option<&mut UnknownFields>,
        reader: &R,
    ) -> Result<(), DecodeError> {
        if !reader.lost_fields() {
            return Ok(());
        }
        if self.foreign {
            return Err(DecodeError::malformed(
                "a struct of a type that this end does not know, whose members would be lost",
            ));
        }
        if let Some(unknown) = unknown {
            unknown.remove(TYPE);
        }
        Ok(())
    }

    /// The number of a node, under this reserved id, if that comes next.
    pub fn number<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        id: i32,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<Option<u64>, DecodeError> {
        let value = self.reserved(id, fields, reader)?;
        value.map(node_number).transpose()
    }

    /// Which node comes again, if one does, or `later`: a negative number is that of a node behind
    /// the value, with all bits turned.
    pub(crate) fn again<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        later: bool,
        fields: &[Field<'_>],
        reader: &mut R,
    ) -> Result<Option<Reference>, DecodeError> {
        let Some(value) = self.reserved(AGAIN, fields, reader)? else {
            return Ok(None);
        };
        match value {
            UnknownValue::I32(number @ ..0) if later => Ok(Some(Reference::Later(!number as u64))),
            value => node_number(value).map(Reference::Again).map(Some),
        }
    }

    /// Refuses a struct that goes on.
    pub fn end<'de, R: Reader<'de> + ?Sized>(mut self, reader: &mut R) -> Result<(), DecodeError> {
        match reader.next_field(&[], &mut self.cursor)? {
            NextField::End => Ok(()),
            _ => Err(DecodeError::malformed(
                "fields behind the number of a node that came before",
            )),
        }
    }
}
