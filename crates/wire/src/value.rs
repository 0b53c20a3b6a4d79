use crate::description::{Named, Type};
use crate::{
    Cursor, DecodeError, EncodeError, Field, Kind, NextField, Reader, Sequence, Writer, plain,
};
use bytes::Bytes;
use ordered_float::OrderedFloat;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use uuid::Uuid;

/// Anything that can stand in a field or a container.
pub trait Value: Default {
    /// Its shape.
    const KIND: Kind;

    /// Writes the value.
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads a value over this one. A [positional](Reader::is_positional) encoding replaces it and uses its
    /// memory again. Others say only what is there, and what they do not say stays as it was: give them a
    /// new value, or one that is to be merged.
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError>;

    /// The type in the words of a contract. Types that are no more than their `KIND` need not say it.
    fn describe() -> Type<Named> {
        Type::Scalar(<Self as Value>::KIND)
    }

    /// How many bytes every value of this type takes in [`tagless`](crate::tagless), at least one; `None`
    /// where that differs. Lists of such values are blocks of memory.
    const PLAIN: Option<usize> = None;

    /// Writes the value to `PLAIN` bytes. False where it has something that has no place there.
    #[must_use]
    fn write_plain(&self, room: &mut [u8]) -> bool {
        let _ = room;
        false
    }

    /// Reads a value from `PLAIN` bytes. False where they are none.
    #[must_use]
    fn read_plain(&mut self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }
}

/// Anything that can be a field: a [`Value`], which is always written, or an `Option` of one, which is
/// written when present.
pub trait FieldValue: Default {
    /// The shape of the value.
    const KIND: Kind;

    /// Writes the field with its header, if there is something to write.
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError>;

    /// Reads the field's value, after its header.
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError>;

    /// The type in the words of a contract; `None` for what none speaks of.
    fn describe() -> Option<Type<Named>>;

    /// True where the value may be absent.
    const OPTIONAL: bool = false;

    /// See [`Value::PLAIN`].
    const PLAIN: Option<usize> = None;

    /// Whether the value is there; `None` where it always is.
    #[inline]
    fn presence(&self) -> Option<bool> {
        None
    }

    /// Writes the value without a header, if there is something to write.
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// See [`Value::write_plain`].
    #[must_use]
    fn write_plain(&self, room: &mut [u8]) -> bool {
        let _ = room;
        false
    }

    /// See [`Value::read_plain`].
    #[must_use]
    fn read_plain(&mut self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// Writes the positional answer to a call, a union, with this as its result.
    fn write_answer<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_union(1)?;
        self.write_value(writer)?;
        writer.end_struct()
    }

    /// What the absence of the field means where it is the only one, as in the reply to a call; `None`
    /// where it must not be absent.
    fn when_absent() -> Option<Self> {
        None
    }
}

/// Nothing, as the result of a `void` method: never written, skipped when read.
impl FieldValue for () {
    const KIND: Kind = Kind::Struct;

    fn write_field<W: Writer + ?Sized>(&self, _: &Field<'_>, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        reader.begin_struct()?;
        let mut cursor = Cursor::default();
        while reader.next_field(&[], &mut cursor)? != NextField::End {
            reader.unknown_value()?;
        }
        Ok(())
    }

    fn describe() -> Option<Type<Named>> {
        None
    }

    fn write_value<W: Writer + ?Sized>(&self, _: &mut W) -> Result<(), EncodeError> {
        Ok(())
    }

    fn write_answer<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_union(0)?;
        writer.end_struct()
    }

    fn when_absent() -> Option<Self> {
        Some(())
    }
}

impl<T: Value> FieldValue for T {
    const KIND: Kind = T::KIND;

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        writer.begin_field(field)?;
        self.write(writer)?;
        writer.end_field()
    }

    #[inline]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.read(reader)
    }

    fn describe() -> Option<Type<Named>> {
        Some(<T as Value>::describe())
    }

    const PLAIN: Option<usize> = T::PLAIN;

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        self.write(writer)
    }

    #[inline]
    fn write_plain(&self, room: &mut [u8]) -> bool {
        T::write_plain(self, room)
    }

    #[inline]
    fn read_plain(&mut self, bytes: &[u8]) -> bool {
        T::read_plain(self, bytes)
    }
}

impl<T: Value> FieldValue for Option<T> {
    const KIND: Kind = T::KIND;

