use super::WORD;
use super::copy::copy;
use super::layouts::{FieldLayout, Layouts, Place, Shape, StructLayout};
use super::pointer::ElementSize;
use super::segments::{ListAt, Segments, Spot, StructAt, Target};
use super::view::PointerAt;
use super::writer::FRAMES;
use crate::field::find;
use crate::input::SHARE_FROM;
use crate::object::Numbers;
use crate::text;
use crate::{
    Budget, Cursor, DecodeError, DecodeErrorKind, Field, Kind, Limits, Names, NextField, Sequence,
    UnknownValue,
};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;

type Result<T> = std::result::Result<T, DecodeError>;

/// The place that stands for a null pointer where an object could be.
pub const NO_OBJECT: u64 = u64::MAX;

/// Reads a message. Texts are borrowed from it, and large data share its memory.
pub struct Reader<'de> {
    message: &'de Segments,
    layouts: &'de Layouts,
    budget: Budget,
    /// The words that pointers may still lead to.
    words: usize,
    /// The place of the value that comes next.
    next: Slot<'de>,
    frames: Vec<Frame<'de>>,
    numbers: Numbers,
}

#[derive(Clone, Copy)]
struct Slot<'de> {
    shape: &'de Shape,
    room: Room,
}

#[derive(Clone, Copy)]
enum Room {
    /// The value is not there: it is zero, empty, or null.
    None,
    /// Bits of a segment: the byte, the bit in it, and the bits of the default.
    Data {
        segment: u32,
        byte: usize,
        bit: u8,
        default: u64,
    },
    /// A pointer.
    Pointer(Spot),
    /// A struct.
    Words(StructAt),
}

enum Frame<'de> {
    Struct {
        layout: &'de StructLayout,
        at: StructAt,
    },
    /// A struct that takes no room.
    Void,
    List {
        element: &'de Shape,
        list: ListAt,
        index: usize,
    },
    Map {
        entry: &'de StructLayout,
        list: ListAt,
        index: usize,
        is_value: bool,
    },
}

impl<'de> Reader<'de> {
    /// Reads the root of a message.
    pub fn new(message: &'de Segments, layouts: &'de Layouts, limits: Limits) -> Self {
        Self::at(message, PointerAt::ROOT, layouts, limits)
    }

    /// Reads the value that a pointer leads to.
    pub fn at(
        message: &'de Segments,
        pointer: PointerAt,
        layouts: &'de Layouts,
        limits: Limits,
    ) -> Self {
        Reader {
            message,
            layouts,
            budget: Budget::new(limits),
            words: limits.allocation / WORD,
            next: Slot {
                shape: &layouts.root,
                room: Room::Pointer(pointer.0),
            },
            frames: Vec::with_capacity(FRAMES),
            numbers: Numbers::default(),
        }
    }

    #[inline]
    fn spend(&mut self, words: usize) -> Result<()> {
        match self.words.checked_sub(words) {
            Some(left) => {
                self.words = left;
                Ok(())
            }
            None => Err(DecodeError::malformed(
                "more words behind pointers than the limit allows",
            )),
        }
    }

    /// Follows the pointer that comes next.
    #[inline]
    fn target(&mut self) -> Result<Target> {
        let Room::Pointer(spot) = self.next.room else {
            return Ok(Target::Null);
        };
        let target = self.message.follow(spot)?;
        let words = match &target {
            Target::Null | Target::Capability(_) => 0,
            Target::Struct(at) => (at.data_len / WORD + at.pointers).max(1),
            Target::List(list) => list.cost(),
        };
        self.spend(words)?;
        Ok(target)
    }

