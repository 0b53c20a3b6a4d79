//! Long lists of references, through servers and clients: with the limits that are there, and with
//! raised ones.

use crate::fixture::{LONG, MODELS, address, listen, stock};
use dovetail::blocking::Channel;
use dovetail::encoding::Limits;
use dovetail::method::ServiceDescriptor;
use dovetail::protocol::ConnectionLimits;
use dovetail::server::{Call, HandlerFuture, ServerLimits};
use dovetail::types::Ref;
use dovetail::{Code, Context, Server, Service, Status, Wire, descriptor, message};

#[derive(Clone, Debug, Default, PartialEq)]
struct Entry {
    number: i32,
    next: Ref<Entry>,
}

message!(Entry { 1 number: i32, 2 next: Ref<Entry>, });

descriptor!(static LISTS = "Lists" {
    echo(1 list: Entry) -> Entry;
});

struct Lists;

impl Service for Lists {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &LISTS
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((Entry::default(),), |_: Context, (list,)| async move {
                Ok::<_, Status>(list)
            }),
            _ => call.no_such_method(),
        }
    }
}

fn list(length: i32) -> Entry {
    (1..length).fold(Entry::default(), |next, number| Entry {
        number,
        next: Ref::new(next),
    })
}

#[test]
fn lists_of_references() {
    let standard = Limits::default();
    let raised = Limits {
        depth: 100_000,
        ..standard
    };
    let deep = || ConnectionLimits {
        depth: 100_000,
        ..ConnectionLimits::default()
    };
    // A wire, the limits of both ends, how long a list is, and how it ends.
    let rows = [
        (Wire::Dovetail, standard, 10_000, Ok(())),
        (stock(), standard, 60, Ok(())),
        (
            stock(),
            standard,
            70,
            Err("nested deeper than the limit of"),
        ),
        (stock(), raised, 100, Ok(())),
        (
            stock(),
            raised,
            10_000,
            Err("nested deeper than the limit of"),
        ),
    ];
    for model in MODELS {
        for (wire, message, length, expected) in rows {
            let limits = ServerLimits {
                message,
                connection: deep(),
                ..ServerLimits::default()
            };
            let server = Server::new().service(Lists).model(*model).limits(limits);
            let running = listen(server).start().unwrap();
            let channel = Channel::builder(&address(&running)).unwrap();
            let channel = channel.wire(wire).limits(deep(), message).build();
            let list = list(length);
            // The first call of the own wire has tags, the second has none.
            for _ in 0..2 {
                let back: Result<Entry, Status> = channel.call(&LISTS.methods[0], (&list,));
                match (&back, expected) {
                    (Ok(back), Ok(())) => assert!(*back == list, "{model:?} {length}"),
                    (Err(status), Err(text)) => {
                        assert!(
                            status.message().contains(text),
                            "{model:?} {length}: {status}"
                        );
                        assert_ne!(status.code(), Code::Unavailable);
                    }
                    _ => panic!("{model:?} {length}: {:?}", back.err()),
                }
            }
            drop(channel);
            assert!(running.shutdown(LONG), "{model:?}");
        }
    }
}
