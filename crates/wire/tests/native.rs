//! Dovetail's own encodings, byte by byte as the specification has them, written by hand.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

mod describe;
mod fixtures;

use describe::{from_hex, to_hex};
use dovetail_wire::{
    Bytes, DecodeError, DecodeErrorKind, EncodeError, Encoding, Kind, Limits, ObjectNumbers,
    OrderedFloat, Reader, Ref, UnknownFields, UnknownValue, Uuid, Value, WithObjects, Writer,
    message, tagged, tagless,
};
use fixtures::*;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks a value in tagless and in tagged, in both directions, and cut at every byte.
fn check<T: Value + PartialEq + Debug>(value: T, tagless: &str, tagged: &str) {
    for (encoding, hex) in [(Encoding::Tagless, tagless), (Encoding::Tagged, tagged)] {
        let bytes = Bytes::from(from_hex(hex));
        assert_eq!(
            to_hex(&encoding.to_bytes(&value).unwrap()),
            to_hex(&bytes),
            "{value:?}"
        );
        assert_eq!(
            encoding.from_bytes::<T>(&bytes).as_ref(),
            Ok(&value),
            "{hex}"
        );
        for end in 0..bytes.len() {
            assert!(
                encoding.from_bytes::<T>(&bytes.slice(..end)).is_err(),
                "{hex} {end}"
            );
        }
    }
}

#[test]
fn scalars() {
    check(true, "01", "01");
    check(-2i8, "fe", "fe");
    check(-2i16, "feff", "03");
    check(7i32, "07000000", "0e");
    check(i64::MIN, "0000000000000080", "ffffffffffffffffff01");
    check(200u8, "c8", "c8");
    check(300u16, "2c01", "ac02");
    check(1u32 << 31, "00000080", "8080808008");
    check(u64::MAX, "ffffffffffffffff", "ffffffffffffffffff01");
    check(1.0f32, "0000803f", "0000803f");
    check(1.0f64, "000000000000f03f", "000000000000f03f");
    check(Colour::INFRARED, "ffffffff", "01");
    check("aß".to_owned(), "03 61c39f", "03 61c39f");
    check(Bytes::from_static(&[0, 255]), "02 00ff", "02 00ff");
    let uuid = "00112233445566778899aabbccddeeff";
    check(
        Uuid::from_u128(0x00112233445566778899aabbccddeeff),
        uuid,
        uuid,
    );
}

#[test]
fn containers() {
    check(Vec::<i32>::new(), "00", "00");
    check(vec![1i16, -1], "02 0100 ffff", "02 03 02 01");
    check(vec![true, false], "02 01 00", "02 01 01 00");
    check(vec![vec![7u8], vec![]], "02 01 07 00", "02 11 01 06 07 00");
    check(BTreeSet::from([3u16]), "01 0300", "01 07 03");
    check(
        BTreeMap::from([(1i8, "x".to_owned())]),
        "01 01 01 78",
        "01 02 0c 01 01 78",
    );
    check(BTreeMap::<i8, i8>::new(), "00", "00");
    let long = vec![-1i8; 300];
    let elements = "ff".repeat(300);
    check(
        long,
        &format!("ac02 {elements}"),
        &format!("ac02 02 {elements}"),
    );
}

#[test]
fn structs() {
    check(Empty::default(), "00", "00");
    check(vec![Empty::default(); 2], "02 00 00", "02 10 00 00");
    let key = Key {
        number: 1,
        word: "a".to_owned(),
    };
    check(key, "01000000 01 61", "24 02 2c 01 61 00");
    let both = Option64 {
        negative: Some(1),
        positive: Some(2),
        ..Option64::default()
    };
    check(
        both,
        "03 0100000000000000 0200000000000000",
        "05 01 02 45 04 00",
    );
    let second = Option64 {
        positive: Some(2),
        ..Option64::default()
    };
    check(second, "02 0200000000000000", "25 04 00");
    let presence = Presence {
        must: 1,
        plain: 2,
        may_truth: Some(true),
        may_empty: Some(Empty::default()),
        ..Presence::default()
    };
    check(
        presence,
        "28 01000000 02000000 04000000 03 736978 01 00",
        "24 02 44 04 24 08 4c 03 736978 41 01 50 00 00",
    );
    let wide = Wide {
        f1: Some(1),
        f9: Some(vec![]),
        f32767: Some(String::new()),
        ..Wide::default()
    };
    check(
        wide,
        "01010010 01000000 00 00",
        "24 02 11 12 00 0c feff03 00 00",
    );
}

#[test]
fn unions() {
    check(Choice::default(), "00", "00");
    check(Choice::Text("a".to_owned()), "02 01 61", "4c 01 61 00");
    check(
        Choice::Real(1.0),
        "06 000000000000f03f",
        "0b d804 000000000000f03f 00",
    );
}

