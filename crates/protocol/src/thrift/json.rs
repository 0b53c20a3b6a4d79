//! As much of JSON as the head of a message needs.

use super::ProtocolError;

/// Reads the head of a complete message.
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    /// Returns the place of the next byte that is not a space.
    pub(crate) fn position(&mut self) -> usize {
        self.peek();
        self.at
    }

    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !byte.is_ascii_whitespace() {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), ProtocolError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(found) => Err(ProtocolError::malformed(format!(
                "`{}` where the head of a JSON message has `{}`",
                found.escape_ascii(),
                char::from(byte)
            ))),
            None => Err(ProtocolError::Truncated {
                what: "the head of a JSON message",
            }),
        }
    }

    pub(crate) fn integer(&mut self) -> Result<i64, ProtocolError> {
        self.peek();
        let rest = &self.text[self.at..];
        let len = rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'-')
            .count();
        self.at += len;
        std::str::from_utf8(&rest[..len])
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| ProtocolError::malformed("no number in the head of a JSON message"))
    }

    /// A string, its escapes resolved.
    pub(crate) fn string(&mut self, limit: usize) -> Result<String, ProtocolError> {
        self.expect(b'"')?;
        let mut value = Vec::new();
        loop {
            match self.byte()? {
                b'"' => break,
                b'\\' => self.escape(&mut value)?,
                byte => value.push(byte),
            }
            if value.len() > limit {
                return Err(ProtocolError::NameTooLong {
                    length: value.len() as u64,
                    limit,
                });
            }
        }
        String::from_utf8(value).map_err(|_| ProtocolError::InvalidName)
    }

    fn escape(&mut self, value: &mut Vec<u8>) -> Result<(), ProtocolError> {
        value.push(match self.byte()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let character = self.unicode()?;
                value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            byte @ (b'"' | b'\\' | b'/') => byte,
            _ => {
                return Err(ProtocolError::malformed(
                    "an escape that JSON does not have",
                ));
            }
        });
        Ok(())
    }

    fn unicode(&mut self) -> Result<char, ProtocolError> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..0xdc00 => {
                if (self.byte()?, self.byte()?) != (b'\\', b'u') {
                    return Err(ProtocolError::InvalidName);
                }
                match self.hex4()? {
                    second @ 0xdc00..0xe000 => {
                        0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    _ => return Err(ProtocolError::InvalidName),
                }
            }
            _ => first,
        };
        char::from_u32(code).ok_or(ProtocolError::InvalidName)
    }

    fn hex4(&mut self) -> Result<u32, ProtocolError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = char::from(self.byte()?).to_digit(16);
            value = value << 4 | digit.ok_or(ProtocolError::InvalidName)?;
        }
        Ok(value)
    }

    fn byte(&mut self) -> Result<u8, ProtocolError> {
        let byte = self.text.get(self.at).ok_or(ProtocolError::Truncated {
            what: "the head of a JSON message",
        })?;
        self.at += 1;
        Ok(*byte)
    }
}

/// Writes a string with its quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
