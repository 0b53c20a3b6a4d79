//! Bytes of real peers (`interop/golden`) are read, and written again byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::type_complexity)]

mod describe;
mod fixtures;

use dovetail_wire::thrift::{binary, compact, json};
use dovetail_wire::{DecodeError, EncodeError, Value, msgpack};
use fixtures::*;
use serde_json::Value as Json;
use std::fmt::Debug;
use std::path::PathBuf;

/// Values for which the format has more than one form, and a peer chooses another than we do: peer,
/// protocol, reason.
const OTHER_FORMS: &[(&str, &str, &str)] = &[
    (
        "python",
        "json",
        "no `.0` after whole doubles, nan and inf without quotes, control characters as they are",
    ),
    (
        "cpp",
        "json",
        "base64 without padding, no `.0` after whole doubles, `1e+100` for `1e100`",
    ),
    ("java", "json", "base64 without padding, `E` for `e`"),
    ("go", "json", "U+2028 escaped"),
    (
        "rust",
        "compact",
        "the long header for a difference of exactly 15",
    ),
];

const ROWS: &[(&str, fn(&Row))] = &[
    ("Empty", check::<Empty>),
    ("Everything", check::<Everything>),
    ("Presence", check::<Presence>),
    ("Containers", check::<Containers>),
    ("Nested", check::<Nested>),
    ("Keyed", check::<Keyed>),
    ("Tree", check::<Tree>),
    ("Choice", check::<Choice>),
    ("Wide", check::<Wide>),
    ("Newer", check::<Newer>),
    ("Uuids", check::<Uuids>),
];

struct Row {
    name: String,
    value: Json,
    complete: &'static str,
}

impl Row {
    fn bytes(&self, peer: &str, protocol: &str) -> Option<Vec<u8>> {
        let path = root()
            .join(peer)
            .join(protocol)
            .join(format!("{}.hex", self.name));
        let text = std::fs::read_to_string(path).ok()?;
        Some(describe::from_hex(text.trim()))
    }
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/golden"))
}

#[test]
fn peers() {
    let checked = check_file("values.json", "python");
    assert!(checked >= 50, "{checked}");
}

/// The other peers' libraries do not know uuids.
#[test]
fn uuids() {
    assert_eq!(check_file("uuid.json", "go-uuid"), 1);
}

/// Checks all values of a file, of which one peer must have written each; returns how many.
fn check_file(file: &str, complete: &'static str) -> usize {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let values: Json = serde_json::from_str(&text).unwrap();
    let rows = values["values"].as_array().unwrap();
    // Whole messages are the protocol's to check.
    let rows = rows.iter().filter(|row| row.get("message").is_none());
    rows.map(|row| {
        let wanted = row["type"].as_str().unwrap();
        let known = ROWS.iter().find(|(known, _)| *known == wanted);
        let (_, check) = known.expect(wanted);
        check(&Row {
            name: row["name"].as_str().unwrap().to_owned(),
            value: row["value"].clone(),
            complete,
        });
    })
    .count()
}

fn check<T: Value + Clone + PartialEq + Debug>(row: &Row) {
    let mut protocols: Vec<(
        &str,
        fn(&[u8]) -> Result<T, DecodeError>,
        fn(&T) -> Result<Vec<u8>, EncodeError>,
    )> = Vec::new();
    protocols.push(("binary", binary::from_bytes, binary::to_bytes));
    protocols.push(("compact", compact::from_bytes, compact::to_bytes));
    protocols.push(("json", json::from_bytes, json::to_bytes));
    if row.complete == "python" {
        protocols.push(("msgpack", msgpack::from_bytes, msgpack::to_bytes));
    }
    for (protocol, read, write) in protocols {
        for peer in [
            "python",
            "cpp",
            "go",
            "java",
            "rust",
            "go-uuid",
            "rust-uuid",
        ] {
            let Some(golden) = row.bytes(peer, protocol) else {
                assert_ne!(peer, row.complete, "{} is missing", row.name);
                continue;
            };
            let what = format!("{} of {peer} in {protocol}", row.name);
            let value = read(&golden).unwrap_or_else(|e| panic!("{what}: {e}"));
            let differs = DIFFERENT_VALUES.contains(&(peer, row.name.as_str()));
            if !differs {
                assert_eq!(describe::value(&value), row.value, "{what}");
            }
            let written = write(&value).unwrap();
            if written != golden {
                let text = String::from_utf8_lossy;
                let excused = OTHER_FORMS
                    .iter()
                    .any(|(p, form, _)| (*p, *form) == (peer, protocol));
                assert!(excused, "{what}:\n{}\n{}", text(&golden), text(&written));
                assert_eq!(
                    describe::value(&read(&written).unwrap()),
                    describe::value(&value),
                    "{what}"
                );
            }
            for end in 0..golden.len() {
                assert!(read(&golden[..end]).is_err(), "{what}: cut at {end}");
            }
            let mut longer = golden.clone();
            longer.push(b'0');
            assert!(read(&longer).is_err(), "{what}: trailing byte");
        }
    }
}

/// Values of `values.json` that a peer cannot express.
const DIFFERENT_VALUES: &[(&str, &str)] = &[
    // It always sets optional fields that have a default.
    ("cpp", "presence_least"),
];
