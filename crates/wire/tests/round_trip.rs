//! Every value survives every encoding; no input makes a decoder panic, however it is broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::type_complexity)]

mod zoo;

use dovetail_wire::{
    Any, Array, Bytes, Date, Decimal, Dynamic, Encoding, Limits, LongArray, Offset, SignedDuration,
    Timestamp, TimestampTz, UnknownFields, Uuid, Value,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use zoo::*;

fn blob() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,12}", "[\\x00-\\x7f]{0,40}"]
}

/// Doubles that equal themselves.
fn real() -> impl Strategy<Value = f64> {
    any::<f64>().prop_map(|value| if value.is_nan() { 0.5 } else { value })
}

fn colour() -> impl Strategy<Value = Colour> {
    any::<i32>().prop_map(Colour)
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid::from_bytes)
}

fn origin() -> impl Strategy<Value = Origin> {
    (text(), any::<i16>()).prop_map(|(host, port)| Origin { host, port })
}

fn key() -> impl Strategy<Value = Key> {
    (any::<i32>(), text()).prop_map(|(number, word)| Key { number, word })
}

fn everything() -> impl Strategy<Value = Everything> {
    let scalars = (
        any::<bool>(),
        any::<i8>(),
        any::<i16>(),
        any::<i32>(),
        any::<i64>(),
        real(),
    );
    (scalars, text(), blob(), colour(), any::<i64>(), origin()).prop_map(
        |((truth, tiny, small, medium, large, real), text, blob, colour, ticket, origin)| {
            Everything {
                truth,
                tiny,
                small,
                medium,
                large,
                real,
                text,
                blob,
                colour,
                ticket,
                origin,
                unknown_fields: UnknownFields::default(),
            }
        },
    )
}

fn containers() -> impl Strategy<Value = Containers> {
    (
        vec(any::<bool>(), 0..20),
        vec(any::<i32>(), 0..200),
        vec(real(), 0..20),
        btree_set(text(), 0..5),
        btree_set(any::<i64>(), 0..5),
        btree_map(text(), any::<i32>(), 0..5),
        btree_map(any::<i16>(), text(), 0..5),
        btree_map(colour(), origin(), 0..5),
        vec(blob(), 0..5),
        btree_map(any::<bool>(), any::<bool>(), 0..3),
    )
        .prop_map(
            |(truths, numbers, reals, words, bigs, counts, names, origins, blobs, opposites)| {
                Containers {
                    truths,
                    numbers,
                    reals,
                    words,
                    bigs,
                    counts,
                    names,
                    origins,
                    blobs,
                    opposites,
                    unknown_fields: UnknownFields::default(),
                }
            },
        )
}

fn nested() -> impl Strategy<Value = Nested> {
    let page = || btree_map(any::<i32>(), text(), 0..3);
    (
        vec(vec(any::<i32>(), 0..4), 0..4),
        btree_map(text(), vec(page(), 0..3), 0..3),
        vec(page(), 0..3),
        vec(btree_set(any::<i32>(), 0..3), 0..3),
        btree_map(
            any::<i32>(),
            btree_map(any::<i32>(), any::<i32>(), 0..3),
            0..3,
        ),
        vec(origin(), 0..4),
        vec(vec(vec(vec(any::<i8>(), 0..3), 0..3), 0..3), 0..3),
    )
        .prop_map(
            |(matrix, book, pages, groups, table, origins, deep)| Nested {
                matrix,
                book,
                pages,
                groups,
                table,
                origins,
                deep,
                unknown_fields: UnknownFields::default(),
            },
        )
}

