//! Base 128 integers and the zigzag form, as compact and protobuf share them.

use crate::DecodeError;
use crate::input::{Input, truncated};

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

/// Bit 7 of each byte of a word: more bytes follow.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Spreads the groups of seven bits over a word by halves, without a branch for each.
#[inline(never)]
fn write_long(out: &mut Vec<u8>, value: u64) {
    let word = (value & 0x0fff_ffff) | (value & 0x00ff_ffff_f000_0000) << 4;
    let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x0fff_c000_0fff_c000) << 2;
    let word = (word & 0x007f_007f_007f_007f) | (word & 0x3f80_3f80_3f80_3f80) << 1;
    if value >> 56 != 0 {
        out.extend_from_slice(&(word | MORE).to_le_bytes());
        return write(out, value >> 56);
    }
    let len = len(value);
    let word = word | (MORE & ((1 << (8 * (len - 1))) - 1));
    let end = out.len() + len;
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
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

/// Takes a word where there is one and closes its gaps by halves, without a branch for each byte.
#[inline(never)]
fn read_long(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    let Some((bytes, rest)) = input.rest().split_first_chunk() else {
        return read_last(input);
    };
    let word = u64::from_le_bytes(*bytes);
    let last = !word & MORE;
    // The lowest of these bits ends the varint; where there is none, it is longer than a word.
    let groups = word & (last ^ last.wrapping_sub(1)) & !MORE;
    let groups = (groups & 0x007f_007f_007f_007f) | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let groups = (groups & 0x0000_3fff_0000_3fff) | (groups & 0x3fff_0000_3fff_0000) >> 2;
    let value = (groups & 0x0fff_ffff) | (groups & 0x0fff_ffff_0000_0000) >> 4;
    if last == 0 {
        let (high, rest) = read_high(rest)?;
        input.set_rest(rest);
        return Ok(value | high << 56);
    }
    let len = last.trailing_zeros() as usize / 8 + 1;
    input.set_rest(input.rest().get(len..).unwrap_or_default());
    Ok(value)
}

/// The upper eight bits of a varint of nine or ten bytes, and what follows it. Negative numbers of protobuf have them.
#[inline]
fn read_high(bytes: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    match bytes {
        [ninth @ 0..0x80, rest @ ..] => Ok((u64::from(*ninth), rest)),
        [ninth, tenth @ 0..2, rest @ ..] => {
            Ok((u64::from(ninth & 0x7f) | u64::from(*tenth) << 7, rest))
        }
        [_, _, ..] => Err(overflow()),
        _ => Err(truncated()),
    }
}

/// Where less than a word is left of the input.
fn read_last(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    let rest = input.rest();
    let mut value = 0u64;
    for (index, byte) in rest.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            input.set_rest(rest.get(index + 1..).unwrap_or_default());
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
