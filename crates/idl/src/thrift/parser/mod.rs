//! Tokens to a syntax tree: recursive descent, with recovery at the next field, method or
//! definition, so that all errors of a file come at once.
//!
//! A function that returns `Err(Reported)` has reported the error; its caller only finds the place
//! to go on from. Whatever nests is bounded by [`MAX_DEPTH`].

mod definition;
mod expr;
mod field;
mod hints;
mod service;

use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use crate::thrift::ast::{Attributes, File, Name};
use crate::thrift::lexer::{Doc, Lexed, Tok, Token};

/// How deep types and constants may nest.
pub(crate) const MAX_DEPTH: usize = 64;

/// The error has been reported.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

/// Parses a whole file.
pub(crate) fn parse(file: FileId, text: &str, lexed: &Lexed, sink: &mut Sink) -> File {
    let mut parser = Parser {
        file,
        text,
        tokens: &lexed.tokens,
        docs: &lexed.docs,
        at: 0,
        reported_at: None,
        item_start: 0,
        sink,
    };
    parser.file()
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    /// Ends with [`Tok::End`].
    tokens: &'a [Token],
    docs: &'a [Doc],
    at: usize,
    /// The place of the last syntax error; a second one at the same token says nothing new.
    reported_at: Option<usize>,
    /// The first token of the current item or definition.
    item_start: usize,
    sink: &'a mut Sink,
}

