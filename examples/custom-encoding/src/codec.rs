//! CBOR (RFC 8949) as an encoding of Dovetail's messages: a `Writer`, a `Reader`, and the `Codec` that makes them.
//!
//! | Dovetail | CBOR |
//! |---|---|
//! | struct | map of indefinite length, field id → value |
//! | list, set | array |
//! | map | map |
//! | integers, enums | unsigned or negative integer |
//! | floating point | binary64 |
//! | string, bytes | text, byte string |
//! | uuid | tag 37 with 16 bytes |

use dovetail::wire::{
    Budget, Bytes, Codec, DecodeError, DecodeErrorKind, EncodeError, Field, Kind, Limits, NextField, Reader,
    Sequence, UnknownValue, Writer,
};
use std::borrow::Cow;

/// The encoding. One `static` of it serves all connections.
pub struct Cbor;

impl Codec for Cbor {
    fn name(&self) -> &str {
        "cbor"
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        body(&mut CborWriter { out, depth: 0, limit: limits.depth })
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let mut reader = CborReader { input, at: 0, budget: Budget::new(limits) };
        body(&mut reader)?;
        Ok(reader.at)
    }
}

// The major types of RFC 8949, section 3.1, in the upper three bits.
pub(crate) const UNSIGNED: u8 = 0 << 5;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
pub(crate) const TEXT: u8 = 3 << 5;
pub(crate) const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;

const FALSE: u8 = 0xF4;
const TRUE: u8 = 0xF5;
const DOUBLE: u8 = 0xFB;
const OPEN_MAP: u8 = 0xBF;
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

    fn as_dyn(&mut self) -> &mut dyn Writer {
        self
    }
}

/// The head of an item, read.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) major: u8,
    /// The low five bits of the first byte.
    info: u8,
    pub(crate) argument: u64,
}

/// Reads the head at `input[*at..]` and moves `at` behind it.
pub(crate) fn take_head(input: &[u8], at: &mut usize) -> Result<Head, DecodeError> {
    let first = *input.get(*at).ok_or(DecodeErrorKind::Truncated)?;
    let info = first & 0x1F;
    let width = match info {
        0..24 | 31 => 0,
        24..28 => 1 << (info - 24),
        _ => return Err(DecodeErrorKind::InvalidType { found: first }.into()),
    };
    let rest = input.get(*at + 1..*at + 1 + width).ok_or(DecodeErrorKind::Truncated)?;
    let argument = match width {
        0 => u64::from(info),
        _ => rest.iter().fold(0, |argument, byte| argument << 8 | u64::from(*byte)),
    };
    *at += 1 + width;
    Ok(Head { major: first & 0xE0, info, argument })
}

/// The integer that a head stands for.
pub(crate) fn integer(head: Head) -> Result<i64, DecodeError> {
    match (head.major, i64::try_from(head.argument)) {
        (UNSIGNED, Ok(value)) => Ok(value),
        (NEGATIVE, Ok(value)) => Ok(!value),
        _ => Err(DecodeError::malformed("expected an integer of at most 64 bits")),
    }
}

struct CborReader<'de> {
    input: &'de Bytes,
    at: usize,
    budget: Budget,
}

impl<'de> CborReader<'de> {
    fn peek(&self) -> Result<u8, DecodeError> {
        Ok(*self.input.get(self.at).ok_or(DecodeErrorKind::Truncated)?)
    }

    fn head(&mut self) -> Result<Head, DecodeError> {
        take_head(self.input, &mut self.at)
    }

    fn expect(&mut self, major: u8, kind: Kind) -> Result<u64, DecodeError> {
        let head = self.head()?;
        match head.major == major && head.info != 31 {
            true => Ok(head.argument),
            false => Err(mismatch(kind, head.major)),
        }
    }

    fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, DecodeError> {
        T::try_from(integer(self.head()?)?)
            .map_err(|_| DecodeError::malformed("an integer that its type cannot hold"))
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
    fn count(&mut self, count: u64, size: usize) -> Result<Sequence, DecodeError> {
        let left = self.input.len() - self.at;
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= left)
            .ok_or(DecodeErrorKind::LengthBeyondInput { length: count, left })?;
        self.budget.enter()?;
        self.budget.allocate(count.saturating_mul(size))?;
        Ok(Sequence { reserve: count, append: false, state: count })
    }

