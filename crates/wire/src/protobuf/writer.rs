use super::{DELIMITED, END_GROUP, FIXED32, FIXED64, GROUP, MAX, VARINT, wire_type};
use crate::depth::Depth;
use crate::{
    Dynamic, EncodeError, Field, IntFormat, Kind, Limits, Names, UnknownValue, WrittenNodes,
    varint, write_message,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use std::num::NonZeroU8;

/// The kind of the next value, and so the bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The whole message.
    Top,
    /// No value: between the fields of a struct.
    Struct,
    /// A field's value: tagged; a container in it repeats the tag.
    Field,
    /// An element: tagged; a container in it needs a message around it.
    Element,
    /// An element of a packed run: no tag.
    Packed,
    /// A key, which opens an entry.
    Key,
    /// A value, which ends the entry.
    Value,
}

/// The place of the writer in one struct or container.
#[derive(Clone, Copy, Debug)]
struct Level {
    place: Place,
    /// The field, or the one that is repeated.
    number: u32,
    format: IntFormat,
    /// Formats of a map's keys and values; `format` is the one that comes next.
    formats: (IntFormat, IntFormat),
    /// Numbers of a list are written one by one.
    expanded: bool,
    /// Messages are written as groups.
    group: bool,
    /// True between the fields of a reply, whose numbers are one more than their ids.
    reply: bool,
}

/// A level that is left, until the one inside it ends.
#[derive(Debug)]
struct Outer {
    level: Level,
    /// The message whose length is written when it ends.
    message: Option<Open>,
    /// The open packed run, or the open entry of a map.
    run: Option<Open>,
}

/// Something whose length stands before it, and is known at its end.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The place of its first byte, behind the room for its length.
    start: usize,
    /// Bytes of that room.
    room: NonZeroU8,
}

/// Formats of containers that are no fields.
const NO_FORMATS: (IntFormat, IntFormat) = (IntFormat::Varint, IntFormat::Varint);

/// Room for lengths below 128.
const LEAST: NonZeroU8 = NonZeroU8::MIN;

/// Up to this depth the rooms of lengths are remembered.
const DEPTHS: usize = 16;

/// Appends values in protobuf to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: Depth,
    nodes: WrittenNodes,
    level: Level,
    outer: Vec<Outer>,
    /// The bytes that the last length took at each depth. The next one there, of another element of
    /// the same list, is likely to take as many; where it does not, what it measures is moved.
    rooms: [NonZeroU8; DEPTHS],
}

impl<'a> Writer<'a> {
    /// Appends to `out`, to which an error leaves an unfinished value appended.
    pub fn new(out: &'a mut Vec<u8>, limits: Limits) -> Self {
        Writer {
            out,
            depth: Depth::new(limits),
            nodes: WrittenNodes::default(),
            level: Level {
                place: Place::Top,
                number: 1,
                format: IntFormat::Varint,
                formats: NO_FORMATS,
                expanded: false,
                group: false,
                reply: false,
            },
            outer: Vec::new(),
            rooms: [LEAST; DEPTHS],
        }
    }

    #[inline]
    fn tag(&mut self, number: u32, wire_type: u8) {
        varint::write(self.out, u64::from(number) << 3 | u64::from(wire_type));
    }

    /// Begins something with a length, for which it leaves room.
    #[inline]
    fn open(&mut self, number: u32) -> Open {
        let room = self.rooms.get(self.outer.len()).copied();
        let room = room.unwrap_or(LEAST);
        let tag = u64::from(number) << 3 | u64::from(DELIMITED);
        match (room, tag) {
            (LEAST, 0..0x80) => self.out.extend_from_slice(&[tag as u8, 0]),
            _ => {
                varint::write(self.out, tag);
                self.out.resize(self.out.len() + usize::from(room.get()), 0);
            }
        }
        Open {
            start: self.out.len(),
            room,
        }
    }

    /// Begins a value that has a length.
    #[inline]
    fn open_value(&mut self) -> Open {
        match self.level.place {
            Place::Value => self.open(2),
            Place::Key => {
                self.begin_entry();
                self.open(1)
            }
            _ => self.open(self.level.number),
        }
    }

