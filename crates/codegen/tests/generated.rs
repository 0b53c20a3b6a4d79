//! The golden files are code: they compile, without a warning, and do what the contract says.

#![allow(clippy::unwrap_used)]

use dovetail::encoding::{Encoding, Kind};
use dovetail::types::{OrderedFloat, Ref};
use dovetail::{Context, Exceptions, Message, Service, Status};
use std::sync::Arc;

macro_rules! golden {
    ($($name:ident)*) => {$(
        mod $name {
            include!(concat!("golden/", stringify!($name), "/output.rs"));
        }
    )*};
}

golden! {
    capnp compact containers defaults deprecated docs enums exceptions families graphs hashed inheritance keys names objects protobuf recursion rich scalars sensitive streams unions
}

use defaults::defaults as def;
use families::zoo::{self, animals};
use graphs::graphs::{AnyNode, Leaf, Link, Node};
use inheritance::company::{calculator, shared};
use names::names::r#type as odd;

#[test]
fn defaults_are_those_of_the_contract() {
    let value = def::Defaults::default();
    assert_eq!(value.number, -7);
    assert_eq!(value.text, "six \"quoted\" \\ and\na line");
    assert_eq!(value.level, def::Level::HIGH);
    assert_eq!(
        (value.origin.host.as_str(), value.origin.port),
        ("localhost", 9090)
    );
    assert_eq!((value.may, value.may_text), (Some(5), None));
    assert_eq!(value.choice, def::Choice::Text("chosen".to_owned()));
    assert_eq!(value.id.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
}

#[test]
fn sensitive_fields_are_not_shown() {
    use sensitive::sensitive::*;
    let login = Login {
        user: "ann".to_owned(),
        password: "secret".to_owned(),
        r#type: 1234,
        ..Login::default()
    };
    let shown = r#"Login { user: "ann", password: …, type: …, unknown_fields: {} }"#;
    assert_eq!(format!("{login:?}"), shown);
    let admin = Admin {
        base: login,
        keys: vec!["secret".to_owned()],
    };
    let shown = format!("Admin {{ base: {shown}, keys: … }}");
    assert_eq!(format!("{admin:?}"), shown);
    let payments = [Payment::Card("4000".to_owned()), Payment::Cash(5)];
    assert_eq!(format!("{payments:?}"), "[Card(…), Cash(5)]");
    let declined = Declined {
        message: "4000".to_owned(),
        code: 7,
        ..Declined::default()
    };
    let shown = "Declined { message: …, code: 7, unknown_fields: {} }";
    assert_eq!(declined.to_string(), shown);
    let card = protobuf::shop::v1::OrderPayment::Card("4000".to_owned());
    assert_eq!(format!("{card:?}"), "Card(…)");
}

#[test]
fn constants_have_their_values() {
    assert_eq!(def::SMALLEST, i64::MIN);
    assert_eq!(def::LARGEST, u64::MAX);
    assert_eq!(def::GREETING, "Grüße, 世界 🚀");
    assert_eq!(&def::MAGIC[..], b"DOVE");
    assert_eq!(def::PRIMES.len(), 21);
    assert_eq!(def::TABLE["two"], [1, 2]);
    assert_eq!(def::GRID[0][0].port, 9090);
    assert_eq!(enums::enums::FAVOURITE, enums::enums::Colour::BLUE);
}

#[test]
fn doubles_in_keys_can_be_compared() {
    let place = keys::keys::Place {
        latitude: OrderedFloat(52.5),
        longitude: OrderedFloat(13.4),
        ..Default::default()
    };
    assert_eq!(keys::keys::NAMES[&place], "Berlin");
    assert_eq!(keys::keys::Journey::default().length, 0.0_f64);
}

#[test]
fn times_amounts_and_arrays() {
    use rich::rich::*;
    assert_eq!(LAST.to_string(), "2026-12-31T23:59:59.999999999Z");
    assert_eq!(BERLIN.to_string(), "2026-11-20T23:47:36+01:00");
    assert_eq!(BIRTHDAY.to_string(), "1969-02-28");
    assert_eq!(TIMEOUT.to_string(), "-PT0.25S");
    assert_eq!(PRICE.to_string(), "19.90");
    assert_eq!(LARGE.to_string(), "-79228162514264337593543950335");
    assert_eq!(FIXED[1], [4, 5, 6]);
    assert_eq!(FREE[[1, 0]], 4);
    let entry = Entry::default();
    assert_eq!(entry.at.to_string(), "1969-12-31T23:59:59.5Z");
    assert_eq!(entry.price.to_string(), "-12.50");
    assert_eq!(Arrays::default().point, [1.0, 0.5, 0.0]);
    assert_eq!(Arrays::default().mixed.extents(), [2, 0]);
    // A field that a peer leaves out is the day 0, as it is for those that know only the number.
    assert_eq!(Rich::default().day.to_string(), "1970-01-01");
}

#[test]
fn the_wire_has_the_names_of_the_contract() {
    let names = |fields: &[dovetail::encoding::Field<'_>]| -> Vec<String> {
        fields.iter().map(|field| field.name.to_owned()).collect()
    };
    assert_eq!(
        names(odd::Keywords::FIELDS),
        [
            "type",
            "self",
            "Self",
            "fn",
            "fooBar",
            "foo_bar",
            "FooBar",
            "unknown_fields",
            "crate",
            "r",
            "gen",
            "self_"
        ]
    );
    assert_eq!(odd::SnakeCase_::NAME, "snake_case");
    assert_eq!(odd::SnakeCase::NAME, "SnakeCase");
    assert_eq!(
        names(odd::SERVICE_.methods[3].params),
        ["self", "cx", "handler", "type"]
    );
    assert_eq!(odd::SERVICE_.methods[2].name, "clone");
    assert_eq!(
        enums::enums::Odd::from_name("type"),
        Some(enums::enums::Odd::r#type)
    );
    assert_eq!(
        names(exceptions::exceptions::BuyError::FIELDS),
        ["missing", "refused"]
    );
}

#[test]
fn kinds_and_presence_reach_the_table() {
    let fields = scalars::scalars::Scalars::FIELDS;
    let kinds: Vec<Kind> = fields.iter().map(|field| field.kind).collect();
    use Kind::*;
    assert_eq!(
        kinds,
        [
            Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, String, Bytes, Uuid
        ]
    );
    let presence = scalars::scalars::Presence::FIELDS;
    assert!(presence[0].required && !presence[1].required && !presence[2].required);
}

#[test]
fn a_declared_exception_becomes_the_error_of_its_method() {
    use exceptions::exceptions::{BuyError, Explained, NotFound, Refused};
    let error: BuyError = NotFound::default().into();
    assert!(matches!(error, BuyError::NotFound(_)));
    assert_eq!(Refused::default().to_string(), "no");
    let explained = Explained {
        why: Some("so".to_owned()),
        ..Default::default()
    };
    assert_eq!(explained.to_string(), "so");
}

/// Answers for all four services of the chain.
struct Handler;

impl shared::Base for Handler {
    async fn ping(&self, _: Context) -> Result<(), Status> {
        Ok(())
    }
}

impl shared::Shared for Handler {
    async fn get(&self, _: Context, key: i32) -> Result<shared::Item, Status> {
        Ok(shared::Item {
            key,
            ..Default::default()
        })
    }
}

impl calculator::Calculator for Handler {
    async fn add(&self, _: Context, num1: i32, num2: i32) -> Result<i32, Status> {
        Ok(num1 + num2)
    }

    async fn next(&self, _: Context, item: shared::Item) -> Result<shared::Item, Status> {
        Ok(item)
    }

    async fn zip(&self, _: Context) -> Result<(), Status> {
        Ok(())
    }
}

impl calculator::Scientific for Handler {}

#[test]
fn a_service_has_the_methods_of_its_base() {
    let server = calculator::ScientificServer::new(Handler);
    let descriptor = server.descriptor();
    let methods: Vec<&str> = descriptor.iter().map(|(_, method)| method.name).collect();
    assert_eq!(descriptor.name, "Scientific");
    assert_eq!(methods, ["ping", "get", "add", "next", "zip"]);
    assert!(descriptor.method(4).is_some_and(|zip| zip.kind.is_oneway()));
}

/// Compiles: inherited methods are there on both clients.
#[allow(dead_code)]
async fn inherited_methods_can_be_called(
    client: calculator::CalculatorClient,
    blocking: calculator::CalculatorBlockingClient,
) -> Result<(), Status> {
    client.ping().await?;
    client.get(1).await?;
    client.add(1, 2).await?;
    client.zip().await?;
    blocking.ping()?;
    blocking.next(&shared::Item::default())?;
    Ok(())
}

#[test]
fn a_struct_has_what_it_extends() {
    let mut puppy = animals::Puppy::default();
    assert_eq!(
        (puppy.name.as_str(), puppy.breed.as_str()),
        ("nobody", "mongrel")
    );
    puppy.name = "Rex".to_owned();
    let ids: Vec<i32> = animals::Puppy::FIELDS.iter().map(|f| f.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);

    fn greet(animal: &animals::Animal) -> String {
        format!("Hello {}", animal.name)
    }
    assert_eq!(greet(&puppy), "Hello Rex");
    assert_eq!(greet(&animals::AnyAnimal::from(puppy)), "Hello Rex");
    assert_eq!(zoo::FIRST.name, "Adam");
    assert_eq!((zoo::LAST.weeks, zoo::LAST.breed.as_str()), (3, "x"));
}

#[test]
fn any_member_goes_where_the_first_is_declared() {
    let cage = zoo::Cage {
        inmate: zoo::Cat::default().into(),
        more: [("dog".to_owned(), animals::Dog::default().into())].into(),
        ..Default::default()
    };
    // A puppy has `foo_bar` and `fooBar`, which are one name in JSON.
    let others = |encoding: &Encoding| !matches!(encoding, Encoding::Json);
    for encoding in Encoding::BUILT_IN.into_iter().filter(others) {
        let bytes = encoding.to_bytes(&cage).unwrap().into();
        assert_eq!(encoding.from_bytes::<zoo::Cage>(&bytes).unwrap(), cage);
    }
}

#[test]
fn an_exception_that_extends_a_declared_one_is_an_error_of_the_method() {
    let bite = || zoo::Bite {
        base: zoo::Trouble {
            message: "ouch".to_owned(),
            ..Default::default()
        },
        depth: 3,
    };
    let error: zoo::FeedError = bite().into();
    assert_eq!(error.to_string(), "ouch");
    assert_eq!(error, zoo::FeedError::Trouble(bite().into()));
    assert!(matches!(
        zoo::Escape::default().into(),
        zoo::FeedError::Escape(_)
    ));
}

#[test]
fn references_survive_in_generated_types() {
    let root = Arc::new_cyclic(|root| {
        let leaf = Leaf {
            base: Node {
                name: "leaf".to_owned(),
                parent: Ref::from(root),
                ..Default::default()
            },
            ..Default::default()
        };
        let link = Link {
            to: Ref::new(leaf.into()),
            ..Default::default()
        };
        AnyNode::from(Node {
            children: vec![link],
            ..Default::default()
        })
    });
    let link = Link {
        to: root.into(),
        ..Default::default()
    };
    for encoding in Encoding::BUILT_IN {
        let bytes = encoding.to_bytes(&link).unwrap().into();
        let back: Link = encoding.from_bytes(&bytes).unwrap();
        assert_eq!(back, link);
        let root = back.to.get().unwrap();
        let leaf = root.children[0].to.get().unwrap();
        assert!(leaf.parent.is(&root), "{encoding:?}");
        assert!(matches!(&*leaf, AnyNode::Leaf(_)));
    }
}
