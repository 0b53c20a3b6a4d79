//! Rolling restarts: servers take turns on one port while callers call, and no call fails.

use crate::fixture::*;
use dovetail::method::Method;
use dovetail::server::Model;
use dovetail::{Channel, Running, Server, Status};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

const WIRES: &[&str] = &[
    "dovetail",
    "grpc",
    "binary+framed",
    "compact+header",
    "msgpack-rpc",
];

const RESTARTS: usize = 8;

/// A call each millisecond, whether or not the ones before are answered.
const PACE: Duration = Duration::from_millis(1);

/// How long each server is there.
const TURN: Duration = Duration::from_millis(150);

/// Not idempotent: it is sent again where it did not run, and nowhere else.
const TAKES: &Method = &PROBE.methods[TAKE];

async fn serve(model: Model, address: &str) -> Running {
    let server = Server::new().service(Probe::default()).model(model);
    let address = address.to_owned();
    let started = move || server.listen(&address).unwrap().start().unwrap();
    tokio::task::spawn_blocking(started).await.unwrap()
}

async fn check(model: Model, wire: &str) {
    let mut running = serve(model, "tcp://127.0.0.1:0").await;
    let address = address(&running);
    let builder = Channel::builder(&address).unwrap();
    let builder = builder.wire(wire.parse().unwrap()).timeout(LONG);
    // On a busy machine a server may take longer to be back than the two seconds that a call waits
    // by default.
    let channel = builder.connect_wait(LONG).build();
    let call = |channel: Channel| async move {
        let bytes = dovetail::types::Bytes::from_static(b"abc");
        channel.call::<_, i32, Status>(TAKES, (&bytes,)).await
    };
    // A channel waits for a server that it has reached before.
    assert_eq!(call(channel.clone()).await, Ok(3), "{model:?} {wire}");

    let restarts = tokio::spawn(async move {
        for _ in 0..RESTARTS {
            sleep(TURN).await;
            let ended = tokio::task::spawn_blocking(move || running.shutdown(LONG));
            assert!(ended.await.unwrap(), "{model:?}");
            running = serve(model, &place(&address)).await;
        }
        sleep(TURN).await;
        running
    });
    let (mut calls, mut pace) = (JoinSet::new(), interval(PACE));
    while !restarts.is_finished() {
        pace.tick().await;
        calls.spawn(call(channel.clone()));
    }
    let made = calls.len();
    let answers = calls.join_all().await;
    let failed: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    assert!(
        failed.is_empty(),
        "{model:?} {wire}: {} of {made} calls failed: {}",
        failed.len(),
        failed[0]
    );
    assert!(made > RESTARTS * 100, "{model:?} {wire}: {made} calls");
    drop(channel);
    let running = restarts.await.unwrap();
    tokio::task::spawn_blocking(move || running.shutdown(LONG))
        .await
        .unwrap();
}

#[tokio::test]
async fn no_call_fails() {
    for model in [Model::EventLoops(Some(2)), Model::ThreadPerConnection] {
        for wire in WIRES {
            if *wire == "grpc" && model == Model::ThreadPerConnection {
                continue;
            }
            check(model, wire).await;
        }
    }
}
