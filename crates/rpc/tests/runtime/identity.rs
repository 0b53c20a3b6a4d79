//! Callers identify themselves on every wire, in every model.

use crate::certificates::Authority;
use crate::fixture::*;
use crate::interceptors::{ORDERS, Orders, WIRES, lacks, seen, start, stop};
use dovetail::identity::{
    Authentication, Authenticator, Bearer, Certificates, Credentials, Permissions, Principal,
    Processes, Token, Tokens,
};
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::server::{Call, HandlerFuture, Health, Model};
use dovetail::tls::ClientCertificate;
use dovetail::{
    Channel, Code, Context, ObjectRef, Server, Service, Status, Wire, blocking, descriptor, object,
};
use rcgen::DnType;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

pub(crate) fn method(name: &str) -> &'static Method {
    let found = ORDERS.iter().find(|(_, known)| known.name == name);
    found.unwrap().1
}

pub(crate) fn tokens() -> Tokens {
    let line = |name: &str, token: &str, roles: &str| {
        format!("{name} {} {roles} # with a comment\n", Tokens::hash(token))
    };
    let lines = [
        "# The staff.\n\n".to_owned(),
        line("ada", "ada's secret", "clerk"),
        line("bob", "bob's secret", "reader"),
        line("eve", "eve's secret", ""),
    ];
    Tokens::from_lines(&lines.concat()).unwrap()
}

fn permissions() -> Permissions {
    Permissions::new()
        .require("shop.v1.Orders", "orders.read")
        .require("shop.v1.Orders/place", "orders.write")
        .require("Store/open", "store.open")
        .allow_anyone("grpc.health.v1.Health")
        .role("reader", ["orders.read"])
        .role("clerk", ["orders.*", "store.open"])
}

pub(crate) fn guarded() -> Server {
    let authentication = Authentication::new()
        .by(tokens())
        .except("grpc.health.v1.Health");
    Server::new()
        .service(Orders)
        .health(&Health::default())
        .authentication(authentication)
        .permissions(permissions())
}

const UNKNOWN: &str = "UNAUTHENTICATED the caller is unknown; show a header `authorization: Bearer …` with a token of \
                       this server";
const WRONG: &str = "UNAUTHENTICATED the token is not known here";

/// Credentials, and the answer to a call with them.
const ROWS: &[(&str, &str)] = &[
    ("", UNKNOWN),
    ("Bearer ada's secre", WRONG),
    ("Bearer", UNKNOWN),
    ("Bearer ", WRONG),
    ("Basic YWRhOnNlY3JldA==", UNKNOWN),
    (
        "Bearer bob's secret",
        "PERMISSION_DENIED `bob` lacks the permission `orders.write`, which `shop.v1.Orders/place` takes",
    ),
    (
        "Bearer eve's secret",
        "PERMISSION_DENIED `eve` lacks the permission `orders.write`, which `shop.v1.Orders/place` takes",
    ),
    ("Bearer ada's secret", "ada"),
    ("bearer  ada's secret ", "ada"),
];

#[tokio::test]
async fn tokens_on_every_wire_with_headers() {
    for model in MODELS {
        let running = start(*model, listen(guarded()));
        for wire in WIRES.iter().filter(|wire| !lacks(*model, wire)) {
            let builder = Channel::builder(&format!("tcp://{}", tcp_place(&running))).unwrap();
            let channel = builder.wire(wire.parse().unwrap()).timeout(LONG).build();
            check_rows(&channel, &format!("{model:?} {wire}")).await;
        }
        // Shared memory, where the platform has it.
        let channel = Channel::builder(&address(&running)).unwrap();
        check_rows(&channel.timeout(LONG).build(), &format!("{model:?} shm")).await;
        stop(running).await;
    }
}

async fn check_rows(channel: &Channel, what: &str) {
    for (shown, expected) in ROWS {
        let channel = match *shown {
            "" => channel.clone(),
            shown => channel.with_header("authorization", shown.as_bytes().to_vec()),
        };
        let item = "principal".to_owned();
        let answer = channel.call(method("place"), (&item,)).await;
        // Whether a header may end in a space is the wire's business.
        let seen = seen(answer);
        match *shown {
            "Bearer " => assert!(
                [UNKNOWN, WRONG].contains(&&*seen),
                "{what} {shown:?}: {seen}"
            ),
            _ => assert_eq!(seen, *expected, "{what} {shown:?}"),
        }
    }
}

descriptor!(pub(crate) static SESSION = "Session" in "dovetail" {
    login(1 token: String) -> String;
    logout();
});

