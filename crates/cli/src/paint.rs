//! Colours, where a terminal shows them and nobody asked for none.

use std::io::IsTerminal as _;

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// What text means; the colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Error,
    Warning,
    Good,
    Help,
    Strong,
    Faint,
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
        let code = match style {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Good => "32",
            Style::Help => "1;36",
            Style::Strong => "1",
            Style::Faint => "2",
        };
        match self.colours && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}
