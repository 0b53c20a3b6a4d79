//! Types that travel as another one, byte by byte; what their carriers can say and they cannot; and
//! protobuf's own well-known types as the judge.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod describe;
mod fixtures;

use describe::{from_hex, to_hex};
use dovetail_wire::{
    Any, Array, Bytes, Date, Decimal, Dynamic, Encoding, Fixed, Free, Offset, SignedDuration,
    Timestamp, TimestampTz, UnpackError, Value, parse_decimal, protobuf, thrift::compact,
};
use fixtures::*;
use proptest::prelude::*;
use prost::Message as _;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Checks a value in tagless, tagged, Thrift compact and protobuf, in both directions.
fn check<T: Value + PartialEq + Debug>(value: T, forms: [&str; 4]) {
    let encodings = [
        Encoding::Tagless,
        Encoding::Tagged,
        Encoding::ThriftCompact,
        Encoding::Protobuf,
    ];
    for (encoding, hex) in encodings.into_iter().zip(forms) {
        check_in(encoding, &value, hex, &value);
    }
}

/// The bytes of a value in an encoding, and the value that a reader makes of them.
fn check_in<T: Value + PartialEq + Debug>(encoding: Encoding, value: &T, hex: &str, read: &T) {
    let bytes = Bytes::from(from_hex(hex));
    let written = encoding.to_bytes(value).unwrap();
    assert_eq!(to_hex(&written), to_hex(&bytes), "{encoding:?} {value:?}");
    let result = encoding.from_bytes::<T>(&bytes);
    assert_eq!(result.as_ref(), Ok(read), "{encoding:?} {hex}");
}

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn decimal(text: &str) -> Decimal {
    parse_decimal(text).unwrap()
}

#[test]
fn times() {
    // Half a second before 1970 is half a second after the second before.
    check(
        Timestamp::new(0, -500_000_000).unwrap(),
        [
            "ffffffffffffffff 0065cd1d",
            "25 01 24 8094ebdc03 00",
            "16 01 15 8094ebdc03 00",
            "08 ffffffffffffffffff01 10 80cab5ee01",
        ],
    );
    check(
        TimestampTz {
            timestamp: Timestamp::UNIX_EPOCH,
            offset: Offset::from_seconds(-3600).unwrap(),
        },
        [
            "0000000000000000 00000000 f0f1ffff",
            "25 00 24 00 24 9f38 00",
            "16 00 15 00 15 9f38 00",
            "18 f0e3ffffffffffffff01",
        ],
    );
    check(
        SignedDuration::new(-1, -1),
        [
            "ffffffffffffffff ffffffff",
            "25 01 24 01 00",
            "16 01 15 01 00",
            "08 ffffffffffffffffff01 10 ffffffffffffffffff01",
        ],
    );
    let after = "1970-01-03";
    check(date(after), ["02000000", "04", "04", "08 02"]);
    let before = "1969-12-31";
    check(
        date(before),
        ["ffffffff", "01", "01", "08 ffffffffffffffffff01"],
    );
    assert_eq!(Date::default(), date("1970-01-01"));
    assert_eq!(
        <Moment as Value>::PLAIN.tagless(),
        Some(12 + 16 + 4 + 12 + 8)
    );
}

#[test]
fn decimals() {
    let text = "06 2d31322e3530";
    check(decimal("-12.50"), [text, text, text, &format!("0a {text}")]);
    // The scale is part of the number.
    let one: Decimal = Encoding::Tagged
        .from_bytes(&Encoding::Tagged.to_bytes(&decimal("1.00")).unwrap().into())
        .unwrap();
    assert_eq!(one.scale(), 2);
}

#[test]
fn arrays() {
    check(
        [1_i16, -1],
        [
            "0100 ffff",
            "02 03 02 01",
            "24 02 01",
            "0a 0b 01 ffffffffffffffffff01",
        ],
    );
    check(
        [[true], [false]],
        [
            "01 00",
            "02 11 01 01 01 01 01 00",
            "29 11 01 11 02",
            "0a 03 0a 01 01 0a 03 0a 01 00",
        ],
    );
    check(
        vec![["a".to_owned()]],
        [
            "01 01 61",
            "01 11 01 0c 01 61",
            "19 18 01 61",
            "0a 03 0a 01 61",
        ],
    );
    let grid: Array<u8, (Free, Free)> = Array::new([1, 2], vec![7, 8]).unwrap();
    check(
        grid,
        [
            "02 01000000 02000000 02 07 08",
            "31 02 08 01 02 31 02 06 07 08 00",
            "19 25 02 04 19 23 07 08 00",
            "0a 02 01 02 12 02 07 08",
        ],
    );
    check(
        Array::<u8, (Free, Free)>::default(),
        [
            "02 00000000 00000000 00",
            "31 02 08 00 00 31 00 00",
            "19 25 00 00 19 03 00",
            "0a 02 00 00",
        ],
    );
    assert_eq!(<[[u16; 2]; 3] as Value>::PLAIN.tagless(), Some(12));
    assert_eq!(<[String; 2] as Value>::PLAIN.tagless(), None);
}