    /// The bytes at a place in a segment.
    #[inline]
    fn chunk<const BYTES: usize>(&self, segment: u32, byte: usize) -> Result<&'de [u8; BYTES]> {
        let segment = self.message.segment(segment);
        let chunk = segment.and_then(|segment| segment.get(byte..)?.first_chunk());
        chunk.ok_or_else(no_place)
    }

    /// The bits of a number that comes next, of so many bytes.
    #[inline]
    fn number<const BYTES: usize>(&mut self) -> Result<u64> {
        match self.next.shape {
            Shape::Number { bytes } if usize::from(*bytes) == BYTES => {}
            _ => return Err(no_place()),
        }
        let value = match self.next.room {
            Room::Data {
                segment,
                byte,
                default,
                ..
            } => {
                let mut word = [0; WORD];
                if let Some(low) = word.first_chunk_mut::<BYTES>() {
                    *low = *self.chunk(segment, byte)?;
                }
                u64::from_le_bytes(word) ^ default
            }
            _ => 0,
        };
        self.done();
        Ok(value)
    }

    /// The bytes of a text or of data.
    #[inline]
    fn blob(&mut self) -> Result<Option<(u32, usize, usize)>> {
        match self.target()? {
            Target::Null => Ok(None),
            Target::List(list) if list.size == ElementSize::Byte => {
                let start = list.word * WORD;
                Ok(Some((list.segment, start, start + list.count)))
            }
            _ => Err(mistaken()),
        }
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
        match self.frames.last() {
            Some(Frame::List {
                element,
                list,
                index,
            }) if *index < list.count => {
                self.next = Slot {
                    shape: element,
                    room: element_room(list, *index, element),
                };
            }
            Some(Frame::Map {
                entry,
                list,
                index,
                is_value,
            }) if *index < list.count => {
                let id = if *is_value { 2 } else { 1 };
                let at = structure_of(list, *index);
                if let (Some((_, field)), Some(at)) = (entry.field(id, usize::from(*is_value)), at)
                {
                    self.next = slot(field, &at);
                }
            }
            _ => {}
        }
    }

    /// Goes to the number itself, where it has a struct of its own.
    fn unbox(&mut self) -> Result<()> {
        let Shape::Boxed(number) = self.next.shape else {
            return Ok(());
        };
        let layout = self.layouts.get(*number).ok_or_else(no_place)?;
        let field = layout.fields.first().ok_or_else(no_place)?;
        self.next = match self.target()? {
            Target::Struct(at) => slot(field, &at),
            // The member of a union that its tag names, without a number.
            Target::Null => Slot {
                shape: &field.shape,
                room: Room::None,
            },
            _ => return Err(mistaken()),
        };
        Ok(())
    }

    /// The list that comes next.
    #[inline]
    fn list(&mut self) -> Result<Option<ListAt>> {
        match self.target()? {
            Target::Null => Ok(None),
            Target::List(list) => Ok(Some(list)),
            _ => Err(mistaken()),
        }
    }

    #[inline]
    fn begin(
        &mut self,
        list: Option<ListAt>,
        frame: impl FnOnce(ListAt) -> Frame<'de>,
    ) -> Sequence {
        let list = list.unwrap_or(ListAt {
            segment: 0,
            size: ElementSize::Void,
            count: 0,
            word: 0,
            data: 0,
            pointers: 0,
        });
        self.frames.push(frame(list));
        self.element();
        Sequence::counted(list.count)
    }

    /// The value of a pointer to anything, as the first segment of a message of its own.
    fn any(&mut self) -> Result<Bytes> {
        let Room::Pointer(spot) = self.next.room else {
            self.done();
            return Ok(Bytes::new());
        };
        if self.target()? == Target::Null {
            self.done();
            return Ok(Bytes::new());
        }
        let mut out = vec![0; WORD];
        copy(self.message, spot, &mut out, (0, 0), false)?;
        self.budget.allocate(out.len())?;
        self.done();
        Ok(out.into())
    }
}

/// The place of a field in a struct.
#[inline]
fn slot<'de>(field: &'de FieldLayout, at: &StructAt) -> Slot<'de> {
    let room = match &field.place {
        Place::Inline => Room::Words(*at),
        Place::Pointer { index } => {
            let number = *index as usize;
            match number < at.pointers {
                true => {
                    let spot = Spot {
                        segment: at.segment,
                        word: at.pointer + number,
                    };
                    Room::Pointer(spot)
                }
                false => Room::None,
            }
        }
        Place::Data {
            byte,
            bit,
            len,
            default,
        } => {
            let byte = *byte as usize;
            match byte + usize::from(*len) <= at.data_len {
                true => Room::Data {
                    segment: at.segment,
                    byte: at.data + byte,
                    bit: *bit,
                    default: *default,
                },
                false => Room::None,
            }
        }
    };
    Slot {
        shape: &field.shape,
        room,
    }
}

/// An element of a list as a struct. One of a list of numbers or pointers is the first field of a
/// struct.
pub(super) fn structure_of(list: &ListAt, index: usize) -> Option<StructAt> {
    let bits = list.size.bits();
    let byte = list.word * WORD + index * bits / 8;
    let (data, data_len, pointer, pointers) = match list.size {
        ElementSize::Composite => {
            let word = list.word + index * (list.data + list.pointers);
            (
                word * WORD,
                list.data * WORD,
                word + list.data,
                list.pointers,
            )
        }
        ElementSize::Bit => return None,
        ElementSize::Pointer => (byte, 0, list.word + index, 1),
        _ => (byte, bits / 8, list.word, 0),
    };
    Some(StructAt {
        segment: list.segment,
        data,
        data_len,
        pointer,
        pointers,
    })
}

