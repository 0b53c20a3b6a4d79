//! Base 128 integers and the zigzag form, as compact and protobuf share them.

use crate::DecodeError;
use crate::input::{Input, truncated};

/// Bytes of the longest varint.
const MOST: usize = 10;

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

/// Builds the varint aside, so that the vector grows once.
fn write_long(out: &mut Vec<u8>, mut value: u64) {
    let mut buffer = [0; MOST];
    let mut len = MOST;
    for (index, byte) in buffer.iter_mut().enumerate() {
        if value < 0x80 {
            *byte = value as u8;
            len = index + 1;
            break;
        }
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    out.extend_from_slice(&buffer[..len]);
}

/// How many bytes the varint takes.
#[inline]
#[cfg(test)]
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

fn read_long(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    let rest = input.rest();
    let mut value = 0u64;
    for (index, byte) in rest.iter().take(MOST).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            if index == MOST - 1 && *byte > 1 {
                return Err(overflow());
            }
            input.set_rest(&rest[index + 1..]);
            return Ok(value);
        }
    }
    match rest.len() {
        MOST.. => Err(overflow()),
        _ => Err(truncated()),
    }
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
            let mut input = Input::new(&out);
            assert_eq!(read(&mut input).unwrap(), value);
            assert_eq!(input.left(), 0);
            for end in 0..out.len() {
                assert!(read(&mut Input::new(&out[..end])).is_err());
            }
        }
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(read(&mut Input::new(&beyond)).is_err());
        assert!(read(&mut Input::new(&[0x80; 11])).is_err());
        for value in [0, 1, -1, 2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
