//! The failure of a command, and the exit code.

use crate::output::{count, tell};
use crate::paint::{Stream, Style};
use dovetail_codegen::Unsupported;
use std::fmt::Display;

/// The exit codes, documented in `docs/cli.md`. Scripts rely on them: never change a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something is wrong that is neither of the others: a contract with errors, a file, a port.
    Failed = 1,
    /// The command line, or arguments that do not fit the contract. clap uses the same number.
    Usage = 2,
    /// The call was answered with an exception that the contract declares.
    Exception = 3,
    /// The call failed: no connection, no such method, too late …
    Call = 4,
}

/// Why a command failed, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Empty where everything has been said already.
    message: String,
    /// Lines that the server has said beside the message.
    details: Vec<String>,
    help: Vec<String>,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Failure {
            exit,
            message: message.to_string(),
            details: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Shows the places of a contract that cannot `what`, as in `be generated`; the failure counts
    /// them.
    pub(crate) fn unsupported(places: &[Unsupported], what: &str) -> Self {
        for place in places {
            Failure::new(Exit::Failed, place).print();
        }
        let places = count(places.len(), "place");
        let message = format!("{places} of the contract cannot {what}");
        Failure::new(Exit::Failed, message)
    }

    /// Fails without a further word: the command has printed what there is to say.
    pub(crate) fn silent(exit: Exit) -> Self {
        Failure::new(exit, "")
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Display) -> Self {
        self.help.push(help.to_string());
        self
    }

    #[must_use]
    pub(crate) fn detail(mut self, detail: impl Display) -> Self {
        self.details.push(detail.to_string());
        self
    }

    #[must_use]
    pub(crate) fn maybe_help(self, help: Option<impl Display>) -> Self {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    pub(crate) fn print(&self) {
        if self.message.is_empty() {
            return;
        }
        let paint = Stream::Stderr.paint();
        tell(&format!(
            "{}: {}",
            paint.text(Style::Error, "error"),
            self.message
        ));
        let details = self.details.iter().map(|detail| ("detail", detail));
        let help = self.help.iter().map(|help| ("help", help));
        for (label, text) in details.chain(help) {
            tell(&format!("  {}: {text}", paint.text(Style::Help, label)));
        }
    }
}
