//! Messages: numbers, names in JSON, ranges.

use super::super::descriptor::{Edition, Message, OptionValue};
use super::super::link::{Linker, json_name};
use super::super::parser::MAX_NUMBER;
use super::super::symbols::join;
use super::super::syntax::below;
use super::{Around, declaration, enumeration, extension, field, reserved_names, style};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use std::collections::HashMap;

pub(super) fn all(linker: &mut Linker<'_>, messages: &[Message], around: Around<'_>, tag: i32) {
    for (at, message) in messages.iter().enumerate() {
        let path = below(around.path, tag, at);
        let scope = join(around.scope, &message.name);
        let inner = Around {
            features: around.features.with(&message.options),
            scope: &scope,
            path: &path,
            ..around
        };
        one(linker, message, inner);
        all(linker, &message.messages, inner, 3);
        enumeration::all(linker, &message.enums, inner, 4);
        extension::all(linker, &message.extensions, inner, 6);
    }
}

fn one(linker: &mut Linker<'_>, message: &Message, around: Around<'_>) {
    let entry = message.options.flag("map_entry");
    if !entry {
        style::name(
            linker,
            around.features,
            around.path,
            &message.name,
            style::Case::Title,
            "a message",
        );
    }
    message_set(linker, message, around);
    declaration::all(linker, message, around.path);
    let spans = ranges(linker, message, around);
    numbers(linker, message, around, &spans);
    json_names(linker, message, around);
    for (at, oneof) in message.oneofs.iter().enumerate() {
        let path = below(around.path, 8, at);
        if linker.parsed().positions.get(&path).is_some() {
            let features = around.features.with(&oneof.options);
            style::name(
                linker,
                features,
                &path,
                &oneof.name,
                style::Case::Snake,
                "a oneof",
            );
        }
    }
    for (at, field) in message.fields.iter().enumerate() {
        let path = below(around.path, 2, at);
        // A field of a oneof has the features of that.
        let oneof = field.oneof.filter(|_| !field.proto3_optional);
        let oneof = oneof.and_then(|oneof| message.oneofs.get(oneof as usize));
        let features = oneof.map_or(around.features, |oneof| {
            around.features.with(&oneof.options)
        });
        let around = Around { features, ..around };
        if !entry {
            field::check(linker, field, around, &path);
        }
    }
}

fn message_set(linker: &mut Linker<'_>, message: &Message, around: Around<'_>) {
    if !message.options.flag("message_set_wire_format") {
        return;
    }
    let span = linker.span(around.path, 1);
    if around.edition == Edition::Proto3 {
        linker.error(
            "E1605",
            span,
            "proto3 has no message sets",
            "use `google.protobuf.Any`",
        );
    } else if !message.fields.is_empty() {
        linker.error(
            "E1605",
            span,
            "a message set has no fields of its own",
            "make them extensions",
        );
    }
}

/// A range of numbers, and where it stands.
struct Range {
    start: i32,
    /// Not part of it.
    end: i32,
    span: Span,
    reserved: bool,
}

/// Checks the ranges of a message; returns them in order.
fn ranges(linker: &mut Linker<'_>, message: &Message, around: Around<'_>) -> Vec<Range> {
    let positions = &linker.parsed().positions;
    let reserved = message
        .reserved_ranges
        .iter()
        .enumerate()
        .map(|(at, (start, end))| Range {
            start: *start,
            end: *end,
            span: positions.span(&below(around.path, 9, at)),
            reserved: true,
        });
    let extensions = message
        .extension_ranges
        .iter()
        .enumerate()
        .map(|(at, range)| Range {
            start: range.start,
            end: range.end,
            span: positions.span(&below(around.path, 5, at)),
            reserved: false,
        });
    let mut all: Vec<Range> = reserved.chain(extensions).collect();
    all.sort_by_key(|range| (range.start, range.end));
    let message_set = message.options.flag("message_set_wire_format");
    let most = if message_set {
        i32::MAX
    } else {
        MAX_NUMBER + 1
    };
    for range in &all {
        if range.start < 1 || (!range.reserved && range.end > most) {
            let text = format!("numbers of fields go from 1 to {MAX_NUMBER}");
            linker.error(
                "E1504",
                range.span,
                text,
                "shorten the range; `max` is the last one",
            );
        }
    }
    let mut reach = 0;
    for (at, range) in all.iter().enumerate() {
        if at > 0 && range.start < all[reach].end && range.start < range.end {
            overlap(linker, range.span, all[reach].span);
        }
        if range.end >= all[reach].end {
            reach = at;
        }
    }
    if around.edition == Edition::Proto3 && !message.extension_ranges.is_empty() {
        let span = all
            .iter()
            .find(|range| !range.reserved)
            .map_or(Span::default(), |range| range.span);
        linker.error(
            "E1505",
            span,
            "messages of proto3 have no extensions",
            "use `google.protobuf.Any`",
        );
    }
    all
}

fn overlap(linker: &mut Linker<'_>, span: Span, other: Span) {
    let id = FileId(linker.current as u32);
    let error = Diagnostic::error("E1504", "these ranges overlap");
    let error = error.at(id, span, "").also(id, other, "the other one");
    linker
        .sink
        .push(error.help("let each number be in one range"));
}

