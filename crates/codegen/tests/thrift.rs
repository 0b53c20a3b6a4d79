//! Contracts that are written out as `.thrift` and read again are the same contracts.
#![allow(clippy::unwrap_used)]

use dovetail_codegen::thrift::write;
use dovetail_dynamic::Contract;
use dovetail_idl::{LoadError, Loader, MemoryLoader, Source, beside, compile};
use dovetail_schema::{Annotation, Schema};
use std::fs;
use std::path::{Path, PathBuf};

/// Files below a folder, by paths relative to it.
struct Below(PathBuf);

impl Loader for Below {
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError> {
        let name = from.map_or(include.to_owned(), |from| beside(from, include));
        match fs::read_to_string(self.0.join(&name)) {
            Ok(text) => Ok(Source { name, text }),
            Err(_) => Err(LoadError::NotFound { tried: vec![name] }),
        }
    }
}

/// Everything but where files were, and in which order namespaces are annotated.
fn moved(mut schema: Schema) -> Schema {
    for package in &mut schema.packages {
        package.path.clear();
        let key =
            |annotation: &Annotation| annotation.key.splitn(3, '.').take(2).collect::<String>();
        package.annotations.untyped.sort_by_key(key);
    }
    schema
}

/// The files of a contract; nothing where some of them have one name, and lay in several folders.
fn written(schema: &Schema) -> Option<Vec<(String, String)>> {
    let files = match write(schema) {
        Ok(files) => files,
        Err(all) if all[0].what.starts_with("another file") => return None,
        Err(all) => panic!("{all:?}"),
    };
    let files = files.into_iter().map(|file| (file.path, file.text));
    Some(files.collect())
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

#[test]
fn thrift() {
    let (mut count, mut failures) = (0, Vec::<String>::new());
    for folder in [
        "../idl/tests/corpus",
        "../idl/tests/warnings",
        "tests/golden",
        "../cli/tests/contracts",
        "../../interop",
    ] {
        for (loader, name) in contracts(folder, "thrift") {
            let Some(schema) = compile(&name, &loader).schema else {
                continue;
            };
            let Some(files) = written(&schema) else {
                continue;
            };
            if moved(read(&files)) != moved(schema) {
                let text = &files.last().unwrap().1;
                failures.push(format!("{folder} {name}\n{text}"));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(count > 60, "{count}");
}

/// Of contracts in protobuf's language the methods are the same, but for the dots in names.
#[test]
fn proto() {
    let mut count = 0;
    for folder in ["../idl/tests/proto", "tests/golden"] {
        for (loader, name) in contracts(folder, "proto") {
            let Some(mut schema) = compile(&name, &loader).schema else {
                continue;
            };
            let Ok(files) = write(&schema) else {
                continue;
            };
            let files: Vec<_> = files
                .into_iter()
                .map(|file| (file.path, file.text))
                .collect();
            let back = read(&files);
            for def in &mut schema.types {
                def.name = def.name.replace('.', "_");
            }
            let (before, after) = (Contract::new(&schema), Contract::new(&back));
            for (service, read) in schema.services.iter().zip(&back.services) {
                for (method, read) in service.methods.iter().zip(&read.methods) {
                    let name = format!("{name} {}", method.name);
                    assert_eq!(before.describe(method), after.describe(read), "{name}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 3, "{count}");
}

#[test]
fn what_thrift_cannot_say_is_refused_by_name() {
    let (loader, name) = contracts("tests/golden", "proto").remove(0);
    let refused = write(&compile(&name, &loader).schema.unwrap()).unwrap_err();
    let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "`raw`: a constant of bytes is the UTF-8 of a text in Thrift",
            "`limit`: a constant is a finite number in Thrift",
        ]
    );
}
