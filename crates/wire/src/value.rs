use crate::{DecodeError, EncodeError, Field, Kind, NextField, Reader, Writer};
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

    /// Reads a value over this one; its memory is used again where possible.
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError>;
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
        let mut hint = 0;
        while reader.next_field(&[], &mut hint)? != NextField::End {
            reader.unknown_value()?;
        }
        Ok(())
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
}

macro_rules! scalar {
    ($($ty:ty: $kind:ident, $method:ident;)*) => {$(
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
        }
    )*};
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
}

impl<T: Value> Value for Vec<T> {
    const KIND: Kind = Kind::List;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_list(T::KIND, self.len())?;
        self.iter().try_for_each(|item| item.write(writer))?;
        writer.end_list()
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let mut sequence = reader.begin_list(T::KIND, size_of::<T>())?;
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
        }
    };
}

map!(BTreeMap, K: Ord);
map!(HashMap, K: Eq Hash; S);