#[test]
fn dynamics() {
    let integers = Dynamic::from_iter([Dynamic::from(-1_i64), Dynamic::NULL]);
    let rows = [
        (Encoding::Tagless, "06 02 07 ffffffffffffffff 01 00000000"),
        (Encoding::Tagged, "d0 31 02 10 e5 01 00 2f 00 00 00 00"),
        (Encoding::ThriftCompact, "6c 19 2c 76 01 00 15 00 00 00 00"),
    ];
    for (encoding, hex) in rows {
        check_in(encoding, &integers, hex, &integers);
    }
    // The numbers of `google.protobuf.Value` are doubles.
    let doubles = Dynamic::from_iter([Dynamic::from(-1.0), Dynamic::NULL]);
    let hex = "32 0f 0a 09 11 000000000000f0bf 0a 02 08 00";
    check_in(Encoding::Protobuf, &integers, hex, &doubles);
}

/// Bytes that are fine for the carrier, and why they are refused.
#[test]
fn out_of_range() {
    fn refused<T: Value + Debug>(bytes: &str) -> String {
        let bytes = Bytes::from(from_hex(bytes));
        let refused = Encoding::Tagged.from_bytes::<T>(&bytes).unwrap_err();
        refused.to_string()
    }
    type Grid = Array<u8, (Free, Free)>;
    type Table = Array<u8, (Fixed<2>, Free)>;
    let long = format!("e807 {}", "31".repeat(1000));
    let rows: [(fn(&str) -> String, &str, &str); 20] = [
        (refused::<Timestamp>, "24 00 00", "expected I64"),
        (
            refused::<Timestamp>,
            "25 00 24 01 00",
            "a timestamp of 0 seconds and -1 nanoseconds, which is out of range",
        ),
        (
            refused::<Timestamp>,
            "44 feffffff0f 00",
            "a timestamp of 0 seconds and 2147483647 nanoseconds",
        ),
        (
            refused::<Timestamp>,
            "25 feffffffffffffffff01 00",
            "a timestamp of 9223372036854775807 seconds",
        ),
        (
            refused::<TimestampTz>,
            "64 c0b60b 00",
            "an offset of 93600 seconds from UTC",
        ),
        (
            refused::<SignedDuration>,
            "25 02 24 01 00",
            "a duration of 1 seconds and -1 nanoseconds",
        ),
        (
            refused::<SignedDuration>,
            "44 80a8d6b907 00",
            "a duration of 0 seconds and 1000000000 nanoseconds",
        ),
        (
            refused::<Date>,
            "feffffff0f",
            "the day 2147483647 after 1970",
        ),
        (
            refused::<Date>,
            "ffffffff0f",
            "the day -2147483648 after 1970",
        ),
        (
            refused::<Decimal>,
            "01 78",
            "\"x\" is no decimal number of at most 28",
        ),
        (refused::<Decimal>, &long, "…\" is no decimal number"),
        (
            refused::<[u8; 2]>,
            "01 06 00",
            "an array of 1 elements where the contract has 2",
        ),
        (
            refused::<[u8; 2]>,
            "00",
            "an array of 0 elements where the contract has 2",
        ),
        (
            refused::<[u8; 2]>,
            "03 06 00 00 00",
            "an array of more than 2 elements where the contract has 2",
        ),
        (
            refused::<Grid>,
            "31 02 08 02 03 31 01 06 00 00",
            "an array of 2 × 3 with 1 elements",
        ),
        (
            refused::<Grid>,
            "31 01 08 01 31 01 06 00 00",
            "an array of 1 elements where the contract has * × *",
        ),
        (
            refused::<Grid>,
            "31 02 08 ffffffff0f ffffffff0f 31 01 06 00 00",
            "4294967295 × 4294967295 with 1",
        ),
        (
            refused::<Table>,
            "31 02 08 01 01 31 01 06 00 00",
            "an array of 1 × 1 elements where the contract has 2 × *",
        ),
        (refused::<Grid>, "31 808080808001 08 01", "a length of"),
        (refused::<Dynamic>, "2c 00", "expected Enum"),
    ];
    for (refused, bytes, expected) in rows {
        let problem = refused(bytes);
        assert!(problem.contains(expected), "{bytes}: {problem}");
    }
    // Nobody knows the part of a value that is wrong in a block of memory.
    let moments = Encoding::Tagless
        .to_bytes(&vec![Moment::default()])
        .unwrap();
    let mut broken = moments.clone();
    broken[9..13].fill(0xff);
    let problem = Encoding::Tagless.from_bytes::<Vec<Moment>>(&broken.into());
    assert!(problem.unwrap_err().to_string().contains("out of range"));
}

