//! Every message that the `.proto` front end can give, as its reader sees it:
//! `proto/errors/*.proto` beside `*.stderr`, and the same for `proto/warnings`. `UPDATE_GOLDEN=1`
//! rewrites them; then read the diff.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::Severity;
use dovetail_idl::proto::describe;
use std::collections::BTreeSet;
use support::{Below, codes_in, files, golden, report, tests};

fn check(directory: &str, expect: Severity) -> BTreeSet<&'static str> {
    let directory = tests(directory);
    let loader = Below::new(&directory);
    let mut failures = Vec::new();
    let mut codes = BTreeSet::new();
    for name in files(&directory, ".proto") {
        let described = describe(&name, &loader);
        let worst = described
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.severity)
            .max();
        if worst != Some(expect) {
            failures.push(format!("{name}: expected {expect:?}, found {worst:?}"));
        }
        if described.files.is_some() != (expect == Severity::Warning) {
            failures.push(format!(
                "{name}: descriptors are there exactly where no error is"
            ));
        }
        for diagnostic in &described.diagnostics {
            codes.insert(diagnostic.code);
            if diagnostic.helps.is_empty() && diagnostic.notes.is_empty() {
                let message = &diagnostic.message;
                failures.push(format!("{name}: `{message}` says nothing about what to do"));
            }
        }
        let shown = dovetail_idl::render(&described.diagnostics, &described.sources, false);
        let path = directory.join(name.replace(".proto", ".stderr"));
        failures.extend(golden(&path, &shown).err());
    }
    report(failures);
    codes
}

#[test]
fn golden_messages() {
    let mut shown = check("proto/errors", Severity::Error);
    shown.extend(check("proto/warnings", Severity::Warning));
    // That a file cannot be read, which a test of what is below shows.
    shown.insert("E1300");
    let all = codes_in(&tests("../src/proto"));
    let missing: Vec<&String> = all
        .iter()
        .filter(|code| !shown.contains(code.as_str()))
        .collect();
    assert!(missing.is_empty(), "no golden file shows {missing:?}");
}

#[test]
fn all_codes_are_documented() {
    let page = std::fs::read_to_string(tests("../../../docs/proto.md")).unwrap();
    let mut all = codes_in(&tests("../src/proto"));
    all.retain(|code| !page.contains(&format!("| {code} |")));
    assert!(all.is_empty(), "docs/proto.md does not explain {all:?}");
}

#[test]
fn unreadable() {
    let described = describe("nowhere.proto", &dovetail_idl::MemoryLoader::new());
    assert_eq!(described.diagnostics[0].code, "E1300");
}
