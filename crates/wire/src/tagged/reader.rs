use super::{STOP, TYPE_BITS, code, kind, least_size};
use crate::field::find;
use crate::input::{Input, beyond_input};
use crate::names::NO_NAMES;
use crate::varint::{self, unzigzag};
use crate::{
    Budget, Cursor, DecodeError, DecodeErrorKind, Field, Kind, Limits, NextField, Numbers,
    ReadNodes, Sequence, UnknownValue, plain,
};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;

/// Reads values whose fields have ids and types.
pub struct Reader<'de> {
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    numbers: Numbers,
    /// The type of the field that is unknown.
    unknown: Kind,
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
            nodes: ReadNodes::apart(),
            numbers: Numbers::default(),
            unknown: Kind::Bool,
        }
    }

    /// Reads the nodes that stand behind the value, once that has been read.
    pub(crate) fn finish(&mut self) -> Result<(), DecodeError> {
        while let Some(node) = self.nodes.next_part() {
            let read = node.read(self);
            read.inspect_err(|_| self.numbers.undo())?;
        }
        Ok(())
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    fn unsigned<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        let value = varint::read(&mut self.input)?;
        T::try_from(value).map_err(|_| varint::overflow())
    }

    fn signed<T: TryFrom<i64>>(&mut self) -> Result<T, DecodeError> {
        let value = unzigzag(varint::read(&mut self.input)?);
        T::try_from(value).map_err(|_| varint::overflow())
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = varint::read(&mut self.input)?;
        usize::try_from(length).map_err(|_| beyond_input(length, self.input.rest().len()))
    }

    /// The types of a container's elements and how many it has. One of nothing says no types.
    fn header<const N: usize>(&mut self) -> Result<([Kind; N], usize), DecodeError> {
        let mut kinds = [Kind::I8; N];
        let count = self.length()?;
        if count > 0 {
            for kind in &mut kinds {
                *kind = known(self.input.byte()?)?;
            }
        }
        Ok((kinds, count))
    }

    /// Checks a count of elements of these types, and goes inside.
    fn enter(&mut self, kinds: &[Kind], count: usize) -> Result<(), DecodeError> {
        let size = kinds.iter().map(|kind| least_size(*kind)).sum();
        self.input.count(count, size)?;
        self.budget.enter()
    }

    fn begin<const N: usize>(&mut self, expected: [Kind; N]) -> Result<Sequence, DecodeError> {
        let (found, count) = self.header::<N>()?;
        if count > 0 {
            let mut pairs = expected.into_iter().zip(found);
            pairs.try_for_each(|(expected, found)| check(expected, found))?;
        }
        self.enter(&found, count)?;
        Ok(Sequence::counted(count))
    }

    /// The type and id of the next field; `None` at the end of the struct.
    fn field_header(&mut self, last: i32) -> Result<Option<(Kind, i32)>, DecodeError> {
        let header = self.input.byte()?;
        if header == STOP {
            return Ok(None);
        }
        let kind = known(header & ((1 << TYPE_BITS) - 1))?;
        let id = match header >> TYPE_BITS {
            0 => self.signed()?,
            step => last.checked_add(step.into()).ok_or_else(no_such_id)?,
        };
        Ok(Some((kind, id)))
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
            Kind::U8 => UnknownValue::U8(self.u8()?),
            Kind::U16 => UnknownValue::U16(self.u16()?),
            Kind::U32 => UnknownValue::U32(self.u32()?),
            Kind::U64 => UnknownValue::U64(self.u64()?),
            Kind::F32 => UnknownValue::F32(self.f32()?.to_bits()),
            Kind::F64 => UnknownValue::F64(self.f64()?.to_bits()),
            Kind::String => UnknownValue::String(self.string()?.into_owned()),
            Kind::Bytes => UnknownValue::Bytes(self.bytes()?),
            Kind::Uuid => UnknownValue::Uuid(self.uuid()?),
            Kind::Enum => UnknownValue::Enum(self.enumeration(&NO_NAMES)?),
            Kind::Struct => self.fields()?,
            Kind::List => {
                let (kind, items) = self.items()?;
                UnknownValue::List(kind, items)
            }
            Kind::Set => {
                let (kind, items) = self.items()?;
                UnknownValue::Set(kind, items)
            }
            Kind::Map => self.entries()?,
            Kind::Object => {
                // Whoever does not know it lets it go.
                drop(self.object()?);
                UnknownValue::Object
            }
        })
    }

    fn fields(&mut self) -> Result<UnknownValue, DecodeError> {
        self.budget.enter()?;
        let mut fields = Vec::new();
        let mut last = 0;
        while let Some((kind, id)) = self.field_header(last)? {
            last = id;
            self.budget.room(&mut fields)?;
            fields.push((id, self.value(kind)?));
        }
        self.budget.leave();
        Ok(UnknownValue::Struct(fields))
    }

    fn items(&mut self) -> Result<(Kind, Vec<UnknownValue>), DecodeError> {
        let ([kind], count) = self.header()?;
        self.enter(&[kind], count)?;
        let mut items = Vec::new();
        self.budget.reserve(&mut items, count)?;
        for _ in 0..count {
            items.push(self.value(kind)?);
        }
        self.budget.leave();
        Ok((kind, items))
    }

    fn entries(&mut self) -> Result<UnknownValue, DecodeError> {
        let ([key, value], count) = self.header()?;
        self.enter(&[key, value], count)?;
        let mut entries = Vec::new();
        self.budget.reserve(&mut entries, count)?;
        for _ in 0..count {
            entries.push((self.value(key)?, self.value(value)?));
        }
        self.budget.leave();
        Ok(UnknownValue::Map(key, value, entries))
    }
}