    #[inline]
    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.write_field(field, writer),
            None => Ok(()),
        }
    }

    #[inline]
    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        self.get_or_insert_default().read(reader)
    }

    fn describe() -> Option<Type<Named>> {
        Some(<T as Value>::describe())
    }

    const OPTIONAL: bool = true;

    #[inline]
    fn presence(&self) -> Option<bool> {
        Some(self.is_some())
    }

    #[inline]
    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.write(writer),
            None => Ok(()),
        }
    }
}

macro_rules! scalar {
    ($($ty:tt: $kind:ident, $method:ident;)*) => {$(
        impl Value for $ty {
            const KIND: Kind = Kind::$kind;

            #[inline]
            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                writer.$method(*self)
            }

            #[inline]
            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                *self = reader.$method()?;
                Ok(())
            }

            plain!($ty);
        }
    )*};
}

/// The same bytes as in memory, least significant first.
macro_rules! plain {
    (bool) => {
        const PLAIN: Option<usize> = Some(1);

        #[inline]
        fn write_plain(&self, room: &mut [u8]) -> bool {
            Value::write_plain(&u8::from(*self), room)
        }

        #[inline]
        fn read_plain(&mut self, bytes: &[u8]) -> bool {
            let mut byte = 0u8;
            let whole = Value::read_plain(&mut byte, bytes);
            *self = byte == 1;
            whole & (byte < 2)
        }
    };
    ($ty:ident) => {
        const PLAIN: Option<usize> = Some(size_of::<$ty>());

        #[inline]
        fn write_plain(&self, room: &mut [u8]) -> bool {
            let place = room.first_chunk_mut();
            place.map(|place| *place = self.to_le_bytes()).is_some()
        }

        #[inline]
        fn read_plain(&mut self, bytes: &[u8]) -> bool {
            let place = bytes.first_chunk();
            place
                .map(|place| *self = $ty::from_le_bytes(*place))
                .is_some()
        }
    };
}

scalar! {
    bool: Bool, bool;
    i8: I8, i8;
    i16: I16, i16;
    i32: I32, i32;
    i64: I64, i64;
    u8: U8, u8;
    u16: U16, u16;
    u32: U32, u32;
    u64: U64, u64;
    f32: F32, f32;
    f64: F64, f64;
}

macro_rules! ordered_float {
    ($($float:ty),*) => {$(
        impl Value for OrderedFloat<$float> {
            const KIND: Kind = <$float as Value>::KIND;

            #[inline]
            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                self.0.write(writer)
            }

            #[inline]
            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                self.0.read(reader)
            }

            const PLAIN: Option<usize> = <$float as Value>::PLAIN;

            #[inline]
            fn write_plain(&self, room: &mut [u8]) -> bool {
                Value::write_plain(&self.0, room)
            }

            #[inline]
            fn read_plain(&mut self, bytes: &[u8]) -> bool {
                Value::read_plain(&mut self.0, bytes)
            }
        }
    )*};
}

ordered_float!(f32, f64);

impl Value for String {
    const KIND: Kind = Kind::String;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.string(self)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let text = reader.string()?;
        self.clear();
        self.push_str(&text);
        Ok(())
    }
}

impl Value for Bytes {
    const KIND: Kind = Kind::Bytes;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.bytes(self)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        *self = reader.bytes()?;
        Ok(())
    }
}

impl Value for Uuid {
    const KIND: Kind = Kind::Uuid;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.uuid(self.as_bytes())
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        *self = Uuid::from_bytes(reader.uuid()?);
        Ok(())
    }

    const PLAIN: Option<usize> = Some(16);

    #[inline]
    fn write_plain(&self, room: &mut [u8]) -> bool {
        let place = room.first_chunk_mut();
        place.map(|place| *place = *self.as_bytes()).is_some()
    }

    #[inline]
    fn read_plain(&mut self, bytes: &[u8]) -> bool {
        let place = bytes.first_chunk();
        place
            .map(|place| *self = Uuid::from_bytes(*place))
            .is_some()
    }
}

impl<T: Value> Value for Box<T> {
    const KIND: Kind = T::KIND;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        T::write(self, writer)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        T::read(self, reader)
    }

    fn describe() -> Type<Named> {
        <T as Value>::describe()
    }
}

