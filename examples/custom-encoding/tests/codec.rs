//! Values through the codec: against the examples of the RFC, there and back, and from hostile
//! hands.
#![allow(clippy::unwrap_used, unsafe_code)]

use dovetail::encoding::{DecodeErrorKind, EncodeError, Encoding, Limits, UnknownValue, Value};
use dovetail::message;
use dovetail::protocol::{CustomProtocol, MessageKind};
use dovetail::types::{Bytes, Ref, UnknownFields, Uuid};
use example_custom_encoding::codec::Cbor;
use example_custom_encoding::contract::{Book, Shelf};
use example_custom_encoding::protocol::CborProtocol;
use example_custom_encoding::walden;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

const CBOR: Encoding = Encoding::Custom(&Cbor);

/// Counts what this thread has asked for, and never gets less by freeing.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + layout.size()));
        // SAFETY: as the caller promised us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// A value is these bytes, and these bytes are the value.
fn check<T: Value + PartialEq + Debug>(value: T, expected: &str) {
    let bytes = Bytes::from(CBOR.to_bytes(&value).unwrap());
    assert_eq!(bytes, hex(expected), "{value:?} became {bytes:02x?}");
    assert_eq!(CBOR.from_bytes::<T>(&bytes).unwrap(), value);
}

/// The rows of RFC 8949, appendix A, that have a counterpart here.
#[test]
fn examples_of_the_rfc() {
    for (number, expected) in [
        (0, "00"),
        (10, "0a"),
        (23, "17"),
        (24, "1818"),
        (100, "1864"),
        (1000, "1903e8"),
        (1_000_000, "1a000f4240"),
        (1_000_000_000_000, "1b000000e8d4a51000"),
        (-1, "20"),
        (-10, "29"),
        (-100, "3863"),
        (-1000, "3903e7"),
        (i64::MAX, "1b7fffffffffffffff"),
        (i64::MIN, "3b7fffffffffffffff"),
    ] {
        check(number, expected);
    }
    check(false, "f4");
    check(true, "f5");
    check(1.1, "fb3ff199999999999a");
    check(f64::INFINITY, "fb7ff0000000000000");
    check(String::new(), "60");
    check("IETF".to_owned(), "6449455446");
    check("\u{6c34}".to_owned(), "63e6b0b4");
    check(Bytes::new(), "40");
    check(Bytes::from_static(&[1, 2, 3, 4]), "4401020304");
    check(Vec::<i32>::new(), "80");
    check(vec![vec![1_i32], vec![2, 3]], "82 8101 820203");
    check(BTreeMap::from([(1_i16, 2_i16), (3, 4)]), "a2 0102 0304");
}

