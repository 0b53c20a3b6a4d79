//! Enums.

use super::{Parsed, Parser};
use crate::proto::descriptor::{Enum, EnumValue};
use crate::proto::lexer::Tok;

impl Parser<'_> {
    pub(super) fn enumeration(&mut self, place: usize) -> Parsed<Enum> {
        self.expect_word("enum")?;
        let mut def = Enum {
            name: self.part(1, |p| p.name("the name of the enum"))?,
            ..Enum::default()
        };
        let open = self.span();
        self.end_of(Tok::OpenBrace, "`{`", Some(place))?;
        self.block(open, |p| match p.word_ahead(0) {
            Some("option") => p.option_statement(3),
            Some("reserved") => {
                let Enum {
                    reserved_ranges,
                    reserved_names,
                    ..
                } = &mut def;
                p.reserved(reserved_ranges, reserved_names, [4, 5], true)
            }
            _ => {
                let index = def.values.len() as i32;
                let value = p.located(&[2, index], Self::enum_value)?;
                def.values.push(value);
                Ok(())
            }
        })?;
        Ok(def)
    }

    fn enum_value(&mut self, place: usize) -> Parsed<EnumValue> {
        let name = self.part(1, |p| p.name("the name of a value"))?;
        if self.tok() != Tok::Equals {
            return Err(self.unexpected("`=` and the number of the value", ""));
        }
        self.advance();
        let number = self.part(2, |p| p.number("the number of the value", true))?;
        if self.tok() == Tok::OpenBracket {
            self.bracketed_options(3, |_| None)?;
        }
        self.end_of(Tok::Semicolon, "`;`", Some(place))?;
        Ok(EnumValue {
            name,
            number,
            ..EnumValue::default()
        })
    }
}
