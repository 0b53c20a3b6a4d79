//! The places of fields. `dovetail-schema` makes them of a contract, in bytes.

use crate::DecodeError;
use crate::input::{Input, truncated};
use crate::varint;
use std::sync::Arc;

type Result<T> = std::result::Result<T, DecodeError>;

/// The layouts of structs, and of the groups in them, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structs(Arc<[StructLayout]>);

/// The shape of a value, and the layouts of the structs that it can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layouts {
    pub(super) root: Shape,
    structs: Structs,
}

/// The layout of a struct, or of a group in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StructLayout {
    /// Words of data. 0 for a group, which stands in the words of its struct.
    pub(super) data: u16,
    /// Pointers behind the data. 0 for a group.
    pub(super) pointers: u16,
    /// The fields.
    pub(super) fields: Vec<FieldLayout>,
}

/// The place and the shape of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldLayout {
    /// Its id in the table of fields.
    pub(super) id: i32,
    /// The tag that says it is there; `None` for one that is no member of a union.
    pub(super) tag: Option<Tag>,
    /// Its place.
    pub(super) place: Place,
    /// Its shape.
    pub(super) shape: Shape,
    /// True for a field that is no member of a union, and whose value stands at its place.
    pub(super) is_plain: bool,
}

/// The tag of a union, when it has a certain member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Its value.
    pub(super) value: u16,
    /// Its place in the data of the struct, in units of 16 bits.
    pub(super) offset: u32,
    /// The number of the union in its struct or group.
    pub(super) union: u8,
}

/// The place of a field in its struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// None: the field is a group, or takes no room.
    Inline,
    /// Bits of the data.
    Data {
        /// The first byte.
        byte: u32,
        /// The bit in it.
        bit: u8,
        /// How many bytes.
        len: u8,
        /// The bits of the default, with which the value is combined by XOR.
        default: u64,
    },
    /// A pointer.
    Pointer {
        /// Its number.
        index: u32,
    },
}

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing.
    Void,
    /// One bit.
    Bit,
    /// A number of 8, 16, 32 or 64 bits.
    Number {
        /// How many bytes.
        bytes: u8,
    },
    /// Text, with a zero byte behind it.
    Text,
    /// Bytes.
    Data,
    /// A list.
    List(Box<Shape>),
    /// A map: a list of structs of this number, whose fields 1 and 2 are key and value.
    Map(u32),
    /// The struct of this number.
    Struct(u32),
    /// The group of this number.
    Group(u32),
    /// A number that may be absent: the field 1 of a struct of this number.
    Boxed(u32),
    /// A pointer to anything, held as the first segment of a message.
    Any,
    /// A reference to an object.
    Object,
}

impl Structs {
    /// Reads the bytes that `dovetail_schema::capnp::Places` makes.
    ///
    /// # Errors
    ///
    /// Bytes that nothing of the kind has made.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::read(&mut Input::new(bytes))
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self> {
        Ok(Structs(many(input, structure)?.into()))
    }

    /// Values that are the struct of this number.
    pub fn layouts(&self, number: u32) -> Layouts {
        Layouts {
            root: Shape::Struct(number),
            structs: self.clone(),
        }
    }
}

impl Layouts {
    /// The pointers that lead from a value of this layout to the first object in it; `None` if
    /// there is none.
    pub fn first_object(&self) -> Option<Vec<u16>> {
        self.object_in(&self.root, &mut Vec::new())
    }

    fn object_in(&self, shape: &Shape, seen: &mut Vec<u32>) -> Option<Vec<u16>> {
        let number = match shape {
            Shape::Object => return Some(Vec::new()),
            Shape::Struct(number) | Shape::Group(number) if !seen.contains(number) => *number,
            _ => return None,
        };
        seen.push(number);
        self.get(number)?.fields.iter().find_map(|field| {
            let mut path = self.object_in(&field.shape, seen)?;
            if let Place::Pointer { index } = field.place {
                path.insert(0, index as u16);
            }
            Some(path)
        })
    }

    pub(super) fn get(&self, number: u32) -> Option<&StructLayout> {
        self.structs.0.get(number as usize)
    }
}

