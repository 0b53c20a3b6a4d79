//! Tokens to descriptors: recursive descent, with recovery at the next statement, so that all
//! errors of a file come at once.
//!
//! A function that returns `Err(Reported)` has reported the error; its caller only finds the place
//! to go on from. Whatever nests is bounded by [`MAX_DEPTH`] and [`MAX_VALUE_DEPTH`].

mod enumeration;
mod field;
mod file;
mod message;
mod option;
mod service;

pub(super) use field::entry_name;
pub(super) use message::MAX_NUMBER;

use super::comments::{self, Gap};
use super::descriptor::{Edition, File};
use super::lexer::{Lexed, Tok, Token};
use super::syntax::{Parsed as ParsedFile, Pending, Positions};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};
use std::collections::HashSet;

/// How deep messages may nest; protobuf's own compiler goes no deeper.
pub(super) const MAX_DEPTH: usize = 31;

/// How deep the value of an option may nest.
const MAX_VALUE_DEPTH: usize = 100;

/// The error has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

/// Parses a whole file.
pub(super) fn parse(
    id: FileId,
    name: &str,
    text: &str,
    lexed: &Lexed,
    sink: &mut Sink,
) -> ParsedFile {
    let errors = sink.errors();
    let mut parser = Parser {
        id,
        text,
        lexed,
        at: 0,
        path: Vec::new(),
        depth: 0,
        reported_at: None,
        statement_start: 0,
        edition: Edition::Proto2,
        gap: Gap::default(),
        imports: HashSet::new(),
        positions: Positions::default(),
        options: Vec::new(),
        sink,
    };
    let mut file = File {
        name: name.to_owned(),
        ..File::default()
    };
    parser.file(&mut file);
    let (positions, options) = (parser.positions, parser.options);
    ParsedFile {
        file: file.into(),
        positions,
        options,
        damaged: sink.errors() > errors,
    }
}

struct Parser<'a> {
    id: FileId,
    text: &'a str,
    lexed: &'a Lexed,
    at: usize,
    /// Leads to what is being parsed.
    path: Vec<i32>,
    depth: usize,
    /// The place of the last syntax error; a second one at the same token says nothing new.
    reported_at: Option<usize>,
    /// The first token of the current statement.
    statement_start: usize,
    edition: Edition,
    /// The comments after the last declaration.
    gap: Gap,
    /// The imported paths.
    imports: HashSet<String>,
    positions: Positions,
    options: Vec<Pending>,
    sink: &'a mut Sink,
}

impl<'a> Parser<'a> {
    fn token(&self, ahead: usize) -> Token {
        let tokens = &self.lexed.tokens;
        tokens[(self.at + ahead).min(tokens.len() - 1)]
    }

