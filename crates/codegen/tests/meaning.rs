//! Protobuf's bytes mean what protobuf's own library takes them for, in generated types and in
//! dynamic values: each case of `meaning/cases.txt` is read, and written as the library for Python
//! (7.35) writes it. `PROTOBUF_PYTHON=python` asks that library again, in a Python that has
//! `grpcio-tools`.

#![allow(clippy::unwrap_used)]

use dovetail::encoding::{Encoding, Limits, Value};
use dovetail::types::Bytes;
use dovetail_dynamic::{Contract, Typed, TypedSlot};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type};
use std::path::{Path, PathBuf};
use std::process::Command;

mod meaning {
    include!("golden/meaning/output.rs");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/meaning")
}

/// The bytes of a case, in an encoding.
#[derive(Clone)]
struct Given {
    encoding: Encoding,
    bytes: Bytes,
}

fn given(text: &str) -> Given {
    let (encoding, bytes) = match text.starts_with('{') {
        true => (Encoding::Json, text.to_owned().into()),
        false => (Encoding::Protobuf, bytes(text)),
    };
    Given { encoding, bytes }
}

impl Given {
    /// Returns bytes of this encoding as a case has them.
    fn shown(&self, bytes: &[u8]) -> String {
        match self.encoding {
            Encoding::Json => String::from_utf8(bytes.to_vec()).unwrap(),
            _ => hex(bytes),
        }
    }
}

fn bytes(hex: &str) -> Bytes {
    let hex = hex.trim_matches('-');
    let digits = (0..hex.len()).step_by(2);
    let bytes: Vec<u8> = digits
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    bytes.into()
}

fn hex(bytes: &[u8]) -> String {
    match bytes {
        [] => "-".to_owned(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The message that a generated type makes of these bytes; `!` where it refuses them.
fn of_type<T: Value>(given: &Given) -> String {
    match given.encoding.from_bytes::<T>(&given.bytes) {
        Ok(value) => given.shown(&given.encoding.to_bytes(&value).unwrap()),
        Err(_) => "!".to_owned(),
    }
}

fn generated(name: &str, given: &Given) -> String {
    use meaning::meaning::{Groups, Implicit, Lists, Names, Piece, Pieces};
    match name {
        "Implicit" => of_type::<Implicit>(given),
        "Lists" => of_type::<Lists>(given),
        "Groups" => of_type::<Groups>(given),
        "Pieces" => of_type::<Pieces>(given),
        "Piece" => of_type::<Piece>(given),
        "Names" => of_type::<Names>(given),
        _ => panic!("{name}"),
    }
}

/// Checks a dynamic value.
fn dynamic(schema: &Schema, name: &str, given: &Given) -> String {
    let contract = Contract::new(schema);
    let ty = Type::Named(schema.find_type(name).unwrap());
    let mut slot = TypedSlot {
        contract: &contract,
        ty: &ty,
        value: None,
    };
    let encoding = given.encoding;
    match encoding.decode(&mut slot, &given.bytes, Limits::default()) {
        Err(_) => "!".to_owned(),
        Ok(_) => {
            let value = &slot.value.unwrap();
            let typed = Typed {
                contract: &contract,
                ty: &ty,
                value,
            };
            given.shown(&encoding.to_bytes(&typed).unwrap())
        }
    }
}

fn schema() -> Schema {
    let contract = include_str!("golden/meaning/input.proto");
    let loader = MemoryLoader::from_iter([("input.proto", contract)]);
    compile("input.proto", &loader).schema.unwrap()
}

#[test]
fn bytes_mean_what_they_mean_to_a_peer() {
    if let Some(python) = std::env::var_os("PROTOBUF_PYTHON") {
        let script = folder().join("peer.py");
        assert!(Command::new(python).arg(script).status().unwrap().success());
    }
    let schema = schema();
    let cases = std::fs::read_to_string(folder().join("cases.txt")).unwrap();
    let mut wrong = Vec::new();
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        let [name, text, expected] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let input = given(text);
        let found = [
            ("generated", generated(name, &input)),
            ("dynamic", dynamic(&schema, name, &input)),
        ];
        for (kind, found) in found.iter().filter(|(_, found)| found != expected) {
            wrong.push(format!(
                "{kind} {name} {text}\n  is    {found}\n  wants {expected}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
