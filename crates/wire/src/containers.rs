//! Lists, sets and maps.

use crate::description::{Named, Type};
use crate::field_value::leaves_out;
use crate::layout::{BlockLayout, Layout, ThriftBinary, ThriftCompact};
use crate::{DecodeError, EncodeError, Kind, Reader, Sequence, Value, Writer, plain};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

impl<T: Value> Value for Vec<T> {
    const KIND: Kind = Kind::List;
    const ELEMENT: Option<Kind> = Some(T::KIND);

    #[inline]
    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        write_list(self, writer)
    }

    #[inline]
    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        if let Some(size) = T::PLAIN.tagless
            && let Some(bytes) = reader.plain_list(size)?
        {
            let more = (bytes.len() / size).saturating_sub(self.len());
            reader.budget().reserve(self, more)?;
            return plain::read(self, size, bytes);
        }
        let mut sequence = reader.begin_list(T::KIND)?;
        if reader.is_positional() {
            return read_over(self, sequence, reader);
        }
        if !sequence.append {
            self.clear();
        }
        reader.budget().reserve(self, sequence.reserve)?;
        while reader.next_element(&mut sequence)? {
            reader.budget().room(self)?;
            let item = match read_block(reader) {
                Some(item) => item,
                None => {
                    let mut item = T::default();
                    item.read(reader).map_err(|e| e.within("[]"))?;
                    item
                }
            };
            if leaves_out::<T, R>(reader) {
                continue;
            }
            self.push(item);
        }
        Ok(())
    }
    #[inline]
    fn is_zero(&self) -> bool {
        self.is_empty()
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
    if let Some(size) = T::PLAIN.tagless
        && let Some(room) = writer.plain_list(items.len(), size)?
    {
        return plain::write(items, size, room);
    }
    writer.begin_list(T::KIND, items.len())?;
    let others = &items[write_blocks(items, writer)..];
    others.iter().try_for_each(|item| item.write(writer))?;
    writer.end_list()
}

/// The room that is made at once for blocks that may need less, in bytes.
const ROOM: usize = 4096;

/// Writes elements as blocks where the encoding has such, up to one that has no place in its block.
/// How many there are.
#[inline]
fn write_blocks<T: Value, W: Writer + ?Sized>(items: &[T], writer: &mut W) -> usize {
    match writer.block_layout() {
        Some(BlockLayout::ThriftBinary) => write_blocks_in::<ThriftBinary, T, W>(items, writer),
        // Single numbers take less time one by one.
        Some(BlockLayout::ThriftCompact) if matches!(T::KIND, Kind::Struct) => {
            write_blocks_in::<ThriftCompact, T, W>(items, writer)
        }
        _ => 0,
    }
}

#[inline]
fn write_blocks_in<L: Layout, T: Value, W: Writer + ?Sized>(items: &[T], writer: &mut W) -> usize {
    let Some(size) = L::size(T::PLAIN) else {
        return 0;
    };
    let mut count = 0;
    // All elements get room at once if it is known how much they take.
    let at_once = match L::IS_FIXED {
        true => items.len().max(1),
        false => ROOM.div_ceil(size),
    };
    for some in items.chunks(at_once) {
        let Some(mut room) = writer.blocks(some.len().saturating_mul(size)) else {
            break;
        };
        if !plain::write_all::<L, T>(some, size, &mut room) {
            writer.take_back(some.len() * size);
            break;
        }
        let left = room.len();
        writer.take_back(left);
        count += some.len();
    }
    count
}

/// Reads an element that is the block that one of this contract makes of it; most are.
#[inline]
fn read_block<'de, T: Value, R: Reader<'de> + ?Sized>(reader: &mut R) -> Option<T> {
    match reader.block_layout()? {
        BlockLayout::ThriftBinary => read_block_in::<ThriftBinary, T, R>(reader),
        BlockLayout::ThriftCompact if matches!(T::KIND, Kind::Struct) => {
            read_block_in::<ThriftCompact, T, R>(reader)
        }
        BlockLayout::ThriftCompact => None,
    }
}

#[inline]
fn read_block_in<'de, L: Layout, T: Value, R: Reader<'de> + ?Sized>(reader: &mut R) -> Option<T> {
    let size = L::size(T::PLAIN)?;
    let mut bytes = reader.block(size)?;
    let mut item = T::default();
    let whole = match L::IS_FIXED {
        true => item.read_plain::<L>(&mut bytes),
        false => read_apart::<L, T>(&mut item, &mut bytes),
    };
    let len = size.checked_sub(bytes.len())?;
    whole.then(|| {
        reader.pass(len);
        item
    })
}

/// As a function of its own, where the processor has the registers for all that changes with each
/// number.
#[inline(never)]
fn read_apart<L: Layout, T: Value>(item: &mut T, bytes: &mut &[u8]) -> bool {
    item.read_plain::<L>(bytes)
}

/// Reads a list whose elements are replaced one by one, so that their memory is used again.
#[inline]
fn read_over<'de, T: Value, R: Reader<'de> + ?Sized>(
    items: &mut Vec<T>,
    mut sequence: Sequence,
    reader: &mut R,
) -> Result<(), DecodeError> {
    let more = sequence.reserve.saturating_sub(items.len());
    reader.budget().reserve(items, more)?;
    let mut len = 0;
    while reader.next_element(&mut sequence)? {
        match items.get_mut(len) {
            Some(item) => item.read(reader).map_err(|e| e.within("[]"))?,
            None => {
                reader.budget().room(items)?;
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
            const ELEMENT: Option<Kind> = Some(<$element as Value>::KIND);

            fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
                writer.begin_set($element::KIND, self.len())?;
                self.iter().try_for_each(|item| item.write(writer))?;
                writer.end_list()
            }

            fn read<'de, R: Reader<'de> + ?Sized>(
                &mut self,
                reader: &mut R,
            ) -> Result<(), DecodeError> {
                let mut sequence = reader.begin_set($element::KIND)?;
                if !sequence.append {
                    self.clear();
                }
                reader.budget().reserve(self, sequence.reserve)?;
                while reader.next_element(&mut sequence)? {
                    let mut item = $element::default();
                    item.read(reader).map_err(|e| e.within("[]"))?;
                    if leaves_out::<$element, R>(reader) {
                        continue;
                    }
                    reader.budget().room(self)?;
                    self.insert(item);
                }
                Ok(())
            }
            #[inline]
            fn is_zero(&self) -> bool {
                self.is_empty()
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
                let mut sequence = reader.begin_map($key::KIND, V::KIND)?;
                if !sequence.append {
                    self.clear();
                }
                reader.budget().reserve(self, sequence.reserve)?;
                while reader.next_element(&mut sequence)? {
                    let (mut key, mut value) = ($key::default(), V::default());
                    key.read(reader).map_err(|e| e.within("[key]"))?;
                    value.read(reader).map_err(|e| e.within("[value]"))?;
                    if !leaves_out::<V, R>(reader) {
                        reader.budget().room(self)?;
                        self.insert(key, value);
                    }
                }
                Ok(())
            }
            #[inline]
            fn is_zero(&self) -> bool {
                self.is_empty()
            }

            fn describe() -> Type<Named> {
                Type::Map(Box::new(<$key as Value>::describe()), Box::new(<V as Value>::describe()))
            }
        }
    };
}

map!(BTreeMap, K: Ord);
map!(HashMap, K: Eq Hash; S);
