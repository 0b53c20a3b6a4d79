//! Types, constants, strings and annotations.

use super::{MAX_DEPTH, Parsed, Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::thrift::ast::{
    Annotation, ConstExpr, ConstKind, Int, Text, TypeExpr, TypeKind, TypedAnnotation,
};
use crate::thrift::lexer::Tok;
use dovetail_schema::{Dimension, Type};

impl Parser<'_> {
    pub(super) fn at_type(&self) -> bool {
        self.tok() == Tok::Ident
            || base_type(self.tok()).is_some()
            || matches!(self.tok(), Tok::List | Tok::Set | Tok::Map | Tok::Slist)
    }

    pub(super) fn ty(&mut self) -> Parsed<TypeExpr> {
        self.nested_type(0)
    }

    fn nested_type(&mut self, depth: usize) -> Parsed<TypeExpr> {
        let start = self.span();
        if depth >= MAX_DEPTH {
            return Err(self.too_deep("types"));
        }
        let tok = self.tok();
        let mut cpp_type = None;
        let kind = if let Some(base) = base_type(tok) {
            self.advance();
            TypeKind::Base(base)
        } else {
            match tok {
                Tok::Slist => {
                    self.advance();
                    self.warn("W0401", start, "`slist` is deprecated", "write `string`");
                    TypeKind::Base(Type::String)
                }
                Tok::List | Tok::Set => {
                    self.advance();
                    cpp_type = self.cpp_type()?;
                    self.expect(Tok::Less, "`<` and the type of the elements")?;
                    let item = Box::new(self.nested_type(depth + 1)?);
                    self.expect(Tok::Greater, "`>`")?;
                    if tok == Tok::Set {
                        TypeKind::Set(item)
                    } else {
                        if self.tok() == Tok::CppType {
                            // The old place. Apache Thrift takes it, too, after a list only.
                            cpp_type = self.cpp_type()?;
                        }
                        TypeKind::List(item)
                    }
                }
                Tok::Map => {
                    self.advance();
                    cpp_type = self.cpp_type()?;
                    self.expect(Tok::Less, "`<` and the type of the keys")?;
                    let key = Box::new(self.nested_type(depth + 1)?);
                    self.expect(Tok::Comma, "`,` and the type of the values")?;
                    let value = Box::new(self.nested_type(depth + 1)?);
                    self.expect(Tok::Greater, "`>`")?;
                    TypeKind::Map(key, value)
                }
                Tok::Ident if self.token(1).tok == Tok::Less => self.generic(depth)?,
                Tok::Ident => TypeKind::Named(self.dotted_name("a type")?),
                Tok::Void => {
                    let error = Diagnostic::error("E0204", "`void` is only the result of a method")
                        .at(self.file, start, "not a type of values")
                        .help("for a value that says nothing, use an empty struct");
                    return Err(self.syntax_error(error));
                }
                Tok::Senum => {
                    let error = Diagnostic::error("E0205", "`senum` is not a type")
                        .at(self.file, start, "")
                        .help("write `string`");
                    return Err(self.syntax_error(error));
                }
                _ => return Err(self.unexpected("a type", None)),
            }
        };
        let span = start.to(self.previous());
        let mut annotations = Vec::new();
        if let Some(value) = cpp_type {
            let key = Text {
                text: "cpp_type".to_owned(),
                span: value.span,
            };
            annotations.push(Annotation {
                key,
                value: Some(value),
            });
        }
        if self.at_type_annotations(&kind) {
            annotations.append(&mut self.annotations()?);
        }
        Ok(TypeExpr {
            kind,
            span,
            annotations,
        })
    }

    /// True at the annotations of a type. After a name, `(` can also begin the parameters of a
    /// method whose result was forgotten; those begin with a type and a name.
    fn at_type_annotations(&self, kind: &TypeKind) -> bool {
        let after_key = matches!(
            self.token(2).tok,
            Tok::Equals | Tok::Comma | Tok::Semicolon | Tok::CloseParen
        );
        self.tok() == Tok::OpenParen
            && (!matches!(kind, TypeKind::Named(_)) || self.token(1).tok == Tok::Ident && after_key)
    }

    /// `array<T, 3, *>`, the only type with brackets whose name is no keyword.
    fn generic(&mut self, depth: usize) -> Parsed<TypeKind> {
        let name = self.dotted_name("a type")?;
        if name.text != "array" {
            let error = Diagnostic::error("E0206", format!("`{}` takes no `<…>` here", name.text))
                .at(self.file, name.span, "");
            let error = match name.text.as_str() {
                "stream" | "sink" => error.help("streams are results of methods, not values"),
                _ => error.help("only list, set, map and array have element types"),
            };
            self.sink.push(error);
            return Err(Reported);
        }
        self.expect(Tok::Less, "`<`")?;
        let item = Box::new(self.nested_type(depth + 1)?);
        let mut dimensions = Vec::new();
        while self.eat(Tok::Comma).is_some() {
            dimensions.push(match self.tok() {
                Tok::Star => {
                    self.advance();
                    Dimension::Dynamic
                }
                Tok::Int => {
                    let extent = self.int()?;
                    match u32::try_from(extent.value) {
                        Ok(size) if size > 0 => Dimension::Fixed(size),
                        _ => {
                            let message = format!("an array cannot have {} elements", extent.value);
                            let error = Diagnostic::error("E0207", message)
                                .at(self.file, extent.span, "")
                                .help("an extent is a number from 1 to 4294967295, or `*`");
                            self.sink.push(error);
                            return Err(Reported);
                        }
                    }
                }
                _ => return Err(self.unexpected("the number of elements, or `*`", None)),
            });
        }
        if dimensions.is_empty() {
            let help = "write `array<double, 3>`, or `array<double, *, *>` where the value decides";
            return Err(self.unexpected("`,` and the extent of the array", Some(help)));
        }
        self.expect(Tok::Greater, "`>`")?;
        Ok(TypeKind::Array(item, dimensions))
    }

    fn cpp_type(&mut self) -> Parsed<Option<Text>> {
        match self.eat(Tok::CppType) {
            Some(_) => self.literal("the C++ type as a string").map(Some),
            None => Ok(None),
        }
    }

    fn too_deep(&mut self, what: &str) -> Reported {
        let message = format!("{what} nest more than {MAX_DEPTH} deep");
        let error = Diagnostic::error("E0208", message)
            .at(self.file, self.span(), "too deep from here on")
            .help("give the inner parts a name of their own");
        self.syntax_error(error)
    }

    pub(super) fn int(&mut self) -> Parsed<Int> {
        let span = self.span();
        let text = self.word(0);
        let value = match self.tok() {
            Tok::Int => text.parse::<i128>().ok(),
            Tok::Hex => {
                let digits = text.trim_start_matches(['+', '-']).trim_start_matches("0x");
                let value = i128::from_str_radix(digits, 16).ok();
                value.map(|value| if text.starts_with('-') { -value } else { value })
            }
            _ => return Err(self.unexpected("an integer", None)),
        };
        self.advance();
        match value {
            Some(value) => Ok(Int { value, span }),
            None => {
                let error = Diagnostic::error("E0209", "this integer is too big for every type")
                    .at(self.file, span, "")
                    .help("the widest types are i64 and u64; a `decimal` takes more digits as a string");
                self.sink.push(error);
                Ok(Int { value: 0, span })
            }
        }
    }

    pub(super) fn constant(&mut self) -> Parsed<ConstExpr> {
        self.nested_constant(0)
    }

    fn nested_constant(&mut self, depth: usize) -> Parsed<ConstExpr> {
        let start = self.span();
        if depth >= MAX_DEPTH {
            return Err(self.too_deep("constants"));
        }
        let kind = match self.tok() {
            Tok::Int | Tok::Hex => ConstKind::Int(self.int()?.value),
            Tok::True | Tok::False => {
                let value = self.tok() == Tok::True;
                self.advance();
                ConstKind::Bool(value)
            }
            Tok::Double => {
                let text = self.word(0).to_owned();
                self.advance();
                ConstKind::Double(text)
            }
            Tok::Literal => ConstKind::Text(self.literal("a string")?.text),
            Tok::Ident => ConstKind::Name(self.dotted_name("a constant")?.text),
            Tok::OpenBracket => {
                self.advance();
                let mut items = Vec::new();
                while self.eat(Tok::CloseBracket).is_none() {
                    items.push(self.nested_constant(depth + 1)?);
                    if !matches!(self.tok(), Tok::Comma | Tok::Semicolon | Tok::CloseBracket)
                        && !self.at_constant()
                    {
                        return Err(self.unexpected("`,` or `]`", None));
                    }
                    self.separator();
                }
                ConstKind::List(items)
            }
            Tok::OpenBrace => {
                self.advance();
                let mut entries = Vec::new();
                while self.eat(Tok::CloseBrace).is_none() {
                    let key = self.nested_constant(depth + 1)?;
                    self.expect(Tok::Colon, "`:` and the value of this key")?;
                    entries.push((key, self.nested_constant(depth + 1)?));
                    if !matches!(self.tok(), Tok::Comma | Tok::Semicolon | Tok::CloseBrace)
                        && !self.at_constant()
                    {
                        return Err(self.unexpected("`,` or `}`", None));
                    }
                    self.separator();
                }
                ConstKind::Map(entries)
            }
            _ => return Err(self.unexpected("a value", None)),
        };
        Ok(ConstExpr {
            kind,
            span: start.to(self.previous()),
        })
    }

    fn at_constant(&self) -> bool {
        matches!(
            self.tok(),
            Tok::Int
                | Tok::Hex
                | Tok::True
                | Tok::False
                | Tok::Double
                | Tok::Literal
                | Tok::Ident
                | Tok::OpenBracket
                | Tok::OpenBrace
        )
    }

    pub(super) fn literal(&mut self, what: &str) -> Parsed<Text> {
        if self.tok() != Tok::Literal {
            return Err(self.unexpected(what, None));
        }
        let raw = self.word(0);
        let span = self.advance();
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.char_indices();
        while let Some((at, char)) = chars.next() {
            if char != '\\' {
                text.push(char);
                continue;
            }
            match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(plain @ ('"' | '\'' | '\\')) => text.push(plain),
                other => {
                    let escaped = other.unwrap_or('\\');
                    let start = span.start as usize + 1 + at;
                    let place = crate::source::Span::new(start, start + 1 + escaped.len_utf8());
                    let message = format!("`\\{}` is no escape of Thrift", escaped.escape_debug());
                    let error = Diagnostic::error("E0210", message)
                        .at(self.file, place, "")
                        .help("the escapes are \\n \\r \\t \\\" \\' and \\\\");
                    self.sink.push(error);
                }
            }
        }
        Ok(Text { text, span })
    }

    /// `(key = "value", key)`, or nothing.
    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        let Some(open) = self.eat(Tok::OpenParen) else {
            return Ok(annotations);
        };
        self.items(open, Tok::CloseParen, "list of annotations", |parser| {
            if parser.tok() != Tok::Ident && !super::is_keyword(parser.tok()) {
                return Err(parser.unexpected("the name of an annotation", None));
            }
            let key = Text {
                text: parser.word(0).to_owned(),
                span: parser.advance(),
            };
            let value = match parser.eat(Tok::Equals) {
                Some(_) => Some(parser.literal("the value of the annotation as a string")?),
                None => None,
            };
            annotations.push(Annotation { key, value });
            if !matches!(
                parser.tok(),
                Tok::Comma | Tok::Semicolon | Tok::CloseParen | Tok::Ident
            ) {
                return Err(parser.unexpected("`,` or `)`", None));
            }
            parser.separator();
            Ok(())
        })?;
        Ok(annotations)
    }

    /// `@Name{field = value}`, any number of them.
    pub(super) fn typed_annotations(&mut self) -> Parsed<Vec<TypedAnnotation>> {
        let mut annotations = Vec::new();
        while let Some(start) = self.eat(Tok::At) {
            let name = self.dotted_name("the struct that describes the annotation")?;
            let mut fields = Vec::new();
            if let Some(open) = self.eat(Tok::OpenBrace) {
                self.items(open, Tok::CloseBrace, "annotation", |parser| {
                    let span = parser.span();
                    if parser.tok() != Tok::Ident && !super::is_keyword(parser.tok()) {
                        return Err(parser.unexpected("the name of a field", None));
                    }
                    let key = ConstKind::Text(parser.word(0).to_owned());
                    parser.advance();
                    parser.expect(Tok::Equals, "`=` and the value of this field")?;
                    fields.push((ConstExpr { kind: key, span }, parser.constant()?));
                    parser.separator();
                    Ok(())
                })?;
            }
            let span = start.to(self.previous());
            let value = ConstExpr {
                kind: ConstKind::Map(fields),
                span,
            };
            annotations.push(TypedAnnotation { name, value, span });
        }
        Ok(annotations)
    }
}

/// The types that keywords of Apache Thrift name.
fn base_type(tok: Tok) -> Option<Type> {
    Some(match tok {
        Tok::Bool => Type::Bool,
        Tok::I8 => Type::I8,
        Tok::I16 => Type::I16,
        Tok::I32 => Type::I32,
        Tok::I64 => Type::I64,
        Tok::DoubleType => Type::F64,
        Tok::String => Type::String,
        Tok::Binary => Type::Bytes,
        Tok::Uuid => Type::Uuid,
        _ => return None,
    })
}
