//! Cap'n Proto's language: good files in `capnp/` with their schemas beside them, bad ones in
//! `capnp/errors/` with what their reader sees. `UPDATE_GOLDEN=1` rewrites both.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{MemoryLoader, Severity, compile};
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::mutation::mutated;
use support::{Below, codes_in, files, golden, report, schema_lines, tests};

#[test]
fn good_files() {
    let loader = Below::new(tests("capnp"));
    let mut failures = Vec::new();
    for name in files(&tests("capnp"), ".capnp") {
        let compiled = compile(&name, &loader);
        let Some(schema) = &compiled.schema else {
            failures.push(format!("{name}\n{}", compiled.render(false)));
            continue;
        };
        assert_eq!(compiled.render(false), "", "{name}");
        let path = tests("capnp").join(name.replace(".capnp", ".jsonl"));
        failures.extend(golden(&path, &schema_lines(schema)).err());
    }
    report(failures);
}

#[test]
fn bad_files() {
    let loader = Below::new(tests("capnp"));
    let (mut failures, mut shown) = (Vec::new(), BTreeSet::new());
    for name in files(&tests("capnp/errors"), ".capnp") {
        let compiled = compile(&format!("errors/{name}"), &loader);
        assert!(compiled.schema.is_none(), "{name}");
        for diagnostic in &compiled.diagnostics {
            shown.insert(diagnostic.code);
            assert_eq!(diagnostic.severity, Severity::Error, "{name}");
            if diagnostic.helps.is_empty() {
                failures.push(format!("{name}: `{}` helps nobody", diagnostic.message));
            }
        }
        let path = tests("capnp/errors").join(name.replace(".capnp", ".stderr"));
        failures.extend(golden(&path, &compiled.render(false)).err());
    }
    report(failures);
    // Files that cannot be read, and values without an end, have no golden file.
    let elsewhere = ["E2001", "E2002", "E2507"];
    let missing: Vec<String> = codes_in(&tests("../src/capnp"))
        .into_iter()
        .filter(|code| !shown.contains(code.as_str()) && !elsewhere.contains(&code.as_str()))
        .collect();
    assert!(missing.is_empty(), "no golden file shows {missing:?}");
}

#[test]
fn all_codes_are_documented() {
    let page = std::fs::read_to_string(tests("../../../docs/capnproto.md")).unwrap();
    let mut all = codes_in(&tests("../src/capnp"));
    all.retain(|code| !page.contains(&format!("| {code} |")));
    assert!(all.is_empty(), "docs/capnproto.md does not explain {all:?}");
}

/// Constants that name one another twice each become no more values than the limit.
#[test]
fn values_without_an_end() {
    let mut text =
        "@0xb3a9d8f1c26e4720;\nstruct A { a @0 :List(A); }\nconst c0 :List(A) = [];\n".to_owned();
    for number in 1..60 {
        let before = number - 1;
        text.push_str(&format!(
            "const c{number} :List(A) = [(a = .c{before}), (a = .c{before})];\n"
        ));
    }
    let files = MemoryLoader::from_iter([("a.capnp", text)]);
    let compiled = compile("a.capnp", &files);
    assert!(compiled.render(false).contains("E2507"));
}

const WORDS: &[&str] = &[
    "@0",
    "@1",
    "@65534",
    ":Text",
    ":List(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    "=",
    "$",
    ".",
    ",",
    "->",
    "union",
    ":union",
    ":group",
    "struct A",
    "enum B",
    "interface C",
    "using",
    "import \"a.capnp\"",
    "const x :Int32 =",
    "extends(",
    "Void",
    "-",
    "0x\"00\"",
    "\"",
    "#",
    "\n",
    "stream",
    "AnyPointer",
    "`line",
];

fn all_good_files() -> Vec<String> {
    let names = files(&tests("capnp"), ".capnp");
    let text = |name| std::fs::read_to_string(tests("capnp").join(name)).unwrap();
    names.into_iter().map(text).collect()
}

fn survives(text: &str) {
    let files = MemoryLoader::from_iter([("a.capnp", text)]);
    let compiled = compile("a.capnp", &files);
    let rendered = compiled.render(false);
    assert_eq!(
        compiled.schema.is_some(),
        !rendered.contains("error["),
        "{rendered}"
    );
    if let Some(schema) = &compiled.schema {
        for index in 0..schema.types.len() {
            let id = dovetail_schema::TypeId(index as u32);
            let _ = dovetail_schema::capnp::layout(schema, id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files(text in mutated(all_good_files(), WORDS)) {
        survives(&text);
    }
}
