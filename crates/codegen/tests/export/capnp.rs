//! Contracts that are written out as `.capnp` and read again have the same places for all fields;
//! Cap'n Proto's own compiler takes them, where it is installed.

use crate::{contracts, read, texts};
use dovetail_codegen::capnp::{interface, write};
use dovetail_dynamic::{Contract, Plausible, Typed, TypedSlot, capnp as dynamic, to_json};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::capnp::{GroupLayout, Slot, StructLayout, is_group, is_void, layout};
use dovetail_schema::{Schema, ServiceId, Type, TypeId, TypeKind};
use dovetail_wire::{Bytes, Limits, capnp as wire};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The layouts of all structs of the contract's own file, by names without what differs.
fn layouts(schema: &Schema) -> BTreeMap<String, StructLayout> {
    let root = schema.root().unwrap();
    let own = schema
        .types
        .iter()
        .enumerate()
        .filter(|(_, def)| def.package == root && !is_group(def) && !is_void(def));
    own.filter(|(_, def)| matches!(def.kind, TypeKind::Struct(_)))
        .map(|(index, def)| {
            let name = def.name.replace(['.', '_'], "").to_lowercase();
            let mut layout = layout(schema, TypeId(index as u32));
            sort(&mut layout.fields);
            (name, layout)
        })
        .collect()
}

/// The places of all methods: the interface and the ordinal.
fn places(schema: &Schema) -> BTreeSet<(u64, u16)> {
    let root = schema.root().unwrap();
    let mut all = BTreeSet::new();
    for (index, service) in schema.services.iter().enumerate() {
        let id = ServiceId(index as u32);
        let own: Vec<_> = service.methods.iter().map(|method| (id, method)).collect();
        // Services of the files that it includes are written beside it.
        if service.package == root {
            let (table, _) = interface(schema, &own);
            let methods = wire::InterfaceMethod::parse(&table).unwrap();
            all.extend(
                methods
                    .iter()
                    .map(|method| (method.interface, method.ordinal)),
            );
        }
    }
    all
}

/// Puts fields in the order of their places: groups and unions of the file change the one of the
/// schema.
fn sort(group: &mut GroupLayout) {
    let mut flat = Vec::new();
    for field in std::mem::take(&mut group.fields) {
        match field.slot {
            Slot::Group(mut inside) => {
                sort(&mut inside);
                flat.extend(inside.fields);
            }
            // The language knows fields that take no room; those that fill gaps are not in the
            // contract.
            Slot::Void => {}
            _ => flat.push(field),
        }
    }
    flat.sort_by_key(|field| format!("{field:?}"));
    group.fields = flat;
}

/// Has Cap'n Proto's own compiler read the last of these files; true where it is not installed.
fn accepted(files: &[(String, String)]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut compiler = Command::new("capnp");
    compiler
        .args(["compile", "-o-"])
        .arg(&files.last().unwrap().0);
    let Ok(output) = compiler
        .current_dir(folder.path())
        .env_remove("PWD")
        .output()
    else {
        return Ok(());
    };
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Has Cap'n Proto's own tool write a message in another form; `None` where it is not installed.
fn convert(folder: &Path, forms: &str, ty: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("capnp")
        .args(["convert", forms, "input.capnp", ty])
        .current_dir(folder)
        .env_remove("PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{forms} {ty}");
    Some(output.stdout)
}

/// Values of a contract in Thrift's language go through Cap'n Proto's tool, which knows the
/// contract as it was written out.
#[test]
fn values() {
    let text = "
        enum Color { RED = 1, BLUE = 3 }
        struct Point { 1: i32 x, 3: optional i32 y, 4: optional bool z = true, 5: optional Color color }
        union Either { 1: i32 number, 2: string text, 3: Point point }
        union Only { 1: string text }
        exception Failed { 1: string why }
        struct Input {
          2: required i64 id, 3: optional double ratio, 4: map<string, i32> counts, 5: map<i32, Point> points,
          6: set<string> tags, 7: uuid key, 8: timestamp at, 9: optional timestamp_tz seen, 10: duration took,
          11: date day, 12: decimal price, 13: Either either, 14: Only only, 15: list<list<i16>> grid,
          16: Color color = Color.BLUE, 17: u8 small = 7, 18: optional string note, 19: binary data,
          20: optional date other, 21: list<Color> colors, 22: Input inner
        }
        service Store { Input get(1: i64 id, 2: optional i32 limit) throws (1: Failed failed) }";
    let files = [("input.thrift", text)];
    let compiled = compile("input.thrift", &MemoryLoader::from_iter(files));
    let schema = compiled.schema.unwrap();
    let files = texts(write(&schema).unwrap());
    accepted(&files).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let contract = Contract::new(&schema);
    let id = schema.find_type("Input").unwrap();
    let ty = Type::Named(id);
    let layouts = dynamic::layouts(&schema, id).unwrap();
    let read = |bytes: &[u8]| {
        let bytes = Bytes::copy_from_slice(bytes);
        let (message, _) = wire::Segments::split(&bytes, 1 << 24).unwrap().unwrap();
        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value: None,
        };
        wire::decode(&mut slot, &message, &layouts, Limits::default()).unwrap();
        to_json(&contract, &ty, &slot.value.unwrap())
    };
    for seed in 0..20 {
        let value = Plausible::new(&contract, seed).value(&ty, "input").unwrap();
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        let message = wire::frame(&wire::encode(&typed, &layouts, Limits::default()).unwrap());
        let Some(json) = convert(folder.path(), "binary:json", "Input", &message) else {
            return;
        };
        let back = convert(folder.path(), "json:binary", "Input", &json).unwrap();
        assert_eq!(read(&back), read(&message), "{seed}");
        let shown: Json = serde_json::from_slice(&json).unwrap();
        assert_eq!(
            shown["id"].as_str().unwrap(),
            read(&message)["id"].to_string()
        );
    }
}

#[test]
fn every_contract() {
    let (mut count, mut failures) = (0, Vec::<String>::new());
    for (folder, ending) in [
        ("tests/golden", "thrift"),
        ("tests/golden", "proto"),
        ("tests/golden", "capnp"),
        ("../cli/tests/contracts", "thrift"),
        ("../idl/tests/capnp", "capnp"),
        ("../idl/tests/proto/good", "proto"),
        ("../../interop", "thrift"),
    ] {
        for (loader, name) in contracts(folder, ending) {
            let Some(schema) = compile(&name, &loader).schema else {
                continue;
            };
            let Ok(files) = write(&schema) else {
                continue;
            };
            let files = texts(files);
            if let Err(error) = accepted(&files) {
                let text = &files.last().unwrap().1;
                failures.push(format!("{folder} {name}: {error}\n{text}"));
                continue;
            }
            let written = read(&files);
            let (before, after) = (places(&schema), places(&written));
            if before != after {
                failures.push(format!("{folder} {name}: {before:?}\n{after:?}"));
            }
            let (before, after) = (layouts(&schema), layouts(&written));
            for (name_of, before) in before {
                // Structs that no method reaches as they are: applied generic types have other
                // names.
                if let Some(after) = after.get(&name_of)
                    && *after != before
                {
                    let text = &files.last().unwrap().1;
                    failures.push(format!("{name} {name_of}: {before:?}\n{after:?}\n{text}"));
                }
            }
            count += 1;
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    println!("{count} contracts");
    assert!(count > 15, "{count}");
}
