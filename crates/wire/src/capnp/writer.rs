use super::WORD;
use super::builder::{Builder, TOO_LARGE, Words};
use super::copy::copy;
use super::layouts::{FieldLayout, Layouts, Place, Shape, StructLayout};
use super::pointer::ElementSize;
use super::segments::{Segments, Spot};
use crate::depth::Depth;
use crate::object::Numbers;
use crate::{EncodeError, Field, Kind, Limits, Names, UnknownValue};
use bytes::Bytes;
use std::any::Any;

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Appends a message of one segment, without the table of segments.
///
/// The value is a struct. Fields and elements that are written have a place already: what begins a
/// struct or a list makes it, zeroed.
#[derive(Debug)]
pub struct Writer<'a> {
    builder: Builder<'a>,
    layouts: &'a Layouts,
    /// The place of the value that comes next.
    next: Slot<'a>,
    frames: Vec<Frame<'a>>,
    depth: Depth,
    numbers: Numbers,
}

/// The place of a value, and its shape.
#[derive(Clone, Copy, Debug)]
struct Slot<'a> {
    shape: &'a Shape,
    room: Room,
}

#[derive(Clone, Copy, Debug)]
enum Room {
    None,
    /// Bits of data: the byte, the bit in it, and the bits of the default.
    Data {
        byte: usize,
        bit: u8,
        default: u64,
    },
    /// The byte of a pointer.
    Pointer(usize),
    /// A struct whose words are there.
    Words(Words),
}

#[derive(Clone, Copy, Debug)]
enum Frame<'a> {
    Struct {
        layout: &'a StructLayout,
        /// The place in the layout to look at first.
        next: usize,
        words: Words,
        /// The unions that have a member, a bit for each number.
        unions: u64,
    },
    /// A struct that takes no room.
    Void,
    List {
        element: &'a Shape,
        start: usize,
        index: usize,
        /// Bits from one element to the next, and how many of them are data.
        step: usize,
        data: usize,
    },
    /// Entries are structs with two fields; key and value take turns.
    Map {
        entry: &'a StructLayout,
        start: usize,
        index: usize,
        is_value: bool,
    },
}

/// The room for structs and lists inside one another that most values need.
pub(super) const FRAMES: usize = 8;

const NO_PLACE: EncodeError = EncodeError::Unsupported {
    what: "a value that has no place in its struct of Cap'n Proto",
};

const TWO_MEMBERS: EncodeError = EncodeError::Unsupported {
    what: "two members of one union in Cap'n Proto",
};

impl<'a> Writer<'a> {
    /// Begins a message.
    pub fn new(out: &'a mut Vec<u8>, layouts: &'a Layouts, limits: Limits) -> Self {
        let (builder, root) = Builder::new(out);
        Self::at(builder, root, layouts, limits)
    }

    /// Writes a value that the pointer at this byte leads to.
    pub fn at(builder: Builder<'a>, pointer: usize, layouts: &'a Layouts, limits: Limits) -> Self {
        Writer {
            builder,
            layouts,
            next: Slot {
                shape: &layouts.root,
                room: Room::Pointer(pointer),
            },
            frames: Vec::with_capacity(FRAMES),
            depth: Depth::new(limits),
            numbers: Numbers::default(),
        }
    }

    fn structure(&mut self, at: usize, layout: &StructLayout) -> Result<Words> {
        self.builder.structure(at, layout.data, layout.pointers)
    }

