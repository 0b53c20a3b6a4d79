//! JSON by the schema: round trips of anything, and messages word by word.

mod common;

use common::*;
use dovetail_dynamic::{
    Contract, Value, arguments_from_json, arguments_to_json, from_json, to_json,
};
use dovetail_schema::Type;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

proptest! {
    #[test]
    fn any_value_survives_json((ty, value) in any_typed(shared())) {
        let contract = Contract::new(shared());
        let text = to_json(&contract, &ty, &value).to_string();
        let json: Json = serde_json::from_str(&text).unwrap();
        let back = from_json(&contract, &ty, &json).map_err(|e| e.to_string());
        prop_assert!(back.as_ref().is_ok_and(|back| same(back, &value)), "{text}\n{back:?}\n{value:?}");
    }

    #[test]
    fn any_json_is_a_value_or_a_message((ty, _) in any_typed(shared()), (other, value) in any_typed(shared())) {
        let contract = Contract::new(shared());
        let json = to_json(&contract, &other, &value);
        if let Err(error) = from_json(&contract, &ty, &json) {
            prop_assert!(!error.problem().is_empty());
        }
    }
}

fn named(id: dovetail_schema::TypeId) -> Type {
    Type::Named(id)
}

#[test]
fn friendly_forms() {
    let contract = Contract::new(shared());
    let rows = [
        (
            Type::I64,
            json!("9007199254740993"),
            json!(9_007_199_254_740_993_i64),
        ),
        (Type::I32, json!(1e3), json!(1000)),
        (Type::F64, json!("NaN"), json!("NaN")),
        (Type::F64, json!("-Infinity"), json!("-Infinity")),
        (Type::F32, json!(0.1), json!(0.1)),
        (Type::Bytes, json!("_-8"), json!("/+8=")),
        (
            Type::Uuid,
            json!("0123456789abcdef0123456789ABCDEF"),
            json!("01234567-89ab-cdef-0123-456789abcdef"),
        ),
        (named(COLOR), json!("Color.GREEN"), json!("GREEN")),
        (named(COLOR), json!(-7), json!("BLUE")),
        (named(COLOR), json!(42), json!(42)),
        (
            map(Type::I32, Type::Bool),
            json!({"7": true}),
            json!({"7": true}),
        ),
        (
            map(Type::I32, Type::Bool),
            json!([[7, true]]),
            json!({"7": true}),
        ),
        (
            map(named(COLOR), Type::I8),
            json!({"RED": 1}),
            json!({"RED": 1}),
        ),
        (
            map(Type::F64, Type::I8),
            json!([[0.5, 1]]),
            json!([[0.5, 1]]),
        ),
        (named(SHAPE), json!({"radius": 2}), json!({"radius": 2.0})),
        (
            named(PIXEL),
            json!({"x": 1, "y": 2}),
            json!({"x": 1, "y": 2}),
        ),
        (
            named(USER),
            json!({"name": null}),
            json!({"id": 0, "name": "", "email": "", "stars": 3}),
        ),
    ];
    for (ty, input, expected) in rows {
        let value = from_json(&contract, &ty, &input).unwrap_or_else(|e| panic!("{input}: {e}"));
        assert_eq!(to_json(&contract, &ty, &value), expected, "{input}");
    }
}

#[test]
fn messages() {
    let contract = Contract::new(shared());
    let rows = [
        (
            Type::I8,
            json!(300),
            "expected i8, found 300; it must be between -128 and 127",
        ),
        (Type::I32, json!(1.5), "expected i32, found 1.5"),
        (
            Type::Bool,
            json!("yes"),
            r#"expected bool, found the text "yes""#,
        ),
        (
            named(USER),
            json!({"nmae": "Ada"}),
            r#"`User` has no field "nmae"; did you mean "name"?"#,
        ),
        (
            named(USER),
            json!({"favorite": "REED"}),
            r#"favorite: `Color` has no value "REED"; did you mean "RED"?"#,
        ),
        (
            named(USER),
            json!({"id": {}}),
            "id: expected UserId (i64), found an object",
        ),
        (
            list(named(POINT)),
            json!([{"x": 1, "y": 2}, {"x": 1, "y": "a"}]),
            r#"[1].y: expected i32, found the text "a""#,
        ),
        (
            named(POINT),
            json!({"x": 1}),
            "y: this required field (i32) is missing",
        ),
        (
            named(SHAPE),
            json!({"radius": 1, "corners": []}),
            "the union Shape has 2 members set, not one; choose one of radius, corners, both",
        ),
        (
            map(list(Type::I8), Type::I8),
            json!({"a": 1}),
            "expected map<list<i8>, i8>, found an object; keys of the type list<i8> need an array of [key, value] pairs",
        ),
        (
            map(Type::I8, Type::I8),
            json!([[1, 2, 3]]),
            "[0]: expected a [key, value] pair, found an array of 3",
        ),
        (
            map(Type::I8, Type::I8),
            json!({"x": 1}),
            r#"["x"]: expected i8, found the text "x""#,
        ),
        (named(TREE), json!([]), "expected Tree, found an array of 0"),
        (
            OBJECT,
            json!("today"),
            "a reference to an object of `Users` has no JSON: it needs Dovetail's own wire and generated code",
        ),
        (
            Type::Date,
            json!("today"),
            "expected date, found the text \"today\"; it is written like \"2026-11-20\"",
        ),
        (
            Type::Timestamp { offset: true },
            json!("2026-11-20T23:47:36"),
            "expected timestamp_tz, found the text \"2026-11-20T23:47:36\"; \
             it is written like \"2026-11-20T23:47:36+01:00\"",
        ),
        (
            Type::Decimal,
            json!("1e99"),
            "expected decimal, found the text \"1e99\"; \
             it is written like \"-12.50\", with at most 28 digits",
        ),
        (
            array(Type::I8, &[2]),
            json!([1]),
            "an array of 1, expected 2; the extent is part of the type",
        ),
        (
            array(Type::I8, &[0, 0, 1]),
            json!([[[1], [2]], [[3]]]),
            "rows of different lengths in one array; all rows have the same length",
        ),
        (
            array(Type::I8, &[2, 0]),
            json!([[1], [2], [3]]),
            "an array of 3 × 1 elements where the contract has 2 × *",
        ),
        (
            array(Type::I8, &[0, 0]),
            json!([["x"]]),
            "[0]: expected i8, found the text \"x\"",
        ),
        (
            Type::Any,
            json!({"@type": "Nobody"}),
            "the contract has no type \"Nobody\"; give its bytes as @value, in base64",
        ),
        (
            Type::Any,
            json!({"@type": "Oops", "@encoding": "morse"}),
            "an unknown encoding; one of protobuf, tagged, thrift-binary, \
             thrift-compact, thrift-json",
        ),
        (
            Type::Any,
            json!({"@type": "Oops", "why": 1}),
            "why: expected string, found 1",
        ),
    ];
    for (ty, input, expected) in rows {
        let error = from_json(&contract, &ty, &input).expect_err(&input.to_string());
        assert_eq!(error.to_string(), expected);
    }
}

