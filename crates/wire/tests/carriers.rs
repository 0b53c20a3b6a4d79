//! Types that travel as another one, and what the libraries of Apache Thrift and protobuf make of
//! that (`interop/golden/carriers.json`): each end reads what the other one wrote.
#![allow(clippy::unwrap_used)]

mod describe;

use describe::{from_hex, to_hex};
use dovetail_wire::{
    Any, Array, Dynamic, Encoding, Free, SignedDuration, Timestamp, TimestampTz, Value,
};
use serde_json::{Value as Json, json};
use std::fmt::{Debug, Display};
use std::path::PathBuf;

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/golden"))
}

/// Returns the bytes that the peer wrote in this protocol.
fn peer(protocol: &str, name: &str) -> Option<Vec<u8>> {
    let path = golden().join(format!("python/carriers-{protocol}/{name}.hex"));
    let text = std::fs::read_to_string(path).ok()?;
    Some(from_hex(text.trim()))
}

/// Reads the peer's bytes, which have to be one value in all protocols, and returns what we write
/// in protobuf.
fn check<T: Value + Debug + PartialEq>(name: &str, text: fn(&T) -> String, row: &Json) -> String {
    let protocols = [
        ("binary", Encoding::ThriftBinary),
        ("compact", Encoding::ThriftCompact),
        ("protobuf", Encoding::Protobuf),
    ];
    let mut found: Option<T> = None;
    for (protocol, encoding) in protocols {
        let Some(bytes) = peer(protocol, name) else {
            continue;
        };
        let value: T = encoding.from_bytes(&bytes.clone().into()).unwrap();
        if protocol != "protobuf" {
            let written = encoding.to_bytes(&value).unwrap();
            assert_eq!(to_hex(&written), to_hex(&bytes), "{name} {protocol}");
            assert_eq!(describe::value(&value), row["value"], "{name} {protocol}");
        }
        if let Some(found) = &found {
            assert_eq!(found, &value, "{name} {protocol}");
        }
        found = Some(value);
    }
    let found = found.unwrap();
    if let Some(expected) = row["text"].as_str() {
        assert_eq!(text(&found), expected, "{name}");
    }
    to_hex(&Encoding::Protobuf.to_bytes(&found).unwrap())
}

/// As protobuf's libraries show it: as many digits as needed, in groups of three.
fn grouped(text: impl Display) -> String {
    let text = text.to_string();
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let end = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &rest[..rest.len() - end.len()];
    match digits.is_empty() {
        true => text,
        false => {
            let width = digits.len().next_multiple_of(3);
            format!("{whole}.{digits:0<width$}{end}")
        }
    }
}

fn instant(value: &Timestamp) -> String {
    grouped(value)
}

fn span(value: &SignedDuration) -> String {
    let sign = if value.is_negative() { "-" } else { "" };
    let (seconds, nanos) = (value.as_secs().abs(), value.subsec_nanos().abs());
    let number = match nanos {
        0 => seconds.to_string(),
        _ => format!("{seconds}.{nanos:09}"),
    };
    grouped(format!(
        "{sign}{}s",
        number.trim_end_matches(|c| nanos != 0 && c == '0')
    ))
}

#[test]
fn python() {
    let path = golden().join("carriers.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut file: Json = serde_json::from_str(&text).unwrap();
    let refresh = std::env::var_os("UPDATE_GOLDEN").is_some();
    for row in file["values"].as_array_mut().unwrap() {
        let name = row["name"].as_str().unwrap().to_owned();
        let ours = match row["type"].as_str().unwrap() {
            "timestamp" => check::<Timestamp>(&name, instant, row),
            "timestamp_tz" => check::<TimestampTz>(&name, |_| String::new(), row),
            "duration" => check::<SignedDuration>(&name, span, row),
            "any" => check::<Any>(&name, |_| String::new(), row),
            "array" => check::<Array<i32, (Free, Free)>>(&name, |_| String::new(), row),
            "dynamic" => check::<Dynamic>(&name, |_| String::new(), row),
            other => panic!("{other}"),
        };
        match refresh {
            true => row["dovetail"] = json!(ours),
            false => assert_eq!(row["dovetail"], ours, "{name}"),
        }
    }
    if refresh {
        let text = serde_json::to_string_pretty(&file).unwrap();
        std::fs::write(path, text + "\n").unwrap();
    }
}

/// Values that are carried everywhere but in JSON, or in protobuf, whose types do not have them.
#[test]
fn beyond_what_protobufs_types_have() {
    fn check<T: Value + Debug + PartialEq>(value: &T, refused: &[&str]) {
        for encoding in Encoding::BUILT_IN {
            match encoding.to_bytes(value) {
                Ok(bytes) => {
                    assert_eq!(encoding.from_bytes::<T>(&bytes.into()).as_ref(), Ok(value))
                }
                Err(_) => assert!(
                    refused.contains(&encoding.name()),
                    "{encoding:?}: {value:?}"
                ),
            }
        }
    }
    check(&Timestamp::MIN, &["json"]);
    check(&SignedDuration::MIN, &["json"]);
    check(&SignedDuration::MAX, &["json"]);
    check(&Dynamic::from(i64::MAX), &["protobuf"]);
    check(&Dynamic::from(u64::MAX), &["protobuf"]);
    check(&Dynamic::from(f64::INFINITY), &["json"]);
}
