//! A server on the runtime of the program that it is a part of.

use dovetail::{Address, Channel, Server};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
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

/// The calls that a connection may have while others of its loop wait.
const TURN: usize = 4;

/// Returns calls of a method without parameters, by Thrift's binary protocol in frames.
fn framed(method: &str, calls: usize) -> Vec<u8> {
    let length = |bytes: &[u8]| (bytes.len() as u32).to_be_bytes();
    let name = method.as_bytes();
    // Version and kind; the name; the number of the call, and no parameters.
    let call = [&[0x80, 1, 0, 1][..], &length(name), name, &[0; 5]].concat();
    [&length(&call)[..], &call].concat().repeat(calls)
}

#[tokio::test]
async fn connections_that_are_ready_take_turns() {
    let order = Arc::<Mutex<Vec<&str>>>::default();
    let note = |method| {
        let order = order.clone();
        move || order.lock().unwrap().push(method)
    };
    let server = Server::new().bind("many", note("many"));
    let (server, address) = listening(server.bind("one", note("one")));
    let shutdown = async {
        let address = address.to_string();
        let mut answer = [0; 32];
        let mut sockets = Vec::new();
        for method in ["many", "one"] {
            let place = address.strip_prefix("tcp://").unwrap();
            let mut socket = TcpStream::connect(place).await.unwrap();
            socket.write_all(&framed(method, 1)).await.unwrap();
            assert!(socket.read(&mut answer).await.unwrap() > 0);
            sockets.push(socket);
        }
        order.lock().unwrap().clear();
        // Both are ready before the loop looks again.
        for (socket, calls) in sockets.iter().zip([framed("many", 1000), framed("one", 1)]) {
            assert_eq!(socket.try_write(&calls).unwrap(), calls.len());
        }
        assert!(sockets[1].read(&mut answer).await.unwrap() > 0);
    };
    assert!(server.serve(shutdown, DRAIN).await.unwrap());
    let order = order.lock().unwrap();
    let before = order.iter().position(|method| *method == "one");
    assert!(before.is_some_and(|before| before <= TURN), "{before:?}");
}
