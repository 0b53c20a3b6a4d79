//! Contracts made of descriptions.
#![allow(clippy::unwrap_used)]

use dovetail_dynamic::{Contract, Described, Indescribable};
use dovetail_idl::{MemoryLoader, compile};

/// The description of the first method of a contract.
fn description(text: &str) -> Vec<u8> {
    let loader: MemoryLoader = [("a.thrift", text)].into_iter().collect();
    let schema = compile("a.thrift", &loader).schema.unwrap();
    let contract = Contract::new(&schema);
    contract.describe(&schema.services[0].methods[0]).unwrap()
}

fn add(texts: &[&str]) -> Result<usize, Indescribable> {
    let mut described = Described::new("all");
    let service = described.service("S", None);
    for text in texts {
        described.method(service, &description(text), false, None)?;
    }
    Ok(described.into_schema().types.len())
}

#[test]
fn types_of_several_methods() {
    let one = "struct A { 1: B b } enum B { C } service S { void f(1: A a) }";
    let same = "enum B { C } struct A { 1: B b } struct D { 1: A a } service S { A g(1: D d) }";
    let thrown = "exception A { 1: B b } enum B { C } service S { void h() throws (1: A a) }";
    let other = "struct A { 1: i32 b } service S { void i(1: A a) }";
    let extended = "struct A { } struct B extends A { } service S { void j(1: A a) }";
    let object = "service S { void k(1: T t) } service T { }";
    let ambiguous = || Err(Indescribable::Ambiguous("A".to_owned()));
    let rows = [
        (vec![one], Ok(2)),
        (vec![one, same], Ok(3)),
        (vec![one, thrown], Ok(2)),
        (vec![one, other], ambiguous()),
        (vec![other, one], ambiguous()),
        (vec![extended], Err(Indescribable::Extended("A".to_owned()))),
        (vec![object], Err(Indescribable::Object("T".to_owned()))),
    ];
    for (texts, expected) in rows {
        assert_eq!(add(&texts), expected, "{texts:?}");
    }
}

#[test]
fn packages_have_types_of_their_own() {
    let mut described = Described::new("one");
    for (package, field) in [("one", "i32"), ("two", "string"), ("one", "i32")] {
        described.package(package, false);
        let service = described.service("S", None);
        let text = format!("struct A {{ 1: {field} b }} service S {{ void f(1: A a) }}");
        described
            .method(service, &description(&text), false, None)
            .unwrap();
    }
    let schema = described.into_schema();
    let packages = schema.services.iter().map(|service| service.package.0);
    assert_eq!(packages.collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(schema.types.len(), 2);
    assert!(schema.find_type("one.A").is_some() && schema.find_type("A").is_some());
}

#[test]
fn what_is_no_description() {
    let mut described = Described::new("all");
    let service = described.service("S", None);
    let whole = description("struct A { 1: A a } service S { void f(1: list<A> a) }");
    for length in 0..whole.len() {
        assert!(
            described
                .method(service, &whole[..length], false, None)
                .is_err(),
            "{length}"
        );
    }
}
