//! The memory of values that a schema drives is never more than the budget allows.

mod common;
#[path = "../../wire/tests/measure/mod.rs"]
mod measure;

use common::*;
use dovetail_dynamic::{Contract, Struct, Typed, TypedSlot, Value};
use dovetail_schema::{Dimension, Schema, Type};
use dovetail_wire::{Bytes, DecodeError, Encoding, Limits};
use proptest::prelude::*;

/// Enough elements to show a wrong charge for each.
const MANY: usize = 700;

fn check(schema: &Schema, name: &str, ty: &Type, value: &Value) -> Result<(), String> {
    let contract = Contract::new(schema);
    for encoding in Encoding::BUILT_IN {
        let typed = Typed {
            contract: &contract,
            ty,
            value,
        };
        let mut out = Vec::new();
        if encoding.encode(&typed, &mut out, Limits::default()).is_ok() {
            read(&contract, name, ty, encoding, out.into())?;
        }
    }
    Ok(())
}

fn read(
    contract: &Contract<'_>,
    name: &str,
    ty: &Type,
    encoding: Encoding,
    input: Bytes,
) -> Result<(), String> {
    measure::cost(name, encoding, &input, |limits| {
        let mut slot = TypedSlot {
            contract,
            ty,
            value: None,
        };
        let read = encoding.decode(&mut slot, &input, limits);
        read.map(drop).map_err(|e: DecodeError| e.kind().clone())
    })
    .map(drop)
}

fn list(ty: &Type) -> Type {
    Type::List(Box::new(ty.clone()))
}

fn map(key: Type, value: Type) -> Type {
    Type::Map(Box::new(key), Box::new(value))
}

fn many(value: Value) -> Value {
    Value::List(vec![value; MANY])
}

#[test]
fn lists_and_maps() {
    let text = |text: &str| Value::String(text.to_owned());
    let entries = |order: &mut dyn Iterator<Item = usize>| {
        Value::Map(
            order
                .map(|n| (text(&n.to_string()), Value::Int(1)))
                .collect(),
        )
    };
    let counts = map(Type::String, Type::I32);
    let rows = [
        ("truths", list(&Type::Bool), many(Value::Bool(true))),
        ("texts", list(&Type::String), many(text("a"))),
        (
            "short lists",
            list(&list(&Type::I8)),
            many(Value::List(vec![Value::Int(1)])),
        ),
        ("short maps", list(&counts), many(entries(&mut (0..1)))),
        (
            "empty arrays",
            list(&Type::Array(
                Box::new(Type::I8),
                vec![Dimension::Dynamic; 3],
            )),
            many(Value::Array(vec![0; 3], Vec::new())),
        ),
        ("a map", counts.clone(), entries(&mut (0..MANY))),
        (
            "a map without order",
            counts.clone(),
            entries(&mut (0..MANY).rev()),
        ),
        (
            "one key",
            counts,
            entries(&mut std::iter::repeat_n(1, MANY)),
        ),
    ];
    let failed: Vec<String> = rows
        .iter()
        .filter_map(|(name, ty, value)| check(shared(), name, ty, value).err())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Structs with the one field that takes the fewest bytes, and with none.
#[test]
fn structs() {
    let schema = shared();
    let contract = Contract::new(schema);
    let ids = (0..schema.types.len() as u32).map(dovetail_schema::TypeId);
    let mut structs = 0;
    for id in ids.filter(|id| contract.table(*id).is_some()) {
        let ty = list(&Type::Named(id));
        let name = &schema[id].name;
        check(schema, name, &ty, &many(Value::Struct(Struct::new()))).unwrap();
        structs += 1;
    }
    assert!(structs > 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn random_values((ty, value) in any_typed(shared())) {
        let checked = check(shared(), "random", &list(&ty), &many(value));
        prop_assert_eq!(checked, Ok(()));
    }
}
