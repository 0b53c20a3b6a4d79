//! Every message that the front end can give, as its reader sees it: `errors/*.thrift` beside
//! `errors/*.stderr`, and the same for `warnings/`. `UPDATE_GOLDEN=1` rewrites them; then read the
//! diff.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{Severity, compile};
use std::collections::BTreeSet;
use support::{Below, codes_in, golden, report, tests, thrift_files};

fn check(directory: &str, expect: Severity) -> BTreeSet<&'static str> {
    let loader = Below::new(tests(directory).parent().unwrap());
    let mut failures = Vec::new();
    let mut codes = BTreeSet::new();
    for name in thrift_files(&tests(directory)) {
        let compiled = compile(&format!("{directory}/{name}"), &loader);
        let worst = compiled
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.severity)
            .max();
        if worst != Some(expect) {
            failures.push(format!("{name}: expected {expect:?}, found {worst:?}"));
        }
        if compiled.schema.is_some() != (expect == Severity::Warning) {
            failures.push(format!(
                "{name}: a schema is there exactly where no error is"
            ));
        }
        for diagnostic in &compiled.diagnostics {
            codes.insert(diagnostic.code);
            if diagnostic.helps.is_empty() && diagnostic.notes.is_empty() {
                failures.push(format!(
                    "{name}: `{}` says nothing about what to do",
                    diagnostic.message
                ));
            }
        }
        let path = tests(directory).join(name.replace(".thrift", ".stderr"));
        failures.extend(golden(&path, &compiled.render(false)).err());
    }
    report(failures);
    codes
}

#[test]
fn golden_messages() {
    let mut shown = check("errors", Severity::Error);
    shown.extend(check("warnings", Severity::Warning));
    let missing: Vec<String> = all_codes()
        .into_iter()
        .filter(|code| !shown.contains(code.as_str()))
        .collect();
    // These would make enormous golden files; `limits` below shows them.
    let elsewhere = ["E0001", "E0301", "E0302", "E0305", "W0001"];
    let missing: Vec<&String> = missing
        .iter()
        .filter(|code| !elsewhere.contains(&code.as_str()))
        .collect();
    assert!(missing.is_empty(), "no golden file shows {missing:?}");
}

#[test]
fn all_codes_are_documented() {
    let page = std::fs::read_to_string(tests("../../../docs/idl.md")).unwrap();
    let missing: Vec<String> = all_codes()
        .into_iter()
        .filter(|code| !page.contains(&format!("| {code} |")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/idl.md does not explain {missing:?}"
    );
}

/// The codes that are those of all languages, and of this one.
fn all_codes() -> BTreeSet<String> {
    let mut codes = codes_in(&tests("../src"));
    let mut others = codes_in(&tests("../src/proto"));
    others.extend(codes_in(&tests("../src/capnp")));
    codes.retain(|code| !others.contains(code));
    codes
}

#[test]
fn limits() {
    let none = dovetail_idl::MemoryLoader::new();
    let compiled = compile("nowhere.thrift", &none);
    assert_eq!(compiled.diagnostics[0].code, "E0301");
    assert!(
        compiled
            .render(false)
            .contains("not found at nowhere.thrift")
    );

    struct Locked;

    impl dovetail_idl::Loader for Locked {
        fn load(
            &self,
            from: Option<&str>,
            include: &str,
        ) -> Result<dovetail_idl::Source, dovetail_idl::LoadError> {
            match from {
                None => Ok(dovetail_idl::Source::new(
                    include,
                    "include \"locked.thrift\"",
                )),
                Some(_) => Err(dovetail_idl::LoadError::Unreadable(
                    "permission denied".to_owned(),
                )),
            }
        }
    }

    let compiled = compile("a.thrift", &Locked);
    assert_eq!(compiled.diagnostics[0].code, "E0305");

    let huge = dovetail_idl::MemoryLoader::from_iter([("a.thrift", " ".repeat((64 << 20) + 1))]);
    assert_eq!(compile("a.thrift", &huge).diagnostics[0].code, "E0302");

    let warnings =
        dovetail_idl::MemoryLoader::from_iter([("a.thrift", "struct S {};".repeat(300))]);
    let compiled = compile("a.thrift", &warnings);
    assert!(
        compiled
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.code == "W0001")
    );

    let unknown: String = (1..300)
        .map(|id| format!("{id}: Unknown{id} f{id}\n"))
        .collect();
    let errors =
        dovetail_idl::MemoryLoader::from_iter([("a.thrift", format!("struct S {{\n{unknown}}}"))]);
    let compiled = compile("a.thrift", &errors);
    assert_eq!(compiled.diagnostics.len(), 201);
    assert_eq!(
        compiled.diagnostics[200].message,
        "99 more errors are not shown"
    );
}
