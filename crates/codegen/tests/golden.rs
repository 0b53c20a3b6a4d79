//! The generator's output, compared with `golden/*/output.rs`. `UPDATE_GOLDEN=1` rewrites them.
//! That they compile is the business of `generated.rs`.
#![allow(clippy::unwrap_used)] // A test that cannot read its own files has failed.

use dovetail_codegen::rust::{Maps, Options, Strings, generate};
use dovetail_idl::MemoryLoader;
use dovetail_schema::Schema;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn golden_dirs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut dirs: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    dirs.sort();
    dirs
}

/// The languages of contracts, by the endings of their files.
const LANGUAGES: [&str; 3] = ["thrift", "proto", "capnp"];

/// Compiles the file `input` among these files.
fn schema(files: impl IntoIterator<Item = (String, String)>) -> Schema {
    let files: Vec<(String, String)> = files.into_iter().collect();
    let root = files.iter().find(|(name, _)| name.starts_with("input."));
    let root = root.unwrap().0.clone();
    let loader: MemoryLoader = files.into_iter().collect();
    let compiled = dovetail_idl::compile(&root, &loader);
    let messages = compiled.render(false);
    compiled.schema.unwrap_or_else(|| panic!("{messages}"))
}

fn schema_of(contract: &str) -> Schema {
    schema([("input.thrift".to_owned(), contract.to_owned())])
}

fn schema_in(dir: &Path) -> Schema {
    let files = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let contracts = files.filter(|path| {
        let extension = path.extension();
        extension.is_some_and(|e| LANGUAGES.iter().any(|known| e == *known))
    });
    schema(contracts.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    }))
}

fn text(schema: &Schema, options: &Options) -> String {
    let files = generate(schema, options).unwrap_or_else(|all| panic!("{all:?}"));
    assert_eq!(files.len(), 1);
    files.into_iter().next().unwrap().text
}

/// One of the contracts is generated with hash maps, one with compact strings; the others with the
/// default options.
fn options_for(dir: &Path) -> Options {
    let default = Options::default();
    match dir.file_name().and_then(|name| name.to_str()) {
        Some("hashed") => Options {
            maps: Maps::Hashed,
            ..default
        },
        Some("compact") => Options {
            strings: Strings::Compact,
            ..default
        },
        _ => default,
    }
}

#[test]
fn output_is_as_recorded() {
    for dir in golden_dirs() {
        let output = dir.join("output.rs");
        let text = text(&schema_in(&dir), &options_for(&dir));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&output, text).unwrap();
            continue;
        }
        let recorded = fs::read_to_string(&output).unwrap_or_default();
        assert!(
            recorded == text,
            "{} is out of date: run with UPDATE_GOLDEN=1 and read the difference",
            output.display()
        );
    }
}

#[test]
fn output_needs_no_formatter() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = Command::new("rustfmt")
        .args(["--check", "--edition", "2024", "--config-path"])
        .arg(workspace.join("rustfmt.toml"))
        .args(golden_dirs().iter().map(|dir| dir.join("output.rs")))
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{report}");
}

const PLAIN: &str = "
struct Point { 1: i32 x 2: map<string, i32> counts 3: map<set<double>, i32> sums }
service Plot { void draw(1: Point point) }
";

#[test]
fn options_choose_what_is_generated() {
    let schema = schema_of(PLAIN);
    let with = |options: Options| text(&schema, &options);
    let rows: [(Options, &[&str], &[&str]); 6] = [
        (
            Options::default(),
            &[
                "trait Plot",
                "PlotServer",
                "PlotClient",
                "PlotBlockingClient",
            ],
            &["HashMap", "serde"],
        ),
        (
            Options {
                async_client: false,
                blocking_client: false,
                ..Options::default()
            },
            &["trait Plot", "PlotServer"],
            &["PlotClient", "PlotBlockingClient", "if_async"],
        ),
        (
            Options {
                server: false,
                async_client: false,
                blocking_client: false,
                ..Options::default()
            },
            &["pub struct Point"],
            &["Plot", "Status"],
        ),
        (
            Options {
                strings: Strings::Compact,
                ..Options::default()
            },
            &["counts: BTreeMap<CompactString, i32>"],
            &[": String", "<String"],
        ),
        (
            Options {
                maps: Maps::Hashed,
                ..Options::default()
            },
            &[
                "counts: HashMap<String, i32>",
                "sums: HashMap<BTreeSet<OrderedFloat<f64>>, i32>",
                "#[derive(Clone, Debug, Default, PartialEq, Eq)]",
            ],
            &["BTreeMap", "Ord)"],
        ),
        (
            Options {
                derives: vec!["serde::Serialize".to_owned()],
                crate_path: "crate::rpc".to_owned(),
                ..Options::default()
            },
            &["serde::Serialize", "use crate::rpc::generated::{"],
            &["::dovetail"],
        ),
    ];
    for (options, present, absent) in rows {
        let text = with(options.clone());
        for part in present {
            assert!(
                text.contains(part),
                "`{part}` is missing with {options:?}:\n{text}"
            );
        }
        for part in absent {
            assert!(
                !text.contains(part),
                "`{part}` is there with {options:?}:\n{text}"
            );
        }
    }
}

