//! The statements of a file.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::proto::descriptor::{Edition, File, Visibility};
use crate::proto::lexer::Tok;
use crate::source::Span;

/// The largest number of parts in a package's name that protobuf's compiler takes.
const MAX_PARTS: usize = 101;

impl Parser<'_> {
    pub(super) fn file(&mut self, file: &mut File) {
        self.comments(None, None);
        let whole = self.positions.add(&[], self.span());
        self.gap.trailing = None;
        let dialect = self.is_word("syntax") || self.is_word("edition");
        if dialect
            && self
                .located(&[12], |p, place| p.dialect(file, place))
                .is_err()
        {
            self.skip_statement();
        }
        self.edition = file.edition;
        while self.tok() != Tok::End {
            if self.eat_end(Tok::Semicolon) {
                continue;
            }
            let before = self.at;
            self.statement_start = before;
            if self.statement(file).is_err() {
                if self.at == before && self.tok() != Tok::CloseBrace {
                    self.advance();
                }
                self.skip_statement();
                if self.tok() == Tok::CloseBrace {
                    self.unexpected("a definition", "this `}` closes nothing");
                    self.advance();
                }
            }
        }
        self.end_at_previous(whole);
    }

    /// `syntax = "…";` or `edition = "…";`
    fn dialect(&mut self, file: &mut File, place: usize) -> Parsed<()> {
        let edition = self.eat_word("edition") || {
            self.advance();
            false
        };
        self.expect(Tok::Equals, "`=`")?;
        let span = self.span();
        let name = self.string("the name of a dialect, in quotes")?;
        let help = match (edition, name.as_str()) {
            (false, "proto2") => return self.dialect_is(file, Edition::Proto2, place),
            (false, "proto3") => return self.dialect_is(file, Edition::Proto3, place),
            (true, "2023") => return self.dialect_is(file, Edition::E2023, place),
            (true, "2024") => return self.dialect_is(file, Edition::E2024, place),
            (true, "proto2" | "proto3") => format!("write `syntax = \"{name}\";`"),
            (false, "2023" | "2024" | "editions") => "write `edition = \"2023\";`".to_owned(),
            (true, _) => "editions are \"2023\" and \"2024\"".to_owned(),
            (false, _) => "it is \"proto2\" or \"proto3\"".to_owned(),
        };
        let what = if edition { "edition" } else { "syntax" };
        self.error("E1204", span, format!("unknown {what} \"{name}\""), &help);
        self.end_of(Tok::Semicolon, "`;`", Some(place))
    }

    fn dialect_is(&mut self, file: &mut File, edition: Edition, place: usize) -> Parsed<()> {
        file.edition = edition;
        self.end_of(Tok::Semicolon, "`;`", Some(place))
    }

    fn statement(&mut self, file: &mut File) -> Parsed<()> {
        match self.word_ahead(0) {
            Some("message" | "enum" | "export" | "local") => {
                self.type_definition(&mut file.messages, &mut file.enums, [4, 5])
            }
            Some("service") => {
                let index = file.services.len() as i32;
                let service = self.located(&[6, index], Self::service)?;
                file.services.push(service);
                Ok(())
            }
            Some("extend") => {
                let (extensions, messages) = (&mut file.extensions, &mut file.messages);
                self.located(&[7], |p, place| p.extend(extensions, messages, 4, place))
            }
            Some("import") => self.import(file),
            Some("package") => self.located(&[2], |p, place| p.package(file, place)),
            Some("option") => self.option_statement(8),
            Some("syntax" | "edition") => {
                let message = "the dialect comes first in a file, and once";
                self.error("E1204", self.span(), message, "move it before everything else");
                Err(super::Reported)
            }
            Some("rpc") => Err(self.unexpected("a definition", "methods stand in a `service`")),
            Some("struct" | "class" | "type") => Err(self.unexpected(
                "a definition",
                "the word is `message`",
            )),
            Some("oneof" | "reserved" | "extensions" | "optional" | "required" | "repeated") => {
                Err(self.unexpected("a definition", "this belongs into a `message`"))
            }
            _ if self.tok() == Tok::CloseBrace => {
                Err(self.unexpected("a definition", "this `}` closes nothing"))
            }
            _ => Err(self.unexpected(
                "a definition",
                "a file has `message`, `enum`, `service`, `extend`, `import`, `package` and `option`",
            )),
        }
    }

    /// A message or enum, which may say who may use it; the tags are those of the scope around it.
    pub(super) fn type_definition(
        &mut self,
        messages: &mut Vec<crate::proto::descriptor::Message>,
        enums: &mut Vec<crate::proto::descriptor::Enum>,
        [message_tag, enum_tag]: [i32; 2],
    ) -> Parsed<()> {
        let visibility = self.visibility();
        match self.word_ahead(0) {
            Some("enum") => {
                let index = enums.len() as i32;
                let mut def = self.located(&[enum_tag, index], Self::enumeration)?;
                def.visibility = visibility;
                enums.push(def);
            }
            Some("message") => {
                let index = messages.len() as i32;
                let mut def = self.located(&[message_tag, index], Self::message)?;
                def.visibility = visibility;
                messages.push(def);
            }
            _ => return Err(self.unexpected("`message` or `enum`", "")),
        }
        Ok(())
    }

    fn visibility(&mut self) -> Visibility {
        let visibility = match self.word_ahead(0) {
            Some("export") => Visibility::Export,
            Some("local") => Visibility::Local,
            _ => return Visibility::Unset,
        };
        let span = self.advance();
        if self.edition < Edition::E2024 {
            let message = "`export` and `local` exist from edition 2024 on";
            self.error("E1205", span, message, "remove the word");
        }
        visibility
    }

    fn package(&mut self, file: &mut File, place: usize) -> Parsed<()> {
        let start = self.advance();
        if !file.package.is_empty() {
            self.error(
                "E1206",
                start,
                "a file has one package",
                "remove one of the two lines",
            );
        }
        file.package = self.dotted("the name of the package", false)?;
        if file.package.len() > 511 || file.package.split('.').count() > MAX_PARTS {
            let message = "this package has too long a name";
            self.error("E1206", self.previous(), message, "shorten it");
            file.package.clear();
        }
        self.end_of(Tok::Semicolon, "`;`", Some(place))
    }

    fn import(&mut self, file: &mut File) -> Parsed<()> {
        if self.token(1).tok == Tok::Ident && self.word_ahead(1) == Some("option") {
            return self.import_option(file);
        }
        let index = file.dependencies.len() as i32;
        self.located(&[3, index], |p, place| {
            let start = p.advance();
            let word = p.word_ahead(0);
            let list = match word {
                Some("public") => Some((10, &mut file.public)),
                Some("weak") => Some((11, &mut file.weak)),
                _ => None,
            };
            if word == Some("weak") && p.edition >= Edition::E2024 {
                let message = "edition 2024 has no weak imports";
                p.error(
                    "E1205",
                    p.span(),
                    message,
                    "write `import option`, or remove the word",
                );
            }
            if let Some((tag, list)) = list {
                let path = [tag, list.len() as i32];
                let place = p.positions.add(&path, p.span());
                list.push(index);
                p.advance();
                p.end_at_previous(place);
            }
            if !file.option_dependencies.is_empty() {
                let help = "move the other imports before them";
                p.error(
                    "E1207",
                    start,
                    "`import option` comes last of the imports",
                    help,
                );
            }
            let span = p.span();
            let path = p.string("the path of a file, in quotes")?;
            p.imported(&path, span);
            file.dependencies.push(path);
            p.end_of(Tok::Semicolon, "`;`", Some(place))
        })
    }

    fn import_option(&mut self, file: &mut File) -> Parsed<()> {
        if self.edition < Edition::E2024 {
            let message = "`import option` exists from edition 2024 on";
            self.error("E1205", self.token(1).span, message, "write `import`");
        }
        let index = file.option_dependencies.len() as i32;
        self.located(&[15, index], |p, place| {
            p.advance();
            p.advance();
            let span = p.span();
            let path = p.string("the path of a file, in quotes")?;
            p.imported(&path, span);
            file.option_dependencies.push(path);
            p.end_of(Tok::Semicolon, "`;`", Some(place))
        })
    }

    fn imported(&mut self, path: &str, span: Span) {
        if !self.imports.insert(path.to_owned()) {
            let message = format!("`{path}` is imported twice");
            self.error("E1301", span, message, "remove one of the two lines");
        }
    }

    /// A string that is text, of one or more tokens.
    pub(super) fn string(&mut self, what: &str) -> Parsed<String> {
        let start = self.span();
        let bytes = self.bytes(what)?;
        String::from_utf8(bytes).map_err(|_| {
            let span = start.to(self.previous());
            let error = Diagnostic::error("E1105", "this string is not valid UTF-8");
            let help = "`\\x` and octal escapes are bytes; `\\u` is a character";
            self.sink.push(error.at(self.id, span, "").help(help));
            super::Reported
        })
    }
}
