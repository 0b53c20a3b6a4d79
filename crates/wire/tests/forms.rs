//! Forms of the Thrift encodings, byte by byte: what is read, what is written, what is refused.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod describe;
mod fixtures;

use describe::{from_hex, to_hex};
use dovetail_wire::thrift::{binary, compact, json};
use dovetail_wire::{DecodeErrorKind, EncodeError, Field, Kind, Limits, Uuid, Value, Writer as _};
use fixtures::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Checks a row in both directions: hex of the bytes, and the value.
fn check<T: Value + PartialEq + Debug>(
    read: fn(&[u8]) -> Result<T, dovetail_wire::DecodeError>,
    write: fn(&T) -> Result<Vec<u8>, EncodeError>,
    hex: &str,
    value: T,
) {
    assert_eq!(read(&from_hex(hex)).as_ref(), Ok(&value), "{hex}");
    assert_eq!(
        to_hex(&write(&value).unwrap()),
        hex.replace(' ', ""),
        "{value:?}"
    );
}

fn compact<T: Value + PartialEq + Debug>(hex: &str, value: T) {
    check(compact::from_bytes, compact::to_bytes, hex, value);
}

fn binary<T: Value + PartialEq + Debug>(hex: &str, value: T) {
    check(binary::from_bytes, binary::to_bytes, hex, value);
}

#[test]
fn compact_forms() {
    compact("00", 0i32);
    compact("01", -1i32);
    compact("ffffffff0f", i32::MIN);
    compact("ffffffffffffffffff01", i64::MIN);
    compact("feff03", i16::MAX);
    compact("31 01 02 01", vec![true, false, true]);
    compact("000000000000f03f", 1.0f64);
    compact("00", BTreeMap::<i32, i32>::new());
    compact("09", Vec::<Vec<i32>>::new());
    compact(
        "00112233445566778899aabbccddeeff",
        Uuid::from_u128(0x00112233445566778899aabbccddeeff),
    );
    compact(
        "1d 00112233445566778899aabbccddeeff",
        vec![Uuid::from_u128(0x00112233445566778899aabbccddeeff)],
    );
    compact(
        "0601 02 26 04 00",
        Option64 {
            negative: Some(1),
            positive: Some(2),
            ..Option64::default()
        },
    );
    // A jump of 15, of 16, backwards; ids of three bytes.
    let read = |hex: &str| compact::from_bytes::<Wide>(&from_hex(hex)).unwrap();
    assert_eq!(
        read("0122 f1 00"),
        Wide {
            f17: Some(true),
            f32: Some(true),
            ..Wide::default()
        }
    );
    assert_eq!(read("0160 0140 0502 04 00").f48, Some(true));
    assert_eq!(read("0160 0140 0502 04 00").f1, Some(2));
}

#[test]
fn compact_reads_what_others_write() {
    let truths = |hex: &str| compact::from_bytes::<Vec<bool>>(&from_hex(hex)).unwrap();
    assert_eq!(truths("31 01 02 01"), [true, false, true]);
    assert_eq!(truths("32 01 00 01"), [true, false, true]);
    assert_eq!(truths("f1 03 01 02 01"), [true, false, true]);
    // The long form of a short header, a set where a list is expected inside another, an untyped
    // empty list.
    assert_eq!(
        compact::from_bytes::<Older>(&from_hex("0502 04 00"))
            .unwrap()
            .first,
        2
    );
    assert_eq!(
        compact::from_bytes::<Vec<Vec<i8>>>(&from_hex("1a 13 07")).unwrap(),
        [[7]]
    );
    assert_eq!(
        compact::from_bytes::<Vec<i8>>(&from_hex("00")).unwrap(),
        [0i8; 0]
    );
}

