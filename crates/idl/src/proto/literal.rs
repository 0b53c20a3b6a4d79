//! The values of tokens: numbers, and the bytes of strings.

/// Why a string is not well-formed: bytes of the offending part, relative to the token.
pub(super) struct BadEscape {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) message: &'static str,
}

/// The bytes of a string token, with its quotes.
pub(super) fn unescape(token: &str) -> Result<Vec<u8>, BadEscape> {
    let inner = token
        .get(1..token.len().saturating_sub(1))
        .unwrap_or_default();
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        let bad = |length: usize, message| {
            let start = 1 + inner.len() - escape.len() - 1;
            let end = start + 1 + length;
            BadEscape {
                start,
                end,
                message,
            }
        };
        let used =
            one_escape(escape, &mut out).map_err(|(length, message)| bad(length, message))?;
        rest = &escape[used..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Writes the character of an escape, which follows a backslash, and returns the length of the
/// escape.
fn one_escape(escape: &str, out: &mut Vec<u8>) -> Result<usize, (usize, &'static str)> {
    let first = escape
        .chars()
        .next()
        .ok_or((0, "a backslash with nothing behind it"))?;
    let simple = match first {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' | '\'' | '"' | '?' => first as u8,
        '0'..='7' => {
            let (value, length) = digits(escape, 8, 3);
            out.push(value as u8);
            return Ok(length);
        }
        'x' | 'X' => {
            let (value, length) = digits(&escape[1..], 16, 2);
            if length == 0 {
                return Err((1, "`\\x` needs hexadecimal digits"));
            }
            out.push(value as u8);
            return Ok(1 + length);
        }
        'u' | 'U' => {
            let want = if first == 'u' { 4 } else { 8 };
            let (value, length) = digits(&escape[1..], 16, want);
            if length < want {
                return Err((
                    1 + length,
                    "`\\u` needs 4 hexadecimal digits, `\\U` needs 8",
                ));
            }
            let mut used = 1 + want;
            let mut value = value;
            if (0xd800..0xdc00).contains(&value) && escape[used..].starts_with("\\u") {
                let (low, length) = digits(&escape[used + 2..], 16, 4);
                if length == 4 && (0xdc00..0xe000).contains(&low) {
                    value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
                    used += 6;
                }
            }
            let character = char::from_u32(value).ok_or((used, "no such character in Unicode"))?;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(used);
        }
        _ => return Err((first.len_utf8(), "no such escape")),
    };
    out.push(simple);
    Ok(1)
}

/// Up to `most` digits, and how many there are.
fn digits(text: &str, radix: u32, most: usize) -> (u32, usize) {
    let mut value = 0u32;
    let mut length = 0;
    for digit in text.chars().take(most).map_while(|c| c.to_digit(radix)) {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        length += 1;
    }
    (value, length)
}

/// The value of an integer token; `None` where it has more than 64 bits.
pub(super) fn integer(token: &str) -> Option<u64> {
    match token.get(..2) {
        Some("0x" | "0X") => u64::from_str_radix(token.get(2..)?, 16).ok(),
        Some(_) if token.starts_with('0') => u64::from_str_radix(token, 8).ok(),
        _ => token.parse().ok(),
    }
}

/// The value of a number token, of either kind.
pub(super) fn float(token: &str) -> f64 {
    match integer(token) {
        Some(value) => value as f64,
        // Rust does not read a number that begins with its point.
        None => format!("0{token}").parse().unwrap_or(f64::INFINITY),
    }
}

/// Bytes as text: what C would write between quotes.
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(byte.into()),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let good: &[(&str, &[u8])] = &[
            (r#""plain""#, b"plain"),
            (
                r#"'\a\b\f\n\r\t\v\\\'\"\?'"#,
                b"\x07\x08\x0c\n\r\t\x0b\\'\"?",
            ),
            (r#""\0\12\1234""#, b"\0\x0aS4"),
            (r#""\x4\X41\xffz""#, b"\x04A\xffz"),
            (r#""\u00e9\U0001F600""#, "é😀".as_bytes()),
            (r#""\ud83d\ude00""#, "😀".as_bytes()),
            ("\"é\"", "é".as_bytes()),
        ];
        for (token, bytes) in good {
            assert_eq!(unescape(token).ok().as_deref(), Some(*bytes), "{token}");
        }
        for token in [
            r#""\q""#,
            r#""\x""#,
            r#""\u12""#,
            r#""\U00110000""#,
            r#""\é""#,
        ] {
            let bad = unescape(token).err();
            assert_eq!(
                bad.map(|bad| (bad.start, bad.end)),
                Some((1, token.len() - 1)),
                "{token}"
            );
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(integer("0"), Some(0));
        assert_eq!(integer("017"), Some(15));
        assert_eq!(integer("0xFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        assert_eq!(integer("18446744073709551616"), None);
        assert_eq!(
            [float(".5"), float("1."), float("1e3"), float("010")],
            [0.5, 1.0, 1000.0, 8.0]
        );
    }
}
