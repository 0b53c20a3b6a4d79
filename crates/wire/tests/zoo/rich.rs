//! Types that travel as another one, and arrays.

use dovetail_wire::{
    Any, Array, Date, Decimal, Dynamic, Fixed, Free, LongArray, SignedDuration, Timestamp,
    TimestampTz, UnknownFields, message,
};
use std::collections::{BTreeMap, BTreeSet};

structs! {
    Rich {
        1 instant: Timestamp,
        2 local: TimestampTz,
        3 day: Date,
        4 span: SignedDuration,
        5 price: Decimal,
        6 any: Any,
        7 dynamic: Dynamic,
        8 maybe: Option<Timestamp>,
        9 instants: Vec<Timestamp>,
        10 days: BTreeMap<Date, Vec<SignedDuration>>,
        11 prices: BTreeSet<Decimal>,
        12 dynamics: Vec<Dynamic>,
    }

    Arrays {
        1 point: [f64; 3],
        2 matrix: [[i32; 2]; 3],
        3 names: [String; 2],
        4 points: Vec<[f32; 3]>,
        5 maybe: Option<[Date; 2]>,
        6 grid: Array<i32, (Free, Free)>,
        7 table: Array<String, (Fixed<2>, Free)>,
        8 boxes: Array<[u8; 2], (Free, Fixed<1>, Free)>,
        9 moments: [Timestamp; 2],
        10 long: LongArray<u8, 40>,
        11 longer: Option<LongArray<LongArray<Decimal, 2>, 33>>,
    }

    // Some of `Rich` as another peer has it.
    Carriers {
        3 day: i32,
        5 price: String,
    }

    // All of one size.
    Moment {
        1 instant: Timestamp,
        2 local: TimestampTz,
        3 day: Date,
        4 span: SignedDuration,
        5 place: [[u16; 2]; 2],
    }
}
