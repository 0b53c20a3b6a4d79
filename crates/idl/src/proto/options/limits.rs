//! Where an option may be set, and from which edition on or up to which: what `targets` and `feature_support`
//! of its field say.

use super::super::descriptor::{Edition, Field, OptionValue, Options};
use super::super::link::Linker;
use super::super::symbols::join;
use super::super::syntax::Pending;
use super::super::walk::Owner;
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
    for field in chain {
        one(linker, owner, field, span);
    }
    if chain.first().is_some_and(|field| field.name == "features")
        && linker.parsed().file.edition < Edition::E2023
    {
        let message = format!("`{}` needs an edition", name_of(&option.name));
        let help = "features exist in files that begin with `edition = \"2023\";` or a later one";
        linker.error("E1604", span, message, help);
        return;
    }
    if let (OptionValue::Message(inner) | OptionValue::Group(inner), Some(field)) =
        (value, chain.last())
    {
        inside(linker, owner, &field.type_name, inner, span);
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
        if let OptionValue::Message(inner) | OptionValue::Group(inner) = &set.value {
            inside(linker, owner, &field.type_name, inner, span);
        }
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
    let edition = linker.parsed().file.edition as i128;
    let Some(support) = field.options.message("feature_support") else {
        return;
    };
    let year = |name| support.get(name).and_then(OptionValue::int);
    if let Some(introduced) = year("edition_introduced").filter(|since| edition < *since) {
        // Older languages have no features at all, which is said of the option as a whole.
        if edition >= Edition::E2023 as i128 {
            let message = format!("`{name}` exists from a later edition on");
            let help = match introduced {
                1001 => "write `edition = \"2024\";`",
                _ => "remove it",
            };
            linker.error("E1604", span, message, help);
        }
    } else if year("edition_removed").is_some_and(|until| edition >= until) {
        let message = format!("`{name}` does not exist in this edition any more");
        linker.error("E1604", span, message, "remove it");
    }
}
