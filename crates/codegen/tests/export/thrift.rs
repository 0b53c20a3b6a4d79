//! Contracts that are written out as `.thrift` and read again are the same contracts.

use crate::{contracts, read, texts, written};
use dovetail_codegen::thrift::write;
use dovetail_dynamic::Contract;
use dovetail_idl::compile;
use dovetail_schema::{Annotation, Schema};

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
            let Some(files) = written(write(&schema)) else {
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

/// Contracts in protobuf's language keep their methods, but for the dots in names.
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
            let files = texts(files);
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
    let mut found = contracts("tests/golden/protobuf", "proto").into_iter();
    let (loader, name) = found.find(|(_, name)| name == "input.proto").unwrap();
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
