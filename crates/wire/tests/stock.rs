//! Libraries that know nothing of inheritance and references, Apache's for Thrift and prost for
//! protobuf, read what comes of them as the structs that they know, and what they write is read
//! here.
#![allow(clippy::unwrap_used)]

mod fixtures;

use dovetail_wire::{Bytes, Encoding, Ref, Value};
use fixtures::*;
use prost::Message as _;
use std::collections::BTreeMap;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TCompactOutputProtocol,
    TFieldIdentifier, TInputProtocol, TListIdentifier, TOutputProtocol, TStructIdentifier, TType,
};

/// `struct StockPerson`, which is `Person` of the fixtures without references, and `Animal` for
/// pets. Other fields are skipped; the derive is for protobuf.
#[derive(Clone, PartialEq, prost::Message)]
struct StockPerson {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, boxed, tag = "2")]
    friend: Option<Box<StockPerson>>,
    #[prost(message, repeated, tag = "3")]
    children: Vec<StockBond>,
    #[prost(message, optional, tag = "4")]
    pet: Option<StockAnimal>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StockBond {
    #[prost(message, optional, tag = "1")]
    to: Option<StockPerson>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StockAnimal {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, optional, tag = "2")]
    legs: Option<i32>,
}

/// The loop of every struct that Apache's generator writes; `field` reads one, or says that it is
/// unknown.
fn read_struct(
    input: &mut dyn TInputProtocol,
    mut field: impl FnMut(i16, &mut dyn TInputProtocol) -> thrift::Result<bool>,
) -> thrift::Result<()> {
    input.read_struct_begin()?;
    loop {
        let header = input.read_field_begin()?;
        if header.field_type == TType::Stop {
            return input.read_struct_end();
        }
        if !field(header.id.unwrap(), input)? {
            input.skip(header.field_type)?;
        }
        input.read_field_end()?;
    }
}

