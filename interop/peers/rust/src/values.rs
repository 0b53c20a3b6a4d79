//! The values that the cases send and the server knows, made by hand: for constants that are
//! structs the 0.17 generator writes `unimplemented!()`.

use std::collections::{BTreeMap, BTreeSet};

use thrift::OrderedFloat;

use crate::interop::{
    Choice, Colour, Containers, Empty, Everything, Key, Keyed, Nested, Newer, Presence, Tree, Wide,
};
use crate::shared::shared::{Origin, Weight};

/// The type of `Nested.book`.
pub type Book = BTreeMap<String, Vec<BTreeMap<i32, String>>>;

pub fn bools() -> Vec<bool> {
    vec![true, false]
}

pub fn bytes() -> Vec<i8> {
    vec![-128, -1, 0, 1, 127]
}

pub fn i16s() -> Vec<i16> {
    vec![-32768, -1, 0, 1, 32767]
}

pub fn i32s() -> Vec<i32> {
    vec![i32::MIN, -1, 0, 1, i32::MAX]
}

pub fn i64s() -> Vec<i64> {
    vec![i64::MIN, -1, 0, 1, i64::MAX]
}

fn floats(values: &[f64]) -> Vec<OrderedFloat<f64>> {
    values.iter().copied().map(OrderedFloat).collect()
}

pub fn doubles() -> Vec<OrderedFloat<f64>> {
    floats(&[0.0, 1.5, -1.5, 0.1, 5e-324, f64::MAX])
}

pub fn special_doubles() -> Vec<OrderedFloat<f64>> {
    floats(&[-0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN])
}

pub fn strings() -> Vec<String> {
    vec![String::new(), "plain".into(), "Grüße, 世界 🚀".into()]
}

pub fn special_strings() -> Vec<String> {
    vec![
        "a\0b".into(),
        "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}\u{80}\u{2028}".into(),
    ]
}

pub fn binaries() -> Vec<Vec<u8>> {
    vec![vec![], vec![0, 0xff, 0x80, 0x7f], pattern(256)]
}

pub fn colours() -> Vec<Colour> {
    Colour::ENUM_VALUES.to_vec()
}

pub fn origin() -> Origin {
    Origin::new("desk".to_owned(), 1)
}

pub fn everythings() -> Vec<Everything> {
    let min = Everything::new(
        false,
        i8::MIN,
        i16::MIN,
        i32::MIN,
        i64::MIN,
        OrderedFloat(-1.5),
        String::new(),
        vec![],
        Colour::INFRARED,
        i64::MIN,
        Origin::new(String::new(), i16::MIN),
    );
    let max = Everything::new(
        true,
        i8::MAX,
        i16::MAX,
        i32::MAX,
        i64::MAX,
        OrderedFloat(1234.5),
        "Grüße, 世界 🚀".to_owned(),
        b"bytes".to_vec(),
        Colour::ULTRAVIOLET,
        i64::MAX,
        Origin::new("127.0.0.1".to_owned(), i16::MAX),
    );
    vec![min, max]
}

pub fn containers() -> Vec<Containers> {
    let empty = Containers::new(
        vec![],
        vec![],
        vec![],
        BTreeSet::new(),
        BTreeSet::new(),
        BTreeMap::new(),
        BTreeMap::new(),
        BTreeMap::new(),
        vec![],
        BTreeMap::new(),
    );
    let numbers = [
        0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 1000000, -1000000,
    ];
    let full = Containers::new(
        vec![true, false, true],
        [&numbers[..], &[i32::MAX, i32::MIN]].concat(),
        floats(&[0.5, -0.25, 1e100]),
        BTreeSet::from(["alpha".to_owned()]),
        BTreeSet::from([i64::MAX]),
        BTreeMap::from([("one".to_owned(), 1)]),
        BTreeMap::from([(7, "seven".to_owned())]),
        BTreeMap::from([(Colour::BLUE, Origin::new("here".to_owned(), 1))]),
        vec![vec![], b"x".to_vec()],
        BTreeMap::from([(true, false)]),
    );
    vec![empty, full]
}

