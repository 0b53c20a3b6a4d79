//! The places where an option may be set, and its editions: what `targets` and `feature_support`
//! of its field say.

use super::super::descriptor::{Edition, Field, Kind, OptionValue, Options};
use super::super::link::Linker;
use super::super::symbols::join;
use super::super::syntax::Pending;
use super::super::walk::{self, Owner};
use super::{field_of, name_of, slim};
use crate::source::Span;

/// Checks an option and everything that its value sets.
pub(super) fn check(
    linker: &mut Linker<'_>,
    owner: Owner,
    chain: &[Field],
    value: &OptionValue,
    option: &Pending,
) {
    let span = option
        .name
        .first()
        .map_or(option.value.span, |part| part.span);
    let span = span.to(option.value.span);
    if chain.first().is_some_and(|field| field.name == "features")
        && linker.parsed().file.edition < Edition::E2023
    {
        let message = format!("`{}` needs an edition", name_of(&option.name));
        let help = "features exist in files that begin with `edition = \"2023\";` or a later one";
        linker.error("E1604", span, message, help);
        return;
    }
    for field in chain {
        one(linker, owner, field, span);
    }
    if let Some(last) = chain.last() {
        enum_value(linker, last, value, span);
    }
    match chain {
        [field] if field.name == "map_entry" && owner == Owner::Message => {
            let help = "write a field of type `map<…>`";
            linker.error("E1605", span, "`map_entry` is not for files to set", help);
        }
        [features, inner @ ..] if features.name == "features" => {
            feature(linker, inner, value, span)
        }
        _ => {}
    }
    if let (OptionValue::Message(inner) | OptionValue::Group(inner), Some(field)) =
        (value, chain.last())
    {
        inside(linker, owner, &field.type_name, inner, span);
    }
}

/// Checks a feature: its value is known, and it is defined in another file, since its defaults have
/// to be known first.
fn feature(linker: &mut Linker<'_>, inner: &[Field], value: &OptionValue, span: Span) {
    let whole = match (inner, value) {
        ([], OptionValue::Message(options)) => options.fields.as_slice(),
        _ => &[],
    };
    let part = match inner {
        [field] => Some((field.name.as_str(), value)),
        _ => inner
            .first()
            .map(|field| (field.name.as_str(), &OptionValue::Double(0.0))),
    };
    let set = whole.iter().map(|set| (set.name.as_str(), &set.value));
    let all: Vec<(&str, &OptionValue)> = set.chain(part).collect();
    // Features of languages are extensions, which may have such a value.
    let unknown = |(name, value): &(&str, &OptionValue)| {
        !name.starts_with('.') && matches!(value, OptionValue::Int(Kind::Enum, 0))
    };
    if all.iter().any(unknown) {
        let text = "a feature cannot be set to its unknown value";
        linker.error("E1603", span, text, "remove it, or choose another value");
    }
    let symbols = |name: &str| linker.symbols.get(name.strip_prefix('.')?);
    let own = |name: &&str| symbols(name).is_some_and(|symbol| symbol.file == linker.current);
    if let Some(name) = all.into_iter().map(|(name, _)| name).find(own) {
        let text = format!("`{}` is defined in this file", name.trim_start_matches('.'));
        let help = "define features of one's own in a file that this one imports";
        linker.error("E1604", span, text, help);
    }
}

fn inside(linker: &mut Linker<'_>, owner: Owner, message: &str, options: &Options, span: Span) {
    for set in &options.fields {
        let known = match set.name.strip_prefix('.') {
            Some(extension) => field_of(linker, extension),
            None => field_of(linker, &join(message.trim_start_matches('.'), &set.name)),
        };
        let field = known.map(slim);
        let Some(field) = field else { continue };
        one(linker, owner, &field, span);
        enum_value(linker, &field, &set.value, span);
        if let OptionValue::Message(inner) | OptionValue::Group(inner) = &set.value {
            inside(linker, owner, &field.type_name, inner, span);
        }
    }
}

/// A value of an enum can have editions of its own.
fn enum_value(linker: &mut Linker<'_>, field: &Field, value: &OptionValue, span: Span) {
    let OptionValue::Int(Kind::Enum, number) = value else {
        return;
    };
    let symbol = linker.symbols.get(field.type_name.trim_start_matches('.'));
    let def = symbol
        .and_then(|symbol| walk::enumeration(&linker.files.get(symbol.file)?.file, &symbol.path));
    let mut values = def.map_or([].iter(), |def| def.values.iter());
    let known = values.find(|known| i128::from(known.number) == *number);
    if let Some((name, support)) = known.and_then(|known| {
        Some((
            known.name.clone(),
            known.options.message("feature_support")?.clone(),
        ))
    }) {
        supported(linker, &name, &support, span);
    }
}

fn one(linker: &mut Linker<'_>, owner: Owner, field: &Field, span: Span) {
    let name = field.name.trim_start_matches('.');
    let mut targets = field
        .options
        .fields
        .iter()
        .filter(|set| set.name == "targets")
        .peekable();
    if targets.peek().is_some() && !targets.any(|set| set.value.int() == Some(owner.target())) {
        let message = format!("`{name}` is no option of {}", owner.word());
        linker.error("E1604", span, message, "remove it");
        return;
    }
    if let Some(support) = field.options.message("feature_support") {
        supported(linker, name, support, span);
    }
}

/// Reports an option or value that its edition does not have yet, or no longer has.
fn supported(linker: &mut Linker<'_>, name: &str, support: &Options, span: Span) {
    let edition = linker.parsed().file.edition as i128;
    let year = |name| support.get(name).and_then(OptionValue::int);
    if let Some(introduced) = year("edition_introduced").filter(|since| edition < *since) {
        let message = format!("`{name}` exists from a later edition on");
        let help = match introduced {
            1000 => "write `edition = \"2023\";`",
            1001 => "write `edition = \"2024\";`",
            _ => "remove it",
        };
        linker.error("E1604", span, message, help);
    } else if year("edition_removed").is_some_and(|until| edition >= until) {
        let message = format!("`{name}` does not exist in this edition any more");
        linker.error("E1604", span, message, "remove it");
    }
}
