use crate::names::NO_NAMES;
use crate::reserved::{AGAIN, NODE, is_reserved};
use crate::{Budget, DecodeError, EncodeError, Kind, Writer};
use bytes::Bytes;
use std::fmt;

/// Fields that a message came with and its contract does not have. They are written again with the
/// message, so that a relay built from an older contract loses nothing.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::box_collection)] // One word in every message, almost always empty.
pub struct UnknownFields(Option<Box<Vec<(i32, UnknownValue)>>>);

/// A value read without a contract: as much as the encoding says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnknownValue {
    /// A truth value.
    Bool(bool),
    /// A signed 8-bit integer.
    I8(i8),
    /// A signed 16-bit integer.
    I16(i16),
    /// A signed 32-bit integer.
    I32(i32),
    /// A signed 64-bit integer.
    I64(i64),
    /// An unsigned 8-bit integer.
    U8(u8),
    /// An unsigned 16-bit integer.
    U16(u16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// An unsigned 64-bit integer.
    U64(u64),
    /// The bits of a 32-bit floating point number, so that `Eq` holds.
    F32(u32),
    /// The bits of a 64-bit floating point number, so that `Eq` holds.
    F64(u64),
    /// Text.
    String(String),
    /// Bytes, or text: Thrift's wires do not tell them apart.
    Bytes(Bytes),
    /// The 16 bytes of a UUID.
    Uuid([u8; 16]),
    /// The number of an enum's value.
    Enum(i32),
    /// A list: the kind of its elements, and these.
    List(Kind, Vec<UnknownValue>),
    /// A set: the kind of its elements, and these.
    Set(Kind, Vec<UnknownValue>),
    /// A map: the kinds of keys and values, and the entries.
    Map(Kind, Kind, Vec<(UnknownValue, UnknownValue)>),
    /// A struct: its fields by id.
    Struct(Vec<(i32, UnknownValue)>),
    /// A reference to an object, which was let go. Nothing can carry it again.
    Object,
    /// Protobuf wire type 0. Only protobuf can carry it again.
    Varint(u64),
    /// Protobuf wire type 5. Only protobuf can carry it again.
    Fixed32(u32),
    /// Protobuf wire type 1. Only protobuf can carry it again.
    Fixed64(u64),
    /// Protobuf wire type 2. Only protobuf can carry it again.
    Delimited(Bytes),
    /// Protobuf wire types 3 and 4: the bytes between the two tags. Only protobuf can carry it
    /// again.
    Group(Bytes),
    /// An array, map or extension of MessagePack as it is. Only MessagePack can carry it again.
    Msgpack(Bytes),
}

impl UnknownFields {
    /// Keeps a field.
    pub fn push(&mut self, id: i32, value: UnknownValue) {
        self.0.get_or_insert_default().push((id, value));
    }

    /// Removes the fields with this id.
    pub fn remove(&mut self, id: i32) {
        if let Some(fields) = &mut self.0 {
            fields.retain(|(known, _)| *known != id);
            if fields.is_empty() {
                self.0 = None;
            }
        }
    }

    /// Keeps a field that has been read, once the budget has paid for its place.
    pub fn keep(
        &mut self,
        id: i32,
        value: UnknownValue,
        budget: &mut Budget,
    ) -> Result<(), DecodeError> {
        if self.0.is_none() {
            budget.block(size_of::<Vec<(i32, UnknownValue)>>())?;
        }
        let fields = self.0.get_or_insert_default();
        budget.room(&mut **fields)?;
        fields.push((id, value));
        Ok(())
    }

    /// The fields, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &(i32, UnknownValue)> {
        self.0.iter().flat_map(|fields| fields.iter())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Writes the fields that have to stand before all others, see [`reserved`](crate::reserved).
    #[inline]
    pub fn write_first<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match &self.0 {
            None => Ok(()),
            Some(fields) => write_all(fields.iter().take_while(is_first), writer),
        }
    }

    /// Writes the other fields, those that the writer's encoding can carry.
    #[inline]
    pub fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match &self.0 {
            None => Ok(()),
            Some(fields) => write_all(fields.iter().skip_while(is_first), writer),
        }
    }
}

