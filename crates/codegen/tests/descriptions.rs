//! Generated code describes its methods in the same bytes as the schema that it was made from.
#![allow(clippy::unwrap_used)]

use dovetail::encoding::{Field, FieldValue};
use dovetail::export;
use dovetail::method::ServiceDescriptor;
use dovetail_dynamic::Contract;
use dovetail_idl::MemoryLoader;
use dovetail_schema::{Schema, TypeKind};
use dovetail_wire::description::{FieldType, Signature, describe};
use std::path::Path;

macro_rules! golden {
    ($($name:ident)*) => {$(
        #[allow(dead_code)]
        mod $name {
            include!(concat!("golden/", stringify!($name), "/output.rs"));
        }
    )*};
}

golden! {
    code_first compact containers defaults docs enums exceptions families graphs hashed inheritance keys names objects protobuf recursion rich scalars streams unions
}

use families::zoo;
use inheritance::company::{calculator, shared};
use names::names::r#type as odd;

/// The contract in this directory of golden files, and what follows its text.
fn schema(golden: &str, more: &str) -> Schema {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(root.join(golden)).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let contracts = paths.filter(|path| path.extension().is_some_and(|e| e == "thrift"));
    let loader: MemoryLoader = contracts
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut text = std::fs::read_to_string(path).unwrap();
            if name == "input.thrift" {
                text.push_str(more);
            }
            (name, text)
        })
        .collect();
    let compiled = dovetail_idl::compile("input.thrift", &loader);
    compiled.schema.unwrap()
}

#[test]
fn methods() {
    let rows: &[(&str, &[&ServiceDescriptor])] = &[
        (
            "code_first",
            &[&code_first::orders::COUNTER, &code_first::orders::ORDERS],
        ),
        ("containers", &[&containers::containers::STORE]),
        ("defaults", &[&defaults::defaults::SEARCH]),
        ("docs", &[&docs::docs::ADDER]),
        (
            "exceptions",
            &[
                &exceptions::exceptions::SHOP,
                &exceptions::exceptions::MARKET,
            ],
        ),
        (
            "inheritance",
            &[&shared::BASE, &shared::SHARED, &calculator::CALCULATOR],
        ),
        ("families", &[&zoo::ZOO]),
        ("graphs", &[&graphs::graphs::GRAPHS]),
        ("names", &[&odd::SERVICE_]),
        (
            "objects",
            &[
                &objects::objects::CURSOR,
                &objects::objects::WATCHER,
                &objects::objects::FILES,
            ],
        ),
        ("rich", &[&rich::rich::CLOCK]),
        ("scalars", &[&scalars::scalars::ECHO]),
        ("streams", &[&streams::jobs::JOBS]),
    ];
    for (golden, services) in rows {
        let schema = schema(golden, "");
        let contract = Contract::new(&schema);
        for descriptor in *services {
            let service = schema
                .services
                .iter()
                .find(|s| s.name == descriptor.name)
                .unwrap();
            assert_eq!(service.methods.len(), descriptor.methods.len());
            for (method, generated) in service.methods.iter().zip(descriptor.methods) {
                let expected = contract.describe(method).unwrap();
                let found = generated.description().unwrap();
                assert_eq!(
                    *found, *expected,
                    "{golden} {} {}",
                    service.name, method.name
                );
            }
        }
    }
}

/// A method with this type as its only parameter.
fn around<T: FieldValue>() -> Vec<u8> {
    let param = FieldType::of::<T>(Field::new(1, "value", T::KIND));
    describe(&Signature {
        name: "around",
        oneway: false,
        client_stream: None,
        server_stream: None,
        params: param.into_iter().collect(),
        result: None,
        exceptions: Vec::new(),
    })
}

