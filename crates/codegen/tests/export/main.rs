//! Contracts written out for others; those in another IDL are read again, and are the same
//! contracts.
#![allow(clippy::unwrap_used)]

mod capnp;
mod openapi;
mod proto;
mod thrift;

use dovetail_codegen::{File, Unsupported};
use dovetail_idl::{LoadError, Loader, MemoryLoader, Source, beside, compile};
use dovetail_schema::Schema;
use std::fs;
use std::path::{Path, PathBuf};

/// Files below a folder, by paths relative to it.
struct Below(PathBuf);

impl Loader for Below {
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError> {
        let name = from.map_or(include.to_owned(), |from| beside(from, include));
        match fs::read_to_string(self.0.join(&name)) {
            Ok(text) => Ok(Source::new(name, text)),
            Err(_) => Err(LoadError::NotFound { tried: vec![name] }),
        }
    }
}

/// The files of a contract; nothing where some of them have one name, and lay in several folders.
fn written(files: Result<Vec<File>, Vec<Unsupported>>) -> Option<Vec<(String, String)>> {
    let files = match files {
        Ok(files) => files,
        Err(all) if all[0].what.starts_with("another file") => return None,
        Err(all) => panic!("{all:?}"),
    };
    Some(texts(files))
}

fn texts(files: Vec<File>) -> Vec<(String, String)> {
    files
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect()
}

fn read(files: &[(String, String)]) -> Schema {
    let loader: MemoryLoader = files.iter().cloned().collect();
    let root = &files.last().unwrap().0;
    let compiled = compile(root, &loader);
    let (messages, text) = (compiled.render(false), &files.last().unwrap().1);
    compiled
        .schema
        .unwrap_or_else(|| panic!("{messages}\n{text}"))
}

/// The contracts in a folder and below it.
fn contracts(folder: &str, ending: &str) -> Vec<(Below, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(contracts(path.to_str().unwrap(), ending));
        } else if path.extension().is_some_and(|found| found == ending) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((Below(root.clone()), name));
        }
    }
    found
}