impl<T: Value> Value for Vec<T> {
    const KIND: Kind = Kind::List;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write_list(self, writer)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if let Some(size) = T::PLAIN
            && let Some(bytes) = reader.plain_list(size, size_of::<T>())?
        {
            return plain::read(self, size, bytes);
        }
        let mut sequence = reader.begin_list(T::KIND, size_of::<T>())?;
        if reader.is_positional() {
            return read_over(self, sequence, reader);
        }
        if !sequence.append {
            self.clear();
        }
        self.reserve(sequence.reserve);
        while reader.next_element(&mut sequence)? {
            let mut item = T::default();
            item.read(reader).map_err(|e| e.within("[]"))?;
            self.push(item);
        }
        Ok(())
    }

    fn describe() -> Type<Named> {
        Type::List(Box::new(<T as Value>::describe()))
    }
}

/// Writes a list.
#[inline]
pub(crate) fn write_list<T: Value, W: Writer + ?Sized>(
    items: &[T],
    writer: &mut W,
) -> Result<(), EncodeError> {
    if let Some(size) = T::PLAIN
        && let Some(room) = writer.plain_list(items.len(), size)?
    {
        return plain::write(items, size, room);
    }
    writer.begin_list(T::KIND, items.len())?;
    items.iter().try_for_each(|item| item.write(writer))?;
    writer.end_list()
}

/// Reads a list whose elements are replaced one by one, so that their memory is used again.
#[inline]
fn read_over<'de, T: Value, R: Reader<'de> + ?Sized>(
    items: &mut Vec<T>,
    mut sequence: Sequence,
    reader: &mut R,
) -> Result<(), DecodeError> {
    items.reserve(sequence.reserve.saturating_sub(items.len()));
    let mut len = 0;
    while reader.next_element(&mut sequence)? {
        match items.get_mut(len) {
            Some(item) => item.read(reader).map_err(|e| e.within("[]"))?,
            None => {
                let mut item = T::default();
                item.read(reader).map_err(|e| e.within("[]"))?;
                items.push(item);
            }
        }
        len += 1;
    }
    items.truncate(len);
    Ok(())
}

macro_rules! set {
    ($type:ident, $element:ident: $($bound:ident)+ $(; $hasher:ident)?) => {
        impl<
            $element: Value $(+ $bound)+
            $(, $hasher: BuildHasher + Default)?
        > Value for $type<$element $(, $hasher)?> {
            const KIND: Kind = Kind::Set;

            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                writer.begin_set($element::KIND, self.len())?;
                self.iter().try_for_each(|item| item.write(writer))?;
                writer.end_list()
            }

            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                let mut sequence = reader.begin_set($element::KIND, size_of::<$element>())?;
                if !sequence.append {
                    self.clear();
                }
                while reader.next_element(&mut sequence)? {
                    let mut item = $element::default();
                    item.read(reader).map_err(|e| e.within("[]"))?;
                    self.insert(item);
                }
                Ok(())
            }

            fn describe() -> Type<Named> {
                Type::Set(Box::new(<$element as Value>::describe()))
            }
        }
    };
}

set!(BTreeSet, T: Ord);
set!(HashSet, T: Eq Hash; S);

macro_rules! map {
    ($type:ident, $key:ident: $($bound:ident)+ $(; $hasher:ident)?) => {
        impl<
            $key: Value $(+ $bound)+,
            V: Value
            $(, $hasher: BuildHasher + Default)?
        > Value for $type<$key, V $(, $hasher)?> {
            const KIND: Kind = Kind::Map;

            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                writer.begin_map($key::KIND, V::KIND, self.len())?;
                for (key, value) in self {
                    key.write(writer)?;
                    value.write(writer)?;
                }
                writer.end_map()
            }

            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                let size = size_of::<($key, V)>();
                let mut sequence = reader.begin_map($key::KIND, V::KIND, size)?;
                if !sequence.append {
                    self.clear();
                }
                while reader.next_element(&mut sequence)? {
                    let (mut key, mut value) = ($key::default(), V::default());
                    key.read(reader).map_err(|e| e.within("[key]"))?;
                    value.read(reader).map_err(|e| e.within("[value]"))?;
                    self.insert(key, value);
                }
                Ok(())
            }

            fn describe() -> Type<Named> {
                Type::Map(Box::new(<$key as Value>::describe()), Box::new(<V as Value>::describe()))
            }
        }
    };
}

map!(BTreeMap, K: Ord);
map!(HashMap, K: Eq Hash; S);