/// JSON, the type, and how the value is shown.
#[test]
fn rich_types() {
    let contract = Contract::new(shared());
    let rows = [
        (
            Type::Timestamp { offset: false },
            json!("2026-11-20T23:47:36.5+01:00"),
            json!("2026-11-20T22:47:36.5Z"),
        ),
        (
            Type::Timestamp { offset: true },
            json!("2026-11-20T23:47:36+01:00"),
            json!("2026-11-20T23:47:36+01:00"),
        ),
        (Type::Duration, json!("-P1DT12H"), json!("-PT36H")),
        (Type::Duration, json!("1h 30m"), json!("PT1H30M")),
        (Type::Decimal, json!(19.5), json!("19.5")),
        (Type::Decimal, json!("1.50E-3"), json!("0.00150")),
        (array(Type::I8, &[0, 0]), json!([]), json!([])),
        (array(Type::I8, &[2, 0]), json!([]), json!([])),
        (
            array(Type::I8, &[0, 0, 2]),
            json!([[[1, 2]], [[3, 4]]]),
            json!([[[1, 2]], [[3, 4]]]),
        ),
        (
            Type::Dynamic,
            json!({"a": [1, 1.5, null, true, "x"]}),
            json!({"a": [1, 1.5, null, true, "x"]}),
        ),
        (
            Type::Any,
            json!({"@type": "type.googleapis.com/test.Point", "x": 1, "y": 2}),
            json!({"@type": "type.googleapis.com/test.Point", "@encoding": "tagged", "x": 1, "y": 2}),
        ),
        (
            Type::Any,
            json!({"@type": "Point", "@encoding": "protobuf", "@value": "CAEQAg=="}),
            json!({"@type": "Point", "@encoding": "protobuf", "x": 1, "y": 2}),
        ),
        (
            Type::Any,
            json!({"@type": "Point", "@encoding": "protobuf", "@value": "/w=="}),
            json!({"@type": "Point", "@encoding": "protobuf", "@value": "/w=="}),
        ),
        (
            map(Type::Date, Type::Decimal),
            json!({"2026-11-20": "1.00"}),
            json!({"2026-11-20": "1.00"}),
        ),
    ];
    for (ty, input, expected) in rows {
        let value = from_json(&contract, &ty, &input).unwrap();
        assert_eq!(to_json(&contract, &ty, &value), expected);
    }
}

#[test]
fn arguments_by_name_and_by_position() {
    let contract = Contract::new(shared());
    let method = get_user();
    let expected = json!({"id": 7, "verbose": true});
    for input in [
        json!({"id": 7}),
        json!([7]),
        json!([7, null]),
        json!({"verbose": true, "id": "7"}),
    ] {
        let values = arguments_from_json(&contract, &method, &input).unwrap();
        assert_eq!(
            arguments_to_json(&contract, &method, &values),
            expected,
            "{input}"
        );
    }
    let rows = [
        (
            json!({}),
            "the parameter `id` (UserId) is missing; the parameters are {id: UserId, verbose: bool}",
        ),
        (
            json!({"ID": 7, "di": 7}),
            r#"`getUser` has no parameter "ID"; did you mean "id"?"#,
        ),
        (
            json!([1, true, 2]),
            "3 arguments, `getUser` takes 2; the parameters are {id: UserId, verbose: bool}",
        ),
        (
            json!(7),
            "expected an object or array of arguments, found 7; the parameters are {id: UserId, verbose: bool}",
        ),
        (
            json!(["x"]),
            r#"id: expected UserId (i64), found the text "x""#,
        ),
    ];
    for (input, expected) in rows {
        let error = arguments_from_json(&contract, &method, &input).expect_err("no arguments");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn depth_is_bounded() {
    let contract = Contract::new(shared());
    let (mut json, mut value) = (json!({"radius": 1}), Value::Struct(Default::default()));
    for _ in 0..100 {
        json = json!({"both": json});
        value = Value::Struct([(3, value)].into_iter().collect());
    }
    let error = from_json(&contract, &named(SHAPE), &json).expect_err("too deep");
    assert!(
        error.to_string().contains("nested deeper than 64 levels"),
        "{error}"
    );
    let shown = to_json(&contract, &named(SHAPE), &value).to_string();
    assert!(shown.contains("null"), "{shown}");
}
