//! Problems of a file, for display ([`render`](crate::render)) and for tools (the fields).

use crate::source::{FileId, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file means what it says, but something about it deserves attention.
    Warning,
    /// There is no schema.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable id such as `E0302`; `docs/idl.md` and `docs/proto.md` list them.
    pub code: &'static str,
    /// The problem, in one line.
    pub message: String,
    /// The places; the first primary label is *the* place.
    pub labels: Vec<Label>,
    /// Further facts worth knowing.
    pub notes: Vec<String>,
    /// Advice on how to mend it.
    pub helps: Vec<String>,
}

/// A place that a [`Diagnostic`] points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The file.
    pub file: FileId,
    /// The bytes.
    pub span: Span,
    /// The part of this place in the problem; may be empty.
    pub message: String,
    /// True for the place to look at first.
    pub primary: bool,
}

impl Diagnostic {
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message.into())
    }

    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message.into())
    }

    /// A method that nobody may call where permissions are checked, in either language.
    pub(crate) fn without_permission(method: &str, service: &str) -> Diagnostic {
        let message =
            format!("`{method}` has no permission, and other methods of `{service}` have one");
        Diagnostic::warning("W0606", message)
            .note("a server that checks permissions refuses all calls of it")
    }

    fn new(severity: Severity, code: &'static str, message: String) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            message,
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
        }
    }

    /// The place to look at first.
    pub(crate) fn at(self, file: FileId, span: Span, message: impl Into<String>) -> Diagnostic {
        self.label(file, span, message.into(), true)
    }

    /// A place that explains the first one.
    pub(crate) fn also(self, file: FileId, span: Span, message: impl Into<String>) -> Diagnostic {
        self.label(file, span, message.into(), false)
    }

    fn label(mut self, file: FileId, span: Span, message: String, primary: bool) -> Diagnostic {
        self.labels.push(Label {
            file,
            span,
            message,
            primary,
        });
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.helps.push(help.into());
        self
    }

    pub(crate) fn maybe_help(self, help: Option<String>) -> Diagnostic {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    fn place(&self) -> (u32, Span) {
        let label = self
            .labels
            .iter()
            .find(|label| label.primary)
            .or(self.labels.first());
        label.map_or((0, Span::default()), |label| (label.file.0, label.span))
    }
}

/// Collects diagnostics, and stops collecting where more of them would help nobody.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

/// As many as anybody will read; also what keeps the memory for a garbage file bounded.
const MAX: usize = 200;

impl Sink {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MAX {
            self.list.push(diagnostic);
        }
    }

    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// Everything, by file and place.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(Diagnostic::place);
        let dropped = |count: usize| count.saturating_sub(MAX);
        let (errors, warnings) = (dropped(self.errors), dropped(self.warnings));
        if errors > 0 {
            let message = format!("{errors} more errors are not shown");
            self.list
                .push(Diagnostic::error("E0001", message).help("correct the first ones"));
        }
        if warnings > 0 {
            let message = format!("{warnings} more warnings are not shown");
            self.list.push(Diagnostic::warning("W0001", message));
        }
        self.list
    }
}
