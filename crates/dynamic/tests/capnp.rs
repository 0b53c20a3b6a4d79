//! Cap'n Proto's encoding, against messages that its own tool has made: each row of
//! `capnp/rows.txt`, which is in the text form of that tool, has its bytes in `capnp/rows.hex` and
//! what we read in `capnp/rows.json`. `UPDATE_GOLDEN=1` asks the tool anew. The tool also reads
//! what we write, if it is installed.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::{Contract, Plausible, Typed, TypedSlot, Value, capnp, to_json};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type, TypeId};
use dovetail_wire::capnp::{Layouts, Segments, decode, encode, frame, pack, unpack};
use dovetail_wire::{Bytes, DecodeError, Limits};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

const MAX: usize = 64 << 20;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let text = std::fs::read_to_string(file("zoo.capnp")).unwrap();
    let compiled = compile("zoo.capnp", &MemoryLoader::from_iter([("zoo.capnp", text)]));
    compiled.schema.unwrap()
});

static CONTRACT: LazyLock<Contract<'static>> = LazyLock::new(|| Contract::new(&SCHEMA));

static ZOO: LazyLock<Type> = LazyLock::new(|| Type::Named(zoo()));

static LAYOUTS: LazyLock<Layouts> = LazyLock::new(|| capnp::layouts(&SCHEMA, zoo()).unwrap());

fn zoo() -> TypeId {
    SCHEMA.find_type("Zoo").unwrap()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/capnp")
        .join(name)
}

fn read(message: &Segments) -> Result<Value, DecodeError> {
    let mut slot = TypedSlot {
        contract: &CONTRACT,
        ty: &ZOO,
        value: None,
    };
    decode(&mut slot, message, &LAYOUTS, Limits::default())?;
    Ok(slot.value.unwrap())
}

/// The segment of a message with this value.
fn written(value: &Value) -> Vec<u8> {
    let typed = Typed {
        contract: &CONTRACT,
        ty: &ZOO,
        value,
    };
    encode(&typed, &LAYOUTS, Limits::default()).unwrap()
}

fn split(bytes: &[u8]) -> Segments {
    let (message, len) = Segments::split(&Bytes::copy_from_slice(bytes), MAX)
        .unwrap()
        .unwrap();
    assert_eq!(len, bytes.len());
    message
}