#[test]
fn modules_are_named_by_namespace_or_file() {
    let rows = [
        ("namespace rs a.b", "pub mod a {"),
        ("namespace * all", "pub mod all {"),
        ("namespace cpp c", "pub mod input {"),
        ("namespace rs type", "pub mod r#type {"),
    ];
    for (namespace, expected) in rows {
        let text = text(
            &schema_of(&format!("{namespace}\nstruct S {{}}")),
            &Options::default(),
        );
        assert!(text.contains(expected), "{namespace}:\n{text}");
    }
}

fn refused(schema: &Schema) -> String {
    let all = generate(schema, &Options::default()).unwrap_err();
    let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn what_cannot_be_generated_is_refused_by_name() {
    let many: String = (1..=33).map(|id| format!("{id}: i32 p{id} ")).collect();
    let field = |ty: &str| format!("struct A {{ 1: {ty} a }}");
    let deep = "`input.A`, field `a`: an array has at most 8 extents up to the last free one";
    let passes_none = "`input.S.f`: references to objects are passed by methods that have an answer and no streams";
    let rows = [
        (
            format!("service S {{ void f({many}) }}"),
            "`input.S.f`: it has 33 parameters, and at most 32 are possible; put them into a struct"
                .to_owned(),
        ),
        (field("array<i8, *, *, *, *, *, *, *, *, *>"), deep.to_owned()),
        (
            "struct A { 1: ref B b 2: set<A> keys } struct B {}".to_owned(),
            "`input.A`, field `b`: a `ref` cannot be compared, and the struct is a key".to_owned(),
        ),
        (
            "exception E {} service S { void f() throws (1: ref E e) }".to_owned(),
            "`input.S.f`, field `e`: an exception is thrown as a value; remove `ref`".to_owned(),
        ),
        (
            "service S { oneway void f(1: list<S> s) }".to_owned(),
            passes_none.to_owned(),
        ),
        (
            "struct A { 1: S s } service S { A, stream<i32> f() }".to_owned(),
            passes_none.to_owned(),
        ),
        (
            "struct A { 1: S s } service S { stream<A> f() }".to_owned(),
            "`input.S.f`: the items of a stream cannot refer to objects; return them in a list"
                .to_owned(),
        ),
    ];
    for (contract, expected) in rows {
        assert_eq!(refused(&schema_of(&contract)), expected, "{contract}");
    }
}

#[test]
fn a_required_field_without_end_begins_empty() {
    // The front end of Thrift refuses it; that of protobuf does not.
    let mut schema = schema_of("struct A { 1: optional A a }");
    let dovetail_schema::TypeKind::Struct(def) = &mut schema.types[0].kind else {
        panic!("not a struct");
    };
    def.fields[0].presence = dovetail_schema::Presence::Required;
    let text = text(&schema, &Options::default());
    assert!(text.contains("1 a: Required<A> [required],"), "{text}");
}

#[test]
fn two_files_must_not_define_one_name_in_one_module() {
    let schema = schema([
        (
            "a.thrift".to_owned(),
            "namespace rs m\nstruct S {}".to_owned(),
        ),
        (
            "input.thrift".to_owned(),
            "include \"a.thrift\"\nnamespace rs m\nstruct S {}".to_owned(),
        ),
    ]);
    let text = refused(&schema);
    assert!(
        text.contains("`a.thrift` and `input.thrift` both define it"),
        "{text}"
    );
}