#[test]
fn callers_without_headers_log_in() {
    const PLAIN: &[&str] = &[
        "binary",
        "binary+framed",
        "compact",
        "compact+framed",
        "json+framed",
        "msgpack-rpc",
    ];
    for model in MODELS {
        let running = start(*model, guarded());
        for (wire, service) in PLAIN.iter().flat_map(|wire| [(wire, false), (wire, true)]) {
            let what = format!("{model:?} {wire} {service}");
            let builder = blocking::Channel::builder(&running.addresses()[0].to_string());
            let builder = builder.unwrap().wire(wire.parse().unwrap()).timeout(LONG);
            let channel = builder.build();
            let (session, orders) = match service {
                true => (
                    channel.with_service("Session"),
                    channel.with_service("Orders"),
                ),
                false => (channel.clone(), channel.clone()),
            };
            let place = || seen(orders.call(method("place"), (&"principal".to_owned(),)));
            let login = |token: &str| -> Result<String, Status> {
                session.call(&SESSION.methods[0], (&token.to_owned(),))
            };
            assert_eq!(place(), UNKNOWN, "{what}");
            let refused = login("wrong").unwrap_err();
            assert_eq!(
                format!("{} {}", refused.code(), refused.message()),
                WRONG,
                "{what}"
            );
            assert_eq!(place(), UNKNOWN, "{what}");
            assert_eq!(login("ada's secret"), Ok("ada".to_owned()), "{what}");
            assert_eq!(place(), "ada", "{what}");
            assert_eq!(login("bob's secret"), Ok("bob".to_owned()), "{what}");
            assert!(
                place().starts_with("PERMISSION_DENIED `bob` lacks"),
                "{what}"
            );
            // A login that fails leaves nobody.
            assert!(login("wrong").is_err(), "{what}");
            assert_eq!(place(), UNKNOWN, "{what}");
            assert_eq!(login("ada's secret"), Ok("ada".to_owned()), "{what}");
            let out: Result<(), Status> = session.call(&SESSION.methods[1], ());
            assert_eq!((out, place()), (Ok(()), UNKNOWN.to_owned()), "{what}");
        }
        // The login is that of one connection, and of a wire without headers.
        let channel = blocking::Channel::connect(&running.addresses()[0].to_string()).unwrap();
        let login: Result<String, Status> =
            channel.call(&SESSION.methods[0], (&"ada's secret".to_owned(),));
        assert_eq!(
            login.unwrap_err().code(),
            Code::FailedPrecondition,
            "{model:?}"
        );
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Tells who it is, how, and one of its attributes.
fn named(principal: Option<&Principal>) -> String {
    let described = |principal: &Principal| {
        let known = ["uid", "uris"].map(|name| principal.attribute(name));
        let known = known.into_iter().flatten().next().unwrap_or_default();
        format!("{} {} {known}", principal.kind(), principal.name())
    };
    principal.map_or("nobody".to_owned(), described)
}

descriptor!(static WHOM = "Whom" {
    ask() -> String;
});

struct Whom;

impl Service for Whom {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &WHOM
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, ()| async move {
            Ok::<_, Status>(named(context.principal()))
        })
    }
}

fn ask(channel: &blocking::Channel) -> String {
    let answer: Result<String, Status> = channel.call(&WHOM.methods[0], ());
    answer.unwrap_or_else(|status| format!("{} {}", status.code(), status.message()))
}

#[test]
fn the_kernel_says_which_process_calls() {
    let uid = uid();
    let known = format!("process the tests {uid}");
    for model in MODELS {
        let processes = Processes::new().user(uid, "the tests").named_only();
        let authentication = Authentication::new().by(processes).by(tokens()).optional();
        let server = Server::new().service(Whom).authentication(authentication);
        let running = server.model(*model);
        let running = listen(running.listen("tcp://127.0.0.1:0").unwrap())
            .start()
            .unwrap();
        let Some(unix) = running
            .addresses()
            .iter()
            .map(ToString::to_string)
            .find(|address| address.starts_with("unix:"))
        else {
            running.shutdown(LONG);
            continue;
        };
        for wire in ["dovetail", "binary", "msgpack-rpc", "binary+http"] {
            let what = format!("{model:?} {wire}");
            let wire: Wire = wire.parse().unwrap();
            let channel = |address: &str| {
                let builder = blocking::Channel::builder(address).unwrap();
                builder.wire(wire).timeout(LONG).local_upgrade(false)
            };
            assert_eq!(ask(&channel(&unix).build()), known, "{what}");
            let shm = unix.replace("unix:", "shm:");
            assert_eq!(ask(&channel(&shm).build()), known, "{what}");
            // A token says more.
            if wire.has_headers() {
                let token = channel(&unix)
                    .build()
                    .with_header("authorization", "Bearer ada's secret");
                assert_eq!(ask(&token), "token ada ", "{what}");
            }
            let tcp = channel(&running.addresses()[0].to_string()).build();
            assert_eq!(ask(&tcp), "nobody", "{what}");
        }
        // It comes by TCP, and has moved to shared memory.
        let moving = blocking::Channel::connect(&running.addresses()[0].to_string()).unwrap();
        until("it has moved", || ask(&moving) == known);
        drop(moving);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

fn uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |process| process.uid())
}

