//! Colours, where a terminal shows them and nobody asked for none.

use std::io::IsTerminal as _;

/// The stream that text goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// The meaning of text; the colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Error,
    Warning,
    Good,
    Help,
    Strong,
    Faint,
}

/// The sequences that begin the styles, in their order, and the one that ends them.
const CODES: [&str; 6] = [
    "\x1b[1;31m",
    "\x1b[1;33m",
    "\x1b[32m",
    "\x1b[1;36m",
    "\x1b[1m",
    "\x1b[2m",
];
const END: &str = "\x1b[0m";

/// How many bytes the text begins with that begin or end a style.
pub(crate) fn sequence(text: &str) -> usize {
    let mut known = CODES.iter().chain([&END]);
    let known = known.find(|known| text.starts_with(**known));
    known.map_or(0, |known| known.len())
}

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colours: bool,
}

impl Stream {
    pub(crate) fn paint(self) -> Paint {
        let terminal = match self {
            Stream::Stdout => std::io::stdout().is_terminal(),
            Stream::Stderr => std::io::stderr().is_terminal(),
        };
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint {
            colours: (terminal && !dumb && !set("NO_COLOR")) || set("CLICOLOR_FORCE"),
        }
    }
}

impl Paint {
    pub(crate) fn text(self, style: Style, text: &str) -> String {
        let begin = CODES[style as usize];
        match self.colours && !text.is_empty() {
            true => format!("{begin}{text}{END}"),
            false => text.to_owned(),
        }
    }
}
