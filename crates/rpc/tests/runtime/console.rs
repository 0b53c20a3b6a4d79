//! The parts of the administration for programs that know no contract: contracts as data, calls and
//! captures in JSON.

use crate::admin::call;
use crate::capture::{AccountsServer, Answers};
use crate::fixture::*;
use crate::interceptors::{Orders, start};
use dovetail::admin::Admin;
use dovetail::identity::{Authentication, Permissions};
use dovetail::server::Model;
use dovetail::{Running, Server};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A call of the administration that gives items. Reads one after the other, up to the end.
struct Items(TcpStream);

impl Items {
    fn call(place: &str, name: &str, argument: &Json) -> Self {
        let mut stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let message = argument.to_string();
        let head = format!(
            "POST /dovetail.admin.v1.Admin/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/connect+json\r\nContent-Length: {}\r\n\r\n",
            message.len() + 5
        );
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let parts = [head.as_bytes(), &[0], &length, message.as_bytes()];
        stream.write_all(&parts.concat()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        assert!(
            head.starts_with(b"HTTP/1.1 200 "),
            "{}",
            head.escape_ascii()
        );
        Items(stream)
    }

    /// Returns the item, or the end with the flag 2.
    fn next(&mut self) -> (u8, Json) {
        let mut prefix = [0; 5];
        self.0.read_exact(&mut prefix).unwrap();
        let [flags, a, b, c, d] = prefix;
        let mut message = vec![0; u32::from_be_bytes([a, b, c, d]) as usize];
        self.0.read_exact(&mut message).unwrap();
        (flags, serde_json::from_slice(&message).unwrap())
    }

    /// Returns all items, and the error of the end, if it has one.
    fn all(mut self) -> (Vec<Json>, Json) {
        let mut items = Vec::new();
        loop {
            match self.next() {
                (2, end) => return (items, end["error"].clone()),
                (_, mut message) => items.push(message["item"].take()),
            }
        }
    }
}

/// Makes a call. Returns its messages, and the error at its end.
fn invoke(place: &str, invocation: &Json) -> (Vec<Json>, Json) {
    let (items, refused) = Items::call(place, "invoke", &json!({ "call": invocation })).all();
    assert!(refused.is_null(), "{refused}");
    let mut messages = Vec::new();
    for item in items {
        let text = item["message"].as_str().unwrap();
        let message: Json = serde_json::from_str(text).unwrap();
        match item["last"] == true {
            false => messages.push(message),
            true => return (messages, message["error"].clone()),
        }
    }
    panic!("no end: {messages:?}");
}

/// Makes a request on a connection of its own. Returns the answer.
#[cfg(feature = "export")]
fn request(running: &Running, request: &[u8]) -> crate::http::Response {
    let mut raw = Raw::connect(running);
    raw.send(request);
    crate::http::response(&mut raw)
}

/// The document of all services has the paths at which the server answers.
#[cfg(feature = "export")]
#[test]
fn the_document_has_the_paths_of_the_server() {
    let (running, console) = administered(Model::EventLoops(Some(1)));
    let asked = request(
        &console,
        b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!(asked.status, 200, "{}", asked.text());
    let document: Json = serde_json::from_slice(&asked.body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for expected in ["/add", "/shop.v1.Orders/place", "/shop.v1.Orders/open"] {
        assert!(paths.contains_key(expected), "{expected}: {paths:?}");
    }
    let status = |path: &str| {
        let call = crate::http::post(path, "Content-Type: application/json\r\n", "{}");
        request(&running, &call).status
    };
    assert_eq!(status("/Orders/nothing"), 404);
    for path in paths.keys() {
        assert_ne!(status(path), 404, "{path}");
    }
    assert!(running.shutdown(LONG) && console.shutdown(LONG));
}

fn administered(model: Model) -> (Running, Running) {
    let admin = Admin::new();
    let server = Server::new()
        .service(Orders)
        .bind("add(a, b)", |a: i32, b: i32| a + b)
        .administered(&admin);
    let console = Server::new().admin(&admin);
    (
        start(model, server),
        start(Model::EventLoops(Some(1)), console),
    )
}

#[test]
fn calls_are_made_with_json() {
    let rows = [
        (
            json!({ "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "lamp"}"#] }),
            json!([{ "result": "lamp" }]),
            None,
        ),
        (
            json!({
                "service": "shop.v1.Orders", "method": "count", "messages": [r#"{"to": 3}"#],
            }),
            json!([{ "item": 0 }, { "item": 1 }, { "item": 2 }]),
            None,
        ),
        (
            json!({
                "service": "shop.v1.Orders", "method": "sum",
                "messages": [r#"{"item": 40}"#, r#"{"item": 2}"#],
            }),
            json!([{ "result": "42" }]),
            None,
        ),
        (
            json!({ "method": "add", "messages": [r#"{"a": 40, "b": 2}"#] }),
            json!([{ "result": 42 }]),
            None,
        ),
        (
            json!({
                "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "who"}"#],
                "headers": [{ "name": "Colour", "value": "red" }],
            }),
            json!([{ "result": "nobody red" }]),
            None,
        ),
        (
            json!({ "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "sold"}"#] }),
            json!([]),
            Some(("unknown", "the method has thrown `shop.v1.SoldOut`")),
        ),
        (
            json!({ "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "broken"}"#] }),
            json!([]),
            Some(("failed_precondition", "the shelf is broken")),
        ),
        (
            json!({
                "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "wait"}"#],
                "timeoutMs": 50,
            }),
            json!([]),
            Some(("deadline_exceeded", "")),
        ),
        (
            json!({ "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": 7}"#] }),
            json!([]),
            Some(("invalid_argument", "item")),
        ),
        (
            json!({ "service": "shop.v1.Orders", "method": "burn", "messages": ["{}"] }),
            json!([]),
            Some(("unimplemented", "burn")),
        ),
    ];
    for model in MODELS {
        let (running, console) = administered(*model);
        let at = tcp_place(&console).to_owned();
        for (invocation, expected, error) in &rows {
            let what = format!("{model:?} {invocation}");
            let (messages, found) = invoke(&at, invocation);
            assert_eq!(&Json::from(messages), expected, "{what} {found}");
            match error {
                None => assert!(found.is_null(), "{what} {found}"),
                Some((code, text)) => {
                    assert_eq!(found["code"], *code, "{what} {found}");
                    let message = found["message"].as_str().unwrap_or_default();
                    assert!(message.contains(text), "{what} {found}");
                }
            }
        }
        assert!(running.shutdown(LONG));
        let call = json!({ "call": rows[0].0 });
        let (items, refused) = Items::call(&at, "invoke", &call).all();
        assert_eq!((items.len(), &refused["code"]), (0, &json!("unavailable")));
        assert!(console.shutdown(LONG));
    }
}

#[test]
fn invocations_are_refused_that_are_no_calls() {
    let (running, console) = administered(Model::EventLoops(Some(1)));
    let at = tcp_place(&console).to_owned();
    let header = |name: &str, value: &str| json!({ "method": "add", "headers": [{ "name": name, "value": value }] });
    for invocation in [
        json!({}),
        json!({ "method": "add HTTP/1.1\r\nx: y" }),
        header("a b", "c"),
        header("a", "b\r\nc: d"),
        header("host", "evil.example"),
        header("content-length", "7"),
    ] {
        let call = json!({ "call": invocation });
        let (items, refused) = Items::call(&at, "invoke", &call).all();
        assert!(items.is_empty(), "{invocation}");
        assert_eq!(
            refused["code"], "invalid_argument",
            "{invocation} {refused}"
        );
    }
    assert!(running.shutdown(LONG));
    assert!(console.shutdown(LONG));
}

/// No more than sixteen calls at a time, and each ends with the call that makes it.
#[test]
fn a_call_is_cancelled_with_its_invocation() {
    for model in MODELS {
        let (running, console) = administered(*model);
        let at = tcp_place(&console).to_owned();
        let wait = json!({ "call": {
            "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "wait"}"#],
        } });
        let waiting: Vec<_> = (0..16).map(|_| Items::call(&at, "invoke", &wait)).collect();
        let ask = at.clone();
        until("the calls run", move || {
            call(&ask, "calls", "{}").as_array().unwrap().len() == 16
        });
        let (_, refused) = Items::call(&at, "invoke", &wait).all();
        assert_eq!(refused["code"], "resource_exhausted", "{refused}");
        drop(waiting);
        let ask = at.clone();
        until("the calls are cancelled", move || {
            call(&ask, "calls", "{}").as_array().unwrap().is_empty()
        });
        assert!(running.shutdown(LONG));
        assert!(console.shutdown(LONG));
    }
}

/// The server asks those who call so, as it asks all others.
#[test]
fn the_server_decides_about_invocations() {
    let admin = Admin::new();
    let server = Server::new()
        .service(Orders)
        .authentication(Authentication::new().by(crate::identity::tokens()))
        .permissions(
            Permissions::new()
                .require("Orders", "orders")
                .role("clerk", ["orders"]),
        )
        .administered(&admin);
    let running = start(Model::EventLoops(Some(1)), server);
    let console = start(Model::EventLoops(Some(1)), Server::new().admin(&admin));
    let at = tcp_place(&console).to_owned();
    for (token, code) in [
        (None, Some("unauthenticated")),
        (Some("bob's secret"), Some("permission_denied")),
        (Some("ada's secret"), None),
    ] {
        let headers = token
            .map(|token| json!({ "name": "Authorization", "value": format!("Bearer {token}") }));
        let (messages, error) = invoke(
            &at,
            &json!({
                "service": "shop.v1.Orders", "method": "place", "messages": [r#"{"item": "lamp"}"#],
                "headers": headers.into_iter().collect::<Vec<_>>(),
            }),
        );
        assert_eq!(error["code"].as_str(), code, "{token:?} {error}");
        assert_eq!(messages.len(), usize::from(code.is_none()), "{token:?}");
    }
    assert!(running.shutdown(LONG));
    assert!(console.shutdown(LONG));
}

#[test]
fn contracts_are_told() {
    let (running, console) = administered(Model::EventLoops(Some(1)));
    let services = call(tcp_place(&console), "contract", "{}");
    let find = |service: &str, method: &str| {
        let mut services = services.as_array().unwrap().iter();
        let service = services.find(|known| known["name"].as_str().unwrap_or_default() == service);
        let mut methods = service.unwrap()["methods"].as_array().unwrap().iter();
        methods
            .find(|known| known["name"] == method)
            .unwrap()
            .clone()
    };
    let place = find("shop.v1.Orders", "place");
    assert_eq!(place["described"], true);
    assert_eq!(
        place["params"],
        json!([{
            "id": 1, "name": "item", "type": "string",
            "required": false, "optional": false, "sensitive": false,
        }])
    );
    assert_eq!(place["result"], "string");
    assert_eq!(place["exceptions"][0]["type"], "SoldOut");
    assert_eq!(place["types"][0]["name"], "SoldOut");
    assert_eq!(place["types"][0]["fields"][0]["name"], "item");
    assert_eq!(find("shop.v1.Orders", "count")["serverStream"], "i32");
    assert_eq!(find("shop.v1.Orders", "sum")["callerStream"], "i32");
    assert_eq!(find("shop.v1.Orders", "forget")["oneway"], true);
    assert_eq!(find("", "add")["params"][1]["name"], "b");
    assert!(running.shutdown(LONG));
    assert!(console.shutdown(LONG));
}

#[test]
fn captured_calls_are_shown_in_json() {
    for model in MODELS {
        let admin = Admin::new();
        let server = Server::new()
            .service(Orders)
            .service(AccountsServer::new(Answers))
            .administered(&admin);
        let running = start(*model, server);
        let console = start(Model::EventLoops(Some(1)), Server::new().admin(&admin));
        let at = tcp_place(&console).to_owned();
        let filter = json!({ "filter": { "seconds": 60 } });
        let mut shown = Items::call(&at, "captured", &filter);
        let (_, refused) = Items::call(&at, "captured", &filter).all();
        assert_eq!(refused["code"], "failed_precondition");
        let login = r#"{"login": {"user": "ann", "password": "secret", "zone": -5}, "pin": 1234}"#;
        let orders = "shop.v1.Orders";
        for (service, method, message, parameters, reply, items, code) in [
            (
                orders,
                "place",
                r#"{"item": "lamp"}"#,
                r#"{"item":"lamp"}"#,
                r#"{"result":"lamp"}"#,
                "",
                "OK",
            ),
            (
                orders,
                "place",
                r#"{"item": "sold"}"#,
                r#"{"item":"sold"}"#,
                r#"{"soldOut":{"item":"sold"}}"#,
                "",
                "EXCEPTION",
            ),
            (
                orders,
                "place",
                r#"{"item": "broken"}"#,
                r#"{"item":"broken"}"#,
                "",
                "",
                "FAILED_PRECONDITION",
            ),
            (
                orders,
                "count",
                r#"{"to": 2}"#,
                r#"{"to":2}"#,
                "{}",
                "<0 <1",
                "OK",
            ),
            (
                orders,
                "sum",
                r#"{"item": 2}"#,
                "{}",
                r#"{"result":"2"}"#,
                ">2",
                "OK",
            ),
            (
                "Accounts",
                "check",
                login,
                r#"{"login":{"user":"ann","password":"…","zone":-5},"pin":"…"}"#,
                r#"{"result":{"user":"ann","password":"…","zone":-5}}"#,
                "",
                "OK",
            ),
        ] {
            let what = format!("{model:?} {method} {message}");
            invoke(
                &at,
                &json!({
                    "service": service, "method": method, "messages": [message],
                    "headers": [
                        { "name": "colour", "value": "red" },
                        { "name": "authorization", "value": "Bearer secret" },
                    ],
                }),
            );
            let (_, mut call) = shown.next();
            let call = call["item"].take();
            let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
            assert_eq!(text("method"), method, "{what}");
            assert_eq!(text("parameters"), parameters, "{what}");
            assert_eq!(text("reply"), reply, "{what}");
            assert_eq!(text("code"), code, "{what}");
            assert_eq!(text("wire"), "connect+json", "{what}");
            assert_eq!(text("missing"), "", "{what}");
            let headers = call["headers"].as_array().unwrap();
            let header = |name: &str| {
                headers
                    .iter()
                    .find(|header| header["name"] == name)
                    .unwrap()
            };
            assert_eq!(header("colour")["value"], "red", "{what}");
            assert_eq!(header("authorization")["value"], "…", "{what}");
            let found = call["items"].as_array().into_iter().flatten().map(|item| {
                let direction = if item["sent"] == true { '<' } else { '>' };
                format!("{direction}{}", item["item"].as_str().unwrap())
            });
            assert_eq!(found.collect::<Vec<_>>().join(" "), items, "{what}");
        }
        // The capture ends with its reader.
        drop(shown);
        let again = json!({ "filter": { "seconds": 1 } });
        until("another one", || {
            let (_, end) = Items::call(&at, "captured", &again).all();
            end.is_null()
        });
        assert!(running.shutdown(LONG));
        assert!(console.shutdown(LONG));
    }
}
