//! The memory of decoded values, of every type and in every encoding, is never more than the budget
//! allows.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod measure;
#[path = "fixtures/values.rs"]
mod values;

use dovetail_wire::{
    Any, Bytes, DecodeError, Dynamic, Encode, Encoding, Limits, LongArray, Ref, Value,
};
use fixtures::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Decodes as `T` what was made of another value, in all encodings that carry it.
fn check<T: Value>(name: &str, value: &impl Encode) -> Result<(), String> {
    for encoding in Encoding::BUILT_IN {
        let mut out = Vec::new();
        if encoding.encode(value, &mut out, Limits::default()).is_err() {
            continue;
        }
        // A type that is not that of the value makes nothing of the one encoding that says none.
        let positional = matches!(encoding, Encoding::Tagless);
        let fits = |bytes: &Vec<u8>| {
            encoding
                .decode(&mut T::default(), &bytes.clone().into(), Limits::default())
                .is_ok()
        };
        if !positional || fits(&out) {
            read::<T>(name, encoding, out)?;
        }
    }
    Ok(())
}

fn read<T: Value>(name: &str, encoding: Encoding, bytes: Vec<u8>) -> Result<(), String> {
    let input = Bytes::from(bytes);
    measure::cost(name, encoding, &input, |limits| {
        let mut value = T::default();
        let read = encoding.decode(&mut value, &input, limits);
        read.map(drop).map_err(|e: DecodeError| e.kind().clone())
    })
    .map(drop)
}

/// Enough elements to show a wrong charge for each.
const MANY: usize = 700;

fn many<T: Clone>(value: T) -> Vec<T> {
    std::iter::repeat_n(value, MANY).collect()
}

fn numbers() -> std::ops::Range<i32> {
    0..MANY as i32
}

