use super::scan::{scan, skip, skip_group, stray_end, tag};
use super::{DELIMITED, END_GROUP, FIXED32, FIXED64, GROUP, VARINT, wire_type};
use crate::input::{Input, beyond_input};
use crate::{
    Budget, Cursor, DecodeError, DecodeErrorKind, Field, IntFormat, Kind, Limits, Names, NextField,
    ReadNodes, Sequence, UnknownValue, varint,
};
use bytes::Bytes;
use std::borrow::Cow;

/// The kind of the next value, and so the place of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The whole message.
    Top,
    /// No value: between the fields of a struct.
    Struct,
    /// A field's value, or one occurrence of it.
    Field,
    /// An element after its tag.
    Element,
    /// An element of a packed run.
    Packed,
    /// The key of an entry.
    Key,
    /// The value of an entry.
    Value,
    /// No value: the entry has been read.
    EntryEnd,
}

/// How a struct ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// With the bytes that its length counts.
    Length,
    /// With the tag that ends a group.
    Tag,
    /// With the last of several occurrences in an entry, which are merged.
    Occurrences,
}

/// The place of the reader in one struct or container.
#[derive(Clone, Copy)]
struct Level<'de> {
    place: Place,
    wire_type: u8,
    format: IntFormat,
    /// For the keys of a map in the field.
    key_format: IntFormat,
    /// The field has come before in this message.
    again: bool,
    /// The struct has come before, so that all of its fields have.
    merging: bool,
    ending: Ending,
    /// The fields are those of a reply, whose numbers are one more than their ids.
    reply: bool,
    /// The field, or the one that is repeated.
    number: u32,
    /// The bytes behind the struct, or behind the message around the container.
    after: &'de [u8],
    /// Which of the struct's first 64 fields have come.
    seen: u64,
}

impl Level<'_> {
    #[inline]
    fn new(place: Place) -> Self {
        Level {
            place,
            wire_type: DELIMITED,
            format: IntFormat::Varint,
            key_format: IntFormat::Varint,
            again: false,
            merging: false,
            ending: Ending::Length,
            reply: false,
            number: 1,
            after: &[],
            seen: 0,
        }
    }
}

/// The part of a container that its elements do not change.
#[derive(Clone, Copy)]
struct Container<'de> {
    map: bool,
    /// It has a message of its own; otherwise it shares one with other fields.
    wrapped: bool,
    /// The tag of the first occurrence is already read.
    pending: bool,
    kinds: (Kind, Kind),
    /// Formats of a map's keys and values.
    formats: (IntFormat, IntFormat),
    /// The bytes behind the packed run or the entry.
    resume: &'de [u8],
    /// The bytes of an entry from its key on, and from its value on.
    key: Option<&'de [u8]>,
    value: Option<&'de [u8]>,
    /// The entry has several messages as its value, of which `value` is the first.
    merged: bool,
    /// The elements are groups.
    groups: bool,
}

impl Container<'_> {
    const NONE: Self = Container {
        map: false,
        wrapped: false,
        pending: false,
        kinds: (Kind::Struct, Kind::Struct),
        formats: (IntFormat::Varint, IntFormat::Varint),
        resume: &[],
        key: None,
        value: None,
        merged: false,
        groups: false,
    };
}

