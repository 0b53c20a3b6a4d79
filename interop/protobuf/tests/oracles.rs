//! Messages of protobuf's own libraries in three languages, both ways: each of them reads what we
//! write and we read what it writes, as bytes and as JSON, and all fields are compared.
//! `cargo xtask protobuf` installs the libraries.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod support;

use dovetail_build::FileLoader;
use dovetail_dynamic::{Contract, Struct, Typed, TypedSlot, Value};
use dovetail_schema::{Schema, Type};
use dovetail_wire::{Dynamic, Encoding, Limits};
use std::collections::BTreeMap;
use std::path::Path;
use support::{LANGUAGES, Line, ask, include, make, scratch};

/// How many random messages there are of each type, and what they begin with.
const COUNT: &str = "100";
const SEED: &str = "20";

/// Files of the suite.
const FILES: [&str; 4] = [
    "test_messages_proto2",
    "test_messages_proto3",
    "test_messages_proto2_editions",
    "test_messages_proto3_editions",
];

/// Our own contracts: in protobuf's language, and as those of other languages are exported.
const OWN: [&str; 9] = [
    "meaning/input",
    "protobuf/input",
    "code_first/exported/input",
    "containers/exported/input",
    "keys/exported/input",
    "recursion/exported/input",
    "rich/exported/input",
    "scalars/exported/input",
    "unions/exported/input",
];

const ENCODINGS: [Encoding; 2] = [Encoding::Protobuf, Encoding::Json];

