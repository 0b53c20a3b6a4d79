//! Thrift compact: base 128 integers, field ids as differences, a bool inside its field's header.
//!
//! ```
//! use dovetail_wire::thrift::compact;
//!
//! let bytes = compact::to_bytes(&vec![1i16, -1])?;
//! assert_eq!(bytes, [0x24, 2, 1]);
//! assert_eq!(compact::from_bytes::<Vec<i16>>(&bytes)?, [1, -1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{field_id, find, invalid_type, length, mismatch};
use crate::blobs;
use crate::depth::Depth;
use crate::input::{Input, negative};
use crate::stack::Stack;
use crate::varint::{self, unzigzag, zigzag};
use crate::{
    Blobs, Budget, Cursor, DecodeError, EncodeError, Field, Kind, Limits, NextField, Out,
    ReadNodes, Sequence, UnknownValue, Value, WrittenNodes,
};
use bytes::Bytes;
use std::borrow::Cow;

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// The type in a container's header, and in a field's, where a bool is `TRUE` or `FALSE` by its value.
#[inline]
const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => TRUE,
        Kind::I8 | Kind::U8 => BYTE,
        Kind::I16 | Kind::U16 => I16,
        Kind::I32 | Kind::U32 | Kind::Enum => I32,
        Kind::I64 | Kind::U64 | Kind::Object => I64,
        Kind::F32 | Kind::F64 => DOUBLE,
        Kind::String | Kind::Bytes => BINARY,
        Kind::Uuid => UUID,
        Kind::Struct => STRUCT,
        Kind::List => LIST,
        Kind::Set => SET,
        Kind::Map => MAP,
    }
}

fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        TRUE | FALSE => Kind::Bool,
        BYTE => Kind::I8,
        I16 => Kind::I16,
        I32 => Kind::I32,
        I64 => Kind::I64,
        DOUBLE => Kind::F64,
        BINARY => Kind::Bytes,
        UUID => Kind::Uuid,
        STRUCT => Kind::Struct,
        LIST => Kind::List,
        SET => Kind::Set,
        MAP => Kind::Map,
        _ => return None,
    })
}

/// True where a value of this type in a field may be read as the contract's kind.
#[inline]
fn fits(kind: Kind, found: u8) -> bool {
    code(kind) == found || (found == FALSE && matches!(kind, Kind::Bool))
}

/// The fewest bytes that a value of a type takes; the exact number where the second is true.
#[inline]
const fn wire_size(code: u8) -> (usize, bool) {
    match code {
        TRUE | FALSE | BYTE => (1, true),
        DOUBLE => (8, true),
        UUID => (16, true),
        _ => (1, false),
    }
}

/// Appends a value to a new buffer.
pub fn to_bytes<T: Value>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    value.write(&mut Writer::new(&mut out, Limits::default()))?;
    Ok(out)
}

/// Reads a value that takes the whole input, under the default [`Limits`].
pub fn from_bytes<T: Value>(input: &[u8]) -> Result<T, DecodeError> {
    let mut value = T::default();
    let mut reader = Reader::new(input, Limits::default());
    value.read(&mut reader)?;
    crate::encoding::finish(reader.position(), input.len())?;
    Ok(value)
}