    fn tok(&self) -> Tok {
        self.token(0).tok
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// The span of the token before this one.
    fn previous(&self) -> Span {
        self.lexed.tokens[self.at.saturating_sub(1)].span
    }

    fn slice(&self, span: Span) -> &'a str {
        let range = span.start as usize..span.end as usize;
        self.text.get(range).unwrap_or_default()
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.lexed.tokens.len() - 1);
        span
    }

    fn eat(&mut self, tok: Tok) -> Option<Span> {
        (self.tok() == tok).then(|| self.advance())
    }

    fn is_word(&self, word: &str) -> bool {
        self.word_ahead(0) == Some(word)
    }

    fn word_ahead(&self, ahead: usize) -> Option<&'a str> {
        let token = self.token(ahead);
        (token.tok == Tok::Ident).then(|| self.slice(token.span))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, tok: Tok, what: &str) -> Parsed<Span> {
        self.eat(tok).ok_or_else(|| self.unexpected(what, ""))
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{word}`"), "")),
        }
    }

    /// A name without dots.
    fn name(&mut self, what: &str) -> Parsed<String> {
        match self.word_ahead(0) {
            Some(word) => {
                self.advance();
                Ok(word.to_owned())
            }
            None => Err(self.unexpected(what, "names are made of a-z, A-Z, 0-9 and _")),
        }
    }

    /// A name with dots; `absolute` where it may begin with one.
    fn dotted(&mut self, what: &str, absolute: bool) -> Parsed<String> {
        let mut name = String::new();
        if absolute && self.eat(Tok::Dot).is_some() {
            name.push('.');
        }
        name.push_str(&self.name(what)?);
        while self.eat(Tok::Dot).is_some() {
            name.push('.');
            name.push_str(&self.name("a name after the dot")?);
        }
        Ok(name)
    }

    /// Reports that something else was expected here.
    fn unexpected(&mut self, what: &str, help: &str) -> Reported {
        let found = match self.tok() {
            Tok::End => "the end of the file".to_owned(),
            _ if self.span().end - self.span().start > 40 => "a long token".to_owned(),
            _ => format!("`{}`", self.slice(self.span())),
        };
        // A token that is missing at the end of a line is missing there, not at the start of the
        // next one.
        let place = match self.starts_line() && self.at > self.statement_start {
            true => Span {
                start: self.previous().end,
                end: self.previous().end,
            },
            false => self.span(),
        };
        let error = Diagnostic::error("E1201", format!("expected {what}, found {found}")).at(
            self.id,
            place,
            format!("expected {what}"),
        );
        let error = match help {
            "" => error.help(self.hint(what)),
            help => error.help(help),
        };
        self.syntax_error(error)
    }

    /// Returns advice where the message alone does not give it.
    fn hint(&self, what: &str) -> String {
        match self.tok() {
            Tok::End => "the file ends too early: is a `}` missing?".to_owned(),
            _ if what == "`;`" => "statements end with `;`".to_owned(),
            _ => format!("write {what} here"),
        }
    }

    /// Reports a syntax error at the current token, unless one has been reported for it already.
    fn syntax_error(&mut self, error: Diagnostic) -> Reported {
        if self.tok() != Tok::Bad && self.reported_at != Some(self.at) {
            self.sink.push(error);
        }
        self.reported_at = Some(self.at);
        Reported
    }

    /// Reports what is wrong with something that has been parsed.
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        let error = Diagnostic::error(code, message).at(self.id, span, "");
        self.sink.push(error.help(help));
    }

    /// Returns whether the current token is the first of its line.
    fn starts_line(&self) -> bool {
        let gap = self.previous().end as usize..self.span().start as usize;
        self.text.get(gap).is_some_and(|gap| gap.contains('\n'))
    }

    /// Runs `body` for what is at `tail` below the current path, and records where it stands. The
    /// parser hands it the place, so that comments find it.
    fn located<T>(
        &mut self,
        tail: &[i32],
        body: impl FnOnce(&mut Self, usize) -> Parsed<T>,
    ) -> Parsed<T> {
        self.path.extend_from_slice(tail);
        let place = self.positions.add(&self.path, self.span());
        let result = body(self, place);
        self.path.truncate(self.path.len() - tail.len());
        self.end_at_previous(place);
        result
    }

    fn end_at_previous(&mut self, place: usize) {
        let end = self.previous();
        let span = &mut self.positions.list[place].span;
        *span = Span {
            start: span.start,
            end: end.end.max(span.start),
        };
    }

    /// Parses a part that is one token, or a few.
    fn part<T>(&mut self, tag: i32, body: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.located(&[tag], |parser, _| body(parser))
    }

    /// The end of a declaration or of its head: `;`, `{` or `}`. Comments before the declaration go
    /// to `place`, and those behind this token, too.
    fn end_of(&mut self, tok: Tok, what: &str, place: Option<usize>) -> Parsed<()> {
        let end = self.expect(tok, what)?;
        self.comments(Some(end), place);
        Ok(())
    }

    fn eat_end(&mut self, tok: Tok) -> bool {
        self.tok() == tok && self.end_of(tok, "", None).is_ok()
    }

    /// Sorts the comments before the current token.
    fn comments(&mut self, before: Option<Span>, place: Option<usize>) {
        let all = &self.lexed.comments;
        let start = all.partition_point(|comment| comment.before < self.at);
        let end = all.partition_point(|comment| comment.before <= self.at);
        let closes = matches!(
            self.tok(),
            Tok::CloseBrace | Tok::CloseBracket | Tok::CloseParen | Tok::End
        );
        let next = comments::sort(self.text, &all[start..end], before, self.span(), closes);
        let ended = std::mem::replace(&mut self.gap, next);
        if let Some(place) = place {
            let trailing = self.gap.trailing.take();
            let place = &mut self.positions.list[place];
            place.leading = ended.leading;
            place.detached = ended.detached;
            place.trailing = trailing;
        }
    }

    /// The statements of a block up to its closing brace, which is consumed. Every one is tried; an
    /// error in one of them does not hide those that follow.
    fn block(
        &mut self,
        open: Span,
        mut statement: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.fields_block(open, |parser| match parser.eat_end(Tok::Semicolon) {
            true => Ok(()),
            false => statement(parser),
        })
    }

    /// Like `block`, but without empty statements: those of `oneof` and `extend` are all fields.
    fn fields_block(
        &mut self,
        open: Span,
        mut statement: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        while !self.eat_end(Tok::CloseBrace) {
            if self.tok() == Tok::End {
                let error = Diagnostic::error("E1202", "this block is not closed")
                    .at(self.id, open, "opened here")
                    .help("add `}`");
                return Err(self.syntax_error(error));
            }
            let before = self.at;
            self.statement_start = before;
            if statement(self).is_err() {
                if self.at == before {
                    self.advance();
                }
                self.skip_statement();
            }
        }
        Ok(())
    }

    /// Goes to where the next statement can begin: after a `;` or a block, or before a `}`.
    fn skip_statement(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.tok() {
                Tok::End => return,
                Tok::CloseBrace if depth == 0 => return,
                Tok::Semicolon if depth == 0 => {
                    self.eat_end(Tok::Semicolon);
                    return;
                }
                Tok::OpenBrace => depth += 1,
                Tok::CloseBrace => {
                    depth -= 1;
                    let after = self.token(1).tok;
                    // A value in braces is no block.
                    let ends = !matches!(after, Tok::CloseBracket | Tok::Comma | Tok::Semicolon);
                    if depth == 0 && ends {
                        self.eat_end(Tok::CloseBrace);
                        return;
                    }
                }
                // A word that begins a definition at the start of a line: the `;` before it is
                // missing.
                Tok::Ident if depth == 0 && self.starts_line() && self.at_definition() => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn at_definition(&self) -> bool {
        let words = [
            "message", "enum", "service", "extend", "oneof", "rpc", "option", "reserved",
        ];
        self.word_ahead(0).is_some_and(|word| words.contains(&word))
            && self.token(1).tok == Tok::Ident
    }

    /// Goes one level deeper, or refuses.
    fn deeper<T>(&mut self, limit: usize, body: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= limit {
            let message = format!("this nests deeper than {limit} levels");
            let error = Diagnostic::error("E1203", message).at(self.id, self.span(), "");
            return Err(self.syntax_error(error.help("move inner definitions out")));
        }
        self.depth += 1;
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// True for the languages that say `edition`.
    fn in_editions(&self) -> bool {
        self.edition >= Edition::E2023
    }
}
