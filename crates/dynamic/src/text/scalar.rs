//! Numbers and strings as the text has them.

/// The bytes between the quotes of a string, as the text has them. `all`: also those that are no
/// ASCII are escaped.
pub(super) fn quote(bytes: &[u8], all: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in bytes {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'"' | b'\\' | b'\'' => out.extend_from_slice(&[b'\\', *byte]),
            0x20..=0x7e => out.push(*byte),
            0x80..=0xff if !all => out.push(*byte),
            _ => {
                let octal = [byte >> 6, byte >> 3 & 7, byte & 7];
                out.push(b'\\');
                out.extend(octal.map(|digit| b'0' + digit));
            }
        }
    }
    out.push(b'"');
}

/// Appends the bytes that the text between two quotes stands for.
pub(super) fn unescape(text: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        rest = one_escape(escape, out)?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(())
}

/// Reads what follows a backslash, and returns what is behind it.
fn one_escape<'t>(escape: &'t str, out: &mut Vec<u8>) -> Result<&'t str, &'static str> {
    let mut letters = escape.chars();
    let byte = match letters.next().ok_or("a backslash at the end of a string")? {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '?' => b'?',
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '0'..='7' => {
            let (value, rest) = digits(escape, 8, 3);
            let byte = value.and_then(|value| u8::try_from(value).ok());
            out.push(byte.ok_or("an octal escape beyond \\377")?);
            return Ok(rest);
        }
        'x' | 'X' => {
            let (value, rest) = digits(letters.as_str(), 16, 2);
            let byte = value.and_then(|value| u8::try_from(value).ok());
            out.push(byte.ok_or("a `\\x` without hexadecimal digits")?);
            return Ok(rest);
        }
        'u' => return unicode(letters.as_str(), 4, out),
        'U' => return unicode(letters.as_str(), 8, out),
        _ => return Err("an unknown escape in a string"),
    };
    out.push(byte);
    Ok(letters.as_str())
}

fn unicode<'t>(text: &'t str, count: usize, out: &mut Vec<u8>) -> Result<&'t str, &'static str> {
    const SHORT: &str = "a `\\u` without 4 hexadecimal digits, or a `\\U` without 8";
    let (value, rest) = digits(text, 16, count);
    let value = value.filter(|_| text.len() - rest.len() == count);
    let letter = char::from_u32(value.ok_or(SHORT)?);
    let letter = letter.ok_or("an escape that is no character of Unicode")?;
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(rest)
}

/// The number of at most so many digits, and what is behind it. `None` without a digit.
fn digits(text: &str, radix: u32, most: usize) -> (Option<u32>, &str) {
    let is_digit = |letter: &char| letter.is_digit(radix);
    let count = text.chars().take(most).take_while(is_digit).count();
    let (number, rest) = text.split_at_checked(count).unwrap_or(("", text));
    (u32::from_str_radix(number, radix).ok(), rest)
}

/// An integer of the text without its sign: decimal, hexadecimal behind `0x`, octal behind `0`.
pub(super) fn integer(token: &str) -> Option<u64> {
    let hexadecimal = token.strip_prefix("0x").or(token.strip_prefix("0X"));
    let (digits, radix) = match (hexadecimal, token.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (token, 10),
    };
    // Signs are tokens of their own.
    let bare = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| bare)
}

/// A number of the text without its sign, as Rust reads it.
pub(super) fn float(token: &str) -> Option<&str> {
    let named = ["inf", "infinity", "nan"];
    if named.iter().any(|name| token.eq_ignore_ascii_case(name)) {
        return Some(token);
    }
    let number = token.strip_suffix(['f', 'F']).unwrap_or(token);
    let begins = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let whole = number.bytes().all(|byte| byte.is_ascii_digit());
    let octal = whole && number.len() > 1 && number.starts_with('0');
    (begins && !octal).then_some(number)
}
