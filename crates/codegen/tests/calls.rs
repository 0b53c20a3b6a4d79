//! Calls with derived structs and references, over the wires of Thrift and Dovetail's own: as
//! contracts say them, and from a client of an older contract.
#![allow(clippy::unwrap_used)]

use dovetail::blocking::Channel;
use dovetail::types::{Ref, UnknownFields};
use dovetail::{Context, Running, Server, Status, Wire, descriptor, message};
use std::sync::Arc;
use std::time::Duration;

macro_rules! golden {
    ($($name:ident)*) => {$(
        mod $name {
            include!(concat!("golden/", stringify!($name), "/output.rs"));
        }
    )*};
}

golden! { families graphs }

use families::zoo::animals::{Animal, AnyAnimal, AnyDog, Dog};
use families::zoo::{
    AnyTrouble, Bite, Cat, CloseError, FeedError, Trouble, Zoo, ZooBlockingClient, ZooServer,
};
use graphs::graphs::{AnyNode, Graphs, GraphsBlockingClient, GraphsServer, Link, Node, Target};

/// Cats bite; everybody else is given back.
struct Keeper;

impl Zoo for Keeper {
    async fn feed(
        &self,
        _: Context,
        animal: AnyAnimal,
        _: Vec<AnyDog>,
    ) -> Result<AnyAnimal, FeedError> {
        match animal {
            AnyAnimal::Cat(cat) => Err(bite(&cat.name).into()),
            other => Ok(other),
        }
    }

    async fn close(&self, _: Context) -> Result<(), CloseError> {
        Err(CloseError::Second(bite("the door").into()))
    }
}

impl Graphs for Keeper {
    async fn walk(&self, _: Context, from: Ref<AnyNode>, target: Target) -> Result<Link, Status> {
        // One that is in both parameters is the same in both.
        let same = match (from.get(), target) {
            (Some(from), Target::Node(to)) => to.is(&from),
            _ => false,
        };
        Ok(Link {
            to: from,
            weight: f64::from(u8::from(same)),
            ..Link::default()
        })
    }
}

fn bite(message: &str) -> Bite {
    Bite {
        base: Trouble {
            message: message.to_owned(),
            ..Trouble::default()
        },
        depth: 3,
    }
}

fn dog() -> Dog {
    Dog {
        base: Animal {
            name: "Rex".to_owned(),
            legs: 4,
            ..Animal::default()
        },
        ..Dog::default()
    }
}

const WIRES: [&str; 4] = ["binary+framed", "compact+http", "json+framed", "dovetail"];

fn serve() -> Running {
    let server = Server::new()
        .service(ZooServer::new(Keeper))
        .service(GraphsServer::new(Keeper));
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

/// Runs `test` with a channel of each wire.
fn over_each_wire(test: fn(Channel)) {
    let running = serve();
    let address = running.addresses()[0].to_string();
    for wire in WIRES {
        let wire: Wire = wire.parse().unwrap();
        test(Channel::builder(&address).unwrap().wire(wire).build());
    }
    running.shutdown(Duration::from_secs(5));
}

#[test]
fn derived_structs_and_exceptions() {
    over_each_wire(|channel| {
        let client = ZooBlockingClient::from(channel);
        // Twice: the second call on Dovetail's own wire has no tags.
        for _ in 0..2 {
            let dogs = [dog().into()];
            assert_eq!(
                client.feed(&dog().into(), &dogs).unwrap(),
                AnyAnimal::from(dog())
            );
            let cat = Cat::default();
            assert_eq!(
                client.feed(&cat.into(), &[]),
                Err(FeedError::Trouble(bite("nobody").into()))
            );
            let expected = AnyTrouble::Bite(bite("the door"));
            assert_eq!(client.close(), Err(CloseError::Second(expected)));
        }
    });
}

#[test]
fn references() {
    over_each_wire(|channel| {
        let client = GraphsBlockingClient::from(channel);
        let root = Arc::new_cyclic(|root| {
            AnyNode::from(Node {
                name: "root".to_owned(),
                parent: Ref::from(root),
                ..Node::default()
            })
        });
        for _ in 0..2 {
            let root = Ref::from(root.clone());
            let link = client.walk(&root, &Target::Node(root.clone())).unwrap();
            assert_eq!(link.weight, 1.0);
            let back = link.to.get().unwrap();
            assert!(back.parent.is(&back) && back.name == "root");
        }
    });
}

/// An animal from before there were dogs, of which less was known.
#[derive(Clone, Debug, Default, PartialEq)]
struct OldAnimal {
    name: String,
    unknown_fields: UnknownFields,
}

message!(OldAnimal as "Animal" {
    1 name: String,
    ..unknown_fields
});

descriptor!(static OLD_ZOO = "Zoo" {
    feed(1 animal: OldAnimal) -> OldAnimal;
});

#[test]
fn who_knows_no_dogs_relays_them() {
    over_each_wire(|channel| {
        let client = ZooBlockingClient::from(channel.clone());
        let feed = |animal: &OldAnimal| -> Result<OldAnimal, Status> {
            channel.call(&OLD_ZOO.methods[0], (animal,))
        };
        let named = |name: &str| OldAnimal {
            name: name.to_owned(),
            ..OldAnimal::default()
        };
        assert_eq!(feed(&named("x")).unwrap().name, "x");
        // One client gets a dog, the other one sees an animal, and gives it back unharmed.
        let bytes = dovetail_wire::tagged::to_bytes(&AnyAnimal::from(dog())).unwrap();
        let old: OldAnimal = dovetail_wire::tagged::from_bytes(&bytes).unwrap();
        assert_eq!(old.name, "Rex");
        let again = feed(&old).unwrap();
        assert_eq!(again.name, old.name);
        let bytes = dovetail_wire::tagged::to_bytes(&again).unwrap();
        let back: AnyAnimal = dovetail_wire::tagged::from_bytes(&bytes).unwrap();
        assert_eq!(client.feed(&back, &[]).unwrap(), AnyAnimal::from(dog()));
    });
}
