//! CBOR (RFC 8949) as an encoding: a [`Writer`], a [`Reader`], and the [`Codec`] that makes them.
//!
//! | value | CBOR |
//! |---|---|
//! | struct | map of indefinite length, field id → value |
//! | list, set | array |
//! | map | map |
//! | integers, enums | unsigned or negative integer; unsigned types as the signed ones of their width |
//! | floating point | binary64 |
//! | string, bytes | text, byte string |
//! | uuid | tag 37 with 16 bytes |
//!
//! A struct says nothing about its length before it ends, as nobody counts the fields that are
//! present. Other forms of CBOR (tags, half precision, text in chunks) are refused, not guessed at.

use dovetail::encoding::{
    Budget, Codec, Cursor, DecodeError, DecodeErrorKind, EncodeError, Field, Kind, Limits,
    NextField, ReadNodes, Reader, Sequence, UnknownValue, Writer, WrittenNodes,
};
use dovetail::types::Bytes;
use std::borrow::Cow;

/// The encoding. One `static` of it serves all connections.
pub struct Cbor;

impl Codec for Cbor {
    fn name(&self) -> &'static str {
        "cbor"
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        body(&mut CborWriter {
            out,
            depth: 0,
            limit: limits.depth,
            nodes: WrittenNodes::default(),
        })
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let mut reader = CborReader::new(input, limits);
        body(&mut reader)?;
        Ok(reader.position())
    }
}

// The major types (section 3.1), in the upper three bits of an item's first byte.
pub(crate) const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
pub(crate) const TEXT: u8 = 3 << 5;
pub(crate) const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;

/// The lower five bits of an item that comes in pieces, and ends with a break.
const INDEFINITE: u8 = 31;

const FALSE: u8 = 0xF4;
const TRUE: u8 = 0xF5;
const DOUBLE: u8 = 0xFB;
const OPEN_MAP: u8 = MAP | INDEFINITE;
const BREAK: u8 = 0xFF;
const UUID_TAG: u64 = 37;

/// Writes the head of an item: its major type and argument (section 3).
pub(crate) fn put_head(out: &mut Vec<u8>, major: u8, argument: u64) {
    match argument {
        0..24 => out.push(major | argument as u8),
        24..0x100 => out.extend([major | 24, argument as u8]),
        0x100..0x1_0000 => {
            out.push(major | 25);
            out.extend((argument as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(major | 26);
            out.extend((argument as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend(argument.to_be_bytes());
        }
    }
}

/// Writes an integer; a negative one as its complement (section 3.1).
pub(crate) fn put_integer(out: &mut Vec<u8>, value: i64) {
    match u64::try_from(value) {
        Ok(value) => put_head(out, UNSIGNED, value),
        Err(_) => put_head(out, NEGATIVE, !value as u64),
    }
}

struct CborWriter<'a> {
    out: &'a mut Vec<u8>,
    depth: usize,
    limit: usize,
    nodes: WrittenNodes,
}

impl CborWriter<'_> {
    fn open(&mut self) -> Result<(), EncodeError> {
        if self.depth == self.limit {
            return Err(EncodeError::TooDeep { limit: self.limit });
        }
        self.depth += 1;
        Ok(())
    }

    fn integer(&mut self, value: i64) -> Result<(), EncodeError> {
        put_integer(self.out, value);
        Ok(())
    }
}

impl Writer for CborWriter<'_> {
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.out.push(if value { TRUE } else { FALSE });
        Ok(())
    }

    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.integer(value.into())
    }

    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.integer(value.into())
    }

    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.integer(value.into())
    }

    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.integer(value)
    }

    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.out.push(DOUBLE);
        self.out.extend(value.to_be_bytes());
        Ok(())
    }

    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        put_head(self.out, TEXT, value.len() as u64);
        self.out.extend(value.as_bytes());
        Ok(())
    }

    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        put_head(self.out, BYTES, value.len() as u64);
        self.out.extend(value);
        Ok(())
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        put_head(self.out, TAG, UUID_TAG);
        put_head(self.out, BYTES, 16);
        self.out.extend(value);
        Ok(())
    }

    fn begin_list(&mut self, _: Kind, len: usize) -> Result<(), EncodeError> {
        put_head(self.out, ARRAY, len as u64);
        self.open()
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.depth -= 1;
        Ok(())
    }

    fn begin_map(&mut self, _: Kind, _: Kind, len: usize) -> Result<(), EncodeError> {
        put_head(self.out, MAP, len as u64);
        self.open()
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.depth -= 1;
        Ok(())
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.out.push(OPEN_MAP);
        self.open()
    }

    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        self.integer(field.id.into())
    }

    fn end_field(&mut self) -> Result<(), EncodeError> {
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.out.push(BREAK);
        self.depth -= 1;
        Ok(())
    }

    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    fn as_dyn(&mut self) -> &mut dyn Writer {
        self
    }
}

/// The head of an item, read.
#[derive(Clone, Copy)]
struct Head {
    first: u8,
    argument: u64,
}

impl Head {
    fn major(self) -> u8 {
        major(self.first)
    }

