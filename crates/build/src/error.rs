use dovetail_codegen::Unsupported;
use dovetail_idl::Compiled;
use std::path::Path;
use std::{fmt, io};

/// Why there is no generated file, as a text for display: for a contract with errors, what rustc
/// would show for code.
///
/// `Debug` is the same text, because that is what Cargo shows of a build script whose `main` fails.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn contract(compiled: &Compiled) -> Self {
        Error(compiled.render(false).trim_end().to_owned())
    }

    pub(crate) fn unsupported(all: &[Unsupported]) -> Self {
        let text: Vec<String> = all
            .iter()
            .map(|Unsupported { what, at }| format!("error: {what}\n  = in {at}"))
            .collect();
        Error(text.join("\n\n"))
    }

    pub(crate) fn no_out_dir() -> Self {
        Error(
            "error: the environment has no OUT_DIR\n  = help: call this from a build script, \
             or choose a folder with `Config::out_dir`"
                .to_owned(),
        )
    }

    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        Error(format!("error: cannot write `{}`: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `main` puts `Error: ` before it; the text has lines that belong below each other.
        write!(f, "\n\n{}\n", self.0)
    }
}

impl std::error::Error for Error {}
