use super::wire_size;
use crate::input::{Input, beyond_input, truncated};
use crate::{
    Budget, Cursor, DecodeError, Field, Kind, Limits, NextField, Numbers, ReadNodes, Sequence,
    UnknownValue, plain, varint,
};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;

/// Reads values that stand one after the other.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    numbers: Numbers,
}

impl<'de> Reader<'de> {
    /// Reads from `input`; all bytes are copied.
    pub fn new(input: &'de [u8], limits: Limits) -> Self {
        Self::over(Input::new(input), limits)
    }

    /// Reads from `input`. Large blobs share its memory.
    pub fn shared(input: &'de Bytes, limits: Limits) -> Self {
        Self::over(Input::shared(input), limits)
    }

    fn over(input: Input<'de>, limits: Limits) -> Self {
        Reader {
            input,
            budget: Budget::new(limits),
            nodes: ReadNodes::apart(),
            numbers: Numbers::default(),
        }
    }

    /// Reads the nodes, which follow the value.
    pub(crate) fn finish(&mut self) -> Result<(), DecodeError> {
        while let Some(node) = self.nodes.next_part() {
            let read = node.read(self);
            read.inspect_err(|_| self.numbers.undo())?;
        }
        Ok(())
    }

    /// Returns the number of bytes that have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    #[inline]
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = varint::read(&mut self.input)?;
        usize::try_from(length).map_err(|_| beyond_input(length, self.input.rest().len()))
    }

    /// The next bytes, as many as the contract says.
    #[inline]
    fn part(&mut self, len: usize) -> Result<&'de [u8], DecodeError> {
        match self.input.rest().split_at_checked(len) {
            Some((part, rest)) => {
                self.input.set_rest(rest);
                Ok(part)
            }
            None => Err(truncated()),
        }
    }

    /// Reads the count of elements of this size, and checks it.
    #[inline]
    fn begin(&mut self, wire_size: usize) -> Result<Sequence, DecodeError> {
        let count = self.length()?;
        self.enter(count, wire_size)
    }

    /// Checks a count of elements of this size, and goes inside.
    #[inline]
    fn enter(&mut self, count: usize, wire_size: usize) -> Result<Sequence, DecodeError> {
        self.input.count(count, wire_size)?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }
}

#[cold]
fn no_ids() -> DecodeError {
    DecodeError::malformed("a field by its id, in an encoding without")
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    #[inline]
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn nodes(&mut self) -> Result<&mut ReadNodes, DecodeError> {
        Ok(&mut self.nodes)
    }

    fn numbers(&mut self) -> Option<&mut Numbers> {
        Some(&mut self.numbers)
    }

    fn object(&mut self) -> Result<Box<dyn Any>, DecodeError> {
        let number = varint::read(&mut self.input)?;
        self.numbers.object(number)
    }

    #[inline]
    fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(plain::invalid()),
        }
    }

    #[inline]
    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.input.byte().map(u8::cast_signed)
    }

    #[inline]
    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.input.array().map(i16::from_le_bytes)
    }

    #[inline]
    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.input.array().map(i32::from_le_bytes)
    }

    #[inline]
    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.input.array().map(i64::from_le_bytes)
    }

    // The unsigned types fall back to the signed ones of their width: the bytes are the same.

    #[inline]
    fn f32(&mut self) -> Result<f32, DecodeError> {
        self.input.array().map(f32::from_le_bytes)
    }

    #[inline]
    fn f64(&mut self) -> Result<f64, DecodeError> {
        self.input.array().map(f64::from_le_bytes)
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let len = self.length()?;
        self.input.text(len, &mut self.budget)
    }

    #[inline]
    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let len = self.length()?;
        self.input.blob(len, &mut self.budget)
    }

    #[inline]
    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.input.array()
    }

    #[inline]
    fn begin_list(&mut self, element: Kind) -> Result<Sequence, DecodeError> {
        self.begin(wire_size(element))
    }

    #[inline]
    fn begin_array(&mut self, element: Kind, len: usize) -> Result<Sequence, DecodeError> {
        self.enter(len, wire_size(element))
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        self.begin(wire_size(key) + wire_size(value))
    }

    #[inline]
    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        Ok(sequence.next_counted(&mut self.budget))
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        Err(no_ids())
    }

    fn next_field(&mut self, _: &[Field<'_>], _: &mut Cursor) -> Result<NextField, DecodeError> {
        Err(no_ids())
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        Err(no_ids())
    }

    #[inline]
    fn is_positional(&self) -> bool {
        true
    }

    #[inline]
    fn begin_positional(&mut self, len: usize) -> Result<&'de [u8], DecodeError> {
        self.budget.enter()?;
        self.part(len)
    }

    #[inline]
    fn begin_union(&mut self) -> Result<usize, DecodeError> {
        self.budget.enter()?;
        // A number that does not fit is no place either.
        varint::read(&mut self.input).map(|place| usize::try_from(place).unwrap_or(usize::MAX))
    }

    #[inline]
    fn end_positional(&mut self) -> Result<(), DecodeError> {
        self.budget.leave();
        Ok(())
    }

    #[inline]
    fn plain(&mut self, len: usize) -> Result<Option<&'de [u8]>, DecodeError> {
        self.part(len).map(Some)
    }

    #[inline]
    fn plain_list(&mut self, size: usize) -> Result<Option<&'de [u8]>, DecodeError> {
        let sequence = self.begin(size)?;
        self.budget.leave();
        self.part(sequence.reserve.saturating_mul(size)).map(Some)
    }
}
