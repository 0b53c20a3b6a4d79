//! Extensions: what they extend lets them.

use super::super::descriptor::{Edition, Field, File, Kind, Label, Message, OptionValue};
use super::super::link::{Linker, is_singular};
use super::super::syntax::below;
use super::super::walk;
use super::{Around, declaration, field, is_lite, message};
use crate::diagnostic::Diagnostic;
use crate::source::FileId;
use std::collections::HashMap;
use std::rc::Rc;

pub(super) fn all(linker: &mut Linker<'_>, extensions: &[Field], around: Around<'_>, tag: i32) {
    for (at, extension) in extensions.iter().enumerate() {
        let path = below(around.path, tag, at);
        field::check(linker, extension, around, &path);
        if extension.label == Label::Required {
            let span = linker.span(&path, 4);
            linker.error(
                "E1505",
                span,
                "an extension cannot be required",
                "make it optional",
            );
        }
        if !extension.extendee.is_empty() {
            target(linker, extension, around, &path);
        }
    }
}

fn target(linker: &mut Linker<'_>, extension: &Field, around: Around<'_>, path: &[i32]) {
    let extendee = extension.extendee.trim_start_matches('.').to_owned();
    let options = extendee
        .strip_prefix("google.protobuf.")
        .is_some_and(|name| name.ends_with("Options") || name == "FeatureSet");
    if around.edition == Edition::Proto3 && !options {
        let text = "proto3 extends only options, such as `google.protobuf.FieldOptions`";
        linker.error(
            "E1505",
            linker.span(path, 2),
            text,
            "use `google.protobuf.Any`",
        );
    }
    let Some((file, message)) = extended(linker, &extendee) else {
        return;
    };
    let Some(message) = walk::message(&file, &message) else {
        return;
    };
    if is_lite(&linker.parsed().file) && !is_lite(&file) {
        let text = format!("`{extendee}` has descriptors, and this extension is made without them");
        let help = "remove `optimize_for = LITE_RUNTIME` from this file";
        linker.error("E1505", linker.span(path, 2), text, help);
    }
    if matches!(extension.number, 19000..=19999) {
        message::number(linker, extension.number, linker.span(path, 3));
    }
    if message::is_message_set(message)
        && (!is_singular(extension) || extension.kind != Some(Kind::Message))
    {
        let text = "an extension of a message set is an optional message";
        linker.error("E1505", linker.span(path, 4), text, "wrap it in a message");
    }
    let ranges = linker.ranges_of(&extendee, message);
    let Some(range) = ranges.containing(extension.number) else {
        let text = format!(
            "`{extendee}` has no extension with the number {}",
            extension.number
        );
        let help = "choose a number out of its `extensions` statements";
        linker.error("E1505", linker.span(path, 3), text, help);
        return;
    };
    let key = (extendee.clone(), extension.number);
    let place = (linker.current, path.to_vec());
    if let Some((file, other)) = linker.extensions.insert(key, place) {
        let span = linker.files[file].positions.part(&other, 3);
        let text = format!(
            "`{extendee}` has two extensions with the number {}",
            extension.number
        );
        let id = FileId(linker.current as u32);
        let error = Diagnostic::error("E1401", text)
            .at(id, linker.span(path, 3), "")
            .also(FileId(file as u32), span, "the other one");
        linker.sink.push(error.help("choose another number"));
    }
    if options {
        // Protobuf's compiler does not enforce the declarations of its own messages.
        return;
    }
    let range = &message.extension_ranges[range].options;
    let strict = range.get("verification").and_then(OptionValue::int) == Some(0);
    match ranges.declaration(extension.number) {
        Some((range, at)) => {
            let option = &message.extension_ranges[range].options.fields[at].value;
            declaration::matches(linker, extension, around, path, option);
        }
        None if strict || range.get("declaration").is_some() => {
            let text = format!(
                "the number {} is not declared for an extension",
                extension.number
            );
            let help = "add a `declaration` to the range, or choose a declared number";
            linker.error("E1505", linker.span(path, 3), text, help);
        }
        None => {}
    }
}

/// The file that has a message, and its path there.
fn extended(linker: &Linker<'_>, name: &str) -> Option<(Rc<File>, Vec<i32>)> {
    let symbol = linker.symbols.get(name)?;
    Some((
        Rc::clone(&linker.files[symbol.file].file),
        symbol.path.clone(),
    ))
}

/// The numbers that a message gives to extensions, made for finding.
#[derive(Debug, Default)]
pub(in crate::proto) struct Ranges {
    /// First, one past the last, and the range's index; by number.
    all: Vec<(i32, i32, usize)>,
    /// By number: the range, and which of its options declares the extension.
    declared: HashMap<i128, (usize, usize)>,
}

impl Ranges {
    pub(in crate::proto) fn of(message: &Message) -> Ranges {
        let mut ranges = Ranges::default();
        for (at, range) in message.extension_ranges.iter().enumerate() {
            ranges.all.push((range.start, range.end, at));
            for (option, set) in range.options.fields.iter().enumerate() {
                if let ("declaration", OptionValue::Message(inner)) =
                    (set.name.as_str(), &set.value)
                    && let Some(number) = inner.get("number").and_then(OptionValue::int)
                {
                    ranges.declared.insert(number, (at, option));
                }
            }
        }
        ranges.all.sort_unstable();
        ranges
    }

    fn containing(&self, number: i32) -> Option<usize> {
        let after = self.all.partition_point(|(start, ..)| *start <= number);
        let (_, end, at) = self.all[..after].last()?;
        (number < *end).then_some(*at)
    }

    fn declaration(&self, number: i32) -> Option<(usize, usize)> {
        self.declared.get(&number.into()).copied()
    }
}
