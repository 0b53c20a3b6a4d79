//! Our descriptors are those of protobuf's own compiler, for good files of ours and of others, and
//! what we refuse, it refuses. `cargo xtask fetch-peer-idl` installs it; without it, these tests
//! say so and pass.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::proto::describe;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use support::{Below, files, report, tests};

/// The Python environment that has the compiler.
fn environment() -> Option<PathBuf> {
    let path = tests("../../../target/peer-idl/protoc");
    let found = path.join("bin/python").exists();
    if !found {
        println!("skipped: no protobuf compiler; `cargo xtask fetch-peer-idl` installs it");
    }
    found.then_some(path)
}

/// How many files one run of the compiler gets: few enough that all cores have something to do.
const BATCH: usize = 32;

/// Compares what we make of these files with what the compiler makes of them. Names are relative to
/// `root`.
fn check(root: &Path, include: &[String], names: &[String]) {
    let batches = Mutex::new(names.chunks(BATCH));
    let next = || batches.lock().unwrap().next();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(batch) = next() {
                    check_batch(root, include, batch);
                }
            });
        }
    });
}

fn check_batch(root: &Path, include: &[String], names: &[String]) {
    let Some(environment) = environment() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let loader = Below {
        root: root.to_owned(),
        include: include.to_vec(),
    };
    let folders = format!("{}:{}", root.display(), folder_list(root, include));
    let mut requests = String::new();
    let mut failures = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let described = describe(name, &loader);
        let Some(files) = described.files else {
            let shown = dovetail_idl::render(&described.diagnostics, &described.sources, false);
            failures.push(format!("{name} is refused\n{shown}"));
            continue;
        };
        let target = scratch.path().join(index.to_string());
        std::fs::write(&target, files.encode()).unwrap();
        requests.push_str(&format!("{name} {folders} {}\n", target.display()));
    }
    failures.extend(ask(&environment, &requests).err());
    println!("{}: {} files", root.display(), names.len());
    report(failures);
}

fn folder_list(root: &Path, include: &[String]) -> String {
    let all = include
        .iter()
        .map(|dir| root.join(dir).display().to_string());
    all.collect::<Vec<_>>().join(":")
}

fn ask(environment: &Path, requests: &str) -> Result<(), String> {
    let mut child = Command::new(environment.join("bin/python"))
        .arg(tests("proto/oracle.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(requests.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).into_owned()),
    }
}

/// Our own files, with everything in them that the language has.
#[test]
fn torture() {
    let root = tests("proto/good");
    check(&root, &[".".to_owned()], &files(&root, ".proto"));
}

/// Exports of contracts in other languages.
#[test]
fn exported() {
    let golden = tests("../../codegen/tests/golden");
    for folder in std::fs::read_dir(golden).unwrap() {
        let root = folder.unwrap().path().join("exported");
        if root.is_dir() {
            check(&root, &[".".to_owned()], &files(&root, ".proto"));
        }
    }
}

/// The files that Python packages and Go modules ship, protobuf's own among them.
#[test]
fn shipped() {
    let Some(environment) = environment() else {
        return;
    };
    let lib = std::fs::read_dir(environment.join("lib")).unwrap();
    for python in lib.map(|entry| entry.unwrap().path().join("site-packages")) {
        let own = python.join("grpc_tools/_proto");
        check(
            &own,
            &[".".to_owned()],
            &support::files_below(&own, ".proto"),
        );
        let mut names = support::files_below(&python, ".proto");
        names.retain(|name| !name.starts_with("grpc_tools/"));
        check(&python, &[".".to_owned()], &names);
    }
    // Packages beside the compiler have files of all languages.
    for package in std::fs::read_dir(environment.parent().unwrap()).unwrap() {
        let root = package.unwrap().path();
        let mut names = match root.ends_with("protoc") {
            true => Vec::new(),
            false => support::files_below(&root, ".proto"),
        };
        names.retain(|name| !NOT_PROTOBUF.iter().any(|(file, _)| name.ends_with(file)));
        check(&root, &folders(&root), &names);
    }
}

/// Folders that imports of a package are relative to: every project has its own folder, and those
/// that collect contracts of others have one for each.
fn folders(root: &Path) -> Vec<String> {
    let mut folders = [".", "src", "proto"].map(str::to_owned).to_vec();
    for collection in ["proto", "src/proto"] {
        let entries = std::fs::read_dir(root.join(collection));
        let entries = entries.into_iter().flatten().flatten();
        let inside = entries.filter(|entry| entry.path().is_dir());
        folders.extend(
            inside.map(|entry| format!("{collection}/{}", entry.file_name().to_string_lossy())),
        );
    }
    // A project of a collection may have its own, too.
    let own: Vec<String> = folders
        .iter()
        .map(|folder| format!("{folder}/proto"))
        .collect();
    folders.extend(own.into_iter().filter(|folder| root.join(folder).is_dir()));
    folders.sort();
    folders.dedup();
    folders
}

/// Files that packages ship and the compiler refuses, and why.
const NOT_PROTOBUF: &[(&str, &str)] = &[
    ("pilota.proto", "extends messages by nothing"),
    ("serde_preserve_idl_names_pb.proto", "imports it"),
    (
        "test_data/custom_options.proto",
        "has default values in proto3",
    ),
    (
        "test_data/protobuf/oneof.proto",
        "has two definitions of one name",
    ),
];

/// Files that we refuse although the compiler takes them, and why.
const STRICTER: &[(&str, &str)] = &[(
    "lex_utf8.proto",
    "the default value of a string is text, which the compiler leaves to its generators to find out",
)];

/// Files that we refuse are refused by the compiler, too.
#[test]
fn refused() {
    let Some(environment) = environment() else {
        return;
    };
    let root = tests("proto/errors");
    let folders = folder_list(&root, &[".".to_owned()]);
    let mut all = files(&root, ".proto");
    all.retain(|name| !STRICTER.iter().any(|(file, _)| file == name));
    let requests: String = all
        .iter()
        .map(|name| format!("{name} {folders} -\n"))
        .collect();
    report(ask(&environment, &requests).err().into_iter().collect());
}
