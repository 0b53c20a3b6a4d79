//! Forms of MessagePack, byte by byte, and another implementation of it as oracle.
#![allow(clippy::unwrap_used)]

mod describe;
mod fixtures;

use describe::{from_hex, to_hex};
use dovetail_wire::{
    Bytes, DecodeError, DecodeErrorKind, Dynamic, EncodeError, Encoding, Field, FieldValue as _,
    Kind, Limits, ReadParams as _, Timestamp, UnknownFields, UnknownValue, Uuid, Value,
    WriteParams as _, Writer as _, message, msgpack,
};
use fixtures::*;
use proptest::prelude::*;
use rmpv::Value as Other;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Checks a value that is written and read.
fn both<T: Value + PartialEq + Debug>(hex: &str, value: T) {
    assert_eq!(
        to_hex(&msgpack::to_bytes(&value).unwrap()),
        hex.replace(' ', "")
    );
    read(hex, value);
}

/// Checks bytes that are read, though others are written.
fn read<T: Value + PartialEq + Debug>(hex: &str, value: T) {
    assert_eq!(msgpack::from_bytes(&from_hex(hex)), Ok(value), "{hex}");
}

/// Checks bytes that are refused, and the reason.
fn refused<T: Value + Debug>(hex: &str, said: &str) {
    let error = msgpack::from_bytes::<T>(&from_hex(hex)).unwrap_err();
    assert!(error.to_string().contains(said), "{hex}: {error}");
}

#[test]
fn integers_are_as_short_as_they_can_be() {
    let rows: &[(i64, &str)] = &[
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (255, "ccff"),
        (256, "cd0100"),
        (65_535, "cdffff"),
        (65_536, "ce00010000"),
        (u32::MAX.into(), "ceffffffff"),
        (1 << 32, "cf0000000100000000"),
        (i64::MAX, "cf7fffffffffffffff"),
        (-1, "ff"),
        (-32, "e0"),
        (-33, "d0df"),
        (-128, "d080"),
        (-129, "d1ff7f"),
        (-32_768, "d18000"),
        (-32_769, "d2ffff7fff"),
        (i32::MIN.into(), "d280000000"),
        (i64::from(i32::MIN) - 1, "d3ffffffff7fffffff"),
        (i64::MIN, "d38000000000000000"),
    ];
    for (value, hex) in rows {
        both(hex, *value);
    }
    both("cfffffffffffffffff", u64::MAX);
    both("ccc8", 200u8);
    // Any width will do, if the number fits.
    for hex in ["07", "cc07", "cd0007", "ce00000007", "cf0000000000000007"] {
        read(hex, 7i8);
    }
    for hex in ["d007", "d10007", "d200000007", "d30000000000000007"] {
        read(hex, 7u64);
    }
    refused::<i8>("cc80", "no I8");
    refused::<u8>("ff", "no U8");
    refused::<i64>("cf8000000000000000", "no I64");
    refused::<i32>("c0", "expected I32, the peer sent nil");
    refused::<i32>("a131", "the peer sent a string");
}

#[test]
fn other_scalars() {
    both("c2", false);
    both("c3", true);
    both("ca3fc00000", 1.5f32);
    both("cb3ff8000000000000", 1.5f64);
    read("ca3fc00000", 1.5f64);
    read("cb3ff8000000000000", 1.5f32);
    read("03", 3.0f64);
    read("fd", -3.0f32);
    both("a0", String::new());
    both("a3616263", "abc".to_owned());
    let long = |len: usize| "x".repeat(len);
    for (len, head) in [
        (31, "bf"),
        (32, "d920"),
        (256, "da0100"),
        (65_536, "db00010000"),
    ] {
        both(&[head, &"78".repeat(len)].concat(), long(len));
    }
    for (len, head) in [
        (0, "c400"),
        (255, "c4ff"),
        (256, "c50100"),
        (65_536, "c600010000"),
    ] {
        both(&[head, &"78".repeat(len)].concat(), Bytes::from(long(len)));
    }
    // Before there was a family for bytes, text was it.
    read("a3616263", Bytes::from_static(b"abc"));
    read("c403616263", "abc".to_owned());
    refused::<String>("c401ff", "not UTF-8");
    let uuid = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    both("c4100123456789abcdef0123456789abcdef", uuid);
    read(
        &["d924", &to_hex(uuid.to_string().as_bytes())].concat(),
        uuid,
    );
    refused::<Uuid>("a3616263", "a uuid that is not one");
    refused::<bool>("c1", "193 is no type");
    refused::<bool>("01", "expected Bool, the peer sent an integer");
}