/// Reads values in protobuf. A value takes all of the input: the encoding does not say where it
/// ends.
pub struct Reader<'de> {
    /// Up to the end of the innermost message.
    input: Input<'de>,
    budget: Budget,
    nodes: ReadNodes,
    level: Level<'de>,
    outer: Vec<Level<'de>>,
    /// The innermost container, in which there may be structs, and those around it.
    container: Container<'de>,
    containers: Vec<Container<'de>>,
    /// The fields behind the first 64 that have come, each with how deep its struct is inside
    /// others.
    late: Vec<(usize, usize)>,
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
            level: Level::new(Place::Top),
            outer: Vec::new(),
            container: Container::NONE,
            containers: Vec::new(),
            late: Vec::new(),
        }
    }

    #[inline]
    fn tag(&mut self) -> Result<(u32, u8), DecodeError> {
        tag(&mut self.input)
    }

    #[inline]
    fn enter(&mut self, level: Level<'de>) -> Result<(), DecodeError> {
        self.budget.enter()?;
        self.outer.push(std::mem::replace(&mut self.level, level));
        Ok(())
    }

    #[inline]
    fn leave(&mut self) {
        self.budget.leave();
        let depth = self.outer.len();
        while self.late.pop_if(|(inside, _)| *inside >= depth).is_some() {}
        if let Some(outer) = self.outer.pop() {
            self.level = outer;
        }
    }

    /// Reads the tag of the next field, whichever it is.
    fn any_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        while self.input.rest().is_empty() {
            if !self.next_part()? {
                return Ok(self.end());
            }
        }
        let (number, wire) = self.tag()?;
        if wire == END_GROUP && self.ends_group(number) {
            self.leave();
            return Ok(NextField::End);
        }
        let id = number.cast_signed() - i32::from(self.level.reply);
        if let Some(index) = crate::field::find(fields, cursor.index, id)
            && let Some(field) = fields.get(index)
            && fits(field, wire)
        {
            self.announce(field, (number, wire), index);
            cursor.index = index + 1;
            return Ok(NextField::Known(index));
        }
        self.level.number = number;
        self.level.wire_type = wire;
        self.level.place = Place::Struct;
        Ok(NextField::Unknown(id))
    }

    /// The struct has ended.
    #[inline]
    fn end(&mut self) -> NextField {
        self.input.set_rest(self.level.after);
        self.leave();
        NextField::End
    }

    /// Returns whether this tag ends the struct.
    fn ends_group(&self, number: u32) -> bool {
        let begun = self.outer.last().map(|outer| outer.number);
        self.level.ending == Ending::Tag && begun == Some(number)
    }

    /// Goes on with what is merged with the struct, at the end of its bytes. False where nothing
    /// is.
    #[cold]
    fn next_part(&mut self) -> Result<bool, DecodeError> {
        match self.level.ending {
            Ending::Length => return Ok(false),
            Ending::Tag => return Err(DecodeError::malformed("a group that does not end")),
            Ending::Occurrences => self.input.set_rest(self.level.after),
        }
        while !self.input.rest().is_empty() {
            let (number, wire_type) = self.tag()?;
            if (number, wire_type) != (2, DELIMITED) {
                self.skip(number, wire_type)?;
                continue;
            }
            let len = self.length()?;
            let message = self.input.take(len)?;
            self.level.after = self.input.rest();
            self.input.set_rest(message);
            self.merge();
            return Ok(true);
        }
        self.level.after = &[];
        Ok(false)
    }

    /// From here on all fields of the struct have come before.
    fn merge(&mut self) {
        self.level.merging = true;
        self.level.seen = u64::MAX;
    }

    /// Goes to the value of a field, whose tag has been read.
    #[inline]
    fn announce(&mut self, field: &Field<'_>, (number, wire_type): (u32, u8), index: usize) {
        let again = self.comes_again(index);
        self.level = Level {
            place: Place::Field,
            wire_type,
            format: field.format,
            key_format: field.key_format,
            again,
            number,
            ..self.level
        };
    }

    /// Returns whether this field has come before in the struct.
    #[inline]
    fn comes_again(&mut self, index: usize) -> bool {
        if index >= 64 {
            return self.comes_late(index);
        }
        let before = self.level.seen;
        self.level.seen |= 1 << index;
        self.level.seen == before
    }

    #[cold]
    fn comes_late(&mut self, index: usize) -> bool {
        if self.level.merging {
            return true;
        }
        let field = (self.outer.len(), index);
        let again = self.late.contains(&field);
        if !again {
            self.late.push(field);
        }
        again
    }

    /// Goes to the bytes of the next value, which is not a container in a field. False where there
    /// are none, because an entry lacks its key or value: then it has its type's default.
    #[inline]
    fn locate(&mut self, wire_type: u8) -> Result<bool, DecodeError> {
        match self.level.place {
            Place::Field | Place::Element | Place::Packed => Ok(true),
            _ => self.find(wire_type),
        }
    }

    fn find(&mut self, wire_type: u8) -> Result<bool, DecodeError> {
        let found = match self.level.place {
            Place::Top => {
                self.level.place = Place::EntryEnd;
                let wanted = [(1, wire_type), (0, 0)];
                let [found, _] = scan(&self.input, wanted, &mut self.budget)?;
                found.map(|found| found.last)
            }
            Place::Key => {
                self.level.place = Place::Value;
                self.level.format = self.container.formats.1;
                self.container.key
            }
            Place::Value => {
                self.level.place = Place::EntryEnd;
                self.container.value
            }
            _ => return Err(DecodeError::malformed("a value that was not announced")),
        };
        self.input.set_rest(found.unwrap_or_default());
        Ok(found.is_some())
    }

    /// The next value's bits, if it has some. What they depend on is known where this stands behind
    /// the field's header.
    #[inline(always)]
    fn bits(&mut self, kind: Kind) -> Result<Option<u64>, DecodeError> {
        let wire_type = wire_type(kind, self.level.format);
        if !self.locate(wire_type)? {
            return Ok(None);
        }
        Ok(Some(match wire_type {
            FIXED32 => u32::from_le_bytes(self.input.array()?).into(),
            FIXED64 => u64::from_le_bytes(self.input.array()?),
            _ => varint::read(&mut self.input)?,
        }))
    }

    #[inline(always)]
    fn signed(&mut self, kind: Kind) -> Result<i64, DecodeError> {
        // Kept before the read: reading a key moves on to the format of its value.
        let format = self.level.format;
        let bits = self.bits(kind)?.unwrap_or(0);
        Ok(match (format, kind) {
            (IntFormat::ZigZag, Kind::I64) => varint::unzigzag(bits),
            (_, Kind::I64) => bits.cast_signed(),
            // A number of more than 32 bits loses the upper ones, as the specification says.
            (IntFormat::ZigZag, _) => varint::unzigzag(u64::from(bits as u32)),
            _ => i64::from((bits as u32).cast_signed()),
        })
    }

    #[inline]
    fn unsigned32(&mut self, kind: Kind) -> Result<u32, DecodeError> {
        Ok(self.bits(kind)?.unwrap_or(0) as u32)
    }

    /// The length of the delimited value that comes next.
    #[inline]
    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = varint::read(&mut self.input)?;
        match usize::try_from(length) {
            Ok(len) if len <= self.input.rest().len() => Ok(len),
            _ => Err(beyond_input(length, self.input.rest().len())),
        }
    }

    /// Takes the bytes of a struct, or of the message around a container.
    #[inline]
    fn message(&mut self) -> Result<&'de [u8], DecodeError> {
        if !self.locate(DELIMITED)? {
            return Ok(&[]);
        }
        let len = self.length()?;
        self.input.take(len)
    }

    fn skip(&mut self, number: u32, wire_type: u8) -> Result<(), DecodeError> {
        skip(&mut self.input, number, wire_type, &mut self.budget)
    }

    fn container(&mut self, kinds: (Kind, Kind), map: bool) -> Result<Sequence, DecodeError> {
        let mut level = Level::new(Place::Element);
        let mut container = Container {
            map,
            kinds,
            ..Container::NONE
        };
        let append = match self.level.place {
            Place::Field => {
                level.number = self.level.number;
                level.wire_type = self.level.wire_type;
                level.format = self.level.format;
                container.formats = (self.level.key_format, self.level.format);
                container.pending = true;
                container.groups = self.level.wire_type == GROUP;
                self.level.again
            }
            Place::Top => {
                container.wrapped = true;
                self.level.place = Place::EntryEnd;
                false
            }
            _ => {
                container.wrapped = true;
                let message = self.message()?;
                level.after = self.input.rest();
                self.input.set_rest(message);
                false
            }
        };
        self.enter(level)?;
        let around = std::mem::replace(&mut self.container, container);
        self.containers.push(around);
        let mut reserve = 0;
        if self.container.pending && !self.fits() {
            self.container.pending = false;
            self.skip(self.level.number, self.level.wire_type)?;
        }
        if self.container.pending && self.is_run() {
            self.container.pending = false;
            reserve = self.begin_run()?;
        }
        Ok(Sequence {
            reserve,
            append,
            state: 0,
        })
    }

    fn leave_container(&mut self) {
        if self.container.wrapped {
            self.input.set_rest(self.level.after);
        }
        self.container = self.containers.pop().unwrap_or(Container::NONE);
        self.leave();
    }

    /// The wire type of an element that stands for itself.
    #[inline]
    fn element_type(&self) -> u8 {
        match self.container.map {
            true => DELIMITED,
            false if self.container.groups => GROUP,
            false => wire_type(self.container.kinds.0, self.level.format),
        }
    }

    /// Returns whether the occurrence that comes next is one of the container's elements, or a run
    /// of them.
    #[inline]
    fn fits(&self) -> bool {
        // Delimited stands for itself and for a packed run of anything but groups.
        let found = self.level.wire_type;
        found == self.element_type() || found == DELIMITED && !self.container.groups
    }

    /// Returns whether the occurrence that comes next is a packed run.
    #[inline]
    fn is_run(&self) -> bool {
        self.level.wire_type == DELIMITED && self.element_type() != DELIMITED
    }

    /// Goes into a packed run; returns how many elements it has.
    fn begin_run(&mut self) -> Result<usize, DecodeError> {
        let len = self.length()?;
        let run = self.input.take(len)?;
        let count = match wire_type(self.container.kinds.0, self.level.format) {
            FIXED32 => len / 4,
            FIXED64 => len / 8,
            // Each varint ends with the one byte that has no continuation bit.
            _ => run.iter().map(|byte| usize::from(*byte < 0x80)).sum(),
        };
        self.container.resume = self.input.rest();
        self.level.place = Place::Packed;
        self.input.set_rest(run);
        Ok(count)
    }

    /// Reads the tag of the container's next occurrence. False where there is none: at the end of
    /// its message, or, where it shares one, before another field.
    #[inline]
    fn next_occurrence(&mut self) -> Result<bool, DecodeError> {
        loop {
            let before = self.input.rest();
            if before.is_empty() {
                return Ok(false);
            }
            let (number, wire_type) = self.tag()?;
            self.level.wire_type = wire_type;
            if number == self.level.number && self.fits() {
                return Ok(true);
            }
            if !self.container.wrapped {
                self.input.set_rest(before);
                return Ok(false);
            }
            self.skip(number, wire_type)?;
        }
    }

    /// Reads where the parts of the entry are that comes next.
    fn begin_entry(&mut self) -> Result<(), DecodeError> {
        let len = self.length()?;
        let mut entry = self.input.clone();
        entry.set_rest(self.input.take(len)?);
        let (key, value) = self.container.kinds;
        let (key_format, value_format) = self.container.formats;
        let wanted = [
            (1, wire_type(key, key_format)),
            (2, wire_type(value, value_format)),
        ];
        let [key, found] = scan(&entry, wanted, &mut self.budget)?;
        let merged = found.filter(|found| value == Kind::Struct && found.is_repeated());
        self.container.key = key.map(|key| key.last);
        self.container.value = merged
            .map(|found| found.first)
            .or(found.map(|found| found.last));
        self.container.merged = merged.is_some();
        self.container.resume = self.input.rest();
        self.level.place = Place::Key;
        self.level.format = key_format;
        Ok(())
    }
}

