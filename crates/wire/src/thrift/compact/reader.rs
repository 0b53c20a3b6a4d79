use super::{
    BINARY, BYTE, DOUBLE, FALSE, I16, I32, I64, LIST, MAP, SET, STOP, STRUCT, TRUE, UUID, code,
    fits, kind, wire_size,
};
use crate::input::{Input, negative};
use crate::layout::BlockLayout;
use crate::thrift::{find, invalid_type, mismatch, retyped};
use crate::varint::{self, unzigzag};
use crate::{
    Budget, Cursor, DecodeError, Field, Kind, Limits, NextField, ReadNodes, Sequence, UnknownValue,
};
use bytes::Bytes;
use std::borrow::Cow;

/// Reads values in Thrift compact.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    /// The value of a bool field, which came with the field's header.
    bool_field: Option<bool>,
    /// The type of the field that is unknown.
    unknown: u8,
}

impl<'de> Reader<'de> {
    /// Reads from `input`; all bytes are copied.
    pub fn new(input: &'de [u8], limits: Limits) -> Self {
        Self::over(Input::new(input), limits)
    }

    /// Reads from `input`, with which large blobs are shared.
    pub fn shared(input: &'de Bytes, limits: Limits) -> Self {
        Self::over(Input::shared(input), limits)
    }

    fn over(input: Input<'de>, limits: Limits) -> Self {
        Reader {
            input,
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            bool_field: None,
            unknown: STOP,
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    /// A length or count: 31 bits, not zigzag.
    #[inline]
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = varint::read(&mut self.input)?;
        match u32::try_from(length) {
            Ok(bits) => {
                usize::try_from(bits.cast_signed()).map_err(|_| negative(bits.cast_signed().into()))
            }
            Err(_) => Err(varint::overflow()),
        }
    }

    #[inline]
    fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, DecodeError> {
        let value = unzigzag(varint::read(&mut self.input)?);
        T::try_from(value).map_err(|_| varint::overflow())
    }

    /// The type and count at the start of a list or set.
    #[inline]
    fn list_header(&mut self) -> Result<(u8, usize), DecodeError> {
        let header = self.input.byte()?;
        let count = match header >> 4 {
            15 => self.length()?,
            short => short.into(),
        };
        Ok((header & 15, count))
    }

    /// The types and count at the start of a map.
    #[inline]
    fn map_header(&mut self) -> Result<(u8, u8, usize), DecodeError> {
        match self.length()? {
            0 => Ok((STOP, STOP, 0)),
            count => {
                let types = self.input.byte()?;
                Ok((types >> 4, types & 15, count))
            }
        }
    }

    /// The type and id of the next field; `None` at the end of the struct.
    #[inline]
    fn field_header(&mut self, last: i16) -> Result<Option<(u8, i16)>, DecodeError> {
        let header = self.input.byte()?;
        let code = header & 15;
        if code == STOP {
            return Ok(None);
        }
        let id = match header >> 4 {
            0 => self.integer()?,
            delta => match last.checked_add(delta.into()) {
                Some(id) => id,
                None => return Err(DecodeError::malformed("a field id of more than 16 bits")),
            },
        };
        Ok(Some((code, id)))
    }

    /// Checks the type of elements. A list may stand for a set; empty containers have any type.
    #[inline]
    fn check(expected: Kind, found: u8, count: usize) -> Result<(), DecodeError> {
        let same = fits(expected, found)
            || count == 0
            || matches!((expected, found), (Kind::List | Kind::Set, LIST | SET));
        match same {
            true => Ok(()),
            false => Err(mismatch(expected, kind(found))),
        }
    }

    /// The next field, whichever it is.
    #[inline(never)]
    fn any_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        let Some((found, id)) = self.field_header(cursor.last as i16)? else {
            self.budget.leave();
            return Ok(NextField::End);
        };
        cursor.last = id.into();
        let Some(index) = find(fields, cursor.index, id.into()) else {
            self.unknown = found;
            return Ok(NextField::Unknown(id.into()));
        };
        if !fits(fields[index].kind, found) {
            retyped(&fields[index], kind(found))?;
        }
        self.bool_field = field_bool(found);
        cursor.index = index + 1;
        Ok(NextField::Known(index))
    }

