//! Thrift binary: fixed-width, big-endian; every field with its type and id.
//!
//! ```
//! use dovetail_wire::thrift::binary;
//!
//! let bytes = binary::to_bytes(&vec![1i16, -1])?;
//! assert_eq!(bytes, [6, 0, 0, 0, 2, 0, 1, 255, 255]);
//! assert_eq!(binary::from_bytes::<Vec<i16>>(&bytes)?, [1, -1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{field_id, find, invalid_type, length, mismatch};
use crate::blobs;
use crate::depth::Depth;
use crate::input::{Input, negative, truncated};
use crate::{
    Blobs, Budget, Cursor, DecodeError, EncodeError, Field, Kind, Limits, NextField, Out,
    ReadNodes, Sequence, UnknownValue, Value, WrittenNodes,
};
use bytes::Bytes;
use std::borrow::Cow;

pub(crate) const STOP: u8 = 0;
const BOOL: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 4;
const I16: u8 = 6;
const I32: u8 = 8;
const I64: u8 = 10;
const STRING: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;
const UUID: u8 = 16;

#[inline]
const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => BOOL,
        Kind::I8 | Kind::U8 => BYTE,
        Kind::I16 | Kind::U16 => I16,
        Kind::I32 | Kind::U32 | Kind::Enum => I32,
        Kind::I64 | Kind::U64 | Kind::Object => I64,
        Kind::F32 | Kind::F64 => DOUBLE,
        Kind::String | Kind::Bytes => STRING,
        Kind::Uuid => UUID,
        Kind::Struct => STRUCT,
        Kind::List => LIST,
        Kind::Set => SET,
        Kind::Map => MAP,
    }
}

/// What stands before a field whose id fits.
#[inline]
pub(crate) const fn header(field: &Field<'_>) -> [u8; 3] {
    let [.., high, low] = field.id.to_be_bytes();
    [code(field.kind), high, low]
}

fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        BOOL => Kind::Bool,
        BYTE => Kind::I8,
        I16 => Kind::I16,
        I32 => Kind::I32,
        I64 => Kind::I64,
        DOUBLE => Kind::F64,
        STRING => Kind::Bytes,
        UUID => Kind::Uuid,
        STRUCT => Kind::Struct,
        LIST => Kind::List,
        SET => Kind::Set,
        MAP => Kind::Map,
        _ => return None,
    })
}

