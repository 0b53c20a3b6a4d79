//! One contract in Thrift's language and in Rust: equal descriptions, and so equal fingerprints,
//! and equal bytes.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod generated {
    include!("golden/code_first/output.rs");
}

#[allow(dead_code)]
mod generated_zoo {
    include!("golden/families/output.rs");
}

/// What `golden/families/animals.thrift` says.
#[allow(unreachable_pub)]
mod derived_zoo {
    use dovetail::types::UnknownFields;
    use dovetail::{Message, family};

    #[derive(Clone, Debug, PartialEq, Message)]
    #[dovetail(extended)]
    pub struct Animal {
        pub name: String,
        pub legs: i32,
        pub mate: Option<Box<AnyAnimal>>,
        pub unknown_fields: UnknownFields,
    }

    impl Default for Animal {
        fn default() -> Self {
            Animal {
                name: "nobody".into(),
                legs: 0,
                mate: None,
                unknown_fields: UnknownFields::default(),
            }
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Message)]
    #[dovetail(extended)]
    pub struct Dog {
        #[dovetail(base)]
        pub base: Animal,
        #[dovetail(id = 4)]
        pub breed: String,
        #[dovetail(name = "fooBar")]
        pub foo_bar: String,
    }

    #[derive(Clone, Debug, Default, PartialEq, Message)]
    pub struct Puppy {
        #[dovetail(base)]
        pub base: Dog,
        #[dovetail(id = 6, required)]
        pub weeks: i8,
        pub littermates: Vec<AnyAnimal>,
        pub foo_bar: f64,
    }

    pub mod cats {
        use super::{AnyAnimal, AnyDog};

        #[derive(Clone, Debug, Default, PartialEq, super::Message)]
        pub struct Cat {
            #[dovetail(base)]
            pub base: super::Animal,
            #[dovetail(id = 4)]
            pub lives: i32,
            pub prey: Box<AnyAnimal>,
            pub enemy: Box<AnyDog>,
            #[dovetail(name = "base")]
            pub base_: String,
        }
    }

    #[derive(Clone, Debug, PartialEq)]
    pub enum AnyAnimal {
        Animal(Animal),
        Dog(Dog),
        Puppy(Puppy),
        Cat(cats::Cat),
    }

    family!(AnyAnimal {
        Animal(Animal),
        Dog(Dog),
        Puppy(Puppy),
        Cat(cats::Cat),
    });

    #[derive(Clone, Debug, PartialEq)]
    pub enum AnyDog {
        Dog(Dog),
        Puppy(Puppy),
    }

    family!(AnyDog {
        Dog(Dog),
        Puppy(Puppy),
    });

    /// What a method declares, whose error says what the base says.
    #[derive(Clone, Debug, Default, PartialEq, Message)]
    #[dovetail(exception, extended)]
    pub struct Trouble {
        pub message: String,
    }

    #[derive(Clone, Debug, Default, PartialEq, Message)]
    #[dovetail(exception)]
    pub struct Bite {
        #[dovetail(base)]
        pub base: Trouble,
        #[dovetail(id = 2)]
        pub depth: i32,
    }
}

#[allow(dead_code)]
mod generated_objects {
    include!("golden/objects/output.rs");
}

/// What `golden/objects/input.thrift` says.
#[allow(unreachable_pub)]
mod derived_objects {
    use dovetail::Status;
    use dovetail::types::UnknownFields;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    #[dovetail(exception)]
    pub struct Closed {
        pub why: String,
        pub unknown_fields: UnknownFields,
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Exceptions)]
    pub enum ReadError {
        Closed(Closed),
        Status(Status),
    }

    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    pub struct Session {
        pub user: String,
        pub cursor: CursorObject,
        pub others: Vec<CursorObject>,
        pub watcher: Option<WatcherObject>,
    }

    #[dovetail::service(object)]
    pub trait Cursor {
        async fn position(&self) -> Result<i64, Status>;
        #[dovetail(passes(Cursor))]
        async fn fork(&self) -> Result<CursorObject, Status>;
        /// Moves on.
        async fn read(&self, count: i32) -> Result<i64, ReadError>;
    }

    #[dovetail::service]
    pub trait Notes {
        #[dovetail(oneway)]
        async fn note(&self, text: String) -> Result<(), Status>;
    }

    #[dovetail::service(object)]
    pub trait Watcher: Notes {
        #[dovetail(passes(Cursor))]
        async fn changed(&self, path: String, cursor: CursorObject) -> Result<i32, Status>;
    }

    #[dovetail::service]
    pub trait Files {
        #[dovetail(passes(Cursor))]
        async fn open(&self, path: String) -> Result<CursorObject, ReadError>;
        #[dovetail(passes(Watcher))]
        async fn watch(&self, path: String, watcher: WatcherObject) -> Result<(), Status>;
        #[dovetail(passes(Cursor))]
        async fn by_name(
            &self,
            names: Vec<String>,
        ) -> Result<BTreeMap<String, CursorObject>, Status>;
        #[dovetail(passes(Cursor, Watcher))]
        async fn session(&self) -> Result<Session, Status>;
        async fn open_pipelined(&self, number: i32) -> Result<i32, Status>;
    }
}