/// The official tool; `None` where it is not installed.
fn convert(forms: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("capnp")
        .args(["convert", forms])
        .arg(file("zoo.capnp"))
        .arg("Zoo")
        .env_remove("PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn messages_of_the_tool() {
    let rows = std::fs::read_to_string(file("rows.txt")).unwrap();
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    if update {
        let made = rows
            .lines()
            .map(|row| hex(&convert("text:packed", row.as_bytes()).unwrap()) + "\n");
        std::fs::write(file("rows.hex"), made.collect::<String>()).unwrap();
    }
    let made = std::fs::read_to_string(file("rows.hex")).unwrap();
    let mut shown = String::new();
    for (row, packed) in rows.lines().zip(made.lines()) {
        let bytes = unpack(&unhex(packed), MAX).unwrap();
        let message = split(&bytes);
        let value = read(&message).unwrap();
        shown.push_str(&format!("{}\n", to_json(&CONTRACT, &ZOO, &value)));
        // The value survives, though its parts may stand in another order.
        let own = frame(&written(&value));
        assert_eq!(read(&split(&own)).unwrap(), value, "{row}");
        // They pack messages of several segments piece by piece, with counts of their own.
        if message.parts().len() == 1 {
            assert_eq!(hex(&pack(&bytes)), packed, "{row}");
        }
        if let Some(theirs) = convert("binary:text", &bytes) {
            let ours = convert("binary:text", &own).unwrap();
            assert_eq!(String::from_utf8(ours), String::from_utf8(theirs), "{row}");
        }
    }
    match update {
        true => std::fs::write(file("rows.json"), shown).unwrap(),
        false => assert_eq!(std::fs::read_to_string(file("rows.json")).unwrap(), shown),
    }
}

/// Values that are made up go through the tool, in all forms that it has.
#[test]
fn values_made_up() {
    let values: Vec<Value> = (0..100)
        .map(|seed| Plausible::new(&CONTRACT, seed).value(&ZOO, "zoo").unwrap())
        .collect();
    let messages: Vec<Vec<u8>> = values.iter().map(|value| frame(&written(value))).collect();
    for (value, message) in values.iter().zip(&messages) {
        // A member of a union is always there: the first one, where the value has none.
        let first = read(&split(message)).unwrap();
        let again = read(&split(&frame(&written(&first)))).unwrap();
        assert_eq!(first, again, "{}", to_json(&CONTRACT, &ZOO, value));
    }
    let all = messages.concat();
    let Some(packed) = convert("binary:packed", &all) else {
        return;
    };
    let json = convert("packed:json", &packed).unwrap();
    let mut rest = Bytes::from(convert("json:binary", &json).unwrap());
    for (seed, message) in messages.iter().enumerate() {
        let (theirs, len) = Segments::split(&rest, MAX).unwrap().unwrap();
        let ours = read(&split(message)).unwrap();
        let theirs = read(&theirs).unwrap();
        assert_eq!(
            to_json(&CONTRACT, &ZOO, &theirs),
            to_json(&CONTRACT, &ZOO, &ours),
            "{seed}"
        );
        rest = rest.slice(len..);
    }
    assert!(rest.is_empty());
}

/// A pointer to anything is kept as a message of its own, wherever it came from.
#[test]
fn pointers_to_anything() {
    let ty = Type::Named(SCHEMA.find_type("Anything").unwrap());
    let Type::Named(id) = ty else { return };
    let layouts = capnp::layouts(&SCHEMA, id).unwrap();
    let inside = written(&Plausible::new(&CONTRACT, 1).value(&ZOO, "zoo").unwrap());
    let text = Value::String("behind".to_owned());
    let value = [(1, Value::Bytes(inside.clone().into())), (2, text)];
    let value = Value::Struct(value.into_iter().collect());
    let typed = Typed {
        contract: &CONTRACT,
        ty: &ty,
        value: &value,
    };
    let segment = encode(&typed, &layouts, Limits::default()).unwrap();
    let message = Segments::single(segment.into()).unwrap();
    let mut slot = TypedSlot {
        contract: &CONTRACT,
        ty: &ty,
        value: None,
    };
    decode(&mut slot, &message, &layouts, Limits::default()).unwrap();
    let Some(Value::Struct(back)) = slot.value else {
        panic!("no struct");
    };
    let Some(Value::Bytes(bytes)) = back.get(1) else {
        panic!("no bytes");
    };
    let of = |bytes: &[u8]| Segments::single(Bytes::copy_from_slice(bytes)).unwrap();
    assert_eq!(read(&of(bytes)).unwrap(), read(&of(&inside)).unwrap());
    assert_eq!(back.get(2), Some(&Value::String("behind".to_owned())));
}

/// Reads words as a segment with a `Node` at its root: one word of data, then the pointers `next`,
/// `voids`, `texts`, `nodes`.
fn read_node(words: &[u64]) -> Result<Value, DecodeError> {
    let id = SCHEMA.find_type("Node").unwrap();
    let layouts = capnp::layouts(&SCHEMA, id).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let message = Segments::single(bytes.into()).unwrap();
    let mut slot = TypedSlot {
        contract: &CONTRACT,
        ty: &Type::Named(id),
        value: None,
    };
    decode(&mut slot, &message, &layouts, Limits::default())?;
    Ok(slot.value.unwrap())
}

/// A pointer to a struct of one word of data and four pointers.
fn node(offset: i32) -> u64 {
    structure(offset, 1, 4)
}

fn structure(offset: i32, data: u64, pointers: u64) -> u64 {
    u64::from((offset << 2).cast_unsigned()) | data << 32 | pointers << 48
}

fn list(offset: i32, size: u64, count: u64) -> u64 {
    u64::from((offset << 2 | 1).cast_unsigned()) | size << 32 | count << 35
}

#[test]
fn hostile_pointers() {
    let far =
        |double: u64, position: u64, segment: u64| 2 | double << 2 | position << 3 | segment << 32;
    let many = |pointer: u64, count: usize| {
        let mut words = vec![node(0), 7, 0, 0, list(1, 6, count as u64), 0];
        words.extend(std::iter::repeat_n(pointer, count));
        words
    };
    let rows: &[(&str, Vec<u64>, &str)] = &[
        ("an empty segment", vec![], "leads out of its segment"),
        (
            "a struct beyond the end",
            vec![node(0)],
            "leads out of its segment",
        ),
        (
            "a struct before the start",
            vec![node(-9), 0, 0, 0, 0, 0],
            "leads out of its segment",
        ),
        (
            "a struct inside itself",
            vec![node(0), 7, node(-2), 0, 0, 0],
            "64",
        ),
        (
            "a list beyond the end",
            vec![node(0), 7, 0, 0, list(1, 6, 9), 0],
            "leads out of its segment",
        ),
        (
            "a billion voids",
            vec![node(0), 7, 0, list(0, 0, (1 << 29) - 1), 0, 0],
            "more words",
        ),
        (
            "a billion structs of no words",
            vec![
                node(0),
                7,
                0,
                0,
                0,
                list(0, 7, 0),
                structure((1 << 29) - 1, 0, 0),
            ],
            "more words",
        ),
        (
            "more structs than words",
            vec![node(0), 7, 0, 0, 0, list(0, 7, 1), structure(2, 1, 0), 1],
            "leads out of its segment",
        ),
        (
            "a number where a list is",
            vec![node(0), 7, 0, 0, node(-4), 0],
            "something else",
        ),
        (
            "a list where a struct is",
            vec![node(0), 7, list(0, 0, 1), 0, 0, 0],
            "something else",
        ),
        ("an unknown kind of pointer", vec![7], "unknown kind"),
        ("an object", vec![3], "something else"),
        (
            "a far pointer to a far pointer",
            vec![far(0, 1, 0), far(0, 0, 0)],
            "far pointer",
        ),
        (
            "a far pointer to no segment",
            vec![far(0, 0, 9)],
            "leads out of its segment",
        ),
        (
            "two words that are none",
            vec![far(1, 1, 0), 0, 0],
            "far pointer",
        ),
        (
            "a text without an end",
            vec![node(0), 7, 0, 0, list(1, 6, 1), 0, list(0, 2, 1), 0x61],
            "zero byte",
        ),
        (
            "a text of no bytes",
            vec![node(0), 7, 0, 0, list(1, 6, 1), 0, list(0, 2, 0)],
            "zero byte",
        ),
        (
            "a list of structs without a size",
            vec![node(0), 7, 0, 0, 0, list(0, 7, 1), 1, 0],
            "says no size",
        ),
    ];
    for (title, words, expected) in rows {
        let found = read_node(words).map_err(|error| error.to_string());
        let error = found.expect_err(title);
        assert!(error.contains(expected), "{title}: {error}");
    }
    // A hundred thousand pointers to one text of a megabyte: each counts what it leads to.
    let mut words = many(0, 100_000);
    let text = words.len();
    words.extend(std::iter::repeat_n(0x6161_6161_6161_6161, 1 << 17));
    words.push(0);
    for (place, word) in words.iter_mut().enumerate().take(text).skip(6) {
        *word = list((text - place - 1) as i32, 2, (1 << 20) + 1);
    }
    let error = read_node(&words).unwrap_err().to_string();
    assert!(
        error.contains("limit") || error.contains("more words"),
        "{error}"
    );
}

/// Messages of older and newer contracts: fewer words, more words, elements of another width.
#[test]
fn other_versions() {
    let id = |value: &Value| match value {
        Value::Struct(node) => node.get(4).cloned(),
        _ => None,
    };
    let short = read_node(&[structure(0, 0, 0)]).unwrap();
    assert_eq!(id(&short), None);
    let null = read_node(&[0]).unwrap();
    assert_eq!(id(&null), None);
    let long = read_node(&[structure(0, 2, 5), 7, 8, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(id(&long), Some(Value::UInt(7)));
    // A list of numbers is one of structs that have them as their first field.
    let numbers = read_node(&[node(0), 7, 0, 0, 0, list(0, 5, 2), 3, 4]).unwrap();
    let Value::Struct(numbers) = numbers else {
        return;
    };
    let Some(Value::List(nodes)) = numbers.get(5) else {
        panic!("no list");
    };
    assert_eq!(
        nodes.iter().map(id).collect::<Vec<_>>(),
        [Some(Value::UInt(3)), Some(Value::UInt(4))]
    );
}
