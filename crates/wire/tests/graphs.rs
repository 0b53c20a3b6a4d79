//! References keep their identity through every encoding, whatever the graph looks like; and no
//! graph, sent or made here, is walked without end or takes stack in proportion to its depth.
#![allow(clippy::unwrap_used)]

mod describe;
mod fixtures;
#[path = "fixtures/values.rs"]
mod values;

use describe::from_hex;
use dovetail_wire::{
    Bytes, DecodeErrorKind, EncodeError, Encoding, Limits, Ref, UnknownValue, Value, extends,
    family, message, reserved,
};
use fixtures::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

fn named(name: &str) -> Person {
    Person {
        name: name.to_owned(),
        ..Person::default()
    }
}

fn write<T: Value>(encoding: Encoding, value: &T) -> Bytes {
    encoding.to_bytes(value).unwrap().into()
}

fn again<T: Value>(encoding: Encoding, value: &T) -> T {
    encoding.from_bytes(&write(encoding, value)).unwrap()
}

/// One that is its own friend.
fn narcissus() -> Ref<Person> {
    let person = Arc::new_cyclic(|own| Person {
        friend: Ref::from(own),
        ..named("Narcissus")
    });
    Ref::from(person)
}

#[test]
fn a_reference_to_itself() {
    for encoding in Encoding::BUILT_IN {
        let top = Person {
            friend: narcissus(),
            ..Person::default()
        };
        let back = again(encoding, &top);
        let person = back.friend.get().unwrap();
        assert!(person.friend.is(&person), "{encoding:?}");
        assert_eq!(back, top);
        assert_eq!(Arc::strong_count(&person), 2, "one here, one in `back`");
    }
}

#[test]
fn what_is_shared_stays_shared() {
    let dog: Ref<AnyAnimal> = Ref::new(Dog::default().into());
    let child = Ref::new(Person {
        pet: dog.clone(),
        ..named("child")
    });
    let bond = |to: &Ref<Person>| Bond {
        to: to.clone(),
        ..Bond::default()
    };
    let parent = Person {
        children: vec![bond(&child), bond(&Ref::new(named("other"))), bond(&child)],
        pet: dog,
        ..named("parent")
    };
    for encoding in Encoding::BUILT_IN {
        let back = again(encoding, &parent);
        let [first, other, second] = [0, 1, 2].map(|at| back.children[at].to.get().unwrap());
        assert!(
            Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other),
            "{encoding:?}"
        );
        assert!(first.pet.is(&back.pet.get().unwrap()));
        assert!(matches!(&*back.pet.get().unwrap(), AnyAnimal::Dog(_)));
        assert_eq!(back, parent);
    }
}

#[test]
fn nothing_that_is_read_owns_itself() {
    for encoding in Encoding::BUILT_IN {
        let top = Person {
            friend: narcissus(),
            ..Person::default()
        };
        let watched: Weak<Person> = Arc::downgrade(&again(encoding, &top).friend.get().unwrap());
        assert!(watched.upgrade().is_none(), "{encoding:?} leaks");
    }
}

#[test]
fn nothing() {
    for encoding in Encoding::BUILT_IN {
        assert!(again(encoding, &named("x")).friend.is_null());
    }
    let gone = Person {
        friend: Ref::from(&Arc::downgrade(&Arc::new(named("gone")))),
        ..Person::default()
    };
    assert!(gone.friend.get().is_none() && !gone.friend.is_null());
    assert!(again(Encoding::Tagged, &gone).friend.is_null());
    assert_eq!(gone, Person::default());
    assert_eq!(format!("{:?}", gone.friend), "null");
    for encoding in Encoding::BUILT_IN {
        let required = encoding.to_bytes(&Bond::default());
        assert!(matches!(required, Err(EncodeError::Unsupported { .. })));
        let nothing = match encoding {
            Encoding::Json | Encoding::ThriftJson => &b"{}"[..],
            Encoding::Protobuf => &[],
            Encoding::Msgpack => &[0x90],
            _ => &[0],
        };
        let read = encoding.from_bytes::<Bond>(&Bytes::from_static(nothing));
        let kind = read.unwrap_err().kind().clone();
        assert!(
            matches!(kind, DecodeErrorKind::MissingField { .. }),
            "{kind:?}"
        );
    }
}