#[test]
fn certificates_identify_callers() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let tls = servers.sign(&["localhost", "127.0.0.1"]).server();
    let tls = tls
        .clients(&*clients.root, ClientCertificate::Optional)
        .unwrap();
    let trusted = servers.trusted();
    let names = [
        "shop.example",
        "https://shop.example/id",
        "spiffe://example/shop",
    ];
    // As `openssl x509 -subject -nameopt RFC2253` has it.
    let subject = [
        (DnType::CountryName, "DE"),
        (DnType::OrganizationName, "Shop, Inc."),
        (DnType::CommonName, "checkout"),
    ];
    let rows = [
        (
            clients.sign(&names),
            "certificate spiffe://example/shop https://shop.example/id spiffe://example/shop",
        ),
        (clients.sign(&["shop.example"]), "certificate shop.example "),
        (
            clients.sign_subject(&subject),
            r"certificate CN=checkout,O=Shop\, Inc.,C=DE ",
        ),
        (clients.sign_subject(&[]), "nobody"),
    ];
    for model in MODELS {
        let authentication = Authentication::new()
            .by(Certificates::new())
            .by(tokens())
            .optional();
        let server = Server::new().service(Whom).authentication(authentication);
        let server = server.model(*model).tls(&tls).allow_plaintext();
        let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
        let address = format!("tls://{}", tcp_place(&running));
        for wire in ["dovetail", "binary+framed", "msgpack-rpc"] {
            for (certificate, expected) in &rows {
                let client = certificate.client(&trusted);
                let builder = blocking::Channel::builder(&address).unwrap();
                let channel = builder
                    .wire(wire.parse().unwrap())
                    .tls(&client)
                    .timeout(LONG);
                assert_eq!(
                    ask(&channel.build()),
                    *expected,
                    "{model:?} {wire} {expected}"
                );
            }
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A certificate, and a process, behind a proxy are those of the proxy.
#[test]
fn a_proxy_is_no_caller() {
    let uid = uid();
    let authentication = Authentication::new().by(Processes::new()).by(tokens());
    let server = Server::new().service(Whom).authentication(authentication);
    let server = server.proxies(["unix"]).unwrap();
    let path = std::env::temp_dir().join(format!("dovetail-proxied-{}.sock", std::process::id()));
    let server = server.listen(&format!("unix:{}", path.display())).unwrap();
    let running = server.start().unwrap();
    let channel = |wire: &str| {
        let builder = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
        builder.wire(wire.parse().unwrap()).timeout(LONG).build()
    };
    for wire in ["dovetail", "binary+http", "binary"] {
        let answer = ask(&channel(wire));
        assert!(
            answer.starts_with("UNAUTHENTICATED"),
            "{wire}: {answer}, {uid}"
        );
    }
    // Nor may one log in for all that come through it.
    let login: Result<String, Status> =
        channel("binary").call(&SESSION.methods[0], (&"ada's secret".to_owned(),));
    assert_eq!(login.unwrap_err().code(), Code::FailedPrecondition);
    assert!(running.shutdown(LONG));
}

/// Knows everybody by a header, for a time.
struct Badge(Duration);

impl Authenticator for Badge {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Option<Principal>, Status> {
        let badge = credentials
            .header("badge")
            .or(credentials.token().map(str::as_bytes));
        Ok(badge.map(|badge| {
            Principal::new(String::from_utf8_lossy(badge), "badge")
                .with_expiry(SystemTime::now() + self.0)
        }))
    }

    fn accepts(&self) -> &str {
        "a badge"
    }
}

#[tokio::test]
async fn an_identity_expires() {
    let server = Server::new()
        .service(Orders)
        .authentication(Authentication::new().by(Badge(Duration::from_millis(150))));
    let running = start(Model::EventLoops(Some(2)), server);
    let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder.timeout(LONG).build().with_header("badge", "7");
    let mut sum = Duration::ZERO;
    let upload = channel
        .upload::<_, i32, Status, i64, Status>(method("sum"), ())
        .await;
    let (mut sender, answer) = upload.unwrap();
    while sender.send(&1).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        sum += Duration::from_millis(20);
        assert!(sum < LONG, "the stream goes on");
    }
    let late = answer.await.unwrap_err();
    assert_eq!(
        (late.code(), late.message()),
        (Code::Unauthenticated, "the credentials have expired")
    );
    // A login of a connection does not last longer.
    let address = running.addresses()[0].to_string();
    let expired = move || {
        let builder = blocking::Channel::builder(&address).unwrap().wire(stock());
        let channel = builder.timeout(LONG).build();
        let login: Result<String, Status> = channel.call(&SESSION.methods[0], (&"7".to_owned(),));
        assert_eq!(login, Ok("7".to_owned()));
        let place = || seen(channel.call(method("place"), (&"principal".to_owned(),)));
        assert_eq!(place(), "7");
        until("the login expires", || {
            place() == "UNAUTHENTICATED the credentials have expired"
        });
    };
    tokio::task::spawn_blocking(expired).await.unwrap();
    stop(running).await;
}

/// The client's side: the address, whether a token is insisted on, the wire, and what becomes of a
/// call.
const SENT: &[(&str, bool, &str, &str)] = &[
    (
        "tcp",
        false,
        "dovetail",
        "FAILED_PRECONDITION a token is not sent over plain TCP; connect to `tls://…`, or insist by `Bearer::over_plain_tcp`",
    ),
    ("tcp", true, "dovetail", "token ada "),
    ("tcp", true, "binary+http", "token ada "),
    (
        "tcp",
        true,
        "binary+framed",
        "FAILED_PRECONDITION calls over binary+framed have no headers for a token; log in by `dovetail.Session`, or choose another wire",
    ),
    ("tls", false, "dovetail", "token ada "),
    ("tls", false, "binary+header", "token ada "),
    ("unix", false, "dovetail", "token ada "),
    ("shm", false, "dovetail", "token ada "),
];

#[test]
fn tokens_are_sent_where_nobody_reads_them() {
    let authority = Authority::new();
    let (tls, trusted) = (
        authority.sign(&["localhost", "127.0.0.1"]).server(),
        authority.trusted(),
    );
    let server = Server::new().service(Whom).tls(&tls).allow_plaintext();
    let server = server.authentication(Authentication::new().by(tokens()));
    let running = listen(server.listen("tcp://127.0.0.1:0").unwrap())
        .start()
        .unwrap();
    let addresses: Vec<_> = running
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    let unix = addresses
        .iter()
        .find(|address| address.starts_with("unix:"))
        .cloned()
        .unwrap_or_default();
    for (kind, insists, wire, expected) in SENT {
        let address = match *kind {
            "tcp" => addresses[0].clone(),
            "tls" => addresses[0].replace("tcp:", "tls:"),
            "shm" => unix.replace("unix:", "shm:"),
            _ => unix.clone(),
        };
        if address.is_empty() {
            continue;
        }
        let bearer = Bearer::token("ada's secret");
        let bearer = if *insists {
            bearer.over_plain_tcp()
        } else {
            bearer
        };
        let mut builder = blocking::Channel::builder(&address)
            .unwrap()
            .intercept(bearer);
        if *kind == "tls" {
            builder = builder.tls(&trusted);
        }
        let channel = builder.wire(wire.parse().unwrap()).timeout(LONG).build();
        assert_eq!(ask(&channel), *expected, "{kind} {insists} {wire}");
        // The header of a call replaces that of the interceptor.
        let own = channel.with_header("authorization", "Bearer eve's secret");
        if wire.parse::<Wire>().unwrap().has_headers() {
            assert_eq!(ask(&own), "token eve ", "{kind} {insists} {wire}");
        }
    }
    assert!(running.shutdown(LONG));
}

#[test]
fn tokens_are_renewed() {
    let server = Server::new()
        .service(Whom)
        .authentication(Authentication::new().by(tokens()));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let bearer = Bearer::from_fn(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(Token::new("ada's secret").expires(SystemTime::now() + Duration::from_millis(100))),
        1 | 2 => Err(Status::new(Code::Unavailable, "no token now")),
        _ => Ok(Token::new("eve's secret")),
    });
    let builder = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder
        .intercept(bearer.over_plain_tcp())
        .timeout(LONG)
        .build();
    assert_eq!(ask(&channel), "token ada ");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    until("another token is shown", || ask(&channel) == "token eve ");
    assert_eq!(asked.load(Ordering::Relaxed), 4);
    let missing = Bearer::file("/nowhere/token").over_plain_tcp();
    let builder = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
    let channel = builder.intercept(missing).build();
    assert!(ask(&channel).starts_with("FAILED_PRECONDITION no token from /nowhere/token: "));
    assert!(running.shutdown(LONG));
}