#[test]
fn packing() {
    let key = Key {
        number: 7,
        word: "seven".to_owned(),
    };
    for encoding in Any::ENCODINGS {
        let any = Any::pack_in(encoding, "type.googleapis.com/zoo.Key", &key).unwrap();
        assert!(any.is::<Key>() && !any.is::<Origin>());
        assert_eq!(any.unpack::<Key>().as_ref(), Ok(&key), "{encoding:?}");
    }
    assert!(Any::pack_in(Encoding::Tagless, "Key", &key).is_err());
    let any = Any::pack(&key).unwrap();
    assert_eq!((any.name(), any.encoding), ("Key", 1));
    assert!(matches!(
        any.unpack::<Origin>(),
        Err(UnpackError::Type { .. })
    ));
    let with = |change: fn(&mut Any)| {
        let mut any = any.clone();
        change(&mut any);
        any.unpack::<Key>().unwrap_err()
    };
    let unknown = with(|any| any.encoding = -1);
    assert_eq!(unknown, UnpackError::Encoding(-1));
    let broken = with(|any| any.value = Bytes::new());
    assert!(matches!(broken, UnpackError::Value(_)));
    // The end of a name is not the name.
    let other = with(|any| any.type_name = "Monkey".replace('k', "K"));
    assert!(matches!(other, UnpackError::Type { .. }));
}

/// Types of the same name at two ends: what `unpack` says of the second where the first is packed.
mod versions {
    macro_rules! version {
        ($version:ident { $($id:literal $field:ident: $ty:ty,)* }) => {
            pub(crate) mod $version {
                #[derive(Clone, Debug, Default, PartialEq)]
                pub(crate) struct Account { $(pub(crate) $field: $ty,)* }
                dovetail_wire::message!(Account { $($id $field: $ty,)* });
            }
        };
    }

    version!(first { 1 balance: i32, 2 limit: i32, });
    version!(swapped { 1 limit: i32, 2 balance: i32, });
    version!(retyped { 1 balance: i32, 2 limit: String, });
    version!(longer { 1 balance: i32, 2 limit: i32, 3 owner: Option<String>, });
}

#[test]
fn versions_of_a_packed_type() {
    use versions::{first, longer, retyped, swapped};

    fn unpack<M: dovetail_wire::Message + Value>(any: &Any) -> Result<M, String> {
        any.unpack().map_err(|why| why.to_string())
    }
    let value = first::Account {
        balance: 1,
        limit: 2,
    };
    for encoding in Any::ENCODINGS {
        let packed = Any::pack_in(encoding, "Account", &value).unwrap();
        if encoding.name() == Encoding::Protobuf.name() {
            assert_eq!(packed.contract, None);
            continue;
        }
        // However it travels, it keeps its contract.
        let carriers = [
            Encoding::Tagless,
            Encoding::Tagged,
            Encoding::Protobuf,
            Encoding::ThriftBinary,
            Encoding::ThriftCompact,
            Encoding::Json,
            Encoding::Msgpack,
        ];
        for carrier in carriers {
            let bytes = carrier.to_bytes(&packed).unwrap();
            let any: Any = carrier.from_bytes(&bytes.into()).unwrap();
            let place = (encoding, carrier);
            assert_eq!(unpack(&any), Ok(value.clone()), "{place:?}");
            let more = unpack::<longer::Account>(&any);
            assert_eq!(more.map(|more| (more.balance, more.limit)), Ok((1, 2)));
            let why = unpack::<swapped::Account>(&any).unwrap_err();
            assert_eq!(
                why,
                "packed by another contract: `Account.limit` is number 1 here and number 2 there",
                "{place:?}"
            );
            let why = unpack::<retyped::Account>(&any).unwrap_err();
            assert!(
                why.contains("`Account.limit` is string here and i32 there"),
                "{why}"
            );
        }
    }
    // A contract that is none.
    let any = Any {
        contract: Some(Bytes::from_static(b"no contract")),
        ..Any::pack(&value).unwrap()
    };
    let why = unpack::<first::Account>(&any).unwrap_err();
    assert!(why.contains("the description cannot be read"), "{why}");
}

