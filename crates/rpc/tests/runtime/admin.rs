//! The administration of a server, and its console.

use crate::callbacks::until_async;
use crate::fixture::*;
use crate::http::response;
use crate::interceptors::{ORDERS, Orders, PlaceError, WIRES, lacks, start, stop};
use crate::relay::Relay;
use dovetail::admin::Admin;
use dovetail::identity::{Authentication, Permissions};
use dovetail::method::Method;
use dovetail::server::Model;
use dovetail::throttle::{Quota, Throttle};
use dovetail::{Channel, Code, Running, Server, Status};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(crate) fn method(name: &str) -> &'static Method {
    let mut methods = ORDERS.iter();
    methods.find(|(_, known)| known.name == name).unwrap().1
}

fn channel(running: &Running, wire: &str) -> Channel {
    let address = running.addresses()[0].to_string();
    let builder = Channel::builder(&address)
        .unwrap()
        .timeout(LONG)
        .pushbacks(0);
    builder.wire(wire.parse().unwrap()).build()
}

/// A request by GET, or a call in JSON; the status and everything behind it.
fn ask(place: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(place).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text)
}

fn get(place: &str, path: &str) -> (u16, String) {
    ask(place, "GET", path, "", "")
}

/// A call of a service in protobuf's language, in JSON; its answer.
pub(crate) fn ask_service(
    console: &Running,
    service: &str,
    method: &str,
    body: &str,
) -> serde_json::Value {
    let json = "Content-Type: application/json\r\n";
    let path = format!("/{service}/{method}");
    let (status, text) = ask(tcp_place(console), "POST", &path, json, body);
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(body).unwrap()
}

/// A call in JSON; the status and the body of its answer.
fn ask_admin(place: &str, name: &str, body: &str) -> (u16, String) {
    let path = format!("/dovetail.admin.v1.Admin/{name}");
    let json = "Content-Type: application/json\r\n";
    let (status, text) = ask(place, "POST", &path, json, body);
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

/// Calls a console.
#[cfg(feature = "config")]
pub(crate) fn try_call(console: &Running, name: &str, body: &str) -> (u16, String) {
    ask_admin(tcp_place(console), name, body)
}

pub(crate) fn call(place: &str, name: &str, body: &str) -> serde_json::Value {
    let (status, body) = ask_admin(place, name, body);
    assert_eq!(status, 200, "{body}");
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
    answer["result"].clone()
}

/// A server with its administration, and the server that shows it.
pub(crate) fn administered(model: Model) -> (Running, Running, Admin) {
    let throttle = Throttle::new().at("Orders/open", Quota::new().in_flight(0));
    let admin = Admin::new().with_refusals(throttle.refusals());
    let server = Server::new()
        .service(Orders)
        .throttle(throttle)
        .administered(&admin);
    let console = Server::new().admin(&admin);
    (
        start(model, server),
        start(Model::EventLoops(Some(1)), console),
        admin,
    )
}

/// The bytes of a connection are those that a relay between both ends sees.
#[tokio::test]
async fn bytes_of_connections_and_peers_are_those_on_the_way() {
    for model in MODELS {
        let wires = WIRES.iter().chain(&["binary", "msgpack-rpc"]);
        for wire in wires.filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let (running, console, _) = administered(*model);
            let at = tcp_place(&console).to_owned();
            let relay = Relay::to(&running);
            let channel = relay.channel(wire);
            let long = "lamp".repeat(100_000);
            for item in ["lamp", &long, "sold"] {
                let _: Result<String, PlaceError> =
                    channel.call(method("place"), (&item.to_owned(),)).await;
            }
            let up = relay.received().len();
            let asked = at.clone();
            let same = move |row: &serde_json::Value| {
                let row = (&row["calls"], &row["receivedBytes"], &row["sentBytes"]);
                let [up, down] =
                    [relay.received(), relay.sent()].map(|bytes| bytes.len().to_string());
                row == (&"3".into(), &up.into(), &down.into())
            };
            assert!(up > 400_000, "{what}: {up}");
            let (ask, equal) = (asked.clone(), same.clone());
            let name = wire.parse::<dovetail::Wire>().unwrap().to_string();
            let open = move || {
                let rows = call(&ask, "connections", "{}");
                equal(&rows[0]) && rows[0]["wire"] == name.as_str()
            };
            until_async("bytes of a connection", open).await;
            drop(channel);
            let gone = move || {
                let rows = call(&asked, "peers", "{}");
                same(&rows[0])
                    && rows[0]["peer"] == "127.0.0.1"
                    && rows[0]["connections"] == "1"
                    && rows[0]["openConnections"] == "0"
            };
            until_async("bytes of a peer", gone).await;
            stop(running).await;
        }
    }
}