descriptor!(static DRAWER = "Drawer" {
    look() -> String;
});

descriptor!(static DESK = "Desk", passes [DRAWER] {
    open() -> DrawerObject [objects];
    shared() -> DrawerObject [objects];
    look_into(1 drawer: DrawerObject) -> bool [objects];
});

object!(struct DrawerObject of DRAWER);

struct Drawer;

impl Service for Drawer {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DRAWER
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, ()| async move {
            Ok::<_, Status>(named(context.principal()))
        })
    }
}

struct Desk(DrawerObject);

impl Service for Desk {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESK
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((), |_: Context, ()| async move {
                Ok::<_, Status>(DrawerObject::from(ObjectRef::new(Drawer)))
            }),
            1 => call.unary((), |_: Context, ()| async move {
                Ok::<_, Status>(self.0.clone())
            }),
            _ => call.unary(
                (DrawerObject::default(),),
                |_: Context, (_,): (DrawerObject,)| async move { Ok::<_, Status>(true) },
            ),
        }
    }
}

/// Two principals on one connection: neither may use the objects of the other.
#[tokio::test]
async fn objects_are_those_of_a_principal() {
    const STRANGER: &str = "PERMISSION_DENIED the object was passed to another principal";
    for model in CONCURRENT {
        let desk = Desk(ObjectRef::new(Drawer).into());
        let server = Server::new()
            .service(desk)
            .authentication(Authentication::new().by(tokens()));
        let running = start(*model, server);
        let address = running.addresses()[0].to_string();
        let builder = Channel::builder(&address)
            .unwrap()
            .timeout(LONG)
            .local_upgrade(false);
        let bearer = Bearer::token("ada's secret").over_plain_tcp();
        let ada = builder.intercept(bearer).build();
        let bob = ada.with_header("authorization", "Bearer bob's secret");
        let open = async |channel: &Channel, method: usize| -> DrawerObject {
            channel
                .call::<_, _, Status>(&DESK.methods[method], ())
                .await
                .unwrap()
        };
        let look = async |drawer: &DrawerObject, token: &str| -> String {
            let mut channel = drawer.channel(&DRAWER);
            if !token.is_empty() {
                channel = channel.with_header("authorization", format!("Bearer {token}"));
            }
            let seen = channel
                .call::<_, String, Status>(&DRAWER.methods[0], ())
                .await;
            seen.unwrap_or_else(|status| format!("{} {}", status.code(), status.message()))
        };
        let drawer = open(&ada, 0).await;
        // A channel to an object has the interceptors of the channel that it came by.
        assert_eq!(look(&drawer, "").await, "token ada ", "{model:?}");
        assert_eq!(look(&drawer, "bob's secret").await, STRANGER, "{model:?}");
        assert_eq!(look(&drawer, "wrong").await, WRONG, "{model:?}");
        let own = open(&bob, 0).await;
        assert_eq!(look(&own, "bob's secret").await, "token bob ", "{model:?}");
        assert_eq!(look(&own, "").await, STRANGER, "{model:?}");
        // Nor may they pass them on.
        let passed = |channel: &Channel, drawer: &DrawerObject| {
            let (channel, drawer) = (channel.clone(), drawer.clone());
            async move {
                channel
                    .call::<_, bool, Status>(&DESK.methods[2], (&drawer,))
                    .await
            }
        };
        assert_eq!(passed(&ada, &drawer).await, Ok(true), "{model:?}");
        let refused = passed(&bob, &drawer).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{model:?} {refused}");
        // An object that was passed to both is both's.
        let shared = open(&ada, 1).await;
        assert_eq!(look(&shared, "bob's secret").await, STRANGER, "{model:?}");
        open(&bob, 1).await;
        assert_eq!(
            look(&shared, "bob's secret").await,
            "token bob ",
            "{model:?}"
        );
        assert_eq!(look(&shared, "").await, "token ada ", "{model:?}");
        drop((drawer, own, shared, ada, bob));
        stop(running).await;
    }
}