/// A list of so many people, the first one of whom has the longest line of friends.
fn line(length: usize) -> Person {
    let mut last = Person::default();
    for _ in 0..length {
        last = Person {
            friend: Ref::new(last),
            ..Person::default()
        };
    }
    last
}

#[test]
fn a_list_of_ten_thousand_takes_no_stack() {
    let (one, other) = (line(10_000), line(10_000));
    assert_eq!(one, other);
    assert_ne!(one, line(9_999));
    assert!(format!("{one:?}").len() < 10_000);
    for encoding in nesting() {
        assert!(matches!(
            encoding.to_bytes(&one),
            Err(EncodeError::TooDeep { .. })
        ));
    }
    let copy = one.clone();
    drop(one);
    drop(copy);
    drop(other);
}

#[test]
fn depth_is_limited_where_it_is_read() {
    let deep = Limits {
        depth: 200,
        ..Limits::default()
    };
    for encoding in nesting() {
        let mut out = Vec::new();
        encoding.encode(&line(100), &mut out, deep).unwrap();
        let read = encoding.from_bytes::<Person>(&out.into());
        // Fields unknown to JSON's reader need no stack, but values do.
        assert!(
            matches!(
                read.unwrap_err().kind(),
                DecodeErrorKind::TooDeep { limit: 64 }
            ),
            "{encoding:?}"
        );
    }
}

/// The encodings in which a node stands where it is named for the first time, however deep that is.
fn nesting() -> impl Iterator<Item = Encoding> {
    let own = |encoding: &Encoding| matches!(encoding, Encoding::Tagless | Encoding::Tagged);
    Encoding::BUILT_IN
        .into_iter()
        .filter(move |known| !own(known))
}

/// On a thread with so much stack.
fn with_stack<R: Send>(bytes: usize, act: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(bytes);
        builder.spawn_scoped(scope, act).unwrap().join().unwrap()
    })
}

/// A raised limit of depth ends no process: where the stack ends, that is said. Where there is
/// stack, so is the value.
#[test]
fn raised_limits_of_depth() {
    const STACK: usize = 256 << 20;
    const LENGTH: usize = 10_000;
    let raised = Limits {
        depth: 10 * LENGTH,
        ..Limits::default()
    };
    let roomy = Limits {
        stack: STACK - (1 << 20),
        ..raised
    };
    for encoding in nesting() {
        let bytes = with_stack(STACK, || {
            let (mut out, line) = (Vec::new(), line(LENGTH));
            encoding.encode(&line, &mut out, roomy).unwrap();
            let (bytes, mut back) = (Bytes::from(out), Person::default());
            encoding.decode(&mut back, &bytes, roomy).unwrap();
            assert!(back == line, "{encoding:?}");
            bytes
        });
        with_stack(2 << 20, || {
            let mut out = Vec::new();
            let written = encoding.encode(&line(LENGTH), &mut out, raised);
            assert!(
                matches!(written, Err(EncodeError::TooDeep { .. })),
                "{encoding:?}"
            );
            let read = encoding.decode(&mut Person::default(), &bytes, raised);
            let kind = read.unwrap_err().kind().clone();
            let expected = matches!(kind, DecodeErrorKind::TooDeep { limit: 64..LENGTH });
            assert!(expected, "{encoding:?}: {kind:?}");
            // Unknown fields are skipped or kept, and that terminates, too.
            let _ = encoding.decode(&mut Empty::default(), &bytes, raised);
        });
    }
}

