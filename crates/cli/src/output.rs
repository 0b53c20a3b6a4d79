//! Standard output, whose reader may go away.

use crate::failure::{Exit, Failure, Result};
use crate::paint;
use dovetail_wire::{is_hidden, visible, visible_json};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Writes text for display to standard output. What comes from a peer in it cannot command their
/// terminal, or hide.
pub(crate) fn write(text: &str) -> Result {
    document(&shown(text))
}

/// Writes JSON to standard output: one document, whatever it holds.
pub(crate) fn json(text: &str) -> Result {
    document(&format!("{}\n", visible_json(text)))
}

/// Writes text for display to standard error.
pub(crate) fn tell(text: &str) {
    eprintln!("{}", shown(text));
}

/// Text with all escaped that does not show, but for lines and what [`Paint`](crate::paint::Paint)
/// makes.
fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_hidden) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let kept = match rest.starts_with(['\n', '\t']) {
            true => 1,
            false => paint::sequence(rest),
        };
        let length = kept.max(rest.chars().next().map_or(0, char::len_utf8));
        let (this, behind) = rest.split_at(length);
        match kept {
            0 => out.push_str(&visible(this).to_string()),
            _ => out.push_str(this),
        }
        rest = behind;
    }
    out + rest
}

/// Writes a file to standard output as it is. A reader that has seen enough (`| head`) is no error.
pub(crate) fn document(text: &str) -> Result {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(problem) if problem.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(problem) => Err(Failure::new(
            Exit::Failed,
            format!("cannot write to standard output: {problem}"),
        )),
    }
}

/// Writes a file, in a folder that need not exist.
pub(crate) fn save(path: &Path, text: &str) -> Result {
    let made = match path.parent() {
        Some(dir) => std::fs::create_dir_all(dir),
        None => Ok(()),
    };
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|problem| {
            Failure::new(
                Exit::Failed,
                format!("cannot write `{}`: {problem}", path.display()),
            )
            .help("choose another folder with --output")
        })
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// How to call this program again: its name where a shell finds it, else its path.
pub(crate) fn program() -> String {
    let Ok(path) = std::env::current_exe() else {
        return "dovetail".to_owned();
    };
    let found = std::env::var_os("PATH")
        .is_some_and(|dirs| std::env::split_paths(&dirs).any(|dir| dir.join("dovetail") == path));
    if found {
        return "dovetail".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(&path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_of_our_own_reach_a_terminal() {
        for (text, expected) in [
            ("a\n\tb\n", "a\n\tb\n"),
            ("\x1b[1;31merror\x1b[0m: x", "\x1b[1;31merror\x1b[0m: x"),
            ("\x1b[2Jx\x1b]0;title\x07", r"\u{1b}[2Jx\u{1b}]0;title\u{7}"),
            ("exe.\u{202e}txt", r"exe.\u{202e}txt"),
            ("a\rb\u{200b}c\u{9b}1m", r"a\rb\u{200b}c\u{9b}1m"),
            ("grün 你好", "grün 你好"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }
}
