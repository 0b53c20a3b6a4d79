//! Base 128 integers and the zigzag form, as compact and protobuf share them.

use crate::input::{Input, truncated};
use crate::{DecodeError, layout};
use std::mem;

/// How many bytes [`put`] writes at once, of which those that the varint does not need are written
/// again.
pub(crate) const STEP: usize = 8;

/// How many bytes a varint takes at most.
pub(crate) const LONGEST: usize = 10;

/// Bit 7 of each byte of a word: more bytes follow.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Appends a varint.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if value < 0x4000 {
        out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
    } else {
        write_long(out, value);
    }
}

#[inline(never)]
fn write_long(out: &mut Vec<u8>, value: u64) {
    match form(value) {
        Some((word, len)) => {
            let end = out.len() + len;
            out.extend_from_slice(&word.to_le_bytes());
            out.truncate(end);
        }
        None => {
            out.extend_from_slice(&(spread(value) | MORE).to_le_bytes());
            write(out, value >> 56);
        }
    }
}

/// Writes a varint to the front of the room, which then begins behind it. False where there is less
/// room than a [`STEP`], or than the value needs.
#[inline]
pub(crate) fn put(value: u64, room: &mut &mut [u8]) -> bool {
    let Some((word, len)) = form(value) else {
        return put_longest(value, room);
    };
    let Some(place) = room.first_chunk_mut() else {
        return false;
    };
    *place = word.to_le_bytes();
    let Some((_, rest)) = mem::take(room).split_at_mut_checked(len) else {
        return false;
    };
    *room = rest;
    true
}

/// Writes a number of more than eight bytes.
#[inline(never)]
fn put_longest(value: u64, room: &mut &mut [u8]) -> bool {
    let (low, high) = (spread(value) | MORE, value >> 56);
    let [first, second] = [high as u8 | 0x80, (high >> 7) as u8];
    layout::put(low.to_le_bytes(), room)
        && match high {
            0..0x80 => layout::put([high as u8], room),
            _ => layout::put([first, second], room),
        }
}

/// The bytes of a varint, the first one lowest, and how many they are; `None` for more than a word.
/// Branches for the lengths of most, which the processor foresees.
#[inline]
fn form(value: u64) -> Option<(u64, usize)> {
    let two = (value & 0x7f) | (value << 1 & 0x7f00) | 0x80;
    let three = two | (value << 2 & 0x7f_0000) | 0x8000;
    match value {
        0..0x80 => Some((value, 1)),
        0x80..0x4000 => Some((two, 2)),
        0x4000..0x20_0000 => Some((three, 3)),
        0x20_0000..0x1000_0000 => Some((three | (value << 3 & 0x7f00_0000) | 0x80_0000, 4)),
        0x1000_0000..0x100_0000_0000_0000 => {
            let len = len(value);
            Some((spread(value) | (MORE & ((1 << (8 * (len - 1))) - 1)), len))
        }
        _ => None,
    }
}

/// Spreads the lower eight groups of seven bits over a word by halves, without a branch for each.
#[inline]
fn spread(value: u64) -> u64 {
    let word = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x0fff_c000_0fff_c000) << 2;
    (word & 0x007f_007f_007f_007f) | (word & 0x3f80_3f80_3f80_3f80) << 1
}

/// How many bytes the varint takes.
#[inline]
pub(crate) fn len(value: u64) -> usize {
    // Bits in groups of seven, at least one: 9/64 is 1/7 for all widths that occur.
    ((64 - (value | 1).leading_zeros() as usize) * 9 + 64) / 64
}

/// Reads a varint of up to 64 bits.
#[inline]
pub(crate) fn read(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    match input.rest() {
        [first, rest @ ..] if *first < 0x80 => {
            input.set_rest(rest);
            Ok(u64::from(*first))
        }
        _ => read_long(input),
    }
}

#[inline(never)]
fn read_long(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    let mut rest = input.rest();
    match take(&mut rest) {
        Some(value) => {
            input.set_rest(rest);
            Ok(value)
        }
        None => read_slowly(input),
    }
}

