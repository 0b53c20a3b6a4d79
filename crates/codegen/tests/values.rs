//! Generated types and values by schema write the same bytes, and read each other's.
#![allow(clippy::unwrap_used)]

use dovetail::encoding::{Encoding, Limits, Value};
use dovetail::types::{Any, Array, Date, Dynamic, Ref, SignedDuration, Timestamp};
use dovetail_dynamic::{Contract, Plausible, Typed, TypedSlot};
use dovetail_idl::MemoryLoader;
use dovetail_schema::{Schema, Type};
use std::fmt::Debug;
use std::sync::Arc;

mod rich {
    #![allow(dead_code)]
    include!("golden/rich/output.rs");
}

mod graphs {
    #![allow(dead_code)]
    include!("golden/graphs/output.rs");
}

use graphs::graphs::{AnyNode, Forest, Leaf, Link, Node};
use rich::rich::{Arrays, Either, Entry, Keys, Long, Pair, Rich};

const RICH: &str = include_str!("golden/rich/input.thrift");
const GRAPHS: &str = include_str!("golden/graphs/input.thrift");

fn schema(contract: &str) -> Schema {
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
        // Protobuf has no trace of empty containers, and what is `null` in JSON is absent.
        assert!(
            again == bytes || matches!(encoding, Encoding::Json | Encoding::Protobuf),
            "{name} {encoding:?}"
        );
    }
}

#[test]
fn both_write_the_same() {
    let schema = schema(RICH);
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
    keys.by_price.insert(
        rich::rich::PRICE,
        vec![SignedDuration::new(-315_576_000_000, -999_999_999)],
    );
    keys.points.insert([1.5.into(), 2.5.into()]);
    keys.by_local
        .insert(*rich::rich::BERLIN, Array::constant([1, 2], vec![-1, 1]));
    check(&contract, "Keys", &keys);
}

#[test]
fn structs_that_extend_others_and_references_are_the_same_in_arrays_and_any() {
    let schema = schema(GRAPHS);
    let contract = Contract::new(&schema);
    let leaf = Leaf {
        fallen: Timestamp::constant(1_795_132_800, 0),
        ..Leaf::default()
    };
    let node = Arc::new(AnyNode::from(leaf.clone()));
    let link = Link {
        to: Ref::from(node),
        ..Link::default()
    };
    let forest = Forest {
        pair: [link.clone(), link],
        grid: Array::new([1, 2], vec![Node::default().into(), leaf.clone().into()]).unwrap(),
        tallest: Any::pack(&leaf).unwrap(),
        ..Forest::default()
    };
    check(&contract, "Forest", &forest);
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
    let rich = schema(RICH);
    let contract = Contract::new(&rich);
    read::<Rich>(&contract, "Rich");
    read::<Arrays>(&contract, "Arrays");
    read::<Long>(&contract, "Long");
    read::<Pair>(&contract, "Pair");
    read::<Either>(&contract, "Either");
    let graphs = schema(GRAPHS);
    read::<Forest>(&Contract::new(&graphs), "Forest");
}