proptest! {
    /// `prost-types` has the types that `protoc` comes with.
    #[test]
    fn protobuf_agrees(seconds in -62_135_596_800..253_402_207_200_i64, nanos in 0..1_000_000_000) {
        let theirs = prost_types::Timestamp { seconds, nanos };
        let ours: Timestamp = protobuf::from_bytes(&theirs.encode_to_vec()).unwrap();
        let back = prost_types::Timestamp::decode(&protobuf::to_bytes(&ours).unwrap()[..]);
        prop_assert_eq!(back, Ok(theirs));

        let nanos = nanos * seconds.signum() as i32;
        let theirs = prost_types::Duration { seconds, nanos };
        let ours: SignedDuration = protobuf::from_bytes(&theirs.encode_to_vec()).unwrap();
        let back = prost_types::Duration::decode(&protobuf::to_bytes(&ours).unwrap()[..]);
        prop_assert_eq!(back, Ok(theirs));
    }
}

#[test]
fn protobuf_knows_any() {
    let theirs = prost_types::Any {
        type_url: "type.googleapis.com/google.protobuf.Duration".to_owned(),
        value: prost_types::Duration {
            seconds: 3,
            nanos: 0,
        }
        .encode_to_vec(),
    };
    let ours: Any = protobuf::from_bytes(&theirs.encode_to_vec()).unwrap();
    assert_eq!(ours.name(), "google.protobuf.Duration");
    assert_eq!(ours.encoding().map(Encoding::name), Some("protobuf"));
    let span: SignedDuration = protobuf::from_bytes(&ours.value).unwrap();
    assert_eq!(span, SignedDuration::from_secs(3));
    let back = prost_types::Any::decode(&protobuf::to_bytes(&ours).unwrap()[..]);
    assert_eq!(back, Ok(theirs));
}

#[test]
fn protobuf_knows_dynamic_values() {
    use prost_types::value::Kind;
    let value = |kind| prost_types::Value { kind: Some(kind) };
    let list = prost_types::ListValue {
        values: vec![value(Kind::NullValue(0)), value(Kind::BoolValue(true))],
    };
    let fields = BTreeMap::from([
        ("a".to_owned(), value(Kind::NumberValue(1.5))),
        ("b".to_owned(), value(Kind::ListValue(list))),
        ("c".to_owned(), value(Kind::StringValue(String::new()))),
    ]);
    let theirs = value(Kind::StructValue(prost_types::Struct { fields }));
    let ours: Dynamic = protobuf::from_bytes(&theirs.encode_to_vec()).unwrap();
    let list = Dynamic::from_iter([Dynamic::NULL, Dynamic::from(true)]);
    let expected = [
        ("a", Dynamic::from(1.5)),
        ("b", list),
        ("c", Dynamic::from("")),
    ];
    assert_eq!(ours, Dynamic::from_iter(expected));
    let back = prost_types::Value::decode(&protobuf::to_bytes(&ours).unwrap()[..]);
    assert_eq!(back, Ok(theirs));
}

/// Peers that know only the carrier, as their generators make it.
#[test]
fn carriers_are_ordinary_types() {
    let value = Rich {
        day: date("2026-11-20"),
        price: decimal("0.10"),
        ..Rich::default()
    };
    for encoding in [
        Encoding::ThriftBinary,
        Encoding::ThriftJson,
        Encoding::Protobuf,
    ] {
        let bytes = Bytes::from(encoding.to_bytes(&value).unwrap());
        let carrier: Carriers = encoding.from_bytes(&bytes).unwrap();
        assert_eq!((carrier.day, carrier.price.as_str()), (20_777, "0.10"));
    }
    let empty: Rich =
        compact::from_bytes(&compact::to_bytes(&Carriers::default()).unwrap()).unwrap();
    assert_eq!(empty.price, Decimal::ZERO);
}
