//! Services and methods.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::thrift::ast::{
    Attributes, DefinitionKind, Field, Method, Name, Returns, Stream, TypeExpr,
};
use crate::thrift::lexer::Tok;
use dovetail_schema::Idempotency;

impl Parser<'_> {
    pub(super) fn service(&mut self) -> Parsed<(Name, DefinitionKind)> {
        self.advance();
        let name = self.name("the name of the service")?;
        let extends = match self.eat(Tok::Extends) {
            Some(_) => Some(self.dotted_name("the service that this one extends")?),
            None => None,
        };
        let open = self.expect(Tok::OpenBrace, "`{`")?;
        let mut methods = Vec::new();
        let closed = self.items(open, Tok::CloseBrace, "service", |parser| {
            let method = parser.method()?;
            methods.push(method);
            Ok(())
        });
        // The methods that could be read count, whether or not the brace is there.
        let _ = closed;
        Ok((name, DefinitionKind::Service { extends, methods }))
    }

    fn method(&mut self) -> Parsed<Method> {
        let doc = self.doc();
        let typed = self.typed_annotations()?;
        let mut attributes = Attributes {
            doc,
            typed,
            untyped: Vec::new(),
        };
        let (mut oneway, mut idempotency) = (None, None);
        loop {
            match self.tok() {
                Tok::Oneway => oneway = Some(self.advance()),
                Tok::Async => {
                    let span = self.advance();
                    self.warn(
                        "W0601",
                        span,
                        "`async` is the old name of `oneway`",
                        "write `oneway`",
                    );
                    oneway = Some(span);
                }
                Tok::Ident if self.at_modifier() => {
                    let word = self.word(0);
                    let kind = match word {
                        "idempotent" => Idempotency::Idempotent,
                        _ => Idempotency::ReadOnly,
                    };
                    if idempotency.replace(kind).is_some() {
                        let error =
                            Diagnostic::error("E0217", "one word about repetition is enough")
                                .at(self.file, self.span(), "")
                                .help("`readonly` includes `idempotent`");
                        self.sink.push(error);
                    }
                    self.advance();
                }
                _ => break,
            }
        }
        let returns = self.returns()?;
        if self.tok() == Tok::OpenParen && returns.result.is_some() {
            let error =
                Diagnostic::error("E0218", "this method has a name or a result, but not both")
                    .at(self.file, returns.span, "")
                    .help(format!(
                        "write `void {}(…)` where it returns nothing",
                        self.slice(returns.span)
                    ));
            return Err(self.syntax_error(error));
        }
        let name = self.name("the name of the method")?;
        let open = self.expect(Tok::OpenParen, "`(` and the parameters")?;
        let params = self.fields(open, "list of parameters")?;
        let throws_span = self.eat(Tok::Throws);
        let throws = match throws_span {
            Some(_) => self.throws()?,
            None => Vec::new(),
        };
        attributes.untyped = self.annotations()?;
        self.end_of_method()?;
        self.trailing_doc(&mut attributes);
        Ok(Method {
            name,
            oneway,
            idempotency,
            returns,
            params,
            throws,
            throws_span,
            attributes,
        })
    }

    fn end_of_method(&mut self) -> Parsed<()> {
        if self.tok() == Tok::Extends || self.is_word(0, "throw") || self.is_word(0, "raises") {
            let help = "exceptions are declared by `throws (1: Problem problem)`";
            return Err(self.unexpected("`throws`, or the end of the method", Some(help)));
        }
        self.end_of_item("method", Tok::CloseBrace)
    }

    /// `idempotent` or `readonly` before a result, as opposed to a type that somebody has given
    /// that name.
    fn at_modifier(&self) -> bool {
        if !self.is_word(0, "idempotent") && !self.is_word(0, "readonly") {
            return false;
        }
        let name_follows = self.token(1).tok == Tok::Ident && self.token(2).tok == Tok::OpenParen;
        !name_follows && !matches!(self.token(1).tok, Tok::OpenParen | Tok::Comma)
    }

    /// `R`, `stream<T>`, `R, stream<T>`, `sink<T, R>`, `R, sink<T>, stream<U>` …
    fn returns(&mut self) -> Parsed<Returns> {
        let start = self.span();
        let mut returns = Returns::default();
        let mut result_at: Option<Span> = None;
        let mut final_result_at: Option<Span> = None;
        loop {
            let span = self.span();
            if self.at_generic("stream") {
                let stream = self.stream(&mut None)?;
                self.once(returns.stream.replace(stream).is_some(), span, "stream");
            } else if self.at_generic("sink") {
                let mut last = None;
                let sink = self.stream(&mut last)?;
                self.once(returns.sink.replace(sink).is_some(), span, "sink");
                if let Some((ty, at)) = last {
                    final_result_at = Some(at);
                    self.one_result(result_at, at);
                    returns.result = ty;
                }
            } else if result_at.is_none() && returns.sink.is_none() && returns.stream.is_none() {
                returns.result = match self.eat(Tok::Void) {
                    Some(_) => None,
                    None if self.at_type() => Some(self.ty()?),
                    None => return Err(self.unexpected("the result of a method", None)),
                };
                // `void, stream<T>` says no more than `stream<T>`.
                result_at = Some(span);
            } else {
                let help = "the result comes first, then what streams: `R, sink<T>, stream<U>`";
                return Err(self.unexpected("`stream<…>` or `sink<…>`", Some(help)));
            }
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        returns.span = start.to(self.previous());
        if returns.result.is_some() && returns.sink.is_some() {
            let error = match (returns.stream.is_some(), final_result_at) {
                (true, Some(at)) => Some((
                    at,
                    "with a stream back, the result comes before it",
                    "`R, sink<T>, stream<U>`",
                )),
                (false, None) => Some((
                    returns.span,
                    "without a stream back, the result comes after the last item",
                    "`sink<T, R>`",
                )),
                _ => None,
            };
            if let Some((at, message, help)) = error {
                let error = Diagnostic::error("E0219", message).at(self.file, at, "");
                self.sink.push(error.help(format!("write {help}")));
            }
        }
        Ok(returns)
    }

    fn once(&mut self, again: bool, span: Span, what: &str) {
        if again {
            let error = Diagnostic::error("E0220", format!("a second `{what}` in one method"))
                .at(self.file, span, "")
                .help("send a union where the items are of several kinds");
            self.sink.push(error);
        }
    }

    fn one_result(&mut self, first: Option<Span>, second: Span) {
        if let Some(first) = first {
            let error = Diagnostic::error("E0221", "a method has one result")
                .at(self.file, second, "a second result")
                .also(self.file, first, "the first one")
                .help("leave one of them out, or make the first item of a stream of it");
            self.sink.push(error);
        }
    }

    fn at_generic(&self, word: &str) -> bool {
        self.is_word(0, word) && self.token(1).tok == Tok::Less
    }

    /// `stream<T throws (…)>` or `sink<T throws (…), R>`; the result of a sink goes to `last`.
    fn stream(&mut self, last: &mut Option<(Option<TypeExpr>, Span)>) -> Parsed<Stream> {
        let sink = self.is_word(0, "sink");
        self.advance();
        self.expect(Tok::Less, "`<`")?;
        let item = self.ty()?;
        let throws = match self.eat(Tok::Throws) {
            Some(_) => self.throws()?,
            None => Vec::new(),
        };
        if sink && self.eat(Tok::Comma).is_some() {
            let span = self.span();
            let ty = match self.eat(Tok::Void) {
                Some(_) => None,
                None => Some(self.ty()?),
            };
            *last = Some((ty, span.to(self.previous())));
            if self.tok() == Tok::Throws {
                let help = "exceptions of the result are those of the method: write them after its parameters";
                return Err(self.unexpected("`>`", Some(help)));
            }
        }
        self.expect(Tok::Greater, "`>`")?;
        Ok(Stream { item, throws })
    }

    fn throws(&mut self) -> Parsed<Vec<Field>> {
        let open = self.expect(Tok::OpenParen, "`(` and the exceptions")?;
        self.fields(open, "list of exceptions")
    }

    fn fields(&mut self, open: Span, what: &str) -> Parsed<Vec<Field>> {
        let mut fields = Vec::new();
        self.items(open, Tok::CloseParen, what, |parser| {
            let field = parser.field(Tok::CloseParen)?;
            fields.push(field);
            Ok(())
        })?;
        Ok(fields)
    }
}
