//! Protobuf's text format. `cargo xtask protobuf` runs protobuf's own cases of it.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::{Contract, Typed, UnknownText, from_text, to_text};
use dovetail_idl::{MemoryLoader, compile};
use dovetail_schema::{Schema, Type};
use dovetail_wire::{Encoding, Limits};

const CONTRACT: &str = r#"
syntax = "proto2";
package p;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
message M {
    optional int32 i = 1;
    optional uint64 u = 2;
    optional double d = 3;
    optional float f = 4;
    optional bool b = 5;
    optional string s = 6;
    optional bytes raw = 7;
    optional E e = 8;
    optional M m = 9;
    repeated int32 list = 10;
    map<string, int32> map = 11;
    optional group Data = 12 { optional int32 x = 1; }
    oneof one { int32 first = 13; string second = 14; }
    optional google.protobuf.Any any = 15;
    optional google.protobuf.Duration time = 16;
    optional google.protobuf.Value value = 17;
    reserved old;
    extensions 100 to 199;
}
enum E { ZERO = 0; ONE = 1; }
message Whole { required int32 i = 1; }
extend M { optional int32 ext = 100; }
"#;

fn schema() -> Schema {
    let contract = CONTRACT.replace("reserved old;", "reserved \"old\";");
    let loader = MemoryLoader::from_iter([("a.proto", contract.as_str())]);
    compile("a.proto", &loader).schema.unwrap()
}

fn message(schema: &Schema, name: &str) -> Type {
    Type::Named(schema.find_type(name).unwrap())
}

/// Reads a text, and writes it again with a space for each line.
fn again(text: &str) -> Result<String, String> {
    let schema = schema();
    let contract = Contract::new(&schema);
    let ty = message(&schema, "M");
    let value = from_text(&contract, &ty, text, Limits::default());
    let value = value.map_err(|problem| problem.to_string())?;
    let shown = to_text(&contract, &ty, &value, UnknownText::Shown).unwrap();
    let back = from_text(&contract, &ty, &shown, Limits::default());
    let bytes = |value| {
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value,
        };
        Encoding::Protobuf.to_bytes(&typed).unwrap()
    };
    assert_eq!(bytes(&back.unwrap()), bytes(&value), "{shown}");
    Ok(shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn what_is_read_is_written() {
    let rows = [
        ("", ""),
        (
            "i: - 0x1F # why\n, u: 017; d: 1e300",
            "i: -31 u: 15 d: 1e300",
        ),
        ("d: -inf f: NaN", "d: -inf f: nan"),
        ("d: infinity f: 1.5f b: t", "d: inf f: 1.5 b: true"),
        (r#"s: "a" 'b\u00e9\n\"'"#, r#"s: "abé\n\"""#),
        (r#"raw: "\x00\377\1""#, r#"raw: "\000\377\001""#),
        ("e: ONE", "e: ONE"),
        ("e: 1", "e: ONE"),
        ("m { m: < i: 1 > }", "m { m { i: 1 } }"),
        ("list: [1, 2] list: 3 list: []", "list: 1 list: 2 list: 3"),
        (
            "map { key: 'a' value: 1 } map: [{ value: 2 }, { key: 'a' value: 3 }]",
            r#"map { key: "a" value: 3 } map { key: "" value: 2 }"#,
        ),
        ("Data { x: 1 }", "Data { x: 1 }"),
        ("data { x: 1 }", "Data { x: 1 }"),
        ("first: 1", "first: 1"),
        ("[p.ext]: 1", "[p.ext]: 1"),
        ("[ p . # comment\n ext ]: 1", "[p.ext]: 1"),
        (
            "any { [type.googleapis.com/p.M] { i: 1 } }",
            "any { [type.googleapis.com/p.M] { i: 1 } }",
        ),
        (
            r#"any { type_url: "x/y.Z" value: "\001" }"#,
            r#"any { type_url: "x/y.Z" value: "\001" }"#,
        ),
        (
            "time { seconds: 1 nanos: 5 }",
            "time { seconds: 1 nanos: 5 }",
        ),
        (
            "value { struct_value { fields { key: 'a' value { list_value { values { bool_value: true } } } } } }",
            r#"value { struct_value { fields { key: "a" value { list_value { values { bool_value: true } } } } } }"#,
        ),
        ("old: [{ [a.b/c]: 'x' y < > }] i: 1", "i: 1"),
        ("1: 7", "i: 7"),
        ("50: 7 51: 0x00000001", "50: 7 51: 0x00000001"),
        ("52: 0x0000000000000001", "52: 0x0000000000000001"),
        ("53 { 1: 'x' } 54: ''", r#"53 { 1: "x" } 54: """#),
    ];
    for (text, expected) in rows {
        assert_eq!(again(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_refused() {
    let rows = [
        ("i", "expected ':'"),
        ("i: 2147483648", "expected an integer that fits"),
        ("u: -1", "expected an integer that fits"),
        ("i: 1.0", "expected an integer that fits"),
        ("i: 08", "expected an integer that fits"),
        ("d: 0x1", "expected a number"),
        ("b: 2", "expected `true` or `false`"),
        ("s: 1", "expected a string"),
        ("s: \"a\n\"", "a string that does not end in its line"),
        ("s: '\\", "a string that does not end in its line"),
        (r#"s: "\xff""#, "a string that is not UTF-8"),
        (
            r#"s: "\ud800""#,
            "an escape that is no character of Unicode",
        ),
        (r#"raw: "\400""#, "an octal escape beyond \\377"),
        ("e: TWO", "\"TWO\" is no value of the enum"),
        ("e: 2", "2 is no value of the enum"),
        ("i: 1 i: 2", "\"i\" comes twice"),
        (
            "first: 1 second: ''",
            "\"second\" beside \"first\" of its oneof",
        ),
        ("m { ", "expected '}' before the end"),
        ("m { >", "expected the name of a field"),
        ("nothing: 1", "`M` has no field \"nothing\""),
        ("[p.M]: 1", "`M` has no field \"p.M\""),
        ("list: [1,]", "expected an integer that fits"),
        ("[type/p.M] { }", "a type in a message that is no `Any`"),
        (
            "any { [type/p.X] { } }",
            "the contract has no message \"p.X\"",
        ),
        (
            "any { [type/p.Whole] { } }",
            "the required field `i` is absent",
        ),
        ("0: 1", "a number that no field can have"),
        (",", "expected the name of a field"),
    ];
    for (text, expected) in rows {
        let problem = again(text).unwrap_err();
        let (place, found) = problem.split_once(": ").unwrap();
        assert_eq!((found, &place[..5]), (expected, "line "), "{text}");
    }
    let deep = "m { ".repeat(100_000);
    assert!(again(&deep).unwrap_err().ends_with("inside one another"));
    let small = Limits {
        allocation: 1 << 16,
        ..Limits::default()
    };
    let schema = schema();
    let many = "list: 1 ".repeat(10_000);
    let read = from_text(
        &Contract::new(&schema),
        &message(&schema, "M"),
        &many,
        small,
    );
    assert!(read.unwrap_err().problem().contains("limit"));
}
