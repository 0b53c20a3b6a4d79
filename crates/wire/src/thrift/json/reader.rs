use super::{BASE64, kind, type_name};
use crate::input::{Input, negative, truncated};
use crate::thrift::{find, mismatch};
use crate::{
    Budget, Cursor, DecodeError, DecodeErrorKind, Field, Kind, Limits, NextField, ReadNodes,
    Sequence, UnknownValue,
};
use base64::Engine as _;
use bytes::Bytes;
use std::borrow::Cow;

/// The shortest element, `,0`, and the shortest entry, `"":0`.
const ELEMENT: usize = 2;
const ENTRY: usize = 4;

/// What comes before the next value or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing: the whole value, a field's value, or an element of which the comma is read.
    Alone,
    /// In a list, between elements.
    List,
    /// In a map, before the first entry.
    FirstEntry,
    /// In a map, between entries.
    Entry,
    /// In a map, before a key of which the comma is read.
    Key,
    /// In a map, before a value.
    Value,
    /// In a struct, before the first field.
    FirstField,
    /// In a struct, after a field's value.
    Field,
}

/// Reads values in Thrift JSON.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    place: Place,
    /// The places around this one.
    outer: Vec<Place>,
    /// The type of the field that is unknown.
    unknown: Kind,
}

impl<'de> Reader<'de> {
    /// Reads from `input`.
    pub fn new(input: &'de [u8], limits: Limits) -> Self {
        Reader {
            input: Input::new(input),
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            place: Place::Alone,
            outer: Vec::new(),
            unknown: Kind::Struct,
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Result<u8, DecodeError> {
        self.input.set_rest(self.input.rest().trim_ascii_start());
        self.input.rest().first().copied().ok_or_else(truncated)
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DecodeError> {
        let found = self.peek()?;
        if found != wanted {
            return Err(unexpected(wanted, found));
        }
        self.input.byte().map(|_| ())
    }

    fn colon(&mut self) -> Result<(), DecodeError> {
        self.expect(b':')
    }

    /// Reads what separates the next value from what is before it.
    fn separate(&mut self) -> Result<(), DecodeError> {
        match self.place {
            Place::Key => self.place = Place::Value,
            Place::Value => {
                self.colon()?;
                self.place = Place::Entry;
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, place: Place) -> Result<(), DecodeError> {
        self.budget.enter()?;
        self.outer.push(self.place);
        self.place = place;
        Ok(())
    }

    fn leave(&mut self) {
        self.budget.leave();
        self.place = self.outer.pop().unwrap_or(Place::Alone);
    }

    /// A string, as it stands in the input where nothing in it is escaped.
    fn quoted(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        self.expect(b'"')?;
        let rest = self.input.rest();
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let end = end.ok_or_else(truncated)?;
        let plain = utf8(self.input.take(end)?)?;
        if self.input.byte()? == b'"' {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            // After a backslash.
            text.push(self.escape()?);
            let rest = self.input.rest();
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            text.push_str(utf8(self.input.take(end.ok_or_else(truncated)?)?)?);
            if self.input.byte()? == b'"' {
                return Ok(Cow::Owned(text));
            }
        }
    }

    /// The character after a backslash.
    fn escape(&mut self) -> Result<char, DecodeError> {
        Ok(match self.input.byte()? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            byte @ (b'"' | b'\\' | b'/') => byte.into(),
            b'u' => {
                let mut unit = self.hex()?;
                if (0xd800..0xdc00).contains(&unit) {
                    // Half of a pair: the other half must follow.
                    if self.input.array()? != *b"\\u" {
                        return Err(DecodeError::malformed("half of a surrogate pair"));
                    }
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(DecodeError::malformed("half of a surrogate pair"));
                    }
                    unit = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                }
                char::from_u32(unit)
                    .ok_or_else(|| DecodeError::malformed("half of a surrogate pair"))?
            }
            _ => return Err(DecodeError::malformed("an unknown escape in a string")),
        })
    }

    fn hex(&mut self) -> Result<u32, DecodeError> {
        let digits: [u8; 4] = self.input.array()?;
        digits.iter().try_fold(0, |value, digit| {
            let digit = char::from(*digit).to_digit(16);
            let digit = digit.ok_or_else(|| DecodeError::malformed("a \\u without four digits"))?;
            Ok(value << 4 | digit)
        })
    }

    /// The characters of a number, from inside the quotes where it has some.
    fn number(&mut self) -> Result<&'de str, DecodeError> {
        self.separate()?;
        if self.peek()? == b'"' {
            return match self.quoted()? {
                Cow::Borrowed(text) => Ok(text.trim_ascii()),
                Cow::Owned(_) => Err(DecodeError::malformed("an escape in a number")),
            };
        }
        let rest = self.input.rest();
        // Letters are for exponents, and for `nan` and `inf`, which Python writes without quotes.
        let numeric = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let len = rest.iter().take_while(|byte| numeric(byte)).count();
        utf8(self.input.take(len)?)
    }

    fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, DecodeError> {
        let text = self.number()?;
        let value = text.parse::<i64>().ok().and_then(|v| T::try_from(v).ok());
        value.ok_or_else(|| not_a_number(text))
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        self.expect(b',')?;
        let count: i32 = self.integer()?;
        usize::try_from(count).map_err(|_| negative(count.into()))
    }

    /// `["type",count` of a list or set. The caller enters the level, after its checks.
    fn list_header(&mut self) -> Result<(Kind, usize), DecodeError> {
        self.separate()?;
        self.enter(Place::Alone)?;
        self.expect(b'[')?;
        let element = kind(&self.quoted()?)?;
        let count = self.count()?;
        self.place = Place::List;
        Ok((element, count))
    }

    /// `["type","type",count,{` of a map.
    fn map_header(&mut self) -> Result<(Kind, Kind, usize), DecodeError> {
        self.separate()?;
        self.enter(Place::Alone)?;
        self.expect(b'[')?;
        let key = kind(&self.quoted()?)?;
        self.expect(b',')?;
        let value = kind(&self.quoted()?)?;
        let count = self.count()?;
        self.expect(b',')?;
        self.expect(b'{')?;
        self.place = Place::FirstEntry;
        Ok((key, value, count))
    }

    /// Reads up to the next element or entry, or past the end where none is `left`.
    fn step(&mut self, left: bool) -> Result<(), DecodeError> {
        match (self.place, left) {
            (Place::List, true) => self.expect(b','),
            (Place::List, false) => {
                self.expect(b']')?;
                self.leave();
                Ok(())
            }
            (Place::FirstEntry, true) => {
                self.place = Place::Key;
                Ok(())
            }
            (Place::Entry, true) => {
                self.place = Place::Key;
                self.expect(b',')
            }
            (Place::FirstEntry | Place::Entry, false) => {
                self.expect(b'}')?;
                self.expect(b']')?;
                self.leave();
                Ok(())
            }
            _ => Err(DecodeError::malformed("an element that was not read")),
        }
    }

    /// The id and type of the next field, `None` past the end of the struct.
    fn field_header(&mut self) -> Result<Option<(i16, Kind)>, DecodeError> {
        let first = self.place == Place::FirstField;
        if !first {
            // The object around the field's value.
            self.expect(b'}')?;
        }
        if self.peek()? == b'}' {
            self.expect(b'}')?;
            self.leave();
            return Ok(None);
        }
        if !first {
            self.expect(b',')?;
        }
        let id = self.quoted()?;
        let id = id.parse::<i16>().map_err(|_| not_a_number(&id))?;
        self.colon()?;
        self.expect(b'{')?;
        let kind = kind(&self.quoted()?)?;
        self.colon()?;
        self.place = Place::Field;
        Ok(Some((id, kind)))
    }

    /// Passes over a value of any type: up to the byte that cannot belong to it. Takes no memory and no
    /// stack, however deep the value is.
    fn skip(&mut self) -> Result<(), DecodeError> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.quoted()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.input.byte()?;
                    continue;
                }
                b'}' | b']' | b',' | b':' if depth == 0 => {
                    return Err(DecodeError::malformed("a field without a value"));
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.input.byte()?;
                }
                b',' | b':' => {
                    self.input.byte()?;
                    continue;
                }
                _ => {
                    let text = self.number()?;
                    if text.is_empty() {
                        return Err(not_a_number(""));
                    }
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Reads a value of which nothing but its type is known.
    fn value(&mut self, kind: Kind) -> Result<UnknownValue, DecodeError> {
        use crate::Reader as _;
        Ok(match kind {
            Kind::Bool => UnknownValue::Bool(self.bool()?),
            Kind::I8 => UnknownValue::I8(self.i8()?),
            Kind::I16 => UnknownValue::I16(self.i16()?),
            Kind::I32 => UnknownValue::I32(self.i32()?),
            Kind::I64 => UnknownValue::I64(self.i64()?),
            Kind::F64 => UnknownValue::F64(self.f64()?.to_bits()),
            // As it stands: text, or the base64 of bytes. Written as text again, it is right for both.
            Kind::Bytes => UnknownValue::Bytes(self.string()?.into_owned().into()),
            Kind::Uuid => UnknownValue::Uuid(self.uuid()?),
            Kind::Struct => {
                self.begin_struct()?;
                let mut fields = Vec::new();
                while let Some((id, kind)) = self.field_header()? {
                    self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
                    fields.push((id.into(), self.value(kind)?));
                }
                UnknownValue::Struct(fields)
            }
            Kind::List | Kind::Set => {
                let (element, count) = self.list_header()?;
                let item = size_of::<UnknownValue>();
                self.input.count(count, ELEMENT, item, &mut self.budget)?;
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    self.step(true)?;
                    items.push(self.value(element)?);
                }
                self.step(false)?;
                match kind {
                    Kind::List => UnknownValue::List(element, items),
                    _ => UnknownValue::Set(element, items),
                }
            }
            _ => {
                let (key, value, count) = self.map_header()?;
                let entry = size_of::<(UnknownValue, UnknownValue)>();
                self.input.count(count, ENTRY, entry, &mut self.budget)?;
                let mut entries = Vec::with_capacity(count);
                for _ in 0..count {
                    self.step(true)?;
                    entries.push((self.value(key)?, self.value(value)?));
                }
                self.step(false)?;
                UnknownValue::Map(key, value, entries)
            }
        })
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeErrorKind::InvalidUtf8.into())
}

/// True where a value of this type may be read as the contract's kind.
fn fits(expected: Kind, found: Kind) -> bool {
    type_name(expected) == type_name(found)
}

/// Checks the type of elements. A list may stand for a set; empty containers have any type.
fn check(expected: Kind, found: Kind, count: usize) -> Result<(), DecodeError> {
    let sequences = matches!(
        (expected, found),
        (Kind::List | Kind::Set, Kind::List | Kind::Set)
    );
    match fits(expected, found) || sequences || count == 0 {
        true => Ok(()),
        false => Err(mismatch(expected, Some(found))),
    }
}

#[cold]
fn unexpected(wanted: u8, found: u8) -> DecodeError {
    let (wanted, found) = (char::from(wanted), char::from(found));
    DecodeError::malformed(format!("{found:?} where {wanted:?} should be"))
}

#[cold]
fn not_a_number(text: &str) -> DecodeError {
    let shown: String = text.chars().take(24).collect();
    DecodeError::malformed(format!("{shown:?} is not a number that fits here"))
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    fn nodes(&mut self, memory: usize) -> Result<&mut ReadNodes, DecodeError> {
        self.budget.allocate(memory)?;
        Ok(&mut self.nodes)
    }

    fn bool(&mut self) -> Result<bool, DecodeError> {
        self.integer::<i64>().map(|value| value != 0)
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
        match self.number()? {
            "NaN" | "nan" => Ok(f64::NAN),
            "Infinity" | "inf" => Ok(f64::INFINITY),
            "-Infinity" | "-inf" => Ok(f64::NEG_INFINITY),
            // More names that Rust knows for these are not in the format.
            text if text.contains(['n', 'N', 'i', 'I']) => Err(not_a_number(text)),
            text => text.parse().map_err(|_| not_a_number(text)),
        }
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        self.separate()?;
        let text = self.quoted()?;
        self.budget.allocate(text.len())?;
        Ok(text)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        self.separate()?;
        let text = self.quoted()?;
        self.budget.allocate(text.len() / 4 * 3 + 3)?;
        match BASE64.decode(text.as_bytes()) {
            Ok(bytes) => Ok(bytes.into()),
            Err(_) => Err(DecodeError::malformed("bytes that are not base64")),
        }
    }

    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.separate()?;
        let text = self.quoted()?;
        match uuid::Uuid::parse_str(&text) {
            Ok(uuid) => Ok(uuid.into_bytes()),
            Err(_) => Err(DecodeError::malformed("a uuid that is not one")),
        }
    }

