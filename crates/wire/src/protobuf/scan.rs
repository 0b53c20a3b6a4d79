//! Tags, and the way past values of any type.

use super::{DELIMITED, END_GROUP, FIXED32, FIXED64, GROUP, MAX, VARINT};
use crate::input::Input;
use crate::varint;
use crate::{Budget, DecodeError, DecodeErrorKind};

#[inline]
pub(super) fn tag(input: &mut Input<'_>) -> Result<(u32, u8), DecodeError> {
    let tag = varint::read(input)?;
    let number = u32::try_from(tag >> 3).unwrap_or(0);
    match i32::try_from(number) {
        Ok(1..=MAX) => Ok((number, (tag & 7) as u8)),
        _ => Err(DecodeError::malformed(
            "a field number that protobuf does not have",
        )),
    }
}

/// The bytes of a message from a value on, which may come several times.
#[derive(Clone, Copy)]
pub(super) struct Found<'de> {
    pub(super) first: &'de [u8],
    pub(super) last: &'de [u8],
}

impl Found<'_> {
    pub(super) fn is_repeated(&self) -> bool {
        self.first.len() != self.last.len()
    }
}

/// Finds the values of the wanted numbers and types in a message.
pub(super) fn scan<'de>(
    message: &Input<'de>,
    wanted: [(u32, u8); 2],
    budget: &mut Budget,
) -> Result<[Option<Found<'de>>; 2], DecodeError> {
    let mut input = message.clone();
    let mut found = [None; 2];
    while !input.rest().is_empty() {
        let tag = tag(&mut input)?;
        for (found, _) in found.iter_mut().zip(wanted).filter(|(_, w)| *w == tag) {
            let last = input.rest();
            let first = found.map_or(last, |found: Found<'_>| found.first);
            *found = Some(Found { first, last });
        }
        skip(&mut input, tag.0, tag.1, budget)?;
    }
    Ok(found)
}

/// Passes over a value, without allocating; groups as deep as the budget allows.
pub(super) fn skip(
    input: &mut Input<'_>,
    number: u32,
    wire_type: u8,
    budget: &mut Budget,
) -> Result<(), DecodeError> {
    match wire_type {
        VARINT => varint::read(input).map(|_| ()),
        FIXED32 => input.array::<4>().map(|_| ()),
        FIXED64 => input.array::<8>().map(|_| ()),
        DELIMITED => {
            let length = varint::read(input)?;
            let len = usize::try_from(length).unwrap_or(usize::MAX);
            input.take(len).map(|_| ())
        }
        GROUP => skip_group(input, number, budget).map(|_| ()),
        END_GROUP => Err(stray_end()),
        _ => Err(DecodeErrorKind::InvalidType { found: wire_type }.into()),
    }
}

/// Passes over a group and the tag at its end; returns how many bytes are before that tag.
pub(super) fn skip_group(
    input: &mut Input<'_>,
    number: u32,
    budget: &mut Budget,
) -> Result<usize, DecodeError> {
    budget.enter()?;
    let start = input.rest().len();
    loop {
        let left = input.rest().len();
        match tag(input)? {
            (end, END_GROUP) if end == number => {
                budget.leave();
                return Ok(start - left);
            }
            (_, END_GROUP) => return Err(stray_end()),
            (number, wire_type) => skip(input, number, wire_type, budget)?,
        }
    }
}

#[cold]
pub(super) fn stray_end() -> DecodeError {
    DecodeError::malformed("the end of a group that has not begun")
}
