//! Small hostile messages: their cost, and the errors for them.
#![allow(clippy::unwrap_used, clippy::type_complexity, unsafe_code)]

mod describe;
mod fixtures;

use describe::from_hex;
use dovetail_wire::{
    Array, Bytes, Decimal, DecodeErrorKind, Dynamic, EncodeError, Encoding, Free, Limits, Ref,
    UnknownFields, Uuid, Value,
};
use fixtures::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Counts the bytes that this thread allocates; freeing does not lower the count.
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

/// Decodes, which must fail, and returns the error and the bytes asked for.
fn refused<T: Value>(
    encoding: Encoding,
    input: &Bytes,
    limits: Limits,
) -> (DecodeErrorKind, usize) {
    let before = ASKED.get();
    let mut value = T::default();
    let result = encoding.decode(&mut value, input, limits);
    let asked = ASKED.get() - before;
    (result.unwrap_err().kind().clone(), asked)
}

#[test]
fn bombs_of_counts() {
    use Encoding::{
        Protobuf, Tagged, Tagless, ThriftBinary as Binary, ThriftCompact as Compact,
        ThriftJson as Json,
    };
    /// 2 to the power of 60.
    const HUGE: &str = "808080808080808010";
    type Grid = Array<i64, (Free, Free)>;
    let extents = "ffffffff ffffffff";
    let rows: Vec<(
        Encoding,
        fn(Encoding, &Bytes, Limits) -> (DecodeErrorKind, usize),
        String,
    )> = vec![
        (Binary, refused::<Vec<i64>>, "0a7fffffff 0000".into()),
        (Binary, refused::<Vec<bool>>, "027fffffff 0000".into()),
        (Binary, refused::<Vec<Everything>>, "0c7fffffff 0000".into()),
        (Binary, refused::<Vec<String>>, "0b7fffffff 0000".into()),
        (Binary, refused::<String>, "7fffffff 0000".into()),
        (Binary, refused::<Bytes>, "7fffffff 0000".into()),
        (
            Binary,
            refused::<HashMap<i32, i32>>,
            "08087fffffff 0000".into(),
        ),
        (Binary, refused::<BTreeSet<i32>>, "087fffffff 0000".into()),
        (
            Binary,
            refused::<BTreeMap<String, Vec<i32>>>,
            "0b0f7fffffff 0000".into(),
        ),
        (Binary, refused::<Older>, "0f00050a7fffffff 00".into()),
        (Binary, refused::<Older>, "0d00050a0a7fffffff 00".into()),
        (Binary, refused::<Older>, "0b00057fffffff 00".into()),
        (Binary, refused::<Vec<i64>>, "0affffffff".into()),
        (Compact, refused::<Vec<i64>>, "f6ffffffff07 0000".into()),
        (Compact, refused::<Vec<bool>>, "f1ffffffff07 0000".into()),
        (
            Compact,
            refused::<Vec<Everything>>,
            "fcffffffff07 0000".into(),
        ),
        (Compact, refused::<String>, "ffffffff07 0000".into()),
        (
            Compact,
            refused::<HashMap<i32, i32>>,
            "ffffffff0755 0000".into(),
        ),
        (Compact, refused::<Older>, "59f6ffffffff07 00".into()),
        (Compact, refused::<Older>, "5bffffffff0766 00".into()),
        (Compact, refused::<Vec<i64>>, "f6ffffffff0f".into()),
        (Json, refused::<Vec<i64>>, text("[\"i64\",2147483647,1]")),
        (Json, refused::<Vec<i64>>, text("[\"i64\",-1]")),
        (
            Json,
            refused::<HashMap<i32, i32>>,
            text("[\"i32\",\"i32\",2147483647,{}]"),
        ),
        (
            Json,
            refused::<Older>,
            text("{\"5\":{\"lst\":[\"i64\",2147483647,1]}}"),
        ),
        (Protobuf, refused::<String>, "0affffffff07 00".into()),
        (Protobuf, refused::<Vec<i64>>, "0affffffff07 00".into()),
        (Protobuf, refused::<Older>, "2affffffff07 00".into()),
        (Protobuf, refused::<Nested>, "3affffffff07 00".into()),
        (Tagless, refused::<Vec<bool>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<i64>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<i64>>, "02 0000".into()),
        (Tagless, refused::<Vec<Uuid>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<Everything>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<Empty>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<Choice>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<Vec<i64>>>, format!("02 00 {HUGE}")),
        (Tagless, refused::<String>, format!("{HUGE} 0000")),
        (Tagless, refused::<Bytes>, format!("{HUGE} 0000")),
        (Tagless, refused::<BTreeSet<i8>>, format!("{HUGE} 0000")),
        (Tagless, refused::<HashMap<i8, i8>>, format!("{HUGE} 0000")),
        (Tagged, refused::<Vec<i64>>, format!("{HUGE} 05 0000")),
        (Tagged, refused::<Vec<Empty>>, format!("{HUGE} 10 0000")),
        (Tagged, refused::<String>, format!("{HUGE} 0000")),
        (
            Tagged,
            refused::<HashMap<i8, i8>>,
            format!("{HUGE} 02 02 0000"),
        ),
        (Tagged, refused::<Older>, format!("51 {HUGE} 05 00")),
        (Tagged, refused::<Older>, format!("53 {HUGE} 05 05 00")),
        (Tagged, refused::<Older>, format!("4d {HUGE} 00")),
        (Tagless, refused::<Vec<[i64; 3]>>, format!("{HUGE} 0000")),
        (Tagless, refused::<Vec<[String; 2]>>, format!("{HUGE} 0000")),
        (Tagless, refused::<[String; 32]>, "01 61".into()),
        (Tagless, refused::<Grid>, format!("{HUGE} 0000")),
        (Tagless, refused::<Grid>, format!("02 {extents} {HUGE} 00")),
        (Tagless, refused::<Dynamic>, format!("06 {HUGE} 0000")),
        (Tagless, refused::<Decimal>, format!("{HUGE} 0000")),
        (Tagged, refused::<[i64; 3]>, format!("{HUGE} 05 0000")),
        (Tagged, refused::<Grid>, format!("31 {HUGE} 08 00")),
        (Protobuf, refused::<Grid>, "0affffffff07 00".into()),
    ];
    for (encoding, refused, hex) in rows {
        let input = Bytes::from(from_hex(&hex));
        let (kind, asked) = refused(encoding, &input, Limits::default());
        let expected = matches!(
            kind,
            DecodeErrorKind::LengthBeyondInput { .. } | DecodeErrorKind::NegativeLength { .. }
        );
        assert!(expected, "{encoding:?} {hex}: {kind:?}");
        assert!(asked < 64 << 10, "{encoding:?} {hex}: {asked} bytes");
    }
}

