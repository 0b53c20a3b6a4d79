use super::{WrongShape, wrong_count};
use crate::description::{Named, Type};
use crate::{DecodeError, EncodeError, Kind, Reader, Value, Writer, plain};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// An array of a fixed extent that is too long to stand in a struct, or on the stack.
///
/// ```
/// use dovetail_wire::LongArray;
///
/// let mut histogram: LongArray<u32, 256> = LongArray::default();
/// histogram.elements_mut()[7] += 1;
/// assert_eq!(histogram.elements().iter().sum::<u32>(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct LongArray<T, const N: usize> {
    /// `N` elements, or none, which stands for as many that have their default: memory for them is
    /// not taken for a few bytes of a peer's.
    elements: Vec<T>,
}

impl<T: Default, const N: usize> LongArray<T, N> {
    /// These elements. An error where they are not `N`.
    pub fn new(elements: Vec<T>) -> Result<Self, WrongShape> {
        match elements.len() == N {
            true => Ok(LongArray { elements }),
            false => Err(WrongShape {
                extents: vec![N],
                elements: elements.len(),
            }),
        }
    }

    /// Elements that are known to be `N`.
    ///
    /// # Panics
    ///
    /// Panics if they are not.
    #[must_use]
    pub fn constant(elements: Vec<T>) -> Self {
        match Self::new(elements) {
            Ok(array) => array,
            Err(problem) => panic!("{problem}"),
        }
    }

    /// All elements, in order.
    pub fn elements(&self) -> Cow<'_, [T]>
    where
        T: Clone,
    {
        match self.elements.is_empty() {
            true => Cow::Owned(defaults(N)),
            false => Cow::Borrowed(&self.elements),
        }
    }

    /// All elements, in order.
    pub fn elements_mut(&mut self) -> &mut [T] {
        if self.elements.is_empty() {
            self.elements = defaults(N);
        }
        &mut self.elements
    }

    /// All elements, in order, without the array around them.
    pub fn into_elements(mut self) -> Vec<T> {
        self.elements_mut();
        self.elements
    }
}

fn defaults<T: Default>(count: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(count).collect()
}

impl<T, const N: usize> Default for LongArray<T, N> {
    fn default() -> Self {
        LongArray {
            elements: Vec::new(),
        }
    }
}

impl<T: Clone + Default + PartialEq, const N: usize> PartialEq for LongArray<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.elements() == other.elements()
    }
}

impl<T: Clone + Default + Eq, const N: usize> Eq for LongArray<T, N> {}

impl<T: Clone + Default + Hash, const N: usize> Hash for LongArray<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.elements().hash(state);
    }
}

impl<T: Clone + Default + PartialOrd, const N: usize> PartialOrd for LongArray<T, N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.elements().partial_cmp(&other.elements())
    }
}

impl<T: Clone + Default + Ord, const N: usize> Ord for LongArray<T, N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.elements().cmp(&other.elements())
    }
}

/// As an array that stands in its struct.
impl<T: Value, const N: usize> Value for LongArray<T, N> {
    const KIND: Kind = Kind::List;
    const ELEMENT: Option<Kind> = Some(T::KIND);

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        const { assert!(N > 0, "every value takes a byte") };
        let defaults: Vec<T>;
        let mut items = &self.elements;
        if items.is_empty() {
            defaults = self::defaults(N);
            items = &defaults;
        }
        if let Some(size) = T::PLAIN.tagless
            && let Some(room) = writer.plain(N * size)
        {
            return plain::write(items, size, room);
        }
        writer.begin_array(T::KIND, N)?;
        items.iter().try_for_each(|item| item.write(writer))?;
        writer.end_list()
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        self.elements.clear();
        self.read_elements(reader)
            .inspect_err(|_| self.elements.clear())
    }

    fn describe() -> Type<Named> {
        Type::Array(vec![N as u32], Box::new(<T as Value>::describe()))
    }
}

impl<T: Value, const N: usize> LongArray<T, N> {
    fn read_elements<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        let mut sequence = reader.begin_array(T::KIND, N)?;
        let expected = sequence.reserve.min(N);
        reader.budget().reserve(&mut self.elements, expected)?;
        while reader.next_element(&mut sequence)? {
            if self.elements.len() == N {
                return Err(wrong_count(N, N + 1));
            }
            reader.budget().room(&mut self.elements)?;
            let mut item = T::default();
            item.read(reader).map_err(|e| e.within("[]"))?;
            self.elements.push(item);
        }
        match self.elements.len() {
            len if len == N => Ok(()),
            len => Err(wrong_count(N, len)),
        }
    }
}
