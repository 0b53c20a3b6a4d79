use crate::description::{Named, Type};
use crate::{DecodeError, EncodeError, Kind, Reader, Writer};
use bytes::Bytes;
use ordered_float::OrderedFloat;
use std::sync::Arc;
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

macro_rules! text {
    ($string:ty) => {
        impl Value for $string {
            const KIND: Kind = Kind::String;

            #[inline]
            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                writer.string(self)
            }

            #[inline]
            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                let text = reader.string()?;
                self.clear();
                self.push_str(&text);
                Ok(())
            }
        }
    };
}

text!(String);
#[cfg(feature = "compact-strings")]
text!(crate::CompactString);

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

/// A value that is shared, not a reference that two ends keep: each end has its own.
impl<T: Value> Value for Arc<T> {
    const KIND: Kind = T::KIND;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        T::write(self, writer)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if let Some(value) = Arc::get_mut(self) {
            return value.read(reader);
        }
        let mut value = T::default();
        value.read(reader)?;
        *self = Arc::new(value);
        Ok(())
    }

    fn describe() -> Type<Named> {
        <T as Value>::describe()
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
