//! Messages: their statements, ranges of numbers, oneofs, extensions.

use super::{MAX_DEPTH, Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::proto::descriptor::{Edition, ExtensionRange, Field, Label, Message, Oneof};
use crate::proto::lexer::Tok;
use crate::proto::syntax::below;

/// The largest number of a field.
pub(crate) const MAX_NUMBER: i32 = (1 << 29) - 1;

/// How many options a statement may make for its ranges, which all have the same ones.
const MAX_COPIES: usize = 1 << 16;

/// The value of `max` until the message's options are known.
const MAX: i32 = -1;

impl Parser<'_> {
    pub(super) fn message(&mut self, place: usize) -> Parsed<Message> {
        self.expect_word("message")?;
        let mut message = Message {
            name: self.part(1, |p| p.name("the name of the message"))?,
            ..Message::default()
        };
        self.message_block(&mut message, place)?;
        Ok(message)
    }

    pub(super) fn message_block(&mut self, message: &mut Message, place: usize) -> Parsed<()> {
        let open = self.span();
        let options = self.options.len();
        let result = self.deeper(MAX_DEPTH, |p| {
            p.end_of(Tok::OpenBrace, "`{`", Some(place))?;
            p.block(open, |p| p.message_statement(message))
        });
        self.synthetic_oneofs(message);
        let message_set = self.options[options..].iter().any(|option| {
            option.owner == self.path
                && matches!(option.name.as_slice(), [part] if part.text == "message_set_wire_format" && !part.extension)
        });
        // The ends are not part of their ranges.
        let max = if message_set {
            i32::MAX
        } else {
            MAX_NUMBER + 1
        };
        let extensions = message
            .extension_ranges
            .iter_mut()
            .map(|range| &mut range.end);
        let reserved = message.reserved_ranges.iter_mut().map(|(_, end)| end);
        for end in extensions.chain(reserved) {
            *end = if *end == MAX { max } else { *end };
        }
        result
    }

    fn message_statement(&mut self, message: &mut Message) -> Parsed<()> {
        let next = self.token(1).tok;
        match self.word_ahead(0) {
            // These words can also begin the type of a field: `message.Name field = 1;`.
            Some(_) if next == Tok::Dot => self.message_field(message),
            Some("message" | "enum") if next == Tok::Ident => {
                self.type_definition(&mut message.messages, &mut message.enums, [3, 4])
            }
            Some("export" | "local") if self.at_visible_definition() => {
                self.type_definition(&mut message.messages, &mut message.enums, [3, 4])
            }
            Some("extensions") => self.located(&[5], |p, place| p.extensions(message, place)),
            Some("reserved") => self.reserved_statement(message),
            Some("extend") => {
                let (extensions, messages) = (&mut message.extensions, &mut message.messages);
                self.located(&[6], |p, place| p.extend(extensions, messages, 3, place))
            }
            Some("option") => self.option_statement(7),
            Some("oneof") => {
                let index = message.oneofs.len();
                self.located(&[8, index as i32], |p, place| {
                    p.oneof(message, index, place)
                })
            }
            // Unless these words are the type of a field.
            Some("rpc") if !self.at_field() => {
                Err(self.unexpected("a field", "methods stand in a `service`"))
            }
            Some("import" | "package" | "service") if !self.at_field() => {
                Err(self.unexpected("a field", "this belongs to the file, not into a message"))
            }
            _ => self.message_field(message),
        }
    }

    /// True at `export` or `local` before a definition. Before edition 2024 they are names like
    /// others, so that a field `local message = 1;` is of the type `local`.
    fn at_visible_definition(&self) -> bool {
        let defines = matches!(self.word_ahead(1), Some("message" | "enum"));
        self.token(1).tok == Tok::Ident
            && (self.edition >= Edition::E2024 || (defines && self.token(2).tok == Tok::Ident))
    }

    /// True at a type and a name with `=` behind them.
    fn at_field(&self) -> bool {
        self.token(1).tok == Tok::Ident && self.token(2).tok == Tok::Equals
    }

    fn message_field(&mut self, message: &mut Message) -> Parsed<()> {
        let index = message.fields.len() as i32;
        let messages = &mut message.messages;
        let field = self.located(&[2, index], |p, place| {
            let label = p.label()?;
            p.field(label, Field::default(), messages, 3, place)
        })?;
        message.fields.push(field);
        Ok(())
    }

    fn oneof(&mut self, message: &mut Message, index: usize, place: usize) -> Parsed<()> {
        self.advance();
        let name = self.part(1, |p| p.name("the name of the oneof"))?;
        message.oneofs.push(Oneof {
            name,
            ..Oneof::default()
        });
        let open = self.span();
        self.end_of(Tok::OpenBrace, "`{`", Some(place))?;
        let fields = message.fields.len();
        // Its fields are those of the message.
        let own = self.path.split_off(self.path.len() - 2);
        let result = self.fields_block(open, |p| {
            if p.is_word("option") && p.token(1).tok != Tok::Dot {
                p.path.extend_from_slice(&own);
                let result = p.option_statement(2);
                p.path.truncate(p.path.len() - own.len());
                return result;
            }
            p.oneof_field(message, index)
        });
        self.path.extend_from_slice(&own);
        if message.fields.len() == fields && result.is_ok() {
            let span = self.positions.part(&self.path, 1);
            self.error(
                "E1503",
                span,
                "a oneof has at least one field",
                "add one, or remove the oneof",
            );
        }
        result
    }

    fn oneof_field(&mut self, message: &mut Message, oneof: usize) -> Parsed<()> {
        let field = below(&[], 2, message.fields.len());
        let messages = &mut message.messages;
        let field = self.located(&field, |p, place| {
            if let Some("optional" | "required" | "repeated") = p.word_ahead(0)
                && matches!(p.token(1).tok, Tok::Ident | Tok::Dot)
            {
                let word = p.slice(p.span());
                let message = format!("a field of a oneof is not `{word}`");
                p.error(
                    "E1503",
                    p.span(),
                    message,
                    "remove the word; at most one of them is there",
                );
                p.advance();
            }
            if p.is_word("map") && p.token(1).tok == Tok::Less {
                p.error(
                    "E1503",
                    p.span(),
                    "a oneof has no maps",
                    "put the map into a message",
                );
            }
            let start = Field {
                oneof: Some(oneof as i32),
                ..Field::default()
            };
            p.field(Some(Label::Optional), start, messages, 3, place)
        })?;
        message.fields.push(field);
        Ok(())
    }

    /// A oneof of its own for each `optional` field of proto3.
    fn synthetic_oneofs(&mut self, message: &mut Message) {
        let names = message.fields.iter().map(|field| field.name.clone());
        let mut taken: std::collections::HashSet<String> = names.collect();
        taken.extend(message.oneofs.iter().map(|oneof| oneof.name.clone()));
        for field in &mut message.fields {
            if field.proto3_optional {
                let mut name = match field.name.starts_with('_') {
                    true => field.name.clone(),
                    false => format!("_{}", field.name),
                };
                while taken.contains(&name) {
                    name.insert(0, 'X');
                }
                taken.insert(name.clone());
                field.oneof = Some(message.oneofs.len() as i32);
                message.oneofs.push(Oneof {
                    name,
                    ..Oneof::default()
                });
            }
        }
    }

    pub(super) fn extend(
        &mut self,
        extensions: &mut Vec<Field>,
        messages: &mut Vec<Message>,
        messages_tag: i32,
        place: usize,
    ) -> Parsed<()> {
        self.advance();
        let start = self.span();
        let extendee = self.message_name("the message to extend")?;
        let extendee_span = start.to(self.previous());
        let open = self.span();
        self.end_of(Tok::OpenBrace, "`{`", Some(place))?;
        let before = extensions.len();
        self.fields_block(open, |p| {
            let index = extensions.len() as i32;
            let extension = p.located(&[index], |p, place| {
                let path = [p.path.as_slice(), &[2]].concat();
                p.positions.add(&path, extendee_span);
                let label = p.label()?;
                let start = Field {
                    extendee: extendee.clone(),
                    ..Field::default()
                };
                p.field(label, start, messages, messages_tag, place)
            })?;
            extensions.push(extension);
            Ok(())
        })?;
        if extensions.len() == before {
            self.error(
                "E1201",
                open,
                "this `extend` has no field",
                "add one, or remove it",
            );
        }
        Ok(())
    }

    fn extensions(&mut self, message: &mut Message, place: usize) -> Parsed<()> {
        self.advance();
        let first = message.extension_ranges.len();
        loop {
            let index = message.extension_ranges.len() as i32;
            let (start, end) = self.located(&[index], |p, _| p.range(false))?;
            message.extension_ranges.push(ExtensionRange {
                start,
                end: if end == MAX {
                    MAX
                } else {
                    end.saturating_add(1)
                },
                options: Default::default(),
            });
            if self.eat(Tok::Comma).is_none() {
                break;
            }
        }
        if self.tok() == Tok::OpenBracket {
            self.range_options(first, message.extension_ranges.len())?;
        }
        self.end_of(Tok::Semicolon, "`;`", Some(place))
    }

    /// Options in brackets, which are those of several ranges.
    fn range_options(&mut self, first: usize, end: usize) -> Parsed<()> {
        let (options, start) = (self.options.len(), self.positions.list.len());
        self.path.push(first as i32);
        let result = self.bracketed_options(3, |_| None);
        self.path.pop();
        result?;
        let options = self.options[options..].to_vec();
        let positions = self.positions.list[start..].to_vec();
        if options.len().saturating_mul(end - first) > MAX_COPIES {
            let help = "split the statement";
            self.error(
                "E1504",
                self.previous(),
                "so many ranges cannot have so many options",
                help,
            );
            return Ok(());
        }
        let depth = self.path.len();
        for index in first + 1..end {
            let offset = self.positions.list.len();
            for place in &positions {
                let mut path = place.path.clone();
                path[depth] = index as i32;
                self.positions.add(&path, place.span);
            }
            for option in &options {
                let mut option = option.clone();
                option.owner[depth] = index as i32;
                option.place = option.place - start + offset;
                self.options.push(option);
            }
        }
        Ok(())
    }

    fn reserved_statement(&mut self, message: &mut Message) -> Parsed<()> {
        let Message {
            reserved_ranges,
            reserved_names,
            ..
        } = message;
        self.reserved(reserved_ranges, reserved_names, [9, 10], false)
    }

    /// `reserved 1, 5 to max;` or `reserved "name";`. Ends of an enum's ranges are part of them.
    pub(super) fn reserved(
        &mut self,
        ranges: &mut Vec<(i32, i32)>,
        names: &mut Vec<String>,
        tags: [i32; 2],
        of_enum: bool,
    ) -> Parsed<()> {
        let named = matches!(self.token(1).tok, Tok::Str | Tok::Ident);
        self.located(&[tags[usize::from(named)]], |p, place| {
            p.advance();
            loop {
                if named {
                    let index = names.len() as i32;
                    let name = p.located(&[index], |p, _| p.reserved_name())?;
                    names.push(name);
                } else {
                    let index = ranges.len() as i32;
                    let (start, end) = p.located(&[index], |p, _| p.range(of_enum))?;
                    let end = match end {
                        end if of_enum => end,
                        MAX => MAX,
                        i32::MAX => {
                            let text = "this range ends behind the last number of 32 bits";
                            p.error("E1504", p.previous(), text, "write `max`");
                            MAX
                        }
                        end => end + 1,
                    };
                    ranges.push((start, end));
                }
                if p.eat(Tok::Comma).is_none() {
                    break;
                }
            }
            p.end_of(Tok::Semicolon, "`;`", Some(place))
        })
    }

    /// Editions have bare words, older languages strings.
    fn reserved_name(&mut self) -> Parsed<String> {
        let help = match (self.tok(), self.in_editions()) {
            (Tok::Str, true) => "remove the quotes: editions have plain names here",
            (Tok::Ident, false) => "put it into quotes; editions have plain names here",
            (Tok::Ident, true) => return self.name("a name"),
            (Tok::Str, false) => {
                let span = self.span();
                let name = self.string("a name")?;
                let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !plain || name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
                    let message = format!("`{name}` is no name that a field could have");
                    let warning = Diagnostic::warning("W1201", message).at(self.id, span, "");
                    self.sink
                        .push(warning.help("reserve names as they would be written"));
                }
                return Ok(name);
            }
            _ => "reserve numbers and names in separate statements",
        };
        Err(self.unexpected("a name", help))
    }

    /// A number, or two with `to` between them, both included; `max` for the last of all.
    fn range(&mut self, of_enum: bool) -> Parsed<(i32, i32)> {
        let span = self.span();
        let start = self.part(1, |p| p.number("a number", of_enum))?;
        if !self.eat_word("to") {
            let path = [self.path.as_slice(), &[2]].concat();
            self.positions.add(&path, span.to(self.previous()));
            return Ok((start, start));
        }
        let end = self.part(2, |p| match p.eat_word("max") {
            true if of_enum => Ok(i32::MAX),
            true => Ok(MAX),
            false => p.number("a number, or `max`", of_enum),
        })?;
        let last = if end == MAX && !of_enum {
            i32::MAX
        } else {
            end
        };
        if last < start {
            let message = format!("{start} to {end} is no range");
            self.error(
                "E1504",
                span.to(self.previous()),
                message,
                "the smaller number comes first",
            );
        }
        Ok((start, end))
    }

    /// A number that fits 32 bits.
    pub(super) fn number(&mut self, what: &str, signed: bool) -> Parsed<i32> {
        let start = self.span();
        let negative = signed && self.eat(Tok::Minus).is_some();
        if self.tok() != Tok::Int {
            return Err(self.unexpected(what, ""));
        }
        let token = self.advance();
        let magnitude = crate::proto::literal::integer(self.slice(token)).map(i128::from);
        let value = magnitude.map(|value| if negative { -value } else { value });
        value
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| {
                let message = "this number does not fit 32 bits";
                self.error(
                    "E1106",
                    start.to(token),
                    message,
                    "numbers go to 2147483647",
                );
                super::Reported
            })
    }

    /// The name of a message, where no other type can stand.
    pub(super) fn message_name(&mut self, what: &str) -> Parsed<String> {
        if let Some(word) = self.word_ahead(0)
            && crate::proto::descriptor::Kind::of_word(word).is_some()
            && self.token(1).tok != Tok::Dot
        {
            let message = format!("expected {what}, found the type `{word}`");
            let help = "define a message with one field of this type, or take one of google/protobuf/wrappers.proto";
            self.error("E1201", self.span(), message, help);
            return Err(super::Reported);
        }
        self.dotted(what, true)
    }

    pub(super) fn label(&mut self) -> Parsed<Option<Label>> {
        let label = match self.word_ahead(0) {
            Some("optional") => Label::Optional,
            Some("required") => Label::Required,
            Some("repeated") => Label::Repeated,
            _ => return Ok(None),
        };
        // A message can have such a name: `optional.Name field = 1;`.
        if self.token(1).tok == Tok::Dot && self.starts_name(2) {
            let gap = self.token(0).span.end == self.token(1).span.start;
            if gap {
                return Ok(None);
            }
        }
        let span = self.span();
        let refused = match (label, self.edition) {
            (Label::Required, Edition::Proto3) => "proto3 has no required fields",
            (Label::Required, edition) if edition >= Edition::E2023 => {
                "editions have no `required`; the feature `field_presence = LEGACY_REQUIRED` says it"
            }
            (Label::Optional, edition) if edition >= Edition::E2023 => {
                "editions have no `optional`: fields have presence unless features say otherwise"
            }
            _ => "",
        };
        if !refused.is_empty() {
            self.error("E1501", span, refused, "remove the word");
        }
        self.part(4, |p| {
            p.advance();
            Ok(Some(label))
        })
    }

    fn starts_name(&self, ahead: usize) -> bool {
        self.token(ahead).tok == Tok::Ident
    }
}
