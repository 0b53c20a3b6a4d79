//! The text of a configuration, and what is wrong with it.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// A place in the text, in bytes.
pub(super) type Span = Range<usize>;

/// Something that is wrong, and what is allowed.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Problem {
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Problem {
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Problem { help, ..self }
    }
}

/// All that is wrong with a configuration: each with its line, and with what is allowed there.
#[derive(Clone)]
pub struct ConfigError {
    /// The file, or a name for the text.
    origin: String,
    text: String,
    problems: Vec<Problem>,
}

impl ConfigError {
    pub(super) fn new(origin: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        ConfigError {
            origin: origin.to_owned(),
            text: text.to_owned(),
            problems,
        }
    }

    /// Returns the problems: line and column, both from 1, and what is wrong.
    pub fn problems(&self) -> impl Iterator<Item = (usize, usize, &str)> {
        self.problems.iter().map(|problem| {
            let before = self.text.get(..problem.span.start).unwrap_or(&self.text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default();
            (line, column.chars().count() + 1, problem.message.as_str())
        })
    }

    /// Returns the first problem on one line, without its place.
    pub(super) fn brief(&self) -> String {
        let Some(problem) = self.problems.first() else {
            return String::new();
        };
        match &problem.help {
            Some(help) => format!("{}: {help}", problem.message),
            None => problem.message.clone(),
        }
    }

    /// Returns the text for a terminal.
    pub fn render(&self, color: bool) -> String {
        let renderer = match color {
            true => Renderer::styled(),
            false => Renderer::plain(),
        };
        let rendered = self.problems.iter().map(|problem| {
            let annotation = AnnotationKind::Primary.span(problem.span.clone());
            let snippet = Snippet::source(&self.text)
                .path(&self.origin)
                .annotation(annotation);
            let group = Level::ERROR
                .primary_title(&problem.message)
                .element(snippet);
            let help = problem.help.as_deref();
            let help = help.map(|help| Level::HELP.message(help));
            renderer.render(&[group.elements(help)])
        });
        rendered.collect::<Vec<_>>().join("\n\n")
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}
