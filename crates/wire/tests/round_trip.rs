//! Every value survives every encoding; no input makes a decoder panic, however it is broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::type_complexity)]

mod fixtures;
#[path = "fixtures/values.rs"]
mod values;

use dovetail_wire::{Bytes, Encoding, Limits, Value};
use fixtures::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::fmt::Debug;
use values::{blob, newer, real, rich, text};

/// Round trip, every truncation of it (or some, of a long one), and one broken byte.
fn check<T: Value + PartialEq + Debug>(
    value: &T,
    broken: (prop::sample::Index, u8),
) -> Result<(), TestCaseError> {
    check_in(Encoding::BUILT_IN, value, broken)
}

fn check_in<T: Value + PartialEq + Debug>(
    encodings: impl IntoIterator<Item = Encoding>,
    value: &T,
    broken: (prop::sample::Index, u8),
) -> Result<(), TestCaseError> {
    for encoding in encodings {
        let bytes = Bytes::from(encoding.to_bytes(value).unwrap());
        let back: T = encoding
            .from_bytes(&bytes)
            .map_err(|e| TestCaseError::fail(format!("{encoding:?}: {e}")))?;
        prop_assert_eq!(&back, value, "{:?}", encoding);
        let step = 1 + bytes.len() / 64;
        for end in (0..bytes.len()).step_by(step) {
            let cut = encoding.from_bytes::<T>(&bytes.slice(..end));
            // Protobuf's messages and JSON's numbers have no end of their own.
            let endless = match encoding {
                Encoding::Protobuf => true,
                Encoding::Json | Encoding::ThriftJson => {
                    bytes[0] != b'{' && bytes[0] != b'[' && bytes[0] != b'"'
                }
                _ => false,
            };
            prop_assert!(cut.is_err() || endless);
        }
        if !bytes.is_empty() {
            let mut mutated = bytes.to_vec();
            mutated[broken.0.index(bytes.len())] ^= broken.1;
            let mutated = Bytes::from(mutated);
            let mut value = T::default();
            if encoding
                .decode(&mut value, &mutated, Limits::default())
                .is_ok()
            {
                // A value that can be read can be written, and read again.
                let again = encoding.to_bytes(&value).unwrap();
                prop_assert!(encoding.from_bytes::<T>(&again.into()).is_ok());
            }
        }
    }
    Ok(())
}

macro_rules! round_trips {
    ($($name:ident),*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(value in values::$name(), at in any::<prop::sample::Index>(), bits in 1u8..) {
                    check(&value, (at, bits))?;
                }
            )*
        }
    };
}

mod survives {
    use super::*;