    /// The place of the number itself, where it has a struct of its own.
    fn unboxed(&mut self, slot: Slot<'a>) -> Result<Slot<'a>> {
        let (Shape::Boxed(number), Room::Pointer(at)) = (slot.shape, slot.room) else {
            return Ok(slot);
        };
        let layout = self.layouts.get(*number).ok_or(NO_PLACE)?;
        let words = self.structure(at, layout)?;
        let field = layout.fields.first().ok_or(NO_PLACE)?;
        Ok(self::slot(field, words))
    }

    /// Writes a number of so many bytes.
    #[inline]
    fn number<const BYTES: usize>(&mut self, value: u64) -> Result {
        match (self.next.shape, self.next.room) {
            (Shape::Number { bytes }, Room::Data { byte, default, .. })
                if usize::from(*bytes) == BYTES =>
            {
                self.builder.put_number::<BYTES>(byte, value ^ default);
            }
            _ => return Err(NO_PLACE),
        }
        self.done();
        Ok(())
    }

    fn blob(&mut self, bytes: &[u8], is_text: bool) -> Result {
        let Room::Pointer(at) = self.next.room else {
            return Err(NO_PLACE);
        };
        self.builder.blob(at, bytes, is_text)?;
        self.done();
        Ok(())
    }

    /// Goes on from a value to the next element, where it is one.
    #[inline]
    fn done(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::List { index, .. }) => *index += 1,
            Some(Frame::Map {
                index, is_value, ..
            }) => {
                *index += usize::from(*is_value);
                *is_value = !*is_value;
            }
            _ => return,
        }
        self.element();
    }

    /// Finds the place of the next element.
    #[inline]
    fn element(&mut self) {
        self.next = match self.frames.last() {
            Some(Frame::List {
                element,
                start,
                index,
                step,
                data,
            }) => {
                let bit = index * step;
                let at = start + bit / 8;
                let room = match element {
                    Shape::Void => Room::None,
                    Shape::Bit | Shape::Number { .. } => Room::Data {
                        byte: at,
                        bit: (bit % 8) as u8,
                        default: 0,
                    },
                    Shape::Struct(_) | Shape::Group(_) => Room::Words(Words {
                        data: at,
                        pointers: at + data,
                    }),
                    _ => Room::Pointer(at),
                };
                Slot {
                    shape: element,
                    room,
                }
            }
            Some(Frame::Map {
                entry,
                start,
                index,
                is_value,
            }) => {
                let words = usize::from(entry.data) + usize::from(entry.pointers);
                let data = start + index * words * WORD;
                let words = Words {
                    data,
                    pointers: data + usize::from(entry.data) * WORD,
                };
                let id = if *is_value { 2 } else { 1 };
                match entry.field(id, usize::from(*is_value)) {
                    Some((_, field)) => slot(field, words),
                    None => NOWHERE,
                }
            }
            _ => NOWHERE,
        };
    }

    /// Begins a field that is not the next one of the layout, or is a member of a union, or has a
    /// struct of its own.
    fn other_field(&mut self, field: &Field<'_>) -> Result {
        let Some(Frame::Struct {
            layout,
            next,
            words,
            unions,
        }) = self.frames.last_mut()
        else {
            return Err(NO_PLACE);
        };
        let (index, found) = layout.field(field.id, *next).ok_or(NO_PLACE)?;
        *next = index + 1;
        let (place, words) = (slot(found, *words), *words);
        if let Some(tag) = found.tag {
            // Members share their room: the first one's would be left in the second one.
            let union = 1u64.checked_shl(tag.union.into()).unwrap_or(0);
            if *unions & union != 0 {
                return Err(TWO_MEMBERS);
            }
            *unions |= union;
            self.builder.put_u16(words, tag.offset as usize, tag.value);
        }
        self.next = self.unboxed(place)?;
        Ok(())
    }

    /// Copies a value that is a pointer to anything.
    fn any(&mut self, message: &Bytes) -> Result {
        let Room::Pointer(at) = self.next.room else {
            return Err(NO_PLACE);
        };
        let wrong = EncodeError::Unsupported {
            what: "bytes that are no message of Cap'n Proto, for a pointer to anything",
        };
        if !message.is_empty() {
            let message = Segments::single(message.clone()).map_err(|_| wrong.clone())?;
            let root = Spot {
                segment: 0,
                word: 0,
            };
            {
                let (out, base) = self.builder.parts();
                copy(&message, root, out, (base, at), false)
            }
            .map_err(|_| wrong)?;
        }
        self.done();
        Ok(())
    }
}

const NOWHERE: Slot<'static> = Slot {
    shape: &Shape::Void,
    room: Room::None,
};

/// The place of a field in a struct.
#[inline]
fn slot(field: &FieldLayout, words: Words) -> Slot<'_> {
    let room = match &field.place {
        Place::Inline => Room::Words(words),
        Place::Pointer { index } => Room::Pointer(words.pointer(*index as usize)),
        Place::Data {
            byte, bit, default, ..
        } => Room::Data {
            byte: words.data + *byte as usize,
            bit: *bit,
            default: *default,
        },
    };
    Slot {
        shape: &field.shape,
        room,
    }
}

