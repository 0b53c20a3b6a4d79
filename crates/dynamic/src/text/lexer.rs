//! The tokens of the text format.

use super::{TextError, scalar};

type Result<T> = std::result::Result<T, TextError>;

/// Unread text, of which tokens are taken off the front.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over white space and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
            let behind = rest.trim_start_matches(blank);
            let behind = match behind.strip_prefix('#') {
                Some(comment) => comment.split_once('\n').map_or("", |(_, rest)| rest),
                None => behind,
            };
            if behind.len() == rest.len() {
                return;
            }
            self.at = self.text.len() - behind.len();
        }
    }

    /// The first byte of the next token; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.space();
        self.rest().bytes().next()
    }

    /// Takes this mark if it comes next.
    pub(super) fn takes(&mut self, mark: u8) -> bool {
        let comes = self.peek() == Some(mark);
        self.at += usize::from(comes);
        comes
    }

    pub(super) fn expect(&mut self, mark: u8) -> Result<()> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.error(format!("expected {:?}", char::from(mark)))),
        }
    }

    /// A word or a number: letters, digits, points, and signs of exponents. Empty where something
    /// else comes.
    pub(super) fn token(&mut self) -> &'t str {
        self.space();
        let rest = self.rest();
        let numeric = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
        let mut before = ' ';
        let end = rest.find(|c: char| {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
            before = c;
            let part = c.is_ascii_alphanumeric() || c == '_' || numeric && (c == '.' || sign);
            !part
        });
        let token = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += token.len();
        token
    }

    /// The name in brackets, of which the first has been read.
    pub(super) fn bracketed(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            let token = self.token();
            name.push_str(token);
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(name);
                }
                Some(mark @ (b'.' | b'/' | b'-' | b'%' | b'~' | b'!' | b'$' | b'&' | b'('))
                | Some(mark @ (b')' | b'*' | b'+' | b',' | b';' | b'=')) => {
                    self.at += 1;
                    name.push(char::from(mark));
                }
                _ => return Err(self.error("expected the name of an extension or a type")),
            }
        }
    }

    /// The bytes of one or several strings, one behind the other.
    pub(super) fn strings(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut some = false;
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            some = true;
            let text = self.quoted(quote)?;
            scalar::unescape(text, &mut bytes).map_err(|problem| self.error(problem))?;
        }
        match some {
            true => Ok(bytes),
            false => Err(self.error("expected a string")),
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<&'t str> {
        let inside = self.rest().get(1..).unwrap_or_default();
        let mut escaped = false;
        for (at, byte) in inside.bytes().enumerate() {
            match byte {
                b'\n' => break,
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                _ if byte == quote => {
                    self.at += at + 2;
                    return Ok(inside.get(..at).unwrap_or_default());
                }
                _ => {}
            }
        }
        Err(self.error("a string that does not end in its line"))
    }

    /// An error at the place that has been reached.
    #[cold]
    pub(super) fn error(&self, problem: impl Into<String>) -> TextError {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        TextError {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            problem: problem.into(),
        }
    }
}
