//! Types as the generator makes them: those of `interop/contract`, and one of every remaining
//! shape.
#![allow(missing_docs, dead_code, unreachable_pub)]

mod graph;

#[allow(unused_imports)]
pub use graph::*;

use dovetail_wire::{Bytes, OrderedFloat, UnknownFields, Uuid, enumeration, message, union};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Colour(pub i32);

enumeration!(Colour {
    INFRARED = -1,
    RED = 0,
    GREEN = 1,
    BLUE = 20,
    ULTRAVIOLET = 2147483647,
});

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Weight(pub i32);

enumeration!(Weight {
    NONE = 0,
    LIGHT = 10,
    HEAVY = 1000,
});

/// A struct whose fields all derive `Default`, and its table.
macro_rules! structs {
    ($($name:ident { $($id:literal $field:ident: $ty:ty $([$($attribute:ident),*])?,)* })*) => {$(
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(pub $field: $ty,)*
            pub unknown_fields: UnknownFields,
        }

        message!($name {
            $($id $field: $ty $([$($attribute),*])?,)*
            ..unknown_fields
        });
    )*};
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    pub host: String,
    pub port: i16,
}

impl Default for Origin {
    fn default() -> Self {
        Origin {
            host: String::new(),
            port: 9090,
        }
    }
}

message!(Origin {
    1 host: String,
    2 port: i16,
});

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub number: i32,
    pub word: String,
}

message!(Key {
    1 number: i32,
    2 word: String,
});

#[derive(Clone, Debug, PartialEq)]
pub struct Presence {
    pub must: i32,
    pub may: Option<i32>,
    pub plain: i32,
    pub must_default: i32,
    pub may_default: Option<i32>,
    pub plain_default: String,
    pub may_text: Option<String>,
    pub may_truth: Option<bool>,
    pub may_list: Option<Vec<i32>>,
    pub may_empty: Option<Empty>,
    pub may_weight: Option<Weight>,
}

impl Default for Presence {
    fn default() -> Self {
        Presence {
            must: 0,
            may: None,
            plain: 0,
            must_default: 4,
            may_default: None,
            plain_default: "six".to_owned(),
            may_text: None,
            may_truth: None,
            may_list: None,
            may_empty: None,
            may_weight: None,
        }
    }
}

message!(Presence {
    1 must: i32 [required],
    2 may: Option<i32>,
    3 plain: i32,
    4 must_default: i32 [required],
    5 may_default: Option<i32>,
    6 plain_default: String,
    7 may_text: Option<String>,
    8 may_truth: Option<bool>,
    9 may_list: Option<Vec<i32>>,
    10 may_empty: Option<Empty>,
    11 may_weight: Option<Weight>,
});

