//! Structs that extend others and references: their JSON, and every encoding of them.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::{
    Contract, Plausible, Typed, TypedSlot, Value, arguments_from_json, arguments_to_json,
    from_json, to_json,
};
use dovetail_idl::MemoryLoader;
use dovetail_schema::{Schema, Type};
use dovetail_wire::{Bytes, Decode as _, Encode as _, EncodeError, Encoding, Limits, tagless};
use serde_json::{Value as Json, json};

const CONTRACT: &str = "
    struct Animal { 1: string name }
    struct Dog extends Animal { 2: i32 age, 3: list<Animal> friends, 4: optional timestamp born }
    struct Cat extends Animal { 2: required bool hungry }
    struct Person {
        1: string name,
        2: ref Person friend,
        3: list<Bond> bonds,
        4: ref Animal pet,
        5: optional Animal prey
    }
    struct Bond { 1: required ref Person to }
    struct Show { 1: array<Bond, 2> pair, 2: array<Animal, *, *> cages, 3: any star }
    service People { void meet(1: ref Person one, 2: ref Person other) }
";

fn schema() -> Schema {
    let files = [("input.thrift".to_owned(), CONTRACT.to_owned())];
    let loader: MemoryLoader = files.into_iter().collect();
    let compiled = dovetail_idl::compile("input.thrift", &loader);
    let messages = compiled.render(false);
    compiled.schema.unwrap_or_else(|| panic!("{messages}"))
}

fn ty(schema: &Schema, name: &str) -> Type {
    Type::Named(schema.find_type(name).unwrap())
}

fn encode(typed: Typed<'_>, encoding: Encoding) -> Result<Bytes, EncodeError> {
    let mut out = Vec::new();
    encoding.encode(&typed, &mut out, Limits::default())?;
    Ok(out.into())
}

fn decode<'a>(
    contract: &'a Contract<'a>,
    ty: &'a Type,
    encoding: Encoding,
    bytes: &Bytes,
) -> Result<Value, String> {
    let value = None;
    let mut slot = TypedSlot {
        contract,
        ty,
        value,
    };
    let read = encoding.decode(&mut slot, bytes, Limits::default());
    read.map_err(|e| e.to_string())?;
    Ok(slot.value.unwrap())
}

/// JSON to a value, through every encoding, and back.
fn check(name: &str, json: Json, shown: Json) {
    // Protobuf does not tell an empty list from none.
    let all = Encoding::BUILT_IN.into_iter();
    let encodings = all.filter(|encoding| !matches!(encoding, Encoding::Protobuf));
    let schema = schema();
    let (contract, ty) = (Contract::new(&schema), ty(&schema, name));
    let value = from_json(&contract, &ty, &json).unwrap();
    for encoding in encodings {
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        let bytes = encode(typed, encoding).unwrap();
        let back = decode(&contract, &ty, encoding, &bytes).unwrap();
        assert_eq!(to_json(&contract, &ty, &back), shown, "{encoding:?}");
        let typed = Typed {
            value: &back,
            ..typed
        };
        assert_eq!(encode(typed, encoding).unwrap(), bytes, "{encoding:?}");
    }
}

#[test]
fn structs_that_extend_others() {
    let cat = || json!({"#type": "Cat", "name": "Mimi", "hungry": true});
    check("Animal", json!({"name": "x"}), json!({"name": "x"}));
    check("Animal", json!({"#type": "Animal"}), json!({"name": ""}));
    check("Animal", cat(), cat());
    let mut dog =
        json!({"#type": "Dog", "name": "Rex", "age": 3, "friends": [cat(), {"name": "y"}]});
    dog["born"] = json!("2026-11-20T00:00:00Z");
    check("Animal", dog.clone(), dog);
    let prey = json!({"name": "", "bonds": [], "prey": cat()});
    check("Person", prey.clone(), prey);
}

#[test]
fn references() {
    let person = |name: &str| json!({"name": name, "bonds": []});
    let with = |mut json: Json, key: &str, value: Json| {
        json[key] = value;
        json
    };
    // Numbers that nothing leads to again are not shown, and the others are counted.
    let own = json!({"#node": 7, "name": "own", "friend": {"#ref": 7}, "bonds": []});
    check(
        "Person",
        with(person("top"), "friend", own),
        json!({"name": "top", "friend": {"name": "own", "friend": {"#ref": 0}, "bonds": [], "#node": 0}, "bonds": []}),
    );
    check(
        "Person",
        with(
            person("top"),
            "friend",
            with(person("x"), "#node", json!(5)),
        ),
        with(person("top"), "friend", person("x")),
    );
    let shared = json!([{"to": with(person("a"), "#node", json!(1))}, {"to": person("b")}, {"to": {"#ref": 1}}]);
    let again = json!([{"to": with(person("a"), "#node", json!(0))}, {"to": person("b")}, {"to": {"#ref": 0}}]);
    check(
        "Person",
        with(person("top"), "bonds", shared),
        with(person("top"), "bonds", again),
    );
    let pet = json!({"#type": "Cat", "name": "Mimi", "hungry": false});
    let top = with(person("top"), "pet", pet);
    check("Person", top.clone(), top);
}

