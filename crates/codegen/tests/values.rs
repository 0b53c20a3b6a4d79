//! Generated types and values by schema write the same bytes, and read each other's.
#![allow(clippy::unwrap_used)]

use dovetail::wire::{Encoding, Limits, Value};
use dovetail::{Any, Array, Date, Dynamic, SignedDuration};
use dovetail_dynamic::{Contract, Plausible, Typed, TypedSlot};
use dovetail_idl::MemoryLoader;
use dovetail_schema::{Schema, Type};
use std::fmt::Debug;

mod rich {
    #![allow(dead_code)]
    include!("golden/rich/output.rs");
}

use rich::rich::{Arrays, Either, Entry, Keys, Long, Pair, Rich};

fn schema() -> Schema {
    let contract = include_str!("golden/rich/input.thrift");
    let files = [("input.thrift".to_owned(), contract.to_owned())];
    let loader: MemoryLoader = files.into_iter().collect();
    let compiled = dovetail_idl::compile("input.thrift", &loader);
    compiled.schema.unwrap()
}

/// A value of the generated type, through the schema and back.
fn check<T: Value + PartialEq + Debug>(contract: &Contract<'_>, name: &str, value: &T) {
    let ty = Type::Named(contract.schema().find_type(name).unwrap());
    for encoding in Encoding::BUILT_IN {
        let bytes = encoding.to_bytes(value).unwrap();
        let mut slot = TypedSlot {
            contract,
            ty: &ty,
            value: None,
        };
        let read = encoding.decode(&mut slot, &bytes.clone().into(), Limits::default());
        assert_eq!(read, Ok(bytes.len()), "{name} {encoding:?}");
        let typed = Typed {
            contract,
            ty: &ty,
            value: &slot.value.unwrap(),
        };
        let again = encoding.to_bytes(&typed).unwrap();
        let back: T = encoding.from_bytes(&again.clone().into()).unwrap();
        assert_eq!(&back, value, "{name} {encoding:?}");
        // Protobuf has no trace of empty containers.
        assert!(
            again == bytes || matches!(encoding, Encoding::Protobuf),
            "{name} {encoding:?}"
        );
    }
}

#[test]
fn both_write_the_same() {
    let schema = schema();
    let contract = Contract::new(&schema);
    check(&contract, "Rich", &Rich::default());
    let entry = Entry {
        what: Any::pack(&Pair::default()).unwrap(),
        ..Entry::default()
    };
    check(&contract, "Entry", &entry);
    let pair = Pair {
        parts: Some(Box::new([Pair::default(), Pair::default()])),
        number: 1,
        ..Pair::default()
    };
    check(&contract, "Pair", &pair);
    let both = [
        Either::When(Default::default()),
        Either::Value(Dynamic::from(1.5)),
    ];
    check(&contract, "Either", &Either::Both(Box::new(both)));
    let arrays = Arrays {
        lines: vec![[[1.0; 3]; 2]],
        mixed: Array::new([2, 1], vec![[1, 2, 3], [4, 5, 6]]).unwrap(),
        far: Some(Array::new([1, 2, 1], vec![[0.5; 3]; 2]).unwrap()),
        ..Arrays::default()
    };
    check(&contract, "Arrays", &arrays);
    let mut long = Long::default();
    check(&contract, "Long", &long);
    long.embedding.elements_mut()[999] = 0.5;
    long.board.elements_mut()[0][19] = true;
    check(&contract, "Long", &long);
    let mut keys = Keys::default();
    keys.days.insert(Date::constant(2026, 11, 20));
    keys.by_price
        .insert(rich::rich::PRICE, vec![SignedDuration::MIN]);
    keys.points.insert([1.5.into(), 2.5.into()]);
    keys.by_local
        .insert(*rich::rich::BERLIN, Array::constant([1, 2], vec![-1, 1]));
    check(&contract, "Keys", &keys);
}

/// Sample data of the schema are values of the generated types.
#[test]
fn sample_data_are_read() {
    fn read<T: Value>(contract: &Contract<'_>, name: &str) {
        let ty = Type::Named(contract.schema().find_type(name).unwrap());
        for seed in 0..50 {
            let value = Plausible::new(contract, seed).value(&ty, "thing").unwrap();
            let typed = Typed {
                contract,
                ty: &ty,
                value: &value,
            };
            for encoding in Encoding::BUILT_IN {
                let bytes = encoding.to_bytes(&typed).unwrap();
                let value: T = encoding.from_bytes(&bytes.clone().into()).unwrap();
                assert_eq!(encoding.to_bytes(&value).unwrap().len(), bytes.len());
            }
        }
    }
    let schema = schema();
    let contract = Contract::new(&schema);
    read::<Rich>(&contract, "Rich");
    read::<Arrays>(&contract, "Arrays");
    read::<Long>(&contract, "Long");
    read::<Pair>(&contract, "Pair");
    read::<Either>(&contract, "Either");
}