/// Elements that are small on the wire and large in memory are what the allocation limit is for.
#[test]
fn amplification_is_limited() {
    let limits = Limits {
        allocation: 1 << 20,
        ..Limits::default()
    };
    let empty = vec![Everything::default(); 50_000];
    let mut count = 50_000u32.to_be_bytes().to_vec();
    count.insert(0, 12);
    let mut binary = count;
    binary.extend(vec![0; 50_000]);
    let (kind, asked) = refused::<Vec<Everything>>(Encoding::ThriftBinary, &binary.into(), limits);
    assert!(
        matches!(kind, DecodeErrorKind::AllocationLimit { .. }),
        "{kind:?}"
    );
    assert!(asked < 64 << 10, "{asked}");
    for encoding in Encoding::BUILT_IN {
        let bytes = Bytes::from(encoding.to_bytes(&empty).unwrap());
        let (kind, asked) = refused::<Vec<Everything>>(encoding, &bytes, limits);
        assert!(
            matches!(kind, DecodeErrorKind::AllocationLimit { .. }),
            "{kind:?}"
        );
        // A vector that grows has asked for twice what it holds.
        assert!(asked < 4 << 20, "{encoding:?}: {asked}");
    }
    // Unknown fields cost memory too.
    let newer = Newer {
        truths: Some(vec![true; 100_000]),
        ..Newer::default()
    };
    for encoding in [
        Encoding::Tagged,
        Encoding::ThriftBinary,
        Encoding::ThriftCompact,
        Encoding::ThriftJson,
    ] {
        let bytes = Bytes::from(encoding.to_bytes(&newer).unwrap());
        let (kind, asked) = refused::<Older>(encoding, &bytes, limits);
        assert!(
            matches!(kind, DecodeErrorKind::AllocationLimit { .. }),
            "{kind:?}"
        );
        assert!(asked < 64 << 10, "{encoding:?}: {asked}");
    }
}

