//! Values that are text in both forms of JSON.

use crate::EncodeError;
use std::fmt::{self, Write as _};

/// Appends a string with its quotes.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => 0,
            _ => continue,
        };
        out.extend_from_slice(text.as_bytes().get(plain..index).unwrap_or_default());
        plain = index + 1;
        match short {
            0 => {
                let hex = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
            }
            _ => out.extend_from_slice(&[b'\\', short]),
        }
    }
    out.extend_from_slice(text.as_bytes().get(plain..).unwrap_or_default());
    out.push(b'"');
}

/// Formatted text goes into a buffer like any other.
struct Text<'a>(&'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Formats into a buffer, which cannot fail.
pub(crate) fn write(out: &mut Vec<u8>, text: fmt::Arguments<'_>) -> Result<(), EncodeError> {
    let written = Text(out).write_fmt(text);
    written.map_err(|_| EncodeError::Unsupported {
        what: "a date or time beyond the years 1 to 9999, or a duration beyond 10,000 years, in JSON",
    })
}
