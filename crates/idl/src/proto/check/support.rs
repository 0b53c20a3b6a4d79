//! The editions in which an option or a value exists, as `feature_support` in its own options says
//! them.

use super::super::descriptor::{OptionValue, Options};
use super::super::link::Linker;

/// Checks what the options at `path` say; `tail` leads from there to `feature_support`.
pub(super) fn check(linker: &mut Linker<'_>, options: &Options, path: &[i32], tail: &[i32]) {
    let Some(support) = options.message("feature_support") else {
        return;
    };
    // The built-in files leave the texts out.
    if linker.parsed().file.name.starts_with("google/protobuf/") {
        return;
    }
    let edition = |name| support.get(name).and_then(OptionValue::int);
    let [introduced, deprecated, removed] = [
        "edition_introduced",
        "edition_deprecated",
        "edition_removed",
    ]
    .map(edition);
    let before = |earlier: Option<i128>, later: Option<i128>| {
        earlier
            .zip(later)
            .is_some_and(|(earlier, later)| earlier < later)
    };
    let rules = [
        (
            deprecated.is_some() && support.get("deprecation_warning").is_none(),
            "a deprecated option says why",
            "add a `deprecation_warning`",
        ),
        (
            removed.is_some() && support.get("removal_error").is_none(),
            "a removed option says why",
            "add a `removal_error`",
        ),
        (
            before(deprecated, introduced) || before(removed, introduced),
            "this option ends before it exists",
            "put its editions in order",
        ),
        (
            deprecated
                .zip(removed)
                .is_some_and(|(deprecated, removed)| deprecated >= removed),
            "this option is not deprecated before it is removed",
            "put its editions in order",
        ),
    ];
    let span = linker.parsed().positions.span(&[path, tail].concat());
    for (_, text, help) in rules.into_iter().filter(|(refuse, ..)| *refuse) {
        linker.error("E1605", span, text, help);
    }
}