impl crate::Writer for Writer<'_> {
    #[inline]
    fn bool(&mut self, value: bool) -> Result {
        match (self.next.shape, self.next.room) {
            (Shape::Bit, Room::Data { byte, bit, default }) => {
                self.builder.put_bit(byte, bit, value ^ (default & 1 == 1));
            }
            _ => return Err(NO_PLACE),
        }
        self.done();
        Ok(())
    }

    #[inline]
    fn i8(&mut self, value: i8) -> Result {
        self.number::<1>(value.cast_unsigned().into())
    }

    #[inline]
    fn i16(&mut self, value: i16) -> Result {
        self.number::<2>(value.cast_unsigned().into())
    }

    #[inline]
    fn i32(&mut self, value: i32) -> Result {
        self.number::<4>(value.cast_unsigned().into())
    }

    #[inline]
    fn i64(&mut self, value: i64) -> Result {
        self.number::<8>(value.cast_unsigned())
    }

    #[inline]
    fn f32(&mut self, value: f32) -> Result {
        self.number::<4>(value.to_bits().into())
    }

    #[inline]
    fn f64(&mut self, value: f64) -> Result {
        self.number::<8>(value.to_bits())
    }

    fn enumeration(&mut self, value: i32, _: &dyn Names) -> Result {
        let Ok(number) = u16::try_from(value) else {
            return Err(EncodeError::Unsupported {
                what: "values of enums beyond 65535 in Cap'n Proto",
            });
        };
        self.number::<2>(number.into())
    }

    #[inline]
    fn string(&mut self, value: &str) -> Result {
        match self.next.shape {
            Shape::Text => self.blob(value.as_bytes(), true),
            _ => Err(NO_PLACE),
        }
    }

    #[inline]
    fn bytes(&mut self, value: &Bytes) -> Result {
        match self.next.shape {
            Shape::Data => self.blob(value, false),
            Shape::Any => self.any(value),
            _ => Err(NO_PLACE),
        }
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Result {
        match self.next.shape {
            Shape::Data => self.blob(value, false),
            _ => Err(NO_PLACE),
        }
    }

    #[inline]
    fn begin_list(&mut self, _: Kind, len: usize) -> Result {
        let (Shape::List(element), Room::Pointer(at)) = (self.next.shape, self.next.room) else {
            return Err(NO_PLACE);
        };
        self.depth.enter()?;
        let (start, step, data) = match &**element {
            Shape::Struct(number) | Shape::Group(number) => {
                let layout = self.layouts.get(*number).ok_or(NO_PLACE)?;
                let data = usize::from(layout.data) * WORD;
                let step = data + usize::from(layout.pointers) * WORD;
                let first = self
                    .builder
                    .structs(at, len, layout.data, layout.pointers)?;
                (first.data, step * 8, data)
            }
            element => {
                let size = ElementSize::of(element);
                let bits = len.checked_mul(size.bits()).ok_or(TOO_LARGE)?;
                let start = self.builder.list(at, size, len, bits.div_ceil(64))?;
                (start, size.bits(), 0)
            }
        };
        self.frames.push(Frame::List {
            element,
            start,
            index: 0,
            step,
            data,
        });
        self.element();
        Ok(())
    }

    #[inline]
    fn end_list(&mut self) -> Result {
        self.frames.pop();
        self.depth.leave();
        self.done();
        Ok(())
    }

    fn begin_map(&mut self, _: Kind, _: Kind, len: usize) -> Result {
        let (Shape::Map(number), Room::Pointer(at)) = (self.next.shape, self.next.room) else {
            return Err(NO_PLACE);
        };
        self.depth.enter()?;
        let entry = self.layouts.get(*number).ok_or(NO_PLACE)?;
        let first = self.builder.structs(at, len, entry.data, entry.pointers)?;
        self.frames.push(Frame::Map {
            entry,
            start: first.data,
            index: 0,
            is_value: false,
        });
        self.element();
        Ok(())
    }

    fn end_map(&mut self) -> Result {
        self.end_list()
    }

    #[inline]
    fn begin_struct(&mut self) -> Result {
        self.depth.enter()?;
        let (number, words) = match (self.next.shape, self.next.room) {
            (Shape::Void, _) => {
                self.frames.push(Frame::Void);
                return Ok(());
            }
            (Shape::Struct(number), Room::Pointer(at)) => {
                let layout = self.layouts.get(*number).ok_or(NO_PLACE)?;
                (number, self.structure(at, layout)?)
            }
            (Shape::Struct(number) | Shape::Group(number), Room::Words(words)) => (number, words),
            _ => return Err(NO_PLACE),
        };
        let layout = self.layouts.get(*number).ok_or(NO_PLACE)?;
        self.frames.push(Frame::Struct {
            layout,
            next: 0,
            words,
            unions: 0,
        });
        Ok(())
    }

    #[inline]
    fn begin_field(&mut self, field: &Field<'_>) -> Result {
        if let Some(Frame::Struct {
            layout,
            next,
            words,
            ..
        }) = self.frames.last_mut()
            && let Some(found) = layout.fields.get(*next)
            && found.id == field.id
            && found.is_plain
        {
            *next += 1;
            self.next = slot(found, *words);
            return Ok(());
        }
        self.other_field(field)
    }

    #[inline]
    fn end_field(&mut self) -> Result {
        Ok(())
    }

    #[inline]
    fn end_struct(&mut self) -> Result {
        self.frames.pop();
        self.depth.leave();
        self.done();
        Ok(())
    }

    /// Leaves the field out: it has no place that this end knows.
    fn unknown_field(&mut self, _: i32, _: &UnknownValue) -> Result {
        Ok(())
    }

    fn is_deep(&self) -> bool {
        self.depth.is_deep()
    }

    /// Writes the place of an object in the table of the message.
    fn object(&mut self, object: &dyn Any) -> Result {
        let (Shape::Object, Room::Pointer(at)) = (self.next.shape, self.next.room) else {
            return Err(NO_PLACE);
        };
        let place = u32::try_from(self.numbers.number(object)?).map_err(|_| TOO_LARGE)?;
        self.builder.capability(at, place);
        self.done();
        Ok(())
    }

    fn numbers(&mut self) -> Option<&mut Numbers> {
        Some(&mut self.numbers)
    }

    fn as_dyn(&mut self) -> &mut dyn crate::Writer {
        self
    }
}
