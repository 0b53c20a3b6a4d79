//! The schemas of `.proto` files: beside each good one is its schema, one line for each definition.
//! `UPDATE_GOLDEN=1` rewrites those.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::{MemoryLoader, compile};
use support::{Below, files, golden, report, schema_lines, tests};

#[test]
fn schemas() {
    let directory = tests("proto/good");
    let loader = Below::new(&directory);
    let mut failures = Vec::new();
    for name in files(&directory, ".proto") {
        let compiled = compile(&name, &loader);
        let Some(schema) = &compiled.schema else {
            failures.push(format!("{name}\n{}", compiled.render(false)));
            continue;
        };
        let path = directory.join(name.replace(".proto", ".jsonl"));
        failures.extend(golden(&path, &schema_lines(schema)).err());
    }
    report(failures);
}

/// The examples of `docs/proto.md` are contracts.
#[test]
fn examples_of_the_page() {
    let page = std::fs::read_to_string(tests("../../../docs/proto.md")).unwrap();
    let blocks = page
        .split("```proto\n")
        .skip(1)
        .filter_map(|block| block.split("```").next());
    let mut count = 0;
    for block in blocks {
        let compiled = compile(
            "page.proto",
            &MemoryLoader::from_iter([("page.proto", block)]),
        );
        assert_eq!(compiled.render(false), "", "{block}");
        count += 1;
    }
    assert!(count > 0);
}

/// The built-in files are contracts, and only what a file uses is part of its schema.
#[test]
fn only_what_is_used() {
    let text = "syntax = \"proto3\";\nimport \"google/protobuf/descriptor.proto\";\n\
                import \"google/protobuf/struct.proto\";\n\
                extend google.protobuf.FieldOptions { string note = 50000; }\n\
                message M { google.protobuf.Struct a = 1 [(note) = \"x\"]; }";
    let compiled = compile("a.proto", &MemoryLoader::from_iter([("a.proto", text)]));
    let schema = compiled.schema.unwrap();
    let packages: Vec<&str> = schema
        .packages
        .iter()
        .map(|package| package.path.as_str())
        .collect();
    assert_eq!(packages, ["google/protobuf/struct.proto", "a.proto"]);
    assert!(schema.find_type("google.protobuf.Struct").is_some());
    assert!(schema.find_type("M").is_some());
    assert!(
        compiled
            .sources
            .iter()
            .skip(1)
            .all(|source| source.is_built_in())
    );
}
