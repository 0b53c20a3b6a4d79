//! Options: names, and values in text format.

use super::{MAX_VALUE_DEPTH, Parsed, Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::proto::lexer::Tok;
use crate::proto::literal;
use crate::proto::syntax::{Entry, Integer, NamePart, Notation, Pending, Value, ValueKind};
use crate::source::Span;

/// The number of an option before its own is known: the field `uninterpreted_option`.
const UNINTERPRETED: i32 = 999;

impl Parser<'_> {
    /// `option name = value;`
    pub(super) fn option_statement(&mut self, tag: i32) -> Parsed<()> {
        self.located(&[tag], |p, _| p.one_option(tag, true))
    }

    /// `[name = value, …]`; `special` parses what only looks like an option.
    pub(super) fn bracketed_options(
        &mut self,
        tag: i32,
        mut special: impl FnMut(&mut Self) -> Option<Parsed<()>>,
    ) -> Parsed<()> {
        let path = [self.path.as_slice(), &[tag]].concat();
        let place = self.positions.add(&path, self.span());
        self.expect(Tok::OpenBracket, "`[`")?;
        loop {
            match special(self) {
                Some(result) => result?,
                None => {
                    self.path.push(tag);
                    let result = self.one_option(tag, false);
                    self.path.pop();
                    result?;
                }
            }
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        self.expect(Tok::CloseBracket, "`,` or `]`")?;
        self.end_at_previous(place);
        Ok(())
    }

    /// The path ends with the field `options`.
    fn one_option(&mut self, tag: i32, statement: bool) -> Parsed<()> {
        let count = self.options.len() as i32;
        let place = self.positions.add(
            &[self.path.as_slice(), &[UNINTERPRETED, count]].concat(),
            self.span(),
        );
        if statement {
            self.advance();
        }
        let mut name = vec![self.name_part()?];
        while self.eat(Tok::Dot).is_some() {
            name.push(self.name_part()?);
        }
        self.expect(Tok::Equals, "`=`")?;
        let start = self.at;
        let value = self.option_value().inspect_err(|_| {
            // Recovery skips braces as a whole.
            if self.lexed.tokens[start].tok == Tok::OpenBrace {
                self.at = start;
            }
        })?;
        if statement {
            self.end_of(Tok::Semicolon, "`;`", Some(place))?;
        }
        self.end_at_previous(place);
        let owner = self.path[..self.path.len() - 1].to_vec();
        self.options.push(Pending {
            owner,
            tag,
            name,
            value,
            place,
        });
        Ok(())
    }

    fn name_part(&mut self) -> Parsed<NamePart> {
        let start = self.span();
        let extension = self.eat(Tok::OpenParen).is_some();
        let text = match extension {
            true => {
                let name = self.dotted("the name of an extension", true)?;
                self.expect(Tok::CloseParen, "`)`")?;
                name
            }
            false => self.name("the name of an option")?,
        };
        Ok(NamePart {
            text,
            extension,
            span: start.to(self.previous()),
        })
    }

    fn option_value(&mut self) -> Parsed<Value> {
        match self.tok() {
            Tok::OpenBrace => {
                // The depth of a value is measured by itself.
                let around = std::mem::take(&mut self.depth);
                let value = self.message_value();
                self.depth = around;
                value
            }
            Tok::OpenBracket | Tok::Less => {
                let help =
                    "only inside braces; an option that repeats is written once for each value";
                Err(self.unexpected("a value", help))
            }
            Tok::Plus => Err(self.unexpected("a value", "remove the sign")),
            _ => self.scalar_value(Notation::Statement),
        }
    }

    fn scalar_value(&mut self, notation: Notation) -> Parsed<Value> {
        let start = self.span();
        let negative = self.eat(Tok::Minus).is_some();
        let token = self.slice(self.span());
        let kind = match self.tok() {
            Tok::Ident if negative => match notation.special(token) {
                // In statements, NaN has no sign.
                Some(value) if value.is_nan() && notation == Notation::Statement => {
                    ValueKind::Float(value)
                }
                Some(value) => ValueKind::Float(-value),
                None => return Err(self.unexpected("a number after `-`", "")),
            },
            Tok::Ident => ValueKind::Word(token.to_owned()),
            Tok::Int => match literal::integer(token).map(i128::from) {
                Some(value) => ValueKind::Int(Integer {
                    value: if negative { -value } else { value },
                    negative,
                    decimal: token == "0" || !token.starts_with('0'),
                }),
                None => ValueKind::Float(literal::float(token) * if negative { -1.0 } else { 1.0 }),
            },
            Tok::Float => {
                ValueKind::Float(literal::float(token) * if negative { -1.0 } else { 1.0 })
            }
            Tok::Str if !negative => {
                let bytes = self.bytes("a string")?;
                let span = start.to(self.previous());
                return Ok(Value {
                    kind: ValueKind::Text(bytes),
                    span,
                });
            }
            _ => return Err(self.unexpected("a value", "")),
        };
        self.advance();
        Ok(Value {
            kind,
            span: start.to(self.previous()),
        })
    }

    /// `{ field: value … }`, also with `<` and `>`.
    fn message_value(&mut self) -> Parsed<Value> {
        let open = self.advance();
        let close = match self.slice(open) {
            "<" => Tok::Greater,
            _ => Tok::CloseBrace,
        };
        self.deeper(MAX_VALUE_DEPTH, |p| {
            let mut entries = Vec::new();
            while p.eat(close).is_none() {
                if p.tok() == Tok::End {
                    let error = Diagnostic::error("E1202", "this value is not closed");
                    let error = error.at(p.id, open, "opened here").help("close it");
                    return Err(p.syntax_error(error));
                }
                entries.push(p.entry()?);
                if p.eat(Tok::Comma).is_none() {
                    p.eat(Tok::Semicolon);
                }
            }
            let kind = ValueKind::Message(entries);
            Ok(Value {
                kind,
                span: open.to(p.previous()),
            })
        })
    }

    fn entry(&mut self) -> Parsed<Entry> {
        let start = self.span();
        let mut any = None;
        let bracketed = self.eat(Tok::OpenBracket).is_some();
        let text = match bracketed {
            false => self.name("the name of a field")?,
            true => {
                let mut name = self.dotted("the name of an extension", false)?;
                while self.eat(Tok::Slash).is_some() {
                    any = Some(name);
                    name = self.dotted("the name of a message", false)?;
                }
                self.expect(Tok::CloseBracket, "`]`")?;
                name
            }
        };
        let span = start.to(self.previous());
        let name = NamePart {
            text,
            extension: bracketed && any.is_none(),
            span,
        };
        let colon = self.eat(Tok::Colon).is_some();
        let value = match self.tok() {
            Tok::OpenBrace | Tok::Less => self.message_value()?,
            Tok::OpenBracket => self.list_value(colon)?,
            _ if colon => self.scalar_value(Notation::TextFormat)?,
            _ => return Err(self.unexpected("`:` and a value", "")),
        };
        Ok(Entry { name, any, value })
    }

    fn list_value(&mut self, colon: bool) -> Parsed<Value> {
        let open = self.advance();
        let mut values = Vec::new();
        while self.eat(Tok::CloseBracket).is_none() {
            let value = match self.tok() {
                Tok::OpenBrace | Tok::Less => self.message_value()?,
                _ if !colon => {
                    return Err(self.unexpected("a message", "scalars need `:` before the list"));
                }
                _ => self.scalar_value(Notation::TextFormat)?,
            };
            values.push(value);
            let comma = self.eat(Tok::Comma).is_some();
            if comma == (self.tok() == Tok::CloseBracket) {
                let wanted = if comma { "a value" } else { "`,` or `]`" };
                return Err(self.unexpected(wanted, ""));
            }
        }
        let kind = ValueKind::List(values);
        Ok(Value {
            kind,
            span: open.to(self.previous()),
        })
    }

    /// The bytes of one or more string tokens.
    pub(super) fn bytes(&mut self, what: &str) -> Parsed<Vec<u8>> {
        if self.tok() != Tok::Str {
            return Err(self.unexpected(what, ""));
        }
        let mut all = Vec::new();
        let mut result = Ok(());
        while self.tok() == Tok::Str {
            let token = self.advance();
            match literal::unescape(self.slice(token)) {
                Ok(bytes) => all.extend(bytes),
                Err(bad) => {
                    let start = token.start as usize;
                    let span = Span::new(start + bad.start, start + bad.end);
                    self.error(
                        "E1105",
                        span,
                        bad.message,
                        "a backslash itself is written `\\\\`",
                    );
                    result = Err(Reported);
                }
            }
        }
        result.map(|()| all)
    }
}
