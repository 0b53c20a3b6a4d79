//! Arrays: of fixed extents, which are part of the type, and of free ones, which are part of the
//! value.

mod fixed;
mod free;
mod long;
mod shape;

pub use free::{Array, WrongShape};
pub use long::LongArray;
pub use shape::{Fixed, Free, Shape};

use crate::containers::write_list;
use crate::{
    Cursor, DecodeError, EncodeError, Field, Kind, NextField, Present, Reader, Value, Writer,
};

/// The carrier of an array with more than one free extent: the extents, and the elements row by
/// row.
const FIELDS: [Field<'static>; 2] = [
    Field::new(1, "extents", Kind::List),
    Field::new(2, "elements", Kind::List),
];

/// Writes an array whose extents are part of its value. `elements` writes them as a list.
#[doc(hidden)]
pub fn write_array<W: Writer + ?Sized>(
    writer: &mut W,
    extents: &[u32],
    elements: impl FnOnce(&mut W) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    if writer.is_positional() {
        writer.begin_positional(&[])?;
        write_list(extents, writer)?;
        elements(writer)?;
        return writer.end_struct();
    }
    writer.begin_struct()?;
    writer.begin_field(&FIELDS[0])?;
    write_list(extents, writer)?;
    writer.end_field()?;
    writer.begin_field(&FIELDS[1])?;
    elements(writer)?;
    writer.end_field()?;
    writer.end_struct()
}

/// Reads what [`write_array`] wrote. `elements` reads them as a list.
#[doc(hidden)]
pub fn read_array<'de, R: Reader<'de> + ?Sized>(
    reader: &mut R,
    extents: &mut Vec<u32>,
    mut elements: impl FnMut(&mut R) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    if reader.is_positional() {
        Present::read(reader, FIELDS.len(), 0)?;
        extents.read(reader)?;
        elements(reader)?;
        return reader.end_positional();
    }
    reader.begin_struct()?;
    let mut cursor = Cursor::default();
    loop {
        match reader.next_field(&FIELDS, &mut cursor)? {
            NextField::Known(0) => extents.read(reader)?,
            NextField::Known(_) => elements(reader)?,
            NextField::Unknown(_) => {
                reader.unknown_value()?;
            }
            NextField::End => return Ok(()),
        }
    }
}

/// Checks that an array of this shape (`None` for a free extent) can have these extents, and so
/// many elements.
#[doc(hidden)]
pub fn check_shape(
    shape: &[Option<u32>],
    extents: &[u32],
    elements: usize,
) -> Result<(), DecodeError> {
    let fits = |(fixed, extent): (&Option<u32>, &u32)| fixed.is_none_or(|fixed| fixed == *extent);
    if extents.len() != shape.len() || !shape.iter().zip(extents).all(fits) {
        let (found, expected) = (spell(extents.iter()), spell(shape.iter().map(Extent)));
        return Err(DecodeError::malformed(format!(
            "an array of {found} elements where the contract has {expected}"
        )));
    }
    match product(extents.iter().map(|extent| *extent as usize)) {
        Some(product) if product == elements => Ok(()),
        _ => Err(DecodeError::malformed(format!(
            "an array of {} with {elements} elements",
            spell(extents.iter())
        ))),
    }
}

/// How many elements an array of these extents has; `None` for too many to be counted.
fn product(extents: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    if extents.clone().any(|extent| extent == 0) {
        return Some(0);
    }
    extents
        .into_iter()
        .try_fold(1, |product: usize, extent| product.checked_mul(extent))
}

/// An extent as the contract spells it.
struct Extent<'a>(&'a Option<u32>);

impl std::fmt::Display for Extent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(extent) => extent.fmt(f),
            None => f.write_str("*"),
        }
    }
}

/// Extents in a message, `2 × 3`: not more of them than one can read.
fn spell<T: std::fmt::Display>(extents: impl Iterator<Item = T>) -> String {
    const SHOWN: usize = 9;
    let mut words: Vec<String> = extents.take(SHOWN).map(|one| one.to_string()).collect();
    match words.len() {
        0 => "no extents".to_owned(),
        SHOWN => {
            words[SHOWN - 1] = "…".to_owned();
            words.join(" × ")
        }
        _ => words.join(" × "),
    }
}

/// The error for a fixed array with another number of elements.
#[doc(hidden)]
#[cold]
pub fn wrong_count(expected: usize, found: usize) -> DecodeError {
    let found = match found {
        // Nobody counted the others.
        found if found > expected => format!("more than {expected}"),
        found => found.to_string(),
    };
    DecodeError::malformed(format!(
        "an array of {found} elements where the contract has {expected}"
    ))
}