fn numbers(linker: &mut Linker<'_>, message: &Message, around: Around<'_>, ranges: &[Range]) {
    let mut known: HashMap<i32, usize> = HashMap::new();
    let reserved = reserved_names(linker, &message.reserved_names, around.path, 10);
    let next = next_number(message);
    for (at, field) in message.fields.iter().enumerate() {
        let path = below(around.path, 2, at);
        let span = linker.span(&path, 3);
        if number(linker, field.number, span)
            && let Some(first) = known.insert(field.number, at)
        {
            let id = FileId(linker.current as u32);
            let first_path = below(around.path, 2, first);
            let other = linker.span(&first_path, 3);
            let text = format!("two fields have the number {}", field.number);
            let error = Diagnostic::error("E1401", text).at(id, span, "").also(
                id,
                other,
                format!("that of `{}`", message.fields[first].name),
            );
            linker
                .sink
                .push(error.help(format!("the next free number is {next}")));
        }
        if let Some(range) = containing(ranges, field.number) {
            let id = FileId(linker.current as u32);
            let text = match range.reserved {
                true => format!("the number {} is reserved", field.number),
                false => format!("the number {} is for extensions", field.number),
            };
            let error = Diagnostic::error("E1504", text)
                .at(id, span, "")
                .also(id, range.span, "here");
            linker
                .sink
                .push(error.help(format!("the next free number is {next}")));
        }
        if reserved.contains(field.name.as_str()) {
            let text = format!("the name `{}` is reserved", field.name);
            linker.error("E1504", linker.span(&path, 1), text, "choose another name");
        }
    }
}

/// The range with this number; ranges that overlap have been reported.
fn containing(ranges: &[Range], number: i32) -> Option<&Range> {
    let after = ranges.partition_point(|range| range.start <= number);
    ranges[..after].last().filter(|range| number < range.end)
}

fn next_number(message: &Message) -> i32 {
    let numbers = message.fields.iter().map(|field| field.number);
    let reserved = message.reserved_ranges.iter().map(|(_, end)| end - 1);
    let used = numbers
        .chain(reserved)
        .filter(|number| *number < MAX_NUMBER);
    used.max().unwrap_or(0).saturating_add(1)
}

/// Checks the number of a field; false where that says it all.
pub(super) fn number(linker: &mut Linker<'_>, number: i32, span: Span) -> bool {
    let (text, help) = match number {
        1..=18999 | 20000..=MAX_NUMBER => return true,
        19000..=19999 => (
            "the numbers 19000 to 19999 belong to protobuf itself".to_owned(),
            "choose one outside of them",
        ),
        _ => (
            format!("numbers of fields go from 1 to {MAX_NUMBER}"),
            "choose one of those; 1 to 15 take the least room",
        ),
    };
    linker.error("E1504", span, text, help);
    false
}

/// Fields need different names in JSON.
fn json_names(linker: &mut Linker<'_>, message: &Message, around: Around<'_>) {
    let lenient = message
        .options
        .flag("deprecated_legacy_json_field_conflicts");
    for custom in [false, true] {
        let mut known: HashMap<&str, (usize, bool)> = HashMap::new();
        let defaults: Vec<String> = message
            .fields
            .iter()
            .map(|field| json_name(&field.name))
            .collect();
        for (at, field) in message.fields.iter().enumerate() {
            let own = field
                .json_name
                .as_deref()
                .filter(|name| *name != defaults[at]);
            let name = own.filter(|_| custom).unwrap_or(&defaults[at]);
            let customized = custom && own.is_some();
            let Some((first, first_custom)) = known.get(name).copied() else {
                known.insert(name, (at, customized));
                continue;
            };
            // The round of default names has reported these.
            if custom && !customized && !first_custom {
                continue;
            }
            // That has been said of the name itself.
            if message.fields[first].name == field.name {
                continue;
            }
            let strict = customized || first_custom || around.features.json;
            json_clash(
                linker,
                message,
                around,
                [first, at],
                name,
                strict && !(lenient && !customized && !first_custom),
            );
        }
    }
}

fn json_clash(
    linker: &mut Linker<'_>,
    message: &Message,
    around: Around<'_>,
    [first, second]: [usize; 2],
    name: &str,
    strict: bool,
) {
    let path = |at| below(around.path, 2, at);
    let id = FileId(linker.current as u32);
    let text = format!("two fields are called `{name}` in JSON");
    let diagnostic = match strict {
        true => Diagnostic::error("E1404", text),
        false => Diagnostic::warning("W1401", text),
    };
    let diagnostic = diagnostic.at(id, linker.span(&path(second), 1), "").also(
        id,
        linker.span(&path(first), 1),
        format!("`{}` is, too", message.fields[first].name),
    );
    linker
        .sink
        .push(diagnostic.help("rename one, or give it a `json_name`"));
}

/// True for a message that holds other messages by number only.
pub(super) fn is_message_set(message: &Message) -> bool {
    matches!(
        message.options.get("message_set_wire_format"),
        Some(OptionValue::Int(_, 1))
    )
}