fn keyed() -> impl Strategy<Value = Keyed> {
    (btree_map(key(), text(), 0..4), btree_set(key(), 0..4)).prop_map(|(by_key, keys)| Keyed {
        by_key,
        keys,
        unknown_fields: UnknownFields::default(),
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = any::<i32>().prop_map(|value| Tree {
        value,
        ..Tree::default()
    });
    leaf.prop_recursive(5, 20, 3, |inner| {
        (any::<i32>(), vec(inner, 1..3)).prop_map(|(value, children)| Tree {
            value,
            children,
            unknown_fields: UnknownFields::default(),
        })
    })
}

fn chain() -> impl Strategy<Value = Chain> {
    vec(any::<i32>(), 1..40).prop_map(|values| {
        let mut chain = None;
        for value in values {
            let next = chain.map(Box::new);
            chain = Some(Chain {
                value,
                next,
                unknown_fields: UnknownFields::default(),
            });
        }
        chain.unwrap()
    })
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        any::<i32>().prop_map(Choice::Number),
        text().prop_map(Choice::Text),
        any::<bool>().prop_map(Choice::Truth),
        everything().prop_map(Choice::Everything),
        vec(any::<i32>(), 1..4).prop_map(Choice::Numbers),
        real().prop_map(Choice::Real),
        Just(Choice::Unknown(UnknownFields::default())),
    ]
}

/// No `Some` of an empty container, which protobuf does not tell from `None`.
fn newer() -> impl Strategy<Value = Newer> {
    let scalars = (
        option::of(any::<bool>()),
        option::of(any::<i8>()),
        option::of(any::<i16>()),
        option::of(any::<i32>()),
        option::of(any::<i64>()),
        option::of(real()),
    );
    let structs = (
        option::of(everything()),
        option::of(vec(any::<bool>(), 1..4)),
        option::of(btree_map(text(), vec(everything(), 0..2), 1..3)),
        option::of(btree_set(any::<i32>(), 1..3)),
        option::of(btree_map(any::<i32>(), any::<i32>(), 1..3)),
        option::of(choice()),
    );
    (any::<i32>(), scalars, option::of(text()), structs, text()).prop_map(
        |(first, scalars, text, structs, last)| Newer {
            first,
            truth: scalars.0,
            tiny: scalars.1,
            small: scalars.2,
            medium: scalars.3,
            large: scalars.4,
            real: scalars.5,
            text,
            everything: structs.0,
            truths: structs.1,
            many: structs.2,
            numbers: structs.3,
            nothing: structs.4,
            choice: structs.5,
            last,
            unknown_fields: UnknownFields::default(),
        },
    )
}

fn unsigned() -> impl Strategy<Value = Unsigned> {
    let single = any::<f32>().prop_map(|value| if value.is_nan() { 0.5 } else { value });
    (
        (
            any::<u8>(),
            any::<u16>(),
            any::<u32>(),
            any::<u64>(),
            single.clone(),
        ),
        vec(any::<u32>(), 0..5),
        vec(single, 0..5),
        btree_map(any::<u64>(), any::<u8>(), 0..5),
        btree_set(real().prop_map(Into::into), 0..5),
    )
        .prop_map(|((a, b, c, d, e), many, floats, by, wide)| Unsigned {
            a,
            b,
            c,
            d,
            e,
            many,
            floats,
            by,
            wide,
            unknown_fields: UnknownFields::default(),
        })
}

fn formats() -> impl Strategy<Value = Formats> {
    (
        (
            any::<i32>(),
            any::<i32>(),
            any::<i64>(),
            any::<u32>(),
            any::<u64>(),
        ),
        (any::<i32>(), any::<i64>()),
        vec(any::<i64>(), 0..50),
        vec(any::<i32>(), 0..50),
        vec(any::<u64>(), 0..50),
        option::of(any::<i64>()),
    )
        .prop_map(|(a, b, many, many_zigzag, many_fixed, maybe)| Formats {
            varint: a.0,
            zigzag32: a.1,
            zigzag64: a.2,
            fixed32: a.3,
            fixed64: a.4,
            sfixed32: b.0,
            sfixed64: b.1,
            many,
            many_zigzag,
            many_fixed,
            maybe,
            unknown_fields: UnknownFields::default(),
        })
}

fn uuids() -> impl Strategy<Value = Uuids> {
    (
        uuid(),
        vec(uuid(), 0..4),
        btree_map(uuid(), uuid(), 0..3),
        btree_set(uuid(), 0..3),
        text(),
    )
        .prop_map(|(single, many, pairs, distinct, last)| Uuids {
            single,
            many,
            pairs,
            distinct,
            last,
            unknown_fields: UnknownFields::default(),
        })
}

fn optionals() -> impl Strategy<Value = Optionals> {
    (
        option::of(vec(option::of(any::<i64>()), 1..4)),
        option::of(btree_set(text(), 1..4)),
        option::of(btree_map(any::<i64>(), vec(text(), 0..3), 1..3)),
        option::of(choice()),
        option::of(newer().prop_map(Box::new)),
        vec(choice(), 0..3),
        btree_map(any::<i32>(), choice(), 0..3),
        vec(vec(key(), 0..3), 0..3),
        btree_set(vec(any::<bool>(), 0..4), 0..3),
    )
        .prop_map(
            |(list, set, map, choice, boxed, choices, by_choice, lists, sets)| Optionals {
                list: list.map(|list| {
                    let item = |positive| Option64 {
                        positive,
                        ..Option64::default()
                    };
                    list.into_iter().map(item).collect()
                }),
                set,
                map,
                choice,
                boxed,
                choices,
                by_choice,
                lists,
                sets,
                unknown_fields: UnknownFields::default(),
            },
        )
}

fn instant() -> impl Strategy<Value = Timestamp> {
    let (least, most) = (
        Timestamp::MIN.as_nanosecond(),
        Timestamp::MAX.as_nanosecond(),
    );
    let nanos = prop_oneof![-3_000_000_000..3_000_000_000_i128, least..=most];
    nanos.prop_map(|nanos| Timestamp::from_nanosecond(nanos).unwrap())
}

fn local() -> impl Strategy<Value = TimestampTz> {
    (instant(), -93_599..=93_599).prop_map(|(timestamp, offset)| TimestampTz {
        timestamp,
        offset: Offset::from_seconds(offset).unwrap(),
    })
}

fn day() -> impl Strategy<Value = Date> {
    // The first and the last day are 9999-12-31, before and after the year 0.
    (-4_371_587..=2_932_896).prop_map(|days| Date::from_days(days).unwrap())
}

fn span() -> impl Strategy<Value = SignedDuration> {
    let nanos = any::<i64>().prop_map(SignedDuration::from_nanos);
    let ends = [SignedDuration::MIN, SignedDuration::MAX];
    prop_oneof![nanos, prop::sample::select(ends.to_vec())]
}

fn decimal() -> impl Strategy<Value = Decimal> {
    let most = (1_i128 << 96) - 1;
    (-most..=most, 0..=28_u32)
        .prop_map(|(number, scale)| Decimal::from_i128_with_scale(number, scale))
}

fn dynamic() -> impl Strategy<Value = Dynamic> {
    let leaf = prop_oneof![
        Just(Dynamic::NULL),
        Just(Dynamic::default()),
        any::<bool>().prop_map(Dynamic::from),
        any::<i64>().prop_map(Dynamic::from),
        any::<u64>().prop_map(Dynamic::from),
        real().prop_map(Dynamic::from),
        text().prop_map(Dynamic::from),
        blob().prop_map(Dynamic::from),
        uuid().prop_map(Dynamic::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Dynamic::from_iter),
            vec((text(), inner), 0..3).prop_map(Dynamic::from_iter),
        ]
    })
}

