//! OpenAPI documents of contracts, beside golden ones (`UPDATE_GOLDEN=1` writes them), and of all
//! contracts of the tests.
use crate::contracts;
use dovetail_codegen::openapi::write;
use dovetail_idl::{Loader, compile};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// The document of a contract; `None` where that has errors.
fn document(loader: &impl Loader, name: &str) -> Option<String> {
    let schema = compile(name, loader).schema?;
    // Nothing else cannot be said.
    write(&schema).ok().map(|file| file.text)
}

#[test]
fn golden() {
    for (folder, name) in [
        ("../cli/tests/contracts", "agenda.thrift"),
        ("../cli/tests/contracts", "shop.proto"),
        ("tests/golden/rich", "input.thrift"),
        ("tests/golden/unions", "input.thrift"),
        ("tests/golden/families", "input.thrift"),
        ("tests/golden/inheritance", "input.thrift"),
    ] {
        let ending = name.rsplit('.').next().unwrap();
        let found = contracts(folder, ending).into_iter();
        let (loader, _) = found.into_iter().find(|(_, file)| file == name).unwrap();
        let text = document(&loader, name).unwrap();
        let short = Path::new(folder).file_name().unwrap().to_string_lossy();
        let stem = Path::new(name).file_stem().unwrap().to_string_lossy();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/export/openapi")
            .join(format!("{short}-{stem}.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &text).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(text, expected, "{}", golden.display());
    }
}

/// Every reference of a document leads to something in it.
fn check_references(document: &Json, json: &Json, name: &str) {
    match json {
        Json::Object(members) => {
            if let Some(Json::String(target)) = members.get("$ref") {
                let found = document.pointer(target.trim_start_matches('#'));
                assert!(found.is_some(), "{name}: {target}");
            }
            let values = members.values();
            values.for_each(|json| check_references(document, json, name));
        }
        Json::Array(items) => items
            .iter()
            .for_each(|json| check_references(document, json, name)),
        _ => {}
    }
}

#[test]
fn all_contracts_have_one() {
    let mut count = 0;
    for folder in [
        "../idl/tests/corpus",
        "../idl/tests/proto",
        "../cli/tests/contracts",
        "tests/golden",
        "../../interop",
    ] {
        for ending in ["thrift", "proto"] {
            for (loader, name) in contracts(folder, ending) {
                if let Some(text) = document(&loader, &name) {
                    let json: Json = serde_json::from_str(&text).unwrap();
                    check_references(&json, &json, &name);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 70, "{count}");
}