#[test]
fn binary_forms() {
    binary("00", false);
    binary("01", true);
    binary("ff", -1i8);
    binary("3ff0000000000000", 1.0f64);
    binary("3ff0000000000000", 1.0f32);
    binary("ffffffff", u32::MAX);
    binary("08 00000002 00000001 ffffffff", vec![1, -1]);
    binary("0808 00000000", BTreeMap::<i32, i32>::new());
    binary(
        "10 00000001 00112233445566778899aabbccddeeff",
        BTreeSet::from([Uuid::from_u128(0x00112233445566778899aabbccddeeff)]),
    );
    binary(
        "0affff 0000000000000001 00",
        Option64 {
            negative: Some(1),
            ..Option64::default()
        },
    );
    // Any true, an untyped empty map, a set where a list is expected inside another.
    assert_eq!(binary::from_bytes(&from_hex("07")), Ok(true));
    assert_eq!(
        binary::from_bytes(&from_hex("0000 00000000")),
        Ok(BTreeMap::<i32, i32>::new())
    );
    assert_eq!(
        binary::from_bytes(&from_hex("0e 00000001 03 00000001 07")),
        Ok(vec![vec![7i8]])
    );
}

#[test]
fn json_forms() {
    let value = |text: &str| json::from_bytes::<Wide>(text.as_bytes());
    let rows = [
        (
            r#"{"1":{"i32":7}}"#,
            Wide {
                f1: Some(7),
                ..Wide::default()
            },
        ),
        (
            " { \"1\" : {\t\"i32\" :\n\"7\" } } ",
            Wide {
                f1: Some(7),
                ..Wide::default()
            },
        ),
        (
            r#"{"5":{"str":"\u00e4\ud83d\ude80\/"}}"#,
            Wide {
                f5: Some("ä🚀/".into()),
                ..Wide::default()
            },
        ),
        (
            r#"{"6":{"dbl":"-Infinity"}}"#,
            Wide {
                f6: Some(f64::NEG_INFINITY),
                ..Wide::default()
            },
        ),
        (
            r#"{"6":{"dbl":-1E2}}"#,
            Wide {
                f6: Some(-100.0),
                ..Wide::default()
            },
        ),
        (
            r#"{"257":{"str":"/w"}}"#,
            Wide {
                f257: Some(vec![0xff].into()),
                ..Wide::default()
            },
        ),
        (
            r#"{"257":{"str":"/w=="}}"#,
            Wide {
                f257: Some(vec![0xff].into()),
                ..Wide::default()
            },
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(value(text).as_ref(), Ok(&expected), "{text}");
    }
    let uuids = Uuids {
        single: Uuid::from_u128(1),
        ..Uuids::default()
    };
    let text = String::from_utf8(json::to_bytes(&uuids).unwrap()).unwrap();
    assert!(
        text.contains(r#""1":{"uid":"00000000-0000-0000-0000-000000000001"}"#),
        "{text}"
    );
    let errors = [
        "",
        "{",
        "}",
        "{]",
        r#"{"1"}"#,
        r#"{"1":{"i32":}}"#,
        r#"{"1":{"i32":7}"#,
        r#"{"1":{"i32":7},}"#,
        r#"{"1":{"i32":2147483648}}"#,
        r#"{"1":{"i32":1.5}}"#,
        r#"{"x":{"i32":1}}"#,
        r#"{"1":{"i33":1}}"#,
        r#"{"5":{"str":"\ud83d"}}"#,
        r#"{"5":{"str":"\ude80"}}"#,
        r#"{"5":{"str":"\x"}}"#,
        r#"{"5":{"str":"a}}"#,
        r#"{"6":{"dbl":"nanny"}}"#,
        r#"{"6":{"dbl":infinity}}"#,
        r#"{"257":{"str":"*"}}"#,
        r#"{"9":{"lst":["i32",2,1]}}"#,
        r#"{"9":{"lst":["i32",1,1,2]}}"#,
        r#"{"9":{"lst":["i64",1,1]}}"#,
        r#"{"1":{"i32":7}} x"#,
        r#"{"1":{"i64":7}}"#,
        r#"{"1":{"str":"7"}}"#,
    ];
    for text in errors {
        assert!(value(text).is_err(), "{text}");
    }
}

/// A function from bytes to what is wrong with them.
macro_rules! kind_of {
    ($codec:ident, $type:ty) => {
        |input| {
            $codec::from_bytes::<$type>(input)
                .unwrap_err()
                .kind()
                .clone()
        }
    };
}

#[test]
fn refused() {
    let rows: &[(fn(&[u8]) -> DecodeErrorKind, &str, &str)] = &[
        (kind_of!(compact, i64), "ffffffffffffffffff02", "Malformed"),
        (
            kind_of!(compact, i64),
            "8080808080808080808001",
            "Malformed",
        ),
        (kind_of!(compact, i32), "ffffffff1f", "Malformed"),
        (kind_of!(compact, i16), "808004", "Malformed"),
        (kind_of!(compact, Vec<bool>), "1103", "Malformed"),
        (kind_of!(compact, Vec<i32>), "1602", "TypeMismatch"),
        (kind_of!(compact, Empty), "1f", "InvalidType"),
        (kind_of!(compact, String), "01ff", "InvalidUtf8"),
        (kind_of!(compact, Empty), "0000", "TrailingBytes"),
        (kind_of!(compact, Presence), "00", "MissingField"),
        (
            kind_of!(binary, Vec<i32>),
            "0a 00000001 0000000000000000",
            "TypeMismatch",
        ),
        (kind_of!(binary, Empty), "010001", "InvalidType"),
        (kind_of!(binary, Empty), "05000100", "InvalidType"),
        (kind_of!(binary, String), "00000001ff", "InvalidUtf8"),
        (kind_of!(binary, Empty), "0000", "TrailingBytes"),
        // A field of another type than the contract's.
        (
            kind_of!(binary, Presence),
            "0a0001000000000000000100",
            "TypeMismatch",
        ),
        (kind_of!(compact, Presence), "160200", "TypeMismatch"),
        (
            kind_of!(json, Presence),
            "7b2231223a7b22693634223a317d7d",
            "TypeMismatch",
        ),
    ];
    for (read, hex, expected) in rows {
        let kind = format!("{:?}", read(&from_hex(hex)));
        assert!(kind.starts_with(expected), "{hex}: {kind}");
    }
}

#[test]
fn errors_say_where() {
    let bytes = binary::to_bytes(&vec![Origin {
        host: "abc".into(),
        port: 1,
    }])
    .unwrap();
    let mut broken = bytes;
    broken[12] = 0xff;
    let error = binary::from_bytes::<Vec<Origin>>(&broken).unwrap_err();
    assert_eq!(error.to_string(), "[].host: a string that is not UTF-8");
}

#[test]
fn ids_that_do_not_fit() {
    let mut out = Vec::new();
    let field = Field::new(40_000, "", Kind::I32);
    let unsupported = |result| matches!(result, Err(EncodeError::Unsupported { .. }));
    assert!(unsupported(
        binary::Writer::new(&mut out, Limits::default()).begin_field(&field)
    ));
    assert!(unsupported(
        compact::Writer::new(&mut out, Limits::default()).begin_field(&field)
    ));
    assert!(unsupported(
        json::Writer::new(&mut out, Limits::default()).begin_field(&field)
    ));
}

/// An element in other forms than that of the blocks before and behind it, whose value the first
/// row has as well.
fn other_forms<T: Value + PartialEq + Debug + Clone>(
    read: fn(&[u8]) -> Result<Vec<T>, dovetail_wire::DecodeError>,
    list: &str,
    blocks: &[&str],
    rows: &[(&str, &str, T)],
) {
    let whole = vec![rows[0].2.clone(); blocks.len()];
    for (name, form, value) in rows {
        let bytes = from_hex(&[&[list], blocks, &[*form], blocks].concat().join(" "));
        let values = [&whole[..], std::slice::from_ref(value), &whole].concat();
        assert_eq!(read(&bytes), Ok(values), "{name}");
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "{name}");
        }
    }
}