#[tokio::test]
async fn administrators_see_what_callers_did() {
    for model in MODELS {
        let (running, console, admin) = administered(*model);
        let at = tcp_place(&console).to_owned();
        let wires = WIRES.iter().chain(&["binary", "msgpack-rpc"]);
        for wire in wires.filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let channel = channel(&running, wire);
            for item in ["lamp", "lamp", "sold", "broken"] {
                let _: Result<String, PlaceError> =
                    channel.call(method("place"), (&item.to_owned(),)).await;
            }
            let refused: Result<bool, Status> = channel.call(method("open"), ()).await;
            assert_eq!(
                refused.unwrap_err().code(),
                Code::ResourceExhausted,
                "{what}"
            );
            let asked = at.clone();
            let place = move || {
                let methods = call(&asked, "methods", "{}");
                let mut methods = methods.as_array().unwrap().clone().into_iter();
                let name = wire.parse::<dovetail::Wire>().unwrap().to_string();
                methods.find(|row| row["method"] == "place" && row["wire"] == name.as_str())
            };
            let row = place.clone();
            let ended = move || row().is_some_and(|row| row["calls"] == "4");
            until_async("all calls", ended).await;
            let place = place().unwrap();
            assert_eq!(place["service"], "shop.v1.Orders", "{what}");
            let outcomes = serde_json::json!({
                "OK": "2", "EXCEPTION": "1", "FAILED_PRECONDITION": "1",
            });
            assert_eq!(place["outcomes"], outcomes, "{what}");
            assert!(place["p99Us"].as_f64().unwrap() > 0.0, "{what} {place}");
            let recent = call(&at, "recent", "{}");
            assert_eq!(recent[0]["code"], "FAILED_PRECONDITION", "{what}");
            assert_eq!(recent[0]["message"], "the shelf is broken", "{what}");
            let connections = call(&at, "connections", "{}");
            assert!(!connections.as_array().unwrap().is_empty(), "{what}");
        }
        let refusals = call(&at, "refusals", "{}");
        assert_eq!(refusals[0]["place"], "Orders/open");
        assert_eq!(refusals[0]["reason"], "in-flight");
        let number =
            |row: &serde_json::Value| -> u64 { row["calls"].as_str().unwrap().parse().unwrap() };
        let callers = refusals[0]["callers"].as_array().unwrap();
        assert_eq!(callers[0]["caller"], "127.0.0.1", "{model:?}");
        let sum: u64 = callers.iter().map(number).sum();
        assert_eq!(sum, number(&refusals[0]), "{model:?}");
        let overview = call(&at, "overview", "{}");
        let counters = running.counters();
        assert_eq!(overview["counters"]["calls"], counters.calls.to_string());
        assert_eq!(overview["services"][0], "shop.v1.Orders");
        assert_eq!(get(&at, "/ready").0, 200);
        call(&at, "drain", "{\"seconds\": 7}");
        assert_eq!(admin.wait_for_drain(), Duration::from_secs(7));
        stop(running).await;
        assert_eq!(get(&at, "/ready").0, 503, "{model:?}");
        assert_eq!(get(&at, "/health").0, 200);
        stop(console).await;
    }
}

#[tokio::test]
async fn calls_are_cancelled() {
    for model in MODELS {
        let (running, console, _) = administered(*model);
        let at = tcp_place(&console).to_owned();
        let wires = WIRES.iter().chain(&["binary", "msgpack-rpc"]);
        for wire in wires.filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let channel = channel(&running, wire);
            let waits = tokio::spawn(async move {
                let answer: Result<String, PlaceError> =
                    channel.call(method("place"), (&"wait".to_owned(),)).await;
                answer
            });
            let asked = at.clone();
            let runs = move || call(&asked, "calls", "{}")[0]["method"] == "place";
            until_async("the call", runs).await;
            let row = call(&at, "calls", "{}")[0].clone();
            assert!(
                row["peer"].as_str().unwrap().starts_with("127.0.0.1"),
                "{what}"
            );
            let number = format!("{{\"call\": {}}}", row["id"]);
            assert_eq!(call(&at, "cancel", &number), true, "{what}");
            let Err(PlaceError::Status(status)) = waits.await.unwrap() else {
                panic!("{what}");
            };
            assert_eq!(status.code(), Code::Cancelled, "{what}");
            assert!(
                status.message().contains("an administrator"),
                "{what} {status}"
            );
            assert_eq!(call(&at, "cancel", &number), false, "{what}");
        }
        stop(running).await;
        stop(console).await;
    }
}

#[tokio::test]
async fn the_console_is_closed_to_others() {
    let admin = Admin::new();
    let authentication = Authentication::new().by(crate::identity::tokens());
    let permissions = Permissions::new().role("clerk", ["dovetail.admin.read"]);
    let console = Server::new()
        .admin(&admin)
        .authentication(authentication)
        .permissions(permissions);
    let console = start(Model::EventLoops(Some(1)), console);
    let at = tcp_place(&console).to_owned();
    let json = "Content-Type: application/json\r\n";
    let ada = format!("{json}Authorization: Bearer ada's secret\r\n");
    let bob = format!("{json}Authorization: Bearer bob's secret\r\n");
    let foreign = format!("{ada}Origin: http://evil.example\r\n");
    let text = ada.replace("application/json", "text/plain");
    for (headers, name, body, status) in [
        (json, "overview", "{}", 401),
        (&bob, "overview", "{}", 403),
        (&ada, "overview", "{}", 200),
        (&ada, "reload", "{}", 403),
        (&ada, "cancel", "{\"call\": 1}", 403),
        // Pages of other sites.
        (&foreign, "overview", "{}", 403),
        (&text, "overview", "{}", 415),
    ] {
        let path = format!("/dovetail.admin.v1.Admin/{name}");
        let (found, answer) = ask(&at, "POST", &path, headers, body);
        assert_eq!(found, status, "{name} {headers} {answer}");
    }
    for (path, kind) in [
        ("/", "text/html"),
        ("/console.js", "text/javascript"),
        ("/console.css", "text/css"),
    ] {
        let (status, page) = get(&at, path);
        assert_eq!(status, 200, "{path}");
        for header in [
            format!("Content-Type: {kind}; charset=utf-8"),
            "Content-Security-Policy: default-src 'none'; script-src 'self';".to_owned(),
            "X-Frame-Options: DENY".to_owned(),
            "X-Content-Type-Options: nosniff".to_owned(),
        ] {
            assert!(page.contains(&header), "{path}: no {header}");
        }
    }
    // A name that leads here from elsewhere (DNS rebinding).
    let mut raw = Raw::connect(&console);
    raw.send(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(response(&mut raw).status, 403);
    drop(raw);
    assert!(console.shutdown(LONG));
}