fn read_animal(input: &mut dyn TInputProtocol) -> thrift::Result<StockAnimal> {
    let mut animal = StockAnimal::default();
    read_struct(input, |id, input| {
        match id {
            1 => animal.name = input.read_string()?,
            2 => animal.legs = Some(input.read_i32()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(animal)
}

fn read_person(input: &mut dyn TInputProtocol) -> thrift::Result<StockPerson> {
    let mut person = StockPerson::default();
    read_struct(input, |id, input| {
        match id {
            1 => person.name = input.read_string()?,
            2 => person.friend = Some(Box::new(read_person(input)?)),
            3 => {
                for _ in 0..input.read_list_begin()?.size {
                    person.children.push(read_bond(input)?);
                }
                input.read_list_end()?;
            }
            4 => person.pet = Some(read_animal(input)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(person)
}

fn read_bond(input: &mut dyn TInputProtocol) -> thrift::Result<StockBond> {
    let mut bond = StockBond::default();
    read_struct(input, |id, input| {
        match id {
            1 => bond.to = Some(read_person(input)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(bond)
}

/// A field with its header.
fn write_field(
    output: &mut dyn TOutputProtocol,
    id: i16,
    ty: TType,
    value: impl FnOnce(&mut dyn TOutputProtocol) -> thrift::Result<()>,
) -> thrift::Result<()> {
    output.write_field_begin(&TFieldIdentifier::new("", ty, id))?;
    value(output)?;
    output.write_field_end()
}

fn write_person(person: &StockPerson, output: &mut dyn TOutputProtocol) -> thrift::Result<()> {
    output.write_struct_begin(&TStructIdentifier::new("Person"))?;
    write_field(output, 1, TType::String, |out| {
        out.write_string(&person.name)
    })?;
    if let Some(friend) = &person.friend {
        write_field(output, 2, TType::Struct, |out| write_person(friend, out))?;
    }
    write_field(output, 3, TType::List, |out| {
        let size = person.children.len() as i32;
        out.write_list_begin(&TListIdentifier::new(TType::Struct, size))?;
        for bond in &person.children {
            out.write_struct_begin(&TStructIdentifier::new("Bond"))?;
            if let Some(to) = &bond.to {
                write_field(out, 1, TType::Struct, |out| write_person(to, out))?;
            }
            out.write_field_stop()?;
            out.write_struct_end()?;
        }
        out.write_list_end()
    })?;
    if let Some(pet) = &person.pet {
        write_field(output, 4, TType::Struct, |out| {
            out.write_struct_begin(&TStructIdentifier::new("Animal"))?;
            write_field(out, 1, TType::String, |out| out.write_string(&pet.name))?;
            out.write_field_stop()?;
            out.write_struct_end()
        })?;
    }
    output.write_field_stop()?;
    output.write_struct_end()
}

/// Reads the bytes with the library of an encoding.
fn read(encoding: Encoding, bytes: &[u8]) -> Option<StockPerson> {
    Some(match encoding {
        Encoding::ThriftBinary => read_person(&mut TBinaryInputProtocol::new(bytes, true)).unwrap(),
        Encoding::ThriftCompact => read_person(&mut TCompactInputProtocol::new(bytes)).unwrap(),
        Encoding::Protobuf => StockPerson::decode(bytes).unwrap(),
        _ => return None,
    })
}

fn write(encoding: Encoding, person: &StockPerson) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match encoding {
        Encoding::ThriftBinary => {
            write_person(person, &mut TBinaryOutputProtocol::new(&mut bytes, true)).unwrap();
        }
        Encoding::ThriftCompact => {
            write_person(person, &mut TCompactOutputProtocol::new(&mut bytes)).unwrap();
        }
        Encoding::Protobuf => bytes = person.encode_to_vec(),
        _ => return None,
    }
    Some(bytes)
}

fn named(name: &str) -> Person {
    Person {
        name: name.to_owned(),
        ..Person::default()
    }
}

fn stock(name: &str) -> StockPerson {
    StockPerson {
        name: name.to_owned(),
        ..StockPerson::default()
    }
}

fn check(value: &Person, expected: &StockPerson) {
    for encoding in Encoding::BUILT_IN {
        let bytes = encoding.to_bytes(value).unwrap();
        if let Some(read) = read(encoding, &bytes) {
            assert_eq!(&read, expected, "{encoding:?}");
        }
    }
}

#[test]
fn a_derived_struct_is_the_one_that_it_extends() {
    let base = Animal {
        name: "Rex".to_owned(),
        legs: Some(4),
        ..Animal::default()
    };
    let dog = Dog {
        base,
        breed: "Collie".to_owned(),
        friends: vec![Cat::default().into()],
    };
    let value = Person {
        pet: Ref::new(
            Puppy {
                base: dog,
                weeks: 7,
            }
            .into(),
        ),
        ..named("owner")
    };
    let pet = StockAnimal {
        name: "Rex".to_owned(),
        legs: Some(4),
    };
    let expected = StockPerson {
        pet: Some(pet),
        ..stock("owner")
    };
    check(&value, &expected);
}

fn bond(name: &str) -> (Bond, StockBond) {
    let to = Ref::new(named(name));
    let ours = Bond {
        to,
        ..Bond::default()
    };
    let to = Some(stock(name));
    (ours, StockBond { to })
}

#[test]
fn a_tree_of_references_is_a_tree() {
    let (bonds, stock_bonds) = ["one", "two"].map(bond).into_iter().unzip();
    let value = Person {
        friend: Ref::new(named("friend")),
        children: bonds,
        ..named("top")
    };
    let expected = StockPerson {
        friend: Some(Box::new(stock("friend"))),
        children: stock_bonds,
        ..stock("top")
    };
    check(&value, &expected);
}

#[test]
fn what_comes_again_is_an_empty_struct() {
    let (one, stock_one) = bond("one");
    let value = Person {
        children: vec![one.clone(), one],
        ..named("top")
    };
    let again = StockBond {
        to: Some(stock("")),
    };
    let expected = StockPerson {
        children: vec![stock_one, again],
        ..stock("top")
    };
    check(&value, &expected);
}

#[test]
fn what_the_libraries_write_is_read() {
    let (bonds, stock_bonds): (Vec<_>, _) = ["one", "two"].map(bond).into_iter().unzip();
    let pet = StockAnimal {
        name: "Rex".to_owned(),
        legs: None,
    };
    let sent = StockPerson {
        friend: Some(Box::new(stock("friend"))),
        children: stock_bonds,
        pet: Some(pet),
        ..stock("top")
    };
    let pet = Animal {
        name: "Rex".to_owned(),
        ..Animal::default()
    };
    let expected = Person {
        friend: Ref::new(named("friend")),
        children: bonds,
        pet: Ref::new(pet.into()),
        ..named("top")
    };
    for encoding in Encoding::BUILT_IN {
        if let Some(bytes) = write(encoding, &sent) {
            assert_eq!(of::<Person>(encoding, bytes), expected, "{encoding:?}");
        }
    }
}

fn of<T: Value>(encoding: Encoding, bytes: Vec<u8>) -> T {
    encoding.from_bytes(&Bytes::from(bytes)).unwrap()
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Maps {
    zigzag: BTreeMap<i32, i64>,
    fixed: BTreeMap<u32, i64>,
    mixed: BTreeMap<i64, i32>,
    keys: BTreeMap<i32, String>,
    values: BTreeMap<String, u64>,
    plain: BTreeMap<u32, i32>,
}

dovetail_wire::message!(Maps {
    1 zigzag: BTreeMap<i32, i64> [zigzag, zigzag_key],
    2 fixed: BTreeMap<u32, i64> [fixed, fixed_key],
    3 mixed: BTreeMap<i64, i32> [zigzag],
    4 keys: BTreeMap<i32, String> [fixed_key],
    5 values: BTreeMap<String, u64> [fixed],
    7 plain: BTreeMap<u32, i32>,
});

/// `map<sint32, sint64>`, `map<fixed32, sfixed64>` and so on, as protobuf's library for Python
/// (7.36) writes them.
#[test]
fn integers_of_maps_have_formats_of_their_own() {
    let maps = Maps {
        zigzag: [(1, -1)].into(),
        fixed: [(7, -2)].into(),
        mixed: [(-1, -1)].into(),
        keys: [(-3, "x".to_owned())].into(),
        values: [("a".to_owned(), 5)].into(),
        plain: [(1, -1)].into(),
    };
    let bytes = [
        &b"\x0a\x04\x08\x02\x10\x01"[..],
        b"\x12\x0e\x0d\x07\0\0\0\x11\xfe\xff\xff\xff\xff\xff\xff\xff",
        b"\x1a\x0d\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01",
        b"\x22\x08\x0d\xfd\xff\xff\xff\x12\x01x",
        b"\x2a\x0c\x0a\x01a\x11\x05\0\0\0\0\0\0\0",
        b"\x3a\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ]
    .concat();
    assert_eq!(dovetail_wire::protobuf::to_bytes(&maps), Ok(bytes.clone()));
    assert_eq!(of::<Maps>(Encoding::Protobuf, bytes), maps);
}