type Row = (&'static str, fn(&str) -> Result<(), String>);

macro_rules! rows {
    ($($name:literal: $type:ty = $value:expr;)*) => {
        [$(($name, |name| check::<$type>(name, &$value))),*]
    };
}

fn run<const N: usize>(rows: [Row; N]) {
    let failed: Vec<String> = rows
        .iter()
        .filter_map(|(name, check)| check(name).err())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn containers() {
    run(rows! {
        "truths": Vec<bool> = many(true);
        "bytes": Vec<i8> = many(1_i8);
        "numbers": Vec<i64> = many(1_i64);
        "reals": Vec<f64> = many(1.0);
        "no texts": Vec<String> = many(String::new());
        "short texts": Vec<String> = many("a".to_owned());
        "long texts": Vec<String> = many("a".repeat(25));
        "escaped texts": Vec<String> = many("\"\n\u{1}".repeat(9));
        "one text": String = "\u{1}".repeat(100_000);
        "short blobs": Vec<Bytes> = many(Bytes::from_static(b"a"));
        "long blobs": Vec<Bytes> = many(Bytes::from(vec![7; 3000]))[..50].to_vec();
        "empty lists": Vec<Vec<i64>> = many(Vec::<i64>::new());
        "short lists": Vec<Vec<i64>> = many(vec![1_i64]);
        "lists of bytes": Vec<Vec<i8>> = many(vec![1_i8; 5]);
        "lists of lists": Vec<Vec<Vec<i8>>> = many(vec![vec![1_i8]]);
        "short maps": Vec<BTreeMap<i32, i32>> = many(BTreeMap::from([(1, 1)]));
        "empty maps": Vec<BTreeMap<i32, i32>> = many(BTreeMap::<i32, i32>::new());
        "maps of texts": Vec<BTreeMap<String, String>> = many(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        "maps of twelve": Vec<BTreeMap<i32, i32>> = many((0..12).map(|n| (n, n)).collect::<BTreeMap<i32, i32>>());
        "a map": BTreeMap<i32, i32> = numbers().map(|n| (n, n)).collect::<BTreeMap<_, _>>();
        "a map of structs": BTreeMap<i32, Everything> = numbers().map(|n| (n, Everything::default())).collect::<BTreeMap<_, _>>();
        "a map of maps": BTreeMap<i32, BTreeMap<i32, i8>> = numbers().map(|n| (n, BTreeMap::from([(n, 1_i8)]))).collect::<BTreeMap<_, _>>();
        "short sets": Vec<BTreeSet<String>> = many(BTreeSet::from(["a".to_owned()]));
        "a set": BTreeSet<i64> = numbers().map(i64::from).collect::<BTreeSet<_>>();
        "short tables": Vec<HashMap<i32, i32>> = many(HashMap::<i32, i32>::from([(1, 1)]));
        "tables of four": Vec<HashMap<i32, i64>> = many((0..4).map(|n| (n, 1_i64)).collect::<HashMap<i32, i64>>());
        "a table": HashMap<i32, String> = numbers().map(|n| (n, "a".to_owned())).collect::<HashMap<_, _>>();
        "sets of truths": Vec<HashSet<bool>> = many(HashSet::<bool>::from([true]));
        "a set of numbers": HashSet<i16> = numbers().map(|n| n as i16).collect::<HashSet<_>>();
        "shared values": Vec<Arc<i64>> = many(Arc::new(1_i64));
        "boxes": Vec<Box<i64>> = many(Box::new(1_i64));
    });
}

fn newer() -> Newer {
    Newer {
        truth: Some(true),
        text: Some("a".to_owned()),
        everything: Some(Everything::default()),
        truths: Some(vec![true]),
        many: Some(BTreeMap::from([(
            "a".to_owned(),
            vec![Everything::default()],
        )])),
        numbers: Some(BTreeSet::from([1])),
        choice: Some(Choice::Number(1)),
        ..Newer::default()
    }
}

fn wide() -> Wide {
    Wide {
        f5: Some(String::new()),
        f9: Some(vec![1]),
        f256: Some(BTreeMap::from([("a".to_owned(), "b".to_owned())])),
        f257: Some(Bytes::from_static(b"a")),
        f32767: Some("b".to_owned()),
        ..Wide::default()
    }
}

fn chain(len: usize) -> Chain {
    (0..len).fold(Chain::default(), |next, _| Chain {
        next: Some(Box::new(next)),
        ..Chain::default()
    })
}

#[test]
fn structs() {
    run(rows! {
        "empty": Vec<Empty> = many(Empty::default());
        "everything": Vec<Everything> = many(Everything::default());
        "containers": Vec<Containers> = many(Containers {
            words: BTreeSet::from(["a".to_owned()]),
            names: BTreeMap::from([(1, "a".to_owned())]),
            origins: BTreeMap::from([(Colour(1), Origin::default())]),
            opposites: BTreeMap::from([(true, false)]),
            ..Containers::default()
        });
        "nested": Vec<Nested> = many(Nested {
            matrix: vec![vec![1]],
            book: BTreeMap::from([("a".to_owned(), vec![BTreeMap::from([(1, "b".to_owned())])])]),
            table: BTreeMap::from([(1, BTreeMap::from([(1, 1)]))]),
            deep: vec![vec![vec![vec![1]]]],
            ..Nested::default()
        });
        "keyed": Vec<Keyed> = many(Keyed {
            by_key: BTreeMap::from([(Key::default(), String::new())]),
            keys: BTreeSet::from([Key::default()]),
            ..Keyed::default()
        });
        "a tree": Tree = Tree { children: many(Tree::default()), ..Tree::default() };
        "trees": Vec<Tree> = many(Tree { children: vec![Tree::default()], ..Tree::default() });
        "chains": Vec<Chain> = vec![chain(40); 100];
        "wide": Vec<Wide> = many(wide());
        "newer": Vec<Newer> = many(newer());
        "newer for older": Vec<Older> = many(newer());
        "wide for older": Vec<Older> = many(wide());
        "one unknown field": Vec<Empty> = many(Truth { truth: true, ..Truth::default() });
        "unknown lists": Older = Newer { truths: Some(many(true)), ..Newer::default() };
        "uuids": Vec<Uuids> = many(Uuids {
            pairs: BTreeMap::from([Default::default()]),
            distinct: BTreeSet::from([Default::default()]),
            ..Uuids::default()
        });
        "unsigned": Vec<Unsigned> = many(Unsigned { by: BTreeMap::from([(1, 1)]), many: vec![1], ..Unsigned::default() });
        "formats": Vec<Formats> = many(Formats { many: vec![1], many_zigzag: vec![1], many_fixed: vec![1], ..Formats::default() });
        "optionals": Vec<Optionals> = many(Optionals {
            list: Some(vec![Option64::default()]),
            set: Some(BTreeSet::from(["a".to_owned()])),
            map: Some(BTreeMap::from([(1, vec!["a".to_owned()])])),
            choice: Some(Choice::Everything(Everything::default())),
            boxed: Some(Box::new(Newer::default())),
            choices: vec![Choice::Truth(true)],
            by_choice: BTreeMap::from([(1, Choice::Numbers(vec![1]))]),
            lists: vec![vec![Key::default()]],
            sets: BTreeSet::from([vec![true]]),
            ..Optionals::default()
        });
        "choices": Vec<Choice> = many(Choice::Text("a".to_owned()));
        "numbers of structs": Vec<Numbers> = many(Numbers::default());
        "numbers apart": Vec<NumbersApart> = many(NumbersApart { pair: Some(PairApart::default()), ..NumbersApart::default() });
        "samples": Vec<Sample> = many(Sample::default());
        "arrays": Vec<Arrays> = many(Arrays::default());
        "long arrays": Vec<LongArray<i64, 40>> = many(LongArray::<i64, 40>::default());
        "moments": Vec<Moment> = many(Moment::default());
        "presence": Vec<Presence> = many(Presence { plain_default: String::new(), ..Presence::default() });
        "rich": Vec<Rich> = many(Rich::default());
    });
}

fn person(name: &str) -> Person {
    Person {
        name: name.to_owned(),
        ..Person::default()
    }
}

#[test]
fn graphs() {
    let bond = || Bond {
        to: Ref::new(person("")),
        ..Bond::default()
    };
    let cage = Cage {
        inmate: Dog::default().into(),
        more: vec![Puppy::default().into()],
        maybe: Some(Cat::default().into()),
        ..Cage::default()
    };
    let crowd = Person {
        children: std::iter::repeat_with(bond).take(MANY).collect(),
        ..Person::default()
    };
    let one = Arc::new(person("a"));
    let same = Bond {
        to: one.into(),
        ..Bond::default()
    };
    let friends = Person {
        children: many(same),
        ..Person::default()
    };
    let line = (0..MANY).fold(person(""), |friend, _| Person {
        friend: Ref::new(friend),
        ..Person::default()
    });
    let checked = [
        check::<Person>("a line", &line),
        check::<Vec<Cage>>("cages", &many(cage)),
        check::<Person>("a crowd", &crowd),
        check::<Person>("one friend", &friends),
        check::<Empty>("unknown nodes", &crowd),
    ];
    assert_eq!(checked, [const { Ok(()) }; 5]);
}

fn map(entries: usize) -> Dynamic {
    let entry = |number: usize| (number.to_string(), Dynamic::Int(1));
    (0..entries).map(entry).collect()
}

#[test]
fn dynamics() {
    run(rows! {
        "a list of maps": Dynamic = many(map(1)).into_iter().collect::<Dynamic>();
        "maps of twelve": Dynamic = vec![map(12); 100].into_iter().collect::<Dynamic>();
        "a map": Dynamic = map(MANY);
        "texts": Dynamic = many(Dynamic::from("a")).into_iter().collect::<Dynamic>();
        "escaped": Dynamic = many(Dynamic::from("\n\n\n")).into_iter().collect::<Dynamic>();
        "nothing": Dynamic = many(Dynamic::NULL).into_iter().collect::<Dynamic>();
        "lists": Dynamic = many(Dynamic::from_iter([Dynamic::Int(1)])).into_iter().collect::<Dynamic>();
        "empty lists": Dynamic = many(Dynamic::from_iter([] as [Dynamic; 0])).into_iter().collect::<Dynamic>();
        "blobs": Vec<Dynamic> = many(Dynamic::Bytes(Bytes::from_static(b"a")));
    });
}

/// A name, an encoding, how the input is read, and what it is made of.
type Raw = (
    &'static str,
    Encoding,
    fn(&str, Encoding, Vec<u8>) -> Result<(), String>,
    [Vec<u8>; 3],
);

/// Input that no writer of ours makes: one piece, many times, between two others.
#[test]
fn raw() {
    let text = |text: &str| text.as_bytes().to_vec();
    let rows: [Raw; 12] = [
        (
            "maps in JSON",
            Encoding::Json,
            read::<Dynamic>,
            [text("["), text("{\"a\":1},"), text("1]")],
        ),
        (
            "members in JSON",
            Encoding::Json,
            read::<Vec<BTreeMap<String, i32>>>,
            [text("["), text("{\"\\u0061\":1},"), text("{}]")],
        ),
        (
            "one key in JSON",
            Encoding::Json,
            read::<BTreeMap<String, String>>,
            [text("{"), text("\"a\":\"b\","), text("\"a\":\"b\"}")],
        ),
        (
            "reserved in JSON",
            Encoding::Json,
            read::<Empty>,
            [text("{"), text("\"$type\":\"b\","), text("\"a\":1}")],
        ),
        (
            "packed runs",
            Encoding::Protobuf,
            read::<Formats>,
            [vec![], vec![0x42, 1, 1], vec![]],
        ),
        (
            "runs in turn",
            Encoding::Protobuf,
            read::<Formats>,
            [vec![], vec![0x42, 1, 1, 0x4a, 1, 1], vec![]],
        ),
        (
            "entries in turn",
            Encoding::Protobuf,
            read::<Containers>,
            [vec![], vec![0x32, 2, 0x0a, 0, 0x3a, 2, 8, 1], vec![]],
        ),
        (
            "unknown groups",
            Encoding::Protobuf,
            read::<Empty>,
            [vec![], vec![0x0b, 0x0c], vec![]],
        ),
        (
            "texts again",
            Encoding::Protobuf,
            read::<Older>,
            [vec![], vec![0xa2, 1, 1, 0x61], vec![]],
        ),
        (
            "extensions",
            Encoding::Msgpack,
            read::<Vec<Dynamic>>,
            [vec![0xdd, 0, 0, 2, 188], vec![0xd4, 1, 1], vec![]],
        ),
        (
            "number keys",
            Encoding::Msgpack,
            read::<Vec<Dynamic>>,
            [vec![0xdd, 0, 0, 2, 188], vec![0x81, 1, 1], vec![]],
        ),
        (
            "an any",
            Encoding::Json,
            read::<Any>,
            [
                text("{\"@type\":\"google.protobuf.Value\",\"value\":["),
                text("{\"a\":1},"),
                text("1]}"),
            ],
        ),
    ];
    let failed: Vec<String> = rows
        .into_iter()
        .filter_map(|(name, encoding, read, [before, piece, behind])| {
            let bytes = [before, piece.repeat(MANY), behind].concat();
            read(name, encoding, bytes).err()
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn random_values(
        newer in vec(values::newer(), 50..200),
        rich in vec(values::rich(), 20..100),
        nested in vec(values::nested(), 50..200),
        keyed in vec(values::keyed(), 50..200),
        optionals in vec(values::optionals(), 50..200),
        dynamic in vec(values::dynamic(), 20..200),
    ) {
        let checked = [
            check::<Vec<Newer>>("newer", &newer),
            check::<Vec<Older>>("newer for older", &newer),
            check::<Vec<Rich>>("rich", &rich),
            check::<Vec<Nested>>("nested", &nested),
            check::<Vec<Keyed>>("keyed", &keyed),
            check::<Vec<Optionals>>("optionals", &optionals),
            check::<Vec<Dynamic>>("dynamic", &dynamic),
        ];
        prop_assert_eq!(checked, [const { Ok(()) }; 7]);
    }
}
