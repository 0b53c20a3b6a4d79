//! Statistics: on every wire, in every model.

use crate::callbacks::until_async;
use crate::fixture::*;
use crate::http::response;
use crate::interceptors::{ORDERS, Orders, PlaceError, WIRES, lacks, start, stop};
use dovetail::method::Method;
use dovetail::server::Model;
use dovetail::statistics::{MethodStatistics, Statistics};
use dovetail::stream::Receiver;
use dovetail::throttle::{Quota, Throttle};
use dovetail::trace::{Recent, Tracing};
use dovetail::{Channel, Code, Server, Status};
use std::time::Duration;

fn method(name: &str) -> &'static Method {
    let mut methods = ORDERS.iter();
    methods.find(|(_, known)| known.name == name).unwrap().1
}

fn channel(address: &str, wire: &str) -> Channel {
    let builder = Channel::builder(address).unwrap().timeout(LONG);
    builder.wire(wire.parse().unwrap()).pushbacks(0).build()
}

fn of(statistics: &Statistics, name: &str, wire: &str) -> Option<MethodStatistics> {
    let methods = statistics.snapshot().methods.into_iter();
    let mut methods = methods.filter(|known| known.method == name);
    methods.find(|known| known.wire == wire.parse().ok())
}

/// Waits until so many calls of a method have ended; the last may end after its answer has left.
async fn ended(statistics: &Statistics, name: &'static str, wire: &'static str, calls: u64) {
    let statistics = statistics.clone();
    let all = move || of(&statistics, name, wire).is_some_and(|known| known.calls() >= calls);
    until_async("all calls", all).await;
}

#[tokio::test]
async fn calls_are_counted_by_method_wire_and_outcome() {
    let wires = WIRES
        .iter()
        .chain(&["binary", "compact+framed", "msgpack-rpc"]);
    let wires: Vec<&'static str> = wires.copied().collect();
    for model in MODELS {
        let statistics = Statistics::new();
        // Refused calls count as well: whoever counts comes first.
        let throttle = Throttle::new().at("Orders/open", Quota::new().in_flight(0));
        let server = Server::new()
            .service(Orders)
            .throttle(throttle)
            .statistics(&statistics);
        let running = start(*model, server);
        let address = running.addresses()[0].to_string();
        for (number, wire) in wires.iter().enumerate() {
            if lacks(*model, wire) {
                continue;
            }
            let channel = channel(&address, wire);
            let items = ["lamp", "lamp", "sold", "broken", "panic"];
            for item in items.iter().cycle().take(items.len() * (number + 1)) {
                let _: Result<String, PlaceError> =
                    channel.call(method("place"), (&(*item).to_owned(),)).await;
            }
            let refused: Result<bool, Status> = channel.call(method("open"), ()).await;
            assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
        }
        for (number, wire) in wires.iter().enumerate() {
            if lacks(*model, wire) {
                continue;
            }
            let what = format!("{model:?} {wire}");
            let times = number as u64 + 1;
            ended(&statistics, "place", wire, times * 5).await;
            let place = of(&statistics, "place", wire).unwrap();
            assert_eq!(place.service, "shop.v1.Orders", "{what}");
            assert_eq!((place.calls(), place.in_flight()), (times * 5, 0), "{what}");
            assert_eq!(
                (place.returned(), place.exceptions()),
                (times * 2, times),
                "{what}"
            );
            let failed = [Code::FailedPrecondition, Code::Internal, Code::NotFound];
            let failed = failed.map(|code| place.failed(code));
            assert_eq!(failed, [times, times, 0], "{what}");
            assert!(
                place.received_bytes >= times * 22,
                "{what}: {}",
                place.received_bytes
            );
            assert!(
                place.sent_bytes >= times * 8,
                "{what}: {}",
                place.sent_bytes
            );
            assert_eq!(place.times.count(), times * 5, "{what}");
            assert!(place.times.quantile(0.5) < Duration::from_secs(1), "{what}");
            ended(&statistics, "open", wire, 1).await;
            let open = of(&statistics, "open", wire).unwrap();
            assert_eq!(open.failed(Code::ResourceExhausted), 1, "{what}");
        }
        let snapshot = statistics.snapshot();
        assert_eq!(snapshot.counters, running.counters(), "{model:?}");
        stop(running).await;
    }
}

