//! Fields and extensions: labels, options and features against their types.

use super::super::descriptor::{Edition, Field, Kind, Label, OptionValue};
use super::super::features::{Features, FieldPresence};
use super::super::link::{Linker, is_singular};
use super::super::walk;
use super::{Around, style};

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
    for (rule, option) in options(field, kind, around.edition) {
        refuse(linker, path, option, rule);
    }
    if around.edition >= Edition::E2023 {
        let set = field.options.message("features");
        for (rule, feature) in
            set.map_or(Vec::new(), |set| feature_rules(field, kind, features, set))
        {
            let at = [path, &[8, 21, feature]].concat();
            let span = linker.parsed().places.span(&at);
            linker.error("E1605", span, rule, "remove it");
        }
    }
    implicit(linker, field, kind, features, around.edition, path);
}

/// Options that do not fit their field: what is wrong, and the number of the option.
fn options(field: &Field, kind: Kind, edition: Edition) -> Vec<(&'static str, i32)> {
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
    let text = matches!(kind, Kind::String | Kind::Bytes);
    let ctype = int("ctype");
    rule(
        ctype.is_some() && !text && editions,
        "`ctype` is for strings and bytes",
        1,
    );
    rule(
        ctype.is_some() && edition >= Edition::E2024,
        "this edition has `features.(pb.cpp).string_type` for this",
        1,
    );
    rule(
        ctype == Some(1) && editions && !field.extendee.is_empty(),
        "extensions have no cords",
        1,
    );
    let lazy = int("lazy") == Some(1) || int("unverified_lazy") == Some(1);
    rule(lazy && !kind.is_message(), "only messages can be lazy", 5);
    let long = matches!(
        kind,
        Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64
    );
    let jstype = int("jstype").is_some_and(|value| value != 0);
    rule(jstype && !long, "`jstype` is for integers of 64 bits", 6);
    refused
}

fn refuse(linker: &mut Linker<'_>, path: &[i32], option: i32, rule: &str) {
    let span = linker.parsed().places.span(&[path, &[8, option]].concat());
    linker.error("E1605", span, rule, "remove the option");
}

pub(super) fn is_map(field: &Field) -> bool {
    field.label == Label::Repeated
        && field.kind == Some(Kind::Message)
        && field.type_name.ends_with("Entry")
}

/// Features that do not fit their field: what is wrong, and the number of the feature.
fn feature_rules(
    field: &Field,
    kind: Kind,
    features: Features,
    set: &super::super::descriptor::Options,
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
            is_set("field_presence") && extension && features.presence != FieldPresence::Explicit,
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
            is_set("utf8_validation") && kind != Kind::String && !is_map(field),
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

/// A field without presence is zero where it is absent: it has no other default, and no closed enum.
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
        let message = format!(
            "`{}` is a closed enum",
            field.type_name.trim_start_matches('.')
        );
        let help =
            "proto3, and fields without presence, need open ones: those of proto3 and editions";
        linker.error("E1506", linker.span(path, 6), message, help);
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
    let mut features = Features::of(file.edition).with(&file.options);
    for end in (2..symbol.path.len()).step_by(2) {
        if let Some(message) = walk::message(file, &symbol.path[..end]) {
            features = features.with(&message.options);
        }
    }
    let def = walk::enumeration(file, &symbol.path);
    def.is_some_and(|def| features.with(&def.options).closed_enums)
}