/// Messages that the Python library makes, of every type of a file.
fn check(folder: &Path, file: &str) {
    let path = folder.join(format!("{file}.proto"));
    let path = path.to_str().unwrap();
    let compiled = dovetail_idl::compile(path, &FileLoader::default());
    let schema = compiled.schema.expect("the file compiles");
    let described = dovetail_idl::proto::describe(path, &FileLoader::default());
    let descriptors = scratch().join(format!("{}.binpb", file.replace('/', "-")));
    std::fs::write(&descriptors, described.files.unwrap().encode()).unwrap();
    let types = types(&schema);
    let names: Vec<&str> = types.iter().map(|(name, _)| name.as_str()).collect();
    let made = make(&descriptors, SEED, COUNT, &names);
    let contract = Contract::new(&schema);
    let of = |name: &str| {
        types
            .iter()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
            .clone()
    };
    let mut failures = Vec::new();
    let (mut values, mut asked) = (Vec::new(), Vec::new());
    for line in &made {
        let ty = of(&line.r#type);
        let value = read(&contract, &ty, line, &mut failures);
        asked.push(written(&contract, &ty, &value, line));
        values.push(value);
    }
    let all = std::thread::scope(|scope| {
        let ask = |language| {
            let (descriptors, asked) = (&descriptors, &asked);
            scope.spawn(move || ask(language, descriptors, asked))
        };
        LANGUAGES.map(ask).map(|answers| answers.join().unwrap())
    });
    for (language, answers) in LANGUAGES.into_iter().zip(all) {
        assert_eq!(answers.len(), asked.len(), "{language}");
        for ((answer, value), asked) in answers.iter().zip(&values).zip(&asked) {
            if let Some(error) = &answer.error {
                failures.push(format!(
                    "{language} {}: {error}\n{}",
                    asked.r#type, asked.json
                ));
                continue;
            }
            let ty = of(&asked.r#type);
            let again = read(&contract, &ty, answer, &mut failures);
            if again != *value {
                let difference = difference(&again, value);
                failures.push(format!("{language} {}: {difference}", asked.r#type));
            }
        }
    }
    println!("{file}: {} messages of {} types", made.len(), names.len());
    let shown = failures.iter().take(10);
    let shown: Vec<String> = shown
        .map(|text| text.chars().take(2000).collect())
        .collect();
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        shown.join("\n\n")
    );
}

/// The messages of a file, by full name, but for those of protobuf's own files.
fn types(schema: &Schema) -> Vec<(String, Type)> {
    let root = schema.root().unwrap();
    let types = schema.types.iter().enumerate();
    let types = types.filter(|(_, def)| def.package == root);
    types
        .filter(|(_, def)| matches!(def.kind, dovetail_schema::TypeKind::Struct(_)))
        .map(|(index, def)| {
            let id = dovetail_schema::TypeId(index as u32);
            (
                format!("{}.{}", schema[root].name, def.name),
                Type::Named(id),
            )
        })
        .collect()
}

/// Reads a line in both encodings, and checks that the values are equal.
fn read(contract: &Contract<'_>, ty: &Type, line: &Line, failures: &mut Vec<String>) -> Value {
    let bytes = [line.bytes(), line.json.clone().into_bytes()];
    let values = ENCODINGS.iter().zip(bytes).map(|(encoding, bytes)| {
        let mut slot = TypedSlot {
            contract,
            ty,
            value: None,
        };
        let read = encoding.decode(&mut slot, &bytes.into(), Limits::default());
        if let Err(error) = read {
            failures.push(format!(
                "{} {encoding:?}: {error}\n{}",
                line.r#type, line.json
            ));
        }
        sorted(slot.value.unwrap_or(Value::Bool(false)))
    });
    let [binary, json] = values.collect::<Vec<_>>().try_into().unwrap();
    if binary != json {
        failures.push(format!("{}: {}", line.r#type, difference(&binary, &json)));
    }
    binary
}

/// The first lines that are not the same.
fn difference(one: &Value, other: &Value) -> String {
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let mut lines = one.lines().zip(other.lines());
    let at = lines.position(|(one, other)| one != other).unwrap_or(0);
    let around = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(4)).take(12);
        lines.collect::<Vec<_>>().join("\n")
    };
    format!("{}\n--- and\n{}", around(&one), around(&other))
}

fn written(contract: &Contract<'_>, ty: &Type, value: &Value, line: &Line) -> Line {
    let typed = Typed {
        contract,
        ty,
        value,
    };
    let [binary, json] = ENCODINGS.map(|encoding| encoding.to_bytes(&typed).unwrap_or_default());
    Line::new(&line.r#type, &binary, &String::from_utf8(json).unwrap())
}

/// The order of a map's entries says nothing.
fn sorted(value: Value) -> Value {
    match value {
        Value::Map(entries) => {
            let entries = entries.into_iter();
            let entries = entries.map(|(key, value)| (key, sorted(value)));
            let mut entries: Vec<_> = entries.collect();
            entries.sort_by_key(|(key, _)| format!("{key:?}"));
            Value::Map(entries)
        }
        Value::List(items) => Value::List(items.into_iter().map(sorted).collect()),
        Value::Struct(fields) => {
            let mut all: Vec<_> = fields.iter().collect();
            all.sort_by_key(|(id, _)| *id);
            let mut ordered = Struct::new();
            for (id, value) in all {
                ordered.set(id, sorted(value.clone()));
            }
            ordered.unknown_fields = fields.unknown_fields.clone();
            Value::Struct(ordered)
        }
        Value::Dynamic(value) => Value::Dynamic(doubles(value)),
        value => value,
    }
}

/// JSON tells whole numbers from others, protobuf does not. The order of members says nothing.
fn doubles(value: Dynamic) -> Dynamic {
    match value {
        Dynamic::Int(number) => (number as f64).into(),
        Dynamic::UInt(number) => (number as f64).into(),
        Dynamic::List(list) => list.values.into_iter().map(doubles).collect(),
        Dynamic::Map(map) => {
            let fields: BTreeMap<_, _> = map.fields.into_iter().collect();
            let fields = fields.into_iter();
            fields.map(|(name, value)| (name, doubles(value))).collect()
        }
        value => value,
    }
}

#[test]
#[ignore = "needs what `cargo xtask protobuf` fetches"]
fn dynamic_messages() {
    let suite = include().join("google/protobuf");
    FILES.iter().for_each(|file| check(&suite, file));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/codegen/tests/golden");
    OWN.iter().for_each(|file| check(&own, file));
}