    /// Reads an element of which nothing but its type is known.
    fn value(&mut self, code: u8) -> Result<UnknownValue, DecodeError> {
        use crate::Reader as _;
        Ok(match code {
            TRUE | FALSE => UnknownValue::Bool(self.bool()?),
            BYTE => UnknownValue::I8(self.i8()?),
            I16 => UnknownValue::I16(self.i16()?),
            I32 => UnknownValue::I32(self.i32()?),
            I64 => UnknownValue::I64(self.i64()?),
            DOUBLE => UnknownValue::F64(self.f64()?.to_bits()),
            BINARY => UnknownValue::Bytes(self.bytes()?),
            UUID => UnknownValue::Uuid(self.uuid()?),
            STRUCT => {
                self.budget.enter()?;
                let mut fields = Vec::new();
                let mut last = 0;
                while let Some((code, id)) = self.field_header(last)? {
                    last = id;
                    self.budget.room(&mut fields)?;
                    fields.push((id.into(), self.field_value(code)?));
                }
                self.budget.leave();
                UnknownValue::Struct(fields)
            }
            LIST | SET => {
                let (element, count) = self.list_header()?;
                self.input.count(count, wire_size(element).0)?;
                self.budget.enter()?;
                let mut items = Vec::new();
                self.budget.reserve(&mut items, count)?;
                for _ in 0..count {
                    items.push(self.value(element)?);
                }
                self.budget.leave();
                let element = element_kind(element, count)?;
                match code {
                    LIST => UnknownValue::List(element, items),
                    _ => UnknownValue::Set(element, items),
                }
            }
            MAP => {
                let (key, value, count) = self.map_header()?;
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

    /// Reads a field's value of which nothing but its type is known.
    fn field_value(&mut self, code: u8) -> Result<UnknownValue, DecodeError> {
        match field_bool(code) {
            Some(value) => Ok(UnknownValue::Bool(value)),
            None => self.value(code),
        }
    }
}

/// The value of a bool field, if it is one.
#[inline]
fn field_bool(code: u8) -> Option<bool> {
    match code {
        TRUE => Some(true),
        FALSE => Some(false),
        _ => None,
    }
}

/// The kind of a container's elements. One of nothing has lost its type: compact does not send that
/// of empty maps.
fn element_kind(code: u8, count: usize) -> Result<Kind, DecodeError> {
    match (kind(code), count) {
        (Some(kind), _) => Ok(kind),
        (None, 0) => Ok(Kind::I8),
        (None, _) => Err(invalid_type(code)),
    }
}

#[inline]
const fn least_size(kind: Kind) -> usize {
    wire_size(code(kind)).0
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
        if let Some(value) = self.bool_field.take() {
            return Ok(value);
        }
        match self.input.byte()? {
            TRUE => Ok(true),
            // The specification's form and that of Apache's libraries.
            0 | FALSE => Ok(false),
            _ => Err(DecodeError::malformed("a bool that is neither 0, 1 nor 2")),
        }
    }

    #[inline]
    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.input.byte().map(u8::cast_signed)
    }

    #[inline]
    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.integer()
    }

    #[inline]
    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.integer()
    }

    #[inline]
    fn i64(&mut self) -> Result<i64, DecodeError> {
        varint::read(&mut self.input).map(unzigzag)
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
        let (found, count) = self.list_header()?;
        Self::check(element, found, count)?;
        self.input.count(count, least_size(element))?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        let (found_key, found_value, count) = self.map_header()?;
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
        // The contract's next field by a short header, or the end; all else is out of line.
        if let [STOP, rest @ ..] = self.input.rest() {
            self.input.set_rest(rest);
            self.budget.leave();
            return Ok(NextField::End);
        }
        if let Some(field) = fields.get(cursor.index)
            && self.is_next(field, cursor.index, cursor)
        {
            cursor.index += 1;
            return Ok(NextField::Known(cursor.index - 1));
        }
        self.any_field(fields, cursor)
    }

    #[inline]
    fn is_next(&mut self, field: &Field<'_>, _: usize, cursor: &mut Cursor) -> bool {
        let [header, rest @ ..] = self.input.rest() else {
            return false;
        };
        let (delta, found) = (header >> 4, header & 15);
        // Without a difference the id follows the header.
        let is =
            delta != 0 && field.id == cursor.last + i32::from(delta) && fits(field.kind, found);
        if is {
            self.input.set_rest(rest);
            self.bool_field = field_bool(found);
            cursor.last = field.id;
        }
        is
    }

    #[inline]
    fn block_layout(&self) -> Option<BlockLayout> {
        Some(BlockLayout::ThriftCompact)
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
        self.field_value(self.unknown)
    }
}
