//! Fields and extensions: labels, options and features against their types.

use super::super::descriptor::{Edition, Field, Kind, Label, Message, OptionValue, Options};
use super::super::features::{Features, FieldPresence};
use super::super::link::{Linker, is_singular};
use super::super::parser::entry_name;
use super::super::symbols::join;
use super::super::walk;
use super::{Around, style, support};
use crate::source::Span;

pub(super) fn check(linker: &mut Linker<'_>, field: &Field, around: Around<'_>, path: &[i32]) {
    let Some(kind) = field.kind else { return };
    let features = around.features.of_field(around.edition, field);
    style::name(
        linker,
        features,
        path,
        &field.name,
        style::Case::Snake,
        "a field",
    );
    for (rule, option) in options(field, kind, features, around.edition) {
        refuse(linker, path, option, rule);
    }
    if around.edition >= Edition::E2023 {
        let set = field.options.message("features");
        let text_map = || {
            let entry = map_entry(linker, field);
            entry.is_some_and(|entry| {
                entry
                    .fields
                    .iter()
                    .any(|part| part.kind == Some(Kind::String))
            })
        };
        let rules = set.map(|set| feature_rules(field, kind, features, set, text_map()));
        for (rule, feature) in rules.unwrap_or_default() {
            let at = [path, &[8, 21, feature]].concat();
            let span = linker.parsed().positions.span(&at);
            linker.error("E1605", span, rule, "remove it");
        }
    }
    implicit(linker, field, kind, features, around.edition, path);
    map(linker, field, around, features, path);
    support::check(linker, &field.options, path, &[8, 22]);
}

/// The message of a map's entries, where a field has such a type.
fn map_entry<'a>(linker: &'a Linker<'_>, field: &Field) -> Option<&'a Message> {
    let message = linker.message(&field.type_name);
    message.filter(|message| message.options.flag("map_entry"))
}

/// Checks a map, whose entries belong to it alone, and start from zero where they are enums.
fn map(
    linker: &mut Linker<'_>,
    field: &Field,
    around: Around<'_>,
    features: Features,
    path: &[i32],
) {
    let Some(entry) = map_entry(linker, field) else {
        return;
    };
    let own = join(around.scope, &entry_name(&field.name));
    let value = entry
        .fields
        .get(1)
        .filter(|value| value.kind == Some(Kind::Enum));
    let value = value.map(|value| value.type_name.clone());
    let span = linker.span(path, 6);
    if is_singular(field) || field.type_name.trim_start_matches('.') != own {
        let text = "the entries of a map are no type for other fields";
        linker.error("E1502", span, text, "write a field of type `map<…>`");
    }
    let Some(value) = value else { return };
    let name = value.trim_start_matches('.');
    if first_value(linker, name).is_some_and(|first| first != 0) {
        let text = format!("the first value of `{name}` is not zero, and a map needs it");
        linker.error("E1502", span, text, "put a value with the number 0 first");
    }
    let needs_open =
        around.edition == Edition::Proto3 || features.presence == FieldPresence::Implicit;
    if needs_open && enum_is_closed(linker, &value) {
        closed(linker, &value, span);
    }
}

fn first_value(linker: &Linker<'_>, name: &str) -> Option<i32> {
    let symbol = linker.symbols.get(name)?;
    let file = &linker.files.get(symbol.file)?.file;
    Some(
        walk::enumeration(file, &symbol.path)?
            .values
            .first()?
            .number,
    )
}

/// Reports a closed enum where an open one is needed.
fn closed(linker: &mut Linker<'_>, name: &str, span: Span) {
    let message = format!("`{}` is a closed enum", name.trim_start_matches('.'));
    let help = "proto3, and fields without presence, need open ones: those of proto3 and editions";
    linker.error("E1506", span, message, help);
}