/// The place of an element. Numbers and pointers can be the first fields of structs.
fn element_room(list: &ListAt, index: usize, shape: &Shape) -> Room {
    let data = |byte, bit| Room::Data {
        segment: list.segment,
        byte,
        bit,
        default: 0,
    };
    let at = structure_of(list, index);
    match (shape, at) {
        (Shape::Void, _) => Room::None,
        (Shape::Struct(_) | Shape::Group(_), Some(at)) => Room::Words(at),
        (Shape::Bit, _) if list.size == ElementSize::Bit => {
            data(list.word * WORD + index / 8, (index % 8) as u8)
        }
        (Shape::Number { bytes }, Some(at)) if usize::from(*bytes) <= at.data_len => {
            data(at.data, 0)
        }
        (
            Shape::Text | Shape::Data | Shape::List(_) | Shape::Map(_) | Shape::Any | Shape::Object,
            Some(at),
        ) if at.pointers > 0 => {
            let spot = Spot {
                segment: at.segment,
                word: at.pointer,
            };
            Room::Pointer(spot)
        }
        _ => Room::None,
    }
}

#[cold]
fn no_place() -> DecodeError {
    DecodeError::malformed("a value that has no place in its struct of Cap'n Proto")
}

#[cold]
fn mistaken() -> DecodeError {
    DecodeError::malformed("a pointer that leads to something else than the contract says")
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    #[inline]
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    #[inline]
    fn bool(&mut self) -> Result<bool> {
        let value = match (self.next.shape, self.next.room) {
            (
                Shape::Bit,
                Room::Data {
                    segment,
                    byte,
                    bit,
                    default,
                },
            ) => {
                let [byte] = self.chunk(segment, byte)?;
                (u64::from(byte >> bit) ^ default) & 1 == 1
            }
            (Shape::Bit, _) => false,
            _ => return Err(no_place()),
        };
        self.done();
        Ok(value)
    }

    #[inline]
    fn i8(&mut self) -> Result<i8> {
        self.number::<1>().map(|bits| (bits as u8).cast_signed())
    }

    #[inline]
    fn i16(&mut self) -> Result<i16> {
        self.number::<2>().map(|bits| (bits as u16).cast_signed())
    }

    #[inline]
    fn i32(&mut self) -> Result<i32> {
        self.number::<4>().map(|bits| (bits as u32).cast_signed())
    }

    #[inline]
    fn i64(&mut self) -> Result<i64> {
        self.number::<8>().map(u64::cast_signed)
    }

    #[inline]
    fn f32(&mut self) -> Result<f32> {
        self.number::<4>().map(|bits| f32::from_bits(bits as u32))
    }

    #[inline]
    fn f64(&mut self) -> Result<f64> {
        self.number::<8>().map(f64::from_bits)
    }

    #[inline]
    fn enumeration(&mut self, _: &dyn Names) -> Result<i32> {
        self.number::<2>().map(|bits| i32::from(bits as u16))
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>> {
        if *self.next.shape != Shape::Text {
            return Err(no_place());
        }
        let Some((segment, start, end)) = self.blob()? else {
            self.done();
            return Ok(Cow::Borrowed(""));
        };
        let bytes = self.message.segment(segment);
        let bytes = bytes.and_then(|it| it.get(start..end));
        let Some((0, text)) = bytes
            .and_then(<[u8]>::split_last)
            .map(|(end, text)| (*end, text))
        else {
            return Err(DecodeError::malformed(
                "a text without a zero byte behind it",
            ));
        };
        self.budget.string(text.len())?;
        self.budget.block(text.len())?;
        let text = text::text(text).ok_or(DecodeErrorKind::InvalidUtf8)?;
        self.done();
        Ok(Cow::Borrowed(text))
    }

    #[inline]
    fn bytes(&mut self) -> Result<Bytes> {
        match self.next.shape {
            Shape::Any => return self.any(),
            Shape::Data => {}
            _ => return Err(no_place()),
        }
        let found = self.blob()?;
        self.done();
        let Some((segment, start, end)) = found else {
            return Ok(Bytes::new());
        };
        self.budget.string(end - start)?;
        let segment = self.message.segment(segment);
        // The whole message lives as long as one piece of it: a small one is copied.
        match segment {
            Some(segment) if end - start >= SHARE_FROM => Ok(segment.slice(start..end)),
            Some(segment) => {
                self.budget.block(end - start)?;
                Ok(Bytes::copy_from_slice(
                    segment.get(start..end).unwrap_or_default(),
                ))
            }
            None => Ok(Bytes::new()),
        }
    }

    fn uuid(&mut self) -> Result<[u8; 16]> {
        let bytes = self.bytes()?;
        match bytes.first_chunk() {
            Some(uuid) if bytes.len() == 16 => Ok(*uuid),
            _ => Err(DecodeError::malformed("a UUID that has not 16 bytes")),
        }
    }

    #[inline]
    fn begin_list(&mut self, _: Kind) -> Result<Sequence> {
        let Shape::List(element) = self.next.shape else {
            return Err(no_place());
        };
        let list = self.list()?;
        self.budget.enter()?;
        Ok(self.begin(list, |list| Frame::List {
            element,
            list,
            index: 0,
        }))
    }

    fn begin_map(&mut self, _: Kind, _: Kind) -> Result<Sequence> {
        let Shape::Map(number) = self.next.shape else {
            return Err(no_place());
        };
        let entry = self.layouts.get(*number).ok_or_else(no_place)?;
        let list = self.list()?;
        self.budget.enter()?;
        Ok(self.begin(list, |list| Frame::Map {
            entry,
            list,
            index: 0,
            is_value: false,
        }))
    }

    #[inline]
    fn next_element(&mut self, sequence: &mut Sequence) -> Result<bool> {
        let more = sequence.next_counted(&mut self.budget);
        if !more {
            self.frames.pop();
            self.done();
        }
        Ok(more)
    }

    #[inline]
    fn begin_struct(&mut self) -> Result<()> {
        self.budget.enter()?;
        let number = match self.next.shape {
            Shape::Void => {
                self.frames.push(Frame::Void);
                return Ok(());
            }
            Shape::Struct(number) | Shape::Group(number) => *number,
            _ => return Err(no_place()),
        };
        let layout = self.layouts.get(number).ok_or_else(no_place)?;
        let at = match self.next.room {
            Room::Words(at) => Some(at),
            _ => match self.target()? {
                Target::Struct(at) => Some(at),
                Target::Null => None,
                _ => return Err(mistaken()),
            },
        };
        let at = at.unwrap_or(StructAt::EMPTY);
        self.frames.push(Frame::Struct { layout, at });
        Ok(())
    }

    fn next_field(&mut self, fields: &[Field<'_>], cursor: &mut Cursor) -> Result<NextField> {
        while let Some(Frame::Struct { layout, at }) = self.frames.last() {
            let (layout, at) = (*layout, *at);
            let Some(field) = layout.fields.get(cursor.last as usize) else {
                break;
            };
            cursor.last += 1;
            if let Some(tag) = field.tag
                && tag.value != self.tag(&at, tag.offset)
            {
                continue;
            }
            let slot = slot(field, &at);
            // A null pointer is a field that is absent, but for the member that a union's tag
            // names.
            if let Room::Pointer(spot) = slot.room
                && field.tag.is_none()
                && self.message.word(spot)? == 0
            {
                continue;
            }
            if let (Room::None, None) = (slot.room, field.tag) {
                continue;
            }
            if let Some(index) = find(fields, cursor.index, field.id) {
                cursor.index = index + 1;
                self.next = slot;
                if let Shape::Boxed(_) = slot.shape {
                    self.unbox()?;
                }
                return Ok(NextField::Known(index));
            }
        }
        self.frames.pop();
        self.budget.leave();
        self.done();
        Ok(NextField::End)
    }

    #[inline]
    fn is_next(&mut self, field: &Field<'_>, index: usize, cursor: &mut Cursor) -> bool {
        let Some(Frame::Struct { layout, at }) = self.frames.last() else {
            return false;
        };
        // The cursor counts the fields of the layout; `last` is not an id here.
        let found = layout.fields.get(cursor.last as usize);
        let Some(found) = found.filter(|found| found.id == field.id && found.is_plain) else {
            return false;
        };
        let slot = slot(found, at);
        let is_there = match slot.room {
            Room::None => false,
            Room::Pointer(spot) => self.message.word(spot).is_ok_and(|word| word != 0),
            Room::Data { .. } | Room::Words(_) => true,
        };
        if is_there {
            self.next = slot;
            cursor.last += 1;
            cursor.index = index + 1;
        }
        is_there
    }

    fn unknown_value(&mut self) -> Result<UnknownValue> {
        Err(no_place())
    }

    /// Finds an object by its place in the table of the message.
    fn object(&mut self) -> Result<Box<dyn Any>> {
        let place = match (self.next.shape, self.target()?) {
            (Shape::Object, Target::Capability(place)) => place.into(),
            (Shape::Object, Target::Null) => NO_OBJECT,
            _ => return Err(mistaken()),
        };
        let object = self.numbers.object(place)?;
        self.done();
        Ok(object)
    }

    fn numbers(&mut self) -> Option<&mut Numbers> {
        Some(&mut self.numbers)
    }
}

impl Reader<'_> {
    /// The value of a union's tag; beyond the words that are there it is zero.
    fn tag(&self, at: &StructAt, place: u32) -> u16 {
        let byte = place as usize * 2;
        let found = self
            .message
            .segment(at.segment)
            .filter(|_| byte + 2 <= at.data_len);
        let bytes = found.and_then(|found| found.get(at.data + byte..)?.first_chunk());
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }
}