fn rich() -> impl Strategy<Value = Rich> {
    let any = (text(), blob(), 0..6).prop_map(|(type_name, value, encoding)| Any {
        type_name,
        value,
        encoding,
    });
    let single = (instant(), local(), day(), span(), decimal(), any, dynamic());
    let many = (
        option::of(instant()),
        vec(instant(), 0..20),
        btree_map(day(), vec(span(), 0..3), 0..3),
        btree_set(decimal(), 0..3),
        vec(dynamic(), 0..3),
    );
    (single, many).prop_map(|(one, many)| Rich {
        instant: one.0,
        local: one.1,
        day: one.2,
        span: one.3,
        price: one.4,
        any: one.5,
        dynamic: one.6,
        maybe: many.0,
        instants: many.1,
        days: many.2,
        prices: many.3,
        dynamics: many.4,
        unknown_fields: UnknownFields::default(),
    })
}

fn arrays() -> impl Strategy<Value = Arrays> {
    let fixed = (
        [real(), real(), real()],
        any::<[[i32; 2]; 3]>(),
        [text(), text()],
        vec([-1e9..1e9_f32, -1.0..1.0_f32, -1e-9..1e-9_f32], 0..9),
        option::of([day(), day()]),
        [instant(), instant()],
    );
    let grid = (0..4_usize, 0..4_usize).prop_flat_map(|(rows, columns)| {
        let elements = vec(any::<i32>(), rows * columns);
        elements.prop_map(move |elements| Array::new([rows, columns], elements).unwrap())
    });
    let table = vec([text(), text()], 0..4).prop_map(|rows| {
        Array::new([2, rows.len()], rows.into_iter().flatten().collect()).unwrap()
    });
    let boxes = vec(any::<[u8; 2]>(), 0..4).prop_map(|elements| {
        let rows = elements.len();
        Array::new([rows, 1, usize::from(rows > 0)], elements).unwrap()
    });
    let long = (vec(any::<u8>(), 40), option::of(vec(vec(decimal(), 2), 33)));
    (fixed, grid, table, boxes, long).prop_map(|(fixed, grid, table, boxes, long)| Arrays {
        long: LongArray::new(long.0).unwrap(),
        longer: long.1.map(|rows| {
            let rows = rows.into_iter().map(|row| LongArray::new(row).unwrap());
            LongArray::new(rows.collect()).unwrap()
        }),
        point: fixed.0,
        matrix: fixed.1,
        names: fixed.2,
        points: fixed.3,
        maybe: fixed.4,
        moments: fixed.5,
        grid,
        table,
        boxes,
        unknown_fields: UnknownFields::default(),
    })
}

