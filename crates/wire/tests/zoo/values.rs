//! Random values of the zoo's types, and what the encodings that have no word for a value make of
//! it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use crate::zoo::*;
use dovetail_wire::{
    Any, Array, Bytes, Date, Decimal, Dynamic, Encoding, LongArray, Offset, Ref, SignedDuration,
    Timestamp, TimestampTz, UnknownFields, Uuid,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

pub fn blob() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,12}", "[\\x00-\\x7f]{0,40}"]
}

/// Doubles that equal themselves.
pub fn real() -> impl Strategy<Value = f64> {
    let number = any::<f64>().prop_map(|value| if value.is_nan() { 0.5 } else { value });
    let edges = [f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, -0.0];
    prop_oneof![7 => number, 1 => prop::sample::select(edges.to_vec())]
}

pub fn colour() -> impl Strategy<Value = Colour> {
    any::<i32>().prop_map(Colour)
}

pub fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid::from_bytes)
}

pub fn origin() -> impl Strategy<Value = Origin> {
    (text(), any::<i16>()).prop_map(|(host, port)| Origin { host, port })
}

pub fn key() -> impl Strategy<Value = Key> {
    (any::<i32>(), text()).prop_map(|(number, word)| Key { number, word })
}

pub fn everything() -> impl Strategy<Value = Everything> {
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

pub fn containers() -> impl Strategy<Value = Containers> {
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

pub fn nested() -> impl Strategy<Value = Nested> {
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

pub fn keyed() -> impl Strategy<Value = Keyed> {
    (btree_map(key(), text(), 0..4), btree_set(key(), 0..4)).prop_map(|(by_key, keys)| Keyed {
        by_key,
        keys,
        unknown_fields: UnknownFields::default(),
    })
}

pub fn tree() -> impl Strategy<Value = Tree> {
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

pub fn chain() -> impl Strategy<Value = Chain> {
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

pub fn choice() -> impl Strategy<Value = Choice> {
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
pub fn newer() -> impl Strategy<Value = Newer> {
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

pub fn unsigned() -> impl Strategy<Value = Unsigned> {
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

pub fn formats() -> impl Strategy<Value = Formats> {
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

pub fn uuids() -> impl Strategy<Value = Uuids> {
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

pub fn optionals() -> impl Strategy<Value = Optionals> {
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

pub fn instant() -> impl Strategy<Value = Timestamp> {
    // From the year 1 on, as JSON has them.
    let least = Timestamp::constant(-62_135_596_800, 0).as_nanosecond();
    let most = Timestamp::MAX.as_nanosecond();
    let nanos = prop_oneof![-3_000_000_000..3_000_000_000_i128, least..=most];
    nanos.prop_map(|nanos| Timestamp::from_nanosecond(nanos).unwrap())
}

pub fn local() -> impl Strategy<Value = TimestampTz> {
    (instant(), -93_599..=93_599).prop_map(|(timestamp, offset)| TimestampTz {
        timestamp,
        offset: Offset::from_seconds(offset).unwrap(),
    })
}

pub fn day() -> impl Strategy<Value = Date> {
    // The first and the last day are 9999-12-31, before and after the year 0.
    (-4_371_587..=2_932_896).prop_map(|days| Date::from_days(days).unwrap())
}

pub fn span() -> impl Strategy<Value = SignedDuration> {
    let nanos = any::<i64>().prop_map(SignedDuration::from_nanos);
    // JSON has no longer ones.
    let ends = [-1, 1].map(|sign| SignedDuration::new(sign * 315_576_000_000, 0));
    prop_oneof![nanos, prop::sample::select(ends.to_vec())]
}

pub fn decimal() -> impl Strategy<Value = Decimal> {
    let most = (1_i128 << 96) - 1;
    (-most..=most, 0..=28_u32)
        .prop_map(|(number, scale)| Decimal::from_i128_with_scale(number, scale))
}

pub fn dynamic() -> impl Strategy<Value = Dynamic> {
    let leaf = prop_oneof![
        Just(Dynamic::NULL),
        Just(Dynamic::default()),
        any::<bool>().prop_map(Dynamic::from),
        // Protobuf's doubles are equal to these, and JSON has no others.
        (-(1_i64 << 53)..=1 << 53).prop_map(Dynamic::from),
        (0..=1_u64 << 53).prop_map(Dynamic::from),
        real()
            .prop_filter("finite", |real| real.is_finite())
            .prop_map(Dynamic::from),
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

pub fn rich() -> impl Strategy<Value = Rich> {
    let any = (text(), blob(), 0..6, option::of(blob())).prop_map(
        |(type_name, value, encoding, contract)| Any {
            type_name,
            value,
            encoding,
            contract,
        },
    );
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

pub fn arrays() -> impl Strategy<Value = Arrays> {
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

pub fn moments() -> impl Strategy<Value = Vec<Moment>> {
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

pub fn animal() -> impl Strategy<Value = AnyAnimal> {
    let base = || {
        (text(), option::of(any::<i32>())).prop_map(|(name, legs)| Animal {
            name,
            legs,
            ..Animal::default()
        })
    };
    let cat = (base(), any::<i32>()).prop_map(|(base, lives)| Cat { base, lives });
    let leaf = prop_oneof![
        base().prop_map(AnyAnimal::Animal),
        cat.prop_map(AnyAnimal::Cat)
    ];
    leaf.prop_recursive(3, 8, 3, move |inner| {
        let dog = (base(), text(), vec(inner, 0..3)).prop_map(|(base, breed, friends)| Dog {
            base,
            breed,
            friends,
        });
        (dog, option::of(any::<i8>())).prop_map(|(base, weeks)| match weeks {
            Some(weeks) => Puppy { base, weeks }.into(),
            None => base.into(),
        })
    })
}

pub fn cage() -> impl Strategy<Value = Cage> {
    (animal(), vec(animal(), 0..3), option::of(animal())).prop_map(|(inmate, more, maybe)| Cage {
        inmate,
        more,
        maybe,
        unknown_fields: UnknownFields::default(),
    })
}

/// A person who refers to others and to himself, in circles too.
pub fn person() -> impl Strategy<Value = Person> {
    vec(vec(0..14_usize, 0..4), 0..12).prop_map(|links| graph(&links))
}

/// A graph of people out of numbers: each refers to any of those made before it, or, where that is
/// larger, back to itself.
fn graph(links: &[Vec<usize>]) -> Person {
    let mut people: Vec<Arc<Person>> = Vec::new();
    for (index, links) in links.iter().enumerate() {
        let person = Arc::new_cyclic(|own| {
            let to = |link: &usize| match people.get(*link) {
                Some(person) => Ref::from(person.clone()),
                None => Ref::from(own),
            };
            Person {
                friend: links.first().map(to).unwrap_or_default(),
                children: links
                    .iter()
                    .skip(1)
                    .map(|link| Bond {
                        to: to(link),
                        ..Bond::default()
                    })
                    .collect(),
                name: index.to_string(),
                ..Person::default()
            }
        });
        people.push(person);
    }
    Person {
        friend: people.last().cloned().map(Ref::from).unwrap_or_default(),
        ..Person::default()
    }
}

/// Returns a value after its way through an encoding: unchanged, but for a `dynamic`, which in JSON
/// and MessagePack is whatever it is. `docs/encodings.md` says so in "Types that travel as another
/// one" and "JSON".
pub fn documented(encoding: Encoding, value: Rich) -> Rich {
    let mapped = match encoding {
        Encoding::Msgpack => in_msgpack,
        Encoding::Json => in_json,
        Encoding::Protobuf => in_protobuf,
        _ => return value,
    };
    let dynamic = match (encoding, value.dynamic) {
        // Nothing is not there.
        (_, Dynamic::Unknown(_)) => Dynamic::default(),
        (Encoding::Msgpack, Dynamic::Null(_)) => Dynamic::default(),
        (_, value) => each(value, mapped),
    };
    let dynamics = value.dynamics.into_iter();
    Rich {
        dynamic,
        dynamics: dynamics.map(|value| each(value, mapped)).collect(),
        ..value
    }
}

/// Applies `mapped` to a value, and to all in it.
fn each(value: Dynamic, mapped: fn(Dynamic) -> Dynamic) -> Dynamic {
    match value {
        Dynamic::List(list) => {
            let values = list.values.into_iter();
            values.map(|value| each(value, mapped)).collect()
        }
        Dynamic::Map(map) => {
            let fields = map.fields.into_iter();
            fields
                .map(|(name, value)| (name, each(value, mapped)))
                .collect()
        }
        other => mapped(other),
    }
}

/// Nothing is `nil` or `null`, and there is one kind of integer.
fn plain(value: Dynamic) -> Dynamic {
    match value {
        Dynamic::Unknown(_) => Dynamic::NULL,
        Dynamic::UInt(number) => i64::try_from(number).map_or(number.into(), Dynamic::from),
        other => other,
    }
}

/// A UUID is its bytes.
fn in_msgpack(value: Dynamic) -> Dynamic {
    match value {
        Dynamic::Uuid(uuid) => Bytes::copy_from_slice(uuid.as_bytes()).into(),
        other => plain(other),
    }
}

/// Numbers are doubles, and bytes and UUIDs are text.
fn in_protobuf(value: Dynamic) -> Dynamic {
    match value {
        Dynamic::Int(number) => (number as f64).into(),
        Dynamic::UInt(number) => (number as f64).into(),
        Dynamic::Bytes(_) | Dynamic::Uuid(_) => in_json(value),
        other => other,
    }
}

/// A UUID and bytes are the text that stands there for them.
fn in_json(value: Dynamic) -> Dynamic {
    fn text<T: dovetail_wire::Value>(value: &T) -> Dynamic {
        let written = Encoding::Json.to_bytes(value).unwrap();
        Encoding::Json
            .from_bytes::<String>(&written.into())
            .unwrap()
            .into()
    }
    match value {
        Dynamic::Uuid(uuid) => text(&uuid),
        Dynamic::Bytes(bytes) => text(&bytes),
        other => plain(other),
    }
}