#[test]
fn families() {
    let base = Animal {
        name: "a".to_owned(),
        ..Animal::default()
    };
    let cat = Cat { base, lives: 7 };
    check(AnyAnimal::default(), "00 00 00", "2c 00 00");
    check(
        AnyAnimal::from(cat.clone()),
        "03 00 01 61 07000000",
        "0c feff03 03 436174  0c 02 01 61  44 0e  00",
    );
    check(
        vec![AnyAnimal::from(cat)],
        "01 03 00 01 61 07000000",
        "01 10 0c feff03 03 436174  0c 02 01 61  44 0e  00",
    );
}

#[test]
fn references() {
    let person = |name: &str, friend: Ref<Person>| Person {
        name: name.to_owned(),
        friend,
        ..Person::default()
    };
    check(
        person("a", Ref::null()),
        "01 61 00 00 00",
        "2c 01 61 51 00 00",
    );
    let b = Arc::new_cyclic(|b| person("b", Ref::from(b)));
    let bond = Bond {
        to: b.clone().into(),
        ..Bond::default()
    };
    check(
        Person {
            children: vec![bond],
            ..person("a", b.into())
        },
        "01 61  01 01 62 02 00 00  01 02  00",
        "2c 01 61  30 04 fcff03 00  0c 02 01 62  30 04 faff03 00 00  31 00 00  31 01 10 30 04 faff03 00 00 00  00",
    );
}

#[test]
fn refused() {
    fn of<T: Value>(encoding: Encoding, bytes: &Bytes) -> Option<DecodeErrorKind> {
        encoding
            .from_bytes::<T>(bytes)
            .err()
            .map(|e| e.kind().clone())
    }
    use Encoding::{Tagged, Tagless};
    let rows: &[(
        fn(Encoding, &Bytes) -> Option<DecodeErrorKind>,
        Encoding,
        &str,
        &str,
    )] = &[
        (of::<bool>, Tagless, "02", "Malformed"),
        (of::<Vec<bool>>, Tagless, "02 01 02", "Malformed"),
        (of::<Uuid>, Tagless, "0011", "Truncated"),
        (of::<Empty>, Tagless, "01", "Malformed"),
        (of::<Option64>, Tagless, "04", "Malformed"),
        (of::<Wide>, Tagless, "00000020", "Malformed"),
        (of::<Choice>, Tagless, "07 00", "Malformed"),
        (
            of::<Choice>,
            Tagless,
            "ffffffffffffffffff01 00",
            "Malformed",
        ),
        (of::<String>, Tagless, "01 ff", "InvalidUtf8"),
        (of::<Empty>, Tagless, "00 00", "TrailingBytes"),
        (of::<Vec<Uuid>>, Tagless, "01 0011", "LengthBeyondInput"),
        (of::<bool>, Tagged, "02", "Malformed"),
        (of::<i16>, Tagged, "808004", "Malformed"),
        (of::<u16>, Tagged, "808004", "Malformed"),
        (of::<Vec<bool>>, Tagged, "01 02 01", "TypeMismatch"),
        (
            of::<BTreeMap<i8, i8>>,
            Tagged,
            "01 02 03 01 01",
            "TypeMismatch",
        ),
        (of::<Vec<bool>>, Tagged, "01 15 01", "InvalidType"),
        (of::<Key>, Tagged, "25 02 00", "TypeMismatch"),
        (of::<Key>, Tagged, "20", "InvalidType"),
        (of::<Empty>, Tagged, "35 00", "InvalidType"),
        (
            of::<Empty>,
            Tagged,
            "01 feffffff0f 01 21 01 00",
            "Malformed",
        ),
        (of::<Presence>, Tagged, "00", "MissingField"),
        (of::<Empty>, Tagged, "00 00", "TrailingBytes"),
    ];
    for (decode, encoding, hex, expected) in rows {
        let kind = format!("{:?}", decode(*encoding, &from_hex(hex).into()));
        assert!(kind.contains(expected), "{encoding:?} {hex}: {kind}");
    }
}

/// An enum is an `i32` and text may be bytes; the last of two fields counts.
#[test]
fn tagged_reads_what_relays_write() {
    let read = |hex: &str| tagged::from_bytes::<Everything>(&from_hex(hex));
    let text = read("ed 01 61 00").map(|value| value.text);
    assert_eq!(text, read("0d 0e 01 61 00").map(|value| value.text));
    assert_eq!(read("0d 0e 01 61 00").unwrap().text, "a");
    assert_eq!(read("0c 10 01 61 00").unwrap().blob, "a");
    assert_eq!(read("04 12 28 00").unwrap().colour, Colour::BLUE);
    assert_eq!(read("84 02 04 08 04 00").unwrap().medium, 2);
}