pub(super) fn many<T>(
    input: &mut Input<'_>,
    read: impl Fn(&mut Input<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = varint::read(input)?;
    // Each takes a byte at least.
    if count > input.rest().len() as u64 {
        return Err(truncated());
    }
    (0..count).map(|_| read(input)).collect()
}

impl StructLayout {
    /// The field with this id. Fields come mostly in the order of the layout: it looks at `next`
    /// first.
    pub(super) fn field(&self, id: i32, next: usize) -> Option<(usize, &FieldLayout)> {
        match self.fields.get(next) {
            Some(field) if field.id == id => Some((next, field)),
            _ => {
                let index = self.fields.iter().position(|field| field.id == id)?;
                Some((index, self.fields.get(index)?))
            }
        }
    }
}

/// Lists inside one another.
const DEEPEST: usize = 64;

fn structure(input: &mut Input<'_>) -> Result<StructLayout> {
    let mut layout = StructLayout {
        data: number(input)?,
        pointers: number(input)?,
        fields: many(input, field)?,
    };
    number_unions(&mut layout.fields);
    Ok(layout)
}

fn number_unions(fields: &mut [FieldLayout]) {
    let mut known = Vec::new();
    for tag in fields.iter_mut().filter_map(|field| field.tag.as_mut()) {
        let number = known.iter().position(|offset| *offset == tag.offset);
        let number = number.unwrap_or_else(|| {
            known.push(tag.offset);
            known.len() - 1
        });
        tag.union = number.try_into().unwrap_or(u8::MAX);
    }
}

fn field(input: &mut Input<'_>) -> Result<FieldLayout> {
    let id = varint::unzigzag(varint::read(input)?);
    let mut field = FieldLayout {
        id: id.try_into().map_err(|_| unreadable())?,
        tag: match number::<u32>(input)? {
            0 => None,
            value => Some(Tag {
                value: (value - 1).try_into().map_err(|_| unreadable())?,
                offset: number(input)?,
                union: 0,
            }),
        },
        place: match number::<u8>(input)? {
            0 => Place::Inline,
            1 => Place::Data {
                byte: number(input)?,
                bit: 0,
                len: 0,
                default: number(input)?,
            },
            2 => Place::Pointer {
                index: number(input)?,
            },
            _ => return Err(unreadable()),
        },
        shape: shape(input, DEEPEST)?,
        is_plain: false,
    };
    field.is_plain = field.tag.is_none() && !matches!(field.shape, Shape::Boxed(_));
    in_bytes(&mut field)?;
    Ok(field)
}

/// Turns the offset of a field, in units of its size, into bytes.
fn in_bytes(field: &mut FieldLayout) -> Result<()> {
    let Place::Data { byte, bit, len, .. } = &mut field.place else {
        return Ok(());
    };
    match field.shape {
        Shape::Number { bytes } => {
            *len = bytes;
            *byte = byte.checked_mul(bytes.into()).ok_or_else(unreadable)?;
        }
        _ => {
            *len = 1;
            *bit = (*byte % 8) as u8;
            *byte /= 8;
        }
    }
    Ok(())
}

fn shape(input: &mut Input<'_>, depth: usize) -> Result<Shape> {
    Ok(match number::<u8>(input)? {
        0 => Shape::Void,
        1 => Shape::Bit,
        2 => Shape::Number {
            bytes: number(input)?,
        },
        3 => Shape::Text,
        4 => Shape::Data,
        5 => {
            let depth = depth.checked_sub(1).ok_or_else(unreadable)?;
            Shape::List(Box::new(shape(input, depth)?))
        }
        6 => Shape::Map(number(input)?),
        7 => Shape::Struct(number(input)?),
        8 => Shape::Group(number(input)?),
        9 => Shape::Boxed(number(input)?),
        10 => Shape::Any,
        11 => Shape::Object,
        _ => return Err(unreadable()),
    })
}

pub(super) fn number<T: TryFrom<u64>>(input: &mut Input<'_>) -> Result<T> {
    varint::read(input)?.try_into().map_err(|_| unreadable())
}

fn unreadable() -> DecodeError {
    DecodeError::malformed("no layouts of Cap'n Proto")
}