/// On Dovetail's own wire the length of a list is no depth.
#[test]
fn long_lists() {
    let roomy = Limits {
        allocation: 2 << 30,
        ..Limits::default()
    };
    let rows = [
        (47, Limits::default()),
        (48, Limits::default()),
        (10_000, Limits::default()),
        (1_000_000, roomy),
    ];
    with_stack(2 << 20, || {
        for (length, limits) in rows {
            let line = line(length);
            for encoding in [Encoding::Tagless, Encoding::Tagged] {
                let (mut out, mut back) = (Vec::new(), Person::default());
                encoding.encode(&line, &mut out, limits).unwrap();
                let bytes = Bytes::from(out);
                let read = encoding.decode(&mut back, &bytes, limits);
                assert_eq!(read, Ok(bytes.len()), "{encoding:?} {length}");
                assert!(back == line, "{encoding:?} {length}");
            }
        }
    });
}

/// A person, some of whose friends are deep in the message, and lead to each other in every
/// direction.
#[test]
fn circles_behind_the_value() {
    let length = 200;
    let mut all: Vec<Arc<Person>> = Vec::new();
    let first = Arc::new_cyclic(|first: &std::sync::Weak<Person>| {
        let mut next = Ref::from(first);
        for number in (1..length).rev() {
            let bond = |to: Ref<Person>| Bond {
                to,
                ..Bond::default()
            };
            let later = all.iter().rev().step_by(7).take(3).cloned();
            let mut children: Vec<Bond> = later.map(|later| bond(later.into())).collect();
            children.push(bond(Ref::from(first)));
            let person = Arc::new(Person {
                friend: next,
                children,
                ..named(&number.to_string())
            });
            all.push(person.clone());
            next = person.into();
        }
        Person {
            friend: next,
            ..named("0")
        }
    });
    let root = Person {
        friend: first.clone().into(),
        ..Person::default()
    };
    for encoding in [Encoding::Tagless, Encoding::Tagged] {
        let back = again(encoding, &root);
        assert!(back == root, "{encoding:?}");
        let first = back.friend.get().unwrap();
        let (mut node, mut watched) = (first.clone(), Vec::new());
        for number in 1..length {
            watched.push(Arc::downgrade(&node));
            node = node.friend.get().unwrap();
            assert_eq!(node.name, number.to_string());
            assert!(node.children.last().unwrap().to.is(&first));
        }
        assert!(node.friend.is(&first));
        drop((back, first, node));
        assert!(
            watched.iter().all(|weak| weak.upgrade().is_none()),
            "{encoding:?}"
        );
    }
}

#[test]
fn circles_are_shown_once() {
    let text = format!("{:?}", narcissus());
    assert_eq!(text.matches("Narcissus").count(), 1, "{text}");
    assert!(text.starts_with("#0 Person") && text.contains("friend: #0"));
    assert_eq!(narcissus(), narcissus());
    assert_ne!(narcissus(), Ref::new(named("Narcissus")));
}

#[test]
fn who_knows_nothing_of_references_sees_a_tree() {
    let tree = |encoding| Person {
        friend: Ref::new(named("friend")),
        children: vec![Bond {
            to: Ref::new(named("child")),
            ..Bond::default()
        }],
        // JSON could not keep the lives of a cat.
        pet: match encoding {
            Encoding::Json => Ref::new(AnyAnimal::from(Animal::default())),
            _ => Ref::new(AnyAnimal::from(Cat::default())),
        },
        ..named("top")
    };
    let with_cat = write(Encoding::Json, &tree(Encoding::Tagged));
    let plain: PlainPerson = Encoding::Json.from_bytes(&with_cat).unwrap();
    let back: Person = Encoding::Json
        .from_bytes(&write(Encoding::Json, &plain))
        .unwrap();
    assert_eq!(back, tree(Encoding::Json));
    for encoding in Encoding::BUILT_IN {
        if matches!(encoding, Encoding::Tagless) {
            continue;
        }
        let tree = tree(encoding);
        let plain: PlainPerson = encoding.from_bytes(&write(encoding, &tree)).unwrap();
        assert_eq!(plain.friend.as_ref().unwrap().name, "friend");
        assert_eq!(plain.children[0].to.name, "child");
        // It sends the value again as it was.
        let back: Person = encoding.from_bytes(&write(encoding, &plain)).unwrap();
        assert_eq!(back, tree, "{encoding:?}");
        // And what it makes itself can be read.
        let own = PlainPerson {
            friend: Some(Box::new(PlainPerson {
                name: "own".to_owned(),
                ..PlainPerson::default()
            })),
            ..PlainPerson::default()
        };
        let back: Person = encoding.from_bytes(&write(encoding, &own)).unwrap();
        assert_eq!(back.friend.get().unwrap().name, "own");
    }
}