fn moments() -> impl Strategy<Value = Vec<Moment>> {
    let parts = (instant(), local(), day(), span(), any::<[[u16; 2]; 2]>());
    let moment = parts.prop_map(|(instant, local, day, span, place)| Moment {
        instant,
        local,
        day,
        span,
        place,
        unknown_fields: UnknownFields::default(),
    });
    vec(moment, 0..20)
}

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
                Encoding::ThriftJson => bytes[0] != b'{' && bytes[0] != b'[' && bytes[0] != b'"',
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
                // What can be read can be written, and read again.
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
                fn $name(value in super::$name(), at in any::<prop::sample::Index>(), bits in 1u8..) {
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
        uuids, optionals, arrays, moments
    );
}

/// As MessagePack says it: nothing is `nil`, which in a field is absent; there are no uuids, and one kind of
/// integer.
fn plain(value: Dynamic) -> Dynamic {
    match value {
        Dynamic::Unknown(_) => Dynamic::NULL,
        Dynamic::Uuid(uuid) => Bytes::copy_from_slice(uuid.as_bytes()).into(),
        Dynamic::UInt(number) => i64::try_from(number).map_or(number.into(), Dynamic::from),
        Dynamic::List(list) => list.values.into_iter().map(plain).collect(),
        Dynamic::Map(map) => {
            let plain = |(name, value)| (name, plain(value));
            map.fields.into_iter().map(plain).collect()
        }
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn survives_rich(value in rich(), at in any::<prop::sample::Index>(), bits in 1u8..) {
        let others = |encoding: &Encoding| !matches!(encoding, Encoding::Msgpack);
        check_in(Encoding::BUILT_IN.into_iter().filter(others), &value, (at, bits))?;
        let dynamic = match plain(value.dynamic) {
            Dynamic::Null(_) => Dynamic::default(),
            other => other,
        };
        let dynamics = value.dynamics.into_iter().map(plain).collect();
        let value = Rich { dynamic, dynamics, ..value };
        check_in([Encoding::Msgpack], &value, (at, bits))?;
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
        prop_assert_eq!(bytes.len(), values.len() * <Sample as Value>::PLAIN.unwrap() + 1);
        Encoding::Tagless.decode(&mut over, &bytes, Limits::default()).unwrap();
        prop_assert_eq!(over, values);
    }

    /// What was there before makes no difference.
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

    /// The same through JSON, which does not tell bytes from text: no bytes in these values.
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