    /// Writes the length of what was written since `open`, at the same depth.
    #[inline]
    fn close(&mut self, open: Open) -> Result<(), EncodeError> {
        let len = self.out.len().saturating_sub(open.start);
        match (self.out.get_mut(open.start.wrapping_sub(1)), len) {
            (Some(room), 0..0x80) if open.room == LEAST => {
                *room = len as u8;
                Ok(())
            }
            _ => self.close_long(open, len),
        }
    }

    fn close_long(&mut self, open: Open, len: usize) -> Result<(), EncodeError> {
        if i32::try_from(len).is_err() {
            return Err(EncodeError::TooLong { length: len });
        }
        let size = varint::len(len as u64);
        let from = open.start - usize::from(open.room.get());
        self.move_to(open.start, from + size);
        let mut left = len;
        for (index, byte) in self.out.iter_mut().skip(from).take(size).enumerate() {
            let more = index + 1 < size;
            *byte = left as u8 & 0x7f | u8::from(more) << 7;
            left >>= 7;
        }
        if let Some(room) = self.rooms.get_mut(self.outer.len()) {
            *room = NonZeroU8::new(size as u8).unwrap_or(LEAST);
        }
        Ok(())
    }

    /// Moves all that was written from one place on to another one.
    fn move_to(&mut self, from: usize, to: usize) {
        let end = self.out.len();
        if to == from {
            return;
        }
        if to > from {
            self.out.resize(end + (to - from), 0);
        }
        self.out.copy_within(from..end, to);
        self.out.truncate(end - from + to);
    }

    /// Writes what comes before a value.
    #[inline]
    fn before(&mut self, wire_type: u8) {
        match self.level.place {
            Place::Field | Place::Element | Place::Top => self.tag(self.level.number, wire_type),
            Place::Packed | Place::Struct => {}
            Place::Key | Place::Value => self.before_part(wire_type),
        }
    }

    /// Writes what comes before a key or the value behind it.
    fn before_part(&mut self, wire_type: u8) {
        if self.level.place == Place::Value {
            return self.tag(2, wire_type);
        }
        self.begin_entry();
        self.tag(1, wire_type);
    }

    fn begin_entry(&mut self) {
        let entry = self.open(self.level.number);
        if let Some(outer) = self.outer.last_mut() {
            outer.run = Some(entry);
        }
    }

    /// Writes what comes before a value, and its number or length.
    #[inline]
    fn number(&mut self, wire_type: u8, bits: u64) {
        let tag = u64::from(self.level.number) << 3 | u64::from(wire_type);
        match self.level.place {
            // Mostly two bytes.
            Place::Field | Place::Element if (tag | bits) < 0x80 => {
                self.out.extend_from_slice(&[tag as u8, bits as u8]);
            }
            _ => self.any_number(wire_type, bits),
        }
    }

    fn any_number(&mut self, wire_type: u8, bits: u64) {
        self.before(wire_type);
        varint::write(self.out, bits);
    }

    /// Writes what comes after a value.
    #[inline]
    fn after(&mut self) -> Result<(), EncodeError> {
        match self.level.place {
            Place::Key | Place::Value => self.after_part(),
            _ => Ok(()),
        }
    }

    /// Goes on from a key to its value, or ends the entry.
    fn after_part(&mut self) -> Result<(), EncodeError> {
        if self.level.place == Place::Key {
            self.level.place = Place::Value;
            self.level.format = self.level.formats.1;
            return Ok(());
        }
        self.level.place = Place::Key;
        self.level.format = self.level.formats.0;
        match self.outer.last_mut().and_then(|outer| outer.run.take()) {
            Some(entry) => self.close(entry),
            None => Ok(()),
        }
    }

    /// An integer: its two's complement for `Varint`, itself for the other formats.
    #[inline]
    fn integer(&mut self, kind: Kind, value: i64) -> Result<(), EncodeError> {
        match self.level.format {
            IntFormat::Varint => self.varint(value.cast_unsigned()),
            format => self.formatted(kind, format, value),
        }
    }