/// Nodes are a few bytes on the wire, and more than their values in memory.
#[test]
fn nodes_are_limited() {
    let limits = Limits {
        allocation: 1 << 20,
        ..Limits::default()
    };
    let bond = || Bond {
        to: Ref::new(Person::default()),
        ..Bond::default()
    };
    let crowd = Person {
        children: std::iter::repeat_with(bond).take(100_000).collect(),
        ..Person::default()
    };
    for encoding in Encoding::BUILT_IN {
        let bytes = Bytes::from(encoding.to_bytes(&crowd).unwrap());
        // The list itself fits.
        let limits = Limits {
            allocation: limits.allocation + 100_000 * size_of::<Bond>(),
            ..limits
        };
        let (kind, asked) = refused::<Person>(encoding, &bytes, limits);
        assert!(
            matches!(kind, DecodeErrorKind::AllocationLimit { .. }),
            "{encoding:?}: {kind}"
        );
        assert!(asked < 2 * limits.allocation, "{encoding:?}: {asked}");
    }
}

/// Reads a value with the smallest limit that it keeps, and with one less.
fn check_limit<T: Value + Clone>(value: &T, limit: impl Fn(usize) -> Limits, size: usize) {
    for encoding in Encoding::BUILT_IN {
        let bytes = Bytes::from(encoding.to_bytes(value).unwrap());
        let mut read = T::default();
        let kept = encoding.decode(&mut read, &bytes, limit(size));
        assert!(kept.is_ok(), "{encoding:?}: {kept:?}");
        let (kind, _) = refused::<T>(encoding, &bytes, limit(size - 1));
        let limited = matches!(
            kind,
            DecodeErrorKind::StringTooLong { .. } | DecodeErrorKind::TooManyElements { .. }
        );
        assert!(limited, "{encoding:?}: {kind}");
        let said = kind.to_string();
        assert!(said.contains(&(size - 1).to_string()), "{said}");
    }
}

#[test]
fn strings_and_containers_are_limited() {
    let string = |string| Limits {
        string,
        ..Limits::default()
    };
    check_limit(&"x".repeat(1000), string, 1000);
    check_limit(&"x\n".repeat(500), string, 1000);
    check_limit(&Bytes::from(vec![7; 1000]), string, 1000);
    check_limit(&vec!["short".to_owned(), "longer".to_owned()], string, 6);
    check_limit(
        &BTreeMap::from([("key".to_owned(), "a".to_owned())]),
        string,
        3,
    );

    let elements = |elements| Limits {
        elements,
        ..Limits::default()
    };
    check_limit(&vec![1i32; 1000], elements, 1000);
    check_limit(&vec![1.5f64; 1000], elements, 1000);
    check_limit(&vec!["a".to_owned(); 100], elements, 100);
    check_limit(&vec![vec![1i64; 3], vec![2; 9]], elements, 9);
    check_limit(&(0..100).collect::<BTreeSet<i64>>(), elements, 100);
    let entries = (0..100).map(|number| (number, number.to_string()));
    check_limit(
        &entries.clone().collect::<BTreeMap<i32, _>>(),
        elements,
        100,
    );
    check_limit(&entries.collect::<HashMap<i32, _>>(), elements, 100);
}

fn chain(depth: usize) -> Chain {
    let mut chain = Chain::default();
    for value in 1..depth {
        chain = Chain {
            value: value as i32,
            next: Some(Box::new(chain)),
            unknown_fields: UnknownFields::default(),
        };
    }
    chain
}

