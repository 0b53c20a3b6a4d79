//! Changes that do, and that do not, change the description of a method.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::Contract;
use dovetail_idl::MemoryLoader;
use dovetail_wire::description::fingerprint;

/// The description of the first method of a contract's last service.
fn describe(text: &str) -> Option<Vec<u8>> {
    let files = [("input.thrift".to_owned(), text.to_owned())];
    let loader: MemoryLoader = files.into_iter().collect();
    let schema = dovetail_idl::compile("input.thrift", &loader)
        .schema
        .unwrap();
    let method = &schema.services.last().unwrap().methods[0];
    Contract::new(&schema).describe(method)
}

const CONTRACT: &str = "
    enum Colour { RED = 1, GREEN = 2 }
    struct Node { 1: i64 id, 2: optional Node next, 3: list<Colour> colours }
    exception Missing { 1: string why }
    service Nodes { Node find(1: i64 id, 2: required string text) throws (1: Missing missing) }
";

#[test]
fn what_is_on_the_wire_counts() {
    let rows = [
        ("RED = 1", "PINK = 1"),
        ("RED = 1", "RED = 3"),
        ("GREEN = 2", "GREEN = 2, BLUE = 3"),
        ("struct Node", "union Node"),
        ("1: i64 id, 2: optional", "1: i32 id, 2: optional"),
        ("1: i64 id, 2: optional", "4: i64 id, 2: optional"),
        ("1: i64 id, 2: optional", "1: i64 number, 2: optional"),
        ("1: i64 id, 2: optional", "1: optional i64 id, 2: optional"),
        (
            "1: i64 id, 2: optional Node next",
            "2: optional Node next, 1: i64 id",
        ),
        ("list<Colour>", "set<Colour>"),
        ("list<Colour>", "list<i32>"),
        ("Node find", "list<Node> find"),
        ("Node find", "void find"),
        ("find(", "seek("),
        ("2: required string text", "2: string text"),
        ("2: required string text", "2: required binary text"),
        (" throws (1: Missing missing)", ""),
        ("(1: Missing missing)", "(2: Missing missing)"),
        (
            "exception Missing { 1: string why }",
            "exception Missing { 1: string how }",
        ),
        ("Missing", "Absent"),
    ];
    let before = describe(CONTRACT).unwrap();
    for (from, to) in rows {
        let text = CONTRACT.replace(from, to);
        assert_ne!(text, CONTRACT, "{from}");
        let text = text
            .replace("optional optional", "optional")
            .replace("union Node { 1: optional", "union Node { 1:");
        let after = describe(&text).unwrap();
        assert_ne!(after, before, "{from} → {to}");
        assert_ne!(fingerprint(&after), fingerprint(&before));
    }
}

#[test]
fn the_rest_does_not() {
    let rows = [
        ("enum Colour", "/** Of light. */ enum Colour"),
        ("1: i64 id, 2: optional", "1: i64 id = 7, 2: optional"),
        ("1: i64 id, 2: required", "1: i64 id = 7, 2: required"),
        ("struct Node", "typedef list<Colour> Colours\n struct Node"),
        (
            "service Nodes",
            "service Others { void find() } service Nodes",
        ),
        ("service Nodes", "service Vertices"),
        (
            "3: list<Colour> colours",
            "3: list<Colour> colours (deprecated = \"yes\")",
        ),
        (
            "exception Missing",
            "struct Unused { 1: i64 id } exception Missing",
        ),
    ];
    let before = describe(CONTRACT).unwrap();
    for (from, to) in rows {
        let after = describe(&CONTRACT.replace(from, to)).unwrap();
        assert_eq!(after, before, "{from} → {to}");
    }
    let aliased = CONTRACT
        .replace("3: list<Colour> colours", "3: Colours colours")
        .replace("struct Node", "typedef list<Colour> Colours\n struct Node");
    assert_eq!(describe(&aliased).unwrap(), before);
}

#[test]
fn byte_by_byte() {
    let described = describe("enum E { A = 1, B = -1 } service S { E m(1: list<E> e) }").unwrap();
    let expected = [
        &[1][..],                               // version
        b"\x01m\x00",                           // name, flags
        b"\x01\x02\x01e\x00\x11\x0f\x00", // one parameter: 1 "e", always there, list of enum 0
        b"\x0f\x00",                      // result: enum 0
        b"\x00",                          // no exceptions
        b"\x01\x03\x01E\x02\x02\x01A\x01\x01B", // one definition: enum "E" with 1 "A", -1 "B"
    ];
    assert_eq!(described, expected.concat());
}