/// A program's own statistics do not displace those of its configuration or administration.
#[tokio::test]
async fn several_statistics_count_the_same_calls() {
    let all = [Statistics::new(), Statistics::new(), Statistics::new()];
    let server = all.iter().fold(Server::new(), Server::statistics);
    let running = start(Model::EventLoops(None), server.service(Orders));
    let address = running.addresses()[0].to_string();
    for wire in ["grpc", "dovetail", "grpc"] {
        let lamp = "lamp".to_owned();
        let placed: Result<String, PlaceError> = channel(&address, wire)
            .call(method("place"), (&lamp,))
            .await;
        assert!(placed.is_ok(), "{placed:?}");
    }
    for statistics in &all {
        for (wire, calls) in [("dovetail", 1), ("grpc", 2)] {
            ended(statistics, "place", wire, calls).await;
            let place = of(statistics, "place", wire).unwrap();
            assert_eq!((place.calls(), place.in_flight()), (calls, 0), "{wire}");
        }
        assert_eq!(statistics.snapshot().counters, running.counters());
    }
    stop(running).await;
}

#[tokio::test]
async fn items_and_calls_in_flight_are_counted() {
    for wire in ["dovetail", "grpc", "connect+json"] {
        let statistics = Statistics::new();
        let server = Server::new().service(Orders).statistics(&statistics);
        let running = start(Model::EventLoops(Some(2)), server);
        let address = running.addresses()[0].to_string();
        let channel = channel(&address, wire);
        let mut items: Receiver<i32> = channel
            .stream::<_, _, Status>(method("count"), (&7,))
            .await
            .unwrap();
        while let Some(item) = items.next().await {
            item.unwrap();
        }
        ended(&statistics, "count", wire, 1).await;
        let count = of(&statistics, "count", wire).unwrap();
        assert_eq!((count.sent_items, count.received_items), (7, 0), "{wire}");
        assert_eq!((count.first_items.count(), count.queued.count()), (1, 0));
        assert!(count.first_items.sum() <= count.times.sum(), "{wire}");
        let waiting = channel.clone();
        let waiting = tokio::spawn(async move {
            let _: Result<String, PlaceError> =
                waiting.call(method("place"), (&"wait".to_owned(),)).await;
        });
        let seen = statistics.clone();
        let runs = move || of(&seen, "place", wire).is_some_and(|place| place.in_flight() == 1);
        until_async("a call in flight", runs).await;
        waiting.abort();
        let seen = statistics.clone();
        let over = move || of(&seen, "place", wire).is_some_and(|place| place.in_flight() == 0);
        until_async("no call in flight", over).await;
        let place = of(&statistics, "place", wire).unwrap();
        assert_eq!(place.failed(Code::Cancelled), 1, "{wire}");
        stop(running).await;
    }
}

/// The time in a queue is that of the pool or of a quota, whichever holds a call back.
#[tokio::test]
async fn times_in_a_queue_are_counted_where_a_call_has_waited() {
    let quota = || Throttle::new().at("Orders/place", Quota::new().in_flight(1).queue(8, LONG));
    let rows = [
        (Model::EventLoops(Some(1)), None, 0),
        (Model::EventLoops(Some(1)), Some(quota()), 2),
        (Model::ThreadPool(1), None, 3),
        (Model::ThreadPool(1), Some(quota()), 3),
    ];
    for (model, quota, queued) in rows {
        let what = format!("{model:?} {quota:?}");
        let statistics = Statistics::new();
        let server = Server::new().service(Orders).statistics(&statistics);
        let held = quota.is_some();
        let server = quota.into_iter().fold(server, Server::throttle);
        let running = start(model, server);
        let channel = channel(&running.addresses()[0].to_string(), "grpc");
        let call = |item: &str| {
            let (channel, item) = (channel.clone(), item.to_owned());
            tokio::spawn(async move {
                let placed: Result<String, PlaceError> =
                    channel.call(method("place"), (&item,)).await;
                placed
            })
        };
        let running_calls = |calls| {
            let seen = statistics.clone();
            let runs = move || of(&seen, "place", "grpc").is_some_and(|p| p.in_flight() == calls);
            until_async("calls in flight", runs)
        };
        let first = call("wait");
        running_calls(1).await;
        let others = [call("lamp"), call("lamp")];
        if held {
            running_calls(3).await;
        }
        first.abort();
        for call in others {
            assert!(call.await.unwrap().is_ok(), "{what}");
        }
        ended(&statistics, "place", "grpc", 3).await;
        let place = of(&statistics, "place", "grpc").unwrap();
        assert_eq!(place.queued.count(), queued, "{what}");
        assert!(place.queued.sum() <= place.times.sum(), "{what}");
        assert_eq!(place.first_items.count(), 0, "{what}");
        stop(running).await;
    }
}

