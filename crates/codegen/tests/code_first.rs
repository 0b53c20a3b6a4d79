//! The same contract in Thrift's language and in Rust: the same descriptions, and so the same fingerprints, and the same
//! bytes.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod generated {
    include!("golden/code_first/output.rs");
}

/// What `golden/code_first/input.thrift` says.
#[allow(unreachable_pub)]
mod derived {
    use dovetail::{Bytes, Context, Items, Receiver, Timestamp, UnknownFields, Uuid};
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Clone, Copy, Debug, PartialEq, dovetail::Message)]
    pub enum Status {
        Open,
        Paid,
        #[dovetail(id = 7)]
        SentBack,
        Unknown(i32),
    }

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

    #[dovetail::service]
    pub trait Orders: Counter {
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
use dovetail::wire::{Encoding, Message};
use dovetail::{ServiceDescriptor, Timestamp, Uuid};
use generated::orders;
use std::fmt::Debug;

#[test]
fn descriptions() {
    let rows: [(&ServiceDescriptor, &ServiceDescriptor); 2] = [
        (&orders::COUNTER, &derived::COUNTER),
        (&orders::ORDERS, &derived::ORDERS),
    ];
    for (generated, derived) in rows {
        assert_eq!(generated.name, derived.name);
        assert_eq!(generated.len(), derived.len());
        for ((_, generated), (_, derived)) in generated.iter().zip(derived.iter()) {
            let name = generated.name;
            assert_eq!(generated.description(), derived.description(), "{name}");
            assert_eq!(
                (
                    generated.name,
                    generated.params,
                    generated.kind,
                    generated.idempotent
                ),
                (
                    derived.name,
                    derived.params,
                    derived.kind,
                    derived.idempotent
                ),
            );
        }
    }
}

/// The two have the same bytes in every encoding, and each reads those of the other.
fn check<G, D>(generated: &G, derived: &D)
where
    G: Message + dovetail::wire::Value + Debug + PartialEq,
    D: Message + dovetail::wire::Value + Debug + PartialEq,
{
    assert_eq!((G::NAME, G::FIELDS), (D::NAME, D::FIELDS));
    for encoding in Encoding::BUILT_IN {
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

/// What other languages' generators get to read.
#[test]
fn exported() {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/code_first/exported.thrift"
    );
    let text = dovetail::export::thrift("orders", &[&derived::ORDERS]).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(golden).unwrap_or_default());
}
