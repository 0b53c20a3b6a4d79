//! Declarations of extensions: a range says by number and name which extensions it takes.

use super::super::descriptor::{Field, Kind, Message, OptionValue, Options};
use super::super::link::{Linker, is_singular};
use super::super::symbols::join;
use super::super::syntax::below;
use super::Around;
use crate::source::Span;
use std::collections::HashSet;

/// Checks the declarations of a message's ranges.
pub(super) fn all(linker: &mut Linker<'_>, message: &Message, path: &[i32]) {
    let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
    for (at, range) in message.extension_ranges.iter().enumerate() {
        let span = linker.parsed().positions.span(&below(path, 5, at));
        let declarations = declarations(&range.options);
        let unverified = range.options.get("verification").and_then(OptionValue::int) == Some(1);
        if unverified && !declarations.is_empty() {
            let text = "a range with declarations is verified";
            refuse(
                linker,
                span,
                text.to_owned(),
                "remove `verification = UNVERIFIED`",
            );
        }
        for declaration in declarations {
            let number = declaration
                .get("number")
                .and_then(OptionValue::int)
                .unwrap_or(0);
            let name = text(declaration, "full_name");
            if !(i128::from(range.start)..i128::from(range.end)).contains(&number) {
                let text = format!("the declared number {number} is not in this range");
                refuse(linker, span, text, "declare numbers of the range");
            }
            if !numbers.insert(number) {
                let text = format!("the number {number} is declared twice");
                refuse(linker, span, text, "remove one of the two declarations");
            }
            if let Some(name) = name.filter(|name| !names.insert(*name)) {
                let text = format!("the extension `{name}` is declared twice");
                refuse(linker, span, text, "remove one of the two declarations");
            }
            if let Some((text, help)) = malformed(declaration) {
                refuse(
                    linker,
                    span,
                    format!("the declaration of {number} {text}"),
                    help,
                );
            }
        }
    }
}

fn declarations(options: &Options) -> Vec<&Options> {
    let set = options
        .fields
        .iter()
        .filter(|set| set.name == "declaration");
    let messages = set.filter_map(|set| match &set.value {
        OptionValue::Message(inner) => Some(inner),
        _ => None,
    });
    messages.collect()
}

fn text<'a>(declaration: &'a Options, name: &str) -> Option<&'a str> {
    declaration.get(name).and_then(OptionValue::text)
}

/// The fault of a declaration by itself, and its remedy.
fn malformed(declaration: &Options) -> Option<(&'static str, &'static str)> {
    match (text(declaration, "full_name"), text(declaration, "type")) {
        (None, None) if declaration.flag("reserved") => None,
        (Some(name), Some(ty)) => {
            let scalar = Kind::of_word(ty).is_some();
            let faults = [Some(name), Some(ty).filter(|_| !scalar)];
            faults.into_iter().flatten().find_map(not_absolute)
        }
        _ => Some((
            "lacks `full_name` or `type`",
            "set both; a number that is only reserved has neither",
        )),
    }
}

fn not_absolute(name: &str) -> Option<(&'static str, &'static str)> {
    let Some(parts) = name.strip_prefix('.') else {
        return Some((
            "has a name that is not absolute",
            "names begin with a dot here: `.package.Name`; scalar types are written as in a field",
        ));
    };
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let valid = parts.split('.').all(is_name);
    (!valid).then_some((
        "has a malformed name",
        "names are made of a-z, A-Z, 0-9 and _, with dots between them",
    ))
}

fn refuse(linker: &mut Linker<'_>, span: Span, text: String, help: &str) {
    linker.error("E1505", span, text, help);
}

/// Checks an extension against the declaration of its number.
pub(super) fn matches(
    linker: &mut Linker<'_>,
    extension: &Field,
    around: Around<'_>,
    path: &[i32],
    declaration: &OptionValue,
) {
    let OptionValue::Message(own) = declaration else {
        return;
    };
    let full = format!(".{}", join(around.scope, &extension.name));
    let ty = match extension.type_name.as_str() {
        "" => extension.kind.map_or("", Kind::word),
        name => name,
    };
    let other = |name, value: &str| text(own, name).filter(|declared| *declared != value);
    let wrong = match (other("full_name", &full), other("type", ty)) {
        _ if own.flag("reserved") => "this number is reserved by its declaration".to_owned(),
        (Some(declared), _) => format!("its declaration names `{declared}`"),
        (_, Some(declared)) => format!("its declaration has the type `{declared}`"),
        _ if own.flag("repeated") == is_singular(extension) => {
            "its declaration has another label".to_owned()
        }
        _ => return,
    };
    let help = "declaration and extension have to agree";
    refuse(linker, linker.span(path, 3), wrong, help);
}
