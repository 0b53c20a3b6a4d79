//! Types that travel as another one, their carrier, which every peer can read.

use crate::description::Logical;
use crate::{DecodeError, EncodeError, Reader, Value, Writer};

/// A type with a carrier. [`carried!`] makes it a [`Value`].
pub(crate) trait Carried: Sized {
    /// The type that goes over the wire.
    type Carrier: Value;
    /// The type in a contract.
    const LOGICAL: Logical;

    fn to_carrier(&self) -> Self::Carrier;

    /// Writes the value in a form that the encoding has for it; false where there is none.
    #[inline]
    fn write_own<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<bool, EncodeError> {
        let _ = writer;
        Ok(false)
    }

    /// Reads the value in such a form; `None` where another comes.
    #[inline]
    fn read_own<'de, R: Reader<'de> + ?Sized>(reader: &mut R) -> Result<Option<Self>, DecodeError> {
        let _ = reader;
        Ok(None)
    }

    /// Fails for what the carrier can say and the type cannot.
    fn from_carrier(carrier: Self::Carrier) -> Result<Self, DecodeError>;
}

/// Implements [`Value`] for types with a carrier.
macro_rules! carried {
    ($($type:ty),*) => {$(
        impl $crate::Value for $type {
            const KIND: $crate::Kind = <<$type as Carried>::Carrier as $crate::Value>::KIND;

            #[inline]
            fn write<W: $crate::Writer + ?Sized>(
                &self,
                writer: &mut W,
            ) -> Result<(), $crate::EncodeError> {
                match self.write_own(writer)? {
                    true => Ok(()),
                    false => $crate::Value::write(&self.to_carrier(), writer),
                }
            }

            #[inline]
            fn read<'de, R: $crate::Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), $crate::DecodeError> {
                if let Some(value) = Self::read_own(reader)? {
                    *self = value;
                    return Ok(());
                }
                let mut carrier = self.to_carrier();
                $crate::Value::read(&mut carrier, reader)?;
                *self = Self::from_carrier(carrier)?;
                Ok(())
            }

            fn describe() -> $crate::description::Type<$crate::description::Named> {
                $crate::description::Type::Logical(Self::LOGICAL)
            }

            const PLAIN: $crate::Plain = <<$type as Carried>::Carrier as $crate::Value>::PLAIN.times(1);

            #[inline]
            fn write_plain<L: $crate::layout::Layout>(&self, room: &mut &mut [u8]) -> bool {
                $crate::Value::write_plain::<L>(&self.to_carrier(), room)
            }

            #[inline]
            fn read_plain<L: $crate::layout::Layout>(&mut self, bytes: &mut &[u8]) -> bool {
                let mut carrier = <$type as Carried>::Carrier::default();
                if !$crate::Value::read_plain::<L>(&mut carrier, bytes) {
                    return false;
                }
                match Self::from_carrier(carrier) {
                    Ok(value) => {
                        *self = value;
                        true
                    }
                    Err(_) => false,
                }
            }
        }
    )*};
}

pub(crate) use carried;
