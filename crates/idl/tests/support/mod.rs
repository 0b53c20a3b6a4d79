//! Helpers that the tests share: files of this machine, and golden files.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod capnp_text;
pub mod mutation;

use dovetail_idl::{LoadError, Loader, Source, beside};
use dovetail_schema::Schema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files below a directory, by paths relative to it, so that messages show the same names on every
/// machine.
pub struct Below {
    pub root: PathBuf,
    /// Directories to search after that of the including file.
    pub include: Vec<String>,
}

impl Below {
    pub fn new(root: impl Into<PathBuf>) -> Below {
        Below {
            root: root.into(),
            include: Vec::new(),
        }
    }
}

impl Loader for Below {
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError> {
        let first = from.map_or(include.to_owned(), |from| beside(from, include));
        let others = self
            .include
            .iter()
            .map(|directory| format!("{directory}/{include}"));
        let tried: Vec<String> = std::iter::once(first).chain(others).collect();
        let Some(name) = tried
            .iter()
            .find(|name| self.root.join(name).is_file())
            .cloned()
        else {
            return Err(LoadError::NotFound { tried });
        };
        let bytes = fs::read(self.root.join(&name));
        match bytes {
            Ok(bytes) => Ok(Source::from_bytes(name, bytes)),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        }
    }
}

/// A directory of this crate's tests.
pub fn tests(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(directory)
}

/// The names of the `.thrift` files in a directory, sorted.
pub fn thrift_files(directory: &Path) -> Vec<String> {
    files(directory, ".thrift")
}

/// The names of the files in a directory with this ending, sorted.
pub fn files(directory: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

/// Returns the files of all directories below, as paths.
pub fn files_below(root: &Path, ending: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.to_str().is_some_and(|path| path.ends_with(ending)) {
                let name = path.strip_prefix(root).unwrap();
                names.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    names
}

/// Compares with a golden file, or writes it where `UPDATE_GOLDEN` is set.
pub fn golden(path: &Path, actual: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, actual).unwrap();
        return Ok(());
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    match expected == actual {
        true => Ok(()),
        false => Err(format!(
            "{} differs; UPDATE_GOLDEN=1 refreshes it\n--- expected\n{expected}\n--- actual\n{actual}",
            path.display()
        )),
    }
}

/// The codes of diagnostics that occur in the sources below a directory.
pub fn codes_in(sources: &Path) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut directories = vec![sources.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            for word in text.split('"') {
                let digits = word.strip_prefix(['E', 'W']).unwrap_or_default();
                if digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    codes.insert(word.to_owned());
                }
            }
        }
    }
    codes
}

/// The schema as lines of JSON: short enough to read, and to compare.
pub fn schema_lines(schema: &Schema) -> String {
    fn all<T: Serialize>(what: &str, items: &[T], out: &mut String) {
        for item in items {
            let mut json = serde_json::to_value(item).unwrap();
            shorten(&mut json);
            out.push_str(&format!("{what} {json}\n"));
        }
    }
    let mut out = String::new();
    all("package", &schema.packages, &mut out);
    all("type", &schema.types, &mut out);
    all("service", &schema.services, &mut out);
    all("constant", &schema.constants, &mut out);
    out
}

/// Leaves out members with their usual value.
fn shorten(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            fields.values_mut().for_each(shorten);
            fields.retain(|key, value| match value {
                serde_json::Value::Null => false,
                serde_json::Value::Array(items) => !items.is_empty(),
                serde_json::Value::Object(fields) => !fields.is_empty() || key == "value",
                serde_json::Value::String(text) => !matches!(
                    text.as_str(),
                    "Default" | "Value" | "Unknown" | "Unspecified"
                ),
                serde_json::Value::Bool(value) => *value || key != "oneway",
                _ => true,
            });
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// Fails with everything that went wrong.
pub fn report(failures: Vec<String>) {
    assert!(
        failures.is_empty(),
        "{} failures\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
