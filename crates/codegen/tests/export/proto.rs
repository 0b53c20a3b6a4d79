use crate::{Below, contracts, read, texts, written};
use dovetail::encoding::Encoding;
use dovetail_codegen::proto::{Style, write, write_in};
use dovetail_dynamic::{Contract, Plausible, Typed, TypedSlot, Value, to_json};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type, TypeId, TypeKind};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A schema without the paths of its files and without unused imports.
fn moved(mut schema: Schema) -> Schema {
    for package in &mut schema.packages {
        package.path.clear();
        package.includes.clear();
    }
    schema
}

/// Returns the first difference, compared as text: there NaN is equal to itself.
fn difference(before: &Schema, after: &Schema) -> Option<String> {
    let (before, after) = (format!("{before:#?}"), format!("{after:#?}"));
    let mut lines = before.lines().zip(after.lines());
    let at = match lines.position(|(before, after)| before != after) {
        None if before.len() == after.len() => return None,
        at => at.unwrap_or_default(),
    };
    let around = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(at.saturating_sub(8)).take(12).collect();
        lines.join("\n")
    };
    let (before, after) = (around(&before), around(&after));
    Some(format!("{before}\n--- and read again\n{after}"))
}

#[test]
fn proto() {
    let (mut count, mut failures) = (0, Vec::<String>::new());
    for folder in [
        "../idl/tests/proto/good",
        "../idl/tests/proto/warnings",
        "tests/golden",
        "../cli/tests/contracts",
        "../../interop",
    ] {
        for (loader, name) in contracts(folder, "proto") {
            let Some(schema) = compile(&name, &loader).schema else {
                continue;
            };
            let Some(files) = written(write(&schema)) else {
                continue;
            };
            if let Some(difference) = difference(&moved(schema), &moved(read(&files))) {
                let text = &files.last().unwrap().1;
                failures.push(format!("{folder} {name}\n{difference}\n{text}"));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(count > 20, "{count}");
}

/// A contract: where it is, what it says, and the files that it becomes.
type Mapped = (String, Schema, Vec<(String, String)>);

/// All contracts in Thrift's language that protobuf's can say.
fn mapped() -> Vec<Mapped> {
    let folders = [
        "../idl/tests/corpus",
        "tests/golden",
        "../cli/tests/contracts",
        "../../interop/contract",
    ];
    let mut found = Vec::new();
    for folder in folders {
        for (loader, name) in contracts(folder, "thrift") {
            let Some(schema) = compile(&name, &loader).schema else {
                continue;
            };
            if let Ok(files) = write(&schema) {
                found.push((
                    format!("{} {name}", loader.0.display()),
                    schema,
                    texts(files),
                ));
            }
        }
    }
    found
}

/// Values of a contract in Thrift's language are messages of the file: each field has its number
/// and its type. Where structs extend others, a message holds what is in the first one, and keeps
/// the rest.
#[test]
fn values() {
    let mut count = 0;
    for (name, schema, files) in mapped() {
        if !schema.families().is_empty() {
            continue;
        }
        let back = read(&files);
        let (from, to) = (Contract::new(&schema), Contract::new(&back));
        for (index, def) in schema.types.iter().enumerate() {
            let package = &schema[def.package].name;
            let Some(other) = back.find_type(&format!("{package}.{}", def.name)) else {
                continue;
            };
            let TypeKind::Struct(_) = def.kind else {
                continue;
            };
            let mut plausible = Plausible::new(&from, 7);
            let own = Type::Named(TypeId(index as u32));
            let Some(value) = plausible.value(&own, "value") else {
                continue;
            };
            let value = Typed {
                contract: &from,
                ty: &own,
                value: &value,
            };
            let name = format!("{name} {}", def.name);
            let bytes = Encoding::Protobuf.to_bytes(&value).expect(&name);
            let ty = Type::Named(other);
            let read = decoded(&to, &ty, &bytes);
            let json = to_json(&to, &ty, &read).to_string();
            assert!(!json.contains("\"#"), "{name}: {json}");
            let again = Typed {
                contract: &to,
                ty: &ty,
                value: &read,
            };
            // The file leaves out what is zero, for which the contract has the same zero.
            let again = Encoding::Protobuf.to_bytes(&again).unwrap();
            let value = Typed {
                value: &decoded(&from, &own, &again),
                ..value
            };
            assert_eq!(
                Encoding::Protobuf.to_bytes(&value).unwrap(),
                bytes,
                "{name}: {json}"
            );
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

fn decoded(contract: &Contract<'_>, ty: &Type, bytes: &[u8]) -> Value {
    let mut slot = TypedSlot {
        contract,
        ty,
        value: None,
    };
    Encoding::Protobuf
        .decode(&mut slot, &bytes.to_vec().into(), Default::default())
        .unwrap();
    slot.value.unwrap()
}

/// Values of enums have the names that JSON has, whatever else has them, and no order of
/// declarations changes that.
#[test]
fn values_of_enums_keep_their_names() {
    let own = "message A { enum Value {";
    let rows: &[(&[&str], &[&str])] = &[
        (
            &["enum A { ONLY = 0 }", "enum B { ONLY = 0, OTHER = 1 }"],
            &[own, "message B { enum Value { ONLY = 0; OTHER = 1;"],
        ),
        // A name without a clash stays as it is.
        (
            &["enum A { ONLY = 0 }", "enum B { OTHER = 0 }"],
            &["enum A { ONLY = 0;", "enum B { OTHER = 0;"],
        ),
        // The clash is with a message, a service, or another enum's zero, which the contract does
        // not have.
        (&["enum A { B = 0 }", "struct B {}"], &[own]),
        (&["enum A { B = 0 }", "service B {}"], &[own]),
        (
            &["enum A { B_UNSPECIFIED = 0 }", "enum B { ONE = 1 }"],
            &[
                own,
                "message B { enum Value {",
                "B_UNSPECIFIED = 0; ONE = 1;",
            ],
        ),
        // Messages that the contract does not have give way.
        (
            &["enum A { AddRequest = 0 }", "service S { void add() }"],
            &["enum A { AddRequest = 0;", "message SAddRequest {}"],
        ),
        (
            &[
                "enum A { Int32List = 0 }",
                "struct B { 1: list<list<i32>> x }",
            ],
            &["enum A { Int32List = 0;", "message Int32List_ {"],
        ),
        // References lead to it.
        (
            &[
                "enum A { ONLY = 0 }",
                "enum B { ONLY = 0 }",
                "struct C { 1: A a, 2: list<B> b, 3: map<i32, A> c }",
            ],
            &[
                "A.Value a = 1;",
                "repeated B.Value b = 2;",
                "map<int32, A.Value> c = 3;",
            ],
        ),
    ];
    for (declarations, expected) in rows {
        for turn in 0..declarations.len() {
            let mut declarations = declarations.to_vec();
            declarations.rotate_left(turn);
            let loader: MemoryLoader = [("input.thrift".to_owned(), declarations.join("\n"))]
                .into_iter()
                .collect();
            let schema = compile("input.thrift", &loader).schema.unwrap();
            let files = texts(write(&schema).unwrap());
            read(&files);
            let words: Vec<&str> = files[0].1.split_whitespace().collect();
            let text = words.join(" ");
            for expected in *expected {
                assert!(text.contains(expected), "{expected} in {text}");
            }
        }
    }
}

/// gRPC's own programs in `interop/peers` are made of this file, and speak with ours, which is made
/// of the contract.
#[test]
fn of_the_matrix() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/contract");
    let compiled = compile("mapped.thrift", &Below(folder.clone()));
    let files = write(&compiled.schema.unwrap()).unwrap();
    golden(&folder.join(&files[0].path), &files[0].text);
}

/// The files of the contracts of the generator's tests, and the parts of them that cannot be said.
/// Protobuf's own compiler reads the files, too: `proto_oracle.rs` of `dovetail-idl` shows them to
/// it.
#[test]
fn files() {
    let mut refused = String::new();
    let all = ["thrift", "proto"].map(|ending| contracts("tests/golden", ending));
    for (loader, name) in all.into_iter().flatten() {
        if !name.starts_with("input.") || loader.0.ends_with("exported") {
            continue;
        }
        let folder = loader.0.file_name().unwrap().to_string_lossy().into_owned();
        match write(&compile(&name, &loader).schema.unwrap()) {
            Ok(files) => files.iter().for_each(|file| {
                golden(&loader.0.join("exported").join(&file.path), &file.text);
            }),
            Err(all) => all
                .iter()
                .for_each(|what| refused += &format!("{folder}: {what}\n")),
        }
    }
    let mut lines: Vec<&str> = refused.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, REFUSED);
}

const REFUSED: &[&str] = &[
    "families: `foo_bar`: two fields have the same name in JSON; rename one",
    "graphs: `from`: which references lead to one value cannot be said in protobuf",
    "graphs: `node`: which references lead to one value cannot be said in protobuf",
    "graphs: `parent`: which references lead to one value cannot be said in protobuf",
    "graphs: `self`: which references lead to one value cannot be said in protobuf",
    "graphs: `to`: which references lead to one value cannot be said in protobuf",
    "names: `foo_bar`: two fields have the same name in JSON; rename one",
    "objects: `Cursor`: a reference to an object cannot be passed over gRPC",
    "objects: `Watcher`: a reference to an object cannot be passed over gRPC",
];

fn golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        text,
        expected,
        "{}: UPDATE_GOLDEN=1 refreshes it",
        path.display()
    );
}

/// Contracts in the style of buf's linter are read again, and the linter finds nothing in them.
/// `cargo xtask fetch-peer-idl` installs it.
#[test]
fn in_the_style_of_buf() {
    let buf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/peers/buf/node_modules/@bufbuild/buf/bin/buf");
    if !buf.exists() {
        println!("skipped: no linter; `cargo xtask fetch-peer-idl` installs it");
    }
    let (mut count, mut complaints) = (0, String::new());
    for (name, schema, _) in mapped() {
        let Ok(files) = write_in(&schema, Style::Buf) else {
            continue;
        };
        let files = texts(files);
        values_are_taken(&schema, &read(&files));
        count += 1;
        if buf.exists() {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in &files {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let said = Command::new(&buf)
                .arg("lint")
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = [said.stdout, said.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            complaints.extend(said.lines().map(|line| format!("{name}: {line}\n")));
        }
    }
    assert_eq!(complaints, "");
    assert!(count > 20, "{count}");
}

/// Servers of the contract accept the names that the file has for the values of enums.
fn values_are_taken(own: &Schema, styled: &Schema) {
    let contract = Contract::new(own);
    let enums = |schema: &Schema| {
        let types = schema.types.iter().enumerate();
        let enums = types.filter_map(|(index, def)| match &def.kind {
            TypeKind::Enum(values) => Some((index, values.values.clone())),
            _ => None,
        });
        enums.collect::<Vec<_>>()
    };
    let both = enums(own).into_iter().map(|(index, _)| index);
    for (index, (_, values)) in both.zip(enums(styled)) {
        let ty = Type::Named(TypeId(index as u32));
        for value in values {
            let mut slot = TypedSlot {
                contract: &contract,
                ty: &ty,
                value: None,
            };
            let name = format!("\"{}\"", value.name);
            let input = name.clone().into();
            let read = Encoding::Json.decode(&mut slot, &input, Default::default());
            assert!(read.is_ok(), "{name}: {read:?}");
            assert_eq!(slot.value, Some(Value::Enum(value.number)), "{name}");
        }
    }
}

/// Fields keep their names in JSON, and whatever cannot have a name of its own is refused.
#[test]
fn names_in_the_style_of_buf() {
    let rows: &[(&str, &[&str])] = &[
        (
            "enum lightOf { Red = 0, darkBlue = 1, LIGHT_OF_SKY = 2, sky = 2 }",
            &[
                "package paint.v1;",
                "enum LightOf { LIGHT_OF_RED_UNSPECIFIED = 0; LIGHT_OF_DARK_BLUE = 1; LIGHT_OF_SKY = 2; }",
            ],
        ),
        (
            "enum Level { High = 3 }",
            &["LEVEL_UNSPECIFIED = 0; LEVEL_HIGH = 3;"],
        ),
        (
            "struct a_b { 1: string fooBar, 2: string Foo2, 3: string plain_name, 4: string _odd }",
            &[
                "message AB { string foo_bar = 1; string foo2 = 2 [json_name = \"Foo2\"]; \
                 string plain_name = 3; string odd = 4 [json_name = \"Odd\"]; }",
            ],
        ),
        (
            "service Shop { i32 mix_it(1: i32 Count) }",
            &[
                "service ShopService { rpc MixIt(MixItRequest) returns (MixItResponse); }",
                "message MixItRequest { int32 count = 1 [json_name = \"Count\"]; }",
            ],
        ),
        ("struct a_b {} struct AB {}", &["error"]),
        ("struct A { 1: i32 fooBar, 2: i32 FooBar }", &["error"]),
        ("service S { void a_b(), void aB() }", &["error"]),
        ("enum Ax { B_C = 1 } enum AxB { C = 1 }", &["error"]),
    ];
    for (contract, expected) in rows {
        let loader: MemoryLoader = [("paint.thrift".to_owned(), (*contract).to_owned())]
            .into_iter()
            .collect();
        let schema = compile("paint.thrift", &loader).schema.unwrap();
        let text = match write_in(&schema, Style::Buf) {
            Err(all) => format!("error {all:?}"),
            Ok(files) => {
                assert_eq!(files[0].path, "paint/v1/paint.proto");
                files[0].text.clone()
            }
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        for expected in *expected {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    }
}