/// Spells text in hexadecimal digits.
fn text(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn depth_is_limited_on_both_sides() {
    let wide = Limits {
        depth: 1000,
        ..Limits::default()
    };
    for encoding in Encoding::BUILT_IN {
        let limit = Limits::default().depth;
        assert!(encoding.to_bytes(&chain(limit)).is_ok());
        assert_eq!(
            encoding.to_bytes(&chain(limit + 1)).unwrap_err(),
            EncodeError::TooDeep { limit },
            "{encoding:?}"
        );
        let mut bytes = Vec::new();
        encoding.encode(&chain(limit), &mut bytes, wide).unwrap();
        assert!(encoding.from_bytes::<Chain>(&bytes.into()).is_ok());

        let mut bytes = Vec::new();
        encoding
            .encode(&chain(limit + 1), &mut bytes, wide)
            .unwrap();
        let bytes = Bytes::from(bytes);
        let too_deep = DecodeErrorKind::TooDeep { limit };
        let (kind, _) = refused::<Chain>(encoding, &bytes, Limits::default());
        assert_eq!(kind, too_deep, "{encoding:?}");
        // Bounds where nobody knows the field, and where it has another type in the contract.
        // Protobuf keeps an unknown message as bytes and never looks inside; tagless has no unknown
        // fields.
        if !matches!(encoding, Encoding::Protobuf | Encoding::Tagless) {
            let (kind, _) = refused::<Empty>(encoding, &bytes, Limits::default());
            assert_eq!(kind, too_deep, "{encoding:?}");
        }
    }
    // Lists in lists, in maps, in structs: in an unknown field, or in one of another type than the
    // contract's.
    let bombs = [
        (
            Encoding::ThriftBinary,
            ["0f0009".to_owned(), "0f00000001".repeat(500)].concat(),
        ),
        (
            Encoding::ThriftBinary,
            ["0d0009".to_owned(), "030d0000000101".repeat(500)].concat(),
        ),
        (Encoding::ThriftBinary, "0c0009".repeat(500)),
        (
            Encoding::ThriftCompact,
            ["99".to_owned(), "19".repeat(500)].concat(),
        ),
        (
            Encoding::ThriftCompact,
            ["9b".to_owned(), "013b01".repeat(500)].concat(),
        ),
        (Encoding::ThriftCompact, "9c".repeat(500)),
        (
            Encoding::ThriftJson,
            text(&["{\"9\":{\"lst\":[", &"\"lst\",1,[".repeat(500)].concat()),
        ),
        (
            Encoding::Tagged,
            ["51".to_owned(), "0111".repeat(500)].concat(),
        ),
        (
            Encoding::Tagged,
            ["53".to_owned(), "01021300".repeat(500)].concat(),
        ),
        (Encoding::Tagged, "50".repeat(500)),
        (
            Encoding::Msgpack,
            ["81cd012c".to_owned(), "91".repeat(500)].concat(),
        ),
        (
            Encoding::Msgpack,
            ["81a178".to_owned(), "81c0".repeat(500)].concat(),
        ),
        (Encoding::Protobuf, "0b".repeat(500)),
        (Encoding::Protobuf, "2b".repeat(500)),
    ];
    for (encoding, hex) in bombs {
        let bytes = Bytes::from(from_hex(&hex));
        let (kind, _) = refused::<Older>(encoding, &bytes, Limits::default());
        assert!(
            matches!(kind, DecodeErrorKind::TooDeep { .. }),
            "{encoding:?} {hex:.20}: {kind:?}"
        );
    }
}

/// Large blobs share the input, small ones do not pin it.
#[test]
fn blobs_share_the_input() {
    for encoding in Encoding::BUILT_IN {
        for (len, shares) in [(100, false), (4095, false), (4096, true), (1 << 20, true)] {
            let blob = Bytes::from(vec![7u8; len]);
            let value = Everything {
                blob: blob.clone(),
                ..Everything::default()
            };
            let bytes = Bytes::from(encoding.to_bytes(&value).unwrap());
            let back: Everything = encoding.from_bytes(&bytes).unwrap();
            assert_eq!(back.blob, blob);
            let input = bytes.as_ptr_range();
            let inside = input.contains(&back.blob.as_ptr());
            let expected = shares && !matches!(encoding, Encoding::Json | Encoding::ThriftJson);
            assert_eq!(inside, expected, "{encoding:?} {len}");
        }
    }
}
