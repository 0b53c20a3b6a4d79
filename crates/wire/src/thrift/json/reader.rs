use super::{BASE64, kind, type_name};
use crate::input::{SHARED, negative};
use crate::json::lexer::{Lexer, not_a_number};
use crate::thrift::{find, mismatch, retyped};
use crate::{
    Budget, Cursor, DecodeError, Field, Kind, Limits, NextField, ReadNodes, Sequence, UnknownValue,
    block,
};
use base64::Engine as _;
use bytes::Bytes;
use std::borrow::Cow;

/// The shortest element, `,0`, and the shortest entry, `"":0`.
const ELEMENT: usize = 2;
const ENTRY: usize = 4;

/// The separator before the next value or field.
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
    lexer: Lexer<'de>,
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
            lexer: Lexer::new(input),
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            place: Place::Alone,
            outer: Vec::new(),
            unknown: Kind::Struct,
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.lexer.input.position()
    }

    fn colon(&mut self) -> Result<(), DecodeError> {
        self.lexer.expect(b':')
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

    /// The characters of a number, from inside the quotes where it has some.
    fn number(&mut self) -> Result<&'de str, DecodeError> {
        self.separate()?;
        self.lexer.number(&mut self.budget)
    }

    fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, DecodeError> {
        let text = self.number()?;
        let value = text.parse::<i64>().ok().and_then(|v| T::try_from(v).ok());
        value.ok_or_else(|| not_a_number(text))
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        self.lexer.expect(b',')?;
        let count: i32 = self.integer()?;
        usize::try_from(count).map_err(|_| negative(count.into()))
    }

    /// `["type",count` of a list or set. The caller enters the level, after its checks.
    fn list_header(&mut self) -> Result<(Kind, usize), DecodeError> {
        self.separate()?;
        self.enter(Place::Alone)?;
        self.lexer.expect(b'[')?;
        let element = kind(&self.lexer.quoted(&mut self.budget)?)?;
        let count = self.count()?;
        self.place = Place::List;
        Ok((element, count))
    }

    /// `["type","type",count,{` of a map.
    fn map_header(&mut self) -> Result<(Kind, Kind, usize), DecodeError> {
        self.separate()?;
        self.enter(Place::Alone)?;
        self.lexer.expect(b'[')?;
        let key = kind(&self.lexer.quoted(&mut self.budget)?)?;
        self.lexer.expect(b',')?;
        let value = kind(&self.lexer.quoted(&mut self.budget)?)?;
        let count = self.count()?;
        self.lexer.expect(b',')?;
        self.lexer.expect(b'{')?;
        self.place = Place::FirstEntry;
        Ok((key, value, count))
    }

    /// Reads up to the next element or entry, or past the end where none is `left`.
    fn step(&mut self, left: bool) -> Result<(), DecodeError> {
        match (self.place, left) {
            (Place::List, true) => self.lexer.expect(b','),
            (Place::List, false) => {
                self.lexer.expect(b']')?;
                self.leave();
                Ok(())
            }
            (Place::FirstEntry, true) => {
                self.place = Place::Key;
                Ok(())
            }
            (Place::Entry, true) => {
                self.place = Place::Key;
                self.lexer.expect(b',')
            }
            (Place::FirstEntry | Place::Entry, false) => {
                self.lexer.expect(b'}')?;
                self.lexer.expect(b']')?;
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
            self.lexer.expect(b'}')?;
        }
        if self.lexer.peek()? == b'}' {
            self.lexer.expect(b'}')?;
            self.leave();
            return Ok(None);
        }
        if !first {
            self.lexer.expect(b',')?;
        }
        let id = self.lexer.quoted(&mut self.budget)?;
        let id = id.parse::<i16>().map_err(|_| not_a_number(&id))?;
        self.colon()?;
        self.lexer.expect(b'{')?;
        let kind = kind(&self.lexer.quoted(&mut self.budget)?)?;
        self.colon()?;
        self.place = Place::Field;
        Ok(Some((id, kind)))
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
            // As it stands: text, or the base64 of bytes. Written as text again, it is right for
            // both.
            Kind::Bytes => UnknownValue::Bytes(self.string()?.into_owned().into()),
            Kind::Uuid => UnknownValue::Uuid(self.uuid()?),
            Kind::Struct => {
                self.begin_struct()?;
                let mut fields = Vec::new();
                while let Some((id, kind)) = self.field_header()? {
                    self.budget.room(&mut fields)?;
                    fields.push((id.into(), self.value(kind)?));
                }
                UnknownValue::Struct(fields)
            }
            Kind::List | Kind::Set => {
                let (element, count) = self.list_header()?;
                self.lexer.input.count(count, ELEMENT)?;
                let mut items = Vec::new();
                self.budget.reserve(&mut items, count)?;
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
                self.lexer.input.count(count, ENTRY)?;
                let mut entries = Vec::new();
                self.budget.reserve(&mut entries, count)?;
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

/// Returns whether a value of this type may be read as the contract's kind.
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

impl<'de> crate::Reader<'de> for Reader<'de> {
    #[inline]
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn nodes(&mut self) -> Result<&mut ReadNodes, DecodeError> {
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
        self.lexer.text(&mut self.budget)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        self.separate()?;
        let text = self.lexer.quoted(&mut self.budget)?;
        self.budget
            .allocate(block(text.len() / 4 * 3 + 3) + SHARED)?;
        match BASE64.decode(text.as_bytes()) {
            Ok(bytes) => {
                self.budget.string(bytes.len())?;
                Ok(bytes.into())
            }
            Err(_) => Err(DecodeError::malformed("bytes that are not base64")),
        }
    }

    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.separate()?;
        let text = self.lexer.quoted(&mut self.budget)?;
        match uuid::Uuid::parse_str(&text) {
            Ok(uuid) => Ok(uuid.into_bytes()),
            Err(_) => Err(DecodeError::malformed("a uuid that is not one")),
        }
    }

    fn begin_list(&mut self, element: Kind) -> Result<Sequence, DecodeError> {
        let (found, count) = self.list_header()?;
        check(element, found, count)?;
        self.lexer.input.count(count, ELEMENT)?;
        Ok(Sequence::counted(count))
    }

    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        let (found_key, found_value, count) = self.map_header()?;
        check(key, found_key, count)?;
        check(value, found_value, count)?;
        self.lexer.input.count(count, ENTRY)?;
        Ok(Sequence::counted(count))
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
        self.lexer.expect(b'{')
    }

    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        let Some((id, found)) = self.field_header()? else {
            return Ok(NextField::End);
        };
        let Some(index) = find(fields, cursor.index, id.into()) else {
            self.unknown = found;
            return Ok(NextField::Unknown(id.into()));
        };
        if !fits(fields[index].kind, found) {
            retyped(&fields[index], Some(found))?;
        }
        cursor.index = index + 1;
        Ok(NextField::Known(index))
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.value(self.unknown)
    }
}
