//! Presence bits and places: all that a positional encoding says of fields.

use crate::{DecodeError, Field, Reader, Row};

/// Bytes of presence bits that a struct begins with. One without any fields has one, so that every
/// value takes a byte.
pub const fn presence_size(fields: usize, optional: usize) -> usize {
    match fields {
        0 => 1,
        _ => optional.div_ceil(8),
    }
}

/// Which optional fields of a struct are there, on their way out.
#[derive(Debug)]
pub struct Presence<B> {
    bits: B,
    next: usize,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Presence<B> {
    /// Begins a struct of which nothing is known yet: as many zeros as [`presence_size`] says.
    #[inline]
    #[must_use]
    pub fn new(zeros: B) -> Self {
        Presence {
            bits: zeros,
            next: 0,
        }
    }

    /// The next field: whether it is there, or `None` for one that always is.
    #[inline]
    pub fn push(&mut self, present: Option<bool>) {
        let Some(present) = present else {
            return;
        };
        if let Some(byte) = self.bits.as_mut().get_mut(self.next / 8) {
            *byte |= u8::from(present) << (self.next % 8);
        }
        self.next += 1;
    }

    /// The bits of all fields, lowest first.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bits.as_ref()
    }
}

/// Which optional fields of a struct are there, on their way in.
#[derive(Clone, Copy, Debug)]
pub struct Present<'de> {
    bits: &'de [u8],
    next: usize,
}

impl<'de> Present<'de> {
    /// Begins a struct with that many fields.
    #[inline]
    pub fn read<R: Reader<'de> + ?Sized>(
        reader: &mut R,
        fields: usize,
        optional: usize,
    ) -> Result<Self, DecodeError> {
        let bits = reader.begin_positional(presence_size(fields, optional))?;
        if let [full @ .., last] = bits
            && u32::from(*last) >> optional.saturating_sub(8 * full.len()).min(8) != 0
        {
            return Err(stray_bits());
        }
        Ok(Present { bits, next: 0 })
    }

    /// Whether the next optional field is there.
    #[inline]
    pub fn take(&mut self) -> bool {
        let byte = self.bits.get(self.next / 8).copied().unwrap_or(0);
        let present = byte >> (self.next % 8) & 1 != 0;
        self.next += 1;
        present
    }

    /// Reads the next field over this one.
    #[inline]
    pub fn field<F: Row, R: Reader<'de> + ?Sized>(
        &mut self,
        place: &mut F::Place,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        if F::OPTIONAL && !self.take() {
            F::clear(place);
            return Ok(());
        }
        F::read_field(place, reader)
    }
}

/// The place of the field with this id in a union, counted from 1.
#[must_use]
pub const fn place(fields: &[Field<'_>], id: i32) -> usize {
    let mut index = 0;
    while index < fields.len() && fields[index].id != id {
        index += 1;
    }
    index + 1
}

/// Begins a union; the field that it has, if it has one.
#[inline]
pub fn read_place<'de, 'a, R: Reader<'de> + ?Sized>(
    fields: &'a [Field<'a>],
    reader: &mut R,
) -> Result<Option<&'a Field<'a>>, DecodeError> {
    let place = reader.begin_union()?;
    match place.checked_sub(1) {
        None => Ok(None),
        Some(index) => fields.get(index).map(Some).ok_or_else(no_such_place),
    }
}

#[cold]
#[inline(never)]
fn no_such_place() -> DecodeError {
    DecodeError::malformed("a field that the union does not have")
}

#[cold]
#[inline(never)]
fn stray_bits() -> DecodeError {
    DecodeError::malformed("a presence bit without a field")
}
