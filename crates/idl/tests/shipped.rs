//! The `.thrift` files that other projects ship: all of them compile. `cargo xtask fetch-peer-idl`
//! brings them to `target/peer-idl`; without it, this test says so and passes.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::compile;
use std::collections::BTreeMap;
use std::path::Path;
use support::{Below, files_below, report};

/// Files that are not valid contracts, by a part of their path, and why.
const REFUSED: &[(&str, &str)] = &[
    ("test/BrokenConstants.thrift", "broken on purpose"),
    ("parser-cases/e_", "broken on purpose"),
    ("test_data/duplicate_field_id.thrift", "broken on purpose"),
    (
        "test_data/thrift/auto_name.thrift",
        "throws a struct, and calls a service `service`",
    ),
    (
        "test_data/thrift/path_keyword.thrift",
        "a keyword as namespace; Apache refuses it, too",
    ),
    (
        "struct_init_with_field_mask.thrift",
        "gives a value to a field that does not exist",
    ),
];

/// Compiles although [`REFUSED`] expects otherwise.
const ALLOWED: &[(&str, &str)] = &[
    (
        "parser-cases/e_structs_0.thrift",
        "a constant without a required field: a warning, as in Apache",
    ),
    (
        "e_use_thrift_reserved_keywords.thrift",
        "a keyword of other languages as a name: a warning",
    ),
];

#[test]
fn peers_files_compile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peer-idl");
    let Ok(packages) = std::fs::read_dir(&root) else {
        println!(
            "skipped: no files in {}; `cargo xtask fetch-peer-idl` fetches them",
            root.display()
        );
        return;
    };
    let mut failures = Vec::new();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for package in packages {
        let package = package.unwrap();
        let mut loader = Below::new(package.path());
        let files = files_below(&package.path(), ".thrift");
        // Every project has its own include directories; any directory with files may be one.
        let directory = |file: &String| {
            file.rsplit_once('/')
                .map(|(directory, _)| directory.to_owned())
        };
        loader.include = files.iter().filter_map(directory).collect();
        loader.include.dedup();
        let count = counts
            .entry(package.file_name().into_string().unwrap())
            .or_default();
        for file in files {
            let listed = |list: &[(&'static str, &'static str)]| {
                list.iter().find(|(part, _)| file.contains(part)).copied()
            };
            let refused = match listed(ALLOWED) {
                Some(_) => None,
                None => listed(REFUSED),
            };
            let compiled = compile(&file, &loader);
            match (compiled.schema.is_some(), refused) {
                (true, None) => count.0 += 1,
                (false, Some((_, why))) => {
                    println!("refused, rightly: {file}: {why}");
                    count.1 += 1;
                }
                (true, Some(_)) => failures.push(format!("{file} compiles; take it off the list")),
                (false, None) => {
                    let errors: Vec<_> = compiled
                        .diagnostics
                        .into_iter()
                        .filter(|diagnostic| diagnostic.severity == dovetail_idl::Severity::Error)
                        .collect();
                    failures.push(format!(
                        "{file}\n{}",
                        dovetail_idl::render(&errors, &compiled.sources, false)
                    ));
                }
            }
        }
    }
    for (package, (compiled, refused)) in counts {
        println!("{package}: {compiled} files compile, {refused} are refused for good reason");
    }
    report(failures);
}