/// Lists of structs of numbers are written, and as a rule read, as blocks: the bytes are those of
/// the structs one by one. Another form of a peer is read as it is everywhere else.
#[test]
fn binary_blocks() {
    let truth = |truth, colour| Truth {
        truth,
        colour: Colour(colour),
        ..Truth::default()
    };
    let block = "020001 01 080002 00000007 00";
    binary(
        &format!("0c00000002 {block} {block}"),
        vec![truth(true, 7); 2],
    );
    binary("0800000002 00000001 ffffffff", vec![1i32, -1]);
    binary("0300000003 01 00 ff", vec![1u8, 0, 255]);
    binary("0400000001 3ff0000000000000", vec![1.0f32]);
    let rows = [
        (
            "another order",
            "080002 00000007 020001 01 00",
            truth(true, 7),
        ),
        ("a field less", "080002 00000007 00", truth(false, 7)),
        ("nothing", "00", truth(false, 0)),
        (
            "another true",
            "020001 05 080002 00000007 00",
            truth(true, 7),
        ),
        (
            "a field twice",
            "020001 00 020001 01 080002 00000007 00",
            truth(true, 7),
        ),
    ];
    other_forms(binary::from_bytes, "0c00000003", &[block], &rows);
    let retyped = from_hex(&format!("0c00000002 {block} 030001 01 080002 00000007 00"));
    let error = binary::from_bytes::<Vec<Truth>>(&retyped).unwrap_err();
    assert_eq!(
        error.to_string(),
        "[].truth: expected Bool, the peer sent byte"
    );
    // An unknown field is kept, and written again; then the list is no block.
    let hex = format!("0c00000002 {block} 020001 01 080002 00000007 060003 0005 00");
    let kept = binary::from_bytes::<Vec<Truth>>(&from_hex(&hex)).unwrap();
    assert!(!kept[1].unknown_fields.is_empty());
    binary(&hex, kept);
}

