//! What a file may not say although every name in it means something.

mod enumeration;
pub(super) mod extension;
mod field;
mod message;
mod style;
mod visibility;

use super::descriptor::{Edition, File};
use super::features::{Features, FieldPresence};
use super::link::Linker;
use super::syntax::below;
use std::rc::Rc;

/// What is around the element that is checked.
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

fn file_features(linker: &mut Linker<'_>, file: &File, features: Features) {
    if file.edition >= Edition::E2023 && features.presence == FieldPresence::Required {
        let span = linker.parsed().places.span(&[8, 50, 1]);
        let message = "not every field of a file can be required";
        linker.error(
            "E1605",
            span,
            message,
            "set `LEGACY_REQUIRED` for single fields",
        );
    }
}
