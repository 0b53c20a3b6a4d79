//! The permissions of callers: by every name that a method has, and by contracts.

use crate::fixture::*;
use crate::http::{post, response};
use crate::identity::{SESSION, guarded, method, tokens};
use crate::interceptors::{Orders, start};
use dovetail::identity::{Authentication, Permissions, Tokens};
use dovetail::{Code, Server, Status, blocking};

/// A request for a method by a name that it has, and its answer for Bob, who may read orders and
/// open nothing.
const NAMES: &[(&str, u16, &str)] = &[
    (
        "/shop.v1.Orders/place",
        403,
        "`orders.write`, which `shop.v1.Orders/place`",
    ),
    (
        "/Orders/place",
        403,
        "`orders.write`, which `shop.v1.Orders/place`",
    ),
    // In the style of buf's linter.
    (
        "/shop.v1.OrdersService/Place",
        403,
        "`orders.write`, which `shop.v1.Orders/place`",
    ),
    // Inherited, and where it comes from.
    (
        "/shop.v1.Orders/open",
        403,
        "`store.open`, which `shop.v1.Orders/open`",
    ),
    (
        "/shop.v1.Store/open",
        403,
        "`store.open`, which `shop.v1.Orders/open`",
    ),
    ("/Store/open", 404, ""),
    (
        "/shop.v1.OrdersService/Open",
        403,
        "`store.open`, which `shop.v1.Orders/open`",
    ),
    ("/shop.v1.Orders/sum", 501, ""),
    ("/shop.v1.Orders/nothing", 404, ""),
    ("/shop.v1.Nothing/place", 404, ""),
];

#[test]
fn no_name_of_a_method_leads_around_its_permission() {
    for model in MODELS {
        let running = start(*model, guarded());
        for (path, status, text) in NAMES {
            let what = format!("{model:?} {path}");
            // The body cannot be decoded, and is not looked at.
            for (token, status, text) in [("bob's secret", *status, *text), ("no secret", 401, "")]
            {
                let mut raw = Raw::connect(&running);
                let headers =
                    format!("Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n");
                raw.send(&post(path, &headers, "{\"item\": 1"));
                let answer = response(&mut raw);
                let known = status == 401 && [404, 501].contains(&answer.status);
                assert!(
                    answer.status == status || known,
                    "{what}: {}",
                    answer.text()
                );
                assert!(answer.text().contains(text), "{what}: {}", answer.text());
            }
        }
        // Multiplexed, by both names.
        for (service, name) in [
            ("Orders", "place"),
            ("Orders", "open"),
            ("shop.v1.Store", "open"),
            ("shop.v1.Orders", "place"),
        ] {
            let builder = blocking::Channel::builder(&running.addresses()[0].to_string());
            let builder = builder.unwrap().wire("binary+framed".parse().unwrap());
            let channel = builder.timeout(LONG).build();
            let login = channel.with_service("Session");
            let login: Result<String, Status> =
                login.call(&SESSION.methods[0], (&"bob's secret".to_owned(),));
            assert_eq!(login, Ok("bob".to_owned()));
            let answer: Result<String, Status> = match name {
                "open" => channel
                    .with_service(service)
                    .call(method(name), ())
                    .map(|_: bool| String::new()),
                _ => channel
                    .with_service(service)
                    .call(method(name), (&"lamp".to_owned(),)),
            };
            let status = answer.unwrap_err();
            assert_eq!(
                status.code(),
                Code::PermissionDenied,
                "{model:?} {service}:{name}"
            );
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Its methods take permissions that the contract names.
#[dovetail::service(permission = "stock.read")]
trait Stock {
    async fn count(&self) -> Result<i32, Status>;

    #[dovetail(permission = "stock.write")]
    async fn fill(&self) -> Result<i32, Status>;

    async fn audit(&self) -> Result<i32, Status>;
}

struct Shelf;

impl Stock for Shelf {
    async fn count(&self) -> Result<i32, Status> {
        Ok(1)
    }

    async fn fill(&self) -> Result<i32, Status> {
        Ok(2)
    }

    async fn audit(&self) -> Result<i32, Status> {
        Ok(3)
    }
}

/// Method, caller, and whether it may.
const STOCKED: &[(&str, &str, bool)] = &[
    ("count", "bob", true),
    ("fill", "bob", false),
    ("audit", "bob", false),
    ("count", "ada", true),
    ("fill", "ada", true),
    // The server's requirement for the method comes before the contract's.
    ("audit", "ada", false),
    ("audit", "eve", true),
    ("count", "eve", false),
];

#[test]
fn contracts_name_permissions() {
    let permissions = Permissions::new()
        // For the service the contract says more.
        .require("Stock", "nothing")
        .require("Stock/audit", "audit")
        .role("reader", ["stock.read"])
        .role("clerk", ["stock.*"])
        .assign("eve", ["auditor"])
        .policy(|call, principal, permission| {
            permission == "audit" && principal.name() == "eve" && call.method().name == "audit"
        });
    let server = Server::new()
        .service(StockServer::new(Shelf))
        .authentication(Authentication::new().by(tokens()))
        .permissions(permissions);
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let channel = blocking::Channel::connect(&running.addresses()[0].to_string()).unwrap();
    for (method, caller, may) in STOCKED {
        let token = format!("Bearer {caller}'s secret");
        let channel = channel.with_header("authorization", token);
        let answer: Result<i32, Status> = channel.call_by_name(method, ());
        let denied = answer.as_ref().err().map(Status::code) == Some(Code::PermissionDenied);
        assert_eq!(
            (answer.is_ok(), denied),
            (*may, !*may),
            "{method} {caller}: {answer:?}"
        );
    }
    drop(channel);
    assert!(running.shutdown(LONG));
}

#[test]
fn rules_for_what_is_not_there_are_errors() {
    let rules: [fn(Server) -> Server; 3] = [
        |server| server.permissions(Permissions::new().require("Orders/plac", "a")),
        |server| server.permissions(Permissions::new().allow_anyone("Health")),
        |server| server.authentication(Authentication::new().except("shop.v2.Orders")),
    ];
    for (at, rule) in rules.iter().enumerate() {
        let server = rule(Server::new().service(Orders)).listen("tcp://127.0.0.1:0");
        let error = server.unwrap().start().err().unwrap().to_string();
        assert!(
            error.contains("which this server does not have"),
            "{at}: {error}"
        );
    }
    for lines in [
        "ada",
        "ada 12",
        "ada zz\n",
        &format!("ada {}\nbob x", Tokens::hash("a")),
    ] {
        let error = Tokens::from_lines(lines).unwrap_err();
        let line = lines.lines().count();
        assert!(
            error
                .message()
                .starts_with(&format!("line {line}: behind the name is")),
            "{error}"
        );
    }
}