/// Takes a varint from the front of the bytes, which then begin behind it. `None` where there is
/// none, or less than a [`STEP`] is left. Branches for the lengths of most, which the processor
/// foresees, so that it begins with what follows.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let two = (word & 0x7f) | (word & 0x7f00) >> 1;
    let three = two | (word & 0x7f_0000) >> 2;
    let (value, len) = match () {
        () if word & 0x80 == 0 => (word & 0x7f, 1),
        () if word & 0x8000 == 0 => (two, 2),
        () if word & 0x80_0000 == 0 => (three, 3),
        () if word & 0x8000_0000 == 0 => (three | (word & 0x7f00_0000) >> 3, 4),
        () => match gather(word) {
            (value, Some(len)) => (value, len),
            (value, None) => return take_high(value, bytes),
        },
    };
    *bytes = bytes.get(len..)?;
    Some(value)
}

/// The upper eight bits of a varint of nine or ten bytes. Negative numbers of protobuf have them.
#[inline(never)]
fn take_high(low: u64, bytes: &mut &[u8]) -> Option<u64> {
    let (high, rest) = match bytes.get(STEP..)? {
        [ninth @ 0..0x80, rest @ ..] => (u64::from(*ninth), rest),
        [ninth, tenth @ 0..2, rest @ ..] => {
            (u64::from(ninth & 0x7f) | u64::from(*tenth) << 7, rest)
        }
        _ => return None,
    };
    *bytes = rest;
    Some(low | high << 56)
}

/// Closes the gaps of a word by halves, without a branch for each byte. How many bytes of it are
/// the varint's; `None` where it is longer.
#[inline]
fn gather(word: u64) -> (u64, Option<usize>) {
    let last = !word & MORE;
    // The lowest of these bits ends the varint.
    let groups = word & (last ^ last.wrapping_sub(1)) & !MORE;
    let groups = (groups & 0x007f_007f_007f_007f) | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let groups = (groups & 0x0000_3fff_0000_3fff) | (groups & 0x3fff_0000_3fff_0000) >> 2;
    let value = (groups & 0x0fff_ffff) | (groups & 0x0fff_ffff_0000_0000) >> 4;
    let len = last.trailing_zeros() as usize / 8 + 1;
    (value, (last != 0).then_some(len))
}

/// Byte by byte: where less than a word is left of the input, or something is wrong.
#[inline(never)]
fn read_slowly(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    let rest = input.rest();
    let mut value = 0;
    for (index, byte) in rest.iter().enumerate().take(LONGEST) {
        if index == LONGEST - 1 && *byte > 1 {
            return Err(overflow());
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            input.pass(index + 1);
            return Ok(value);
        }
    }
    Err(truncated())
}

#[cold]
#[inline(never)]
pub(crate) fn overflow() -> DecodeError {
    DecodeError::malformed("a varint of more bits than its type has")
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let mut values: Vec<u64> = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).collect();
        values.push(u64::MAX);
        for value in values {
            let mut out = Vec::new();
            write(&mut out, value);
            assert_eq!(out.len(), len(value), "{value}");
            let mut room = [0xaa; LONGEST];
            let mut left = &mut room[..];
            assert!(put(value, &mut left));
            assert_eq!(LONGEST - left.len(), out.len(), "{value}");
            assert_eq!(room[..out.len()], out);
            let mut taken = &room[..];
            assert_eq!(take(&mut taken), Some(value));
            assert_eq!(taken.len(), LONGEST - out.len());
            let longer = [&out[..], &[0xff; 9]].concat();
            for (bytes, left) in [(&out, 0), (&longer, 9)] {
                let mut input = Input::new(bytes);
                assert_eq!(read(&mut input).unwrap(), value);
                assert_eq!(input.rest().len(), left);
            }
            for end in 0..out.len() {
                assert!(read(&mut Input::new(&out[..end])).is_err());
            }
        }
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(read(&mut Input::new(&beyond)).is_err());
        assert_eq!(take(&mut &beyond[..]), None);
        assert!(!put(1, &mut &mut [0; STEP - 1][..]) & !put(u64::MAX, &mut &mut [0; STEP][..]));
        assert!(read(&mut Input::new(&[0x80; 11])).is_err());
        // More bytes than are needed say the same.
        let padded = [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0];
        for len in 2..=padded.len() {
            let mut bytes = padded[..len].to_vec();
            bytes[len - 1] = 0;
            assert_eq!(read(&mut Input::new(&bytes)).unwrap(), 1);
        }
        for value in [0, 1, -1, 2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
