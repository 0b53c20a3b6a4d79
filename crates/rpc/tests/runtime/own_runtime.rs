//! A server on the runtime of the program that it is a part of.

use dovetail::{Address, Channel, Server};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Notify, oneshot};

const DRAIN: Duration = Duration::from_secs(20);

fn listening(server: Server) -> (Server, Address) {
    let server = server.listen("tcp://127.0.0.1:0").unwrap();
    let address = server.addresses().remove(0);
    (server, address)
}

fn channel(address: &Address, wire: &str) -> Channel {
    let builder = Channel::builder(&address.to_string()).unwrap();
    builder.wire(wire.parse().unwrap()).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_find_the_runtime_of_the_caller() {
    let (server, address) = listening(Server::new().bind("flavor", || async {
        // It runs on any thread of the runtime.
        let spawned = tokio::spawn(async { Handle::current().runtime_flavor() });
        spawned.await.unwrap() == RuntimeFlavor::MultiThread
    }));
    let (end, ended) = oneshot::channel::<()>();
    let calls = tokio::spawn(async move {
        for wire in ["dovetail", "binary+framed", "compact+header", "msgpack-rpc"] {
            let multi: bool = channel(&address, wire)
                .call_by_name("flavor", ())
                .await
                .unwrap();
            assert!(multi, "{wire}");
        }
        end.send(()).unwrap();
    });
    let drained = server.serve(async { ended.await.unwrap() }, DRAIN);
    assert!(drained.await.unwrap());
    calls.await.unwrap();
}

#[tokio::test]
async fn calls_that_run_have_the_time_of_the_drain() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (theirs, waits) = (begun.clone(), go_on.clone());
    let (server, address) = listening(Server::new().bind("wait", move || {
        let (begun, go_on) = (theirs.clone(), waits.clone());
        async move {
            begun.notify_one();
            go_on.notified().await;
            7
        }
    }));
    let call = tokio::spawn(async move {
        let channel = channel(&address, "dovetail");
        channel.call_by_name::<i32>("wait", ()).await.unwrap()
    });
    let shutdown = async {
        begun.notified().await;
        // The handler ends only after the server has begun to go down.
        tokio::task::spawn_local(async move { go_on.notify_one() });
    };
    assert!(server.serve(shutdown, DRAIN).await.unwrap());
    assert_eq!(call.await.unwrap(), 7);
}

#[tokio::test]
async fn a_future_that_is_dropped_ends_the_server() {
    let (server, address) = listening(Server::new().bind("seven", || 7));
    let serving = server.serve(pending(), DRAIN);
    let called = async {
        let channel = channel(&address, "dovetail");
        channel.call_by_name::<i32>("seven", ()).await.unwrap()
    };
    tokio::select! {
        _ = serving => panic!("nothing has ended it"),
        seven = called => assert_eq!(seven, 7),
    }
    let again = channel(&address, "dovetail");
    assert!(again.call_by_name::<i32>("seven", ()).await.is_err());
}
