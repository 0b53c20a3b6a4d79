use super::TIMESTAMP;
use super::head::{Head, HeadError};
use crate::field::find;
use crate::input::{Input, truncated};
use crate::{
    Budget, Cursor, DecodeError, DecodeErrorKind, Dynamic, DynamicList, DynamicMap, EncodeError,
    Field, Kind, Limits, NextField, ReadNodes, Sequence, UnknownValue,
};
use bytes::Bytes;
use std::borrow::Cow;

/// Reads values in MessagePack.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    frame: Frame,
    /// Those of the structs around this one.
    outer: Vec<Frame>,
}

/// A struct that is being read.
#[derive(Clone, Copy, Default)]
struct Frame {
    form: Form,
    /// Elements or entries that are left.
    left: u32,
    /// The number of the element, counted from 1.
    at: i32,
}

/// The form in which a struct comes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    /// An array, in which each field has the place of its id.
    #[default]
    Array,
    /// A map from ids or names.
    Map,
    /// An array, in which each parameter has its place.
    Params,
    /// An error and a result.
    Reply,
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
            frame: Frame::default(),
            outer: Vec::new(),
        }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    fn peek(&self) -> Result<Head, DecodeError> {
        read_head(&self.input).map(|(head, _)| head)
    }

    fn head(&mut self) -> Result<Head, DecodeError> {
        let (head, len) = read_head(&self.input)?;
        self.input.take(len)?;
        Ok(head)
    }

    /// Returns whether nothing comes, which then is read.
    fn nil(&mut self) -> Result<bool, DecodeError> {
        let nil = self.peek()? == Head::Nil;
        if nil {
            self.head()?;
        }
        Ok(nil)
    }

    fn integer<T: TryFrom<u64> + TryFrom<i64>>(&mut self, kind: Kind) -> Result<T, DecodeError> {
        let value = match self.head()? {
            Head::Unsigned(value) => T::try_from(value).ok(),
            Head::Signed(value) => T::try_from(value).ok(),
            found => return Err(mismatch(kind, found)),
        };
        value.ok_or_else(|| DecodeError::malformed(format!("an integer that is no {kind:?}")))
    }

    /// The length of text or bytes. Older peers have but one family for both.
    fn octets(&mut self, kind: Kind) -> Result<usize, DecodeError> {
        match self.head()? {
            Head::Str(len) | Head::Bin(len) => Ok(len as usize),
            found => Err(mismatch(kind, found)),
        }
    }

    fn enter(&mut self, form: Form, values: u32, left: u32) -> Result<(), DecodeError> {
        self.input.count(values as usize, 1)?;
        self.budget.enter()?;
        let frame = Frame { form, left, at: 0 };
        self.outer.push(std::mem::replace(&mut self.frame, frame));
        Ok(())
    }

    fn leave(&mut self) -> NextField {
        self.budget.leave();
        self.frame = self.outer.pop().unwrap_or_default();
        NextField::End
    }

    fn sequence(&mut self, count: u32, least: usize) -> Result<Sequence, DecodeError> {
        let count = count as usize;
        self.input.count(count, least)?;
        self.budget.enter()?;
        Ok(Sequence::counted(count))
    }

    fn skip(&mut self) -> Result<(), DecodeError> {
        skip(&mut self.input, &mut self.budget)
    }

    /// The next value as it is.
    fn raw(&mut self) -> Result<UnknownValue, DecodeError> {
        let mut behind = self.input.clone();
        skip(&mut behind, &mut self.budget)?;
        let len = self.input.rest().len() - behind.rest().len();
        let bytes = self.input.blob(len, &mut self.budget)?;
        Ok(UnknownValue::Msgpack(bytes))
    }

    /// The next element that is there, as a field of the contract or as one that it does not have.
    fn next_place(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        while let Some(left) = self.frame.left.checked_sub(1) {
            self.frame.left = left;
            self.frame.at += 1;
            if self.nil()? {
                continue;
            }
            return Ok(known_or_not(fields, cursor, self.frame.at));
        }
        Ok(self.leave())
    }

    /// The next entry. One with a name that the contract does not have is skipped: there is no id
    /// to keep it under.
    fn next_entry(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        while let Some(left) = self.frame.left.checked_sub(1) {
            self.frame.left = left;
            let next = match self.head()? {
                Head::Unsigned(id) => i32::try_from(id)
                    .ok()
                    .map(|id| known_or_not(fields, cursor, id)),
                Head::Signed(id) => i32::try_from(id)
                    .ok()
                    .map(|id| known_or_not(fields, cursor, id)),
                Head::Str(len) | Head::Bin(len) => {
                    let name = self.input.take(len as usize)?;
                    let mut names = fields.iter();
                    names
                        .position(|field| field.name.as_bytes() == name)
                        .map(NextField::Known)
                }
                found => {
                    let what = format!("{} as the key of a struct", found.name());
                    return Err(DecodeError::malformed(what));
                }
            };
            match next {
                None => self.skip()?,
                Some(_) if self.nil()? => {}
                Some(next) => return Ok(next),
            }
        }
        Ok(self.leave())
    }

    /// The next parameter that is there; those behind the contract's are skipped.
    fn next_param(&mut self, fields: &[Field<'_>]) -> Result<NextField, DecodeError> {
        while let Some(left) = self.frame.left.checked_sub(1) {
            self.frame.left = left;
            let index = self.frame.at as usize;
            self.frame.at += 1;
            if index >= fields.len() {
                self.skip()?;
            } else if !self.nil()? {
                return Ok(NextField::Known(index));
            }
        }
        Ok(self.leave())
    }

    /// The result, or the exception that the error is.
    fn next_answer(&mut self, fields: &[Field<'_>]) -> Result<NextField, DecodeError> {
        match std::mem::take(&mut self.frame.left) {
            0 => Ok(self.leave()),
            // Behind an exception.
            1 => {
                self.skip()?;
                Ok(self.leave())
            }
            _ if !self.nil()? => {
                self.frame.left = 1;
                self.exception(fields)
            }
            _ => match fields.iter().position(|field| field.id == 0) {
                Some(result) => Ok(NextField::Known(result)),
                None => {
                    self.skip()?;
                    Ok(self.leave())
                }
            },
        }
    }

    fn exception(&mut self, fields: &[Field<'_>]) -> Result<NextField, DecodeError> {
        use crate::Reader as _;
        match self.head()? {
            Head::Map(1) => {}
            found => return Err(mismatch(Kind::Map, found)),
        }
        let name = self.string()?;
        let mut declared = fields.iter();
        match declared.position(|field| field.id != 0 && field.name == name) {
            Some(index) => Ok(NextField::Known(index)),
            None => {
                let shown: String = name.chars().take(64).collect();
                Err(DecodeError::malformed(format!(
                    "an exception {shown:?} that the contract does not have"
                )))
            }
        }
    }

    /// Reads a value of any shape.
    fn any(&mut self) -> Result<Dynamic, DecodeError> {
        use crate::Reader as _;
        Ok(match self.peek()? {
            Head::Nil => {
                self.head()?;
                Dynamic::NULL
            }
            Head::Bool(_) => self.bool()?.into(),
            Head::Signed(_) => self.i64()?.into(),
            Head::Unsigned(value) if i64::try_from(value).is_ok() => self.i64()?.into(),
            Head::Unsigned(_) => self.u64()?.into(),
            Head::F32(_) | Head::F64(_) => self.f64()?.into(),
            Head::Str(_) => self.string()?.into_owned().into(),
            Head::Bin(_) => self.bytes()?.into(),
            Head::Array(_) => self.any_list()?,
            Head::Map(_) => self.any_map()?,
            Head::Ext(kind, len) => {
                self.head()?;
                let data = self.input.blob(len as usize, &mut self.budget)?;
                let entries = [("type", Dynamic::Int(kind.into())), ("data", data.into())];
                let mut map = DynamicMap::default();
                for (name, value) in entries {
                    self.budget.block(name.len())?;
                    self.budget.room(&mut map.fields)?;
                    map.insert(name.to_owned(), value);
                }
                map.into()
            }
        })
    }

    fn any_list(&mut self) -> Result<Dynamic, DecodeError> {
        use crate::Reader as _;
        let mut sequence = self.begin_list(Kind::Struct)?;
        let mut values = Vec::new();
        self.budget.reserve(&mut values, sequence.reserve)?;
        while self.next_element(&mut sequence)? {
            values.push(self.any()?);
        }
        Ok(DynamicList { values }.into())
    }

    fn any_map(&mut self) -> Result<Dynamic, DecodeError> {
        use crate::Reader as _;
        let mut sequence = self.begin_map(Kind::String, Kind::Struct)?;
        let mut map = DynamicMap::default();
        while self.next_element(&mut sequence)? {
            let head = self.peek()?;
            if let Head::Signed(_) | Head::Unsigned(_) = head {
                self.budget.block(MAX_DIGITS)?;
            }
            let name = match head {
                Head::Signed(_) => self.i64()?.to_string(),
                Head::Unsigned(_) => self.u64()?.to_string(),
                _ => self.string()?.into_owned(),
            };
            self.budget.room(&mut map.fields)?;
            map.insert(name, self.any()?);
        }
        Ok(map.into())
    }
}

/// Characters of a number of 64 bits, with its sign.
const MAX_DIGITS: usize = 20;

fn known_or_not(fields: &[Field<'_>], cursor: &mut Cursor, id: i32) -> NextField {
    match find(fields, cursor.index, id) {
        Some(index) => {
            cursor.index = index + 1;
            NextField::Known(index)
        }
        None => NextField::Unknown(id),
    }
}

fn read_head(input: &Input<'_>) -> Result<(Head, usize), DecodeError> {
    Head::read(input.rest()).map_err(|error| match error {
        HeadError::Short(_) => truncated(),
        HeadError::Unused => DecodeErrorKind::InvalidType { found: 0xc1 }.into(),
    })
}

/// Passes over a value. Goes no deeper than a reader would.
fn skip(input: &mut Input<'_>, budget: &mut Budget) -> Result<(), DecodeError> {
    let (head, len) = read_head(input)?;
    input.take(len)?;
    input.take(head.content())?;
    if let Head::Array(_) | Head::Map(_) = head {
        budget.enter()?;
        for _ in 0..head.children() {
            skip(input, budget)?;
        }
        budget.leave();
    }
    Ok(())
}

/// Splits a value off what a writer wrote.
pub(super) fn split_value(input: &[u8], limits: Limits) -> Result<(&[u8], &[u8]), EncodeError> {
    let mut behind = Input::new(input);
    match skip(&mut behind, &mut Budget::new(limits)) {
        Ok(()) => Ok(input.split_at(behind.position())),
        Err(_) => Err(EncodeError::TooDeep {
            limit: limits.depth,
        }),
    }
}

#[cold]
#[inline(never)]
fn mismatch(expected: Kind, found: Head) -> DecodeError {
    DecodeErrorKind::TypeMismatch {
        expected,
        found: found.name().into(),
    }
    .into()
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
        match self.head()? {
            Head::Bool(value) => Ok(value),
            found => Err(mismatch(Kind::Bool, found)),
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

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.integer(Kind::U8)
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.integer(Kind::U16)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.integer(Kind::U32)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.integer(Kind::U64)
    }

    fn f32(&mut self) -> Result<f32, DecodeError> {
        match self.peek()? {
            // Not by way of a double, which would lose the bits of a NaN.
            Head::F32(value) => self.head().map(|_| value),
            _ => self.f64().map(|wide| wide as f32),
        }
    }

    /// Many languages write a number without a fraction as an integer.
    fn f64(&mut self) -> Result<f64, DecodeError> {
        match self.head()? {
            Head::F64(value) => Ok(value),
            Head::F32(value) => Ok(value.into()),
            Head::Unsigned(value) => Ok(value as f64),
            Head::Signed(value) => Ok(value as f64),
            found => Err(mismatch(Kind::F64, found)),
        }
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let len = self.octets(Kind::String)?;
        self.input.text(len, &mut self.budget)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let len = self.octets(Kind::Bytes)?;
        self.input.blob(len, &mut self.budget)
    }

    /// Its bytes, or its text.
    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        let len = self.octets(Kind::Uuid)?;
        let octets = self.input.take(len)?;
        if let Ok(bytes) = octets.try_into() {
            return Ok(bytes);
        }
        let parsed = uuid::Uuid::try_parse_ascii(octets);
        let uuid = parsed.map_err(|_| DecodeError::malformed("a uuid that is not one"))?;
        Ok(uuid.into_bytes())
    }

    fn timestamp(&mut self) -> Result<Option<(i64, u32)>, DecodeError> {
        let Head::Ext(TIMESTAMP, len) = self.peek()? else {
            return Ok(None);
        };
        self.head()?;
        Ok(Some(match len {
            4 => (u32::from_be_bytes(self.input.array()?).into(), 0),
            8 => {
                let both = u64::from_be_bytes(self.input.array()?);
                ((both & ((1 << 34) - 1)) as i64, (both >> 34) as u32)
            }
            12 => {
                let nanos = u32::from_be_bytes(self.input.array()?);
                (i64::from_be_bytes(self.input.array()?), nanos)
            }
            _ => return Err(DecodeError::malformed("a timestamp of no known length")),
        }))
    }

    fn dynamic(&mut self) -> Result<Option<Dynamic>, DecodeError> {
        self.any().map(Some)
    }

    fn begin_list(&mut self, _: Kind) -> Result<Sequence, DecodeError> {
        match self.head()? {
            Head::Array(count) => self.sequence(count, 1),
            // Lua does not tell an empty list from an empty map.
            Head::Map(0) => self.sequence(0, 1),
            found => Err(mismatch(Kind::List, found)),
        }
    }

    fn begin_map(&mut self, _: Kind, _: Kind) -> Result<Sequence, DecodeError> {
        match self.head()? {
            Head::Map(count) => self.sequence(count, 2),
            Head::Array(0) => self.sequence(0, 2),
            found => Err(mismatch(Kind::Map, found)),
        }
    }

    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        Ok(sequence.next_counted(&mut self.budget))
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        match self.head()? {
            Head::Array(count) => self.enter(Form::Array, count, count),
            Head::Map(count) => self.enter(Form::Map, count, count),
            found => Err(mismatch(Kind::Struct, found)),
        }
    }

    fn begin_params(&mut self) -> Result<(), DecodeError> {
        match self.head()? {
            Head::Array(count) => self.enter(Form::Params, count, count),
            found => Err(mismatch(Kind::List, found)),
        }
    }

    fn refuse_surplus(&mut self, count: usize) -> Result<(), DecodeError> {
        match self.frame.left as usize {
            given if given > count => Err(DecodeError::malformed(format!(
                "{given} parameters for a function with {count}"
            ))),
            _ => Ok(()),
        }
    }

    fn begin_reply(&mut self) -> Result<(), DecodeError> {
        self.enter(Form::Reply, 2, 2)
    }

    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        match self.frame.form {
            Form::Array => self.next_place(fields, cursor),
            Form::Map => self.next_entry(fields, cursor),
            Form::Params => self.next_param(fields),
            Form::Reply => self.next_answer(fields),
        }
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        Ok(match self.peek()? {
            Head::Bool(_) => UnknownValue::Bool(self.bool()?),
            Head::Signed(_) => UnknownValue::I64(self.i64()?),
            Head::Unsigned(value) if i64::try_from(value).is_ok() => UnknownValue::I64(self.i64()?),
            Head::Unsigned(_) => UnknownValue::U64(self.u64()?),
            Head::F32(_) => UnknownValue::F32(self.f32()?.to_bits()),
            Head::F64(_) => UnknownValue::F64(self.f64()?.to_bits()),
            Head::Bin(_) => UnknownValue::Bytes(self.bytes()?),
            Head::Str(_) => UnknownValue::String(self.string()?.into_owned()),
            Head::Nil | Head::Array(_) | Head::Map(_) | Head::Ext(..) => self.raw()?,
        })
    }
}
