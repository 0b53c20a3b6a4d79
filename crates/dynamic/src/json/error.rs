use dovetail_wire::visible;
use std::fmt;

/// Why JSON is no value of the type that the contract says, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Innermost first.
    path: Vec<String>,
    problem: String,
    help: Option<String>,
}

impl JsonError {
    #[cold]
    pub(super) fn new(problem: impl Into<String>) -> Self {
        JsonError {
            path: Vec::new(),
            problem: problem.into(),
            help: None,
        }
    }

    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub(super) fn within(mut self, segment: impl Into<String>) -> Self {
        self.path.push(segment.into());
        self
    }

    /// Returns the place, as in `order.lines[2].price`; empty at the top.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.path.iter().rev() {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        path
    }

    /// Returns the problem.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns advice on how to mend it.
    pub fn suggestion(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{}: ", visible(&path))?;
        }
        write!(f, "{}", visible(&self.problem))?;
        match &self.help {
            Some(help) => write!(f, "; {}", visible(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for JsonError {}
