//! Types and values, which have one syntax.

use super::{Parsed, Parser, literal};
use crate::capnp::lexer::Tok;
use crate::capnp::syntax::{Argument, Expression, ExpressionKind, Name};
use crate::source::Span;

impl Parser<'_, '_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            let mut whole = parser.primary()?;
            // Members and arguments make the tree deeper, too.
            for _ in 0..super::DEEPEST {
                let kind = match parser.peek() {
                    Tok::Dot => {
                        parser.at += 1;
                        let name = parser.name()?;
                        ExpressionKind::Member(Box::new(whole), name)
                    }
                    Tok::OpenParen => {
                        let arguments = parser.tuple(Parser::argument)?;
                        ExpressionKind::Apply(Box::new(whole), arguments)
                    }
                    _ => return Ok(whole),
                };
                let span = parser.behind();
                whole = Expression {
                    span: whole_span(&kind).to(span),
                    kind,
                };
            }
            parser.unexpected("the end of this name")
        })
    }

    /// The place of the token that was taken last.
    fn behind(&self) -> Span {
        let before = self.at.checked_sub(1);
        before
            .and_then(|before| self.tokens.get(before))
            .map_or_else(Span::default, |token| token.span)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let named = self.peek() == Tok::Ident && self.token(1).tok == Tok::Equals;
        let name = match named {
            true => {
                let name = self.name()?;
                self.at += 1;
                Some(name)
            }
            false => None,
        };
        let value = self.expression()?;
        Ok(Argument { name, value })
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let token = self.token(0);
        let mut span = token.span;
        let kind = match token.tok {
            Tok::Int | Tok::Float | Tok::Minus => self.numeric()?,
            Tok::Text | Tok::Line => ExpressionKind::Text(self.texts()?),
            Tok::Data => {
                self.at += 1;
                ExpressionKind::Data(self.data(span)?)
            }
            Tok::OpenBracket => {
                self.at += 1;
                let mut item = Parser::expression;
                ExpressionKind::List(self.listed(Tok::CloseBracket, "`,` or `]`", &mut item)?)
            }
            Tok::OpenParen => {
                let arguments = self.tuple(Parser::argument)?;
                literal::parenthesized(arguments, span).kind
            }
            Tok::Dot => {
                self.at += 1;
                ExpressionKind::Absolute(self.name()?.text)
            }
            Tok::Ident => self.word()?,
            _ => return self.unexpected("a type or a value"),
        };
        span = span.to(self.behind());
        Ok(Expression { span, kind })
    }

    fn word(&mut self) -> Parsed<ExpressionKind> {
        let name = self.name()?;
        if self.peek() != Tok::Text {
            return Ok(ExpressionKind::Relative(name.text));
        }
        let span = self.token(0).span;
        match name.text.as_str() {
            "import" => {
                let text = self.texts()?;
                let text = String::from_utf8_lossy(&text).into_owned();
                self.imports.push(Name {
                    text: text.clone(),
                    span,
                });
                Ok(ExpressionKind::Import(text))
            }
            "embed" => self.texts().map(|_| ExpressionKind::Embed),
            _ => self.unexpected("no text behind a name"),
        }
    }

    fn numeric(&mut self) -> Parsed<ExpressionKind> {
        let negative = self.take(Tok::Minus);
        let token = self.next();
        Ok(match token.tok {
            Tok::Int => ExpressionKind::Int {
                negative,
                magnitude: self.integer(token.span)?,
            },
            Tok::Float => {
                let value = self.float(token.span)?;
                ExpressionKind::Float(if negative { -value } else { value })
            }
            Tok::Ident if self.slice(token.span) == "inf" => {
                ExpressionKind::Float(f64::NEG_INFINITY)
            }
            _ => {
                self.at -= 1;
                return self.unexpected("a number");
            }
        })
    }

    /// One text or several, which are one then: in quotes, or behind a backtick up to the end of
    /// the line.
    fn texts(&mut self) -> Parsed<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let token = self.token(0);
            match token.tok {
                Tok::Text => bytes.extend(self.text(token.span)?),
                Tok::Line => {
                    let line = self.slice(token.span).trim_end_matches('\r');
                    bytes.extend(line.trim_start_matches('`').bytes());
                    bytes.push(b'\n');
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(bytes)
    }
}

fn whole_span(kind: &ExpressionKind) -> Span {
    match kind {
        ExpressionKind::Member(inside, _) | ExpressionKind::Apply(inside, _) => inside.span,
        _ => Span::default(),
    }
}