    round_trips!(
        everything, containers, nested, keyed, tree, chain, choice, newer, unsigned, formats,
        uuids, optionals, arrays, moments, cage
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn survives_rich(value in rich(), at in any::<prop::sample::Index>(), bits in 1u8..) {
        for encoding in Encoding::BUILT_IN {
            check_in([encoding], &values::documented(encoding, value.clone()), (at, bits))?;
        }
    }

    /// Values without a message around them.
    #[test]
    fn alone(numbers in vec(any::<i64>(), 0..5), words in text(), bytes in blob(),
        map in btree_map(text(), vec(real(), 0..3), 0..3), lists in vec(vec(text(), 0..3), 0..3),
        number in any::<i32>(), truth: bool, at in any::<prop::sample::Index>(), bits in 1u8..)
    {
        let broken = (at, bits);
        check(&numbers, broken)?;
        check(&words, broken)?;
        check(&bytes, broken)?;
        check(&map, broken)?;
        check(&lists, broken)?;
        check(&number, broken)?;
        check(&truth, broken)?;
    }

    /// Structs of one size, which tagless writes as blocks, read over others.
    #[test]
    fn blocks(values in vec((any::<i32>(), any::<bool>(), any::<i64>(), real()), 0..40), before in 0usize..40,
        at in any::<prop::sample::Index>())
    {
        let sample = |(small, truth, large, real): (i32, bool, i64, f64)| Sample {
            small,
            inner: Truth { truth, colour: Colour(small), ..Truth::default() },
            large,
            real: real.into(),
            ..Sample::default()
        };
        let values: Vec<Sample> = values.into_iter().map(sample).collect();
        check(&values, (at, 1))?;
        let mut over = vec![sample((1, true, 1, 1.0)); before];
        let bytes = Bytes::from(Encoding::Tagless.to_bytes(&values).unwrap());
        prop_assert_eq!(bytes.len(), values.len() * <Sample as Value>::PLAIN.tagless().unwrap() + 1);
        Encoding::Tagless.decode(&mut over, &bytes, Limits::default()).unwrap();
        prop_assert_eq!(over, values);
    }

    /// Structs of numbers, which Thrift's binary and compact protocols write as blocks: the bytes
    /// are those of the same numbers one by one.
    #[test]
    fn blocks_of_thrift(values in vec((any::<(i8, i16, i32)>(), any::<(i32, i64)>(), any::<i64>(), 0u32..64, real()), 0..200),
        broken in any::<(prop::sample::Index, u8)>())
    {
        let all = values.into_iter().map(|((byte, short, word), (left, right), long, shift, real)| {
            // Numbers of all lengths.
            let (word, long, right) = (word >> (shift / 2), long >> shift, right >> (63 - shift));
            Numbers {
                byte, short, word, long,
                colour: Colour(left),
                pair: Pair { left, right, ..Pair::default() },
                real: real.into(),
                ..Numbers::default()
            }
        });
        let all: Vec<Numbers> = all.collect();
        let apart = |n: &Numbers| NumbersApart {
            byte: Some(n.byte),
            short: Some(n.short),
            word: Some(n.word),
            long: Some(n.long),
            colour: Some(n.colour),
            pair: Some(PairApart { left: Some(n.pair.left), right: Some(n.pair.right), ..PairApart::default() }),
            real: Some(n.real),
            ..NumbersApart::default()
        };
        let apart: Vec<NumbersApart> = all.iter().map(apart).collect();
        check(&all, broken)?;
        for encoding in [Encoding::ThriftBinary, Encoding::ThriftCompact] {
            let bytes = Bytes::from(encoding.to_bytes(&all).unwrap());
            prop_assert!(bytes == encoding.to_bytes(&apart).unwrap(), "{encoding:?}");
            prop_assert!(encoding.from_bytes::<Vec<NumbersApart>>(&bytes).unwrap() == apart, "{encoding:?}");
        }
    }

    /// An old value makes no difference.
    #[test]
    fn replaced(old in vec(newer(), 0..3), new in vec(newer(), 0..3)) {
        for encoding in Encoding::BUILT_IN {
            let mut value = old.clone();
            let bytes = Bytes::from(encoding.to_bytes(&new).unwrap());
            encoding.decode(&mut value, &bytes, Limits::default()).unwrap();
            prop_assert_eq!(&value, &new, "{:?}", encoding);
        }
    }

    /// A relay that knows an older contract, and speaks another encoding on each side.
    #[test]
    fn relays(value in newer()) {
        use Encoding::{Msgpack, Protobuf, ThriftBinary as Binary, ThriftCompact as Compact, ThriftJson as Json};
        let routes: &[&[Encoding]] = &[
            &[Binary, Binary],
            &[Compact, Compact],
            &[Json, Json],
            &[Protobuf, Protobuf],
            &[Msgpack, Msgpack],
            &[Binary, Compact, Binary],
            &[Compact, Binary, Compact],
        ];
        for route in routes {
            let mut bytes = route[0].to_bytes(&value).unwrap();
            for pair in route.windows(2) {
                let older: Older = pair[0].from_bytes(&bytes.into()).unwrap();
                prop_assert_eq!(older.first, value.first);
                prop_assert_eq!(&older.last, &value.last);
                bytes = pair[1].to_bytes(&older).unwrap();
            }
            let back: Newer = route[route.len() - 1].from_bytes(&bytes.into()).unwrap();
            prop_assert_eq!(&back, &value, "{:?}", route);
        }
    }

    /// Relays through JSON, which does not tell bytes from text: no bytes in these values.
    #[test]
    fn relays_through_json(value in newer()) {
        let mut value = value;
        let plain = |e: &mut Everything| e.blob = Bytes::new();
        value.everything.iter_mut().for_each(plain);
        value.many.iter_mut().flat_map(|m| m.values_mut()).flatten().for_each(plain);
        if let Some(Choice::Everything(e)) = &mut value.choice {
            plain(e);
        }
        use Encoding::{ThriftBinary as Binary, ThriftCompact as Compact, ThriftJson as Json};
        let route = [Binary, Compact, Json, Compact, Json, Binary];
        let mut bytes = route[0].to_bytes(&value).unwrap();
        for pair in route.windows(2) {
            let older: Older = pair[0].from_bytes(&bytes.into()).unwrap();
            bytes = pair[1].to_bytes(&older).unwrap();
        }
        let back: Newer = Binary.from_bytes(&bytes.into()).unwrap();
        prop_assert_eq!(&back, &value);
    }

    /// Noise.
    #[test]
    fn noise(input in vec(any::<u8>(), 0..200)) {
        let input = Bytes::from(input);
        for encoding in Encoding::BUILT_IN {
            let _ = encoding.from_bytes::<Newer>(&input);
            let _ = encoding.from_bytes::<Nested>(&input);
            let _ = encoding.from_bytes::<Optionals>(&input);
            let _ = encoding.from_bytes::<Empty>(&input);
        }
    }
}
