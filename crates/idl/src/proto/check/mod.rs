//! Checks for a file in which every name means something.

mod declaration;
mod enumeration;
pub(super) mod extension;
mod field;
mod message;
pub(super) mod permission;
mod style;
mod support;
mod visibility;

use super::descriptor::{Edition, File, OptionValue};
use super::features::{Features, FieldPresence};
use super::link::Linker;
use super::syntax::below;
use std::collections::HashSet;
use std::rc::Rc;

/// The surroundings of the element that is checked.
#[derive(Clone, Copy)]
struct Around<'a> {
    edition: Edition,
    features: Features,
    /// The name of the scope.
    scope: &'a str,
    path: &'a [i32],
}

/// Checks the current file.
pub(super) fn file(linker: &mut Linker<'_>) {
    let file = Rc::clone(&linker.parsed().file);
    let file = file.as_ref();
    let features = Features::of(file.edition).with(&file.options);
    let around = Around {
        edition: file.edition,
        features,
        scope: &file.package,
        path: &[],
    };
    file_features(linker, file, features);
    file_options(linker, file);
    style::package(linker, file, features);
    visibility::file(linker, file);
    message::all(linker, &file.messages, around, 4);
    enumeration::all(linker, &file.enums, around, 5);
    extension::all(linker, &file.extensions, around, 7);
    for (at, service) in file.services.iter().enumerate() {
        let path = below(&[], 6, at);
        let features = features.with(&service.options);
        style::name(
            linker,
            features,
            &path,
            &service.name,
            style::Case::Title,
            "a service",
        );
        for (at, method) in service.methods.iter().enumerate() {
            let path = below(&path, 2, at);
            let features = features.with(&method.options);
            style::name(
                linker,
                features,
                &path,
                &method.name,
                style::Case::Title,
                "a method",
            );
        }
    }
}

/// The reserved names of a message or an enum, each of which is there once.
fn reserved_names<'a>(
    linker: &mut Linker<'_>,
    names: &'a [String],
    path: &[i32],
    tag: i32,
) -> HashSet<&'a str> {
    let mut known = HashSet::new();
    for (at, name) in names.iter().enumerate() {
        if !known.insert(name.as_str()) {
            let span = linker.parsed().positions.span(&below(path, tag, at));
            let text = format!("the name `{name}` is reserved twice");
            linker.error("E1504", span, text, "remove one of the two");
        }
    }
    known
}

/// Options of a file that contradict its edition, or its imports.
fn file_options(linker: &mut Linker<'_>, file: &File) {
    if file.edition >= Edition::E2023 && file.options.flag("java_string_check_utf8") {
        let span = linker.parsed().positions.span(&[8, 27]);
        let help = "write `option features.(pb.java).utf8_validation = VERIFY;`";
        let text = "editions have a feature for `java_string_check_utf8`";
        linker.error("E1604", span, text, help);
    }
    if is_lite(file) {
        let generic = ["cc_generic_services", "java_generic_services"];
        if !file.services.is_empty() && generic.iter().any(|name| file.options.flag(name)) {
            let span = linker.parsed().positions.span(&[6, 0]);
            let help = "remove `cc_generic_services` and `java_generic_services`";
            let text = "a file without descriptors has no generic services";
            linker.error("E1605", span, text, help);
        }
        return;
    }
    let imports = &linker.imports[linker.current];
    let plain = imports.iter().take(file.dependencies.len()).enumerate();
    let lite: Vec<i32> = plain
        .filter(|(_, import)| import.is_some_and(|import| is_lite(&linker.files[import].file)))
        .map(|(at, _)| at as i32)
        .collect();
    for at in lite {
        let span = linker.parsed().positions.span(&[3, at]);
        let help = "set `option optimize_for = LITE_RUNTIME;` in both files, or in none";
        let text = "this file needs descriptors, and the imported one is made without them";
        linker.error("E1605", span, text, help);
    }
}

/// True for a file whose messages have no descriptors at run time.
fn is_lite(file: &File) -> bool {
    file.options.get("optimize_for").and_then(OptionValue::int) == Some(3)
}

fn file_features(linker: &mut Linker<'_>, file: &File, features: Features) {
    if file.edition >= Edition::E2023 && features.presence == FieldPresence::Required {
        let span = linker.parsed().positions.span(&[8, 50, 1]);
        let message = "not every field of a file can be required";
        linker.error(
            "E1605",
            span,
            message,
            "set `LEGACY_REQUIRED` for single fields",
        );
    }
}