pub fn nested() -> Nested {
    Nested::new(
        vec![vec![1, 2, 3], vec![], vec![4]],
        BTreeMap::from([(
            "chapter".to_owned(),
            vec![
                BTreeMap::from([(1, "one".to_owned())]),
                BTreeMap::new(),
                BTreeMap::from([(2, "two".to_owned())]),
            ],
        )]),
        vec![BTreeMap::from([(3, "three".to_owned())])],
        vec![BTreeSet::from([1]), BTreeSet::new()],
        BTreeMap::from([(1, BTreeMap::from([(2, 3)]))]),
        vec![Origin::new("a".to_owned(), 1), Origin::new("b".to_owned(), 9090)],
        vec![vec![vec![vec![1, 2], vec![]], vec![]], vec![]],
    )
}

/// No field set.
pub fn wide_empty() -> Wide {
    let text: Option<String> = None;
    Wide::new(
        None, None, None, None, text, None, None, None, None, None, None, None, None, None, None, None, None,
        None, None, None, None, None, None, None, None, None, None, None, None,
    )
}

pub fn wide() -> Wide {
    Wide {
        f1: Some(1),
        f2: Some(true),
        f3: Some(false),
        f4: Some(4),
        f5: Some("five".into()),
        f6: Some(OrderedFloat(6.5)),
        f7: Some(7),
        f8: Some(8),
        f9: Some(vec![9, 9]),
        f10: Some(Empty {}),
        f11: Some(11),
        f12: Some(12),
        f13: Some(13),
        f14: Some(14),
        f15: Some(15),
        f16: Some(16),
        f17: Some(true),
        f32: Some(false),
        f48: Some(true),
        f63: Some(63),
        f64: Some(64),
        f127: Some("127".into()),
        f128: Some(128),
        f255: Some(false),
        f256: Some(BTreeMap::from([("256".into(), "yes".into())])),
        f257: Some(b"257".to_vec()),
        f1000: Some(1000),
        f8192: Some(8192),
        f32767: Some("32767".into()),
    }
}

pub fn choices() -> Vec<Choice> {
    vec![
        Choice::Number(7),
        Choice::Text("seven".into()),
        Choice::Truth(true),
        Choice::Everything(everythings().remove(1)),
        Choice::Numbers(vec![7]),
        Choice::Real(OrderedFloat(7.5)),
    ]
}

pub fn presence_least() -> Presence {
    Presence {
        must: 1,
        may: None,
        plain: Some(3),
        must_default: 4,
        may_default: Some(5),
        plain_default: Some("six".into()),
        may_text: None,
        may_truth: None,
        may_list: None,
        may_empty: None,
        may_weight: None,
    }
}

pub fn presence_most() -> Presence {
    Presence {
        must: 0,
        may: Some(0),
        plain: Some(0),
        must_default: 0,
        may_default: Some(0),
        plain_default: Some(String::new()),
        may_text: Some(String::new()),
        may_truth: Some(false),
        may_list: Some(vec![]),
        may_empty: Some(Empty {}),
        may_weight: Some(Weight::NONE),
    }
}

fn key(number: i32, word: &str) -> Key {
    Key::new(number, word.to_owned())
}

pub fn keyed() -> Keyed {
    Keyed::new(
        BTreeMap::from([
            (key(1, "one"), "first".to_owned()),
            (key(2, "two"), "second".to_owned()),
        ]),
        BTreeSet::from([key(3, "three"), key(4, "")]),
    )
}

pub fn newer() -> Newer {
    let mut all = everythings();
    Newer {
        first: Some(1),
        truth: Some(true),
        tiny: Some(3),
        small: Some(4),
        medium: Some(5),
        large: Some(6),
        real: Some(OrderedFloat(7.5)),
        text: Some("eight".into()),
        everything: all.pop(),
        truths: Some(vec![true, false]),
        many: Some(BTreeMap::from([("one".into(), all)])),
        numbers: Some(BTreeSet::from([12])),
        nothing: Some(BTreeMap::new()),
        choice: Some(Choice::Number(14)),
        last: Some("end".into()),
    }
}

/// A tree that deep, with a leaf beside each branch.
pub fn chain(depth: i32) -> Tree {
    let mut tree = Tree::new(0, vec![]);
    for level in 1..depth {
        let leaf = Tree::new(-level, vec![]);
        tree = Tree::new(level, vec![Box::new(tree), Box::new(leaf)]);
    }
    tree
}

/// That many bytes, each the low byte of its place.
pub fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|place| place as u8).collect()
}