#[test]
fn values_of_our_own() {
    check(u64::MAX, "20");
    check(200_u8, "3837");
    check(0.5_f32, "fb3fe0000000000000");
    check(BTreeSet::from([1_i8, -1]), "82 20 01");
    check(Shelf::SCIENCE, "02");
    check(
        Uuid::from_u128(1),
        "d825 50 00000000000000000000000000000001",
    );
    let mut book = Book {
        title: "A".to_owned(),
        shelf: Shelf(77),
        ..Default::default()
    };
    let head = "bf 01 6141 02 80 03 184d 05 80 06 a0 07 40 08 d82550";
    let uuid = "00".repeat(16);
    check(book.clone(), &format!("{head} {uuid} 09 f4 0a 80 ff"));
    book.parts.push(walden());
    let bytes = CBOR.to_bytes(&book).unwrap();
    assert_eq!(CBOR.from_bytes::<Book>(&bytes.into()).unwrap(), book);
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Older {
    title: String,
    unknown_fields: UnknownFields,
}

message!(Older { 1 title: String, ..unknown_fields });

/// A relay with an older contract loses nothing, though it cannot tell text from bytes.
#[test]
fn fields_that_are_not_known() {
    let bytes = CBOR.to_bytes(&walden()).unwrap();
    let relayed: Older = CBOR.from_bytes(&bytes.into()).unwrap();
    assert_eq!(relayed.unknown_fields.iter().count(), 9);
    let year = (4, UnknownValue::I64(1854));
    assert!(relayed.unknown_fields.iter().any(|field| *field == year));
    let bytes = CBOR.to_bytes(&relayed).unwrap();
    assert_eq!(CBOR.from_bytes::<Book>(&bytes.into()).unwrap(), walden());
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    next: Ref<Node>,
}

message!(Node {
    1 next: Ref<Node>,
});

#[test]
fn a_circle() {
    let own = Arc::new_cyclic(|own| Node {
        next: Ref::from(own),
    });
    check(
        Node { next: own.into() },
        "bf 01 bf 197ffe 00 01 bf 197ffd 00 ff ff ff",
    );
}

/// A field of another kind is left out, as in every encoding; an element of another kind is an
/// error.
#[test]
fn values_of_another_kind() {
    let title: Older = CBOR.from_bytes(&hex("bf 01 05 ff")).unwrap();
    assert_eq!(title, Older::default());
    refused::<Vec<i32>>(
        "81 6141",
        |kind| matches!(kind, DecodeErrorKind::TypeMismatch { found, .. } if found == "text"),
    );
    refused::<Vec<i32>>(
        "9f 01 ff",
        |kind| matches!(kind, DecodeErrorKind::TypeMismatch { found, .. } if found.contains("indefinite")),
    );
    // Nobody could send this list on in another encoding.
    refused::<Older>("bf 02 82 01 6141 ff", |kind| {
        matches!(kind, DecodeErrorKind::Malformed { .. })
    });
    refused::<i8>("1880", |kind| {
        matches!(kind, DecodeErrorKind::Malformed { .. })
    });
}

/// Decoding fails with the right error, and asks for little memory on the way.
fn refused<T: Value + Debug>(input: &str, right: impl Fn(&DecodeErrorKind) -> bool) {
    let bytes = hex(input);
    let before = ASKED.get();
    let error = CBOR.from_bytes::<T>(&bytes).unwrap_err();
    let asked = ASKED.get() - before;
    let start = input.get(..40).unwrap_or(input);
    assert!(right(error.kind()), "{start}: {error}");
    assert!(asked < 64 << 10, "{start}: asked for {asked} bytes");
}

#[test]
fn lengths_beyond_the_input() {
    let beyond = |kind: &DecodeErrorKind| matches!(kind, DecodeErrorKind::LengthBeyondInput { .. });
    for length in [
        "1a7fffffff",
        "1affffffff",
        "1b7fffffffffffffff",
        "1bffffffffffffffff",
    ] {
        let head = |major: u8| {
            let first = u8::from_str_radix(&length[..2], 16).unwrap() | major;
            format!("{first:02x}{}", &length[2..])
        };
        refused::<String>(&head(0x60), beyond);
        refused::<Bytes>(&head(0x40), beyond);
        refused::<Vec<i64>>(&head(0x80), beyond);
        refused::<BTreeSet<i64>>(&head(0x80), beyond);
        refused::<BTreeMap<i64, i64>>(&head(0xa0), beyond);
        refused::<Older>(&format!("bf 05 {} ff", head(0x80)), beyond);
    }
}

/// An allocation counts before it is made, also where the input would be long enough.
#[test]
fn more_than_the_budget() {
    let mut input = hex("1a000fffff").to_vec();
    input[0] |= 0x80;
    input.resize(2 << 20, 0);
    let limits = Limits {
        allocation: 1 << 20,
        ..Limits::default()
    };
    let before = ASKED.get();
    let error = CBOR
        .decode(&mut Vec::<String>::new(), &input.into(), limits)
        .unwrap_err();
    assert!(
        matches!(error.kind(), DecodeErrorKind::AllocationLimit { .. }),
        "{error}"
    );
    assert!(ASKED.get() - before < 4096);
}

#[test]
fn bombs_of_depth() {
    let too_deep = |kind: &DecodeErrorKind| matches!(kind, DecodeErrorKind::TooDeep { limit: 64 });
    for level in ["81", "a101", "bf01"] {
        refused::<Older>(&format!("bf 05 {}", level.repeat(100_000)), too_deep);
    }
    // Books within books, which the contract allows.
    refused::<Book>(&"bf 0a 81".repeat(100_000), too_deep);

    let mut book = walden();
    for _ in 0..100 {
        book = Book {
            parts: vec![book],
            ..Default::default()
        };
    }
    let error = CBOR.to_bytes(&book).unwrap_err();
    assert_eq!(error, EncodeError::TooDeep { limit: 64 });
}

#[test]
fn every_truncation() {
    let bytes = Bytes::from(CBOR.to_bytes(&walden()).unwrap());
    for length in 0..bytes.len() {
        let part = bytes.slice(..length);
        assert!(CBOR.from_bytes::<Book>(&part).is_err(), "{length} bytes");
        assert!(CBOR.from_bytes::<Older>(&part).is_err(), "{length} bytes");
    }
    let mut head = Vec::new();
    CborProtocol.write_head(MessageKind::Call, "find", 5, &mut head);
    assert!(CborProtocol.read_head(&head).is_ok());
    for length in 0..head.len() {
        assert!(
            CborProtocol.read_head(&head[..length]).is_err(),
            "{length} bytes"
        );
    }
}

/// Whatever comes: a value or an error, and never more memory than some times the input.
#[test]
fn random_bytes_and_damaged_values() {
    let sound = CBOR.to_bytes(&walden()).unwrap();
    let mut head = Vec::new();
    CborProtocol.write_head(MessageKind::Reply, "find", -5, &mut head);
    // xorshift: the same bytes in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..50_000 {
        let length = random() % 64;
        let noise: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        let mut damaged = sound.clone();
        for _ in 0..=random() % 3 {
            let index = random() % damaged.len();
            damaged[index] = random() as u8;
        }
        let index = random() % head.len();
        let mut damaged_head = head.clone();
        damaged_head[index] = random() as u8;
        for input in [noise, damaged, damaged_head] {
            let _ = CborProtocol.read_head(&input);
            let input = Bytes::from(input);
            let before = ASKED.get();
            let _ = CBOR.from_bytes::<Book>(&input);
            let _ = CBOR.from_bytes::<Older>(&input);
            let _ = CBOR.from_bytes::<Vec<String>>(&input);
            let asked = ASKED.get() - before;
            assert!(asked < 64 << 10, "{input:02x?}: asked for {asked} bytes");
        }
    }
}
