//! The target of shared memory on segments that are nearly right.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

/// Numbers that a page of words may have, and some that it may not.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(0),
        4 => (0u32..=512).prop_map(|n| n * 8),
        2 => 0u32..6,
        1 => any::<u32>(),
    ]
}

/// A record as it stands in a ring: its length, its place, and bytes that may be as many.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let place = prop_oneof![3 => Just(0u32), 2 => 1u32..4, 1 => any::<u32>()];
    let length = prop_oneof![4 => 1u32..100, 2 => 4000u32..4200, 1 => any::<u32>()];
    (length, place).prop_map(|(length, place)| {
        let mut bytes = [length.to_ne_bytes(), place.to_ne_bytes()].concat();
        if place == 0 {
            bytes.resize(8 + (length as usize).min(4096).next_multiple_of(8), 7);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nearly_right(
        first in any::<u8>(),
        header in prop::collection::vec(number(), 6),
        words in prop::collection::vec(number(), 10),
        records in prop::collection::vec(record(), 0..60),
    ) {
        let mut input = vec![first];
        if first % 16 == 15 {
            input.extend(header.iter().flat_map(|number| number.to_ne_bytes()));
        }
        input.extend(words.iter().flat_map(|number| number.to_ne_bytes()));
        input.extend(records.concat());
        dovetail_fuzz::find("shared-memory").unwrap()(&input);
    }
}