#[test]
fn containers() {
    both("90", Vec::<i32>::new());
    both("9301ff00", vec![1i8, -1, 0]);
    both(&["dc0010", &"07".repeat(16)].concat(), vec![7u8; 16]);
    let names = BTreeMap::from([(1, "a".to_owned()), (2, "b".to_owned())]);
    both("82 01a161 02a162", names);
    // Lua has one kind of table.
    read("80", Vec::<i32>::new());
    read("90", BTreeMap::<i32, i32>::new());
    read("dd0000000107", vec![7u8]);
    read("df000000010102", BTreeMap::from([(1u8, 2u8)]));
    refused::<Vec<i32>>("ddffffffff", "a length of 4294967295");
    refused::<BTreeMap<i32, i32>>("dfffffffff", "a length of 4294967295");
    refused::<String>("dbffffffff", "a length of 4294967295");
    refused::<Bytes>("c6ffffffff", "a length of 4294967295");
}

#[test]
fn timestamps() {
    let at = |seconds, nanos| Timestamp::new(seconds, nanos).unwrap();
    both("d6ff00000000", at(0, 0));
    both("d6ffffffffff", at(u32::MAX.into(), 0));
    both("d7ff0000000100000000", at(1 << 32, 0));
    both("d7ff0000000400000001", at(1, 1));
    both("d7ffee6b27fc00000000", at(0, 999_999_999));
    both("c70cff3b9ac9ffffffffffffffffff", at(0, -1));
    // As the struct that it is for peers that know no timestamps.
    read("920105", at(1, 5));
    read("82a77365636f6e647301a56e616e6f7305", at(1, 5));
    refused::<Timestamp>("d7ffffffffff00000000", "out of range");
    refused::<Timestamp>("c703ff010203", "no known length");
    refused::<Timestamp>("d60100000000", "the peer sent an extension");
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Sparse {
    first: i32,
    fourth: Option<bool>,
    far: Option<i32>,
    negative: Option<i32>,
    rest: UnknownFields,
}

message!(Sparse {
    1 first: i32,
    4 fourth: Option<bool>,
    300 far: Option<i32>,
    -1 negative: Option<i32>,
    ..rest
});

#[test]
fn structs() {
    both("90", Empty::default());
    let sparse = |first, fourth, far, negative| Sparse {
        first,
        fourth,
        far,
        negative,
        rest: UnknownFields::default(),
    };
    both("9105", sparse(5, None, None, None));
    both("9405c0c0c3", sparse(5, Some(true), None, None));
    // A field without a place makes a map of all.
    both("820105cd012c07", sparse(5, None, Some(7), None));
    both(
        "84010504c2cd012c07ff08",
        sparse(5, Some(false), Some(7), Some(8)),
    );
    // By name, in any order; what has another name is not kept.
    read(
        "84a6666f75727468c3a66e6f626f6479930102c0a366617207a566697273 7405",
        sparse(5, Some(true), Some(7), None),
    );
    read(
        "8301050 4c3a366617207",
        sparse(5, Some(true), Some(7), None),
    );
    read("82a566697273 7405a366617 2c0", sparse(5, None, None, None));
    refused::<Sparse>("81c305", "a bool as the key of a struct");
    refused::<Sparse>("9105c0", "1 bytes are left");
    refused::<Sparse>("9305", "a length of 3 where 1 bytes are left");
    refused::<Sparse>("91a0", "first: expected I32");
    refused::<Presence>("90", "the required field `must` is absent");
    // A struct of many fields, which the head has to make room for.
    let wide = vec![Wide::default(); 2];
    let bytes = msgpack::to_bytes(&wide).unwrap();
    assert_eq!(msgpack::from_bytes(&bytes), Ok(wide));
}

#[test]
fn unknown_fields_are_kept_as_they_came() {
    for hex in [
        "9405920107c0c0",
        "9305c0d6010000 0007",
        "9305c081a16101",
        "9205ca3f800000",
        "9205cfffffffffffffffff",
        // 300 is no place, and neither is 2 behind 4.
        "820105cd01900a",
        "83010504c302a161",
    ] {
        let hex = hex.replace(' ', "");
        let value: Sparse = msgpack::from_bytes(&from_hex(&hex)).unwrap();
        let again = to_hex(&msgpack::to_bytes(&value).unwrap());
        assert_eq!(again.trim_end_matches("c0").len(), again.len());
        let once: Sparse = msgpack::from_bytes(&from_hex(&again)).unwrap();
        assert_eq!(once, value, "{hex} {again}");
        if !hex.ends_with("c0c0") {
            assert_eq!(again, hex);
        }
    }
    // From Thrift, where text and bytes look the same.
    let mut value = Sparse::default();
    value.rest.push(2, UnknownValue::Bytes("hi".into()));
    value.rest.push(3, UnknownValue::Varint(1));
    assert_eq!(to_hex(&msgpack::to_bytes(&value).unwrap()), "9200a26869");
}

#[test]
fn dynamics() {
    let text = |text: &str| Dynamic::from(text);
    both("c0", Dynamic::NULL);
    both("c3", Dynamic::from(true));
    both("05", Dynamic::from(5i64));
    both("cfffffffffffffffff", Dynamic::from(u64::MAX));
    both("cb3ff8000000000000", Dynamic::from(1.5));
    both("c40101", Dynamic::from(Bytes::from_static(&[1])));
    both("92a161c0", Dynamic::from_iter([text("a"), Dynamic::NULL]));
    both("81a16107", Dynamic::from_iter([("a", 7i64)]));
    // Keys that JSON's kind of map does not have.
    read("8107a161", Dynamic::from_iter([("7", "a")]));
    read("81ffa161", Dynamic::from_iter([("-1", "a")]));
    let extension = [
        ("type", Dynamic::from(1i64)),
        ("data", Bytes::from_static(&[7]).into()),
    ];
    read("d40107", Dynamic::from_iter(extension));
    refused::<Dynamic>("81c007", "expected String");
    refused::<Dynamic>(&"91".repeat(100), "nested deeper");
    refused::<Dynamic>(&"8101".repeat(100), "nested deeper");
    assert!(matches!(
        msgpack::to_bytes(&Rich::default()),
        Ok(bytes) if msgpack::from_bytes::<Rich>(&bytes) == Ok(Rich::default())
    ));
}

const JOIN: &[Field<'static>] = &[
    Field::new(-1, "first", Kind::I32),
    Field::new(-2, "second", Kind::String),
    Field::new(7, "third", Kind::Bool),
];

type Params = (Option<i32>, Option<String>, Option<bool>);

fn params(hex: &str) -> Result<Params, DecodeError> {
    let input = from_hex(hex);
    let mut reader = msgpack::Reader::new(&input, Limits::default());
    let mut params = Params::default();
    params.read(JOIN, &mut reader)?;
    assert_eq!(reader.position(), input.len());
    Ok(params)
}

/// Parameters have their place in the list, whatever their ids.
#[test]
fn parameters() {
    let rows: &[(&str, Params)] = &[
        ("93c0c0c0", (None, None, None)),
        ("9301c0c0", (Some(1), None, None)),
        ("93c0c0c3", (None, None, Some(true))),
        ("9301a161c2", (Some(1), Some("a".to_owned()), Some(false))),
    ];
    for (hex, values) in rows {
        let mut out = Vec::new();
        let sent = (&values.0, &values.1, &values.2);
        let mut writer = msgpack::Writer::new(&mut out, Limits::default());
        sent.write(JOIN, &mut writer).unwrap();
        assert_eq!(to_hex(&out), *hex);
        assert_eq!(params(hex).as_ref(), Ok(values));
    }
    assert_eq!(params("90"), Ok((None, None, None)));
    assert_eq!(params("9201a161"), params("9501a161c0c080"));
    assert!(params("80").is_err());
}

#[test]
fn a_parameter_that_the_table_lacks_does_no_harm() {
    let mut out = Vec::new();
    let mut writer = msgpack::Writer::new(&mut out, Limits::default());
    writer.begin_params(JOIN).unwrap();
    7i32.write_field(&Field::new(99, "", Kind::I32), &mut writer)
        .unwrap();
    writer.end_struct().unwrap();
    assert_eq!(to_hex(&out), "9307c0c0");
}

#[test]
fn what_is_too_deep_is_not_turned_into_a_map() {
    let mut value = Sparse::default();
    let deep = Bytes::from(vec![0x91; 200]);
    value.rest.push(4, UnknownValue::Msgpack(deep));
    // Out of order: what stands there already has to be read.
    value.rest.push(2, UnknownValue::Bool(true));
    assert!(matches!(
        msgpack::to_bytes(&value),
        Err(EncodeError::TooDeep { .. })
    ));
    let kind = msgpack::from_bytes::<Sparse>(&from_hex(&["93 00 c0 ", &"91".repeat(200)].concat()));
    let kind = kind.unwrap_err().kind().clone();
    assert!(matches!(kind, DecodeErrorKind::TooDeep { .. }), "{kind:?}");
}

/// The other implementation reads what we write, and writes it again byte for byte.
fn oracle<T: Value + PartialEq + Debug>(value: &T) {
    let bytes = msgpack::to_bytes(value).unwrap();
    let mut rest = &bytes[..];
    let other: Other = rmpv::decode::read_value(&mut rest).unwrap();
    assert!(rest.is_empty());
    let mut again = Vec::new();
    rmpv::encode::write_value(&mut again, &other).unwrap();
    assert_eq!(to_hex(&again), to_hex(&bytes));
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct Theirs(i32, Option<u8>, Vec<String>, BTreeMap<String, f64>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Ours {
    number: i32,
    small: Option<u8>,
    words: Vec<String>,
    reals: BTreeMap<String, f64>,
}

message!(Ours {
    1 number: i32,
    2 small: Option<u8>,
    3 words: Vec<String>,
    4 reals: BTreeMap<String, f64>,
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_implementation_agrees(number: i32, small: Option<u8>, words: Vec<String>,
        reals in proptest::collection::btree_map(".{0,9}", -1e9..1e9_f64, 0..20), large: i64, wide: u64)
    {
        let theirs = Theirs(number, small, words.clone(), reals.clone());
        let ours = Ours { number, small, words, reals };
        oracle(&ours);
        oracle(&vec![large, -large.saturating_abs(), large >> 32, large >> 48]);
        oracle(&vec![wide, wide >> 32, wide >> 48]);
        let bytes = msgpack::to_bytes(&ours).unwrap();
        prop_assert_eq!(&bytes, &rmp_serde::to_vec(&theirs).unwrap());
        prop_assert_eq!(rmp_serde::from_slice::<Theirs>(&bytes).unwrap(), theirs);
    }

    /// Whatever is read as some value is read by the other implementation, too.
    #[test]
    fn noise(input in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut value = Dynamic::default();
        let bytes = Bytes::from(input);
        if let Ok(read) = Encoding::Msgpack.decode(&mut value, &bytes, Limits::default()) {
            let mut rest = &bytes[..];
            prop_assert!(rmpv::decode::read_value(&mut rest).is_ok());
            prop_assert_eq!(rest.len(), bytes.len() - read);
        }
    }
}

/// As Python's `msgpack.packb` writes dictionaries, and reads them.
#[test]
fn structs_as_maps() {
    use dovetail_wire::msgpack::{Reader, Structs, Writer};

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Point {
        x: i16,
        y: Option<i16>,
    }
    message!(Point { 1 x: i16, 2 y: Option<i16>, });

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Line {
        from: Point,
        points: Vec<Point>,
        names: BTreeMap<String, Point>,
    }
    message!(Line { 300 from: Point, 2 points: Vec<Point>, 1 names: BTreeMap<String, Point>, });

    fn check<T: Value + PartialEq + Debug>(value: T, hex: &str) {
        let mut out = Vec::new();
        let writer = Writer::new(&mut out, Limits::default());
        value.write(&mut writer.structs(Structs::Maps)).unwrap();
        assert_eq!(to_hex(&out), hex.replace(' ', ""));
        let mut read = T::default();
        read.read(&mut Reader::new(&out, Limits::default()))
            .unwrap();
        assert_eq!(read, value);
    }

    let point = |x, y| Point { x, y };
    // packb({"x": 7})
    check(point(7, None), "81 a178 07");
    // packb({"x": 7, "y": -1})
    check(point(7, Some(-1)), "82 a178 07 a179 ff");
    // packb({"from": {"x": 1}, "points": [{"x": 2}, {"x": 3, "y": 4}], "names": {"x": {"x": 5}}})
    check(
        Line {
            from: point(1, None),
            points: vec![point(2, None), point(3, Some(4))],
            names: BTreeMap::from([("x".to_owned(), point(5, None))]),
        },
        "83 a466726f6d 81 a178 01 a6706f696e7473 92 81 a178 02 82 a178 03 a179 04 a56e616d6573 81 a178 81 a178 05",
    );
}