/// Blocks in compact are as long as their numbers need.
#[test]
fn compact_blocks() {
    let pair = |left, right| Pair {
        left,
        right,
        ..Pair::default()
    };
    // Some of them at the end, so that what stands before them has as many bytes behind it as a
    // block may take.
    let block = "15 0e 16 ac02 00";
    let padding = format!("{block} ").repeat(4);
    compact(&format!("5c {block} {padding}"), vec![pair(7, 150); 5]);
    compact(
        &format!("6c 15 ffffffff0f 16 ffffffffffffffffff01 00 {block} {padding}"),
        [vec![pair(i32::MIN, i64::MIN)], vec![pair(7, 150); 5]].concat(),
    );
    let rows = [
        ("another order", "26 ac02 05 02 0e 00", pair(7, 150)),
        ("an id by itself", "05 02 0e 16 ac02 00", pair(7, 150)),
        (
            "more bytes than it needs",
            "15 8e00 16 ac82808000 00",
            pair(7, 150),
        ),
        ("a field less", "26 ac02 00", pair(0, 150)),
        ("nothing", "00", pair(0, 0)),
        ("a field twice", "15 02 05 02 0e 16 ac02 00", pair(7, 150)),
    ];
    other_forms(compact::from_bytes, "bc", &[block; 5], &rows);
    let retyped = from_hex(&format!("6c {block} 11 16 ac02 00 {padding}"));
    let error = compact::from_bytes::<Vec<Pair>>(&retyped).unwrap_err();
    assert_eq!(
        error.to_string(),
        "[].left: expected I32, the peer sent bool"
    );
    let block = format!("{padding} {block}");
    let wide = from_hex(&format!("6c 15 8080808010 16 02 00 {block}"));
    let error = compact::from_bytes::<Vec<Pair>>(&wide).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a varint of more bits than its type has"),
        "{error}"
    );
    // An unknown field is kept, and written again; then the list is no block.
    let hex = format!("6c 15 0e 16 ac02 14 06 00 {block}");
    let kept = compact::from_bytes::<Vec<Pair>>(&from_hex(&hex)).unwrap();
    assert!(!kept[0].unknown_fields.is_empty());
    compact(&hex, kept);
}
