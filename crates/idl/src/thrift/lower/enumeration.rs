//! Enums, and what structs and enums reserve.

use super::{Lower, Owner};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::thrift::ast::{EnumValue, Int, Name, Reserved, StructBody};
use dovetail_schema::{self as schema, TypeId, TypeKind};
use std::collections::HashMap;

impl<'a> Lower<'a, '_> {
    pub(super) fn enumeration(
        &mut self,
        file: FileId,
        id: TypeId,
        name: &Name,
        values: &'a [EnumValue],
        reserved: &[Reserved],
    ) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let mut numbers: HashMap<i32, &EnumValue> = HashMap::new();
        let mut lowered = Vec::new();
        let mut next: i64 = 0;
        for value in values {
            self.reserved_word(file, &value.name);
            let (number, span) = match value.number {
                Some(Int { value, span }) => (value, span),
                None => (i128::from(next), value.name.span),
            };
            let fits = i32::try_from(number);
            if fits.is_err() {
                let message = format!("{number} does not fit: values of enums are 32-bit integers");
                let error = Diagnostic::error("E0403", message).at(file, span, "");
                self.sink
                    .push(error.help("take a number from -2147483648 to 2147483647"));
            }
            let number = fits.unwrap_or_default();
            next = i64::from(number) + 1;
            if let Some(first) = seen.insert(&value.name.text, value.name.span) {
                let message = format!("`{}` has two values `{}`", name.text, value.name.text);
                let error = Diagnostic::error("E0404", message)
                    .at(file, value.name.span, "the second one")
                    .also(file, first, "the first one");
                self.sink.push(error.help("rename or remove one of them"));
            } else if fits.is_ok()
                && let Some(first) = numbers.insert(number, value)
            {
                let message = format!(
                    "`{}` and `{}` are both {number}",
                    first.name.text, value.name.text
                );
                let warning = Diagnostic::warning("W0404", message)
                    .at(file, span, "")
                    .also(file, first.name.span, "the same number");
                self.sink
                    .push(warning.help("a reader cannot tell them apart: take another number"));
            }
            let owner = Owner::EnumValue(id, lowered.len());
            let (annotations, deprecated) = self.annotations(file, &[], &value.attributes, owner);
            lowered.push(schema::EnumValue {
                name: value.name.text.clone(),
                number,
                doc: value.attributes.doc.clone(),
                annotations,
                deprecated,
            });
        }
        let reserved = self.reservations(file, reserved);
        for (value, written) in lowered.iter().zip(values) {
            self.check_reserved(file, &reserved, value.number, &written.name, "value");
        }
        if let TypeKind::Enum(def) = &mut self.schema.types[id.0 as usize].kind {
            *def = schema::Enum {
                closed: false,
                values: lowered,
                reserved,
            };
        }
    }

    pub(super) fn reserved(
        &mut self,
        file: FileId,
        body: &StructBody,
        fields: &[schema::Field],
    ) -> schema::Reserved {
        let reserved = self.reservations(file, &body.reserved);
        for (field, written) in fields.iter().zip(&body.fields) {
            self.check_reserved(file, &reserved, field.id, &written.name, "field");
        }
        reserved
    }

    fn reservations(&mut self, file: FileId, written: &[Reserved]) -> schema::Reserved {
        let mut reserved = schema::Reserved::default();
        for item in written {
            match item {
                Reserved::Name(name) => reserved.names.push(name.text.clone()),
                Reserved::Ids(first, last) => {
                    match (i32::try_from(first.value), i32::try_from(last.value)) {
                        (Ok(first), Ok(last)) => reserved.ids.push((first, last)),
                        _ => {
                            let error = Diagnostic::error("E0405", "no id can be as large as this")
                                .at(file, first.span.to(last.span), "")
                                .help("reserve what has been in use");
                            self.sink.push(error);
                        }
                    }
                }
            }
        }
        reserved
    }

    fn check_reserved(
        &mut self,
        file: FileId,
        reserved: &schema::Reserved,
        id: i32,
        name: &Name,
        what: &str,
    ) {
        let by_id = reserved
            .ids
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&id));
        let clash = match by_id {
            true => format!("{id}"),
            false if reserved.names.contains(&name.text) => format!("\"{}\"", name.text),
            false => return,
        };
        let message = format!("the {what} `{}` uses {clash}, which is reserved", name.text);
        let error = Diagnostic::error("E0406", message)
            .at(file, name.span, "")
            .note("what is reserved was in use once: old messages may still contain it")
            .help("take another one");
        self.sink.push(error);
    }
}
