//! Extensions: what they extend lets them.

use super::super::descriptor::{Edition, Field, Kind, Label, OptionValue, Options};
use super::super::link::{Linker, is_singular};
use super::super::symbols::join;
use super::super::syntax::below;
use super::super::walk;
use super::{Around, field, message};
use crate::diagnostic::Diagnostic;
use crate::source::FileId;

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
    let Some(range) = range(linker, extension, &extendee, path) else {
        return;
    };
    let key = (extendee.clone(), extension.number);
    let place = (linker.current, path.to_vec());
    if let Some((file, other)) = linker.extensions.insert(key, place) {
        let span = linker.files[file].places.part(&other, 3);
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
    if let Some(range) = range {
        declarations(linker, extension, around, path, &range);
    }
}

/// The options of the range that an extension's number is in; the outer `None` where there is no such range.
fn range(
    linker: &mut Linker<'_>,
    extension: &Field,
    extendee: &str,
    path: &[i32],
) -> Option<Option<Options>> {
    let span = linker.span(path, 3);
    let symbol = linker.symbols.get(extendee)?;
    let message = walk::message(&linker.files[symbol.file].file, &symbol.path)?;
    let at = message::has_extension(message, extension.number);
    let options = at
        .and_then(|at| message.extension_ranges.get(at))
        .map(|range| range.options.clone());
    let message_set = message::is_message_set(message);
    if message_set && (!is_singular(extension) || extension.kind != Some(Kind::Message)) {
        let text = "an extension of a message set is an optional message";
        linker.error("E1505", linker.span(path, 4), text, "wrap it in a message");
    }
    if options.is_none() {
        let text = format!(
            "`{extendee}` has no extension with the number {}",
            extension.number
        );
        linker.error(
            "E1505",
            span,
            text,
            "choose a number out of its `extensions` statements",
        );
        return None;
    }
    Some(options.filter(|options| !options.fields.is_empty()))
}

/// A range can say by name which extensions it takes.
fn declarations(
    linker: &mut Linker<'_>,
    extension: &Field,
    around: Around<'_>,
    path: &[i32],
    range: &Options,
) {
    let all = || range.fields.iter().filter(|set| set.name == "declaration");
    let strict = range.get("verification").and_then(OptionValue::int) == Some(0);
    if all().next().is_none() && !strict {
        return;
    }
    let inner = |set: &super::super::descriptor::OptionField| match &set.value {
        OptionValue::Message(inner) => Some(inner.clone()),
        _ => None,
    };
    let number = |options: &Options| options.get("number").and_then(OptionValue::int);
    let own = all()
        .filter_map(inner)
        .find(|options| number(options) == Some(extension.number.into()));
    let span = linker.span(path, 3);
    let Some(own) = own else {
        let text = format!(
            "the number {} is not declared for an extension",
            extension.number
        );
        linker.error(
            "E1505",
            span,
            text,
            "add a `declaration` to the range, or choose a declared number",
        );
        return;
    };
    let full = format!(".{}", join(around.scope, &extension.name));
    let ty = match extension.type_name.as_str() {
        "" => extension.kind.map_or("", Kind::word),
        name => name,
    };
    let text = |name| own.get(name).and_then(OptionValue::text);
    let wrong = match () {
        () if own.flag("reserved") => Some("this number is reserved by its declaration".to_owned()),
        () if text("full_name").is_some_and(|name| name != full) => Some(format!(
            "its declaration names `{}`",
            text("full_name").unwrap_or_default()
        )),
        () if text("type").is_some_and(|name| name != ty) => Some(format!(
            "its declaration has the type `{}`",
            text("type").unwrap_or_default()
        )),
        () if own.flag("repeated") == is_singular(extension) => {
            Some("its declaration has another label".to_owned())
        }
        () => None,
    };
    if let Some(wrong) = wrong {
        linker.error(
            "E1505",
            span,
            wrong,
            "declaration and extension have to agree",
        );
    }
}
