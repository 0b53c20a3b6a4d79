//! Plain JSON, beside what protobuf's own library makes of the same message.
//!
//! The files in `json/` are a message of `all.proto` as `google.protobuf` 7.36 for Python writes
//! it: as protobuf, with `json_format.MessageToJson`, and with that under the options
//! `preserving_proto_field_name` and `use_integers_for_enums`.
#![allow(clippy::unwrap_used)]

use dovetail_wire::{
    Any, Bytes, Case, Date, Decimal, Dynamic, DynamicMap, Encoding, Limits, Offset, OrderedFloat,
    SignedDuration, Timestamp, TimestampTz, Uuid, Value, enumeration, json, message, oneof,
    protobuf,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Debug;

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Colour(i32);

enumeration!(Colour { RED = 0, DARK_BLUE = 7, });

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Inner {
    some_number: i32,
}

message!(Inner { 1 some_number: i32, });

#[derive(Clone, Debug, Default, PartialEq)]
struct All {
    truth: bool,
    small_number: i32,
    large_number: i64,
    u32: u32,
    u64: u64,
    f32: f32,
    f64: f64,
    text: String,
    blob: Bytes,
    colour: Colour,
    inner: Option<Inner>,
    longs: Vec<i64>,
    by_name: BTreeMap<String, Inner>,
    by_number: BTreeMap<i64, Colour>,
    by_truth: BTreeMap<bool, String>,
    at: Timestamp,
    span: SignedDuration,
    anything: Dynamic,
    reals: Vec<OrderedFloat<f64>>,
    colours: Vec<Colour>,
}

message!(All {
    1 truth: bool,
    2 small_number: i32,
    3 large_number: i64,
    4 u32: u32,
    5 u64: u64,
    6 f32: f32,
    7 f64: f64,
    8 text: String,
    9 blob: Bytes,
    10 colour: Colour,
    11 inner: Option<Inner>,
    12 longs: Vec<i64>,
    13 by_name: BTreeMap<String, Inner>,
    14 by_number: BTreeMap<i64, Colour>,
    15 by_truth: BTreeMap<bool, String>,
    16 at: Timestamp,
    17 span: SignedDuration,
    18 anything: Dynamic,
    19 reals: Vec<OrderedFloat<f64>>,
    20 colours: Vec<Colour>,
});

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .trim()
        .bytes()
        .map(|b| char::from(b).to_digit(16).unwrap() as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[test]
fn protobufs_library_agrees() {
    let bytes = Bytes::from(from_hex(include_str!("json/official.hex")));
    let value: All = Encoding::Protobuf.from_bytes(&bytes).unwrap();
    let official = include_str!("json/official.json");
    let ours = json::to_bytes(&value).unwrap();
    let [ours, theirs] =
        [&ours[..], official.as_bytes()].map(|text| serde_json::from_slice::<Json>(text).unwrap());
    assert_eq!(ours, theirs);
    for text in [official, include_str!("json/official-names.json")] {
        assert_eq!(json::from_bytes::<All>(text.as_bytes()).unwrap(), value);
    }
}

/// The value is written as the first text, and read from all of them.
fn check<T: Value + PartialEq + Debug>(value: T, texts: &[&str]) {
    let written = String::from_utf8(json::to_bytes(&value).unwrap()).unwrap();
    assert_eq!(written, texts[0]);
    for text in texts {
        let read = json::from_bytes::<T>(text.as_bytes());
        assert_eq!(read.as_ref(), Ok(&value), "{text}");
        // As a value of a map too, where what comes before it is another thing.
        let around = BTreeMap::from([("k".to_owned(), read.unwrap())]);
        let text = format!("{{ \"k\" : {text} }}");
        assert_eq!(json::from_bytes(text.as_bytes()), Ok(around), "{text}");
    }
}

#[test]
fn forms() {
    check(7_i8, &["7", "\"7\"", "7.0", "70e-1", "0.7e1"]);
    check(-1_i64, &["\"-1\"", "-1", " -1\n"]);
    check(
        u64::MAX,
        &["\"18446744073709551615\"", "18446744073709551615"],
    );
    check(0.1_f32, &["0.1", "\"0.1\"", "1e-1", "0.10000000149011612"]);
    check(
        f32::MAX,
        &["3.4028234663852886e38", "3.4028235e38", "3.4028235e+38"],
    );
    check(f64::INFINITY, &["\"Infinity\""]);
    check(1e300, &["1e300", "1E+300"]);
    check(
        "é\"\u{1}".to_owned(),
        &["\"é\\\"\\u0001\"", "\"\\u00e9\\u0022\\u0001\""],
    );
    check(
        Bytes::from_static(b"\xfb\xff"),
        &["\"+/8=\"", "\"+/8\"", "\"-_8\"", "\"-_8=\""],
    );
    let uuid = Uuid::from_bytes([7; 16]);
    check(
        uuid,
        &[
            "\"07070707-0707-0707-0707-070707070707\"",
            "\"07070707070707070707070707070707\"",
            "\"BwcHBwcHBwcHBwcHBwcHBw==\"",
            "\"BwcHBwcHBwcHBwcHBwcHBw\"",
        ],
    );
    check(Colour::DARK_BLUE, &["\"DARK_BLUE\"", "7", "\"7\""]);
    check(Colour(9), &["9", "\"9\""]);
    check(
        Inner { some_number: 1 },
        &[
            r#"{"someNumber":1}"#,
            r#"{"some_number":1}"#,
            r#"{"x":{"y":[1,null,"z"]},"someNumber":1,"z":true}"#,
            r#"{"some_number":null,"someNumber":"1"}"#,
        ],
    );
    check(Inner::default(), &[r#"{"someNumber":0}"#, "{}", "{ }"]);
    let pairs = BTreeMap::from([(Inner { some_number: 1 }, true)]);
    check(
        pairs,
        &[
            r#"[[{"someNumber":1},true]]"#,
            r#" [ [ {"some_number" : 1} , true ] ] "#,
        ],
    );
    let numbers = BTreeMap::from([(1_i64, 2_i64), (3, 4)]);
    check(numbers, &[r#"{"1":"2","3":"4"}"#, "[[1,2],[3,4]]"]);
    check(BTreeMap::<Inner, bool>::new(), &["[]", "{}"]);
    check(vec![vec![1_i8], vec![]], &["[[1],[]]"]);
    let (seconds, nanos) = (1_795_354_145, 120_000_000);
    let instant = Timestamp::new(seconds, nanos).unwrap();
    check(
        instant,
        &[
            "\"2026-11-22T13:29:05.120Z\"",
            "\"2026-11-22T14:29:05.12+01:00\"",
            "{\"seconds\":\"1795354145\",\"nanos\":120000000}",
        ],
    );
    check(Timestamp::UNIX_EPOCH, &["\"1970-01-01T00:00:00Z\"", "{}"]);
    let offset = |seconds| TimestampTz {
        timestamp: instant,
        offset: Offset::from_seconds(seconds).unwrap(),
    };
    check(offset(3600), &["\"2026-11-22T14:29:05.12+01:00\""]);
    check(
        offset(1),
        &["{\"seconds\":\"1795354145\",\"nanos\":120000000,\"offset\":1}"],
    );
    check(Date::constant(2026, 11, 22), &["\"2026-11-22\"", "20779"]);
    check(
        SignedDuration::new(-1, -500_000_000),
        &[
            "\"-1.500s\"",
            "\"-1.5s\"",
            "{\"seconds\":-1,\"nanos\":-500000000}",
        ],
    );
    check(SignedDuration::new(0, -1), &["\"-0.000000001s\""]);
    check(
        SignedDuration::new(-315_576_000_000, -999_999_999),
        &["\"-315576000000.999999999s\""],
    );
    check(Decimal::new(-1250, 2), &["\"-12.50\""]);
    let nothing: [(&str, Dynamic); 0] = [];
    for (value, text) in [
        (Dynamic::NULL, "null"),
        (Dynamic::from(true), "true"),
        (Dynamic::from(1_i64), "1"),
        (Dynamic::from(u64::MAX), "18446744073709551615"),
        (Dynamic::from(1.0), "1.0"),
        (Dynamic::from_iter(nothing), "{}"),
        (
            Dynamic::from_iter([Dynamic::from("x"), Dynamic::NULL]),
            "[\"x\",null]",
        ),
    ] {
        check(value, &[text]);
    }
}

/// Messages of protobuf that are something else in JSON than an object with their fields.
#[test]
fn messages_with_a_form_of_their_own() {
    #[derive(Debug, Default, PartialEq)]
    struct Wrapped {
        value: i64,
    }
    message!(Wrapped json Bare { 1 value: i64 [implicit], });
    #[derive(Debug, Default, PartialEq)]
    struct Paths {
        paths: Vec<String>,
    }
    message!(Paths json Mask { 1 paths: Vec<String> [implicit], });
    #[derive(Debug, Default, PartialEq)]
    struct Holder {
        number: Option<Wrapped>,
        numbers: Vec<Wrapped>,
        mask: Option<Paths>,
        value: Option<Dynamic>,
        zero: i32,
    }
    message!(Holder {
        1 number: Option<Wrapped>,
        2 numbers: Vec<Wrapped> [implicit],
        3 mask: Option<Paths>,
        4 value: Option<Dynamic>,
        5 zero: i32 [implicit],
    });

    check(Holder::default(), &["{}", "{\"number\":null,\"zero\":0}"]);
    let wrapped = |value| Wrapped { value };
    let paths = ["foo_bar.baz", "x"].map(str::to_owned);
    check(
        Holder {
            number: Some(wrapped(0)),
            numbers: vec![wrapped(1), wrapped(-2)],
            mask: Some(Paths {
                paths: paths.into(),
            }),
            value: Some(Dynamic::NULL),
            zero: 0,
        },
        &[
            r#"{"number":"0","numbers":["1","-2"],"mask":"fooBar.baz,x","value":null}"#,
            r#"{"value":null,"mask":"fooBar.baz,x","number":"\u0030","numbers":[1,-2]}"#,
        ],
    );
    check(Paths::default(), &["\"\""]);
    for path in ["fooBar", "foo__bar", "foo_3_bar"] {
        let mask = Paths {
            paths: vec![path.to_owned()],
        };
        assert!(json::to_bytes(&mask).is_err(), "{path}");
    }
    let nan = Dynamic::from(f64::NAN);
    assert!(json::to_bytes(&nan).is_err());
    let all = DynamicMap::default();
    check(all, &["{}"]);
}

#[derive(Debug, Default, PartialEq)]
struct Choice {
    choice: Option<Chosen>,
    colour: Option<Colour>,
    colours: Vec<Colour>,
    named: BTreeMap<String, Colour>,
}

#[derive(Debug, PartialEq)]
enum Chosen {
    Number(i32),
    Text(String),
    Colour(Colour),
}

oneof!(Chosen as "choice" {
    1 Number: i32,
    2 Text: String,
    6 Colour: Colour,
});

message!(Choice {
    1 choice as "number": Case<Chosen, 1>,
    2 choice as "text": Case<Chosen, 2>,
    3 colour: Option<Colour>,
    4 colours: Vec<Colour>,
    5 named: BTreeMap<String, Colour>,
    6 choice as "chosen_colour": Case<Chosen, 6>,
});

#[test]
fn the_last_member_of_a_oneof_stays() {
    let read = |bytes: &[u8]| protobuf::from_bytes::<Choice>(bytes).unwrap();
    let (number, text) = (b"\x08\x01".as_slice(), b"\x12\x01a".as_slice());
    let rows = [
        ([number, text].concat(), Chosen::Text("a".to_owned())),
        ([text, number].concat(), Chosen::Number(1)),
        ([number, text, number].concat(), Chosen::Number(1)),
    ];
    for (bytes, chosen) in rows {
        assert_eq!(read(&bytes).choice, Some(chosen), "{bytes:?}");
    }
    let problem = json::from_bytes::<Choice>(br#"{"number":1,"text":"a"}"#).unwrap_err();
    let expected = "\"text\" beside \"number\" of the same oneof";
    assert_eq!(problem.to_string(), expected);
}

#[test]
fn unknown_names_are_left_out() {
    let rows = [
        (r#"{"colour":"NONE"}"#, r#"{"colours":[],"named":{}}"#),
        (
            r#"{"colours":["RED","NONE","DARK_BLUE"]}"#,
            r#"{"colours":["RED","DARK_BLUE"],"named":{}}"#,
        ),
        (
            r#"{"named":{"a":"NONE","b":"RED"}}"#,
            r#"{"colours":[],"named":{"b":"RED"}}"#,
        ),
        (
            r#"{"colour":"NONE","number":1}"#,
            r#"{"number":1,"colours":[],"named":{}}"#,
        ),
        (r#"{"chosenColour":"NONE"}"#, r#"{"colours":[],"named":{}}"#),
    ];
    for (text, expected) in rows {
        assert!(
            json::from_bytes::<Choice>(text.as_bytes()).is_err(),
            "{text}"
        );
        let mut value = Choice::default();
        let reader = json::Reader::new(text.as_bytes(), Limits::default());
        value.read(&mut reader.leaving_out_unknown_names()).unwrap();
        let shown = json::to_bytes(&value).unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_refused() {
    fn refused<T: Value + Debug>(text: &str, expected: &str) {
        let problem = json::from_bytes::<T>(text.as_bytes()).unwrap_err();
        assert_eq!(problem.to_string(), expected, "{text}");
    }
    let number = |text: &str| format!("{text:?} is not a number that fits here");
    for text in [
        "128", "-129", "1.5", "1e3", "01", "+1", ".5", "5.", "1e", "0x1", "NaN", "--1",
    ] {
        refused::<i8>(text, &number(text));
    }
    refused::<i8>("\"x\"", &number("x"));
    refused::<u64>("-1", &number("-1"));
    refused::<f64>("1e999", &number("1e999"));
    refused::<f32>("1e39", &number("1e39"));
    refused::<f64>("\"inf\"", &number("inf"));
    refused::<bool>("1", "a word that is none of JSON's");
    refused::<bool>("\"true\"", "a word that is none of JSON's");
    refused::<String>("1", "expected String, the peer sent a number");
    refused::<Vec<i8>>("{}", "expected List, the peer sent an object");
    refused::<Vec<i8>>("[1,]", &format!("[]: {}", number("")));
    refused::<Vec<i8>>("[1 2]", "'2' where ',' should be");
    refused::<Vec<i8>>("[null]", "[]: \"null\" is not a number that fits here");
    refused::<Inner>("[]", "expected Struct, the peer sent an array");
    refused::<Inner>("{\"x\":1,}", "'}' where '\"' should be");
    refused::<Inner>("{\"x\":[1}}", "'}' where ',' should be");
    refused::<Inner>("{\"x\":nul}", "a word that is none of JSON's");
    refused::<Inner>(
        "{\"someNumber\":true}",
        "some_number: \"true\" is not a number that fits here",
    );
    refused::<Colour>("\"PINK\"", "\"PINK\" is no value of the enum");
    refused::<Timestamp>(
        "\"yesterday\"",
        "\"yesterday\" is no date or time of the kind that is expected",
    );
    for text in [
        "2026-11-22t13:29:05Z",
        "2026-11-22T13:29:05z",
        "2026-11-22 13:29:05Z",
        "2026-11-22T13:29:05",
        "2026-11-22T13:29:05.Z",
        "2026-11-22T13:29:05+0100",
        "2026-11-22T13:29:05+01",
        "0000-12-31T23:59:59Z",
    ] {
        let expected = format!("{text:?} is no date or time of the kind that is expected");
        refused::<Timestamp>(&format!("{text:?}"), &expected);
    }
    refused::<SignedDuration>(
        "\"315576000001s\"",
        "\"315576000001s\" is no date or time of the kind that is expected",
    );
    refused::<i8>("\" 1\"", &number(" 1"));
    refused::<f64>("NaN", &number("NaN"));
    refused::<BTreeMap<i8, i8>>("{1:1}", "[key]: a key without quotes");
    refused::<BTreeMap<bool, i8>>("{\"x\":1}", "[key]: a key that is no truth value");
    refused::<Inner>(
        "{\"someNumber\":1,\"some_number\":1}",
        "the member \"some_number\" comes twice",
    );
    refused::<Any>(
        "{\"@type\":\"a/b.C\",\"x\":1}",
        "an any of the type \"b.C\", which is not registered",
    );
    refused::<Bytes>("\"a\"", "bytes that are not base64");
    refused::<Uuid>("\"07\"", "a uuid that is not one");
    refused::<i8>("1 2", "1 bytes are left after the value");
}

#[test]
fn what_nobody_knows_is_passed_over_no_deeper_than_a_value() {
    let text = format!("{{\"x\":{}{}}}", "[".repeat(100), "]".repeat(100));
    let problem = json::from_bytes::<Inner>(text.as_bytes()).unwrap_err();
    assert!(problem.to_string().contains("64"), "{problem}");
    let mut value = Inner::default();
    let limits = Limits {
        depth: 101,
        ..Limits::default()
    };
    let read = Encoding::Json.decode(&mut value, &text.into(), limits);
    assert!(read.is_ok());
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Card {
    number: i64,
    holder: Option<Inner>,
    past: Vec<Card>,
}

message!(Card {
    1 number: i64 [sensitive],
    2 holder: Option<Inner> [sensitive],
    3 past: Vec<Card>,
});

#[test]
fn sensitive_fields_are_hidden_where_that_is_asked_for() {
    let card = |number, holder, past| Card {
        number,
        holder,
        past,
    };
    let inner = Some(Inner { some_number: 5 });
    for (value, text) in [
        (card(7, None, vec![]), r#"{"number":"…","past":[]}"#),
        (
            card(
                7,
                inner.clone(),
                vec![card(8, inner, vec![]), card(9, None, vec![])],
            ),
            r#"{"number":"…","holder":"…","past":[{"number":"…","holder":"…","past":[]},{"number":"…","past":[]}]}"#,
        ),
    ] {
        let mut out = Vec::new();
        let mut writer = json::Writer::new(&mut out, Limits::default()).hide_sensitive();
        value.write(&mut writer).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
        let plain = String::from_utf8(json::to_bytes(&value).unwrap()).unwrap();
        assert!(!plain.contains('…'), "{plain}");
    }
}
