//! The values that the cases send and the server knows: what every peer makes by itself.

use crate::interop::{
    CONTAINERS_EMPTY, CONTAINERS_FULL, Choice, Colour, Containers, EVERYTHING_MAX, EVERYTHING_MIN,
    Empty, Everything, Key, Keyed, NESTED_FULL, Nested, Newer, Presence, Tree, WIDE_FULL, Wide,
};
use crate::shared::{Origin, Weight};
use dovetail::types::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The type of `Nested.book`.
pub(crate) type Book = BTreeMap<String, Vec<BTreeMap<i32, String>>>;

pub(crate) fn bools() -> Vec<bool> {
    vec![true, false]
}

pub(crate) fn bytes() -> Vec<i8> {
    vec![-128, -1, 0, 1, 127]
}

pub(crate) fn i16s() -> Vec<i16> {
    vec![i16::MIN, -1, 0, 1, i16::MAX]
}

pub(crate) fn i32s() -> Vec<i32> {
    vec![i32::MIN, -1, 0, 1, i32::MAX]
}

pub(crate) fn i64s() -> Vec<i64> {
    vec![i64::MIN, -1, 0, 1, i64::MAX]
}

pub(crate) fn doubles() -> Vec<f64> {
    vec![0.0, 1.5, -1.5, 0.1, 5e-324, f64::MAX]
}

pub(crate) fn special_doubles() -> Vec<f64> {
    vec![-0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
}

pub(crate) fn strings() -> Vec<String> {
    ["", "plain", "Grüße, 世界 🚀"].map(str::to_owned).into()
}

pub(crate) fn special_strings() -> Vec<String> {
    let escapes = "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}\u{80}\u{2028}";
    ["a\0b", escapes].map(str::to_owned).into()
}

pub(crate) fn binaries() -> Vec<Bytes> {
    vec![
        Bytes::new(),
        Bytes::from_static(&[0, 0xff, 0x80, 0x7f]),
        pattern(256),
    ]
}

pub(crate) fn colours() -> Vec<Colour> {
    Colour::VALUES.iter().map(|(colour, _)| *colour).collect()
}

pub(crate) fn origin() -> Origin {
    Origin {
        host: "desk".to_owned(),
        port: 1,
        ..Origin::default()
    }
}

pub(crate) fn everythings() -> Vec<Everything> {
    vec![EVERYTHING_MIN.clone(), EVERYTHING_MAX.clone()]
}

pub(crate) fn containers() -> Vec<Containers> {
    vec![CONTAINERS_EMPTY.clone(), CONTAINERS_FULL.clone()]
}

pub(crate) fn nested() -> Nested {
    NESTED_FULL.clone()
}

pub(crate) fn wide() -> Wide {
    WIDE_FULL.clone()
}

pub(crate) fn choices() -> Vec<Choice> {
    vec![
        Choice::Number(7),
        Choice::Text("seven".to_owned()),
        Choice::Truth(true),
        Choice::Everything(EVERYTHING_MAX.clone()),
        Choice::Numbers(vec![7]),
        Choice::Real(7.5),
    ]
}

pub(crate) fn presence_least() -> Presence {
    Presence {
        must: 1,
        plain: 3,
        ..Presence::default()
    }
}

pub(crate) fn presence_most() -> Presence {
    Presence {
        must: 0,
        may: Some(0),
        plain: 0,
        must_default: 0,
        may_default: Some(0),
        plain_default: String::new(),
        may_text: Some(String::new()),
        may_truth: Some(false),
        may_list: Some(vec![]),
        may_empty: Some(Empty::default()),
        may_weight: Some(Weight::NONE),
        ..Presence::default()
    }
}

fn key(number: i32, word: &str) -> Key {
    Key {
        number,
        word: word.to_owned(),
        ..Key::default()
    }
}

pub(crate) fn keyed() -> Keyed {
    Keyed {
        by_key: BTreeMap::from([
            (key(1, "one"), "first".to_owned()),
            (key(2, "two"), "second".to_owned()),
        ]),
        keys: BTreeSet::from([key(3, "three"), key(4, "")]),
        ..Keyed::default()
    }
}

pub(crate) fn newer() -> Newer {
    Newer {
        first: 1,
        truth: Some(true),
        tiny: Some(3),
        small: Some(4),
        medium: Some(5),
        large: Some(6),
        real: Some(7.5),
        text: Some("eight".to_owned()),
        everything: Some(EVERYTHING_MAX.clone()),
        truths: Some(vec![true, false]),
        many: Some(BTreeMap::from([(
            "one".to_owned(),
            vec![EVERYTHING_MIN.clone()],
        )])),
        numbers: Some(BTreeSet::from([12])),
        nothing: Some(BTreeMap::new()),
        choice: Some(Choice::Number(14)),
        last: "end".to_owned(),
        ..Newer::default()
    }
}

/// A tree that deep, with a leaf beside each branch.
pub(crate) fn chain(depth: i32) -> Tree {
    let leaf = |value| Tree {
        value,
        ..Tree::default()
    };
    let grow = |tree, level| Tree {
        value: level,
        children: vec![tree, leaf(-level)],
        ..Tree::default()
    };
    (1..depth).fold(leaf(0), grow)
}

/// That many bytes, each the low byte of its place.
pub(crate) fn pattern(count: usize) -> Bytes {
    (0..count).map(|place| place as u8).collect()
}
