//! Protobuf as prost writes and reads it.
#![allow(clippy::unwrap_used)]

use dovetail_wire::{
    Bytes, Cursor, Field, Kind, NextField, Reader, UnknownFields, Value, message, protobuf, union,
};
use proptest::prelude::*;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Our side of the contract that `theirs` states for prost.
mod ours {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Inner {
        pub(crate) number: i32,
        pub(crate) text: String,
    }

    message!(Inner {
        1 number: i32,
        2 text: String,
    });

    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Pick {
        Number(i64),
        Inner(Inner),
        Unknown(UnknownFields),
    }

    union!(Pick {
        1 Number as "number": i64,
        2 Inner as "inner": Inner,
        ..Unknown
    });

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct All {
        pub(crate) truth: bool,
        pub(crate) int32: i32,
        pub(crate) int64: i64,
        pub(crate) uint32: u32,
        pub(crate) uint64: u64,
        pub(crate) sint32: i32,
        pub(crate) sint64: i64,
        pub(crate) fixed32: u32,
        pub(crate) fixed64: u64,
        pub(crate) sfixed32: i32,
        pub(crate) sfixed64: i64,
        pub(crate) float: f32,
        pub(crate) double: f64,
        pub(crate) text: String,
        pub(crate) blob: Bytes,
        pub(crate) inner: Option<Inner>,
        pub(crate) numbers: Vec<i32>,
        pub(crate) zigzags: Vec<i64>,
        pub(crate) fixeds: Vec<u32>,
        pub(crate) doubles: Vec<f64>,
        pub(crate) texts: Vec<String>,
        pub(crate) inners: Vec<Inner>,
        pub(crate) by_text: BTreeMap<String, i32>,
        pub(crate) by_number: BTreeMap<i64, Inner>,
        pub(crate) lists: Vec<Vec<i32>>,
        pub(crate) set: BTreeSet<u64>,
        pub(crate) small: i16,
        pub(crate) pick: Option<Pick>,
        pub(crate) unpacked: Vec<i32>,
        pub(crate) unknown_fields: UnknownFields,
    }

    message!(All {
        1 truth: bool,
        2 int32: i32,
        3 int64: i64,
        4 uint32: u32,
        5 uint64: u64,
        6 sint32: i32 [zigzag],
        7 sint64: i64 [zigzag],
        8 fixed32: u32 [fixed],
        9 fixed64: u64 [fixed],
        10 sfixed32: i32 [fixed],
        11 sfixed64: i64 [fixed],
        12 float: f32,
        13 double: f64,
        14 text: String,
        15 blob: Bytes,
        16 inner: Option<Inner>,
        17 numbers: Vec<i32>,
        18 zigzags: Vec<i64> [zigzag],
        19 fixeds: Vec<u32> [fixed],
        20 doubles: Vec<f64>,
        21 texts: Vec<String>,
        22 inners: Vec<Inner>,
        23 by_text: BTreeMap<String, i32>,
        24 by_number: BTreeMap<i64, Inner>,
        25 lists: Vec<Vec<i32>>,
        26 set: BTreeSet<u64>,
        27 small: i16,
        28 pick: Option<Pick>,
        29 unpacked: Vec<i32>,
        ..unknown_fields
    });
}