structs! {
    Empty {}

    Everything {
        1 truth: bool,
        2 tiny: i8,
        3 small: i16,
        4 medium: i32,
        5 large: i64,
        6 real: f64,
        7 text: String,
        8 blob: Bytes,
        9 colour: Colour,
        10 ticket: i64,
        11 origin: Origin,
    }

    Containers {
        1 truths: Vec<bool>,
        2 numbers: Vec<i32>,
        3 reals: Vec<f64>,
        4 words: BTreeSet<String>,
        5 bigs: BTreeSet<i64>,
        6 counts: BTreeMap<String, i32>,
        7 names: BTreeMap<i16, String>,
        8 origins: BTreeMap<Colour, Origin>,
        9 blobs: Vec<Bytes>,
        10 opposites: BTreeMap<bool, bool>,
    }

    Nested {
        1 matrix: Vec<Vec<i32>>,
        2 book: BTreeMap<String, Vec<BTreeMap<i32, String>>>,
        3 pages: Vec<BTreeMap<i32, String>>,
        4 groups: Vec<BTreeSet<i32>>,
        5 table: BTreeMap<i32, BTreeMap<i32, i32>>,
        6 origins: Vec<Origin>,
        7 deep: Vec<Vec<Vec<Vec<i8>>>>,
    }

    Keyed {
        1 by_key: BTreeMap<Key, String>,
        2 keys: BTreeSet<Key>,
    }

    Tree {
        1 value: i32,
        2 children: Vec<Tree>,
    }

    Chain {
        1 value: i32,
        2 next: Option<Box<Chain>>,
    }

    Wide {
        1 f1: Option<i32>,
        2 f2: Option<bool>,
        3 f3: Option<bool>,
        4 f4: Option<i64>,
        5 f5: Option<String>,
        6 f6: Option<f64>,
        7 f7: Option<i8>,
        8 f8: Option<i16>,
        9 f9: Option<Vec<i32>>,
        10 f10: Option<Empty>,
        11 f11: Option<i32>,
        12 f12: Option<i32>,
        13 f13: Option<i32>,
        14 f14: Option<i32>,
        15 f15: Option<i32>,
        16 f16: Option<i32>,
        17 f17: Option<bool>,
        32 f32: Option<bool>,
        48 f48: Option<bool>,
        63 f63: Option<i32>,
        64 f64: Option<i32>,
        127 f127: Option<String>,
        128 f128: Option<i32>,
        255 f255: Option<bool>,
        256 f256: Option<BTreeMap<String, String>>,
        257 f257: Option<Bytes>,
        1000 f1000: Option<i64>,
        8192 f8192: Option<i32>,
        32767 f32767: Option<String>,
    }

    Older {
        1 first: i32,
        20 last: String,
    }

    Newer {
        1 first: i32,
        2 truth: Option<bool>,
        3 tiny: Option<i8>,
        4 small: Option<i16>,
        5 medium: Option<i32>,
        6 large: Option<i64>,
        7 real: Option<f64>,
        8 text: Option<String>,
        9 everything: Option<Everything>,
        10 truths: Option<Vec<bool>>,
        11 many: Option<BTreeMap<String, Vec<Everything>>>,
        12 numbers: Option<BTreeSet<i32>>,
        13 nothing: Option<BTreeMap<i32, i32>>,
        14 choice: Option<Choice>,
        20 last: String,
    }

    Uuids {
        1 single: Uuid,
        2 many: Vec<Uuid>,
        3 pairs: BTreeMap<Uuid, Uuid>,
        4 distinct: BTreeSet<Uuid>,
        5 last: String,
    }

    Unsigned {
        1 a: u8,
        2 b: u16,
        3 c: u32,
        4 d: u64,
        5 e: f32,
        6 many: Vec<u32>,
        7 floats: Vec<f32>,
        8 by: BTreeMap<u64, u8>,
        9 wide: BTreeSet<OrderedFloat<f64>>,
    }

    Formats {
        1 varint: i32,
        2 zigzag32: i32 [zigzag],
        3 zigzag64: i64 [zigzag],
        4 fixed32: u32 [fixed],
        5 fixed64: u64 [fixed],
        6 sfixed32: i32 [fixed],
        7 sfixed64: i64 [fixed],
        8 many: Vec<i64>,
        9 many_zigzag: Vec<i32> [zigzag],
        10 many_fixed: Vec<u64> [fixed],
        11 maybe: Option<i64> [zigzag],
    }

    Optionals {
        1 list: Option<Vec<Option64>>,
        2 set: Option<BTreeSet<String>>,
        3 map: Option<BTreeMap<i64, Vec<String>>>,
        4 choice: Option<Choice>,
        5 boxed: Option<Box<Newer>>,
        6 choices: Vec<Choice>,
        7 by_choice: BTreeMap<i32, Choice>,
        8 lists: Vec<Vec<Key>>,
        9 sets: BTreeSet<Vec<bool>>,
    }

    Truth {
        1 truth: bool,
        2 colour: Colour,
    }

    // Numbers only, and the same where each of them may be absent: the one is a block, the other
    // never.
    Numbers { 1 byte: i8, 2 short: i16, 3 word: i32, 18 long: i64, 19 colour: Colour, 20 pair: Pair, 35 real: OrderedFloat<f64>, }
    Pair { 1 left: i32, 2 right: i64, }
    NumbersApart {
        1 byte: Option<i8>,
        2 short: Option<i16>,
        3 word: Option<i32>,
        18 long: Option<i64>,
        19 colour: Option<Colour>,
        20 pair: Option<PairApart>,
        35 real: Option<OrderedFloat<f64>>,
    }
    PairApart { 1 left: Option<i32>, 2 right: Option<i64>, }
    Sample {
        1 small: i32,
        2 inner: Truth,
        3 large: i64,
        4 real: OrderedFloat<f64>,
        5 tiny: u8,
        6 short: i16,
    }

    Option64 {
        -1 negative: Option<i64>,
        1 positive: Option<i64>,
    }
}

mod rich;
#[allow(unused_imports)] // Not every test knows them.
pub use rich::*;

#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Number(i32),
    Text(String),
    Truth(bool),
    Everything(Everything),
    Numbers(Vec<i32>),
    Real(f64),
    Unknown(UnknownFields),
}

union!(Choice {
    1 Number as "number": i32,
    2 Text as "text": String,
    3 Truth as "truth": bool,
    4 Everything as "everything": Everything,
    5 Numbers as "numbers": Vec<i32>,
    300 Real as "real": f64,
    ..Unknown
});
