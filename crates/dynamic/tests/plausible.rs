//! Sample data: of the right type, the same for the same seed, and finite.

mod common;

use common::*;
use dovetail_dynamic::{Contract, Plausible, Reply, Struct, Value, from_json, to_json};
use dovetail_schema::Type;
use proptest::prelude::*;

proptest! {
    #[test]
    fn sample_data_fit_their_type(seed: u64, ty in any_type()) {
        let contract = Contract::new(shared());
        let value = Plausible::new(&contract, seed).value(&ty, "thing").expect("a value");
        let again = Plausible::new(&contract, seed).value(&ty, "thing").expect("a value");
        prop_assert_eq!(&value, &again);
        let json = to_json(&contract, &ty, &value);
        prop_assert!(json.to_string().len() < 200_000);
        let back = from_json(&contract, &ty, &json).map_err(|e| e.to_string());
        prop_assert!(back.is_ok(), "{:?}: {}", back, json);
    }
}

#[test]
fn names_look_like_names() {
    let contract = Contract::new(shared());
    let user = Plausible::new(&contract, 1)
        .value(&Type::Named(USER), "user")
        .unwrap();
    let json = to_json(&contract, &Type::Named(USER), &user);
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    assert!(text("email").ends_with("@example.com"), "{json}");
    assert!(text("name").contains(' '), "{json}");
    assert!(
        ["RED", "GREEN", "BLUE"].contains(&text("favorite").as_str()),
        "{json}"
    );
}

#[test]
fn a_result_repeats_the_parameters_it_shares() {
    let contract = Contract::new(shared());
    let params = Struct::from_iter([(1, Value::Int(4711))]);
    let reply = Plausible::new(&contract, 1).reply(&get_user(), &params);
    let Some(Reply::Result(Some(Value::Struct(user)))) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(user.get(1), Some(&Value::Int(4711)));
}

#[test]
fn types_without_a_finite_value_have_none() {
    let contract = Contract::new(shared());
    let mut plausible = Plausible::new(&contract, 1);
    assert_eq!(plausible.value(&Type::Named(LOOP), "loop"), None);
    assert_eq!(plausible.value(&OBJECT, "object"), None);
    assert_eq!(
        plausible.value(&list(Type::Named(LOOP)), "loops"),
        Some(Value::List(vec![]))
    );
}
