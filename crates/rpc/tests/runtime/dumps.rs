//! Dumps of the bytes of connections: on every wire, in every model.

use crate::admin::{administered, method};
use crate::fixture::*;
use crate::interceptors::{PlaceError, WIRES, lacks, stop};
use crate::relay::Relay;
use dovetail::capture::{CaptureFilter, DumpFilter, Dumped, ShownCall, capture, dump};
use dovetail::server::Model;
use dovetail::stream::Receiver;
use dovetail::{Channel, Code, Running, Status};
use std::time::Duration;

fn channel(running: &Running) -> Channel {
    let address = running.addresses()[0].to_string();
    Channel::builder(&address).unwrap().timeout(LONG).build()
}

async fn place(channel: &Channel, item: &str) {
    let _: Result<String, PlaceError> = channel.call(method("place"), (&item.to_owned(),)).await;
}

/// The parts of a dump: the bytes of each direction, and the calls.
#[derive(Default)]
struct Parts {
    received: Vec<u8>,
    sent: Vec<u8>,
    calls: Vec<ShownCall>,
}

impl Parts {
    fn add(&mut self, part: Dumped) {
        assert_eq!(part.left_out, 0);
        let bytes = if part.sent {
            &mut self.sent
        } else {
            &mut self.received
        };
        bytes.extend_from_slice(&part.bytes);
        self.calls.extend(part.call);
    }

    /// Takes parts until so much has come.
    async fn until(parts: &mut Receiver<Dumped>, enough: impl Fn(&Self) -> bool) -> Self {
        let mut all = Parts::default();
        let taking = async {
            while !enough(&all) {
                all.add(parts.next().await.unwrap().unwrap());
            }
        };
        let taken = tokio::time::timeout(LONG, taking).await;
        taken.expect("all parts");
        all
    }
}

/// Begins a dump; an earlier one may still be about to end.
async fn begin(console: &Running, filter: &DumpFilter) -> Receiver<Dumped> {
    let console = channel(console);
    for _ in 0..1_000 {
        match dump(&console, filter).await {
            Ok(parts) => return parts,
            Err(status) => assert_eq!(status.code(), Code::FailedPrecondition, "{status}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the dump before does not end");
}

/// A dump has the bytes that a relay sees, from the first one, and the calls in JSON.
#[tokio::test]
async fn a_dump_has_all_bytes_and_calls() {
    for model in MODELS {
        let wires = WIRES.iter().chain(&["binary", "msgpack-rpc"]);
        for wire in wires.filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let (running, console, _) = administered(*model);
            let mut parts = begin(&console, &DumpFilter::default()).await;
            let relay = Relay::to(&running);
            let channel = relay.channel(wire);
            let long = "lamp".repeat(50_000);
            for item in ["lamp", &long, "sold"] {
                place(&channel, item).await;
            }
            let three = |all: &Parts| {
                all.calls.len() == 3
                    && all.received.len() == relay.received().len()
                    && all.sent.len() == relay.sent().len()
            };
            let all = Parts::until(&mut parts, three).await;
            assert!(all.received == relay.received(), "{what}");
            assert!(all.sent == relay.sent(), "{what}");
            let calls = all
                .calls
                .iter()
                .map(|call| (&*call.parameters, &*call.code));
            let long = format!("{{\"item\":\"{long}\"}}");
            let expected = [
                ("{\"item\":\"lamp\"}", "OK"),
                (&*long, "OK"),
                ("{\"item\":\"sold\"}", "EXCEPTION"),
            ];
            assert!(calls.eq(expected), "{what}");
            stop(running).await;
        }
    }
}

/// A connection that is open is dumped from then on, and no other one.
#[tokio::test]
async fn a_dump_of_one_connection() {
    for model in [Model::EventLoops(Some(2)), Model::ThreadPerConnection] {
        let (running, console, _) = administered(model);
        let relays = [Relay::to(&running), Relay::to(&running)];
        let channels = [relays[0].channel("binary"), relays[1].channel("binary")];
        for channel in &channels {
            place(channel, "lamp").await;
        }
        let (received, sent) = (relays[1].received().len(), relays[1].sent().len());
        let filter = DumpFilter {
            connection: Some(1),
            ..DumpFilter::default()
        };
        let mut parts = begin(&console, &filter).await;
        place(&channels[0], "table").await;
        place(&channels[1], "chair").await;
        let all = Parts::until(&mut parts, |all| !all.calls.is_empty()).await;
        assert_eq!(all.received, relays[1].received()[received..], "{model:?}");
        assert_eq!(all.sent, relays[1].sent()[sent..], "{model:?}");
        assert_eq!(all.calls[0].parameters, "{\"item\":\"chair\"}");
        stop(running).await;
    }
}

#[tokio::test]
async fn dumps_that_are_refused_and_that_end() {
    let (running, console, _) = administered(Model::EventLoops(Some(1)));
    let asked = channel(&console);
    let refused = |filter: DumpFilter| {
        let asked = asked.clone();
        async move { dump(&asked, &filter).await.map(drop).unwrap_err() }
    };
    let unknown = DumpFilter {
        connection: Some(17),
        ..DumpFilter::default()
    };
    let status: Status = refused(unknown).await;
    assert_eq!(status.code(), Code::NotFound, "{status}");
    let captured = capture(&asked, &CaptureFilter::default()).await.unwrap();
    let status = refused(DumpFilter::default()).await;
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    drop(captured);
    let few = DumpFilter {
        bytes: Some(1_000),
        ..DumpFilter::default()
    };
    let mut parts = begin(&console, &few).await;
    let channel = channel(&running);
    for _ in 0..100 {
        place(&channel, "lamp").await;
    }
    let mut bytes = 0;
    while let Some(part) = parts.next().await {
        bytes += part.unwrap().bytes.len();
    }
    assert!((1_000..3_000).contains(&bytes), "{bytes}");
    let short = DumpFilter {
        seconds: Some(1),
        ..DumpFilter::default()
    };
    let mut parts = begin(&console, &short).await;
    while let Some(part) = parts.next().await {
        part.unwrap();
    }
    stop(running).await;
}
