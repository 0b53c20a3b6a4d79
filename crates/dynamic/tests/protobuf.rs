//! Dynamic values in protobuf, byte by byte as protobuf's own library for Python (7.36) writes them
//! with `SerializeToString(deterministic=True)`.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::{Contract, Typed, TypedSlot, from_json, to_json};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Type, TypeId};
use dovetail_wire::{Bytes, Encoding, Limits};
use serde_json::{Value as Json, json};

/// Gives the first message of a contract these bytes, and the JSON value these bytes back.
fn check(contract: &str, rows: &[(Json, &str)]) {
    let loader = MemoryLoader::from_iter([("a.proto", contract)]);
    let compiled = compile("a.proto", &loader);
    let schema = compiled.schema.unwrap();
    let contract = Contract::new(&schema);
    let ty = Type::Named(TypeId(0));
    for (json, hex) in rows {
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value: None,
        };
        let read =
            Encoding::Protobuf.decode(&mut slot, &Bytes::from(bytes.clone()), Limits::default());
        assert_eq!(read, Ok(bytes.len()), "{json}");
        let shown = to_json(&contract, &ty, &slot.value.unwrap());
        for (name, value) in json.as_object().unwrap() {
            assert_eq!(&shown[name], value, "{json}");
        }
        let value = from_json(&contract, &ty, json).unwrap();
        let mut out = Vec::new();
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        Encoding::Protobuf
            .encode(&typed, &mut out, Limits::default())
            .unwrap();
        assert_eq!(out, bytes, "{json}");
    }
}

#[test]
fn maps_with_integers_in_all_formats() {
    let contract = r#"
        syntax = "proto3";
        message Maps {
          map<sint32, sint64> zigzag = 1;
          map<fixed32, sfixed64> fixed = 2;
          map<int64, sint32> mixed = 3;
          map<sfixed32, string> keys = 4;
          map<string, fixed64> values = 5;
          map<sint64, Inner> inner = 6;
          map<uint32, int32> plain = 7;
        }
        message Inner { optional sint32 number = 1; repeated sfixed32 list = 2; optional int32 plain = 3; }
    "#;
    let rows = [
        (json!({"zigzag": {"1": -1}}), "0a0408021001"),
        (
            json!({"fixed": {"7": -2}}),
            "120e0d0700000011feffffffffffffff",
        ),
        (
            json!({"mixed": {"-1": -1}}),
            "1a0d08ffffffffffffffffff011001",
        ),
        (json!({"keys": {"-3": "x"}}), "22080dfdffffff120178"),
        (json!({"values": {"a": 5}}), "2a0c0a0161110500000000000000"),
        (
            json!({"inner": {"-1": {"number": -1, "list": [-1, 2], "plain": -1}}}),
            "321b0801121708011208ffffffff0200000018ffffffffffffffffff01",
        ),
        (
            json!({"plain": {"1": -1}}),
            "3a0d080110ffffffffffffffffff01",
        ),
    ];
    check(contract, &rows);
}

#[test]
fn extensions_are_fields() {
    check(
        "syntax = \"proto2\"; package p; message M { optional int32 a = 1; extensions 100 to 199; } \
         extend M { optional sint32 b = 100; repeated M c = 101; } \
         message Inside { extend M { optional string d = 102; } }",
        &[
            (json!({"[p.b]": -1}), "a00601"),
            (
                json!({"a": 1, "[p.c]": [{"a": 2, "[p.c]": []}]}),
                "0801aa06020802",
            ),
            (json!({"[p.Inside.d]": "x"}), "b2060178"),
        ],
    );
}
