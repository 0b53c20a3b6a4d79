//! Headers and definitions.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::thrift::ast::{
    Attributes, Definition, DefinitionKind, EnumValue, File, Header, Name, StructBody,
    StructKeyword, TypeExpr, TypeKind,
};
use crate::thrift::lexer::Tok;
use dovetail_schema::{ErrorKind, ExceptionTraits, Fault, Safety, Type};

impl Parser<'_> {
    pub(super) fn file(&mut self) -> File {
        let mut file = File::default();
        let first_doc = self.doc();
        while self.tok() != Tok::End {
            let before = self.at;
            self.item_start = before;
            let parsed = match self.tok() {
                Tok::Include | Tok::CppInclude | Tok::Namespace => self.header(&mut file),
                Tok::Ident if is_old_namespace(self.word(0)) => {
                    self.old_namespace();
                    Ok(())
                }
                Tok::Comma | Tok::Semicolon => {
                    let span = self.advance();
                    let help = "remove it: Apache Thrift's compiler refuses a separator here";
                    self.warn("W0201", span, "a separator with nothing to separate", help);
                    Ok(())
                }
                _ => self
                    .definition()
                    .map(|definition| file.definitions.push(definition)),
            };
            if before == 0 && !file.headers.is_empty() {
                file.doc = first_doc.clone();
            }
            if parsed.is_err() {
                self.recover_definition(before);
            }
        }
        file
    }

    /// Goes to the next token that begins a definition.
    fn recover_definition(&mut self, before: usize) {
        if self.at == before {
            self.advance();
        }
        while self.tok() != Tok::End && !self.at_definition() {
            let word = self.tok() == Tok::At || self.at_exception_word();
            if word && self.starts_line() {
                return;
            }
            self.advance();
        }
    }

    fn header(&mut self, file: &mut File) -> Parsed<()> {
        if let Some(first) = file.definitions.first() {
            let message = format!("`{}` stands after a definition", self.word(0));
            let error = Diagnostic::error("E0211", message)
                .at(self.file, self.span(), "")
                .also(self.file, first.name.span, "the first definition")
                .help("move it to the top of the file: headers come before definitions");
            self.sink.push(error);
        }
        let tok = self.tok();
        self.advance();
        let header = match tok {
            Tok::Include => Header::Include(self.literal("the path of a file as a string")?),
            Tok::CppInclude => {
                Header::CppInclude(self.literal("the path of a header as a string")?)
            }
            _ => {
                let span = self.span();
                let scope = match self.eat(Tok::Star) {
                    Some(_) => Name {
                        text: "*".to_owned(),
                        span,
                    },
                    None => self.dotted_name("the name of a language, or `*`")?,
                };
                let name = match self.tok() {
                    // Apache Thrift takes names only; fbthrift also strings.
                    Tok::Literal => self.literal("a namespace")?,
                    _ => self.dotted_name("the namespace")?,
                };
                Header::Namespace {
                    scope,
                    name,
                    annotations: self.annotations()?,
                }
            }
        };
        file.headers.push(header);
        self.separator();
        Ok(())
    }

    fn old_namespace(&mut self) {
        let old = self.word(0).to_owned();
        let scope = match old.as_str() {
            "py_module" => "py",
            "java_package" => "java",
            "perl_package" => "perl",
            "smalltalk_category" | "smalltalk_prefix" => "st",
            "ruby_namespace" => "rb",
            "cocoa_prefix" => "cocoa",
            other => other.strip_suffix("_namespace").unwrap_or(other),
        };
        let value = self.word(1).to_owned();
        let error = Diagnostic::error(
            "E0212",
            format!("`{old}` is an old spelling, no longer supported"),
        )
        .at(self.file, self.span(), "")
        .help(format!("write `namespace {scope} {value}`"));
        self.sink.push(error);
        self.advance();
        if matches!(self.tok(), Tok::Ident | Tok::Literal) {
            self.advance();
        }
    }

    fn definition(&mut self) -> Parsed<Definition> {
        let doc = self.doc();
        let typed = self.typed_annotations()?;
        let mut attributes = Attributes {
            doc,
            typed,
            untyped: Vec::new(),
        };
        let start = self.at;
        let tok = self.tok();
        let (name, kind) = match tok {
            Tok::Typedef => {
                self.advance();
                let ty = self.ty()?;
                let name = self.name("a name for the type")?;
                (name, DefinitionKind::Typedef(ty))
            }
            Tok::Const => {
                self.advance();
                let ty = self.ty()?;
                let name = self.name("the name of the constant")?;
                self.expect(Tok::Equals, "`=` and the value of the constant")?;
                let value = self.constant()?;
                (name, DefinitionKind::Const { ty, value })
            }
            Tok::Enum => self.enumeration()?,
            Tok::Senum => self.senum()?,
            Tok::Struct | Tok::Union | Tok::Exception => {
                self.structure(ExceptionTraits::default())?
            }
            Tok::Service => self.service()?,
            Tok::Ident if self.at_exception_word() => {
                let traits = self.exception_words()?;
                self.structure(traits)?
            }
            Tok::Ident if self.is_word(0, "interaction") => {
                let error = Diagnostic::error("E0213", "an interaction is written as a service")
                    .at(self.file, self.span(), "")
                    .help(
                        "write `service`; its name is then a type: a reference to a remote object",
                    );
                return Err(self.syntax_error(error));
            }
            Tok::CloseBrace => {
                let error = Diagnostic::error("E0214", "this `}` closes nothing")
                    .at(self.file, self.span(), "")
                    .help("remove it, or look for a missing `{` above");
                return Err(self.syntax_error(error));
            }
            _ => {
                let help = match self.word(0) {
                    "message" => Some("in Thrift, a message is a `struct`"),
                    "import" => Some("in Thrift, files are taken in by `include \"file.thrift\"`"),
                    "syntax" | "package" => Some("this looks like a .proto file"),
                    _ => None,
                };
                return Err(self.unexpected("a definition", help));
            }
        };
        debug_assert!(self.at > start);
        attributes.untyped = self.annotations()?;
        let definition = Definition {
            name,
            attributes,
            kind,
        };
        match tok {
            Tok::Typedef | Tok::Const => self.separator(),
            _ if matches!(self.tok(), Tok::Comma | Tok::Semicolon) => {
                let span = self.advance();
                let help = "remove it: Apache Thrift's compiler refuses a separator here";
                self.warn("W0201", span, "a separator after a `}`", help);
            }
            _ => {}
        }
        Ok(definition)
    }

    fn enumeration(&mut self) -> Parsed<(Name, DefinitionKind)> {
        self.advance();
        let name = self.name("the name of the enum")?;
        let open = self.expect(Tok::OpenBrace, "`{`")?;
        let (mut values, mut reserved) = (Vec::new(), Vec::new());
        let closed = self.items(open, Tok::CloseBrace, "enum", |parser| {
            if parser.at_reserved() {
                return parser.reserved(&mut reserved);
            }
            let doc = parser.doc();
            let typed = parser.typed_annotations()?;
            let mut attributes = Attributes {
                doc,
                typed,
                untyped: Vec::new(),
            };
            let name = parser.name("the name of a value")?;
            let number = match parser.eat(Tok::Equals) {
                Some(_) => Some(parser.int()?),
                None => None,
            };
            attributes.untyped = parser.annotations()?;
            parser.end_of_item("value", Tok::CloseBrace)?;
            parser.trailing_doc(&mut attributes);
            values.push(EnumValue {
                name,
                number,
                attributes,
            });
            Ok(())
        });
        // The members count even where the closing brace is missing: fewer errors follow from that.
        let _ = closed;
        Ok((name, DefinitionKind::Enum { values, reserved }))
    }

    /// `senum Name { "a", "b" }`: a string with a wish.
    fn senum(&mut self) -> Parsed<(Name, DefinitionKind)> {
        let span = self.advance();
        self.warn(
            "W0402",
            span,
            "`senum` is no longer part of Thrift; this is a `string`",
            "write a typedef of string, or an enum",
        );
        let name = self.name("the name of the senum")?;
        let open = self.expect(Tok::OpenBrace, "`{`")?;
        let closed = self.items(open, Tok::CloseBrace, "senum", |parser| {
            parser.literal("a string")?;
            parser.separator();
            Ok(())
        });
        let _ = closed;
        let ty = TypeExpr {
            kind: TypeKind::Base(Type::String),
            span,
            annotations: Vec::new(),
        };
        Ok((name, DefinitionKind::Typedef(ty)))
    }

    fn structure(&mut self, traits: ExceptionTraits) -> Parsed<(Name, DefinitionKind)> {
        let (keyword, what) = match self.tok() {
            Tok::Struct => (StructKeyword::Struct, "struct"),
            Tok::Union => (StructKeyword::Union, "union"),
            _ => (StructKeyword::Exception(traits), "exception"),
        };
        self.advance();
        let name = self.name(&format!("the name of the {what}"))?;
        if let Some(span) = self.eat(Tok::XsdAll) {
            self.xsd(span);
        }
        let extends = match self.eat(Tok::Extends) {
            Some(_) => Some(self.dotted_name(&format!("the {what} that this one extends"))?),
            None => None,
        };
        let open = self.expect(Tok::OpenBrace, "`{`")?;
        let mut body = StructBody {
            keyword,
            extends,
            fields: Vec::new(),
            reserved: Vec::new(),
        };
        let StructBody {
            fields, reserved, ..
        } = &mut body;
        let closed = self.items(open, Tok::CloseBrace, what, |parser| {
            if parser.at_reserved() {
                return parser.reserved(reserved);
            }
            let field = parser.field(Tok::CloseBrace)?;
            fields.push(field);
            Ok(())
        });
        let _ = closed;
        Ok((name, DefinitionKind::Struct(body)))
    }

    pub(super) fn xsd(&mut self, span: Span) {
        let message = format!("`{}` has no effect", self.slice(span));
        self.warn(
            "W0403",
            span,
            &message,
            "remove it: XML schemas are not made from Thrift files any more",
        );
    }

    /// True at `safe exception` and its like.
    fn at_exception_word(&self) -> bool {
        let mut ahead = 0;
        while self.token(ahead).tok == Tok::Ident
            && is_exception_word(self.word(ahead))
            && ahead < 8
        {
            ahead += 1;
        }
        ahead > 0
    }

    fn exception_words(&mut self) -> Parsed<ExceptionTraits> {
        let mut traits = ExceptionTraits::default();
        while self.tok() == Tok::Ident {
            let word = self.word(0);
            let span = self.span();
            let clash = match word {
                "safe" => {
                    std::mem::replace(&mut traits.safety, Safety::Safe) != Safety::Unspecified
                }
                "transient" | "stateful" | "permanent" => {
                    let kind = match word {
                        "transient" => ErrorKind::Transient,
                        "stateful" => ErrorKind::Stateful,
                        _ => ErrorKind::Permanent,
                    };
                    std::mem::replace(&mut traits.kind, kind) != ErrorKind::Unspecified
                }
                "client" | "server" => {
                    let fault = if word == "client" {
                        Fault::Client
                    } else {
                        Fault::Server
                    };
                    std::mem::replace(&mut traits.fault, fault) != Fault::Unspecified
                }
                _ => break,
            };
            if clash {
                let message = format!("`{word}` does not go with a word before it");
                let error = Diagnostic::error("E0215", message).at(self.file, span, "").help(
                    "take at most one of each: safe; transient, stateful or permanent; client or server",
                );
                self.sink.push(error);
            }
            self.advance();
        }
        if self.tok() != Tok::Exception {
            let help =
                "safe, transient, stateful, permanent, client and server describe exceptions";
            return Err(self.unexpected("`exception`", Some(help)));
        }
        Ok(traits)
    }
}

fn is_exception_word(word: &str) -> bool {
    matches!(
        word,
        "safe" | "transient" | "stateful" | "permanent" | "client" | "server"
    )
}

/// Returns whether Apache Thrift's compiler calls this an unsupported declaration.
fn is_old_namespace(word: &str) -> bool {
    matches!(
        word,
        "cpp_namespace"
            | "java_package"
            | "csharp_namespace"
            | "delphi_namespace"
            | "php_namespace"
            | "py_module"
            | "perl_package"
            | "ruby_namespace"
            | "smalltalk_category"
            | "smalltalk_prefix"
            | "cocoa_prefix"
            | "xsd_namespace"
    )
}
