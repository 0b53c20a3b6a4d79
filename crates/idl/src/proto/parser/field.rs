//! Fields, with maps and groups.

use super::{Parsed, Parser};
use crate::proto::descriptor::{Edition, Field, Kind, Label, Message, OptionField, OptionValue};
use crate::proto::lexer::Tok;
use crate::proto::literal;
use crate::proto::syntax::below;
use crate::source::Span;

/// The type of a field as written.
enum Written {
    Scalar(Kind),
    Named(String),
    Map(Box<[Written; 2]>),
    Group,
}

impl Parser<'_> {
    /// A field or extension, from its type on. Messages that it defines, a map's entry or a group's
    /// body, go to `messages`, which has `messages_tag` in the scope around.
    pub(super) fn field(
        &mut self,
        label: Option<Label>,
        start: Field,
        messages: &mut Vec<Message>,
        messages_tag: i32,
        place: usize,
    ) -> Parsed<Field> {
        let mut field = start;
        let first = self.positions.list[place].span;
        let ty = self.field_type(label, &field)?;
        field.label = match (&ty, label) {
            (Written::Map(_), _) => Label::Repeated,
            (_, Some(label)) => label,
            (_, None) => self.default_label(first),
        };
        field.proto3_optional = self.edition == Edition::Proto3
            && label == Some(Label::Optional)
            && field.oneof.is_none();
        match &ty {
            Written::Scalar(kind) => field.kind = Some(*kind),
            Written::Group => field.kind = Some(Kind::Group),
            Written::Named(name) => field.type_name = name.clone(),
            Written::Map(_) => field.kind = Some(Kind::Message),
        }
        let name_span = self.span();
        field.name = self.part(1, |p| p.name("the name of the field"))?;
        if self.tok() != Tok::Equals {
            return Err(self.unexpected("`=` and the number of the field", ""));
        }
        self.advance();
        field.number = self.part(3, |p| p.number("the number of the field", false))?;
        if self.tok() == Tok::OpenBracket {
            self.field_options(&mut field)?;
        }
        match ty {
            Written::Group => {
                self.group(&mut field, first, name_span, messages, messages_tag)?;
            }
            Written::Map(types) => {
                self.end_of(Tok::Semicolon, "`;`", Some(place))?;
                let entry = map_entry(&field.name, *types);
                field.type_name = entry.name.clone();
                messages.push(entry);
            }
            _ => self.end_of(Tok::Semicolon, "`;`", Some(place))?,
        }
        Ok(field)
    }

    fn default_label(&mut self, span: Span) -> Label {
        if self.edition == Edition::Proto2 {
            let message = "a field of proto2 is `optional`, `required` or `repeated`";
            let span = Span {
                start: span.start,
                end: span.start,
            };
            self.error("E1501", span, message, "write one of the three before it");
        }
        Label::Optional
    }

    fn field_type(&mut self, label: Option<Label>, field: &Field) -> Parsed<Written> {
        if self.is_word("map") && self.token(1).tok == Tok::Less {
            if label.is_some() && field.oneof.is_none() {
                let message = "a map has no label";
                self.error(
                    "E1501",
                    self.previous(),
                    message,
                    "remove the word before it",
                );
            }
            if !field.extendee.is_empty() {
                let help = "put the map into a message";
                self.error("E1501", self.span(), "an extension cannot be a map", help);
            }
            return self.part(6, Self::map_type);
        }
        if self.is_word("group") && self.token(1).tok == Tok::Ident {
            let refused = match self.edition {
                Edition::Proto2 => "",
                Edition::Proto3 => "proto3 has no groups",
                _ => "editions have no groups; the feature `message_encoding = DELIMITED` says it",
            };
            if !refused.is_empty() {
                self.error(
                    "E1502",
                    self.span(),
                    refused,
                    "define a message, and a field of it",
                );
            }
            return self.part(5, |p| {
                p.advance();
                Ok(Written::Group)
            });
        }
        let tag = if self.at_scalar() { 5 } else { 6 };
        self.part(tag, Self::plain_type)
    }

    fn at_scalar(&self) -> bool {
        let word = self.word_ahead(0).and_then(Kind::of_word);
        word.is_some() && self.token(1).tok != Tok::Dot
    }

    fn plain_type(&mut self) -> Parsed<Written> {
        match self.word_ahead(0).and_then(Kind::of_word) {
            Some(kind) if self.token(1).tok != Tok::Dot => {
                self.advance();
                Ok(Written::Scalar(kind))
            }
            _ => self.dotted("a type", true).map(Written::Named),
        }
    }

    fn map_type(&mut self) -> Parsed<Written> {
        self.advance();
        self.expect(Tok::Less, "`<`")?;
        let key_span = self.span();
        let key = self.plain_type()?;
        let key_span = key_span.to(self.previous());
        let refused = match &key {
            Written::Scalar(kind) => matches!(kind, Kind::Float | Kind::Double | Kind::Bytes),
            _ => true,
        };
        if refused {
            let shown = self.slice(key_span);
            let message = format!("`{shown}` cannot be the key of a map");
            self.error(
                "E1502",
                key_span,
                message,
                "keys are integers, `bool` or `string`",
            );
        }
        self.expect(Tok::Comma, "`,`")?;
        if self.is_word("map") && self.token(1).tok == Tok::Less {
            let help = "define a message with the inner map as its field";
            self.error(
                "E1502",
                self.span(),
                "a map cannot have maps as values",
                help,
            );
            return Err(super::Reported);
        }
        let value = self.plain_type()?;
        self.expect(Tok::Greater, "`>`")?;
        Ok(Written::Map(Box::new([key, value])))
    }

    /// The body of a group: a message beside the field, with its name.
    fn group(
        &mut self,
        field: &mut Field,
        first: Span,
        name_span: Span,
        messages: &mut Vec<Message>,
        tag: i32,
    ) -> Parsed<()> {
        let type_name = [self.path.as_slice(), &[6]].concat();
        let mut message = Message {
            name: field.name.clone(),
            ..Message::default()
        };
        if !field.name.starts_with(|c: char| c.is_ascii_uppercase()) {
            let help = "the field's name is the same in lower case";
            self.error(
                "E1502",
                name_span,
                "the name of a group begins with a capital letter",
                help,
            );
        }
        field.name.make_ascii_lowercase();
        field.type_name = message.name.clone();
        // The scope around: extensions have an element more in their paths than fields have.
        let own = self.path.split_off(self.path.len() - 2);
        let index = messages.len();
        let path = below(&self.path, tag, index);
        let place = self.positions.add(&path, first);
        self.positions
            .add(&[path.as_slice(), &[1]].concat(), name_span);
        self.positions.add(&type_name, name_span);
        self.path.extend([tag, index as i32]);
        let result = match self.tok() {
            Tok::OpenBrace => self.message_block(&mut message, place),
            _ => Err(self.unexpected("the fields of the group, in braces", "")),
        };
        self.path.truncate(self.path.len() - 2);
        self.path.extend_from_slice(&own);
        self.end_at_previous(place);
        messages.push(message);
        result
    }

    /// Options in brackets; `default` and `json_name` look like options.
    fn field_options(&mut self, field: &mut Field) -> Parsed<()> {
        self.bracketed_options(8, |parser| {
            let name = parser.word_ahead(0)?;
            if parser.token(1).tok != Tok::Equals {
                return None;
            }
            match name {
                "default" => Some(parser.default_value(field)),
                "json_name" => Some(parser.json_name(field)),
                _ => None,
            }
        })
    }

    fn json_name(&mut self, field: &mut Field) -> Parsed<()> {
        if field.json_name.is_some() {
            self.error(
                "E1602",
                self.span(),
                "`json_name` is set twice",
                "remove one of the two",
            );
        }
        if !field.extendee.is_empty() {
            let help = "its name in JSON is its full name in brackets";
            self.error(
                "E1602",
                self.span(),
                "an extension has no `json_name`",
                help,
            );
        }
        self.part(10, |p| {
            p.advance();
            p.advance();
            let span = p.span();
            let name = p.string("a name in quotes")?;
            let refused = match () {
                () if name.contains('\0') => "a name in JSON has no zero bytes",
                () if name.starts_with('[') && name.ends_with(']') => {
                    "a name in brackets stands for an extension"
                }
                () => "",
            };
            if !refused.is_empty() {
                p.error("E1602", span, refused, "choose another name");
            }
            // The value has a place of its own, with the same path.
            p.positions.add(&p.path, span.to(p.previous()));
            field.json_name = Some(name);
            Ok(())
        })
    }

    fn default_value(&mut self, field: &mut Field) -> Parsed<()> {
        let start = self.advance();
        self.advance();
        if field.default.is_some() {
            self.error(
                "E1602",
                start,
                "`default` is set twice",
                "remove one of the two",
            );
        }
        if self.edition == Edition::Proto3 {
            let help = "proto2 and editions have them";
            self.error("E1506", start, "proto3 has no default values", help);
        }
        if field.label == Label::Repeated {
            let help = "it is empty where nothing is set";
            self.error(
                "E1506",
                start,
                "a repeated field has no default value",
                help,
            );
        }
        let text = self.part(7, |p| p.default_text(field.kind))?;
        field.default = Some(text);
        Ok(())
    }

    /// The default value in the text form that descriptors have.
    fn default_text(&mut self, kind: Option<Kind>) -> Parsed<String> {
        let Some(kind) = kind else {
            // An enum, if it is anything that can have a default value; the linker looks.
            return match self.tok() {
                Tok::Ident => self.name("a value of the enum"),
                _ => Err(self.unexpected(
                    "the name of a value",
                    "only enums have defaults among named types",
                )),
            };
        };
        match kind {
            Kind::String => self.string("a string"),
            Kind::Bytes => self.bytes("a string").map(|bytes| literal::escape(&bytes)),
            Kind::Bool if self.is_word("true") || self.is_word("false") => self.name("true"),
            Kind::Bool => Err(self.unexpected("`true` or `false`", "")),
            Kind::Group | Kind::Message | Kind::Enum => {
                let help = "only enums and scalars have default values";
                Err(self.unexpected("no default value", help))
            }
            Kind::Float | Kind::Double => self.default_float(kind),
            _ => self.default_integer(kind),
        }
    }

    fn default_integer(&mut self, kind: Kind) -> Parsed<String> {
        let start = self.span();
        let negative = self.eat(Tok::Minus).is_some();
        if self.tok() != Tok::Int {
            return Err(self.unexpected("an integer", ""));
        }
        let token = self.advance();
        let value = literal::integer(self.slice(token)).map(i128::from);
        let value = value.map(|value| if negative { -value } else { value });
        match (value, kind.range()) {
            (Some(value), Some(range))
                if range.contains(&value) && (!negative || *range.start() < 0) =>
            {
                Ok(value.to_string())
            }
            _ => {
                let span = start.to(token);
                let message = format!(
                    "{} is out of the range of {}",
                    self.slice(span),
                    kind.word()
                );
                self.error(
                    "E1506",
                    span,
                    message,
                    "choose a value that fits, or a wider type",
                );
                Ok("0".to_owned())
            }
        }
    }

    fn default_float(&mut self, kind: Kind) -> Parsed<String> {
        let sign = if self.eat(Tok::Minus).is_some() {
            "-"
        } else {
            ""
        };
        let value = match (self.tok(), self.word_ahead(0)) {
            (_, Some("inf")) => f64::INFINITY,
            (_, Some("nan")) => f64::NAN,
            (Tok::Int | Tok::Float, _) => literal::float(self.slice(self.span())),
            _ => return Err(self.unexpected("a number", "")),
        };
        self.advance();
        let single = kind == Kind::Float;
        Ok(match () {
            () if value.is_nan() => "nan".to_owned(),
            () if value.is_infinite() || (single && (value as f32).is_infinite()) => {
                format!("{sign}inf")
            }
            () if single => format!("{sign}{}", crate::proto::number::text_of_f32(value as f32)),
            () => format!("{sign}{}", crate::proto::number::text_of_f64(value)),
        })
    }
}

/// The message of a map's entries, and how it is marked.
fn map_entry(field: &str, [key, value]: [Written; 2]) -> Message {
    let part = |name: &str, number, written| {
        let (kind, type_name) = match written {
            Written::Scalar(kind) => (Some(kind), String::new()),
            Written::Named(name) => (None, name),
            Written::Map(_) | Written::Group => (None, String::new()),
        };
        Field {
            name: name.to_owned(),
            number,
            kind,
            type_name,
            ..Field::default()
        }
    };
    let mut entry = Message {
        name: entry_name(field),
        fields: vec![part("key", 1, key), part("value", 2, value)],
        ..Message::default()
    };
    entry.options.fields.push(OptionField {
        number: 7,
        name: "map_entry".to_owned(),
        value: OptionValue::Int(Kind::Bool, 1),
    });
    entry
}

/// `FooBarEntry` for `foo_bar`.
pub(crate) fn entry_name(field: &str) -> String {
    let mut name = String::new();
    let mut capital = true;
    for character in field.chars() {
        if character == '_' {
            capital = true;
            continue;
        }
        name.push(if capital {
            character.to_ascii_uppercase()
        } else {
            character
        });
        capital = false;
    }
    name + "Entry"
}