    fn indefinite(self) -> bool {
        self.first & INDEFINITE == INDEFINITE
    }
}

fn major(first: u8) -> u8 {
    first & 0xE0
}

/// Reads items off the front of some bytes.
pub(crate) struct CborReader<'de> {
    input: &'de [u8],
    at: usize,
    budget: Budget,
    nodes: ReadNodes,
}

impl<'de> CborReader<'de> {
    pub(crate) fn new(input: &'de [u8], limits: Limits) -> Self {
        CborReader {
            input,
            at: 0,
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
        }
    }

    /// How many bytes have been read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Result<u8, DecodeError> {
        Ok(*self.input.get(self.at).ok_or(DecodeErrorKind::Truncated)?)
    }

    fn head(&mut self) -> Result<Head, DecodeError> {
        let first = self.peek()?;
        let width = match first & 0x1F {
            0..24 | INDEFINITE => 0,
            info @ 24..28 => 1 << (info - 24),
            _ => return Err(DecodeErrorKind::InvalidType { found: first }.into()),
        };
        let start = self.at + 1;
        let more = self.input.get(start..start + width);
        let more = more.ok_or(DecodeErrorKind::Truncated)?;
        self.at = start + width;
        let argument = match more {
            [] => u64::from(first & 0x1F),
            _ => more
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        };
        Ok(Head { first, argument })
    }

    /// The argument of an item of this major type: its length, its count, its tag.
    pub(crate) fn expect(&mut self, major: u8, kind: Kind) -> Result<u64, DecodeError> {
        let head = self.head()?;
        match head.major() == major && !head.indefinite() {
            true => Ok(head.argument),
            false => Err(mismatch(kind, head.first)),
        }
    }

    fn integer<T: TryFrom<i64>>(&mut self, kind: Kind) -> Result<T, DecodeError> {
        let head = self.head()?;
        let number = match (head.major(), i64::try_from(head.argument)) {
            _ if head.indefinite() => return Err(mismatch(kind, head.first)),
            (UNSIGNED, Ok(number)) => Some(number),
            (NEGATIVE, Ok(complement)) => Some(!complement),
            (UNSIGNED | NEGATIVE, Err(_)) => None,
            _ => return Err(mismatch(kind, head.first)),
        };
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| DecodeError::malformed(format!("an integer that is no {kind:?}")))
    }

    /// Reads the bytes of text or of a byte string. Either serves for both: a relay that does not
    /// know a field cannot know which of the two it was.
    fn octets(&mut self, kind: Kind) -> Result<&'de [u8], DecodeError> {
        let head = self.head()?;
        match head.major() {
            TEXT | BYTES if !head.indefinite() => {}
            _ => return Err(mismatch(kind, head.first)),
        }
        let octets = self.take(head.argument)?;
        self.budget.allocate(octets.len())?;
        Ok(octets)
    }

    /// The next `length` bytes; compared with what is there before anything is done with it.
    fn take(&mut self, length: u64) -> Result<&'de [u8], DecodeError> {
        let left = self.input.len() - self.at;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= left)
            .ok_or(DecodeErrorKind::LengthBeyondInput { length, left })?;
        let taken = &self.input[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    /// A count of elements, each of which takes a byte at least.
    fn count(&mut self, count: u64) -> Result<Sequence, DecodeError> {
        let left = self.input.len() - self.at;
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= left)
            .ok_or(DecodeErrorKind::LengthBeyondInput {
                length: count,
                left,
            })?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }

    /// Reads any item: the value of a field that the contract does not have.
    fn any(&mut self) -> Result<UnknownValue, DecodeError> {
        let first = self.peek()?;
        Ok(match major(first) {
            UNSIGNED | NEGATIVE => UnknownValue::I64(self.i64()?),
            TEXT | BYTES => UnknownValue::Bytes(self.bytes()?),
            TAG => UnknownValue::Uuid(self.uuid()?),
            ARRAY => {
                let mut sequence = self.begin_list(Kind::Bytes)?;
                let mut items = Vec::new();
                self.budget.reserve(&mut items, sequence.reserve)?;
                while self.next_element(&mut sequence)? {
                    items.push(self.any()?);
                }
                UnknownValue::List(one_kind(items.iter())?, items)
            }
            MAP if first == OPEN_MAP => {
                self.begin_struct()?;
                let (mut fields, mut cursor) = (Vec::new(), Cursor::default());
                while let NextField::Unknown(id) = self.next_field(&[], &mut cursor)? {
                    self.budget.room(&mut fields)?;
                    fields.push((id, self.any()?));
                }
                UnknownValue::Struct(fields)
            }
            MAP => {
                let mut sequence = self.begin_map(Kind::Bytes, Kind::Bytes)?;
                let mut entries = Vec::new();
                self.budget.reserve(&mut entries, sequence.reserve)?;
                while self.next_element(&mut sequence)? {
                    entries.push((self.any()?, self.any()?));
                }
                let key = one_kind(entries.iter().map(|entry| &entry.0))?;
                let value = one_kind(entries.iter().map(|entry| &entry.1))?;
                UnknownValue::Map(key, value, entries)
            }
            _ => match first {
                FALSE | TRUE => UnknownValue::Bool(self.bool()?),
                DOUBLE => UnknownValue::F64(self.f64()?.to_bits()),
                found => return Err(DecodeErrorKind::InvalidType { found }.into()),
            },
        })
    }
}

