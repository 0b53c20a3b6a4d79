//! The values of numbers, texts and data.

use super::{GivenUp, Parsed, Parser};
use crate::capnp::syntax::{Argument, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The value between parentheses: one without a name is itself, anything else are the fields of a
/// struct.
pub(super) fn parenthesized(mut arguments: Vec<Argument>, span: Span) -> Expression {
    let span = arguments
        .last()
        .map_or(span, |last| span.to(last.value.span));
    if arguments.len() == 1
        && let Some(only) = arguments.pop_if(|only| only.name.is_none())
    {
        return only.value;
    }
    let kind = ExpressionKind::Tuple(arguments);
    Expression { span, kind }
}

impl Parser<'_, '_> {
    pub(super) fn integer(&mut self, span: Span) -> Parsed<u64> {
        let text = self.slice(span);
        let hexadecimal = text.strip_prefix("0x").or(text.strip_prefix("0X"));
        let (digits, radix) = match hexadecimal {
            Some(digits) => (digits, 16),
            None if text.len() > 1 && text.starts_with('0') => (text, 8),
            None => (text, 10),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(value) => Ok(value),
            Err(_) => self.wrong(span, "this number has more than 64 bits, or is not octal"),
        }
    }

    pub(super) fn float(&mut self, span: Span) -> Parsed<f64> {
        match self.slice(span).parse() {
            Ok(value) => Ok(value),
            Err(_) => self.wrong(span, "this is not a number"),
        }
    }

    /// The bytes of a text in quotes.
    pub(super) fn text(&mut self, span: Span) -> Parsed<Vec<u8>> {
        let text = self.slice(span);
        let body = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        match unescape(body.unwrap_or_default().as_bytes()) {
            Some(bytes) => Ok(bytes),
            None => self.wrong(
                span,
                "a `\\` with something behind it that is not an escape",
            ),
        }
    }

    /// The bytes of `0x"…"`.
    pub(super) fn data(&mut self, span: Span) -> Parsed<Vec<u8>> {
        let body = self.slice(span).strip_prefix("0x\"");
        let body = body.and_then(|text| text.strip_suffix('"'));
        let digits: Option<Vec<u8>> = body
            .unwrap_or_default()
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .map(hex)
            .collect();
        match digits.as_deref().map(<[u8]>::as_chunks::<2>) {
            Some((pairs, [])) => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
            _ => self.wrong(span, "data are pairs of hexadecimal digits"),
        }
    }

    fn wrong<T>(&mut self, span: Span, message: &str) -> Parsed<T> {
        let error = Diagnostic::error("E2103", message).at(self.file, span, "");
        let help = "numbers are decimal, `0x…`, or octal with a leading 0; texts escape as in C";
        self.sink.push(error.help(help));
        Err(GivenUp)
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'x' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let next = rest.next_if(|next| (b'0'..=b'7').contains(next));
                    value = next.map_or(value, |next| value * 8 + u32::from(next - b'0'));
                }
                u8::try_from(value).ok()?
            }
            other @ (b'\\' | b'\'' | b'"' | b'?') => other,
            _ => return None,
        });
    }
    Some(bytes)
}