#[test]
fn types() {
    macro_rules! row {
        ($golden:ident $(:: $rest:ident)*) => {
            (
                stringify!($golden),
                [$(stringify!($rest)),*].last().copied().unwrap(),
                around::<$golden$(::$rest)*>(),
            )
        };
    }
    let rows = [
        row!(enums::enums::Colour),
        row!(enums::enums::Odd),
        row!(enums::enums::Nothing),
        row!(enums::enums::Painted),
        row!(recursion::recursion::Tree),
        row!(recursion::recursion::List),
        row!(recursion::recursion::Endless),
        row!(recursion::recursion::Even),
        row!(recursion::recursion::Odd),
        row!(recursion::recursion::Expression),
        row!(recursion::recursion::Binary),
        row!(unions::unions::Circle),
        row!(unions::unions::Shape),
        row!(unions::unions::Empty),
        row!(unions::unions::Drawing),
        row!(keys::keys::Place),
        row!(keys::keys::Area),
        row!(keys::keys::Journey),
        row!(keys::keys::Shape),
        row!(compact::compact::Person),
        row!(compact::compact::Contact),
        row!(compact::compact::Unknown),
        row!(hashed::hashed::Key),
        row!(hashed::hashed::Hashed),
        row!(hashed::hashed::Outer),
        row!(hashed::hashed::Plain),
        row!(names::names::r#type::Result),
        row!(names::names::r#type::Option),
        row!(names::names::r#type::Vec),
        row!(names::names::r#type::String),
        row!(names::names::r#type::Ok),
        row!(names::names::r#type::Holder),
        row!(names::names::r#type::Keywords),
        row!(names::names::r#type::SnakeCase),
        row!(families::zoo::Cat),
        row!(families::zoo::Cage),
        row!(families::zoo::Choice),
        ("families", "Trouble", around::<zoo::AnyTrouble>()),
        ("families", "animals.Dog", around::<zoo::animals::AnyDog>()),
        ("families", "animals.Puppy", around::<zoo::animals::Puppy>()),
        ("graphs", "Node", around::<graphs::graphs::AnyNode>()),
        row!(graphs::graphs::Link),
        row!(graphs::graphs::Leaf),
        row!(graphs::graphs::Forest),
        row!(graphs::graphs::Target),
        row!(rich::rich::Rich),
        row!(rich::rich::Entry),
        row!(rich::rich::Keys),
        row!(rich::rich::Arrays),
        row!(rich::rich::Long),
        row!(rich::rich::Pair),
        row!(rich::rich::Either),
        row!(scalars::scalars::Scalars),
        row!(scalars::scalars::Presence),
        row!(scalars::scalars::Empty),
        row!(defaults::defaults::Defaults),
        ("names", "snake_case", around::<odd::SnakeCase_>()),
    ];
    for (golden, name, found) in rows {
        let service = format!("service Around {{ void around(1: {name} value) }}");
        let schema = schema(golden, &service);
        let around = schema.services.iter().find(|s| s.name == "Around").unwrap();
        let expected = Contract::new(&schema).describe(&around.methods[0]).unwrap();
        assert_eq!(found, expected, "{golden} {name}");
    }
}

/// A program that has a service has its contract.
#[test]
fn exported() {
    let rows: &[&[&'static ServiceDescriptor]] = &[
        &[&code_first::orders::ORDERS],
        &[&containers::containers::STORE],
        &[
            &exceptions::exceptions::SHOP,
            &exceptions::exceptions::MARKET,
        ],
        &[&calculator::CALCULATOR, &shared::SHARED],
        &[&rich::rich::CLOCK],
        &[&scalars::scalars::ECHO],
        &[&streams::jobs::JOBS],
    ];
    for services in rows {
        let text = export::thrift("exported", services).unwrap();
        let loader: MemoryLoader = [("exported.thrift", text.as_str())].into_iter().collect();
        let compiled = dovetail_idl::compile("exported.thrift", &loader);
        let (messages, schema) = (compiled.render(false), compiled.schema);
        let schema = schema.unwrap_or_else(|| panic!("{messages}\n{text}"));
        let contract = Contract::new(&schema);
        for descriptor in *services {
            let id = schema.find_service(descriptor.name).unwrap();
            let methods = schema.methods(id);
            assert_eq!(methods.len(), descriptor.len(), "{text}");
            for ((_, exported), (_, own)) in methods.iter().zip(descriptor.iter()) {
                let expected = own.description().unwrap();
                assert_eq!(contract.describe(exported).unwrap(), *expected, "{text}");
            }
        }
    }
}

#[test]
fn a_program_knows_its_oneofs() {
    let schema = export::schema("exported", &[&protobuf::shop::v1::SHOP]).unwrap();
    let orders = schema.types.iter().find(|def| def.name == "Order");
    let TypeKind::Struct(order) = &orders.unwrap().kind else {
        panic!("`Order` is no struct");
    };
    let oneofs = order.fields.iter().filter_map(|field| {
        let oneof = field.protobuf.oneof.as_deref()?;
        Some((field.name.as_str(), oneof))
    });
    let expected = [("card", "payment"), ("cash", "payment")];
    assert_eq!(oneofs.collect::<Vec<_>>(), expected);
}

#[test]
fn what_a_program_does_not_know_of_its_contract() {
    let rows: [(&'static ServiceDescriptor, &str); 2] = [
        (&zoo::ZOO, "structs extend `Animal`"),
        (&objects::objects::FILES, "objects of `"),
    ];
    for (service, why) in rows {
        let error = export::schema("exported", &[service]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