    /// Reads any item.
    fn any(&mut self) -> Result<UnknownValue, DecodeError> {
        let first = self.peek()?;
        Ok(match first & 0xE0 {
            UNSIGNED | NEGATIVE => UnknownValue::I64(self.integer()?),
            BYTES => UnknownValue::Bytes(self.bytes()?),
            TEXT => UnknownValue::Bytes(Bytes::copy_from_slice(self.string()?.as_bytes())),
            TAG => UnknownValue::Uuid(self.uuid()?),
            ARRAY => {
                let mut sequence = self.begin_list(Kind::Bytes, size_of::<UnknownValue>())?;
                let mut items = Vec::new();
                while self.next_element(&mut sequence)? {
                    items.push(self.any()?);
                }
                UnknownValue::List(element_kind(items.first()), items)
            }
            MAP if first == OPEN_MAP => {
                self.begin_struct()?;
                let (mut fields, mut hint) = (Vec::new(), 0);
                while let NextField::Unknown(id) = self.next_field(&[], &mut hint)? {
                    self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
                    fields.push((id, self.any()?));
                }
                UnknownValue::Struct(fields)
            }
            MAP => {
                let size = size_of::<(UnknownValue, UnknownValue)>();
                let mut sequence = self.begin_map(Kind::Bytes, Kind::Bytes, size)?;
                let mut entries = Vec::new();
                while self.next_element(&mut sequence)? {
                    entries.push((self.any()?, self.any()?));
                }
                let key = element_kind(entries.first().map(|entry| &entry.0));
                let value = element_kind(entries.first().map(|entry| &entry.1));
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
    fn bool(&mut self) -> Result<bool, DecodeError> {
        let first = self.peek()?;
        self.at += 1;
        match first {
            FALSE => Ok(false),
            TRUE => Ok(true),
            other => Err(mismatch(Kind::Bool, other & 0xE0)),
        }
    }

    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.integer()
    }

    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.integer()
    }

    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.integer()
    }

    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.integer()
    }

    fn f64(&mut self) -> Result<f64, DecodeError> {
        let head = self.head()?;
        match (head.major | head.info) == DOUBLE {
            true => Ok(f64::from_bits(head.argument)),
            false => Err(mismatch(Kind::F64, head.major)),
        }
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let length = self.expect(TEXT, Kind::String)?;
        let text = self.take(length)?;
        self.budget.allocate(text.len())?;
        let text = std::str::from_utf8(text).map_err(|_| DecodeErrorKind::InvalidUtf8)?;
        Ok(Cow::Borrowed(text))
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let length = self.expect(BYTES, Kind::Bytes)?;
        let bytes = self.take(length)?;
        self.budget.allocate(bytes.len())?;
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

    fn begin_list(&mut self, _: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let count = self.expect(ARRAY, Kind::List)?;
        self.count(count, size)
    }

    fn begin_map(&mut self, _: Kind, _: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let count = self.expect(MAP, Kind::Map)?;
        self.count(count, size)
    }

    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        match sequence.state.checked_sub(1) {
            Some(left) => sequence.state = left,
            None => {
                self.budget.leave();
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        match self.peek()? {
            OPEN_MAP => {
                self.at += 1;
                self.budget.enter()
            }
            other => Err(mismatch(Kind::Struct, other & 0xE0)),
        }
    }

    fn next_field(&mut self, fields: &[Field<'_>], hint: &mut usize) -> Result<NextField, DecodeError> {
        loop {
            if self.peek()? == BREAK {
                self.at += 1;
                self.budget.leave();
                return Ok(NextField::End);
            }
            let id: i32 = self.integer()?;
            let in_order = fields.get(*hint).filter(|field| field.id == id).map(|_| *hint);
            let Some(index) = in_order.or_else(|| fields.iter().position(|field| field.id == id)) else {
                return Ok(NextField::Unknown(id));
            };
            *hint = index + 1;
            if fits(fields[index].kind, self.peek()?) {
                return Ok(NextField::Known(index));
            }
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
        Kind::String => first & 0xE0 == TEXT,
        Kind::Bytes => first & 0xE0 == BYTES,
        Kind::Uuid => first & 0xE0 == TAG,
        Kind::Struct => first == OPEN_MAP,
        Kind::List | Kind::Set => first & 0xE0 == ARRAY,
        Kind::Map => first & 0xE0 == MAP && first != OPEN_MAP,
        _ => matches!(first & 0xE0, UNSIGNED | NEGATIVE),
    }
}

fn element_kind(first: Option<&UnknownValue>) -> Kind {
    first.and_then(UnknownValue::kind).unwrap_or(Kind::Bytes)
}

fn mismatch(expected: Kind, major: u8) -> DecodeError {
    let found = match major {
        UNSIGNED | NEGATIVE => "an integer",
        BYTES => "a byte string",
        TEXT => "text",
        ARRAY => "an array",
        MAP => "a map",
        TAG => "a tag",
        _ => "a simple value",
    };
    DecodeErrorKind::TypeMismatch { expected, found: found.into() }.into()
}