/// What `golden/code_first/input.thrift` says.
#[allow(unreachable_pub)]
mod derived {
    use dovetail::Context;
    use dovetail::stream::{Items, Receiver};
    use dovetail::types::{Bytes, Timestamp, UnknownFields, Uuid};
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Clone, Copy, Debug, PartialEq, dovetail::Message)]
    pub enum Status {
        /// Nobody has paid.
        Open,
        Paid,
        #[dovetail(id = 7)]
        SentBack,
        Unknown(i32),
    }

    /// Where something goes.
    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    pub struct Address {
        pub street: String,
        #[dovetail(id = 3)]
        pub door: Option<String>,
        #[dovetail(required)]
        pub code: i32,
        pub unknown_fields: UnknownFields,
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Message)]
    pub enum Payment {
        /// Its number.
        Card(String),
        Cash(i64),
        #[dovetail(id = 5)]
        ByMail(Address),
        Unknown(UnknownFields),
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Message)]
    pub struct Order {
        pub id: i64,
        pub r#type: String,
        pub status: Status,
        pub stops: Vec<Address>,
        pub prices: BTreeMap<String, i64>,
        pub tags: BTreeSet<i32>,
        pub payment: Option<Payment>,
        /// In kilograms.
        ///
        /// With what is around it.
        pub weight: f64,
        pub label: Bytes,
        pub parent: Option<Box<Order>>,
        pub key: Uuid,
        pub at: Timestamp,
        pub size: [f32; 3],
    }

    impl Default for Order {
        fn default() -> Self {
            Order {
                id: 0,
                r#type: String::new(),
                status: Status::default(),
                stops: Vec::new(),
                prices: BTreeMap::new(),
                tags: BTreeSet::new(),
                payment: None,
                weight: 1.5,
                label: Bytes::new(),
                parent: None,
                key: Uuid::nil(),
                at: Timestamp::default(),
                size: [0.0; 3],
            }
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    #[dovetail(exception)]
    pub struct NotFound {
        pub message: String,
        pub id: i64,
    }

    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    #[dovetail(exception)]
    pub struct Refused {
        pub why: Option<String>,
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Exceptions)]
    pub enum GetError {
        #[dovetail(name = "missing")]
        NotFound(NotFound),
        Status(dovetail::Status),
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Exceptions)]
    pub enum PlaceError {
        NotFound(NotFound),
        #[dovetail(id = 3)]
        Refused(Refused),
        Status(dovetail::Status),
    }

    #[derive(Clone, Debug, PartialEq, dovetail::Exceptions)]
    pub enum LogError {
        Refused(Refused),
        Status(dovetail::Status),
    }

    #[dovetail::service]
    pub trait Counter {
        async fn count(&self) -> Result<i64, dovetail::Status>;
    }

    /// Takes orders.
    #[dovetail::service]
    pub trait Orders: Counter {
        /// One that was placed.
        async fn get(&self, cx: Context, id: i64) -> Result<Order, GetError>;
        async fn place(
            &self,
            order: Order,
            #[dovetail(required)] payment: Payment,
            #[dovetail(id = 5, default = 1)] copies: i32,
        ) -> Result<i64, PlaceError>;
        #[dovetail(idempotent)]
        async fn find(
            &self,
            text: String,
            statuses: Vec<Status>,
            limit: i32,
        ) -> Result<Vec<Order>, dovetail::Status>;
        async fn r#move(&self, id: i64) -> Result<(), dovetail::Status>;
        #[dovetail(oneway)]
        async fn touch(&self, id: i64) -> Result<(), dovetail::Status>;
        #[dovetail(name = "getAll")]
        async fn all(&self) -> Result<i64, dovetail::Status>;
        async fn follow(&self, since: i64) -> Result<Items<'_, Order>, dovetail::Status>;
        async fn log(&self) -> Result<(i64, Items<'_, String>), LogError>;
        async fn import(&self, all: bool, items: Receiver<Order>) -> Result<i64, dovetail::Status>;
        async fn talk(
            &self,
            items: Receiver<String>,
        ) -> Result<Items<'_, String>, dovetail::Status>;
    }
}

