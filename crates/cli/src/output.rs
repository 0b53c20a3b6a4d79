//! Standard output, whose reader may go away.

use crate::failure::{Exit, Failure, Result};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Writes to standard output. A reader that has seen enough (`| head`) is no error.
pub(crate) fn write(text: &str) -> Result {
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
