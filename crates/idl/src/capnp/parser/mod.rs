//! Tokens to a syntax tree. After an error the parser goes on behind the statement, so that one run
//! finds all of them.

mod declaration;
mod expression;
mod literal;
mod member;

use super::lexer::{Tok, Token};
use super::syntax::{Application, Attributes, ExpressionKind, File, Name, Number};
use crate::diagnostic::{Diagnostic, Sink};
use crate::source::{FileId, Span};

/// The error has been reported; the statement is given up.
pub(super) struct GivenUp;

pub(super) type Parsed<T> = Result<T, GivenUp>;

/// How deep types, values and groups can stand inside one another.
const DEEPEST: usize = 64;

pub(super) fn parse(file: FileId, text: &str, tokens: &[Token], sink: &mut Sink) -> File {
    let errors = sink.errors();
    let mut parser = Parser {
        file,
        text,
        tokens,
        at: 0,
        depth: 0,
        imports: Vec::new(),
        sink,
    };
    let mut parsed = parser.file();
    parsed.imports = parser.imports;
    parsed.damaged = parser.sink.errors() > errors;
    parsed
}

struct Parser<'a, 's> {
    file: FileId,
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    imports: Vec<Name>,
    sink: &'s mut Sink,
}

impl<'a> Parser<'a, '_> {
    fn file(&mut self) -> File {
        let mut file = File::default();
        while self.peek() != Tok::End {
            if self.file_statement(&mut file).is_err() {
                self.recover();
            }
        }
        file
    }

    fn file_statement(&mut self, file: &mut File) -> Parsed<()> {
        match self.peek() {
            Tok::At => {
                let id = self.number()?;
                self.expect(Tok::Semicolon, "`;`")?;
                if let Some(first) = file.id.replace(id) {
                    let error = Diagnostic::error("E2303", "a file has one id");
                    let error = error.at(self.file, id.span, "the second one");
                    let error = error.also(self.file, first.span, "the first one");
                    self.sink.push(error.help("remove one of them"));
                }
            }
            Tok::Dollar => {
                file.annotations.extend(self.annotations()?);
                self.expect(Tok::Semicolon, "`;`")?;
            }
            Tok::Semicolon => _ = self.next(),
            _ => {
                let declaration = self.declaration()?;
                file.declarations.push(declaration);
            }
        }
        Ok(())
    }

    fn token(&self, ahead: usize) -> Token {
        let last = self.tokens.len().saturating_sub(1);
        let end = Token {
            tok: Tok::End,
            span: Span::default(),
        };
        let at = (self.at + ahead).min(last);
        self.tokens.get(at).copied().unwrap_or(end)
    }

    fn peek(&self) -> Tok {
        self.token(0).tok
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    fn next(&mut self) -> Token {
        let token = self.token(0);
        self.at += 1;
        token
    }

    /// Returns whether the next token is this one, and takes it if so.
    fn take(&mut self, tok: Tok) -> bool {
        let found = self.peek() == tok;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, tok: Tok, called: &str) -> Parsed<Token> {
        match self.peek() == tok {
            true => Ok(self.next()),
            false => self.unexpected(called),
        }
    }

    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let token = self.token(0);
        let found = match token.tok {
            // It has been reported as what it is.
            Tok::Bad => return Err(GivenUp),
            Tok::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.slice(token.span)),
        };
        let message = format!("expected {expected}, found {found}");
        let error = Diagnostic::error("E2201", message).at(self.file, token.span, "");
        let help = match token.tok {
            Tok::End => "a `}` or a `;` is missing before it",
            _ => "statements end with `;`, and blocks stand in `{` and `}`",
        };
        self.sink.push(error.help(help));
        Err(GivenUp)
    }

    /// Goes behind the statement that the parser is in: the next `;`, or the block that closes.
    fn recover(&mut self) {
        let mut open = 0usize;
        loop {
            match self.peek() {
                Tok::End => return,
                Tok::Semicolon if open == 0 => {
                    self.at += 1;
                    return;
                }
                Tok::OpenBrace => open += 1,
                Tok::CloseBrace if open <= 1 => {
                    // One that belongs to the block around is left to it.
                    self.at += usize::from(open == 1 || self.depth == 0);
                    return;
                }
                Tok::CloseBrace => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Runs a part of the parser one level further inside.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            let message = format!("more than {DEEPEST} levels inside one another");
            let error = Diagnostic::error("E2202", message);
            let error = error.at(self.file, self.token(0).span, "");
            self.sink
                .push(error.help("give what is inside a name of its own"));
            return Err(GivenUp);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The statements of a block, up to its `}`.
    fn block(&mut self, mut statement: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.deeper(|parser| {
            loop {
                match parser.peek() {
                    Tok::CloseBrace => {
                        parser.at += 1;
                        return Ok(());
                    }
                    Tok::End => return parser.unexpected("`}`"),
                    Tok::Semicolon => parser.at += 1,
                    _ => {
                        if statement(parser).is_err() {
                            parser.recover();
                        }
                    }
                }
            }
        })
    }

    /// Things between parentheses, with commas between them.
    fn tuple<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(Tok::OpenParen, "`(`")?;
        self.listed(Tok::CloseParen, "`,` or `)`", &mut item)
    }

    fn listed<T>(
        &mut self,
        close: Tok,
        expected: &str,
        item: &mut impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                return Ok(items);
            }
            items.push(item(self)?);
            if !self.take(Tok::Comma) {
                self.expect(close, expected)?;
                return Ok(items);
            }
        }
    }

    fn name(&mut self) -> Parsed<Name> {
        let span = self.expect(Tok::Ident, "a name")?.span;
        Ok(Name {
            text: self.slice(span).to_owned(),
            span,
        })
    }

    /// Reads `@` and the number behind it.
    fn number(&mut self) -> Parsed<Number> {
        let at = self.expect(Tok::At, "`@` and a number")?;
        let token = self.expect(Tok::Int, "a number behind `@`")?;
        let span = at.span.to(token.span);
        let value = self.integer(token.span)?;
        Ok(Number { value, span })
    }

    /// Reads an ordinal.
    fn ordinal(&mut self) -> Parsed<Number> {
        let number = self.number()?;
        if number.value > u64::from(u16::MAX) - 1 {
            let message = format!("the ordinal {} is too large", number.value);
            let error = Diagnostic::error("E2404", message).at(self.file, number.span, "");
            self.sink
                .push(error.help("ordinals count from 0 without a gap"));
            return Err(GivenUp);
        }
        Ok(number)
    }

    /// Reads all uses of annotations that stand here.
    fn annotations(&mut self) -> Parsed<Vec<Application>> {
        let mut annotations = Vec::new();
        while self.take(Tok::Dollar) {
            let whole = self.expression()?;
            let (name, value) = match whole.kind {
                ExpressionKind::Apply(name, arguments) => (*name, Some(arguments)),
                kind => {
                    let span = whole.span;
                    (super::syntax::Expression { span, kind }, None)
                }
            };
            let value = value.map(|arguments| literal::parenthesized(arguments, name.span));
            annotations.push(Application { name, value });
        }
        Ok(annotations)
    }

    /// Reads the end of a statement: annotations, `;`, and the documentation behind it.
    fn end(&mut self) -> Parsed<Attributes> {
        let annotations = self.annotations()?;
        let end = self.expect(Tok::Semicolon, "`;`")?;
        let doc = self.doc(end.span);
        Ok(Attributes { annotations, doc })
    }

    /// Reads the beginning of a block: annotations, `{`, and the documentation behind it.
    fn begin(&mut self) -> Parsed<Attributes> {
        let annotations = self.annotations()?;
        let open = self.expect(Tok::OpenBrace, "`{`")?;
        let doc = self.doc(open.span);
        Ok(Attributes { annotations, doc })
    }

    /// The comment that documents a statement: it begins behind it on its line, or on the next one.
    fn doc(&self, end: Span) -> Option<String> {
        let behind = self.text.get(end.end as usize..)?;
        let (line, rest) = behind.split_once('\n').unwrap_or((behind, ""));
        let comment = |line: &'a str| {
            let comment = line.trim().strip_prefix('#')?;
            Some(comment.strip_prefix(' ').unwrap_or(comment).trim_end())
        };
        let lines: Vec<&str> = match (comment(line), line.trim().is_empty()) {
            (Some(first), _) => std::iter::once(first)
                .chain(rest.lines().map_while(comment))
                .collect(),
            (None, true) => rest.lines().map_while(comment).collect(),
            (None, false) => Vec::new(),
        };
        let text = lines.join("\n");
        (!text.trim().is_empty()).then(|| text.trim_end().to_owned())
    }
}
