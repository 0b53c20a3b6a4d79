use super::{
    BOOL, BYTE, DOUBLE, I16, I32, I64, LIST, MAP, SET, STOP, STRING, STRUCT, UUID, code, kind,
    wire_size,
};
use crate::input::{Input, negative, truncated};
use crate::layout::BlockLayout;
use crate::thrift::{find, invalid_type, mismatch, retyped};
use crate::{
    Budget, Cursor, DecodeError, Field, Kind, Limits, NextField, ReadNodes, Sequence, UnknownValue,
};
use bytes::Bytes;
use std::borrow::Cow;

/// Reads values in Thrift binary.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    /// The type of the field that is unknown.
    unknown: u8,
}

impl<'de> Reader<'de> {
    /// Reads from `input`; all bytes are copied.
    pub fn new(input: &'de [u8], limits: Limits) -> Self {
        Reader {
            input: Input::new(input),
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            unknown: STOP,
        }
    }

    /// Reads from `input`, with which large blobs are shared.
    pub fn shared(input: &'de Bytes, limits: Limits) -> Self {
        Reader {
            input: Input::shared(input),
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            unknown: STOP,
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    #[inline]
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = i32::from_be_bytes(self.input.array()?);
        usize::try_from(length).map_err(|_| negative(length.into()))
    }

    /// Checks the type of elements. A list may stand for a set; empty containers have any type.
    #[inline]
    fn check(expected: Kind, found: u8, count: usize) -> Result<(), DecodeError> {
        let same = code(expected) == found
            || count == 0
            || matches!((expected, found), (Kind::List | Kind::Set, LIST | SET));
        match same {
            true => Ok(()),
            false => Err(mismatch(expected, kind(found))),
        }
    }

    /// A field that is not the next one of the contract.
    #[inline(never)]
    fn other_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
        found: u8,
        id: i32,
    ) -> Result<NextField, DecodeError> {
        let Some(index) = find(fields, cursor.index, id) else {
            self.unknown = found;
            return Ok(NextField::Unknown(id));
        };
        if code(fields[index].kind) != found {
            retyped(&fields[index], kind(found))?;
        }
        cursor.index = index + 1;
        Ok(NextField::Known(index))
    }

    /// Reads a value of which nothing but its type is known.
    fn value(&mut self, code: u8) -> Result<UnknownValue, DecodeError> {
        use crate::Reader as _;
        Ok(match code {
            BOOL => UnknownValue::Bool(self.bool()?),
            BYTE => UnknownValue::I8(self.i8()?),
            I16 => UnknownValue::I16(self.i16()?),
            I32 => UnknownValue::I32(self.i32()?),
            I64 => UnknownValue::I64(self.i64()?),
            DOUBLE => UnknownValue::F64(self.f64()?.to_bits()),
            STRING => UnknownValue::Bytes(self.bytes()?),
            UUID => UnknownValue::Uuid(self.uuid()?),
            STRUCT => {
                self.budget.enter()?;
                let mut fields = Vec::new();
                loop {
                    let code = self.input.byte()?;
                    if code == STOP {
                        break;
                    }
                    let id = i16::from_be_bytes(self.input.array()?);
                    self.budget.room(&mut fields)?;
                    fields.push((id.into(), self.value(code)?));
                }
                self.budget.leave();
                UnknownValue::Struct(fields)
            }
            LIST | SET => {
                let element = self.input.byte()?;
                let count = self.length()?;
                self.input.count(count, wire_size(element).0)?;
                self.budget.enter()?;
                let mut items = Vec::new();
                self.budget.reserve(&mut items, count)?;
                for _ in 0..count {
                    items.push(self.value(element)?);
                }
                self.budget.leave();
                // An empty list of no type at all is one of anything.
                let element = element_kind(element, count)?;
                match code {
                    LIST => UnknownValue::List(element, items),
                    _ => UnknownValue::Set(element, items),
                }
            }
            MAP => {
                let [key, value] = self.input.array()?;
                let count = self.length()?;
                let size = wire_size(key).0 + wire_size(value).0;
                self.input.count(count, size)?;
                self.budget.enter()?;
                let mut entries = Vec::new();
                self.budget.reserve(&mut entries, count)?;
                for _ in 0..count {
                    entries.push((self.value(key)?, self.value(value)?));
                }
                self.budget.leave();
                UnknownValue::Map(
                    element_kind(key, count)?,
                    element_kind(value, count)?,
                    entries,
                )
            }
            _ => return Err(invalid_type(code)),
        })
    }
}

fn element_kind(code: u8, count: usize) -> Result<Kind, DecodeError> {
    match (kind(code), count) {
        (Some(kind), _) => Ok(kind),
        (None, 0) => Ok(Kind::I8),
        (None, _) => Err(invalid_type(code)),
    }
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    #[inline]
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn nodes(&mut self) -> Result<&mut ReadNodes, DecodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self) -> Result<bool, DecodeError> {
        // Apache's readers take any number but zero for true.
        Ok(self.input.byte()? != 0)
    }

    #[inline]
    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.input.array().map(i8::from_be_bytes)
    }

    #[inline]
    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.input.array().map(i16::from_be_bytes)
    }

    #[inline]
    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.input.array().map(i32::from_be_bytes)
    }

    #[inline]
    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.input.array().map(i64::from_be_bytes)
    }

    #[inline]
    fn f64(&mut self) -> Result<f64, DecodeError> {
        self.input.array().map(f64::from_be_bytes)
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
        let found = self.input.byte()?;
        let count = self.length()?;
        Self::check(element, found, count)?;
        let wire = least_size(element);
        self.input.count(count, wire)?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        let [found_key, found_value] = self.input.array()?;
        let count = self.length()?;
        Self::check(key, found_key, count)?;
        Self::check(value, found_value, count)?;
        let wire = least_size(key) + least_size(value);
        self.input.count(count, wire)?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }

    #[inline]
    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        Ok(sequence.next_counted(&mut self.budget))
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        self.budget.enter()
    }

    #[inline]
    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        let (found, id) = match self.input.rest() {
            [STOP, rest @ ..] => {
                self.input.set_rest(rest);
                self.budget.leave();
                return Ok(NextField::End);
            }
            [found, a, b, rest @ ..] => {
                self.input.set_rest(rest);
                (*found, i32::from(i16::from_be_bytes([*a, *b])))
            }
            _ => return Err(truncated()),
        };
        if let Some(field) = fields.get(cursor.index)
            && field.id == id
            && code(field.kind) == found
        {
            cursor.index += 1;
            return Ok(NextField::Known(cursor.index - 1));
        }
        self.other_field(fields, cursor, found, id)
    }

    #[inline]
    fn is_next(&mut self, field: &Field<'_>, _: usize, _: &mut Cursor) -> bool {
        match self.input.rest() {
            [found, a, b, rest @ ..]
                if *found == code(field.kind)
                    && i32::from(i16::from_be_bytes([*a, *b])) == field.id =>
            {
                self.input.set_rest(rest);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn block_layout(&self) -> Option<BlockLayout> {
        Some(BlockLayout::ThriftBinary)
    }

    #[inline]
    fn block(&self, len: usize) -> Option<&'de [u8]> {
        self.input.rest().get(..len)
    }

    #[inline]
    fn pass(&mut self, len: usize) {
        self.input.pass(len);
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.value(self.unknown)
    }
}

#[inline]
const fn least_size(kind: Kind) -> usize {
    wire_size(code(kind)).0
}