/// The fewest bytes that a value of a type takes; the exact number where the second is true.
#[inline]
const fn wire_size(code: u8) -> (usize, bool) {
    match code {
        BOOL | BYTE => (1, true),
        I16 => (2, true),
        I32 => (4, true),
        I64 | DOUBLE => (8, true),
        UUID => (16, true),
        STRING => (4, false),
        LIST | SET => (5, false),
        MAP => (6, false),
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

/// Appends values in Thrift binary to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Those that are left where they are; `None` where they are copied.
    blobs: Option<&'a mut Blobs>,
    depth: Depth,
    nodes: WrittenNodes,
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
        }
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), EncodeError> {
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let len = length(bytes.len())?;
        self.out.reserve(4 + bytes.len());
        self.out.extend_from_slice(&len.to_be_bytes());
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let [a, b, c, d] = length(len)?.to_be_bytes();
        let code = code(element);
        // Most elements take little more than the least they can: one growth for the whole list.
        self.out.reserve(5 + len.saturating_mul(wire_size(code).0));
        self.put([code, a, b, c, d])
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.put([u8::from(value)])
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.put(value.to_be_bytes())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        let len = length(value.len())?;
        self.put(len.to_be_bytes())?;
        blobs::put(self.out, self.blobs.as_deref_mut(), value);
        Ok(())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.put(*value)
    }

    #[inline]
    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        self.sequence(element, len)
    }

    #[inline]
    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, len: usize) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let [a, b, c, d] = length(len)?.to_be_bytes();
        self.put([code(key), code(value), a, b, c, d])
    }

    #[inline]
    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        Ok(())
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let [a, b] = field_id(field.id)?.to_be_bytes();
        self.put([code(field.kind), a, b])
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        self.put([STOP])
    }

    #[inline]
    fn blocks(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = self.out.len();
        self.out.resize(start.checked_add(len)?, 0);
        self.out.get_mut(start..)
    }

    fn take_back(&mut self, len: usize) {
        self.out.truncate(self.out.len().saturating_sub(len));
    }

    fn has_id(&self, id: i32) -> bool {
        i16::try_from(id).is_ok()
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

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

    /// A field that is not the next one of the contract; `None` where it was skipped.
    #[inline(never)]
    fn other_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
        found: u8,
        id: i32,
    ) -> Result<Option<NextField>, DecodeError> {
        match find(fields, cursor.index, id) {
            Some(index) if code(fields[index].kind) == found => {
                cursor.index = index + 1;
                Ok(Some(NextField::Known(index)))
            }
            Some(_) => self.skip(found).map(|()| None),
            None => {
                self.unknown = found;
                Ok(Some(NextField::Unknown(id)))
            }
        }
    }

    /// Passes over a value, without allocating; as deep as the budget allows.
    fn skip(&mut self, code: u8) -> Result<(), DecodeError> {
        match wire_size(code) {
            (size, true) => {
                self.input.take(size)?;
            }
            _ => match code {
                STRING => {
                    let len = self.length()?;
                    self.input.take(len)?;
                }
                STRUCT => {
                    self.budget.enter()?;
                    loop {
                        let code = self.input.byte()?;
                        if code == STOP {
                            break;
                        }
                        self.input.array::<2>()?;
                        self.skip(code)?;
                    }
                    self.budget.leave();
                }
                LIST | SET => {
                    let element = self.input.byte()?;
                    let count = self.length()?;
                    self.skip_elements(&[element], count)?;
                }
                MAP => {
                    let types = self.input.array::<2>()?;
                    let count = self.length()?;
                    self.skip_elements(&types, count)?;
                }
                _ => return Err(invalid_type(code)),
            },
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
                    self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
                    fields.push((id.into(), self.value(code)?));
                }
                self.budget.leave();
                UnknownValue::Struct(fields)
            }
            LIST | SET => {
                let element = self.input.byte()?;
                let count = self.length()?;
                let item = size_of::<UnknownValue>();
                self.input
                    .count(count, wire_size(element).0, item, &mut self.budget)?;
                self.budget.enter()?;
                let mut items = Vec::with_capacity(count);
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
}

fn element_kind(code: u8, count: usize) -> Result<Kind, DecodeError> {
    match (kind(code), count) {
        (Some(kind), _) => Ok(kind),
        (None, 0) => Ok(Kind::I8),
        (None, _) => Err(invalid_type(code)),
    }
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    fn nodes(&mut self, memory: usize) -> Result<&mut ReadNodes, DecodeError> {
        self.budget.allocate(memory)?;
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
    fn begin_list(&mut self, element: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let found = self.input.byte()?;
        let count = self.length()?;
        Self::check(element, found, count)?;
        let wire = least_size(element);
        self.input.count(count, wire, size, &mut self.budget)?;
        self.budget.enter()?;
        Ok(Sequence {
            reserve: count,
            append: false,
            state: count,
        })
    }

    #[inline]
    fn begin_map(&mut self, key: Kind, value: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let [found_key, found_value] = self.input.array()?;
        let count = self.length()?;
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
        loop {
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
            if let Some(field) = self.other_field(fields, cursor, found, id)? {
                return Ok(field);
            }
        }
    }

    #[inline]
    fn block(&self, len: usize) -> Option<&'de [u8]> {
        self.input.rest().get(..len)
    }

    #[inline]
    fn pass(&mut self, len: usize) {
        let rest = self.input.rest();
        self.input.set_rest(rest.get(len..).unwrap_or_default());
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
        self.value(self.unknown)
    }
}

#[inline]
const fn least_size(kind: Kind) -> usize {
    wire_size(code(kind)).0
}
