//! The sources of text: names, places in a text, and the [`Loader`] that a caller provides.

use std::collections::BTreeMap;
use std::fmt;

/// A text with the name that messages show and that tells two files apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The identity of the file: two includes that load the same name are one file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Bytes that are not UTF-8 stand in the text as U+FFFD.
    pub replaced: bool,
}

impl Source {
    /// A text that is UTF-8.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Source {
            name: name.into(),
            text: text.into(),
            replaced: false,
        }
    }

    /// The bytes of a file. Other than UTF-8 may stand in comments.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Source::new(name, text),
            Err(error) => Source {
                name: name.into(),
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                replaced: true,
            },
        }
    }
}

/// The text before the names of files that no [`Loader`] has to bring.
pub(crate) const BUILT_IN: &str = "<built in>/";

impl Source {
    /// True for a file that comes with this crate, such as protobuf's own.
    pub fn is_built_in(&self) -> bool {
        self.name.starts_with(BUILT_IN)
    }
}

/// The place of a [`Source`] in [`Compiled::sources`](crate::Compiled::sources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    pub(crate) fn to(self, end: Span) -> Span {
        Span {
            start: self.start,
            end: end.end.max(self.end),
        }
    }
}

/// Finds files. The front end itself never touches a file system.
pub trait Loader {
    /// Loads what the file named `from` calls `include`; `from` is `None` for the file that was
    /// asked for.
    ///
    /// A loader looks beside the including file first, then in its include directories.
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError>;
}

/// Why a file could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// No such file.
    NotFound {
        /// The places that were looked at, in order.
        tried: Vec<String>,
    },
    /// It exists but cannot be used (permissions, not UTF-8 …).
    Unreadable(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotFound { tried } if tried.is_empty() => f.write_str("no such file"),
            LoadError::NotFound { tried } => write!(f, "not found at {}", tried.join(", ")),
            LoadError::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for LoadError {}

/// A [`Loader`] over texts in memory, for tests, editors and fuzzing.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: BTreeMap<String, String>,
}

impl MemoryLoader {
    /// A loader that knows no file yet.
    pub fn new() -> MemoryLoader {
        MemoryLoader::default()
    }

    /// Adds a file, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.files.insert(name.into(), text.into());
    }
}

impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for MemoryLoader {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(files: I) -> MemoryLoader {
        let files = files
            .into_iter()
            .map(|(name, text)| (name.into(), text.into()));
        MemoryLoader {
            files: files.collect(),
        }
    }
}

impl Loader for MemoryLoader {
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError> {
        let beside = from.map(|from| beside(from, include));
        let mut tried: Vec<String> = beside.into_iter().chain([normalize(include)]).collect();
        tried.dedup();
        let found = tried.iter().find_map(|name| self.files.get_key_value(name));
        match found {
            Some((name, text)) => Ok(Source::new(name, text)),
            None => Err(LoadError::NotFound { tried }),
        }
    }
}

/// The path of `include` as seen from the directory of `from`; a question of text only.
pub fn beside(from: &str, include: &str) -> String {
    match from.rsplit_once('/') {
        Some((directory, _)) if !include.starts_with('/') => {
            normalize(&format!("{directory}/{include}"))
        }
        _ => normalize(include),
    }
}

/// Removes `.` and resolves `..` where that needs no file system.
fn normalize(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts
                .last()
                .is_some_and(|last| !last.is_empty() && *last != "..") =>
            {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name by which others refer to a file: `shared` for `common/shared.thrift`.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".thrift")
        .unwrap_or(match name.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => name,
        })
}
