//! Fields of structs, parameters, declared exceptions; and what is reserved.

use super::{Parsed, Parser, is_keyword};
use crate::diagnostic::Diagnostic;
use crate::thrift::ast::{Attributes, Field, Name, Requiredness, Reserved};
use crate::thrift::lexer::Tok;

impl Parser<'_> {
    pub(super) fn field(&mut self, close: Tok) -> Parsed<Field> {
        let doc = self.doc();
        let typed = self.typed_annotations()?;
        let mut attributes = Attributes {
            doc,
            typed,
            untyped: Vec::new(),
        };
        let id = match self.tok() {
            Tok::Int | Tok::Hex => {
                let id = self.int()?;
                self.expect(Tok::Colon, "`:` after the id of the field")?;
                Some(id)
            }
            _ => None,
        };
        let span = self.span();
        let requiredness = match self.tok() {
            Tok::Required => Some((Requiredness::Required, span)),
            Tok::Optional => Some((Requiredness::Optional, span)),
            _ => None,
        };
        if requiredness.is_some() {
            self.advance();
        }
        let shared = if self.at_ref() {
            Some(self.advance())
        } else {
            None
        };
        if !self.at_type() && !matches!(self.tok(), Tok::Void | Tok::Senum) {
            let help = match self.tok() {
                Tok::Required | Tok::Optional => {
                    Some("one of `required` and `optional` is enough; none is fine, too")
                }
                tok if is_keyword(tok) => None,
                _ => Some("a field is written `1: i32 name`"),
            };
            return Err(self.unexpected("the type of a field", help));
        }
        let ty = self.ty()?;
        let pointer = self.eat(Tok::Ampersand).is_some();
        let name = self.field_name()?;
        let default = match self.eat(Tok::Equals) {
            Some(_) => Some(self.constant()?),
            None => None,
        };
        self.xsd_words()?;
        attributes.untyped = self.annotations()?;
        self.end_of_item("field", close)?;
        self.trailing_doc(&mut attributes);
        Ok(Field {
            name,
            id,
            requiredness,
            ty,
            pointer,
            shared,
            default,
            attributes,
        })
    }

    /// After an item comes a separator, the closing bracket, or the next item.
    pub(super) fn end_of_item(&mut self, what: &str, close: Tok) -> Parsed<()> {
        let next_item = matches!(
            self.tok(),
            Tok::Int | Tok::Hex | Tok::At | Tok::Ident | Tok::End
        ) || self.tok() == close
            || is_keyword(self.tok()) && !matches!(self.tok(), Tok::True | Tok::False);
        match self.tok() {
            Tok::Comma | Tok::Semicolon => self.separator(),
            Tok::CloseBrace => {}
            _ if next_item => {}
            _ => {
                let closing = if close == Tok::CloseBrace { "}" } else { ")" };
                let expected = format!("`,`, `;` or `{closing}` after this {what}");
                return Err(self.unexpected(&expected, None));
            }
        }
        Ok(())
    }

    /// Any word will do, also most keywords, since nothing else can stand here.
    fn field_name(&mut self) -> Parsed<Name> {
        let excluded = matches!(
            self.tok(),
            Tok::True
                | Tok::False
                | Tok::CppType
                | Tok::XsdAll
                | Tok::XsdOptional
                | Tok::XsdNillable
                | Tok::XsdAttrs
                | Tok::Slist
                | Tok::Senum
        );
        if is_keyword(self.tok()) && !excluded && !self.at_definition() {
            let text = self.word(0).to_owned();
            return Ok(Name {
                text,
                span: self.advance(),
            });
        }
        self.name("the name of the field")
    }

    /// `ref` before a type, as opposed to a type that somebody has called `ref`.
    fn at_ref(&self) -> bool {
        if !self.is_word(0, "ref") {
            return false;
        }
        match self.token(1).tok {
            Tok::Ident => match self.token(2).tok {
                // `ref array<…>`; `ref Name name`; `ref Name & name`.
                Tok::Less | Tok::Ident | Tok::Ampersand => true,
                // `ref Name (a = "b") name` is a type with annotations, or a field `Name` of type
                // `ref`.
                _ => false,
            },
            Tok::List | Tok::Set | Tok::Map => {
                matches!(self.token(2).tok, Tok::Less | Tok::CppType)
            }
            _ => false,
        }
    }

    fn xsd_words(&mut self) -> Parsed<()> {
        for tok in [Tok::XsdOptional, Tok::XsdNillable] {
            if let Some(span) = self.eat(tok) {
                self.xsd(span);
            }
        }
        if let Some(span) = self.eat(Tok::XsdAttrs) {
            self.xsd(span);
            let open = self.expect(Tok::OpenBrace, "`{`")?;
            // Not `field`: attributes of attributes would nest without bound.
            let mut depth = 1usize;
            while depth > 0 {
                match self.tok() {
                    Tok::OpenBrace => depth += 1,
                    Tok::CloseBrace => depth -= 1,
                    Tok::End => {
                        let error =
                            Diagnostic::error("E0203", "this list of attributes is not closed")
                                .at(self.file, self.span(), "expected `}` before this")
                                .also(self.file, open, "opened here");
                        return Err(self.syntax_error(error));
                    }
                    _ => {}
                }
                self.advance();
            }
        }
        Ok(())
    }

    /// `reserved` followed by a number or a string; anything else is a name like any other.
    pub(super) fn at_reserved(&self) -> bool {
        self.is_word(0, "reserved")
            && matches!(self.token(1).tok, Tok::Int | Tok::Hex | Tok::Literal)
            && self.token(2).tok != Tok::Colon
    }

    /// `reserved 3, 5 to 9, "old_name";`
    pub(super) fn reserved(&mut self, reserved: &mut Vec<Reserved>) -> Parsed<()> {
        self.advance();
        loop {
            if self.tok() == Tok::Literal {
                reserved.push(Reserved::Name(self.literal("a name")?));
            } else {
                let first = self.int()?;
                let last = match self.is_word(0, "to") {
                    true => {
                        self.advance();
                        self.int()?
                    }
                    false => first,
                };
                if last.value < first.value {
                    let span = first.span.to(last.span);
                    let error = Diagnostic::error("E0216", "this range ends before it begins")
                        .at(self.file, span, "")
                        .help(format!("write `{} to {}`", last.value, first.value));
                    self.sink.push(error);
                }
                reserved.push(Reserved::Ids(first, last));
            }
            let number = matches!(self.token(1).tok, Tok::Int | Tok::Hex);
            let more =
                self.token(1).tok == Tok::Literal || number && self.token(2).tok != Tok::Colon;
            if self.tok() != Tok::Comma || !more {
                break;
            }
            self.advance();
        }
        self.end_of_item("list of what is reserved", Tok::CloseBrace)
    }
}
