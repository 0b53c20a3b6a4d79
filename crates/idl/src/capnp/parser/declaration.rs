//! Definitions.

use super::{GivenUp, Parsed, Parser};
use crate::capnp::lexer::Tok;
use crate::capnp::syntax::{
    Attributes, Declaration, DeclarationKind, Enumerant, Expression, ExpressionKind, Method, Name,
    Parameters,
};
use crate::diagnostic::Diagnostic;

/// The things that an annotation can be declared for.
const TARGETS: &[&str] = &[
    "file",
    "const",
    "enum",
    "enumerant",
    "struct",
    "field",
    "union",
    "group",
    "interface",
    "method",
    "param",
    "parameter",
    "annotation",
];

impl Parser<'_, '_> {
    /// Returns whether a definition comes, not a field or a method that has such a name.
    pub(super) fn is_declaration(&self) -> bool {
        let word = self.slice(self.token(0).span);
        self.peek() == Tok::Ident
            && self.token(1).tok == Tok::Ident
            && [
                "using",
                "const",
                "enum",
                "struct",
                "interface",
                "annotation",
            ]
            .contains(&word)
    }

    pub(super) fn declaration(&mut self) -> Parsed<Declaration> {
        if !self.is_declaration() {
            return self.unexpected(
                "`struct`, `enum`, `interface`, `const`, `annotation` or `using`, and a name",
            );
        }
        let keyword = self.next();
        match self.slice(keyword.span) {
            "using" => self.using(),
            "const" => self.constant(),
            "enum" => self.enumeration(),
            "struct" => self.structure(),
            "interface" => self.interface(),
            _ => self.annotation(),
        }
    }

    fn using(&mut self) -> Parsed<Declaration> {
        let named = self.token(1).tok == Tok::Equals;
        let (name, target) = match named {
            true => {
                let name = self.name()?;
                self.at += 1;
                (name, self.expression()?)
            }
            false => {
                let target = self.expression()?;
                (self.last_name(&target)?, target)
            }
        };
        Ok(Declaration {
            name,
            id: None,
            parameters: Vec::new(),
            attributes: self.end()?,
            kind: DeclarationKind::Using(target),
        })
    }

    /// The name that `using a.b.Name` gives.
    fn last_name(&mut self, target: &Expression) -> Parsed<Name> {
        if let ExpressionKind::Member(_, name) = &target.kind {
            return Ok(name.clone());
        }
        let error = Diagnostic::error("E2203", "this `using` gives no name");
        let error = error.at(self.file, target.span, "");
        self.sink
            .push(error.help("write `using Name = …;` or `using ….Name;`"));
        Err(GivenUp)
    }

    fn constant(&mut self) -> Parsed<Declaration> {
        let (name, id) = (self.name()?, self.id()?);
        self.expect(Tok::Colon, "`:` and a type")?;
        let ty = self.expression()?;
        self.expect(Tok::Equals, "`=` and a value")?;
        let value = self.expression()?;
        Ok(Declaration {
            name,
            id,
            parameters: Vec::new(),
            attributes: self.end()?,
            kind: DeclarationKind::Const { ty, value },
        })
    }

    fn annotation(&mut self) -> Parsed<Declaration> {
        let (name, id) = (self.name()?, self.id()?);
        self.tuple(Parser::target)?;
        self.expect(Tok::Colon, "`:` and a type")?;
        let ty = self.expression()?;
        Ok(Declaration {
            name,
            id,
            parameters: Vec::new(),
            attributes: self.end()?,
            kind: DeclarationKind::Annotation(ty),
        })
    }

    fn target(&mut self) -> Parsed<()> {
        let token = self.token(0);
        let known = token.tok == Tok::Star || TARGETS.contains(&self.slice(token.span));
        match known {
            true => self.at += 1,
            false => return self.unexpected("`*`, `file`, `struct`, `field`, `method` …"),
        }
        Ok(())
    }