fn known(code: u8) -> Result<Kind, DecodeError> {
    kind(code).ok_or_else(|| DecodeErrorKind::InvalidType { found: code }.into())
}

/// Refuses a value of another type than the contract's. Those that a relay may have taken for one
/// another, and that have the same bytes, may stand for one another.
fn check(expected: Kind, found: Kind) -> Result<(), DecodeError> {
    match (expected, found) {
        (Kind::String | Kind::Bytes, Kind::String | Kind::Bytes) => Ok(()),
        (Kind::I32 | Kind::Enum, Kind::I32 | Kind::Enum) => Ok(()),
        _ if code(expected) == code(found) => Ok(()),
        _ => Err(DecodeErrorKind::TypeMismatch {
            expected,
            found: format!("{found:?}").into(),
        }
        .into()),
    }
}

#[cold]
fn no_such_id() -> DecodeError {
    DecodeError::malformed("a field id of more than 32 bits")
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

    fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.input.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(plain::invalid()),
        }
    }

    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.input.byte().map(u8::cast_signed)
    }

    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.signed()
    }

    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.signed()
    }

    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.signed()
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.unsigned()
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.unsigned()
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.unsigned()
    }

    fn f32(&mut self) -> Result<f32, DecodeError> {
        self.input.array().map(f32::from_le_bytes)
    }

    fn f64(&mut self) -> Result<f64, DecodeError> {
        self.input.array().map(f64::from_le_bytes)
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let len = self.length()?;
        self.input.text(len, &mut self.budget)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let len = self.length()?;
        self.input.blob(len, &mut self.budget)
    }

    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.input.array()
    }

    fn begin_list(&mut self, element: Kind) -> Result<Sequence, DecodeError> {
        self.begin([element])
    }

    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        self.begin([key, value])
    }

    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool, DecodeError> {
        Ok(sequence.next_counted(&mut self.budget))
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        self.budget.enter()
    }

    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        let Some((found, id)) = self.field_header(cursor.last)? else {
            self.budget.leave();
            return Ok(NextField::End);
        };
        cursor.last = id;
        let Some(index) = find(fields, cursor.index, id) else {
            self.unknown = found;
            return Ok(NextField::Unknown(id));
        };
        let field = &fields[index];
        check(field.kind, found).map_err(|e| e.within(field.name.to_owned()))?;
        cursor.index = index + 1;
        Ok(NextField::Known(index))
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        self.value(self.unknown)
    }
}