/// All that tagged tells apart comes out again as it came.
#[test]
fn tagged_keeps_what_it_does_not_know() {
    let hex = "
        21 01  22 ff  23 01  24 01  25 01  26 ff  27 ac02  28 ac02  29 ac02  2a 0000803f
        2b 000000000000f03f  2c 01 61  2d 01 ff  2e 00112233445566778899aabbccddeeff  2f 28
        30 24 02 00  31 02 06 01 02  32 01 0c 01 61  33 01 08 0f 01 02 00";
    let bytes = from_hex(&hex.split_whitespace().collect::<String>());
    let kept: Empty = tagged::from_bytes(&bytes).unwrap();
    assert_eq!(kept.unknown_fields.iter().count(), 19);
    assert_eq!(to_hex(&tagged::to_bytes(&kept).unwrap()), to_hex(&bytes));
}

#[test]
fn unknown_fields_need_tags() {
    let mut unknown_fields = UnknownFields::default();
    unknown_fields.push(9, UnknownValue::Bool(true));
    let older = Older {
        first: 1,
        unknown_fields: unknown_fields.clone(),
        ..Older::default()
    };
    assert_eq!(tagless::to_bytes(&older), Err(EncodeError::NeedsTags));
    assert_eq!(tagless::to_bytes(&vec![older]), Err(EncodeError::NeedsTags));
    let choice = Choice::Unknown(unknown_fields.clone());
    assert_eq!(tagless::to_bytes(&choice), Err(EncodeError::NeedsTags));
    // A sample whose values are written as blocks.
    let sample = Sample {
        unknown_fields,
        ..Sample::default()
    };
    assert_eq!(tagless::to_bytes(&sample), Err(EncodeError::NeedsTags));
    let samples = vec![Sample::default(), sample];
    assert_eq!(tagless::to_bytes(&samples), Err(EncodeError::NeedsTags));
    assert!(tagged::to_bytes(&samples).is_ok());
}

/// Blocks are the same bytes as their fields one after the other.
#[test]
fn plain_structs() {
    assert_eq!(<Sample as Value>::PLAIN.tagless(), Some(28));
    assert_eq!(<Key as Value>::PLAIN.tagless(), None);
    assert_eq!(<Option64 as Value>::PLAIN.tagless(), None);
    let sample = |n: i32| Sample {
        small: n,
        inner: Truth {
            truth: n % 2 == 1,
            colour: Colour(n),
            ..Truth::default()
        },
        large: -1,
        real: OrderedFloat(1.0),
        tiny: 255,
        short: 2,
        ..Sample::default()
    };
    let one = "01000000 01 01000000 ffffffffffffffff 000000000000f03f ff 0200".replace(' ', "");
    assert_eq!(to_hex(&tagless::to_bytes(&sample(1)).unwrap()), one);
    let bytes = tagless::to_bytes(&vec![sample(1), sample(2)]).unwrap();
    assert!(to_hex(&bytes).starts_with(&format!("02{one}")));
    assert_eq!(tagless::from_bytes(&bytes), Ok(vec![sample(1), sample(2)]));
    let mut broken = bytes;
    broken[5] = 2;
    assert!(tagless::from_bytes::<Vec<Sample>>(&broken).is_err());
}

/// An old value does not shine through, whatever the encoding; memory is used again where the
/// encoding allows it.
#[test]
fn values_are_replaced() {
    fn over<T: Value + PartialEq + Debug + Clone>(old: T, new: T) {
        for encoding in Encoding::BUILT_IN {
            for (old, new) in [(&old, &new), (&new, &old)] {
                let mut value = vec![old.clone(), old.clone()];
                let expected = vec![new.clone(); 3];
                let bytes = Bytes::from(encoding.to_bytes(&expected).unwrap());
                encoding
                    .decode(&mut value, &bytes, Limits::default())
                    .unwrap();
                assert_eq!(value, expected, "{encoding:?}");
                let mut value = old.clone();
                let bytes = Bytes::from(encoding.to_bytes(new).unwrap());
                encoding
                    .decode(&mut value, &bytes, Limits::default())
                    .unwrap();
                assert_eq!(&value, new, "{encoding:?}");
            }
        }
    }
    let full = Newer {
        truth: Some(true),
        text: Some("old".to_owned()),
        everything: Some(Everything {
            text: "old".to_owned(),
            ..Everything::default()
        }),
        truths: Some(vec![true]),
        many: Some(BTreeMap::from([(
            "a".to_owned(),
            vec![Everything::default()],
        )])),
        choice: Some(Choice::Numbers(vec![1, 2])),
        last: "old".to_owned(),
        ..Newer::default()
    };
    over(full, Newer::default());
    over(Choice::Text("old".to_owned()), Choice::Numbers(vec![1]));
    over(Choice::Everything(Everything::default()), Choice::Number(1));
    over(
        Presence {
            may: Some(1),
            may_text: Some("old".to_owned()),
            plain_default: "old".to_owned(),
            ..Presence::default()
        },
        Presence::default(),
    );
    over(vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]);
    over(Arc::new("shared".to_owned()), Arc::new(String::new()));

    let mut words = vec!["a long word".to_owned(), "another word".to_owned()];
    let before: Vec<*const u8> = words.iter().map(|word| word.as_ptr()).collect();
    let bytes =
        Bytes::from(tagless::to_bytes(&vec!["short".to_owned(), "word".to_owned()]).unwrap());
    Encoding::Tagless
        .decode(&mut words, &bytes, Limits::default())
        .unwrap();
    assert_eq!(words, ["short", "word"]);
    let after: Vec<*const u8> = words.iter().map(|word| word.as_ptr()).collect();
    assert_eq!(after, before);
}