impl<'de> Reader<'de> for CborReader<'de> {
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn nodes(&mut self) -> Result<&mut ReadNodes, DecodeError> {
        Ok(&mut self.nodes)
    }

    fn bool(&mut self) -> Result<bool, DecodeError> {
        let first = self.peek()?;
        self.at += 1;
        match first {
            FALSE => Ok(false),
            TRUE => Ok(true),
            other => Err(mismatch(Kind::Bool, other)),
        }
    }

    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.integer(Kind::I8)
    }

    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.integer(Kind::I16)
    }

    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.integer(Kind::I32)
    }

    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.integer(Kind::I64)
    }

    fn f64(&mut self) -> Result<f64, DecodeError> {
        let head = self.head()?;
        match head.first == DOUBLE {
            true => Ok(f64::from_bits(head.argument)),
            false => Err(mismatch(Kind::F64, head.first)),
        }
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let text = self.octets(Kind::String)?;
        self.budget.block(text.len())?;
        let text = std::str::from_utf8(text).map_err(|_| DecodeErrorKind::InvalidUtf8)?;
        Ok(Cow::Borrowed(text))
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let bytes = self.octets(Kind::Bytes)?;
        self.budget.block(bytes.len())?;
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        let tag = self.expect(TAG, Kind::Uuid)?;
        let length = self.expect(BYTES, Kind::Uuid)?;
        match (tag, self.take(length)?.try_into()) {
            (UUID_TAG, Ok(uuid)) => Ok(uuid),
            _ => Err(DecodeError::malformed("a tag other than 37 with 16 bytes")),
        }
    }

    fn begin_list(&mut self, _: Kind) -> Result<Sequence, DecodeError> {
        let count = self.expect(ARRAY, Kind::List)?;
        self.count(count)
    }

    fn begin_map(&mut self, _: Kind, _: Kind) -> Result<Sequence, DecodeError> {
        let count = self.expect(MAP, Kind::Map)?;
        self.count(count)
    }

    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        Ok(sequence.next_counted(&mut self.budget))
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        match self.peek()? {
            OPEN_MAP => {
                self.at += 1;
                self.budget.enter()
            }
            other => Err(mismatch(Kind::Struct, other)),
        }
    }

    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        loop {
            if self.peek()? == BREAK {
                self.at += 1;
                self.budget.leave();
                return Ok(NextField::End);
            }
            let id = self.i32()?;
            let in_order = fields
                .get(cursor.index)
                .filter(|field| field.id == id)
                .map(|_| cursor.index);
            let Some(index) = in_order.or_else(|| fields.iter().position(|field| field.id == id))
            else {
                return Ok(NextField::Unknown(id));
            };
            cursor.index = index + 1;
            if fits(fields[index].kind, self.peek()?) {
                return Ok(NextField::Known(index));
            }
            // A value of another kind than the contract's is skipped, as in every encoding.
            self.any()?;
        }
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.any()
    }
}

/// Whether an item that begins with this byte can be a value of this kind.
fn fits(kind: Kind, first: u8) -> bool {
    match kind {
        Kind::Bool => matches!(first, FALSE | TRUE),
        Kind::F32 | Kind::F64 => first == DOUBLE,
        Kind::String | Kind::Bytes => matches!(major(first), TEXT | BYTES),
        Kind::Uuid => major(first) == TAG,
        Kind::Struct => first == OPEN_MAP,
        Kind::List | Kind::Set => major(first) == ARRAY,
        Kind::Map => major(first) == MAP && first != OPEN_MAP,
        _ => matches!(major(first), UNSIGNED | NEGATIVE),
    }
}

/// The kind of all these values. CBOR would mix them; the encodings that they may be sent on in do
/// not.
fn one_kind<'a>(values: impl Iterator<Item = &'a UnknownValue>) -> Result<Kind, DecodeError> {
    let mut kinds = values.filter_map(UnknownValue::kind);
    let Some(first) = kinds.next() else {
        return Ok(Kind::Bytes);
    };
    match kinds.all(|kind| kind == first) {
        true => Ok(first),
        false => Err(DecodeError::malformed(
            "a container with values of several kinds",
        )),
    }
}

fn mismatch(expected: Kind, first: u8) -> DecodeError {
    let found = match major(first) {
        _ if first == OPEN_MAP => "a struct",
        _ if first & INDEFINITE == INDEFINITE => "an item of indefinite length",
        UNSIGNED | NEGATIVE => "an integer",
        BYTES => "a byte string",
        TEXT => "text",
        ARRAY => "an array",
        MAP => "a map",
        TAG => "a tag",
        _ => "a simple value",
    };
    DecodeErrorKind::TypeMismatch {
        expected,
        found: found.into(),
    }
    .into()
}
