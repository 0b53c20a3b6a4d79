use super::shape::Shape;
use super::{check_shape, product, read_array, spell, write_array};
use crate::containers::write_list;
use crate::description::{Named, Type};
use crate::{DecodeError, EncodeError, Kind, Reader, Value, Writer};
use std::fmt;
use std::ops::{Index, IndexMut};

/// An array of two or more dimensions, at least one of them free, row by row.
///
/// ```
/// use dovetail_wire::{Array, Free};
///
/// let matrix: Array<i32, (Free, Free)> = Array::new([2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!(matrix[[1, 0]], 4);
/// assert_eq!(matrix.get([2, 0]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Array<T, S: Shape> {
    extents: S::Extents,
    elements: Vec<T>,
}

impl<T, S: Shape> Array<T, S> {
    /// An array of these extents. An error where the shape has others, or they make another number
    /// of elements.
    pub fn new(extents: S::Extents, elements: Vec<T>) -> Result<Self, WrongShape> {
        let found = extents.as_ref();
        let fits = |(fixed, extent): (&Option<u32>, &usize)| {
            fixed.is_none_or(|fixed| fixed as usize == *extent)
        };
        let fits = S::SHAPE.iter().zip(found).all(fits);
        match fits && product(found.iter().copied()) == Some(elements.len()) {
            true => Ok(Array { extents, elements }),
            false => Err(WrongShape {
                extents: found.to_vec(),
                elements: elements.len(),
            }),
        }
    }

    /// An array that is known to have these extents.
    ///
    /// # Panics
    ///
    /// Panics if [`Array::new`] has an error.
    #[must_use]
    pub fn constant(extents: S::Extents, elements: Vec<T>) -> Self {
        match Self::new(extents, elements) {
            Ok(array) => array,
            Err(problem) => panic!("{problem}"),
        }
    }

    /// The extents, the outermost one first.
    pub fn extents(&self) -> S::Extents {
        self.extents
    }

    /// The elements, row by row.
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// The elements, row by row.
    pub fn elements_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }

    /// The elements, row by row, without the array around them.
    pub fn into_elements(self) -> Vec<T> {
        self.elements
    }

    /// The element in this place; `None` outside of the extents.
    pub fn get(&self, place: S::Extents) -> Option<&T> {
        self.elements.get(self.offset(place)?)
    }

    /// The element in this place; `None` outside of the extents.
    pub fn get_mut(&mut self, place: S::Extents) -> Option<&mut T> {
        let offset = self.offset(place)?;
        self.elements.get_mut(offset)
    }

    fn offset(&self, place: S::Extents) -> Option<usize> {
        let mut pairs = self.extents.as_ref().iter().zip(place.as_ref());
        pairs.try_fold(0, |offset, (extent, at)| {
            (at < extent).then_some(offset * extent + at)
        })
    }

    #[cold]
    fn outside(&self, place: S::Extents) -> ! {
        let (place, extents) = (place.as_ref(), self.extents.as_ref());
        panic!("no element {place:?} in an array of the extents {extents:?}")
    }
}

impl<T, S: Shape> Default for Array<T, S> {
    fn default() -> Self {
        Array {
            extents: S::EMPTY,
            elements: Vec::new(),
        }
    }
}

/// Panics outside of the extents, as other indices do.
impl<T, S: Shape> Index<S::Extents> for Array<T, S> {
    type Output = T;

    fn index(&self, place: S::Extents) -> &T {
        self.get(place).unwrap_or_else(|| self.outside(place))
    }
}

impl<T, S: Shape> IndexMut<S::Extents> for Array<T, S> {
    fn index_mut(&mut self, place: S::Extents) -> &mut T {
        match self.offset(place) {
            Some(offset) => &mut self.elements[offset],
            None => self.outside(place),
        }
    }
}

impl<T: Value, S: Shape> Value for Array<T, S> {
    const KIND: Kind = Kind::Struct;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        let extents = self.extents.as_ref().iter();
        let extents: Result<Vec<u32>, EncodeError> = extents
            .map(|extent| {
                u32::try_from(*extent).map_err(|_| EncodeError::TooLong { length: *extent })
            })
            .collect();
        write_array(writer, &extents?, |writer| {
            write_list(&self.elements, writer)
        })
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let mut extents: Vec<u32> = self
            .extents
            .as_ref()
            .iter()
            .map(|one| *one as u32)
            .collect();
        let elements = &mut self.elements;
        let read = read_array(reader, &mut extents, |reader| elements.read(reader));
        read.and_then(|()| check_shape(S::SHAPE, &extents, self.elements.len()))
            .and_then(|()| {
                let extents: Vec<usize> = extents.iter().map(|one| *one as usize).collect();
                let checked = S::Extents::try_from(extents);
                self.extents = checked.map_err(|_| DecodeError::malformed("too few extents"))?;
                Ok(())
            })
            .inspect_err(|_| *self = Self::default())
    }

    fn describe() -> Type<Named> {
        let extents = S::SHAPE.iter().map(|extent| extent.unwrap_or(0)).collect();
        Type::Array(extents, Box::new(<T as Value>::describe()))
    }
}

/// Extents that an array does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongShape {
    /// The extents.
    pub extents: Vec<usize>,
    /// How many elements there are.
    pub elements: usize,
}

impl fmt::Display for WrongShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents = spell(self.extents.iter());
        write!(f, "{} elements for an array of {extents}", self.elements)
    }
}

impl std::error::Error for WrongShape {}