#[test]
fn numbers_of_others_do_not_mix_with_new_ones() {
    let friend = Ref::new(named("friend"));
    let top = Person {
        friend: friend.clone(),
        pet: Ref::new(AnyAnimal::default()),
        ..Person::default()
    };
    for encoding in [
        Encoding::ThriftBinary,
        Encoding::ThriftCompact,
        Encoding::ThriftJson,
        Encoding::Tagged,
    ] {
        let mut lonely: Lonely = encoding.from_bytes(&write(encoding, &top)).unwrap();
        assert!(matches!(
            encoding.to_bytes(&lonely),
            Err(EncodeError::Unsupported { .. })
        ));
        lonely.pet = Ref::null();
        let back: Person = encoding.from_bytes(&write(encoding, &lonely)).unwrap();
        assert_eq!(back.friend, friend);
    }
}

/// A person whose friend is a struct with this under a reserved id.
fn forged(id: i32, number: i32, name: Option<&str>) -> PlainPerson {
    let mut friend = PlainPerson {
        name: name.unwrap_or_default().to_owned(),
        ..PlainPerson::default()
    };
    friend.unknown_fields.push(id, UnknownValue::I32(number));
    PlainPerson {
        friend: Some(Box::new(friend)),
        ..PlainPerson::default()
    }
}

#[test]
fn references_to_nonsense_are_refused() {
    for encoding in [
        Encoding::ThriftBinary,
        Encoding::ThriftCompact,
        Encoding::ThriftJson,
        Encoding::Tagged,
    ] {
        let problem = |value: &PlainPerson| {
            let read = encoding.from_bytes::<Person>(&write(encoding, value));
            read.unwrap_err().to_string()
        };
        // Numbers that no node has, and a struct that goes on behind the number of another.
        let rows = [
            (
                forged(reserved::NODE, -1, None),
                "friend: the number of a node, which is none",
            ),
            (
                forged(reserved::AGAIN, 0, Some("more")),
                "friend: fields behind the number of a node that came before",
            ),
        ];
        for (value, expected) in rows {
            assert_eq!(problem(&value), expected, "{encoding:?}");
        }
        // One number twice.
        let mut twice = forged(reserved::NODE, 7, None);
        twice.children = vec![PlainBond {
            to: *forged(reserved::NODE, 7, None).friend.unwrap(),
            ..PlainBond::default()
        }];
        assert_eq!(
            problem(&twice),
            "children[].to: a reference to node 7, which is there twice"
        );
    }
    // To one behind the value that does not come, to one far beyond, and to a friend as if it were
    // a pet.
    let rows = [
        (
            "00 02 00 00",
            "name: the message ends in the middle of a value",
        ),
        (
            "00 03 00 00",
            "friend: a reference to node 1, which has not come before it",
        ),
        (
            "00 02 00 02",
            "pet: a reference to node 0, which is of another type",
        ),
        (
            "00 ffffffffffffffffff01 00 00",
            "friend: a reference to node 18446744073709551613, which has not come before it",
        ),
        (
            "00 01 00 00 00 00 00 02",
            "pet: a reference to node 0, which is of another type",
        ),
    ];
    for (tagless, expected) in rows {
        let read = Encoding::Tagless.from_bytes::<Person>(&from_hex(tagless).into());
        assert_eq!(read.unwrap_err().to_string(), expected, "{tagless}");
    }
}

