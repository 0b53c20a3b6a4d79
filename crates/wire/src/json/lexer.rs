//! The tokens of JSON, as Thrift's JSON and the plain one have them.

use crate::input::{Input, SHARED, truncated};
use crate::{Budget, DecodeError, DecodeErrorKind, block};
use std::borrow::Cow;

/// Unread JSON, of which tokens are taken off the front.
pub(crate) struct Lexer<'de> {
    pub(crate) input: Input<'de>,
}

impl<'de> Lexer<'de> {
    pub(crate) fn new(input: &'de [u8]) -> Self {
        Lexer {
            input: Input::new(input),
        }
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Result<u8, DecodeError> {
        self.input.set_rest(self.input.rest().trim_ascii_start());
        self.input.rest().first().copied().ok_or_else(truncated)
    }

    pub(crate) fn expect(&mut self, wanted: u8) -> Result<(), DecodeError> {
        let found = self.peek()?;
        if found != wanted {
            return Err(unexpected(wanted, found));
        }
        self.input.byte().map(|_| ())
    }

    /// Takes this byte if it comes next.
    pub(crate) fn takes(&mut self, wanted: u8) -> Result<bool, DecodeError> {
        let comes = self.peek()? == wanted;
        if comes {
            self.input.byte()?;
        }
        Ok(comes)
    }

    /// A string that the caller copies; the budget pays for the copy.
    pub(crate) fn text(&mut self, budget: &mut Budget) -> Result<Cow<'de, str>, DecodeError> {
        let text = self.quoted(budget)?;
        budget.string(text.len())?;
        if let Cow::Borrowed(text) = text {
            budget.block(text.len())?;
        }
        Ok(text)
    }

    /// A string. One without escapes borrows from the input; for others the budget pays for the
    /// copy.
    pub(crate) fn quoted(&mut self, budget: &mut Budget) -> Result<Cow<'de, str>, DecodeError> {
        self.expect(b'"')?;
        let rest = self.input.rest();
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let end = end.ok_or_else(truncated)?;
        let plain = utf8(self.input.take(end)?)?;
        if self.input.byte()? == b'"' {
            return Ok(Cow::Borrowed(plain));
        }
        // Escapes take more bytes in the input than in the text.
        let len = plain.len() + escaped_len(self.input.rest())?;
        budget.allocate(block(len) + SHARED)?;
        let mut text = String::with_capacity(len);
        text.push_str(plain);
        loop {
            // After a backslash.
            text.push(self.escape()?);
            let rest = self.input.rest();
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            text.push_str(utf8(self.input.take(end.ok_or_else(truncated)?)?)?);
            if self.input.byte()? == b'"' {
                return Ok(Cow::Owned(text));
            }
        }
    }

    /// The character after a backslash.
    fn escape(&mut self) -> Result<char, DecodeError> {
        Ok(match self.input.byte()? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            byte @ (b'"' | b'\\' | b'/') => byte.into(),
            b'u' => {
                let mut unit = self.hex()?;
                if (0xd800..0xdc00).contains(&unit) {
                    // Half of a pair: the other half must follow.
                    if self.input.array()? != *b"\\u" {
                        return Err(DecodeError::malformed("half of a surrogate pair"));
                    }
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(DecodeError::malformed("half of a surrogate pair"));
                    }
                    unit = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                }
                char::from_u32(unit)
                    .ok_or_else(|| DecodeError::malformed("half of a surrogate pair"))?
            }
            _ => return Err(DecodeError::malformed("an unknown escape in a string")),
        })
    }

    fn hex(&mut self) -> Result<u32, DecodeError> {
        let digits: [u8; 4] = self.input.array()?;
        digits.iter().try_fold(0, |value, digit| {
            let digit = char::from(*digit).to_digit(16);
            let digit = digit.ok_or_else(|| DecodeError::malformed("a \\u without four digits"))?;
            Ok(value << 4 | digit)
        })
    }

    /// The characters of a number, without its quotes if it has any.
    pub(crate) fn number(&mut self, budget: &mut Budget) -> Result<&'de str, DecodeError> {
        if self.peek()? == b'"' {
            return match self.quoted(budget)? {
                Cow::Borrowed(text) => Ok(text.trim_ascii()),
                Cow::Owned(_) => Err(DecodeError::malformed("an escape in a number")),
            };
        }
        self.bare_number()
    }

    /// The characters of a number without quotes.
    pub(crate) fn bare_number(&mut self) -> Result<&'de str, DecodeError> {
        self.peek()?;
        let rest = self.input.rest();
        // Letters are for exponents, and for `nan` and `inf`, which Python writes without quotes.
        let numeric = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let len = rest.iter().take_while(|byte| numeric(byte)).count();
        utf8(self.input.take(len)?)
    }
}

/// Returns the number of bytes of a string after a backslash.
fn escaped_len(rest: &[u8]) -> Result<usize, DecodeError> {
    let mut escaped = true;
    let end = rest.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.ok_or_else(truncated)
}

fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeErrorKind::InvalidUtf8.into())
}

#[cold]
pub(crate) fn unexpected(wanted: u8, found: u8) -> DecodeError {
    let (wanted, found) = (char::from(wanted), char::from(found));
    DecodeError::malformed(format!("{found:?} where {wanted:?} should be"))
}

#[cold]
pub(crate) fn not_a_number(text: &str) -> DecodeError {
    let shown: String = text.chars().take(24).collect();
    DecodeError::malformed(format!("{shown:?} is not a number that fits here"))
}