    fn id(&mut self) -> Parsed<Option<crate::capnp::syntax::Number>> {
        match self.peek() {
            Tok::At => self.number().map(Some),
            _ => Ok(None),
        }
    }

    fn enumeration(&mut self) -> Parsed<Declaration> {
        let (name, id) = (self.name()?, self.id()?);
        let attributes = self.begin()?;
        let mut enumerants = Vec::new();
        self.block(|parser| {
            let (name, ordinal) = (parser.name()?, parser.ordinal()?);
            let attributes = parser.end()?;
            enumerants.push(Enumerant {
                name,
                ordinal,
                attributes,
            });
            Ok(())
        })?;
        Ok(Declaration {
            name,
            id,
            parameters: Vec::new(),
            attributes,
            kind: DeclarationKind::Enum(enumerants),
        })
    }

    /// The name of a type, its id, and its parameters, in either order.
    fn head(&mut self) -> Parsed<Declaration> {
        let name = self.name()?;
        let before = self.parameters()?;
        let id = self.id()?;
        let parameters = match before.is_empty() {
            true => self.parameters()?,
            false => before,
        };
        Ok(Declaration {
            name,
            id,
            parameters,
            attributes: Attributes::default(),
            kind: DeclarationKind::Enum(Vec::new()),
        })
    }

    fn parameters(&mut self) -> Parsed<Vec<Name>> {
        match self.peek() {
            Tok::OpenParen => self.tuple(Parser::name),
            _ => Ok(Vec::new()),
        }
    }

    fn structure(&mut self) -> Parsed<Declaration> {
        let head = self.head()?;
        let attributes = self.begin()?;
        let (mut members, mut nested) = (Vec::new(), Vec::new());
        self.block(|parser| {
            match parser.is_declaration() {
                true => nested.push(parser.declaration()?),
                false => members.push(parser.member()?),
            }
            Ok(())
        })?;
        Ok(Declaration {
            attributes,
            kind: DeclarationKind::Struct { members, nested },
            ..head
        })
    }

    fn interface(&mut self) -> Parsed<Declaration> {
        let head = self.head()?;
        let word = self.slice(self.token(0).span);
        let extends = match self.peek() == Tok::Ident && word == "extends" {
            true => {
                self.at += 1;
                self.tuple(Parser::expression)?
            }
            false => Vec::new(),
        };
        let attributes = self.begin()?;
        let (mut methods, mut nested) = (Vec::new(), Vec::new());
        self.block(|parser| {
            match parser.is_declaration() {
                true => nested.push(parser.declaration()?),
                false => methods.push(parser.method()?),
            }
            Ok(())
        })?;
        Ok(Declaration {
            attributes,
            kind: DeclarationKind::Interface {
                extends,
                methods,
                nested,
            },
            ..head
        })
    }

    fn method(&mut self) -> Parsed<Method> {
        let (name, ordinal) = (self.name()?, self.ordinal()?);
        let implicit = match self.take(Tok::OpenBracket) {
            true => self.listed(Tok::CloseBracket, "`,` or `]`", &mut Parser::name)?,
            false => Vec::new(),
        };
        let params = self.method_parameters()?;
        let results = match self.take(Tok::Arrow) {
            true => Some(self.method_parameters()?),
            false => None,
        };
        Ok(Method {
            name,
            ordinal,
            implicit,
            params,
            results,
            attributes: self.end()?,
        })
    }

    fn method_parameters(&mut self) -> Parsed<Parameters> {
        if self.peek() == Tok::OpenParen {
            let mut count = 0;
            let parameters = self.tuple(|parser| {
                count += 1;
                parser.parameter(count - 1)
            })?;
            return Ok(Parameters::List(parameters));
        }
        let ty = self.expression()?;
        Ok(match &ty.kind {
            ExpressionKind::Relative(name) if name == "stream" => Parameters::Stream,
            _ => Parameters::Struct(ty),
        })
    }
}