/// Options that do not fit their field: what is wrong, and the number of the option.
fn options(
    field: &Field,
    kind: Kind,
    features: Features,
    edition: Edition,
) -> Vec<(&'static str, i32)> {
    let int = |name| field.options.get(name).and_then(OptionValue::int);
    let is_map = is_map(field);
    let mut refused = Vec::new();
    let mut rule = |refuse: bool, what, option| {
        if refuse {
            refused.push((what, option));
        }
    };
    let packed = int("packed");
    let packable = !is_singular(field) && kind.is_packable() && !is_map;
    rule(
        packed == Some(1) && !packable,
        "only repeated numbers, booleans and enums can be packed",
        2,
    );
    let editions = edition >= Edition::E2023;
    rule(
        packed.is_some() && editions,
        "editions have the feature `repeated_field_encoding` for this",
        2,
    );
    let ctype = int("ctype");
    rule(
        ctype.is_some() && edition >= Edition::E2024,
        "this edition has `features.(pb.cpp).string_type` for this",
        1,
    );
    let lazy = int("lazy") == Some(1) || int("unverified_lazy") == Some(1);
    let lazy_kind = kind == Kind::Message && !features.delimited;
    let rule_of_lazy = "only messages with a length before them can be lazy";
    rule(lazy && !lazy_kind, rule_of_lazy, 5);
    let long = matches!(
        kind,
        Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64
    );
    let jstype = int("jstype").is_some_and(|value| value != 0);
    rule(jstype && !long, "`jstype` is for integers of 64 bits", 6);
    refused
}

fn refuse(linker: &mut Linker<'_>, path: &[i32], option: i32, rule: &str) {
    let span = linker
        .parsed()
        .positions
        .span(&[path, &[8, option]].concat());
    linker.error("E1605", span, rule, "remove the option");
}

pub(super) fn is_map(field: &Field) -> bool {
    field.label == Label::Repeated
        && field.kind == Some(Kind::Message)
        && field.type_name.ends_with("Entry")
}

/// Features that do not fit their field: what is wrong, and the number of the feature. `text_map`
/// is true for a map with strings as keys or values.
fn feature_rules(
    field: &Field,
    kind: Kind,
    features: Features,
    set: &Options,
    text_map: bool,
) -> Vec<(&'static str, i32)> {
    let is_set = |name| set.get(name).is_some();
    let singular = is_singular(field);
    let extension = !field.extendee.is_empty();
    let rules = [
        (
            is_set("field_presence") && field.oneof.is_some(),
            "a field of a oneof has presence, always",
            1,
        ),
        (
            is_set("field_presence") && !singular,
            "a repeated field has no presence",
            1,
        ),
        (
            is_set("field_presence") && extension,
            "an extension has presence, and is never required",
            1,
        ),
        (
            is_set("field_presence")
                && kind.is_message()
                && features.presence == FieldPresence::Implicit,
            "a message has presence, always",
            1,
        ),
        (
            is_set("repeated_field_encoding") && singular,
            "this field does not repeat",
            3,
        ),
        (
            is_set("repeated_field_encoding") && features.packed && !kind.is_packable(),
            "only numbers, booleans and enums can be packed",
            3,
        ),
        (
            is_set("utf8_validation") && kind != Kind::String && !text_map,
            "this is no string",
            4,
        ),
        (
            is_set("message_encoding") && (!kind.is_message() || is_map(field)),
            "this is no message",
            5,
        ),
    ];
    rules
        .into_iter()
        .filter(|(refuse, ..)| *refuse)
        .map(|(_, rule, feature)| (rule, feature))
        .collect()
}

/// A field without presence is zero where it is absent: it has no other default, and no closed
/// enum.
fn implicit(
    linker: &mut Linker<'_>,
    field: &Field,
    kind: Kind,
    features: Features,
    edition: Edition,
    path: &[i32],
) {
    let implicit = features.presence == FieldPresence::Implicit
        && is_singular(field)
        && field.oneof.is_none()
        && field.extendee.is_empty();
    if implicit && field.default.is_some() && edition != Edition::Proto3 {
        let message = "a field without presence has no default value";
        linker.error(
            "E1506",
            linker.span(path, 7),
            message,
            "remove it, or the feature",
        );
    }
    let needs_open = implicit || edition == Edition::Proto3;
    if needs_open && kind == Kind::Enum && enum_is_closed(linker, &field.type_name) {
        closed(linker, &field.type_name, linker.span(path, 6));
    }
}

/// True for an enum that has no values but its own.
fn enum_is_closed(linker: &Linker<'_>, name: &str) -> bool {
    let Some(symbol) = linker.symbols.get(name.trim_start_matches('.')) else {
        return false;
    };
    let Some(file) = linker.files.get(symbol.file).map(|parsed| &parsed.file) else {
        return false;
    };
    let features = Features::around(file, &symbol.path);
    let def = walk::enumeration(file, &symbol.path);
    def.is_some_and(|def| features.with(&def.options).closed_enums)
}
