//! Decoders take anything without a panic; what they take, they write and take again unchanged.

use crate::fixtures::*;
use dovetail_wire::{Bytes, Dynamic, Encoding, Limits, Value};
use std::collections::BTreeMap;
use std::fmt::Debug;

pub(crate) fn binary(input: &[u8]) {
    fixture(Encoding::ThriftBinary, input);
}

pub(crate) fn compact(input: &[u8]) {
    fixture(Encoding::ThriftCompact, input);
}

pub(crate) fn json(input: &[u8]) {
    fixture(Encoding::ThriftJson, input);
}

pub(crate) fn protobuf(input: &[u8]) {
    fixture(Encoding::Protobuf, input);
}

pub(crate) fn msgpack(input: &[u8]) {
    fixture(Encoding::Msgpack, input);
}

pub(crate) fn plain_json(input: &[u8]) {
    fixture(Encoding::Json, input);
}

pub(crate) fn tagless(input: &[u8]) {
    fixture(Encoding::Tagless, input);
}

pub(crate) fn tagged(input: &[u8]) {
    fixture(Encoding::Tagged, input);
}

/// A value that comes in one encoding leaves in each other one, and means the same there.
pub(crate) fn relay(input: &[u8]) {
    let Some((which, input)) = input.split_first() else {
        return;
    };
    let from = Encoding::BUILT_IN[usize::from(*which) % Encoding::BUILT_IN.len()];
    let input = Bytes::copy_from_slice(input);
    let mut value = Newer::default();
    if from.decode(&mut value, &input, limits()).is_err() {
        return;
    }
    // Only what both contracts know is the same everywhere: encodings differ in what they say about
    // the rest, and protobuf does not tell an empty container from none.
    let with_ids = |to: &Encoding| !matches!(to, Encoding::Tagless);
    for to in Encoding::BUILT_IN.into_iter().filter(with_ids) {
        let bytes = Bytes::from(write(to, &value));
        let mut older = Older::default();
        let read = to.decode(&mut older, &bytes, limits());
        assert!(read.is_ok(), "{from:?} to {to:?}: {read:?}");
        assert_eq!((older.first, older.last), (value.first, value.last.clone()));
    }
}

/// The first byte chooses a type.
fn fixture(encoding: Encoding, input: &[u8]) {
    let Some((which, input)) = input.split_first() else {
        return;
    };
    const TYPES: &[fn(Encoding, &Bytes)] = &[
        again::<Everything>,
        again::<Presence>,
        again::<Containers>,
        again::<Nested>,
        again::<Keyed>,
        again::<Tree>,
        again::<Chain>,
        again::<Choice>,
        again::<Wide>,
        again::<Older>,
        again::<Newer>,
        again::<Uuids>,
        again::<Unsigned>,
        again::<Formats>,
        again::<Optionals>,
        again::<Vec<BTreeMap<String, Vec<i64>>>>,
        again::<Rich>,
        again::<Arrays>,
        again::<Vec<Moment>>,
        again::<Dynamic>,
    ];
    TYPES[usize::from(*which) % TYPES.len()](encoding, &Bytes::copy_from_slice(input));
}

/// Families and graphs: the first byte chooses an encoding and a type.
pub(crate) fn graphs(input: &[u8]) {
    let Some((which, input)) = input.split_first() else {
        return;
    };
    const TYPES: &[fn(Encoding, &Bytes)] = &[
        walk::<Person>,
        walk::<Cage>,
        walk::<CatCage>,
        walk::<Lonely>,
        walk::<PlainPerson>,
    ];
    let (ty, encoding) = (usize::from(*which) / 8, usize::from(*which) % 8);
    let encoding = Encoding::BUILT_IN[encoding % Encoding::BUILT_IN.len()];
    TYPES[ty % TYPES.len()](encoding, &Bytes::copy_from_slice(input));
}

/// No value that was read is walked without end. It need not be possible to write it: numbers of
/// nodes that were kept do not mix with others.
fn walk<T: Value + Clone + PartialEq + Debug>(encoding: Encoding, input: &Bytes) {
    let mut value = T::default();
    if encoding.decode(&mut value, input, limits()).is_err() {
        return;
    }
    let _ = format!("{value:?}");
    let _ = value == value.clone();
    for to in Encoding::BUILT_IN {
        let mut out = Vec::new();
        if to.encode(&value, &mut out, wide()).is_ok() {
            let mut value = T::default();
            let _ = to.decode(&mut value, &out.into(), wide());
        }
    }
}

fn limits() -> Limits {
    Limits {
        allocation: 1 << 20,
        ..Limits::default()
    }
}

/// Twice as deep and large as what was read: two forms of a value need not be equally deep or
/// large.
fn wide() -> Limits {
    Limits {
        depth: 2 * Limits::default().depth,
        allocation: 16 << 20,
        ..Limits::default()
    }
}

fn write<T: Value>(encoding: Encoding, value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    if let Err(problem) = encoding.encode(value, &mut out, wide()) {
        panic!("{encoding:?} reads what it cannot write: {problem}");
    }
    out
}

/// Compares bytes, not values: NaN does not equal itself.
fn again<T: Value>(encoding: Encoding, input: &Bytes) {
    let mut value = T::default();
    if encoding.decode(&mut value, input, limits()).is_err() {
        return;
    }
    let once = Bytes::from(write(encoding, &value));
    let mut value = T::default();
    match encoding.decode(&mut value, &once, wide()) {
        Ok(read) => assert_eq!(read, once.len(), "{encoding:?}"),
        Err(problem) => panic!("{encoding:?} writes what it cannot read: {problem}"),
    }
    assert_eq!(write(encoding, &value), once, "{encoding:?}");
}
