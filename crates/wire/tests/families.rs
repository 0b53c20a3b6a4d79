//! A value of a struct that extends another one arrives with its own type. A reader that does not
//! know that type gets the fields it knows, with the rest beside them.
#![allow(clippy::unwrap_used)]

mod fixtures;

use dovetail_wire::{Bytes, DecodeErrorKind, EncodeError, Encoding, Value, reserved};
use fixtures::*;
use std::fmt::Debug;

fn animal(name: &str, legs: Option<i32>) -> Animal {
    Animal {
        name: name.to_owned(),
        legs,
        ..Animal::default()
    }
}

fn dog() -> Dog {
    Dog {
        base: animal("Rex", Some(4)),
        breed: "Collie".to_owned(),
        ..Dog::default()
    }
}

fn cat() -> Cat {
    Cat {
        base: animal("Mimi", None),
        lives: 7,
    }
}

fn puppy() -> Puppy {
    let mut friends = Dog {
        friends: vec![cat().into(), dog().into(), Animal::default().into()],
        ..dog()
    };
    friends.name = "Max".to_owned();
    Puppy {
        base: friends,
        weeks: 6,
    }
}

fn cage() -> Cage {
    Cage {
        inmate: dog().into(),
        more: vec![
            Animal::default().into(),
            cat().into(),
            puppy().into(),
            AnyAnimal::default(),
        ],
        maybe: Some(puppy().into()),
        ..Cage::default()
    }
}

/// The encodings in which structs have ids.
fn with_ids() -> impl Iterator<Item = Encoding> {
    Encoding::BUILT_IN
        .into_iter()
        .filter(|encoding| !matches!(encoding, Encoding::Json | Encoding::Tagless))
}

fn write<T: Value>(encoding: Encoding, value: &T) -> Bytes {
    encoding.to_bytes(value).unwrap().into()
}

fn check<T: Value + PartialEq + Debug>(value: &T) {
    for encoding in Encoding::BUILT_IN {
        let bytes = write(encoding, value);
        assert_eq!(
            encoding.from_bytes::<T>(&bytes).as_ref(),
            Ok(value),
            "{encoding:?}"
        );
    }
}

#[test]
fn members_arrive_as_what_they_are() {
    check(&AnyAnimal::from(Animal::default()));
    check(&AnyAnimal::from(dog()));
    check(&AnyAnimal::from(puppy()));
    check(&cage());
    check(&vec![AnyAnimal::from(cat()), dog().into()]);
}

#[test]
fn a_family_has_what_is_common() {
    let mut any = AnyAnimal::from(puppy());
    any.name.push('!');
    assert_eq!(any.name, "Max!");
    assert_eq!(puppy().breed, "Collie");
    assert_eq!(AnyAnimal::NAMES, ["Animal", "Dog", "Puppy", "Cat"]);
}

/// Sends a value through an end with another contract, and back.
fn relay<T: Value + Debug>(encoding: Encoding) -> T {
    let bytes = write(encoding, &cage());
    let between: T = encoding.from_bytes(&bytes).unwrap();
    let back: Cage = encoding.from_bytes(&write(encoding, &between)).unwrap();
    assert_eq!(back, cage(), "{encoding:?}");
    between
}

#[test]
fn who_knows_nothing_of_families_gets_the_common_part_and_keeps_the_rest() {
    for encoding in with_ids() {
        let cage: OldCage = relay(encoding);
        assert_eq!(
            (cage.inmate.name.as_str(), cage.inmate.legs),
            ("Rex", Some(4))
        );
        assert_eq!(cage.more[1].name, "Mimi");
    }
}

#[test]
fn who_knows_other_members_gets_the_first_one_and_keeps_the_rest() {
    for encoding in with_ids() {
        let cage: CatCage = relay(encoding);
        assert!(matches!(&cage.inmate, Feline::Animal(animal) if animal.name == "Rex"));
        assert!(matches!(&cage.more[1], Feline::Cat(cat) if cat.lives == 7));
        // Only an encoding with ids can carry a dog that is not known to be one.
        assert_eq!(
            Encoding::Tagless.to_bytes(&cage),
            Err(EncodeError::NeedsTags)
        );
    }
}

#[test]
fn relays_between_encodings_lose_nothing_of_what_thrift_can_say() {
    let encodings = [
        Encoding::ThriftBinary,
        Encoding::ThriftCompact,
        Encoding::Tagged,
    ];
    for from in encodings {
        for to in encodings {
            let old: OldCage = from.from_bytes(&write(from, &cage())).unwrap();
            let back: Cage = to.from_bytes(&write(to, &old)).unwrap();
            assert_eq!(back, cage(), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn what_a_member_requires_is_required() {
    for encoding in with_ids() {
        // A puppy without its weeks: a dog that says that it is one.
        let mut animal = Animal::default();
        let name = dovetail_wire::UnknownValue::String("Puppy".to_owned());
        animal.unknown_fields.push(reserved::TYPE, name);
        let read = encoding.from_bytes::<AnyAnimal>(&write(encoding, &animal));
        let kind = read.unwrap_err().kind().clone();
        assert!(matches!(kind, DecodeErrorKind::MissingField { name } if name == "weeks"));
    }
}

#[test]
fn a_name_that_is_none_is_kept() {
    use dovetail_wire::UnknownValue;
    for value in [
        UnknownValue::I32(7),
        UnknownValue::Bytes(Bytes::from_static(&[0xff])),
        UnknownValue::List(dovetail_wire::Kind::Bool, Vec::new()),
    ] {
        for encoding in with_ids() {
            let mut animal = Animal::default();
            animal.unknown_fields.push(reserved::TYPE, value.clone());
            let bytes = write(encoding, &animal);
            let read: AnyAnimal = encoding.from_bytes(&bytes).unwrap();
            assert!(matches!(read, AnyAnimal::Animal(_)));
            assert_eq!(write(encoding, &read), bytes, "{encoding:?}");
        }
    }
}

/// Every bit another one: what can be read can be shown, and most of it can be written.
#[test]
fn broken() {
    for encoding in Encoding::BUILT_IN {
        let bytes = write(encoding, &cage()).to_vec();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << bit;
                if let Ok(value) = encoding.from_bytes::<Cage>(&broken.into()) {
                    assert!(!format!("{value:?}").is_empty());
                    assert!(encoding.to_bytes(&value).is_ok(), "{encoding:?} {at} {bit}");
                }
            }
        }
    }
}

#[test]
fn no_other_places() {
    let read = Encoding::Tagless.from_bytes::<AnyAnimal>(&Bytes::from_static(&[4, 0, 0]));
    assert!(read.is_err());
}
