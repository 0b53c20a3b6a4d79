//! Names as protobuf's style guide has them, which edition 2024 demands.

use super::super::descriptor::File;
use super::super::features::Features;
use super::super::link::Linker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// `TitleCase`.
    Title,
    /// `lower_snake_case`.
    Snake,
    /// `UPPER_SNAKE_CASE`.
    Upper,
}

impl Case {
    fn fits(self, name: &str) -> bool {
        let first = name.as_bytes().first().copied().unwrap_or(b'_');
        match self {
            Case::Title => {
                first.is_ascii_uppercase() && name.bytes().all(|b| b.is_ascii_alphanumeric())
            }
            Case::Snake => first.is_ascii_lowercase() && parts(name, |b| b.is_ascii_lowercase()),
            Case::Upper => first.is_ascii_uppercase() && parts(name, |b| b.is_ascii_uppercase()),
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Case::Title => "TitleCase",
            Case::Snake => "lower_snake_case",
            Case::Upper => "UPPER_SNAKE_CASE",
        }
    }
}

/// Letters of one case, and digits; behind each underscore a letter.
fn parts(name: &str, letter: impl Fn(u8) -> bool) -> bool {
    name.split('_').all(|part| {
        part.bytes().next().is_some_and(&letter)
            && part.bytes().all(|b| letter(b) || b.is_ascii_digit())
    })
}

/// Checks the name of what is at `path`.
pub(super) fn name(
    linker: &mut Linker<'_>,
    features: Features,
    path: &[i32],
    name: &str,
    case: Case,
    what: &str,
) {
    if features.style && !case.fits(name) {
        let span = linker.span(path, 1);
        refuse(
            linker,
            span,
            format!("the name of {what} is written in {}", case.shown()),
        );
    }
}

pub(super) fn package(linker: &mut Linker<'_>, file: &File, features: Features) {
    let fits =
        file.package.is_empty() || file.package.split('.').all(|part| Case::Snake.fits(part));
    if features.style && !fits {
        let span = linker.parsed().positions.span(&[2]);
        refuse(
            linker,
            span,
            format!(
                "the name of a package is written in {}",
                Case::Snake.shown()
            ),
        );
    }
}

fn refuse(linker: &mut Linker<'_>, span: crate::source::Span, message: String) {
    let help = "rename it, or keep it with `features.enforce_naming_style = STYLE_LEGACY`";
    linker.error("E1405", span, message, help);
}
