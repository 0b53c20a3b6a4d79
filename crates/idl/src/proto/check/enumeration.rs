//! Enums: values, numbers, aliases.

use super::super::descriptor::{Edition, Enum, OptionValue};
use super::super::link::Linker;
use super::super::syntax::below;
use super::{Around, reserved_names, style, support};
use crate::diagnostic::Diagnostic;
use crate::source::FileId;
use std::collections::HashMap;

pub(super) fn all(linker: &mut Linker<'_>, enums: &[Enum], around: Around<'_>, tag: i32) {
    for (at, def) in enums.iter().enumerate() {
        let path = below(around.path, tag, at);
        let around = Around {
            features: around.features.with(&def.options),
            path: &path,
            ..around
        };
        one(linker, def, around);
    }
}

fn one(linker: &mut Linker<'_>, def: &Enum, around: Around<'_>) {
    let path = around.path;
    let name = linker.span(path, 1);
    style::name(
        linker,
        around.features,
        path,
        &def.name,
        style::Case::Title,
        "an enum",
    );
    for (at, value) in def.values.iter().enumerate() {
        let path = below(path, 2, at);
        support::check(linker, &value.options, &path, &[3, 4]);
        let features = around.features.with(&value.options);
        style::name(
            linker,
            features,
            &path,
            &value.name,
            style::Case::Upper,
            "a value",
        );
    }
    match def.values.first() {
        None => linker.error(
            "E1507",
            name,
            "an enum has at least one value",
            "add one, such as `…_UNSPECIFIED = 0;`",
        ),
        Some(first) if first.number != 0 && !around.features.closed_enums => {
            let span = linker.span(&below(path, 2, 0), 2);
            let help = "it is what a field has that is not set; put `…_UNSPECIFIED = 0` first";
            linker.error(
                "E1507",
                span,
                "the first value of an open enum is zero",
                help,
            );
        }
        Some(_) => {}
    }
    aliases(linker, def, path);
    reserved(linker, def, path);
    short_names(linker, def, around);
}

fn aliases(linker: &mut Linker<'_>, def: &Enum, path: &[i32]) {
    let allowed = def.options.get("allow_alias").and_then(OptionValue::int);
    let mut known: HashMap<i32, usize> = HashMap::new();
    let mut found = false;
    for (at, value) in def.values.iter().enumerate() {
        let Some(first) = known.get(&value.number).copied() else {
            known.insert(value.number, at);
            continue;
        };
        found = true;
        if allowed == Some(1) {
            continue;
        }
        let id = FileId(linker.current as u32);
        let span = |at| linker.span(&below(path, 2, at), 2);
        let text = format!("two values have the number {}", value.number);
        let error = Diagnostic::error("E1401", text).at(id, span(at), "").also(
            id,
            span(first),
            format!("that of `{}`", def.values[first].name),
        );
        linker
            .sink
            .push(error.help("change one, or allow it: `option allow_alias = true;`"));
    }
    let text = match allowed {
        Some(0) => "`allow_alias = false` has no effect",
        Some(_) if !found && !def.values.is_empty() => {
            "`allow_alias` is set, and no value has two names"
        }
        _ => return,
    };
    let span = linker.parsed().positions.span(&[path, &[3, 2]].concat());
    linker.error("E1507", span, text, "remove the option");
}

fn reserved(linker: &mut Linker<'_>, def: &Enum, path: &[i32]) {
    let mut ranges: Vec<(i32, i32, usize)> = def
        .reserved_ranges
        .iter()
        .enumerate()
        .map(|(at, (start, end))| (*start, *end, at))
        .collect();
    ranges.sort_unstable();
    let mut reach: Option<(i32, usize)> = None;
    for &(start, end, at) in &ranges {
        if let Some((last, other)) = reach
            && start <= last
            && start <= end
        {
            let id = FileId(linker.current as u32);
            let span = |at| linker.parsed().positions.span(&below(path, 4, at));
            let error = Diagnostic::error("E1504", "these ranges overlap")
                .at(id, span(at), "")
                .also(id, span(other), "the other one");
            linker
                .sink
                .push(error.help("let each number be in one range"));
        }
        if reach.is_none_or(|(last, _)| end >= last) {
            reach = Some((end, at));
        }
    }
    let names = reserved_names(linker, &def.reserved_names, path, 5);
    for (at, value) in def.values.iter().enumerate() {
        let path = below(path, 2, at);
        let after = ranges.partition_point(|(start, ..)| *start <= value.number);
        if ranges[..after]
            .last()
            .is_some_and(|(_, end, _)| value.number <= *end)
        {
            let text = format!("the number {} is reserved", value.number);
            linker.error(
                "E1504",
                linker.span(&path, 2),
                text,
                "choose another number",
            );
        }
        if names.contains(value.name.as_str()) {
            let text = format!("the name `{}` is reserved", value.name);
            linker.error("E1504", linker.span(&path, 1), text, "choose another name");
        }
    }
}

/// Generators of some languages and JSON leave out the enum's name in front of its values: what
/// remains has to be distinct, whatever its case.
fn short_names(linker: &mut Linker<'_>, def: &Enum, around: Around<'_>) {
    let lenient = around.edition == Edition::Proto2
        && def.options.flag("deprecated_legacy_json_field_conflicts");
    let prefix = squeezed(&def.name);
    let mut known: HashMap<String, usize> = HashMap::new();
    for (at, value) in def.values.iter().enumerate() {
        let short = camel(without_prefix(&value.name, &prefix));
        let Some(first) = known.get(&short).copied() else {
            known.insert(short, at);
            continue;
        };
        if def.values[first].number == value.number || def.values[first].name == value.name {
            continue;
        }
        let id = FileId(linker.current as u32);
        let span = |at| linker.span(&below(around.path, 2, at), 1);
        let text = format!(
            "`{}` and `{}` are one name",
            def.values[first].name, value.name
        );
        let diagnostic = match lenient {
            true => Diagnostic::warning("W1401", text),
            false => Diagnostic::error("E1404", text),
        };
        let diagnostic = diagnostic
            .at(id, span(at), "")
            .also(id, span(first), "the other one");
        let note = "case, underscores and the enum's own name in front make no difference";
        linker
            .sink
            .push(diagnostic.note(note).help("rename one of them"));
    }
}

/// Lower case without underscores.
fn squeezed(name: &str) -> String {
    name.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// The name without the enum's own in front, if something remains that can be a name.
fn without_prefix<'a>(name: &'a str, prefix: &str) -> &'a str {
    let mut wanted = prefix.chars();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if first != '_' {
            match wanted.next() {
                Some(expected) if expected == first.to_ascii_lowercase() => {}
                Some(_) => return name,
                None => break,
            }
        }
        rest = &rest[first.len_utf8()..];
    }
    let rest = rest.trim_start_matches('_');
    match wanted.next().is_some() || rest.is_empty() {
        true => name,
        false => rest,
    }
}

/// `FooBar` for `FOO_BAR`.
fn camel(name: &str) -> String {
    let mut out = String::new();
    let mut capital = true;
    for character in name.chars() {
        match character {
            '_' => capital = true,
            _ if capital => {
                out.push(character.to_ascii_uppercase());
                capital = false;
            }
            _ => out.push(character.to_ascii_lowercase()),
        }
    }
    out
}