/// A number that stands for itself, as an object.
#[derive(Clone, Debug, Default, PartialEq)]
struct Thing(u64);

impl Value for Thing {
    const KIND: Kind = Kind::Object;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.object(self)
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let thing = reader.object()?.downcast();
        *self = *thing.map_err(|_| DecodeError::malformed("no thing"))?;
        Ok(())
    }
}

#[derive(Default)]
struct Things(AtomicUsize);

impl ObjectNumbers for Things {
    fn number(&self, object: &dyn Any) -> Result<u64, EncodeError> {
        Ok(object.downcast_ref::<Thing>().unwrap().0)
    }

    fn object(&self, number: u64) -> Result<Box<dyn Any>, DecodeError> {
        Ok(Box::new(Thing(number)))
    }

    fn undo(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn objects() {
    let things = vec![Thing(6), Thing(301)];
    for (encoding, hex) in [
        (Encoding::Tagless, "02 06 ad02"),
        (Encoding::Tagged, "02 14 06 ad02"),
    ] {
        let numbers = Arc::new(Things::default());
        let with = || Some(numbers.clone() as Arc<dyn ObjectNumbers>);
        let (mut out, limits) = (Vec::new(), Limits::default());
        let body = WithObjects::new(&things, with());
        encoding.encode(&body, &mut out, limits).unwrap();
        assert_eq!(to_hex(&out), to_hex(&from_hex(hex)));
        let (mut back, bytes) = (Vec::<Thing>::new(), Bytes::from(out));
        let mut body = WithObjects::new(&mut back, with());
        assert_eq!(encoding.decode(&mut body, &bytes, limits), Ok(bytes.len()));
        assert_eq!(back, things);
        // Once before the only attempt, and once for a body that ends too early.
        assert_eq!(numbers.0.load(Ordering::SeqCst), 1);
        let mut body = WithObjects::new(&mut back, with());
        let short = bytes.slice(..bytes.len() - 1);
        encoding.decode(&mut body, &short, limits).unwrap_err();
        assert_eq!(numbers.0.load(Ordering::SeqCst), 2);
    }
    for encoding in Encoding::BUILT_IN {
        let own = matches!(encoding, Encoding::Tagless | Encoding::Tagged);
        let error = encoding.to_bytes(&things[0]).unwrap_err();
        assert_eq!(error == EncodeError::NoObjects, !own, "{encoding:?}");
        let bytes = Bytes::from_static(&[6; 8]);
        assert!(encoding.from_bytes::<Thing>(&bytes).is_err());
    }
}

#[derive(Debug, Default, PartialEq)]
struct Holder {
    name: String,
    thing: Option<Thing>,
    things: Vec<Thing>,
}
message!(Holder { 1 name: String, 2 thing: Option<Thing>, 3 things: Vec<Thing>, });

#[derive(Debug, Default, PartialEq)]
struct Stranger {
    name: String,
    unknown_fields: UnknownFields,
}
message!(Stranger { 1 name: String, ..unknown_fields });

#[test]
fn who_does_not_know_an_object_lets_it_go() {
    let holder = Holder {
        name: "it".to_owned(),
        thing: Some(Thing(3)),
        things: vec![Thing(4)],
    };
    let things = || Some(Arc::new(Things::default()) as Arc<dyn ObjectNumbers>);
    let (mut out, limits) = (Vec::new(), Limits::default());
    let body = WithObjects::new(&holder, things());
    Encoding::Tagged.encode(&body, &mut out, limits).unwrap();
    let mut stranger = Stranger::default();
    let mut body = WithObjects::new(&mut stranger, things());
    Encoding::Tagged
        .decode(&mut body, &out.into(), limits)
        .unwrap();
    // And sends the rest.
    let again = tagged::to_bytes(&stranger).unwrap();
    let back = tagged::from_bytes::<Holder>(&again).unwrap();
    assert_eq!((back.name.as_str(), back.thing), ("it", None));
}