/// Returns whether the value of a field can have this wire type.
#[inline]
fn fits(field: &Field<'_>, wire: u8) -> bool {
    match field.kind {
        _ if field.native => false,
        _ if field.group => wire == GROUP,
        Kind::List | Kind::Set => match field.element {
            Some(element) => wire == DELIMITED || wire_type(element, field.format) == wire,
            None => !matches!(wire, GROUP | END_GROUP),
        },
        kind => wire_type(kind, field.format) == wire,
    }
}

#[cold]
fn too_large() -> DecodeError {
    DecodeError::malformed("a number of more bits than its type has")
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
        Ok(self.bits(Kind::Bool)?.unwrap_or(0) != 0)
    }

    #[inline]
    fn i8(&mut self) -> Result<i8, DecodeError> {
        i8::try_from(self.signed(Kind::I8)?).map_err(|_| too_large())
    }

    #[inline]
    fn i16(&mut self) -> Result<i16, DecodeError> {
        i16::try_from(self.signed(Kind::I16)?).map_err(|_| too_large())
    }

    #[inline]
    fn i32(&mut self) -> Result<i32, DecodeError> {
        i32::try_from(self.signed(Kind::I32)?).map_err(|_| too_large())
    }

    #[inline]
    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.signed(Kind::I64)
    }

    #[inline]
    fn f64(&mut self) -> Result<f64, DecodeError> {
        Ok(f64::from_bits(self.bits(Kind::F64)?.unwrap_or(0)))
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        if !self.locate(DELIMITED)? {
            return Ok(Cow::Borrowed(""));
        }
        let len = self.length()?;
        self.input.text(len, &mut self.budget)
    }

    #[inline]
    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        if !self.locate(DELIMITED)? {
            return Ok(Bytes::new());
        }
        let len = self.length()?;
        self.input.blob(len, &mut self.budget)
    }

    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        match self.message()? {
            // The default of `bytes`, as a sender without uuids has it.
            [] => Ok([0; 16]),
            bytes => bytes
                .try_into()
                .map_err(|_| DecodeError::malformed("a uuid that has not 16 bytes")),
        }
    }

    fn begin_list(&mut self, element: Kind) -> Result<Sequence, DecodeError> {
        self.container((element, element), false)
    }

    fn begin_map(&mut self, key: Kind, value: Kind) -> Result<Sequence, DecodeError> {
        self.container((key, value), true)
    }

    #[inline]
    fn next_element(&mut self, _: &mut Sequence) -> Result<bool, DecodeError> {
        loop {
            match self.level.place {
                Place::Packed if !self.input.rest().is_empty() => return Ok(true),
                Place::Packed | Place::Value | Place::EntryEnd => {
                    self.input.set_rest(self.container.resume);
                    self.level.place = Place::Element;
                }
                _ => {}
            }
            if self.container.pending {
                self.container.pending = false;
            } else if !self.next_occurrence()? {
                self.leave_container();
                return Ok(false);
            }
            if self.is_run() {
                self.begin_run()?;
                continue;
            }
            if self.container.map {
                self.begin_entry()?;
            }
            return Ok(true);
        }
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        let mut level = Level::new(Place::Struct);
        let merging = self.level.place == Place::Field && self.level.again;
        match self.level.place {
            Place::Top => self.level.place = Place::EntryEnd,
            Place::Field | Place::Element if self.level.wire_type == GROUP => {
                level.ending = Ending::Tag;
            }
            place => {
                if place == Place::Value && self.container.merged {
                    level.ending = Ending::Occurrences;
                }
                let message = self.message()?;
                level.after = self.input.rest();
                self.input.set_rest(message);
            }
        }
        self.enter(level)?;
        if merging {
            self.merge();
        }
        Ok(())
    }

    fn leaves_out_defaults(&self) -> bool {
        true
    }

    fn begin_reply(&mut self) -> Result<(), DecodeError> {
        self.begin_struct()?;
        self.level.reply = true;
        Ok(())
    }

    #[inline]
    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        // Mostly the contract's next field, or the end.
        let index = cursor.index;
        if let Some(field) = fields.get(index)
            && self.is_next(field, index, cursor)
        {
            cursor.index += 1;
            return Ok(NextField::Known(index));
        }
        if self.input.rest().is_empty() && self.level.ending == Ending::Length {
            return Ok(self.end());
        }
        self.any_field(fields, cursor)
    }

    #[inline]
    fn is_next(&mut self, field: &Field<'_>, index: usize, _: &mut Cursor) -> bool {
        // With a tag of one byte.
        let [tag @ 0..0x80, rest @ ..] = self.input.rest() else {
            return false;
        };
        let (number, wire_type) = (u32::from(tag >> 3), tag & 7);
        let id = number.cast_signed() - i32::from(self.level.reply);
        let is = number > 0 && field.id == id && fits(field, wire_type);
        if is {
            self.input.set_rest(rest);
            self.announce(field, (number, wire_type), index);
        }
        is
    }

    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        Ok(match self.level.wire_type {
            VARINT => UnknownValue::Varint(varint::read(&mut self.input)?),
            FIXED32 => UnknownValue::Fixed32(u32::from_le_bytes(self.input.array()?)),
            FIXED64 => UnknownValue::Fixed64(u64::from_le_bytes(self.input.array()?)),
            DELIMITED => {
                let len = self.length()?;
                UnknownValue::Delimited(self.input.blob(len, &mut self.budget)?)
            }
            GROUP => {
                let mut inside = self.input.clone();
                let number = self.level.number;
                let len = skip_group(&mut self.input, number, &mut self.budget)?;
                UnknownValue::Group(inside.blob(len, &mut self.budget)?)
            }
            END_GROUP => return Err(stray_end()),
            found => return Err(DecodeErrorKind::InvalidType { found }.into()),
        })
    }

    fn enumeration(&mut self, _: &dyn Names) -> Result<i32, DecodeError> {
        Ok((self.bits(Kind::Enum)?.unwrap_or(0) as u32).cast_signed())
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        u8::try_from(self.unsigned32(Kind::U8)?).map_err(|_| too_large())
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        u16::try_from(self.unsigned32(Kind::U16)?).map_err(|_| too_large())
    }

    #[inline]
    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.unsigned32(Kind::U32)
    }

    #[inline]
    fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(self.bits(Kind::U64)?.unwrap_or(0))
    }

    #[inline]
    fn f32(&mut self) -> Result<f32, DecodeError> {
        Ok(f32::from_bits(self.unsigned32(Kind::F32)?))
    }
}