/// Prometheus gets the numbers at `/metrics` of the server that is to show them, and of no other.
#[test]
fn prometheus_reads_the_numbers() {
    let statistics = Statistics::new();
    let server = Server::new()
        .bind("double", |number: i64| number * 2)
        .statistics(&statistics);
    let running = start(Model::EventLoops(Some(1)), server);
    let admin = Server::new().metrics(&statistics);
    let admin = start(Model::EventLoops(Some(1)), admin);
    let address = running.addresses()[0].to_string();
    let channel = dovetail::blocking::Channel::connect(&address).unwrap();
    for number in 0..3_i64 {
        assert_eq!(channel.call_by_name("double", (number,)), Ok(number * 2));
    }
    until("all calls", || {
        let methods = statistics.snapshot().methods;
        methods.iter().any(|method| method.calls() == 3)
    });
    let page = |running| {
        let mut raw = Raw::connect(running);
        raw.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        response(&mut raw)
    };
    assert_eq!(page(&running).status, 404);
    until("one connection", || running.connections() == 1);
    let page = page(&admin);
    assert_eq!(page.status, 200);
    let labels = "service=\"\",method=\"double\",wire=\"dovetail\"";
    for line in [
        format!("dovetail_server_ended_calls_total{{{labels},code=\"OK\"}} 3\n"),
        format!("dovetail_server_calls_in_flight{{{labels}}} 0\n"),
        format!("dovetail_server_call_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 3\n"),
        format!("dovetail_server_call_duration_seconds_count{{{labels}}} 3\n"),
        "# TYPE dovetail_server_calls_total counter\ndovetail_server_calls_total 3\n".to_owned(),
        "dovetail_server_connections 1\n".to_owned(),
    ] {
        assert!(page.text().contains(&line), "{line}in\n{}", page.text());
    }
    drop(channel);
    assert!(running.shutdown(LONG) && admin.shutdown(LONG));
}

/// OpenMetrics, for those who accept it, has a recorded call as the exemplar of its bucket.
#[test]
fn open_metrics_have_exemplars() {
    let statistics = Statistics::new();
    let spans = Recent::new(1);
    let server = Server::new()
        .bind("double", |number: i64| number * 2)
        .tracing(&Tracing::new(spans.clone()))
        .statistics(&statistics);
    let running = start(Model::EventLoops(Some(1)), server);
    let admin = Server::new().metrics(&statistics);
    let admin = start(Model::EventLoops(Some(1)), admin);
    let channel = dovetail::blocking::Channel::connect(&running.addresses()[0].to_string());
    assert_eq!(channel.unwrap().call_by_name("double", (2_i64,)), Ok(4_i64));
    until("the call", || spans.spans().len() == 1);
    let trace = spans.spans()[0].context.trace_id();
    let page = || {
        let mut raw = Raw::connect(&admin);
        raw.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1\r\n\r\n");
        response(&mut raw)
    };
    let exemplar = format!(" 1 # {{trace_id=\"{trace:032x}\"}} 0.");
    until("the exemplar", || page().text().contains(&exemplar));
    let page = page();
    let kind = "application/openmetrics-text; version=1.0.0";
    assert!(page.head.contains(kind), "{}", page.head);
    let text = page.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("# TYPE dovetail_server_calls counter\ndovetail_server_calls_total 1\n"));
    assert_eq!(text.matches(" # {").count(), 1, "{text}");
    assert!(running.shutdown(LONG) && admin.shutdown(LONG));
}
