//! Checks that other files export the definitions that a file uses, from edition 2024 on.

use super::super::descriptor::{Edition, Field, File, Message, Visibility};
use super::super::features::{Exports, Features};
use super::super::link::Linker;
use super::super::parser::MAX_NUMBER;
use super::super::syntax::below;
use super::super::walk;

pub(super) fn file(linker: &mut Linker<'_>, file: &File) {
    messages(linker, &file.messages, &[], 4);
    fields(linker, &file.extensions, &[], 7);
    for (at, service) in file.services.iter().enumerate() {
        let path = below(&[], 6, at);
        for (at, method) in service.methods.iter().enumerate() {
            let path = below(&path, 2, at);
            used(linker, &method.input, &path, 2);
            used(linker, &method.output, &path, 3);
        }
    }
}

fn messages(linker: &mut Linker<'_>, all: &[Message], path: &[i32], tag: i32) {
    for (at, message) in all.iter().enumerate() {
        let path = below(path, tag, at);
        fields(linker, &message.fields, &path, 2);
        fields(linker, &message.extensions, &path, 6);
        nested(linker, message, &path);
        messages(linker, &message.messages, &path, 3);
    }
}

/// With `STRICT` visibility, nested types are exported by no file, but for the enums of a message
/// that is a name for them alone.
fn nested(linker: &mut Linker<'_>, message: &Message, path: &[i32]) {
    let file = &linker.parsed().file;
    if Features::of(file.edition).with(&file.options).exports != Exports::Strict {
        return;
    }
    let exported = |visibility| visibility == Visibility::Export;
    let inner = message.messages.iter().enumerate();
    let inner = inner.filter(|(_, inner)| exported(inner.visibility));
    let enums = message.enums.iter().enumerate();
    let enums = enums.filter(|(_, def)| exported(def.visibility) && !is_namespace(message));
    let positions = inner
        .map(|(at, _)| below(path, 3, at))
        .chain(enums.map(|(at, _)| below(path, 4, at)));
    for path in positions {
        let text = "a nested type is not exported where visibility is strict";
        let help = "move it out, or remove `export`; a local message of enums alone, with `reserved 1 to max;`, may export them";
        linker.error("E1406", linker.span(&path, 1), text, help);
    }
}

/// True for a message that is only a scope for enums.
fn is_namespace(message: &Message) -> bool {
    let reserved = message.reserved_ranges.as_slice() == [(1, MAX_NUMBER + 1)];
    reserved && message.visibility != Visibility::Export && message.fields.is_empty()
}

fn fields(linker: &mut Linker<'_>, fields: &[Field], path: &[i32], tag: i32) {
    for (at, field) in fields.iter().enumerate() {
        let path = below(path, tag, at);
        used(linker, &field.type_name, &path, 6);
        used(linker, &field.extendee, &path, 2);
    }
}

fn used(linker: &mut Linker<'_>, name: &str, path: &[i32], part: i32) {
    let Some(symbol) = linker.symbols.get(name.trim_start_matches('.')) else {
        return;
    };
    if symbol.file == linker.current {
        return;
    }
    let file = &linker.files[symbol.file].file;
    if file.edition >= Edition::E2024 && !is_exported(file, &symbol.path) {
        let path_of_file = file.name.clone();
        let message = format!(
            "`{}` is local to `{path_of_file}`",
            name.trim_start_matches('.')
        );
        linker.error(
            "E1406",
            linker.span(path, part),
            message,
            "mark it `export` there",
        );
    }
}

fn is_exported(file: &File, path: &[i32]) -> bool {
    let visibility = match walk::message(file, path) {
        Some(message) => message.visibility,
        None => walk::enumeration(file, path).map_or(Visibility::Unset, |def| def.visibility),
    };
    match (
        visibility,
        Features::of(file.edition).with(&file.options).exports,
    ) {
        (Visibility::Export, _) => true,
        (Visibility::Local, _) => false,
        (Visibility::Unset, Exports::All) => true,
        (Visibility::Unset, Exports::TopLevel) => path.len() == 2,
        (Visibility::Unset, Exports::None | Exports::Strict) => false,
    }
}