#[test]
fn inside_arrays_and_any() {
    let check = |pair, cages, star| {
        let show = json!({"pair": pair, "cages": cages, "star": star});
        check("Show", show.clone(), show);
    };
    let cat = json!({"#type": "Cat", "name": "Mimi", "hungry": true});
    let person = json!({"name": "a", "bonds": [], "#node": 0});
    let pair = json!([{"to": person}, {"to": {"#ref": 0}}]);
    let any = json!({"@type": "Cat", "@encoding": "tagged", "name": "Tom", "hungry": false});
    check(pair.clone(), json!([[cat, {"name": "x"}]]), any);
    let any = json!({"@type": "Animal", "@encoding": "tagged", "#type": "Cat", "name": "Tom", "hungry": false});
    check(pair.clone(), json!([[{"name": "x"}], [cat]]), any);
    // The numbers inside are others.
    let own = json!({"#node": 0, "name": "own", "friend": {"#ref": 0}, "bonds": []});
    let any =
        json!({"@type": "Person", "@encoding": "tagged", "name": "b", "friend": own, "bonds": []});
    check(pair, json!([]), any);
}

#[test]
fn parameters_share_nodes() {
    let schema = schema();
    let contract = Contract::new(&schema);
    let method = &schema.services[0].methods[0];
    let json = json!({"one": {"name": "a", "bonds": [], "#node": 0}, "other": {"#ref": 0}});
    let values = arguments_from_json(&contract, method, &json).unwrap();
    assert_eq!(arguments_to_json(&contract, method, &values), json);
}

#[test]
fn json_that_makes_no_sense() {
    let schema = schema();
    let contract = Contract::new(&schema);
    let rows = [
        (
            "Animal",
            json!({"#type": "Dgo"}),
            "`Animal` has no struct \"Dgo\"; did you mean \"Dog\"?",
        ),
        (
            "Cat",
            json!({"#type": "Dog", "hungry": true}),
            "`Cat` has no struct \"Dog\"; it has Cat",
        ),
        (
            "Person",
            json!({"friend": {"#ref": "x"}}),
            "friend: the text \"x\" is no number of a node",
        ),
        (
            "Person",
            json!({"prey": {"#ref": 0}}),
            "prey: `Animal` has no field \"#ref\"; it has name",
        ),
    ];
    for (name, json, expected) in rows {
        let error = from_json(&contract, &ty(&schema, name), &json).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn references_to_nonsense() {
    let schema = schema();
    let (contract, ty) = (Contract::new(&schema), ty(&schema, "Person"));
    let rows = [
        json!({"friend": {"#ref": 0}}),
        json!({"friend": {"#node": 1}, "bonds": [{"to": {"#node": 1}}]}),
    ];
    for json in rows {
        let value = from_json(&contract, &ty, &json).unwrap();
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        for encoding in Encoding::BUILT_IN {
            assert!(matches!(
                encode(typed, encoding),
                Err(EncodeError::Unsupported { .. })
            ));
        }
    }
    // A friend that is a pet, a node that has not come, and nothing where something is required.
    let rows = [
        (
            &[0, 0, 1, 0, 0, 0, 0, 2][..],
            "friend.pet: a reference to node 0, which is of another type",
        ),
        (
            &[0, 0, 3],
            "friend: a reference to node 1, which has not come before it",
        ),
        // Behind the value, as in a list that is deeper than values of a schema are.
        (&[0, 0, 2], "friend: nested deeper than the limit of 64"),
        (
            &[0, 0, 0, 1, 0],
            "bonds[]: the required field `to` is absent",
        ),
        (
            &[1, 0, 0, 0, 0, 3],
            "prey: a struct that the family does not have",
        ),
    ];
    for (bytes, expected) in rows {
        let value = None;
        let mut slot = TypedSlot {
            contract: &contract,
            ty: &ty,
            value,
        };
        let mut reader = tagless::Reader::new(bytes, Limits::default());
        let problem = slot.decode(&mut reader).unwrap_err().to_string();
        assert_eq!(problem, expected);
    }
}

#[test]
fn made_up_values_can_be_sent() {
    let schema = schema();
    let (contract, ty) = (Contract::new(&schema), ty(&schema, "Person"));
    let mut derived = 0;
    for seed in 0..50 {
        let value = Plausible::new(&contract, seed)
            .value(&ty, "person")
            .unwrap();
        let typed = Typed {
            contract: &contract,
            ty: &ty,
            value: &value,
        };
        for encoding in Encoding::BUILT_IN {
            let bytes = encode(typed, encoding).unwrap();
            decode(&contract, &ty, encoding, &bytes).unwrap();
        }
        derived += usize::from(format!("{value:?}").contains("Derived"));
    }
    assert!(derived > 0);
    let nothing = &mut Vec::new();
    let writer = &mut tagless::Writer::new(nothing, Limits::default());
    let null = Typed {
        contract: &contract,
        ty: &ty,
        value: &Value::Again(0),
    };
    assert!(null.encode(writer).is_err());
}
