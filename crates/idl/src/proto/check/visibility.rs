//! What a file uses of others, they have to export, from edition 2024 on.

use super::super::descriptor::{Edition, Field, File, Message, Visibility};
use super::super::features::{Exports, Features};
use super::super::link::Linker;
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
        messages(linker, &message.messages, &path, 3);
    }
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
        (Visibility::Unset, Exports::None) => false,
    }
}
