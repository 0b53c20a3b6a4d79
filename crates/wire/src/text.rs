//! Bytes as text. Most texts are short and ASCII; the general check takes longer for them than to
//! copy them.
#![allow(unsafe_code)]

/// From this length on the general check uses vectors.
const LONG: usize = 64;

/// The text that these bytes are, if they are UTF-8.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.len() < LONG && is_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Some(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Looks at eight bytes at a time; at the last ones again, so that none is left.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks();
    let rest = match bytes.last_chunk() {
        Some(last) => u64::from_ne_bytes(*last),
        None => rest.iter().fold(0, |all, byte| all | u64::from(*byte)),
    };
    let all = words
        .iter()
        .fold(rest, |all, word| all | u64::from_ne_bytes(*word));
    all & HIGH == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_decides() {
        for length in 0..2 * LONG {
            let ascii = vec![b'a'; length];
            assert_eq!(text(&ascii).map(str::as_bytes), Some(&ascii[..]));
            for at in 0..length {
                let mut bytes = ascii.clone();
                bytes[at] = 0x80;
                assert_eq!(text(&bytes), None, "{at} of {length}");
            }
        }
    }

    #[test]
    fn what_std_takes() {
        for bytes in ["é", "añ", "日本語", "a\u{10ffff}b", "\u{7f}\0"].map(str::as_bytes) {
            for length in 0..=bytes.len() {
                let (some, _) = bytes.split_at(length);
                assert_eq!(text(some), std::str::from_utf8(some).ok(), "{some:?}");
            }
        }
    }
}
