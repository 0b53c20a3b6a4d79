//! Our descriptors are those of protobuf's own compiler, for good files of ours and of others, and
//! what we refuse, it refuses. `cargo xtask fetch-peer-idl` installs it; without it, these tests
//! say so and pass.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::proto::{Described, describe};
use dovetail_idl::{Diagnostic, Severity};
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns what the compiler prints, as an error where files differ.
fn ask(environment: &Path, requests: &str) -> Result<String, String> {
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
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(said),
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

/// The beginning of the page of errors.
const PAGE: &str = "# Errors of protobuf's compiler

Errors that protobuf's compiler finds in the wrong files of our tests, and the codes of `dovetail check` for them. `\"…\"` and `N` stand
for names and numbers. [proto.md](proto.md#messages) says what the codes are about.

| protobuf's compiler | Dovetail |
|---|---|
";

/// The page of errors has what both compilers say of one line.
#[test]
fn errors_beside_those_of_the_compiler() {
    let Some(environment) = environment() else {
        return;
    };
    let root = tests("proto/errors");
    let include = [".".to_owned()];
    let folders = folder_list(&root, &include);
    let names = files(&root, ".proto");
    let requests = names.iter().map(|name| format!("{name} {folders} ?\n"));
    let theirs = ask(&environment, &requests.collect::<String>()).unwrap();
    let mut rows = BTreeMap::<String, BTreeSet<&'static str>>::new();
    for name in &names {
        let loader = Below {
            root: root.clone(),
            include: include.to_vec(),
        };
        let ours = codes(&describe(name, &loader));
        for (line, what) in theirs.lines().filter_map(|line| error_of(line, name)) {
            let codes = ours.iter().filter(|(at, _)| *at == line);
            let codes: Vec<_> = codes.map(|(_, code)| *code).collect();
            if !codes.is_empty() {
                rows.entry(general(what)).or_default().extend(codes);
            }
        }
    }
    let rows = rows.iter().map(|(what, codes)| {
        let codes: Vec<_> = codes.iter().copied().collect();
        format!("| {} | {} |\n", what.replace('|', "\\|"), codes.join(", "))
    });
    let page = PAGE.to_owned() + &rows.collect::<String>();
    let path = tests("../../../docs/proto-errors.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/proto-errors.md: UPDATE_GOLDEN=1 writes it"
    );
}

/// The lines and codes of errors in the file that was asked for.
fn codes(described: &Described) -> Vec<(usize, &'static str)> {
    let all = described.diagnostics.iter();
    let errors = all.filter(|found| found.severity == Severity::Error);
    let place = |found: &Diagnostic| {
        let label = found.labels.iter().find(|label| label.primary)?;
        let text = &described.sources.get(label.file.0 as usize)?.text;
        let before = text.get(..label.span.start as usize)?;
        let line = before.matches('\n').count() + 1;
        (label.file.0 == 0).then_some((line, found.code))
    };
    errors.filter_map(place).collect()
}

/// The beginnings of lines that are no errors of their own.
const REMARKS: [&str; 4] = ["warning", " ", "Suggested", "Note that"];

/// The line and the text of an error in this file: `/folder/a.proto:3:9: …`.
fn error_of<'a>(line: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let (_, rest) = line.split_once(&format!("/{name}:"))?;
    let (place, what) = rest.split_once(": ")?;
    let line = place.split(':').next()?.parse().ok()?;
    let is_remark = REMARKS.iter().any(|begin| what.starts_with(begin));
    (!is_remark).then_some((line, what))
}

/// Takes names and numbers out of an error.
fn general(what: &str) -> String {
    let mut parts = what.split('"');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let Some(_name) = parts.next() {
        text.push_str("\"…\"");
        text.push_str(parts.next().unwrap_or_default());
    }
    let words = text.split(' ').map(|word| {
        let bare = word.trim_matches(|letter: char| "-.,:;()".contains(letter));
        let is_number = !bare.is_empty() && bare.chars().all(|letter| letter.is_ascii_digit());
        match is_number {
            true => word.replace(bare, "N"),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
