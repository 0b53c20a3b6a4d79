//! From files to files.
#![allow(clippy::unwrap_used)] // A test that cannot read its own files has failed.

use dovetail_build::{Config, FileLoader};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const SHARED: &str = "namespace rs shared\nstruct Item { 1: i32 key }\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn compile(dir: &Path, contract: &str) -> Result<String, String> {
    Config::new()
        .include_dir(dir.join("common"))
        .out_dir(dir)
        .compile(dir.join(contract))
        .map(|path| fs::read_to_string(path).unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn included_files_are_found_beside_the_file_and_in_include_folders() {
    for place in ["idl/shared.thrift", "common/shared.thrift"] {
        let root = "include \"shared.thrift\"\nstruct Root { 1: shared.Item item }\n";
        let dir = folder(&[("idl/root.thrift", root), (place, SHARED)]);
        let text = compile(dir.path(), "idl/root.thrift").unwrap();
        assert!(text.contains("pub item: super::shared::Item,"), "{text}");
    }
}

#[test]
fn a_missing_include_is_shown_where_it_stands_and_where_it_was_looked_for() {
    let root = "include \"gone.thrift\"\nstruct Root { 1: gone.Item item }\n";
    let dir = folder(&[("root.thrift", root)]);
    let error = compile(dir.path(), "root.thrift").unwrap_err();
    for part in [
        "error",
        "root.thrift:1",
        "gone.thrift",
        "common/gone.thrift",
    ] {
        assert!(error.contains(part), "{part} is not in:\n{error}");
    }
}

#[test]
fn a_missing_contract_is_an_error_too() {
    let dir = folder(&[]);
    let error = compile(dir.path(), "gone.thrift").unwrap_err();
    assert!(error.contains("gone.thrift"), "{error}");
}

#[test]
fn a_file_that_is_not_text_is_said_to_be_unreadable() {
    let dir = folder(&[]);
    fs::write(dir.path().join("bad.thrift"), [0xff, 0xfe]).unwrap();
    let error = compile(dir.path(), "bad.thrift").unwrap_err();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn an_unchanged_contract_leaves_the_generated_file_alone() {
    let dir = folder(&[("shared.thrift", SHARED)]);
    compile(dir.path(), "shared.thrift").unwrap();
    let written = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let first = written(&dir.path().join("shared.rs"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    compile(dir.path(), "shared.thrift").unwrap();
    assert_eq!(written(&dir.path().join("shared.rs")), first);
}

#[test]
fn a_loader_prefers_the_folder_of_the_including_file() {
    use dovetail_idl::Loader;
    let dir = folder(&[
        ("a/x.thrift", "// beside\n"),
        ("common/x.thrift", "// common\n"),
    ]);
    let loader = FileLoader::new().include_dir(dir.path().join("common"));
    let from = dir.path().join("a/root.thrift");
    let source = loader.load(from.to_str(), "x.thrift").unwrap();
    assert_eq!(source.text, "// beside\n");
}

#[test]
fn descriptors_of_a_contract_or_what_is_wrong_with_it() {
    let dir = folder(&[
        ("good.proto", "syntax = \"proto3\"; message Good {}"),
        (
            "adder.thrift",
            "service Adder { i32 add(1: i32 left, 2: i32 right) }",
        ),
        ("worse.thrift", "service Worse { void use(1: Nobody it) }"),
        (
            "bad.proto",
            "syntax = \"proto3\"; message Bad { Nobody it = 1; }",
        ),
    ]);
    let describe = |name: &str| {
        let config = Config::new().out_dir(dir.path());
        let written = config.descriptors(dir.path().join(name));
        written.map_err(|error| error.to_string())
    };
    let written = describe("good.proto").unwrap();
    assert_eq!(written, dir.path().join("good.descriptors"));
    let bytes = fs::read(written).unwrap();
    assert!(bytes.windows(4).any(|name| name == b"Good"));
    assert!(describe("bad.proto").unwrap_err().contains("Nobody"));
    assert!(describe("worse.thrift").unwrap_err().contains("Nobody"));
    // The messages around parameters and result are those of the mapping.
    let bytes = fs::read(describe("adder.thrift").unwrap()).unwrap();
    for name in ["adder.proto", "Adder", ".adder.AddRequest", "AddResponse"] {
        let found = bytes.windows(name.len()).any(|at| at == name.as_bytes());
        assert!(found, "{name}");
    }
}
