//! Descriptors that come from elsewhere: those of our own good files make the same contract again,
//! and nothing that is in others makes the reader panic, hang, or use up the stack or the memory.
#![allow(clippy::unwrap_used)]

mod support;

use dovetail_idl::proto::descriptor::{
    Enum, EnumValue, Field, File, FileSet, Kind, Message, Method, Service,
};
use dovetail_idl::proto::plugin::Request;
use dovetail_idl::proto::{describe, from_descriptors};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::Schema;
use proptest::prelude::*;
use std::sync::LazyLock;
use support::{Below, files, report, schema_lines, tests};

fn described(name: &str) -> FileSet {
    describe(name, &Below::new(tests("proto/good")))
        .files
        .unwrap()
}

#[test]
fn a_contract_survives_its_descriptors() {
    let mut failures = Vec::new();
    for name in files(&tests("proto/good"), ".proto") {
        let set = described(&name);
        // All services count here, those of imported files, too.
        let (_, others) = set.files.split_last().unwrap();
        if others.iter().any(|file| !file.services.is_empty()) {
            continue;
        }
        let expected = compile(&name, &Below::new(tests("proto/good"))).schema;
        match from_descriptors(&set.encode()) {
            Ok(schema) if schema_lines(&schema) == schema_lines(&expected.unwrap()) => {}
            Ok(schema) => failures.push(format!("{name}\n{}", schema_lines(&schema))),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    report(failures);
}

/// A request of protobuf's compiler to a plugin.
fn request(wanted: &[&str], set: &FileSet) -> Vec<u8> {
    let mut out = Vec::new();
    for name in wanted {
        out.extend([1 << 3 | 2, name.len() as u8]);
        out.extend(name.as_bytes());
    }
    for file in &set.files {
        let files = vec![file.clone()];
        let mut bytes = FileSet { files }.encode();
        // One message under another number.
        bytes[0] = 15 << 3 | 2;
        out.append(&mut bytes);
    }
    out
}

/// However the compiler orders its files, and whatever else it asks for.
#[test]
fn a_plugin_has_the_contract_of_the_text() {
    let other = "edition2023.proto";
    let mut failures = Vec::new();
    for name in files(&tests("proto/good"), ".proto") {
        let expected = compile(&name, &Below::new(tests("proto/good"))).schema;
        let expected = schema_lines(&expected.unwrap());
        let mut set = described(&name);
        let known: Vec<String> = set.files.iter().map(|file| file.name.clone()).collect();
        let others = described(other).files.into_iter();
        set.files
            .extend(others.filter(|file| !known.contains(&file.name)));
        for _ in 0..2 {
            set.files.reverse();
            let request = Request::decode(&request(&[other, &name], &set)).unwrap();
            let contracts = request.contracts().unwrap();
            let found = schema_lines(contracts.last().unwrap());
            if found != expected {
                failures.push(format!("{name}\n{found}"));
            }
        }
    }
    report(failures);
}

#[test]
fn files_of_one_package_are_one_contract() {
    let loader = MemoryLoader::from_iter([
        (
            "a.proto",
            "package p; import \"b.proto\"; import \"c.proto\"; message A { optional B b = 1; }",
        ),
        ("b.proto", "package p; message B {}"),
        ("c.proto", "message C {}"),
    ]);
    let set = describe("a.proto", &loader).files.unwrap();
    for (wanted, expected) in [
        (&["a.proto"][..], &[&["B", "A"][..]][..]),
        (
            &["a.proto", "c.proto", "b.proto", "a.proto"],
            &[&["B", "A"], &["C"]],
        ),
        (&["c.proto", "b.proto"], &[&["C"], &["B"]]),
        (&[], &[]),
    ] {
        let request = Request::decode(&request(wanted, &set)).unwrap();
        let contracts = request.contracts().unwrap();
        let names = |schema: &Schema| -> Vec<String> {
            schema.types.iter().map(|def| def.name.clone()).collect()
        };
        let found: Vec<Vec<String>> = contracts.iter().map(names).collect();
        assert_eq!(found, expected, "{wanted:?}");
    }
    let request = Request::decode(&request(&["a.proto", "d\n.proto"], &set)).unwrap();
    let error = request.contracts().unwrap_err().to_string();
    assert_eq!(
        error,
        "`file_to_generate` needs `d.proto`, which is missing"
    );
}

#[test]
fn files_come_in_any_order_and_unused_ones_may_be_missing() {
    let loader = MemoryLoader::from_iter([
        (
            "a.proto",
            "syntax = \"proto3\"; package a; import \"b.proto\"; import \"c.proto\"; service S { rpc Get(b.B) returns (b.B); }",
        ),
        (
            "b.proto",
            "syntax = \"proto3\"; package b; enum E { FIRST = 0; } message B { E e = 1; }",
        ),
        ("c.proto", "syntax = \"proto3\"; package c; message C {}"),
    ]);
    let mut set = describe("a.proto", &loader).files.unwrap();
    let expected = schema_lines(&compile("a.proto", &loader).schema.unwrap());
    set.files.retain(|file| file.name != "c.proto");
    set.files.reverse();
    assert_eq!(
        schema_lines(&from_descriptors(&set.encode()).unwrap()),
        expected
    );
    set.files.retain(|file| file.name != "b.proto");
    let error = from_descriptors(&set.encode()).unwrap_err();
    assert_eq!(error.to_string(), "`S.Get` needs `b.B`, which is missing");
}

fn field(name: &str, number: i32, kind: Kind, type_name: &str) -> Field {
    Field {
        name: name.to_owned(),
        number,
        kind: Some(kind),
        type_name: type_name.to_owned(),
        ..Field::default()
    }
}

fn message(name: &str, fields: Vec<Field>) -> Message {
    Message {
        name: name.to_owned(),
        fields,
        ..Message::default()
    }
}

fn file(messages: Vec<Message>) -> File {
    File {
        name: "a.proto".to_owned(),
        messages,
        ..File::default()
    }
}

#[test]
fn what_is_wrong_is_said() {
    let of = |fields| file(vec![message("M", fields)]);
    let text = |name, number| field(name, number, Kind::String, "");
    let two = vec![message("M", Vec::new()), message("M", Vec::new())];
    let value = EnumValue {
        name: "A".to_owned(),
        ..EnumValue::default()
    };
    let enums = |values| File {
        enums: vec![Enum {
            name: "E".to_owned(),
            values,
            ..Enum::default()
        }],
        ..file(Vec::new())
    };
    let with_range = Message {
        reserved_ranges: vec![(0, i32::MIN)],
        ..message("M", Vec::new())
    };
    let serves = File {
        services: vec![Service {
            name: "S".to_owned(),
            methods: vec![Method {
                name: "Get".to_owned(),
                input: ".E".to_owned(),
                output: ".E".to_owned(),
                ..Method::default()
            }],
            ..Service::default()
        }],
        ..enums(vec![value.clone()])
    };
    let mut deep = message("M", Vec::new());
    for _ in 0..1_000 {
        deep = Message {
            messages: vec![deep],
            ..message("M", Vec::new())
        };
    }
    for (set, expected) in [
        (of(vec![text("a", 0)]), "`M.a`: its number"),
        (
            of(vec![text("a", 1), text("b", 1)]),
            "`M.b`: its number is another field's",
        ),
        (of(vec![text("\u{1b}[2J", 1)]), "`[2J`: this is no name"),
        (
            of(vec![field("a", 1, Kind::Message, ".x.Y")]),
            "`M.a` needs `x.Y`, which is missing",
        ),
        (
            of(vec![field("a", 1, Kind::Message, "M")]),
            "`M.a`: its type is not what it says",
        ),
        (
            of(vec![field("a", 1, Kind::Enum, ".M")]),
            "`M.a`: its type is not what it says",
        ),
        (file(two), "`M`: it is defined twice"),
        (file(vec![deep]), "more than 32"),
        (file(vec![with_range]), "a reserved range"),
        (enums(Vec::new()), "an enum has a value"),
        (serves, "`S.Get`: its type is not what it says"),
    ] {
        let bytes = FileSet { files: vec![set] }.encode();
        let error = from_descriptors(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let good = file(vec![message("M", vec![field("m", 1, Kind::Message, ".M")])]);
    let set = FileSet { files: vec![good] };
    assert_eq!(from_descriptors(&set.encode()).unwrap().types.len(), 1);
    for bytes in [
        &b"\x0a"[..],
        b"\x0a\x05ab",
        b"\xff",
        b"\x0b",
        b"\x0c",
        b"\x0a\x02\x60\x01",
    ] {
        // The last one is a field of another wire type, which means nothing.
        let read = from_descriptors(bytes);
        assert!(read.is_err(), "{bytes:?}: {read:?}");
    }
}

/// Few bytes that would become much.
#[test]
fn small_bytes_do_not_become_large() {
    let wrap = |number: u8, mut bytes: Vec<u8>| {
        let mut out = vec![number << 3 | 2];
        let mut left = bytes.len();
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
        out.append(&mut bytes);
        out
    };
    let named = |name: String, inside: Vec<u8>| [wrap(1, name.into_bytes()), inside].concat();
    let empty = wrap(4, Vec::new()).repeat(1 << 20);
    let long = "m".repeat(1 << 19);
    let short: Vec<u8> = (0..10_000)
        .flat_map(|index| wrap(3, named(format!("m{index}"), Vec::new())))
        .collect();
    let names = wrap(4, named(long, short));
    for inside in [empty, names] {
        let set = wrap(1, named("a.proto".to_owned(), inside));
        from_descriptors(&set).unwrap_err();
    }
}

static GOOD: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let names = files(&tests("proto/good"), ".proto");
    names.iter().map(|name| described(name).encode()).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_bytes(bytes in any::<Vec<u8>>()) {
        let _ = from_descriptors(&bytes);
        let _ = Request::decode(&bytes).and_then(|request| request.contracts());
    }

    #[test]
    fn any_mutation(which in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = GOOD[which.index(GOOD.len())].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = from_descriptors(&bytes);
    }
}
