use super::wrong_count;
use crate::description::{Named, Type};
use crate::layout::{Layout, Tagless};
use crate::{DecodeError, EncodeError, Kind, Plain, Reader, Value, Writer, plain};

/// A fixed extent is a list of just so many elements; where both ends know how many, they are not
/// counted. Arrays inside one another are more dimensions.
impl<T: Value, const N: usize> Value for [T; N]
where
    [T; N]: Default,
{
    const KIND: Kind = Kind::List;
    const ELEMENT: Option<Kind> = Some(T::KIND);

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        const { assert!(N > 0, "every value takes a byte") };
        if let Some(size) = Self::PLAIN.tagless
            && let Some(mut room) = writer.plain(size)
        {
            return match self.write_plain::<Tagless>(&mut room) {
                true => Ok(()),
                false => Err(EncodeError::NeedsTags),
            };
        }
        writer.begin_array(T::KIND, N)?;
        self.iter().try_for_each(|item| item.write(writer))?;
        writer.end_list()
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if let Some(size) = Self::PLAIN.tagless
            && let Some(mut bytes) = reader.plain(size)?
        {
            return plain::check(self.read_plain::<Tagless>(&mut bytes));
        }
        // Whatever contains the array has paid for the memory of its elements.
        let mut sequence = reader.begin_array(T::KIND, N)?;
        let mut items = self.iter_mut();
        let mut len = 0;
        while reader.next_element(&mut sequence)? {
            let item = items.next().ok_or_else(|| wrong_count(N, N + 1))?;
            if !reader.is_positional() {
                *item = T::default();
            }
            item.read(reader).map_err(|e| e.within("[]"))?;
            len += 1;
        }
        match len == N {
            true => Ok(()),
            false => Err(wrong_count(N, len)),
        }
    }

    fn describe() -> Type<Named> {
        Type::Array(vec![N as u32], Box::new(<T as Value>::describe()))
    }

    const PLAIN: Plain = T::PLAIN.times(N);

    #[inline]
    fn write_plain<L: Layout>(&self, room: &mut &mut [u8]) -> bool {
        self.iter()
            .fold(true, |all, item| all & item.write_plain::<L>(room))
    }

    #[inline]
    fn read_plain<L: Layout>(&mut self, bytes: &mut &[u8]) -> bool {
        self.iter_mut()
            .fold(true, |all, item| all & item.read_plain::<L>(bytes))
    }
}