fn is_first((id, _): &&(i32, UnknownValue)) -> bool {
    is_reserved(*id)
}

fn write_all<'a, W: Writer + ?Sized>(
    fields: impl IntoIterator<Item = &'a (i32, UnknownValue)>,
    writer: &mut W,
) -> Result<(), EncodeError> {
    fields.into_iter().try_for_each(|(id, value)| {
        if matches!(*id, AGAIN | NODE)
            && let Ok(nodes) = writer.nodes()
        {
            nodes.foreign()?;
        }
        writer.unknown_field(*id, value)
    })
}

/// As a map from field numbers to values; `{}` where there are none.
impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.0.iter().flat_map(|fields| fields.iter());
        f.debug_map()
            .entries(fields.map(|(id, value)| (id, value)))
            .finish()
    }
}

fn all_have_kinds(items: &[UnknownValue]) -> bool {
    items.iter().all(|item| item.kind().is_some())
}

impl UnknownValue {
    /// Text, also where the encoding does not tell it from bytes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Bytes(bytes) | Self::Delimited(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The kind under which any encoding can write it; `None` for what only one can carry, for
    /// objects, and for containers of either.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Bool(_) => Kind::Bool,
            Self::I8(_) => Kind::I8,
            Self::I16(_) => Kind::I16,
            Self::I32(_) => Kind::I32,
            Self::I64(_) => Kind::I64,
            Self::U8(_) => Kind::U8,
            Self::U16(_) => Kind::U16,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::String(_) => Kind::String,
            Self::Bytes(_) => Kind::Bytes,
            Self::Uuid(_) => Kind::Uuid,
            Self::Enum(_) => Kind::Enum,
            Self::List(Kind::Object, _) | Self::Map(_, Kind::Object, _) => return None,
            Self::List(_, items) if all_have_kinds(items) => Kind::List,
            Self::Set(_, items) if all_have_kinds(items) => Kind::Set,
            Self::Map(_, _, entries)
                if entries
                    .iter()
                    .all(|(key, value)| key.kind().is_some() && value.kind().is_some()) =>
            {
                Kind::Map
            }
            Self::Struct(_) => Kind::Struct,
            _ => return None,
        })
    }

    /// Writes the value; what only one encoding can carry is an error, see [`kind`](Self::kind).
    pub fn write(&self, writer: &mut dyn Writer) -> Result<(), EncodeError> {
        match self {
            Self::Bool(value) => writer.bool(*value),
            Self::I8(value) => writer.i8(*value),
            Self::I16(value) => writer.i16(*value),
            Self::I32(value) => writer.i32(*value),
            Self::I64(value) => writer.i64(*value),
            Self::U8(value) => writer.u8(*value),
            Self::U16(value) => writer.u16(*value),
            Self::U32(value) => writer.u32(*value),
            Self::U64(value) => writer.u64(*value),
            Self::F32(bits) => writer.f32(f32::from_bits(*bits)),
            Self::F64(bits) => writer.f64(f64::from_bits(*bits)),
            Self::String(value) => writer.string(value),
            Self::Bytes(value) => writer.unknown_bytes(value),
            Self::Uuid(value) => writer.uuid(value),
            Self::Enum(value) => writer.enumeration(*value, &NO_NAMES),
            Self::List(kind, items) => {
                writer.begin_list(*kind, items.len())?;
                items.iter().try_for_each(|item| item.write(writer))?;
                writer.end_list()
            }
            Self::Set(kind, items) => {
                writer.begin_set(*kind, items.len())?;
                items.iter().try_for_each(|item| item.write(writer))?;
                writer.end_list()
            }
            Self::Map(key, value, entries) => {
                writer.begin_map(*key, *value, entries.len())?;
                for (key, value) in entries {
                    key.write(writer)?;
                    value.write(writer)?;
                }
                writer.end_map()
            }
            Self::Struct(fields) => {
                writer.begin_struct()?;
                write_all(fields, writer)?;
                writer.end_struct()
            }
            Self::Object => Err(EncodeError::Unsupported {
                what: "an object of an unknown field",
            }),
            _ => Err(EncodeError::Unsupported {
                what: "an unknown field of another encoding",
            }),
        }
    }
}