/// The nodes of `interop/wire/test_encoding.py`, whose decoder is written from the specification
/// alone.
#[derive(Clone, Debug, Default, PartialEq)]
struct Owner {
    friend: Ref<Owner>,
    bonds: Vec<Bond>,
    pet: Ref<Pets>,
}
message!(Owner { 1 friend: Ref<Owner>, 2 bonds: Vec<Bond>, 3 pet: Ref<Pets>, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Pet {
    name: String,
}
message!(Pet as "Animal" { 1 name: String, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Hungry {
    base: Pet,
    hungry: bool,
}
message!(Hungry as "Cat" { 1 base.name: String, 2 hungry: bool [required], });
extends!(Hungry: Pet);

#[derive(Clone, Debug, PartialEq)]
enum Pets {
    Pet(Pet),
    Hungry(Hungry),
}
family!(Pets { Pet(Pet), Hungry(Hungry) });

#[derive(Clone, Debug, Default, PartialEq)]
struct Parameters {
    value: Owner,
}
message!(Parameters { 1 value: Owner, });

#[test]
fn bytes_behind_the_value() {
    let first = Arc::new_cyclic(|first| Owner {
        friend: Ref::new(Owner {
            friend: Ref::from(first),
            ..Owner::default()
        }),
        pet: Ref::new(Pets::Hungry(Hungry {
            base: Pet {
                name: "A".to_owned(),
            },
            hungry: true,
        })),
        ..Owner::default()
    });
    let value = Owner {
        friend: first.into(),
        ..Owner::default()
    };
    let expected = Parameters { value };
    let rows = [
        (
            Encoding::Tagless,
            "02 00 00  03 00 04  01 0141 01  02 00 00",
        ),
        (
            Encoding::Tagged,
            "30 30 04faff0301 00 00 00  30 04faff0303 00 50 04faff0305 00 00  \
             0cfeff0303436174 0c020141 2101 00  30 04faff0300 00 00",
        ),
    ];
    for (encoding, hex) in rows {
        let read = encoding.from_bytes::<Parameters>(&from_hex(hex).into());
        assert_eq!(read.as_ref(), Ok(&expected), "{encoding:?}");
    }
    // With so small a depth, all nodes are behind the value.
    let limits = Limits {
        depth: 2,
        ..Limits::default()
    };
    let mut out = Vec::new();
    Encoding::Tagless
        .encode(&expected.value, &mut out, limits)
        .unwrap();
    assert_eq!(out, from_hex(rows[0].1));
}

/// A node behind the value has to come, once, where there can be one, and to be of use.
#[test]
fn nonsense_behind_the_value() {
    const LATER: &str = "04faff03 01 00";
    fn refused<T: Value>(encoding: Encoding, hex: &str) -> String {
        let read = encoding.from_bytes::<T>(&from_hex(hex).into());
        read.err()
            .map_or_else(String::new, |error| error.to_string())
    }
    type Row = (Encoding, fn(Encoding, &str) -> String, String, &'static str);
    let rows: [Row; 6] = [
        (
            Encoding::Tagged,
            refused::<Person>,
            format!("50 {LATER} 00 00"),
            "",
        ),
        (
            Encoding::Tagged,
            refused::<Person>,
            format!("50 {LATER} 00"),
            "the message ends in the middle of a value",
        ),
        (
            Encoding::Tagged,
            refused::<Person>,
            format!("50 {LATER} 00 00 00"),
            "1 bytes are left after the value",
        ),
        (
            Encoding::Tagged,
            refused::<Lonely>,
            format!("50 {LATER} 00 00"),
            "1 bytes are left after the value",
        ),
        (
            Encoding::Tagged,
            refused::<Person>,
            format!("50 {LATER} 31 01 10 30 {LATER} 00 00 00"),
            "children[].to: a reference to node 0, which is there twice",
        ),
        (
            Encoding::ThriftBinary,
            refused::<Person>,
            "0c0002 087ffd ffffffff 00 00 00".to_owned(),
            "friend: the number of a node, which is none",
        ),
    ];
    for (encoding, refused, hex, expected) in rows {
        assert_eq!(refused(encoding, &hex), expected, "{encoding:?} {hex}");
    }
}

/// The people by the order in which they are met, and whom each refers to: the same for graphs of
/// one shape.
fn shape(top: &Person) -> Vec<(String, Vec<Option<usize>>)> {
    let mut numbers: HashMap<*const Person, usize> = HashMap::new();
    let mut people: Vec<Arc<Person>> = vec![Arc::new(top.clone())];
    let mut shape = Vec::new();
    let mut next = 0;
    while let Some(person) = people.get(next).cloned() {
        let refs = std::iter::once(&person.friend).chain(person.children.iter().map(|b| &b.to));
        let numbered = refs.map(|to| {
            let to = to.get()?;
            Some(*numbers.entry(Arc::as_ptr(&to)).or_insert_with(|| {
                people.push(to.clone());
                people.len() - 1
            }))
        });
        shape.push((person.name.clone(), numbered.collect()));
        next += 1;
    }
    shape
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_graph_survives_every_encoding(
        top in values::person(),
        broken: (prop::sample::Index, u8),
    ) {
        for encoding in Encoding::BUILT_IN {
            let bytes = write(encoding, &top);
            let back: Person = encoding.from_bytes(&bytes).unwrap();
            prop_assert_eq!(shape(&back), shape(&top), "{:?}", encoding);
            prop_assert_eq!(&back, &top);
            let mut mutated = bytes.to_vec();
            if !mutated.is_empty() {
                let at = broken.0.index(mutated.len());
                mutated[at] ^= broken.1;
            }
            let mut value = Person::default();
            if encoding.decode(&mut value, &mutated.into(), Limits::default()).is_ok() {
                let _ = encoding.to_bytes(&value);
                let _ = format!("{value:?}");
                prop_assert!(value == value.clone());
            }
        }
    }
}

/// The type of a struct comes first. Writers that order fields by number put it last, and are told
/// so.
#[test]
fn the_type_behind_other_fields() {
    let late = "it comes first";
    let unknown = "a struct of a type that this end does not know, whose members would be lost";
    let thrift = |fields: &str| from_hex(&format!("0c0001 {fields} 00 00"));
    let (name, dog) = ("0b0001 00000003 526578", "0b7fff 00000003 446f67");
    let rows: &[(Encoding, Vec<u8>, &str)] = &[
        (Encoding::ThriftBinary, thrift(&format!("{dog} {name}")), ""),
        (
            Encoding::ThriftBinary,
            thrift(&format!("{name} {dog}")),
            late,
        ),
        (
            Encoding::Protobuf,
            from_hex("0a0c faff0f03446f67 0a03526578"),
            "",
        ),
        (
            Encoding::Protobuf,
            from_hex("0a0c 0a03526578 faff0f03446f67"),
            late,
        ),
        (
            Encoding::Json,
            br##"{"inmate":{"#type":"Dog","name":"Rex"}}"##.to_vec(),
            "",
        ),
        (
            Encoding::Json,
            br##"{"inmate":{"name":"Rex","#type":"Dog"}}"##.to_vec(),
            late,
        ),
        (
            Encoding::Json,
            br##"{"inmate":{"#type":"Puppy","weeks":3}}"##.to_vec(),
            unknown,
        ),
    ];
    for (encoding, bytes, error) in rows {
        let bytes = Bytes::from(bytes.clone());
        // This contract has no puppies.
        let cats = encoding.from_bytes::<CatCage>(&bytes);
        match *error {
            "" => {
                let cage: Cage = encoding.from_bytes(&bytes).unwrap();
                assert!(
                    matches!(&cage.inmate, AnyAnimal::Dog(dog) if dog.name == "Rex"),
                    "{encoding:?}"
                );
            }
            error => {
                let found = cats.unwrap_err().to_string();
                assert!(found.contains(error), "{encoding:?}: {found}");
            }
        }
    }
    // A contract without families makes up no puppy, either.
    let json = Bytes::from_static(br##"{"inmate":{"#type":"Puppy","name":"Rex","weeks":3}}"##);
    let old: OldCage = Encoding::Json.from_bytes(&json).unwrap();
    let passed_on = write(Encoding::Json, &old);
    assert!(
        !String::from_utf8_lossy(&passed_on).contains("Puppy"),
        "{passed_on:?}"
    );
}