    fn begin_list(&mut self, element: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let (found, count) = self.list_header()?;
        check(element, found, count)?;
        self.input.count(count, ELEMENT, size, &mut self.budget)?;
        Ok(Sequence {
            reserve: count,
            append: false,
            state: count,
        })
    }

    fn begin_map(&mut self, key: Kind, value: Kind, size: usize) -> Result<Sequence, DecodeError> {
        let (found_key, found_value, count) = self.map_header()?;
        check(key, found_key, count)?;
        check(value, found_value, count)?;
        self.input.count(count, ENTRY, size, &mut self.budget)?;
        Ok(Sequence {
            reserve: count,
            append: false,
            state: count,
        })
    }

    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        let left = sequence.state > 0;
        sequence.state = sequence.state.saturating_sub(1);
        self.step(left)?;
        Ok(left)
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        self.separate()?;
        self.enter(Place::FirstField)?;
        self.expect(b'{')
    }

    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        loop {
            let Some((id, found)) = self.field_header()? else {
                return Ok(NextField::End);
            };
            match find(fields, cursor.index, id.into()) {
                Some(index) if fields.get(index).is_some_and(|f| fits(f.kind, found)) => {
                    cursor.index = index + 1;
                    return Ok(NextField::Known(index));
                }
                Some(_) => self.skip()?,
                None => {
                    self.unknown = found;
                    return Ok(NextField::Unknown(id.into()));
                }
            }
        }
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.budget.allocate(size_of::<(i32, UnknownValue)>())?;
        self.value(self.unknown)
    }
}