/// Appends values in Thrift compact to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Those that are left where they are; `None` where they are copied.
    blobs: Option<&'a mut Blobs>,
    depth: Depth,
    nodes: WrittenNodes,
    /// The id of the struct's field before this one.
    last: i16,
    /// A bool field that waits for its value.
    bool_field: Option<i16>,
    /// The same of the structs around this one.
    outer: Stack,
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Self::to(out.into(), limits)
    }

    /// The same; large blobs may be left where they are.
    pub(crate) fn to(out: Out<'a>, limits: Limits) -> Self {
        Writer {
            out: out.buffer,
            blobs: out.blobs,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
            last: 0,
            bool_field: None,
            outer: Stack::default(),
        }
    }

    #[inline]
    fn header(&mut self, code: u8, id: i16) {
        let delta = i32::from(id) - i32::from(self.last);
        self.last = id;
        match delta {
            1..=15 => self.out.push((delta as u8) << 4 | code),
            _ => {
                self.out.push(code);
                varint::write(self.out, zigzag(id.into()));
            }
        }
    }

    #[inline]
    fn varint(&mut self, value: i64) -> Result<(), EncodeError> {
        varint::write(self.out, zigzag(value));
        Ok(())
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = length(bytes.len())?;
        self.out.reserve(5 + bytes.len());
        varint::write(self.out, len.cast_unsigned().into());
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        let code = if value { TRUE } else { FALSE };
        match self.bool_field.take() {
            Some(id) => self.header(code, id),
            None => self.out.push(code),
        }
        Ok(())
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.out.push(value.cast_unsigned());
        Ok(())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.varint(value.into())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.varint(value.into())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.varint(value)
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        let len = length(value.len())?;
        varint::write(self.out, len.cast_unsigned().into());
        blobs::put(self.out, self.blobs.as_deref_mut(), value);
        Ok(())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let code = code(element);
        let count = length(len)?;
        self.out.reserve(6 + len.saturating_mul(wire_size(code).0));
        if len < 15 {
            self.out.push((len as u8) << 4 | code);
        } else {
            self.out.push(0xf0 | code);
            varint::write(self.out, count.cast_unsigned().into());
        }
        Ok(())
    }

    #[inline]
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        varint::write(self.out, length(len)?.cast_unsigned().into());
        if len > 0 {
            self.out.push(code(key) << 4 | code(value));
        }
        Ok(())
    }

    #[inline]
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()?;
        self.outer.push(self.last.into());
        self.last = 0;
        Ok(())
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let id = field_id(field.id)?;
        match field.kind {
            Kind::Bool => self.bool_field = Some(id),
            kind => self.header(code(kind), id),
        }
        Ok(())
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        self.last = self.outer.pop() as i16;
        self.out.push(STOP);
        Ok(())
    }

    fn has_id(&self, id: i32) -> bool {
        i16::try_from(id).is_ok()
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

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
        loop {
            let Some((found, id)) = self.field_header(cursor.last as i16)? else {
                self.budget.leave();
                return Ok(NextField::End);
            };
            cursor.last = id.into();
            match find(fields, cursor.index, id.into()) {
                Some(index) if fits(fields[index].kind, found) => {
                    self.bool_field = field_bool(found);
                    cursor.index = index + 1;
                    return Ok(NextField::Known(index));
                }
                Some(_) => self.skip_field(found)?,
                None => {
                    self.unknown = found;
                    return Ok(NextField::Unknown(id.into()));
                }
            }
        }
    }

    /// Passes over the value of a field, without allocating; as deep as the budget allows.
    fn skip_field(&mut self, code: u8) -> Result<(), DecodeError> {
        match code {
            TRUE | FALSE => Ok(()),
            code => self.skip(code),
        }
    }

    /// Passes over an element.
    fn skip(&mut self, code: u8) -> Result<(), DecodeError> {
        match code {
            BYTE | TRUE | FALSE | DOUBLE | UUID => {
                self.input.take(wire_size(code).0)?;
            }
            I16 | I32 | I64 => {
                varint::read(&mut self.input)?;
            }
            BINARY => {
                let len = self.length()?;
                self.input.take(len)?;
            }
            STRUCT => {
                self.budget.enter()?;
                let mut last = 0;
                while let Some((code, id)) = self.field_header(last)? {
                    last = id;
                    self.skip_field(code)?;
                }
                self.budget.leave();
            }
            LIST | SET => {
                let (element, count) = self.list_header()?;
                self.skip_elements(&[element], count)?;
            }
            MAP => {
                let (key, value, count) = self.map_header()?;
                self.skip_elements(&[key, value], count)?;
            }
            _ => return Err(invalid_type(code)),
        }
        Ok(())
    }

    fn skip_elements(&mut self, types: &[u8], count: usize) -> Result<(), DecodeError> {
        self.budget.enter()?;
        let sizes = types.iter().map(|code| wire_size(*code));
        let (size, fixed) = sizes.fold((0, true), |(sum, all), (size, fixed)| {
            (sum + size, all && fixed)
        });
        self.input.count(count, size, 0, &mut self.budget)?;
        if fixed {
            self.input.take(count * size)?;
        } else {
            for _ in 0..count {
                types.iter().try_for_each(|code| self.skip(*code))?;
            }
        }
        self.budget.leave();
        Ok(())
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
                    self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
                    fields.push((id.into(), self.field_value(code)?));
                }
                self.budget.leave();
                UnknownValue::Struct(fields)
            }
            LIST | SET => {
                let (element, count) = self.list_header()?;
                let item = size_of::<UnknownValue>();
                self.input
                    .count(count, wire_size(element).0, item, &mut self.budget)?;
                self.budget.enter()?;
                let mut items = Vec::with_capacity(count);
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
                let entry = size_of::<(UnknownValue, UnknownValue)>();
                self.input.count(count, size, entry, &mut self.budget)?;
                self.budget.enter()?;
                let mut entries = Vec::with_capacity(count);
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

/// The kind of a container's elements. One of nothing has lost its type: compact does not send that of
/// empty maps.
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
    fn nodes(&mut self, memory: usize) -> Result<&mut ReadNodes, DecodeError> {
        self.budget.allocate(memory)?;
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
    fn begin_list(&mut self, element: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let (found, count) = self.list_header()?;
        Self::check(element, found, count)?;
        self.input
            .count(count, least_size(element), size, &mut self.budget)?;
        self.budget.enter()?;
        Ok(Sequence {
            reserve: count,
            append: false,
            state: count,
        })
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let (found_key, found_value, count) = self.map_header()?;
        Self::check(key, found_key, count)?;
        Self::check(value, found_value, count)?;
        let wire = least_size(key) + least_size(value);
        self.input.count(count, wire, size, &mut self.budget)?;
        self.budget.enter()?;
        Ok(Sequence {
            reserve: count,
            append: false,
            state: count,
        })
    }

    #[inline]
    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        match sequence.state.checked_sub(1) {
            Some(left) => {
                sequence.state = left;
                Ok(true)
            }
            None => {
                self.budget.leave();
                Ok(false)
            }
        }
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
        if let [header, rest @ ..] = self.input.rest() {
            if *header == STOP {
                self.input.set_rest(rest);
                self.budget.leave();
                return Ok(NextField::End);
            }
            let (delta, found) = (header >> 4, header & 15);
            if delta != 0
                && let Some(field) = fields.get(cursor.index)
                && field.id == cursor.last + i32::from(delta)
                && fits(field.kind, found)
            {
                self.input.set_rest(rest);
                self.bool_field = field_bool(found);
                cursor.last = field.id;
                cursor.index += 1;
                return Ok(NextField::Known(cursor.index - 1));
            }
        }
        self.any_field(fields, cursor)
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
        self.field_value(self.unknown)
    }
}