mod theirs {
    use super::*;

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Inner {
        #[prost(int32, tag = "1")]
        pub(crate) number: i32,
        #[prost(string, tag = "2")]
        pub(crate) text: String,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(crate) enum PickKind {
        #[prost(int64, tag = "1")]
        Number(i64),
        #[prost(message, tag = "2")]
        Inner(Inner),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Pick {
        #[prost(oneof = "PickKind", tags = "1, 2")]
        pub(crate) kind: Option<PickKind>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Row {
        #[prost(int32, repeated, tag = "1")]
        pub(crate) row: Vec<i32>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct All {
        #[prost(bool, tag = "1")]
        pub(crate) truth: bool,
        #[prost(int32, tag = "2")]
        pub(crate) int32: i32,
        #[prost(int64, tag = "3")]
        pub(crate) int64: i64,
        #[prost(uint32, tag = "4")]
        pub(crate) uint32: u32,
        #[prost(uint64, tag = "5")]
        pub(crate) uint64: u64,
        #[prost(sint32, tag = "6")]
        pub(crate) sint32: i32,
        #[prost(sint64, tag = "7")]
        pub(crate) sint64: i64,
        #[prost(fixed32, tag = "8")]
        pub(crate) fixed32: u32,
        #[prost(fixed64, tag = "9")]
        pub(crate) fixed64: u64,
        #[prost(sfixed32, tag = "10")]
        pub(crate) sfixed32: i32,
        #[prost(sfixed64, tag = "11")]
        pub(crate) sfixed64: i64,
        #[prost(float, tag = "12")]
        pub(crate) float: f32,
        #[prost(double, tag = "13")]
        pub(crate) double: f64,
        #[prost(string, tag = "14")]
        pub(crate) text: String,
        #[prost(bytes = "vec", tag = "15")]
        pub(crate) blob: Vec<u8>,
        #[prost(message, optional, tag = "16")]
        pub(crate) inner: Option<Inner>,
        #[prost(int32, repeated, tag = "17")]
        pub(crate) numbers: Vec<i32>,
        #[prost(sint64, repeated, tag = "18")]
        pub(crate) zigzags: Vec<i64>,
        #[prost(fixed32, repeated, tag = "19")]
        pub(crate) fixeds: Vec<u32>,
        #[prost(double, repeated, tag = "20")]
        pub(crate) doubles: Vec<f64>,
        #[prost(string, repeated, tag = "21")]
        pub(crate) texts: Vec<String>,
        #[prost(message, repeated, tag = "22")]
        pub(crate) inners: Vec<Inner>,
        #[prost(map = "string, int32", tag = "23")]
        pub(crate) by_text: HashMap<String, i32>,
        #[prost(map = "int64, message", tag = "24")]
        pub(crate) by_number: HashMap<i64, Inner>,
        #[prost(message, repeated, tag = "25")]
        pub(crate) lists: Vec<Row>,
        #[prost(uint64, repeated, tag = "26")]
        pub(crate) set: Vec<u64>,
        #[prost(int32, tag = "27")]
        pub(crate) small: i32,
        #[prost(message, optional, tag = "28")]
        pub(crate) pick: Option<Pick>,
        #[prost(int32, repeated, packed = "false", tag = "29")]
        pub(crate) unpacked: Vec<i32>,
        /// Our side has no such field.
        #[prost(string, tag = "100")]
        pub(crate) unknown: String,
    }
}

fn inner() -> impl Strategy<Value = theirs::Inner> {
    (any::<i32>(), ".{0,8}").prop_map(|(number, text)| theirs::Inner { number, text })
}

fn all() -> impl Strategy<Value = theirs::All> {
    use proptest::collection::{btree_set, hash_map, vec};
    let numbers = (
        any::<bool>(),
        any::<(i32, i64, u32, u64)>(),
        any::<(i32, i64, u32, u64)>(),
        any::<(i32, i64, i16)>(),
        -1e9f32..1e9,
        -1e9f64..1e9,
    );
    let repeated = (
        vec(any::<i32>(), 0..100),
        vec(any::<i64>(), 0..9),
        vec(any::<u32>(), 0..9),
        vec(-1e9f64..1e9, 0..9),
        vec(".{0,9}", 0..4),
        vec(inner(), 0..4),
        vec(any::<i32>(), 0..4),
    );
    let maps = (
        hash_map(".{0,5}", any::<i32>(), 0..3),
        hash_map(any::<i64>(), inner(), 0..3),
        vec(vec(any::<i32>(), 0..4), 0..4),
        btree_set(any::<u64>(), 0..4),
    );
    let kind = prop_oneof![
        any::<i64>().prop_map(theirs::PickKind::Number),
        inner().prop_map(theirs::PickKind::Inner),
    ];
    let rest = (
        ".{0,40}",
        vec(any::<u8>(), 0..200),
        proptest::option::of(inner()),
        proptest::option::of(kind),
        ".{0,4}",
    );
    (numbers, repeated, maps, rest).prop_map(|(n, r, m, s)| theirs::All {
        truth: n.0,
        int32: n.1.0,
        int64: n.1.1,
        uint32: n.1.2,
        uint64: n.1.3,
        sint32: n.2.0,
        sint64: n.2.1,
        fixed32: n.2.2,
        fixed64: n.2.3,
        sfixed32: n.3.0,
        sfixed64: n.3.1,
        small: n.3.2.into(),
        float: n.4,
        double: n.5,
        numbers: r.0,
        zigzags: r.1,
        fixeds: r.2,
        doubles: r.3,
        texts: r.4,
        inners: r.5,
        unpacked: r.6,
        by_text: m.0,
        by_number: m.1,
        lists: m.2.into_iter().map(|row| theirs::Row { row }).collect(),
        set: m.3.into_iter().collect(),
        text: s.0,
        blob: s.1,
        inner: s.2,
        pick: s.3.map(|kind| theirs::Pick { kind: Some(kind) }),
        unknown: s.4,
    })
}

/// A message as a contract of protobuf has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Typed {
    number: i32,
    float: f32,
    text: String,
    inner: Option<ours::Inner>,
    texts: Vec<String>,
    unknown_fields: UnknownFields,
}

message!(Typed {
    1 number: i32 [implicit],
    2 float: f32 [implicit],
    3 text: String [implicit],
    4 inner: Option<ours::Inner>,
    5 texts: Vec<String> [implicit],
    ..unknown_fields
});

/// The message in another version: each field has another type.
#[derive(Clone, PartialEq, prost::Message)]
struct Retyped {
    #[prost(string, tag = "1")]
    number: String,
    #[prost(double, tag = "2")]
    float: f64,
    #[prost(int64, tag = "3")]
    text: i64,
    #[prost(bool, tag = "4")]
    inner: bool,
    #[prost(int32, repeated, packed = "false", tag = "5")]
    texts: Vec<i32>,
}

/// A reader keeps a field of another type, as one that it does not know.
#[test]
fn retyped_fields_stay_unknown() {
    let retyped = Retyped {
        number: "one".to_owned(),
        float: 2.5,
        text: -3,
        inner: true,
        texts: vec![51, 52],
    };
    let ours: Typed = protobuf::from_bytes(&retyped.encode_to_vec()).unwrap();
    let unknown_fields = ours.unknown_fields.clone();
    let nothing_else = Typed {
        unknown_fields,
        ..Typed::default()
    };
    assert_eq!(ours, nothing_else);
    let passed_on = protobuf::to_bytes(&ours).unwrap();
    assert_eq!(Retyped::decode(&passed_on[..]).unwrap(), retyped);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Their bytes are read, ours are read by them, and nothing is lost on the way, unknown fields
    /// included.
    #[test]
    fn prost_agrees(theirs in all()) {
        let ours: ours::All = protobuf::from_bytes(&theirs.encode_to_vec()).unwrap();
        prop_assert_eq!(ours.int32, theirs.int32);
        prop_assert_eq!(ours.lists.len(), theirs.lists.len());
        prop_assert_eq!(ours.unknown_fields.is_empty(), theirs.unknown.is_empty());
        let back = theirs::All::decode(&protobuf::to_bytes(&ours).unwrap()[..]).unwrap();
        prop_assert_eq!(back, theirs);
    }

    /// Two messages behind one another are merged alike.
    #[test]
    fn prost_merges_alike(first in all(), second in all()) {
        let bytes = [first.encode_to_vec(), second.encode_to_vec()].concat();
        let theirs = theirs::All::decode(&bytes[..]).unwrap();
        let ours: ours::All = protobuf::from_bytes(&bytes).unwrap();
        let mut back = theirs::All::decode(&protobuf::to_bytes(&ours).unwrap()[..]).unwrap();
        // A set says each number once, wherever it came from.
        let mut set = theirs.set.clone();
        set.sort_unstable();
        set.dedup();
        prop_assert_eq!(&back.set, &set);
        back.set = theirs.set.clone();
        prop_assert_eq!(back, theirs);
    }
}

/// Hex of a message, and what it is read as, written again.
#[test]
fn forms() {
    let rows: &[(&str, &str, &str)] = &[
        (
            "packed field sent unpacked",
            "8801018801028a010103",
            "8a0103010203",
        ),
        ("unpacked field sent packed", "ea010301027f", "ea010301027f"),
        (
            "unknown fixed and varint",
            "a50601020304 a906 0102030405060708 a0069601",
            "a50601020304 a906 0102030405060708 a0069601",
        ),
        (
            "unknown group",
            "a3060801 a506ffffffff a406",
            "a3060801a506ffffffffa406",
        ),
        (
            "nested unknown group",
            "a306ab06ac06a406",
            "a306ab06ac06a406",
        ),
        ("entry without key", "ba01021005", "ba010400001005"),
    ];
    for (what, sent, written) in rows {
        let ours: ours::All =
            protobuf::from_bytes(&hex(sent)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let bytes = protobuf::to_bytes(&ours).unwrap();
        // All other fields are written too, as zeros: the row is in there, or what prost reads is.
        let again: ours::All = protobuf::from_bytes(&bytes).unwrap();
        assert_eq!(again, ours, "{what}");
        if *what != "entry without key" {
            let written = hex(written);
            assert!(
                bytes.windows(written.len()).any(|window| window == written),
                "{what}: {bytes:02x?}"
            );
        } else {
            assert_eq!(ours.by_text.get(""), Some(&5));
        }
    }
    let errors = [
        ("field number 0", "00"),
        ("end of a group that has not begun", "a406"),
        ("group that does not end", "a3060801"),
        ("another group's end", "a306ac06"),
        ("wire type 6", "a606"),
        ("length beyond the end", "7205 6161"),
        ("varint of 11 bytes", "10ffffffffffffffffffff01"),
        ("text that is not UTF-8", "7201ff"),
    ];
    for (what, sent) in errors {
        assert!(
            protobuf::from_bytes::<ours::All>(&hex(sent)).is_err(),
            "{what}"
        );
    }
}

/// A field that is sent over one that has a value: lists begin anew, once for each message.
#[test]
fn lists_begin_anew_in_each_message() {
    let bytes = hex("8a01020102 0801 8a010103");
    let mut value = ours::All {
        numbers: vec![9, 9],
        ..ours::All::default()
    };
    let limits = dovetail_wire::Limits::default();
    value
        .read(&mut protobuf::Reader::new(&bytes, limits))
        .unwrap();
    assert_eq!(value.numbers, [1, 2, 3]);
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Tree {
    blob: Bytes,
    numbers: Vec<i32>,
    children: Vec<Tree>,
    named: BTreeMap<bool, Tree>,
}

message!(Tree {
    1 blob: Bytes,
    2 numbers: Vec<i32>,
    3 children: Vec<Tree>,
    4 named: BTreeMap<bool, Tree>,
});

/// Returns the bytes, put together from the inside.
fn spelled(tree: &Tree) -> Vec<u8> {
    let field = |number: u8, value: &[u8]| {
        let mut bytes = vec![number << 3 | 2];
        prost::encoding::encode_varint(value.len() as u64, &mut bytes);
        [&bytes, value].concat()
    };
    let numbers: Vec<u8> = tree.numbers.iter().map(|number| *number as u8).collect();
    let mut bytes = field(1, &tree.blob);
    if !numbers.is_empty() {
        bytes.extend(field(2, &numbers));
    }
    for child in &tree.children {
        bytes.extend(field(3, &spelled(child)));
    }
    for (key, value) in &tree.named {
        let entry = [&[8, u8::from(*key)], &field(2, &spelled(value))[..]].concat();
        bytes.extend(field(4, &entry));
    }
    bytes
}

/// Lengths of one to three bytes, of messages, runs and entries, in all orders and however deep
/// inside others.
#[test]
fn lengths_take_as_many_bytes_as_they_need() {
    let leaf = |size: usize| Tree {
        blob: vec![7; size].into(),
        numbers: vec![1; size / 2],
        ..Tree::default()
    };
    let sizes = [0, 1, 130, 2, 300, 20_000, 1, 127, 128, 16_383, 40_000, 0];
    let named = |at: usize| [(false, leaf(at * 60)), (true, leaf(3))].into();
    let grow = |children: Vec<Tree>| Tree {
        named: named(children.len()),
        children,
        ..leaf(5)
    };
    let wide = grow(sizes.map(|size| grow(vec![leaf(size), leaf(9)])).into());
    let deep = (0..20).fold(leaf(20_000), |tree, _| grow(vec![tree, leaf(1)]));
    for tree in [leaf(0), wide, deep] {
        let bytes = protobuf::to_bytes(&tree).unwrap();
        assert!(bytes == spelled(&tree));
        assert!(protobuf::from_bytes::<Tree>(&bytes).unwrap() == tree);
    }
}

/// Lists of structs with more than 64 fields: which of them have come is known of each struct.
#[test]
fn lists_behind_many_fields_are_continued() {
    let table: Vec<Field<'_>> = (1..=70).map(|id| Field::new(id, "", Kind::List)).collect();
    // In each of two structs field 70, which is packed, field 1, and field 70 again.
    let bytes = hex(&"0a0b b2040101 0a0102 b2040103".repeat(2));
    let limits = dovetail_wire::Limits::default();
    let reader = &mut protobuf::Reader::new(&bytes, limits);
    reader.begin_struct().unwrap();
    let mut cursor = Cursor::default();
    let next = reader.next_field(&table, &mut cursor).unwrap();
    assert_eq!(next, NextField::Known(0));
    let mut structs = reader.begin_list(Kind::Struct).unwrap();
    while reader.next_element(&mut structs).unwrap() {
        reader.begin_struct().unwrap();
        let mut cursor = Cursor::default();
        let mut found = Vec::new();
        while let NextField::Known(index) = reader.next_field(&table, &mut cursor).unwrap() {
            let mut list = reader.begin_list(Kind::I32).unwrap();
            while reader.next_element(&mut list).unwrap() {
                found.push((index, list.append, reader.i32().unwrap()));
            }
        }
        assert_eq!(found, [(69, false, 1), (0, false, 2), (69, true, 3)]);
    }
    let end = reader.next_field(&table, &mut cursor).unwrap();
    assert_eq!(end, NextField::End);
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}