impl<'a> Parser<'a> {
    fn token(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)]
    }

    fn tok(&self) -> Tok {
        self.token(0).tok
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// The span of the token before this one.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    fn word(&self, ahead: usize) -> &'a str {
        self.slice(self.token(ahead).span)
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    fn eat(&mut self, tok: Tok) -> Option<Span> {
        (self.tok() == tok).then(|| self.advance())
    }

    /// A word that is no keyword.
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.token(ahead).tok == Tok::Ident && self.word(ahead) == word
    }

    fn expect(&mut self, tok: Tok, what: &str) -> Parsed<Span> {
        match self.eat(tok) {
            Some(span) => Ok(span),
            None => Err(self.unexpected(what, None)),
        }
    }

    /// Reports that something else was expected here.
    fn unexpected(&mut self, what: &str, help: Option<&str>) -> Reported {
        let found = match self.tok() {
            Tok::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.word(0)),
        };
        let found = if found.len() > 60 {
            "a long token".to_owned()
        } else {
            found
        };
        // A token that is missing at the end of a line is missing there, not at the start of the
        // next one.
        let place = match self.starts_line() && self.at > self.item_start {
            true => Span {
                start: self.previous().end,
                end: self.previous().end,
            },
            false => self.span(),
        };
        let error = Diagnostic::error("E0201", format!("expected {what}, found {found}"))
            .at(self.file, place, format!("expected {what}"))
            .help(help.map_or_else(|| self.hint(what), str::to_owned));
        self.syntax_error(error)
    }

    /// Reports a syntax error at the current token, unless one has been reported for it already.
    fn syntax_error(&mut self, error: Diagnostic) -> Reported {
        if self.tok() != Tok::Bad && self.reported_at != Some(self.at) {
            self.sink.push(error);
        }
        self.reported_at = Some(self.at);
        Reported
    }

    fn warn(&mut self, code: &'static str, span: Span, message: &str, help: &str) {
        let warning = Diagnostic::warning(code, message)
            .at(self.file, span, "")
            .help(help);
        self.sink.push(warning);
    }

    /// A name without dots.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        let name = self.dotted_name(what)?;
        if name.text.contains('.') {
            let last = name.text.rsplit('.').next().unwrap_or_default();
            let message = format!("the name of a definition has no dots: `{}`", name.text);
            let error = Diagnostic::error("E0202", message).at(self.file, name.span, "");
            let help = format!("write `{last}`; other files add the name of this one in front");
            self.sink
                .push(error.maybe_help((!last.is_empty()).then_some(help)));
        }
        Ok(name)
    }

    fn dotted_name(&mut self, what: &str) -> Parsed<Name> {
        if self.tok() != Tok::Ident {
            return Err(self.unexpected(what, None));
        }
        let text = self.word(0).to_owned();
        Ok(Name {
            text,
            span: self.advance(),
        })
    }

    /// The documentation that stands right before the current token.
    fn doc(&self) -> Option<String> {
        let end = self.docs.partition_point(|doc| doc.before <= self.at);
        let last = self.docs[..end]
            .iter()
            .rev()
            .take_while(|doc| doc.before == self.at);
        last.filter(|doc| !doc.trailing)
            .map(|doc| doc.text.clone())
            .next()
    }

    /// Adds documentation that follows what it describes: `/**< … */`.
    fn trailing_doc(&self, attributes: &mut Attributes) {
        let end = self.docs.partition_point(|doc| doc.before <= self.at);
        let here = self.docs[..end]
            .iter()
            .rev()
            .take_while(|doc| doc.before == self.at);
        if let Some(doc) = here.filter(|doc| doc.trailing).last() {
            match &mut attributes.doc {
                Some(text) => *text = format!("{text}\n\n{}", doc.text),
                None => attributes.doc = Some(doc.text.clone()),
            }
        }
    }

    /// `,` or `;` or nothing; more than one is worth a word.
    fn separator(&mut self) {
        if !matches!(self.tok(), Tok::Comma | Tok::Semicolon) {
            return;
        }
        self.advance();
        while matches!(self.tok(), Tok::Comma | Tok::Semicolon) {
            let span = self.advance();
            self.warn(
                "W0201",
                span,
                "a second separator",
                "remove it: Apache Thrift's compiler refuses it",
            );
        }
    }

    /// Returns whether the current token is the first of its line.
    fn starts_line(&self) -> bool {
        let before = self.previous().end as usize;
        let here = self.span().start as usize;
        self.at == 0
            || self
                .text
                .get(before..here)
                .is_some_and(|gap| gap.contains('\n'))
    }

    /// True at a token that begins a definition: a keyword of definitions at the start of a line.
    fn at_definition(&self) -> bool {
        let keyword = matches!(
            self.tok(),
            Tok::Typedef
                | Tok::Struct
                | Tok::Union
                | Tok::Exception
                | Tok::Service
                | Tok::Enum
                | Tok::Senum
                | Tok::Const
                | Tok::Namespace
                | Tok::Include
                | Tok::CppInclude
        );
        keyword && (self.starts_line() || self.previous_is(Tok::CloseBrace))
    }

    /// True at what can only begin a method.
    fn at_method(&self) -> bool {
        matches!(self.tok(), Tok::Void | Tok::Oneway) && self.starts_line()
    }

    fn previous_is(&self, tok: Tok) -> bool {
        self.at > 0 && self.tokens[self.at - 1].tok == tok
    }

    /// Goes to where the next item of a list can begin: after a separator, before the closing
    /// bracket, or before something that shows that the list was left open.
    fn recover_item(&mut self, close: Tok) {
        let mut depth = 0usize;
        loop {
            match self.tok() {
                Tok::End => return,
                tok if depth == 0 && tok == close => return,
                Tok::CloseBrace if depth == 0 => return,
                Tok::Comma | Tok::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                Tok::Int if depth == 0 && self.token(1).tok == Tok::Colon && self.starts_line() => {
                    return;
                }
                _ if self.at_definition() || self.at_method() => return,
                Tok::OpenBrace | Tok::OpenParen | Tok::OpenBracket => depth += 1,
                Tok::CloseBrace | Tok::CloseParen | Tok::CloseBracket => {
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// The items of a list up to its closing bracket, which is consumed. Every item is tried; an
    /// error in one of them does not hide those that follow.
    fn items(
        &mut self,
        open: Span,
        close: Tok,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        loop {
            if self.eat(close).is_some() {
                return Ok(());
            }
            if matches!(self.tok(), Tok::Comma | Tok::Semicolon) {
                let span = self.span();
                self.warn(
                    "W0201",
                    span,
                    "a separator with nothing before it",
                    "remove it",
                );
                self.advance();
                continue;
            }
            let wrong_close = matches!(self.tok(), Tok::CloseBrace | Tok::End);
            let method = close == Tok::CloseParen && self.at_method();
            if wrong_close || method || self.at_definition() {
                let closing = if close == Tok::CloseBrace { "}" } else { ")" };
                let message = format!("this {what} is not closed");
                let error = Diagnostic::error("E0203", message)
                    .at(
                        self.file,
                        self.span(),
                        format!("expected `{closing}` before this"),
                    )
                    .also(self.file, open, "opened here")
                    .help(format!("add `{closing}`"));
                return Err(self.syntax_error(error));
            }
            let before = self.at;
            self.item_start = before;
            if item(self).is_err() {
                if self.at == before {
                    self.advance();
                }
                self.recover_item(close);
            }
        }
    }
}

/// True for a word that has a meaning of its own.
fn is_keyword(tok: Tok) -> bool {
    let first = Tok::True as u8;
    let last = Tok::Optional as u8;
    (first..=last).contains(&(tok as u8))
}
