//! Pointers: words that say where something is, and what it is.

use super::layouts::Shape;

/// A word as a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    Null,
    /// Words of data and pointers, at a distance from the word behind the pointer.
    Struct {
        offset: i32,
        data: u16,
        pointers: u16,
    },
    List {
        offset: i32,
        size: ElementSize,
        /// Elements, or words where they are structs.
        count: u32,
    },
    /// The pointer itself, or two words about it, are in another place.
    Far {
        double: bool,
        position: u32,
        segment: u32,
    },
    Capability(u32),
    /// Reserved bits are set.
    Unknown,
}

/// The room of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementSize {
    Void = 0,
    Bit = 1,
    Byte = 2,
    Two = 3,
    Four = 4,
    Eight = 5,
    Pointer = 6,
    /// Structs, with a word in front that has the form of a struct pointer: its offset is the
    /// count.
    Composite = 7,
}

/// The largest offset or count.
pub(super) const MAX: usize = (1 << 29) - 1;

impl ElementSize {
    fn new(bits: u64) -> Self {
        match bits & 7 {
            0 => ElementSize::Void,
            1 => ElementSize::Bit,
            2 => ElementSize::Byte,
            3 => ElementSize::Two,
            4 => ElementSize::Four,
            5 => ElementSize::Eight,
            6 => ElementSize::Pointer,
            _ => ElementSize::Composite,
        }
    }

    /// Bits of an element; structs say theirs elsewhere.
    pub(super) fn bits(self) -> usize {
        match self {
            ElementSize::Void | ElementSize::Composite => 0,
            ElementSize::Bit => 1,
            ElementSize::Byte => 8,
            ElementSize::Two => 16,
            ElementSize::Four => 32,
            ElementSize::Eight | ElementSize::Pointer => 64,
        }
    }

    /// The room of elements of a shape.
    pub(super) fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Void => ElementSize::Void,
            Shape::Bit => ElementSize::Bit,
            Shape::Number { bytes: 1 } => ElementSize::Byte,
            Shape::Number { bytes: 2 } => ElementSize::Two,
            Shape::Number { bytes: 4 } => ElementSize::Four,
            Shape::Number { .. } => ElementSize::Eight,
            Shape::Struct(_) | Shape::Group(_) => ElementSize::Composite,
            Shape::Text
            | Shape::Data
            | Shape::List(_)
            | Shape::Map(_)
            | Shape::Boxed(_)
            | Shape::Any
            | Shape::Object => ElementSize::Pointer,
        }
    }
}

impl Pointer {
    pub(super) fn decode(word: u64) -> Self {
        let low = word as u32;
        let high = (word >> 32) as u32;
        // The offset is signed: 30 bits above two of the kind.
        let offset = low.cast_signed() >> 2;
        match low & 3 {
            _ if word == 0 => Pointer::Null,
            0 => Pointer::Struct {
                offset,
                data: high as u16,
                pointers: (high >> 16) as u16,
            },
            1 => Pointer::List {
                offset,
                size: ElementSize::new(high.into()),
                count: high >> 3,
            },
            2 => Pointer::Far {
                double: low & 4 != 0,
                position: low >> 3,
                segment: high,
            },
            _ if low == 3 => Pointer::Capability(high),
            _ => Pointer::Unknown,
        }
    }

    pub(super) fn encode(self) -> u64 {
        match self {
            Pointer::Null | Pointer::Unknown => 0,
            Pointer::Struct {
                offset,
                data,
                pointers,
            } => {
                let low = offset.cast_unsigned() << 2;
                u64::from(low) | u64::from(data) << 32 | u64::from(pointers) << 48
            }
            Pointer::List {
                offset,
                size,
                count,
            } => {
                let low = offset.cast_unsigned() << 2 | 1;
                u64::from(low) | (u64::from(count) << 3 | size as u64) << 32
            }
            Pointer::Far {
                double,
                position,
                segment,
            } => {
                let low = position << 3 | u32::from(double) << 2 | 2;
                u64::from(low) | u64::from(segment) << 32
            }
            Pointer::Capability(index) => 3 | u64::from(index) << 32,
        }
    }
}
