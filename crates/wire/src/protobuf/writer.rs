use super::{DELIMITED, END_GROUP, FIXED32, FIXED64, GROUP, MOST, VARINT, wire_type};
use crate::depth::Depth;
use crate::{EncodeError, Field, IntFormat, Kind, Limits, UnknownValue, WrittenNodes, varint};
use bytes::Bytes;

/// What the next value is, and so what comes before it.
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

/// Where the writer is in one struct or container.
#[derive(Clone, Copy, Debug)]
struct Level {
    place: Place,
    /// The field, or the one that is repeated.
    number: u32,
    format: IntFormat,
    /// True between the fields of a reply, whose numbers are one more than their ids.
    reply: bool,
    /// Where the open entry of a map begins.
    entry: usize,
}

/// A level that is left, until the one inside it ends.
#[derive(Debug)]
struct Outer {
    level: Level,
    /// Where the message began whose length is written when it ends.
    message: Option<usize>,
    /// Where the packed run began.
    run: Option<usize>,
}

/// Appends values in protobuf to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: Depth,
    nodes: WrittenNodes,
    level: Level,
    outer: Vec<Outer>,
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
                reply: false,
                entry: 0,
            },
            outer: Vec::new(),
        }
    }

    #[inline]
    fn tag(&mut self, number: u32, wire_type: u8) {
        varint::write(self.out, u64::from(number) << 3 | u64::from(wire_type));
    }

    /// Leaves room for a length. Most are below 128; a longer one moves what it measures.
    #[inline]
    fn open(&mut self) -> usize {
        self.out.push(0);
        self.out.len()
    }

    /// Writes the length of what was written since `open`.
    #[inline]
    fn close(&mut self, start: usize) -> Result<(), EncodeError> {
        let len = self.out.len().saturating_sub(start);
        match (self.out.get_mut(start.wrapping_sub(1)), len) {
            (Some(room), 0..0x80) => {
                *room = len as u8;
                Ok(())
            }
            _ => self.close_long(start, len),
        }
    }

    fn close_long(&mut self, start: usize, len: usize) -> Result<(), EncodeError> {
        if i32::try_from(len).is_err() {
            return Err(EncodeError::TooLong { length: len });
        }
        let end = self.out.len();
        varint::write(self.out, len as u64);
        // The length now stands behind; it goes to the front, and its first byte has room there.
        let size = self.out.len() - end;
        let mut length = [0; 10];
        if let (Some(to), Some(from)) = (length.get_mut(..size), self.out.get(end..)) {
            to.copy_from_slice(from);
        }
        self.out.truncate(end + size - 1);
        self.out.copy_within(start..end, start + size - 1);
        if let (Some(to), Some(from)) = (
            self.out.get_mut(start - 1..start - 1 + size),
            length.get(..size),
        ) {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Writes what comes before a value.
    #[inline]
    fn before(&mut self, wire_type: u8) {
        match self.level.place {
            Place::Field | Place::Element | Place::Top => self.tag(self.level.number, wire_type),
            Place::Packed | Place::Struct => {}
            Place::Key => {
                self.tag(self.level.number, DELIMITED);
                self.level.entry = self.open();
                self.tag(1, wire_type);
            }
            Place::Value => self.tag(2, wire_type),
        }
    }

    /// Writes what comes after a value.
    #[inline]
    fn after(&mut self) -> Result<(), EncodeError> {
        match self.level.place {
            Place::Key => self.level.place = Place::Value,
            Place::Value => {
                self.close(self.level.entry)?;
                self.level.place = Place::Key;
            }
            _ => {}
        }
        Ok(())
    }

    /// An integer: its two's complement for `Varint`, itself for the other formats.
    #[inline]
    fn integer(&mut self, kind: Kind, value: i64) -> Result<(), EncodeError> {
        let format = self.level.format;
        let wire_type = wire_type(kind, format);
        self.before(wire_type);
        match wire_type {
            FIXED32 => self.out.extend_from_slice(&(value as u32).to_le_bytes()),
            FIXED64 => self.out.extend_from_slice(&value.to_le_bytes()),
            _ => {
                let signed = matches!(kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64);
                let bits = match format {
                    IntFormat::ZigZag if signed => varint::zigzag(value),
                    _ => value.cast_unsigned(),
                };
                varint::write(self.out, bits);
            }
        }
        self.after()
    }

    #[inline]
    fn blob(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        if i32::try_from(bytes.len()).is_err() {
            return Err(EncodeError::TooLong {
                length: bytes.len(),
            });
        }
        self.before(DELIMITED);
        varint::write(self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
        self.after()
    }

    fn enter(&mut self, inside: Level, message: Option<usize>, run: Option<usize>) {
        let level = std::mem::replace(&mut self.level, inside);
        self.outer.push(Outer {
            level,
            message,
            run,
        });
    }

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
    fn container(&mut self) -> Result<(Level, Option<usize>), EncodeError> {
        self.depth.enter()?;
        let level = Level {
            place: Place::Element,
            number: 1,
            format: IntFormat::Varint,
            reply: false,
            entry: 0,
        };
        Ok(match self.level.place {
            Place::Field => (
                Level {
                    number: self.level.number,
                    format: self.level.format,
                    ..level
                },
                None,
            ),
            Place::Top => (level, None),
            _ => {
                self.before(DELIMITED);
                (level, Some(self.open()))
            }
        })
    }
}

impl crate::Writer for Writer<'_> {
    fn nodes(&mut self) -> Result<&mut WrittenNodes, EncodeError> {
        Ok(&mut self.nodes)
    }

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.before(VARINT);
        self.out.push(value.into());
        self.after()
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
        self.before(FIXED64);
        self.out.extend_from_slice(&value.to_le_bytes());
        self.after()
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

    fn begin_list(&mut self, element: Kind, len: usize) -> Result<(), EncodeError> {
        let (mut level, message) = self.container()?;
        let packed = wire_type(element, level.format) != DELIMITED;
        let mut run = None;
        if packed && len > 0 {
            self.tag(level.number, DELIMITED);
            run = Some(self.open());
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
        level.format = IntFormat::Varint;
        self.enter(level, message, None);
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), EncodeError> {
        self.leave()
    }

    fn begin_struct(&mut self) -> Result<(), EncodeError> {
        self.depth.enter()?;
        let message = match self.level.place {
            Place::Top => None,
            _ => {
                self.before(DELIMITED);
                Some(self.open())
            }
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
            reply,
            entry: 0,
        };
        Ok(())
    }

    #[inline]
    fn end_field(&mut self) -> Result<(), EncodeError> {
        self.level.place = Place::Struct;
        Ok(())
    }

    fn end_struct(&mut self) -> Result<(), EncodeError> {
        self.leave()
    }

    #[inline]
    fn enumeration(&mut self, value: i32) -> Result<(), EncodeError> {
        self.before(VARINT);
        varint::write(self.out, i64::from(value).cast_unsigned());
        self.after()
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
        self.before(FIXED32);
        self.out.extend_from_slice(&value.to_le_bytes());
        self.after()
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
        1..=MOST => Ok(id.cast_unsigned()),
        _ => Err(EncodeError::Unsupported {
            what: "a field id below 1 or of more than 29 bits in protobuf",
        }),
    }
}
