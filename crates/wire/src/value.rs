use crate::description::{Named, Type};
use crate::layout::{self, Layout};
use crate::{DecodeError, EncodeError, Kind, Plain, Reader, Writer};
use bytes::Bytes;
use ordered_float::OrderedFloat;
use std::borrow::Cow;
use std::sync::Arc;
use uuid::Uuid;

/// Anything that can stand in a field or a container.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a contract",
    note = "types of a contract have `#[derive(dovetail::Message)]`; a reference is none, the value itself is"
)]
pub trait Value: Default {
    /// Its shape.
    const KIND: Kind;

    /// The shape of its elements, where it is a list or a set.
    const ELEMENT: Option<Kind> = None;

    /// JSON's `null` is one of its values.
    const NULLABLE: bool = false;

    /// Writes the value.
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError>;

    /// Reads a value over this one. A [positional](Reader::is_positional) encoding replaces it and
    /// uses its memory again. Others say only what is there, and what they do not say stays as it
    /// was: give them a new value, or one that is to be merged.
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError>;

    /// True for zero and for what is empty, which protobuf leaves out of fields without presence.
    #[inline]
    fn is_zero(&self) -> bool {
        false
    }

    /// The type in the words of a contract. Types that are no more than their `KIND` need not say
    /// it.
    fn describe() -> Type<Named> {
        Type::Scalar(<Self as Value>::KIND)
    }

    /// How many bytes every value of this type takes. Lists of such values are blocks of memory.
    const PLAIN: Plain = Plain::NOT;

    /// Writes the value to the front of the room, which then begins behind it. False where it has
    /// something that has no place there, or where there is no room.
    #[must_use]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        let _ = room;
        false
    }

    /// Reads a value from the front of the bytes, which then begin behind it. False where there is
    /// none, or none in this layout; the value and the bytes are anything then.
    #[must_use]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
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

            zero!($ty);
            plain!($ty);
        }
    )*};
}

/// When it is zero; a negative zero is not.
macro_rules! zero {
    (bool) => {
        #[inline]
        fn is_zero(&self) -> bool {
            !*self
        }
    };
    (f32) => {
        zero!(float);
    };
    (f64) => {
        zero!(float);
    };
    (float) => {
        #[inline]
        fn is_zero(&self) -> bool {
            self.to_bits() == 0
        }
    };
    ($integer:ident) => {
        #[inline]
        fn is_zero(&self) -> bool {
            *self == 0
        }
    };
}

/// Gives the type the layout of a plain value.
macro_rules! plain {
    (bool) => {
        const PLAIN: Plain = Plain::bool();

        #[inline]
        fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
            Value::write_plain::<L>(&u8::from(*self), room)
        }

        #[inline]
        fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
            let mut byte = 0u8;
            let whole = Value::read_plain::<L>(&mut byte, bytes);
            *self = byte == 1;
            whole & (byte < 2)
        }
    };
    (f32) => {
        // Thrift has no numbers of this width.
        const PLAIN: Plain = Plain::number(4).times(1);

        plain!(f32 by write_number, read_number);
    };
    (f64) => {
        const PLAIN: Plain = Plain::number(8);

        plain!(f64 by write_number, read_number);
    };
    ($ty:ident) => {
        const PLAIN: Plain = Plain::integer(size_of::<$ty>());

        plain!($ty by write_integer, read_integer);
    };
    ($ty:ident by $write:ident, $read:ident) => {
        #[inline]
        fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
            L::$write(self.to_le_bytes(), room)
        }

        #[inline]
        fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
            let found = L::$read(bytes);
            found.map(|found| *self = $ty::from_le_bytes(found)).is_some()
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

            #[inline]
            fn is_zero(&self) -> bool {
                self.0.is_zero()
            }

            const PLAIN: Plain = <$float as Value>::PLAIN;

            #[inline]
            fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
                Value::write_plain::<L>(&self.0, room)
            }

            #[inline]
            fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
                Value::read_plain::<L>(&mut self.0, bytes)
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
                match reader.string()? {
                    Cow::Borrowed(text) if text.len() <= self.capacity() => {
                        self.clear();
                        self.push_str(text);
                    }
                    text => *self = text.into(),
                }
                Ok(())
            }

            #[inline]
            fn is_zero(&self) -> bool {
                self.is_empty()
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

    #[inline]
    fn is_zero(&self) -> bool {
        self.is_empty()
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

    const PLAIN: Plain = Plain::number(16);

    #[inline]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        layout::put(*self.as_bytes(), room)
    }

    #[inline]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
        let found = layout::take(bytes);
        found.map(|found| *self = Uuid::from_bytes(found)).is_some()
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
        let counters = 2 * size_of::<usize>();
        reader.budget().block(counters + size_of::<T>())?;
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
    const ELEMENT: Option<Kind> = T::ELEMENT;
    const NULLABLE: bool = T::NULLABLE;

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        T::write(self, writer)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        reader.budget().block(size_of::<T>())?;
        T::read(self, reader)
    }

    fn describe() -> Type<Named> {
        <T as Value>::describe()
    }
}
