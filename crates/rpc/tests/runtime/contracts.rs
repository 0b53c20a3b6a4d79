//! Two ends of different versions on foreign wires: wires with headers compare the contracts,
//! `docs/spec/contract-header.md`.

use crate::fixture::*;
use dovetail::status::Execution;
use dovetail::stream::{Items, Receiver};
use dovetail::{Channel, Code, Context, Running, Server, Status, blocking};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The wires whose headers bring contracts along.
const WIRES: &[&str] = &[
    "grpc",
    "grpc-web",
    "grpc-web+json",
    "connect",
    "connect+json",
    "binary+http",
    "json+http",
    "compact+header",
];

/// Wires for calls with streams.
const STREAMS: &[&str] = &[
    "grpc",
    "grpc-web",
    "grpc-web+json",
    "connect",
    "connect+json",
];

/// Declares a version of a contract.
macro_rules! version {
    ($version:ident { $($field:ident: $ty:ty,)* }) => {
        mod $version {
            #![allow(dead_code, reason = "clients and servers use other parts")]
            use dovetail::{Context, Message, Status};
            use dovetail::stream::{Items, Receiver};

            #[derive(Clone, Debug, Default, PartialEq, Message)]
            pub(super) struct Order { $(pub(super) $field: $ty,)* }

            #[dovetail::service]
            pub(super) trait Orders {
                async fn count(&self, order: Order) -> Result<i32, Status>;
                #[dovetail(oneway)]
                async fn note(&self, order: Order) -> Result<(), Status>;
                async fn each(&self, order: Order) -> Result<Items<'_, i32>, Status>;
                async fn total(&self, cx: Context, orders: Receiver<Order>) -> Result<i32, Status>;
            }
        }
    };
}

version!(first {
    count: i32,
    limit: i32,
});
version!(longer { count: i32, limit: i32, note: Option<String>, });
version!(swapped {
    limit: i32,
    count: i32,
});

/// The notes that a server has taken.
#[derive(Default)]
struct Noted(AtomicI32);

impl first::Orders for Arc<Noted> {
    async fn count(&self, order: first::Order) -> Result<i32, Status> {
        Ok(order.count)
    }

    async fn note(&self, order: first::Order) -> Result<(), Status> {
        self.0.fetch_add(order.count, Ordering::SeqCst);
        Ok(())
    }

    async fn each(&self, order: first::Order) -> Result<Items<'_, i32>, Status> {
        Ok(Items::iter(0..order.count))
    }

    async fn total(&self, cx: Context, mut orders: Receiver<first::Order>) -> Result<i32, Status> {
        assert!(cx.headers().all(|(name, _)| name != "dovetail-contract"));
        let mut total = 0;
        while let Some(order) = orders.next().await {
            total += order?.count;
        }
        Ok(total)
    }
}

fn serve(noted: &Arc<Noted>) -> Running {
    let server = Server::new().service(first::OrdersServer::new(noted.clone()));
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

fn channel(running: &Running, wire: &str) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire(wire.parse().unwrap()).timeout(LONG).build()
}

/// Shuts a server down, while the connections of this thread's channels hear of it.
async fn shut_down(running: Running) {
    let stopped = tokio::task::spawn_blocking(move || running.shutdown(LONG));
    assert!(stopped.await.unwrap());
}

/// The refusal of a call of `method` by a server with the first version, to a caller with the
/// swapped one.
fn check_refusal(wire: &str, method: &str, refused: Result<(), Status>) {
    let status = refused.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{wire}: {status}");
    assert_eq!(
        status.execution(),
        Execution::NotStarted,
        "{wire}: {status}"
    );
    let why = "contradict each other: `Order.count` is number 1 here and number 2 there";
    let message = format!("the contracts of `{method}` {why}");
    assert!(status.message().contains(&message), "{wire}: {status}");
}

#[tokio::test]
async fn versions_are_compared() {
    let noted = Arc::<Noted>::default();
    let running = serve(&noted);
    for (at, wire) in (1..).zip(WIRES) {
        let before = running.counters();
        let channel = channel(&running, wire);

        let same = first::OrdersClient::from(channel.clone());
        let (count, limit) = (3, 5);
        let order = first::Order { count, limit };
        assert_eq!(same.count(&order).await, Ok(count), "{wire}");
        let longer = longer::OrdersClient::from(channel.clone());
        let note = Some("fragile".to_owned());
        let order = longer::Order { count, limit, note };
        for _ in 0..3 {
            assert_eq!(longer.count(&order).await, Ok(count), "{wire}");
        }
        assert_eq!(running.counters().calls, before.calls + 4);

        let swapped = swapped::OrdersClient::from(channel);
        let order = swapped::Order { limit, count };
        for refused in 1..=3 {
            check_refusal(wire, "count", swapped.count(&order).await.map(drop));
            let contradicting = running.counters().contradicting_calls;
            assert_eq!(
                contradicting,
                before.contradicting_calls + refused,
                "{wire}"
            );
        }
        assert_eq!(running.counters().unknown_methods, 0);

        // It is not answered in every wire, but it never runs.
        longer
            .note(&longer::Order {
                count,
                ..longer::Order::default()
            })
            .await
            .unwrap();
        let _ = swapped.note(&order).await;
        assert_eq!(
            longer
                .count(&longer::Order {
                    count,
                    ..Default::default()
                })
                .await,
            Ok(count)
        );
        assert_eq!(noted.0.load(Ordering::SeqCst), count * at, "{wire}");
    }
    shut_down(running).await;
}

#[tokio::test]
async fn streams_of_other_versions() {
    let running = serve(&Default::default());
    for wire in STREAMS {
        let channel = channel(&running, wire);
        let longer = longer::OrdersClient::from(channel.clone());
        let order = longer::Order {
            count: 3,
            ..Default::default()
        };
        let mut items = longer.each(&order).await.unwrap();
        let mut taken = 0;
        while let Some(item) = items.next().await {
            assert_eq!(item, Ok(taken), "{wire}");
            taken += 1;
        }
        assert_eq!(taken, 3, "{wire}");
        let (mut orders, total) = longer.total().await.unwrap();
        orders.send(&order).await.unwrap();
        orders.finish();
        assert_eq!(total.await, Ok(3), "{wire}");

        let swapped = swapped::OrdersClient::from(channel);
        let order = swapped::Order { limit: 1, count: 2 };
        check_refusal(wire, "each", swapped.each(&order).await.map(drop));
        let (orders, total) = swapped.total().await.unwrap();
        check_refusal(wire, "total", total.await.map(drop));
        drop(orders);
    }
    shut_down(running).await;
}

#[test]
fn blocking_clients_compare_too() {
    let running = serve(&Default::default());
    for wire in WIRES.iter().filter(|wire| !STREAMS.contains(wire)) {
        let builder = blocking::Channel::builder(&address(&running)).unwrap();
        let channel = builder.wire(wire.parse().unwrap()).timeout(LONG).build();
        let longer = longer::OrdersBlockingClient::from(channel.clone());
        let order = longer::Order {
            count: 3,
            ..Default::default()
        };
        assert_eq!(longer.count(&order), Ok(3), "{wire}");
        let swapped = swapped::OrdersBlockingClient::from(channel);
        let order = swapped::Order { limit: 1, count: 2 };
        check_refusal(wire, "count", swapped.count(&order).map(drop));
    }
    assert!(running.shutdown(LONG));
}