use derived::{Address, Order, Payment, Refused, Status};
use dovetail::Message;
use dovetail::encoding::Encoding;
use dovetail::method::ServiceDescriptor;
use dovetail::types::{Timestamp, Uuid};
use generated::orders;
use generated_objects::objects;
use std::fmt::Debug;

#[test]
fn descriptions() {
    let rows: [(&ServiceDescriptor, &ServiceDescriptor); 6] = [
        (&orders::COUNTER, &derived::COUNTER),
        (&orders::ORDERS, &derived::ORDERS),
        (&objects::CURSOR, &derived_objects::CURSOR),
        (&objects::NOTES, &derived_objects::NOTES),
        (&objects::WATCHER, &derived_objects::WATCHER),
        (&objects::FILES, &derived_objects::FILES),
    ];
    for (generated, derived) in rows {
        assert_eq!(generated.name, derived.name);
        assert_eq!(generated.len(), derived.len());
        let passed = |service: &ServiceDescriptor| {
            let names = service.objects.iter().map(|service| service.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(passed(generated), passed(derived));
        for ((_, generated), (_, derived)) in generated.iter().zip(derived.iter()) {
            let name = generated.name;
            assert_eq!(generated.description(), derived.description(), "{name}");
            assert_eq!(
                (
                    generated.name,
                    generated.params,
                    generated.kind,
                    generated.idempotent,
                    generated.objects
                ),
                (
                    derived.name,
                    derived.params,
                    derived.kind,
                    derived.idempotent,
                    derived.objects
                ),
            );
        }
    }
}

/// The two have the same bytes in every encoding, and each reads those of the other.
fn check<G, D>(generated: &G, derived: &D)
where
    G: Message + dovetail::encoding::Value + Debug + PartialEq,
    D: Message + dovetail::encoding::Value + Debug + PartialEq,
{
    check_in(|_| true, generated, derived);
}

/// Checks some encodings.
fn check_in<G, D>(encodings: fn(&Encoding) -> bool, generated: &G, derived: &D)
where
    G: Message + dovetail::encoding::Value + Debug + PartialEq,
    D: Message + dovetail::encoding::Value + Debug + PartialEq,
{
    assert_eq!((G::NAME, G::FIELDS), (D::NAME, D::FIELDS));
    for encoding in Encoding::BUILT_IN.into_iter().filter(encodings) {
        let bytes = encoding.to_bytes(generated).unwrap();
        assert_eq!(bytes, encoding.to_bytes(derived).unwrap(), "{encoding:?}");
        let bytes = bytes.into();
        assert_eq!(encoding.from_bytes::<G>(&bytes).unwrap(), *generated);
        assert_eq!(encoding.from_bytes::<D>(&bytes).unwrap(), *derived);
    }
}

#[test]
fn bytes() {
    let at: Timestamp = "2026-11-20T22:47:36Z".parse().unwrap();
    let mine = Address {
        street: "Main".into(),
        door: Some("b".into()),
        code: 7,
        ..Default::default()
    };
    let theirs = orders::Address {
        street: "Main".into(),
        door: Some("b".into()),
        code: 7,
        ..Default::default()
    };
    check(&theirs, &mine);
    check(&orders::Order::default(), &Order::default());
    check(
        &orders::Order {
            id: 1 << 40,
            r#type: "gift".into(),
            status: orders::Status::SENT_BACK,
            stops: vec![theirs.clone(), Default::default()],
            prices: [("a".into(), 5)].into(),
            tags: [3, 1].into(),
            payment: Some(orders::Payment::ByMail(theirs.clone())),
            label: "x".into(),
            parent: Some(Box::default()),
            key: Uuid::from_u128(7),
            at,
            size: [1.0, 2.0, 3.0],
            ..Default::default()
        },
        &Order {
            id: 1 << 40,
            r#type: "gift".into(),
            status: Status::SentBack,
            stops: vec![mine.clone(), Default::default()],
            prices: [("a".into(), 5)].into(),
            tags: [3, 1].into(),
            payment: Some(Payment::ByMail(mine.clone())),
            label: "x".into(),
            parent: Some(Box::default()),
            key: Uuid::from_u128(7),
            at,
            size: [1.0, 2.0, 3.0],
            ..Default::default()
        },
    );
    check(
        &orders::Order {
            status: orders::Status(12),
            payment: Some(orders::Payment::Cash(3)),
            ..Default::default()
        },
        &Order {
            status: Status::Unknown(12),
            payment: Some(Payment::Cash(3)),
            ..Default::default()
        },
    );
}

#[test]
fn structs_that_extend_others() {
    use derived_zoo as mine;
    use generated_zoo::zoo::{Cat, animals as theirs};

    fn same<G: dovetail::encoding::Value, D: dovetail::encoding::Value>(
        generated: &G,
        derived: &D,
    ) {
        for encoding in Encoding::BUILT_IN {
            let bytes = encoding.to_bytes(generated).unwrap();
            assert_eq!(bytes, encoding.to_bytes(derived).unwrap(), "{encoding:?}");
        }
    }

    let my_dog = mine::Dog {
        breed: "Collie".into(),
        ..Default::default()
    };
    let their_dog = theirs::Dog {
        breed: "Collie".into(),
        ..Default::default()
    };
    let mut my_puppy = mine::Puppy {
        base: mine::Dog {
            breed: "mongrel".into(),
            ..Default::default()
        },
        littermates: vec![my_dog.clone().into()],
        foo_bar: 1.5,
        ..Default::default()
    };
    // Through two structs.
    my_puppy.legs = 4;
    let mut their_puppy = theirs::Puppy {
        littermates: vec![their_dog.clone().into()],
        foo_bar_: 1.5,
        ..Default::default()
    };
    their_puppy.legs = 4;
    check(&their_dog, &my_dog);
    // It has `foo_bar` and `fooBar`, which are one name in JSON.
    let tells_apart = |encoding: &Encoding| !matches!(encoding, Encoding::Json);
    check_in(tells_apart, &their_puppy, &my_puppy);
    let my_cat = mine::cats::Cat {
        prey: Box::new(my_puppy.clone().into()),
        enemy: Box::new(my_puppy.into()),
        ..Default::default()
    };
    let their_cat = Cat {
        lives: 0,
        prey: Box::new(their_puppy.clone().into()),
        enemy: Box::new(their_puppy.into()),
        ..Default::default()
    };
    check_in(tells_apart, &their_cat, &my_cat);
    same(
        &theirs::AnyAnimal::from(their_cat),
        &mine::AnyAnimal::from(my_cat),
    );

    let bite = mine::Bite {
        base: mine::Trouble {
            message: "ouch".into(),
        },
        depth: 3,
    };
    assert_eq!(bite.to_string(), "ouch");
}

#[test]
fn enums_are_open() {
    assert_eq!(
        (Status::from(7), Status::from(8)),
        (Status::SentBack, Status::Unknown(8))
    );
    assert_eq!(
        (Status::SentBack.name(), Status::Unknown(8).name()),
        (Some("SENT_BACK"), None)
    );
    assert_eq!(
        (i32::from(&Status::SentBack), i32::from(&Status::Unknown(8))),
        (7, 8)
    );
    assert_eq!(Status::default(), Status::Open);
    assert_eq!(Status::VALUES.len(), orders::Status::VALUES.len());
}

#[test]
fn exceptions_say_what_their_message_says() {
    let missing = derived::NotFound {
        message: "no such order".into(),
        id: 1,
    };
    assert_eq!(missing.to_string(), "no such order");
    assert_eq!(
        Refused {
            why: Some("sold".into())
        }
        .to_string(),
        "sold"
    );
    let error: derived::PlaceError = missing.into();
    assert_eq!(error.to_string(), "no such order");
}

/// One end has the traits, the other one the IDL.
#[test]
fn objects_of_traits() {
    use derived_objects::{
        Cursor, CursorObject, Files, FilesServer, ReadError, Session, WatcherObject,
    };
    use std::collections::BTreeMap;

    struct At(i64);

    impl Cursor for At {
        async fn position(&self) -> Result<i64, dovetail::Status> {
            Ok(self.0)
        }

        async fn fork(&self) -> Result<CursorObject, dovetail::Status> {
            Ok(CursorObject::new(At(self.0 + 1)))
        }

        async fn read(&self, count: i32) -> Result<i64, ReadError> {
            Ok(self.0 + i64::from(count))
        }
    }

    struct Disk;

    impl Files for Disk {
        async fn open(&self, path: String) -> Result<CursorObject, ReadError> {
            Ok(CursorObject::new(At(path.len() as i64)))
        }

        async fn watch(
            &self,
            path: String,
            watcher: WatcherObject,
        ) -> Result<(), dovetail::Status> {
            let cursor = CursorObject::new(At(7));
            watcher.client().changed(&path, &cursor).await.map(drop)
        }

        async fn by_name(
            &self,
            names: Vec<String>,
        ) -> Result<BTreeMap<String, CursorObject>, dovetail::Status> {
            let cursor = |name: String| (name.clone(), CursorObject::new(At(name.len() as i64)));
            Ok(names.into_iter().map(cursor).collect())
        }

        async fn session(&self) -> Result<Session, dovetail::Status> {
            Ok(Session::default())
        }

        async fn open_pipelined(&self, number: i32) -> Result<i32, dovetail::Status> {
            Ok(number)
        }
    }

    let server = dovetail::Server::new().service(FilesServer::new(Disk));
    dovetail::testing::run(server, async |pair| {
        let files = objects::FilesClient::from(pair.channel(|builder| builder));
        let cursor = files.open_pipelined_("four").await.unwrap();
        let next = cursor.client().fork_pipelined().await.unwrap();
        assert_eq!(next.client().read(3).await, Ok(8));
        let files = derived_objects::FilesClient::from(pair.channel(|builder| builder));
        let opened = files.open_pipelined_("four").await.unwrap();
        assert_eq!(opened.client().position().await, Ok(4));
    });
}

/// Parts of an export that are not on the wire.
mod ledger {
    use dovetail::types::{Date, Decimal};
    use dovetail::{Message, Status};

    /// What was paid.
    #[derive(Clone, Debug, PartialEq, Message)]
    pub(super) struct Entry {
        /// Negative where it was paid back.
        #[dovetail(zigzag)]
        pub cents: i64,
        #[dovetail(fixed)]
        pub hash: u32,
        pub currency: String,
        pub places: Vec<Vec<i8>>,
        pub day: Date,
        pub rate: Decimal,
    }

    impl Default for Entry {
        fn default() -> Self {
            Entry {
                cents: 0,
                hash: 7,
                currency: "EUR".into(),
                places: vec![vec![1], vec![]],
                day: Date::constant(2026, 11, 20),
                rate: "1.50".parse().unwrap(),
            }
        }
    }

    /// All that was paid.
    #[dovetail::service]
    pub(super) trait Ledger {
        /// Those of a day.
        #[dovetail(idempotent)]
        async fn entries(
            &self,
            #[dovetail(required)] account: String,
            #[dovetail(id = 3, default = Some(100))] limit: Option<i32>,
            #[dovetail(default = "EUR".to_owned())] currency: String,
        ) -> Result<Vec<Entry>, Status>;
    }
}

/// The input of other languages' generators.
#[test]
fn exported() {
    let thrift = dovetail::export::thrift;
    let rows = [
        ("exported.thrift", thrift("orders", &[&derived::ORDERS])),
        ("ledger.thrift", thrift("ledger", &[&ledger::LEDGER])),
        (
            "exported/ledger.proto",
            dovetail::export::proto(&[&ledger::LEDGER]),
        ),
    ];
    for (name, text) in rows {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/code_first");
        let (golden, text) = (format!("{folder}/{name}"), text.unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(golden).unwrap_or_default());
    }
}

/// A type in an `Any` has the package of Cargo, or the one that its attribute names.
#[test]
fn packages_in_an_any() {
    use dovetail::types::Any;

    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    struct Account {
        balance: i32,
    }
    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    #[dovetail(package = "shop", name = "Account")]
    struct Elsewhere {
        balance: i32,
    }

    let packed = Any::pack(&Account { balance: 1 }).unwrap();
    assert_eq!(packed.type_name, "dovetail_codegen.Account");
    assert!(packed.is::<Account>() && !packed.is::<Elsewhere>());
    assert!(packed.unpack::<Elsewhere>().is_err());

    let packed = Any::pack(&Elsewhere { balance: 1 }).unwrap();
    assert_eq!(packed.type_name, "shop.Account");
    assert!(packed.is::<Elsewhere>() && !packed.is::<Account>());
}

/// The macros' own parameters have other names.
#[test]
fn types_with_one_letter() {
    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    struct R {
        a: i32,
    }
    #[derive(Clone, Debug, Default, PartialEq, dovetail::Message)]
    struct W {
        r: R,
        l: Vec<R>,
    }
    #[dovetail::service]
    trait T {
        async fn f(&self, w: W) -> Result<R, dovetail::Status>;
    }

    let mock = dovetail::server::Mock::new(&T).on("f", |w: W| w.r);
    let client = TBlockingClient::from(dovetail::blocking::Channel::in_process(mock));
    let w = W {
        r: R { a: 7 },
        ..W::default()
    };
    assert_eq!(client.f(&w), Ok(R { a: 7 }));
}