    fn formatted(&mut self, kind: Kind, format: IntFormat, value: i64) -> Result<(), EncodeError> {
        match wire_type(kind, format) {
            FIXED32 => self.fixed(FIXED32, (value as u32).to_le_bytes()),
            FIXED64 => self.fixed(FIXED64, value.to_le_bytes()),
            _ => self.varint(match kind {
                Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => varint::zigzag(value),
                _ => value.cast_unsigned(),
            }),
        }
    }

    #[inline]
    fn varint(&mut self, bits: u64) -> Result<(), EncodeError> {
        self.number(VARINT, bits);
        self.after()
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, wire_type: u8, bytes: [u8; N]) -> Result<(), EncodeError> {
        self.before(wire_type);
        self.out.extend_from_slice(&bytes);
        self.after()
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        if i32::try_from(bytes.len()).is_err() {
            return Err(EncodeError::TooLong {
                length: bytes.len(),
            });
        }
        self.number(DELIMITED, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
        self.after()
    }

    #[inline]
    fn enter(&mut self, inside: Level, message: Option<Open>, run: Option<Open>) {
        let level = std::mem::replace(&mut self.level, inside);
        self.outer.push(Outer {
            level,
            message,
            run,
        });
    }

    #[inline]
    fn leave(&mut self) -> Result<(), EncodeError> {
        self.depth.leave();
        let Some(outer) = self.outer.pop() else {
            return Ok(());
        };
        if let Some(run) = outer.run {
            self.close(run)?;
        }
        if let Some(message) = outer.message {
            self.close(message)?;
        }
        self.level = outer.level;
        self.after()
    }

    /// Begins a container: the field's own repetitions, or those of field 1 of a message around it.
    fn container(&mut self) -> Result<(Level, Option<Open>), EncodeError> {
        self.depth.enter()?;
        let level = Level {
            place: Place::Element,
            number: 1,
            format: IntFormat::Varint,
            formats: NO_FORMATS,
            expanded: false,
            group: false,
            reply: false,
        };
        Ok(match self.level.place {
            Place::Field => (
                Level {
                    number: self.level.number,
                    format: self.level.format,
                    formats: self.level.formats,
                    expanded: self.level.expanded,
                    group: self.level.group,
                    ..level
                },
                None,
            ),
            Place::Top => (level, None),
            _ => (level, Some(self.open_value())),
        })
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.varint(value.into())
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result<(), EncodeError> {
        self.integer(Kind::I8, value.into())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result<(), EncodeError> {
        self.integer(Kind::I16, value.into())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result<(), EncodeError> {
        self.integer(Kind::I32, value.into())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result<(), EncodeError> {
        self.integer(Kind::I64, value)
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result<(), EncodeError> {
        self.fixed(FIXED64, value.to_le_bytes())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result<(), EncodeError> {
        self.blob(value.as_bytes())
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result<(), EncodeError> {
        self.blob(value)
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Result<(), EncodeError> {
        self.blob(value)
    }

    /// As `google.protobuf.Value`, which has no integers, bytes and uuids: as a double and as text.
    fn dynamic(&mut self, value: &Dynamic) -> Result<bool, EncodeError> {
        let carried = match value {
            Dynamic::Int(value) => exact(i128::from(*value))?,
            Dynamic::UInt(value) => exact(i128::from(*value))?,
            Dynamic::Bytes(value) => Dynamic::String(BASE64_STANDARD.encode(value)),
            Dynamic::Uuid(value) => Dynamic::String(value.to_string()),
            _ => return Ok(false),
        };
        write_message(&carried, self).map(|()| true)
    }

    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        let (mut level, message) = self.container()?;
        let packed = wire_type(element, level.format) != DELIMITED && !level.expanded;
        let mut run = None;
        if packed && len > 0 {
            run = Some(self.open(level.number));
        }
        if packed {
            level.place = Place::Packed;
        }
        self.enter(level, message, run);
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), EncodeError> {
        self.leave()
    }

    fn begin_map(&mut self, _: Kind, _: Kind, _: usize) -> Result<(), EncodeError> {
        let (mut level, message) = self.container()?;
        level.place = Place::Key;
        level.format = level.formats.0;
        level.group = false;
        self.enter(level, message, None);
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.leave()
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let message = match self.level.place {
            Place::Top => None,
            _ if self.level.group => {
                self.tag(self.level.number, GROUP);
                None
            }
            _ => Some(self.open_value()),
        };
        let level = Level {
            place: Place::Struct,
            reply: false,
            ..self.level
        };
        self.enter(level, message, None);
        Ok(())
    }

    fn begin_reply(&mut self) -> Result<(), EncodeError> {
        self.begin_struct()?;
        self.level.reply = true;
        Ok(())
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result<(), EncodeError> {
        let reply = self.level.reply;
        self.level = Level {
            place: Place::Field,
            number: number(field.id.saturating_add(reply.into()))?,
            format: field.format,
            formats: (field.key_format, field.format),
            expanded: field.expanded,
            group: field.group,
            reply,
        };
        Ok(())
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        self.level.place = Place::Struct;
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.leave()?;
        // The level around the struct says whether it was a group, as it did at its beginning.
        if self.level.group {
            self.tag(self.level.number, END_GROUP);
        }
        Ok(())
    }

    fn leaves_out_defaults(&self) -> bool {
        true
    }

    #[inline]
    fn enumeration(&mut self, value: i32, _: &dyn Names) -> Result<(), EncodeError> {
        self.varint(i64::from(value).cast_unsigned())
    }

    #[inline]
    fn u8(&mut self, value: u8) -> Result<(), EncodeError> {
        self.integer(Kind::U8, value.into())
    }

    #[inline]
    fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.integer(Kind::U16, value.into())
    }

    #[inline]
    fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.integer(Kind::U32, value.into())
    }

    #[inline]
    fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.integer(Kind::U64, value.cast_signed())
    }

    #[inline]
    fn f32(&mut self, value: f32) -> Result<(), EncodeError> {
        self.fixed(FIXED32, value.to_le_bytes())
    }

    fn unknown_field(&mut self, id: i32, value: &UnknownValue) -> Result<(), EncodeError> {
        // A field of Thrift with an id that is none here.
        let Ok(number) = number(id.saturating_add(self.level.reply.into())) else {
            return Ok(());
        };
        match value {
            UnknownValue::Varint(bits) => {
                self.tag(number, VARINT);
                varint::write(self.out, *bits);
            }
            UnknownValue::Fixed32(bits) => {
                self.tag(number, FIXED32);
                self.out.extend_from_slice(&bits.to_le_bytes());
            }
            UnknownValue::Fixed64(bits) => {
                self.tag(number, FIXED64);
                self.out.extend_from_slice(&bits.to_le_bytes());
            }
            UnknownValue::Delimited(bytes) => {
                self.tag(number, DELIMITED);
                varint::write(self.out, bytes.len() as u64);
                self.out.extend_from_slice(bytes);
            }
            UnknownValue::Group(bytes) => {
                self.tag(number, GROUP);
                self.out.extend_from_slice(bytes);
                self.tag(number, END_GROUP);
            }
            other => {
                if let Some(kind) = other.kind() {
                    self.begin_field(&Field::new(id, "", kind))?;
                    other.write(self)?;
                    self.end_field()?;
                }
            }
        }
        Ok(())
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}

#[inline]
fn number(id: i32) -> Result<u32, EncodeError> {
    match id {
        1..=MAX => Ok(id.cast_unsigned()),
        _ => Err(EncodeError::Unsupported {
            what: "a field id below 1 or of more than 29 bits in protobuf",
        }),
    }
}

/// An integer as a double, if that is the same number.
fn exact(value: i128) -> Result<Dynamic, EncodeError> {
    let double = value as f64;
    match double as i128 == value {
        true => Ok(Dynamic::Double(double)),
        false => Err(EncodeError::Unsupported {
            what: "an integer that no double is equal to, in a dynamic value of protobuf",
        }),
    }
}
