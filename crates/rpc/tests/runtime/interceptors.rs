//! Interceptors of servers: on every wire, in every model.

use crate::fixture::*;
use crate::http::{post, response};
use dovetail::intercept::{
    CallEnd, CallHead, ClientCall, ClientInterceptor, Decision, DecisionFuture, Direction, Outcome,
    Response, ServerInterceptor, StreamItem,
};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::stream::{Items, Receiver};
use dovetail::types::Bytes;
use dovetail::{
    Channel, Code, Context, Exceptions, Headers, Message, Running, Server, Service, Status,
    blocking, descriptor,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default, PartialEq, Message)]
pub(crate) struct SoldOut {
    item: String,
}

impl std::fmt::Display for SoldOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is sold out", self.item)
    }
}

#[derive(Debug, Exceptions)]
pub(crate) enum PlaceError {
    SoldOut(SoldOut),
    Status(Status),
}

descriptor!(pub(crate) static STORE = "Store" in "shop.v1" {
    open() -> bool;
});

descriptor!(pub(crate) static ORDERS = "Orders" in "shop.v1" extends STORE {
    place(1 item: String) -> String | PlaceError;
    forget(1 item: String) [oneway];
    count(1 to: i32) -> (), stream<i32>;
    sum() -> i64, sink<i32>;
});

/// Answers as the item says.
pub(crate) struct Orders;

impl Orders {
    async fn place(context: Context, item: String) -> Result<String, PlaceError> {
        match item.as_str() {
            "sold" => Err(PlaceError::SoldOut(SoldOut { item })),
            "broken" => Err(Status::new(Code::FailedPrecondition, "the shelf is broken").into()),
            "panic" => panic!("the shelf falls"),
            "wait" => std::future::pending().await,
            "who" => {
                let who = context.get::<Who>().map_or("nobody", |who| who.0);
                let colour = context.header("colour").unwrap_or(b"none");
                Ok(format!("{who} {}", String::from_utf8_lossy(colour)))
            }
            "principal" => {
                let principal = context.principal();
                Ok(principal
                    .map_or("nobody", |principal| principal.name())
                    .to_owned())
            }
            _ => Ok(item),
        }
    }
}

impl Service for Orders {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ORDERS
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let method = ORDERS.iter().find(|(known, _)| *known == number);
        match method.map(|(_, method)| method.name) {
            Some("open") => call.unary((), |_, ()| async { Ok::<_, Status>(true) }),
            Some("place") => call.unary((String::new(),), |context, (item,)| {
                Self::place(context, item)
            }),
            Some("forget") => call.unary((String::new(),), |_, (_,)| async { Ok::<_, Status>(()) }),
            Some("count") => call.stream((0,), |_, (to,): (i32,)| async move {
                Ok::<_, Status>(Items::<i32>::with(move |mut out| async move {
                    for number in 0..to {
                        out.send(number).await;
                    }
                    Ok(())
                }))
            }),
            Some("sum") => call.upload((), |_, (), mut items: Receiver<i32>| async move {
                let mut sum = 0;
                while let Some(item) = items.next().await {
                    sum += i64::from(item?);
                }
                Ok::<_, Status>(sum)
            }),
            _ => call.no_such_method(),
        }
    }
}

/// A value that an interceptor leaves.
struct Who(&'static str);

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down when it runs.
struct Recorder(&'static str, Log);

impl Recorder {
    fn write(&self, line: String) {
        self.1.lock().unwrap().push(format!("{}: {line}", self.0));
    }
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned => "returned".to_owned(),
        Outcome::Exception => "exception".to_owned(),
        Outcome::Failed(status) => format!("{} {}", status.code(), status.message()),
        other => format!("{other:?}"),
    }
}

impl ServerInterceptor for Recorder {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let (service, method) = (call.service().full_name(), call.method().name);
        self.write(format!("before {service}/{method}"));
        Ok(Decision::Proceed)
    }

    fn item(&self, _: &Context, item: &StreamItem) -> Result<(), Status> {
        let direction = match item.direction {
            Direction::Received => "received",
            Direction::Sent => "sent",
        };
        self.write(format!("{direction} {}", item.index));
        match (item.direction, item.index) {
            (_, 5) => Err(Status::new(Code::ResourceExhausted, "five are enough")),
            _ => Ok(()),
        }
    }

    fn after(&self, call: &Context, end: &CallEnd<'_>) {
        let (sent, received) = (end.items_sent(), end.items_received());
        let items = match sent + received {
            0 => String::new(),
            _ => format!(", {sent} sent, {received} received"),
        };
        let method = call.method();
        self.write(format!(
            "after {method}: {}{items}",
            outcome_text(end.outcome())
        ));
    }
}

/// Does what the item says. It cannot see that, for the parameters are not decoded: it is in a
/// header.
struct Gate {
    /// Decides later.
    waits: bool,
}

impl Gate {
    fn decide(call: &mut CallHead<'_>) -> Result<Decision, Status> {
        match call.header("gate") {
            Some(b"refuse") => Err(Status::new(Code::PermissionDenied, "not through here")),
            Some(b"respond") => Ok(Decision::Respond(Response::new("from the gate".to_owned()))),
            Some(b"short") => {
                call.limit_deadline(Instant::now() + Duration::from_millis(30));
                Ok(Decision::Proceed)
            }
            Some(b"mark") => {
                call.insert(Who("somebody"));
                call.insert_header("colour", "blue");
                Ok(Decision::Proceed)
            }
            Some(b"panic") => panic!("the gate falls"),
            _ => Ok(Decision::Proceed),
        }
    }
}

impl ServerInterceptor for Gate {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        match self.waits {
            true => Ok(Decision::Wait),
            false => Self::decide(call),
        }
    }

    fn before_async<'a>(&'a self, call: &'a mut CallHead<'_>) -> DecisionFuture<'a> {
        Box::pin(async move {
            let mut passed = false;
            // It is not ready at once.
            std::future::poll_fn(|task| match std::mem::replace(&mut passed, true) {
                true => std::task::Poll::Ready(()),
                false => {
                    task.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
            })
            .await;
            Self::decide(call)
        })
    }
}

fn recorded(waits: bool) -> (Log, Server) {
    let log = Log::default();
    let recorder = |name| Recorder(name, log.clone());
    // Not in the order in which they run.
    let server = Server::new()
        .service(Orders)
        .intercept_at("Orders/place", recorder("method"))
        .intercept_at("shop.v1.Orders", recorder("service"))
        .intercept(recorder("server"))
        .intercept(Gate { waits })
        .intercept(recorder("inner"));
    (log, server)
}

pub(crate) fn start(model: Model, server: Server) -> Running {
    let server = server.model(model).listen("tcp://127.0.0.1:0").unwrap();
    server.start().unwrap()
}

/// The wires that have headers, and how a status comes over them.
pub(crate) const WIRES: &[&str] = &[
    "dovetail",
    "binary+header",
    "compact+header",
    "binary+http",
    "grpc",
    "grpc-web",
    "grpc-web+json",
    "connect",
    "connect+json",
];

/// Returns whether the model has no HTTP/2.
pub(crate) fn lacks(model: Model, wire: &str) -> bool {
    model == Model::ThreadPerConnection && HTTP2.contains(&wire)
}

/// A header, an item, what the caller sees, and how the call ends for the interceptors; whether
/// those behind the gate see it.
const CALLS: &[(&str, &str, &str, &str, bool)] = &[
    ("", "lamp", "lamp", "returned", true),
    ("", "sold", "sold out: sold", "exception", true),
    (
        "",
        "broken",
        "FAILED_PRECONDITION the shelf is broken",
        "FAILED_PRECONDITION the shelf is broken",
        true,
    ),
    (
        "",
        "panic",
        "INTERNAL the handler panicked",
        "INTERNAL the handler panicked",
        true,
    ),
    ("", "who", "nobody none", "returned", true),
    ("mark", "who", "somebody blue", "returned", true),
    (
        "refuse",
        "lamp",
        "PERMISSION_DENIED not through here",
        "PERMISSION_DENIED not through here",
        false,
    ),
    ("respond", "lamp", "from the gate", "returned", false),
    (
        "panic",
        "lamp",
        "INTERNAL the handler panicked",
        "INTERNAL the handler panicked",
        false,
    ),
];

pub(crate) fn seen(answer: Result<String, PlaceError>) -> String {
    match answer {
        Ok(text) => text,
        Err(PlaceError::SoldOut(sold)) => format!("sold out: {}", sold.item),
        Err(PlaceError::Status(status)) => format!("{} {}", status.code(), status.message()),
    }
}

fn lines(ended: &str, inner: bool) -> Vec<String> {
    let named = |names: &[&str], what: String| -> Vec<String> {
        names.iter().map(|name| format!("{name}: {what}")).collect()
    };
    let before = "before shop.v1.Orders/place".to_owned();
    let after = format!("after place: {ended}");
    let behind: &[&str] = if inner {
        &["inner", "service", "method"]
    } else {
        &[]
    };
    let back: Vec<_> = behind.iter().rev().copied().collect();
    [
        named(&["server"], before.clone()),
        named(behind, before),
        named(&back, after.clone()),
        named(&["server"], after),
    ]
    .concat()
}

pub(crate) async fn stop(running: Running) {
    let stopped = tokio::task::spawn_blocking(move || running.shutdown(LONG));
    stopped.await.unwrap();
}

#[tokio::test]
async fn calls_pass_through_all_levels() {
    let (_, place) = ORDERS
        .iter()
        .find(|(_, known)| known.name == "place")
        .unwrap();
    for (model, waits) in MODELS
        .iter()
        .flat_map(|model| [(*model, false), (*model, true)])
    {
        let (log, server) = recorded(waits);
        let running = start(model, server);
        let address = running.addresses()[0].to_string();
        for wire in WIRES.iter().filter(|wire| !lacks(model, wire)) {
            let builder = Channel::builder(&address).unwrap().timeout(LONG);
            let channel = builder.wire(wire.parse().unwrap()).build();
            for (gate, item, expected, ended, inner) in CALLS {
                let what = format!("{model:?} {wire} waits: {waits}, gate {gate:?}, {item}");
                let channel = channel.with_header("gate", gate.as_bytes().to_vec());
                let answer = channel.call(place, (&(*item).to_owned(),)).await;
                assert_eq!(seen(answer), *expected, "{what}");
                // The last interceptor may run after the answer has left.
                let wanted = lines(ended, *inner);
                until(&what, || log.lock().unwrap().len() >= wanted.len());
                assert_eq!(std::mem::take(&mut *log.lock().unwrap()), wanted, "{what}");
            }
        }
        stop(running).await;
    }
}

/// Headers of one struct at both ends; the last one is bytes.
#[derive(Clone, Debug, PartialEq, Headers)]
struct Origin {
    tenant: String,
    shop_hop: Option<u32>,
    #[dovetail(header = "x-debug")]
    debug: Option<bool>,
    trace_bin: Option<Bytes>,
}

/// Leaves the headers for the handler in another form.
struct ReadsOrigin;

impl ServerInterceptor for ReadsOrigin {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let origin: Origin = call.headers_as()?;
        let Origin { tenant, debug, .. } = origin.clone();
        let next = Origin {
            shop_hop: origin.shop_hop.map(|hop| hop + 1),
            ..origin
        };
        call.insert_headers(&next);
        if debug == Some(true) {
            return Err(Status::out_of_range(format!("{tenant} may not debug")));
        }
        Ok(Decision::Proceed)
    }
}

#[tokio::test]
async fn headers_are_a_struct_on_every_wire() {
    let origin = |shop_hop, debug, trace: Option<&'static [u8]>| Origin {
        tenant: "acme".to_owned(),
        shop_hop,
        debug,
        trace_bin: trace.map(Bytes::from_static),
    };
    let rows: &[(Origin, Result<&str, &str>)] = &[
        (origin(None, None, None), Ok("acme None None")),
        (
            origin(Some(7), Some(false), Some(b"\0\xff")),
            Ok("acme Some(8) Some([0, 255])"),
        ),
        (origin(None, Some(true), None), Err("acme may not debug")),
    ];
    for model in MODELS {
        let server = Server::new().service(WithOrigin);
        let running = start(*model, server.intercept_at("Origins", ReadsOrigin));
        let address = running.addresses()[0].to_string();
        for wire in WIRES.iter().filter(|wire| !lacks(*model, wire)) {
            let builder = Channel::builder(&address).unwrap().timeout(LONG);
            let channel = builder.wire(wire.parse().unwrap()).build();
            for (origin, expected) in rows {
                // Thrift has no form for bytes in headers of HTTP.
                if *wire == "binary+http" && origin.trace_bin.is_some() {
                    continue;
                }
                let channel = channel.with_headers(origin);
                let answer: Result<String, Status> = channel.call(&ORIGINS.methods[0], ()).await;
                let answer = answer.as_deref().map_err(Status::message);
                assert_eq!(answer, *expected, "{model:?} {wire} {origin:?}");
            }
            let rows: [(&[(&str, &str)], &str); 2] = [
                (&[], "the call has no header `tenant`"),
                (
                    &[("tenant", "acme"), ("shop-hop", "-1")],
                    "the value of the header `shop-hop` cannot be read as `u32`",
                ),
            ];
            for (headers, message) in rows {
                let mut channel = channel.clone();
                for (name, value) in headers {
                    channel = channel.with_header(name, value.as_bytes().to_vec());
                }
                let refused = channel.call::<_, String, Status>(&ORIGINS.methods[0], ());
                let refused = refused.await.unwrap_err();
                assert_eq!(refused.code(), Code::InvalidArgument, "{model:?} {wire}");
                assert_eq!(refused.message(), message, "{model:?} {wire}");
            }
        }
        stop(running).await;
    }
}

descriptor!(static ORIGINS = "Origins" {
    origin() -> String;
});

/// Tells the headers that have reached the handler.
struct WithOrigin;

impl Service for WithOrigin {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &ORIGINS
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |context: Context, (): ()| async move {
            let origin: Origin = context.headers_as()?;
            let trace = origin.trace_bin.map(|bytes| bytes.to_vec());
            Ok::<_, Status>(format!("{} {:?} {trace:?}", origin.tenant, origin.shop_hop))
        })
    }
}

#[tokio::test]
async fn a_deadline_can_be_shortened() {
    let (_, place) = ORDERS
        .iter()
        .find(|(_, known)| known.name == "place")
        .unwrap();
    for (model, waits) in CONCURRENT
        .iter()
        .flat_map(|model| [(*model, false), (*model, true)])
    {
        let (log, server) = recorded(waits);
        let running = start(model, server);
        let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
        let channel = builder.timeout(LONG).build().with_header("gate", "short");
        let answer = channel.call(place, (&"wait".to_owned(),)).await;
        let late = "DEADLINE_EXCEEDED the deadline of the call has passed";
        assert_eq!(seen(answer), late, "{model:?} {waits}");
        let wanted = lines(late, true);
        until("the end", || log.lock().unwrap().len() >= wanted.len());
        assert_eq!(*log.lock().unwrap(), wanted, "{model:?} {waits}");
        stop(running).await;
    }
}

#[tokio::test]
async fn calls_that_are_given_up_end() {
    let (_, place) = ORDERS
        .iter()
        .find(|(_, known)| known.name == "place")
        .unwrap();
    for model in CONCURRENT {
        let (log, server) = recorded(false);
        let running = start(*model, server);
        let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
        let channel = builder.timeout(Duration::from_millis(30)).build();
        let _: Result<String, PlaceError> = channel.call(place, (&"wait".to_owned(),)).await;
        until("the end", || log.lock().unwrap().len() >= 8);
        let log = log.lock().unwrap().clone();
        let last = log.last().unwrap();
        let ends = ["CANCELLED", "DEADLINE_EXCEEDED"];
        assert!(
            ends.iter().any(|end| last.contains(end)),
            "{model:?}: {last}"
        );
        stop(running).await;
    }
}

#[tokio::test]
async fn items_of_streams_are_seen() {
    let method = |name: &str| {
        ORDERS
            .iter()
            .find(|(_, known)| known.name == name)
            .unwrap()
            .1
    };
    let (count, sum) = (method("count"), method("sum"));
    for wire in ["dovetail", "grpc", "grpc-web", "connect+json"] {
        let (log, server) = recorded(false);
        let running = start(Model::EventLoops(Some(2)), server);
        let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
        let channel = builder.wire(wire.parse().unwrap()).timeout(LONG).build();
        let took = |length: usize| {
            until(wire, || log.lock().unwrap().len() >= length);
            let taken = std::mem::take(&mut *log.lock().unwrap());
            let server = taken
                .iter()
                .filter_map(|line| line.strip_prefix("server: "));
            server.map(str::to_owned).collect::<Vec<_>>().join("; ")
        };
        let mut items: Receiver<i32> = channel.stream::<_, _, Status>(count, (&2,)).await.unwrap();
        let mut received = Vec::new();
        while let Some(item) = items.next().await {
            received.push(item.unwrap());
        }
        assert_eq!(received, [0, 1], "{wire}");
        assert_eq!(
            took(12),
            "before shop.v1.Orders/count; sent 0; sent 1; after count: returned, 2 sent, 0 received",
            "{wire}"
        );
        let mut items: Receiver<i32> = channel.stream::<_, _, Status>(count, (&9,)).await.unwrap();
        let error = loop {
            match items.next().await {
                Some(Ok(_)) => {}
                Some(Err(status)) => break status,
                None => panic!("{wire}: no error"),
            }
        };
        assert_eq!(error.message(), "five are enough", "{wire}");
        assert!(
            took(7).contains("after count: RESOURCE_EXHAUSTED five are enough"),
            "{wire}"
        );
        let upload = channel.upload::<_, i32, Status, i64, Status>(sum, ()).await;
        let (mut sender, answer) = upload.unwrap();
        for number in 1..=3 {
            sender.send(&number).await.unwrap();
        }
        sender.finish();
        assert_eq!(answer.await.unwrap(), 6, "{wire}");
        assert!(
            took(15).ends_with("after sum: returned, 0 sent, 3 received"),
            "{wire}"
        );
        stop(running).await;
    }
}

/// Refuses everything.
struct Nobody;

impl ServerInterceptor for Nobody {
    fn before(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Err(Status::new(Code::PermissionDenied, "nobody may"))
    }
}

/// Sends bytes and returns the beginning of the answer.
fn said(running: &Running, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(tcp_place(running)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = [0; 512];
    let length = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Parameters that cannot be decoded, under every name that the method has.
#[test]
fn nothing_is_decoded_before_a_refusal() {
    // A text that is no UTF-8.
    let broken = |name: &str| {
        let mut message = b"\x80\x01\x00\x01".to_vec();
        message.extend((name.len() as u32).to_be_bytes());
        message.extend(name.as_bytes());
        message.extend(b"\0\0\0\x01\x0b\0\x01\0\0\0\x01\xff\0");
        message
    };
    let json = |path: &str| post(path, "Content-Type: application/json\r\n", "{\"item\": !");
    let rows: &[(&str, Vec<u8>)] = &[
        ("binary", broken("place")),
        ("framed", framed(&broken("place"))),
        ("multiplexed", framed(&broken("Orders:place"))),
        (
            "multiplexed, with its package",
            framed(&broken("shop.v1.Orders:place")),
        ),
        ("inherited", framed(&broken("shop.v1.Store:open"))),
        ("msgpack", b"\x94\x00\x01\xa5place\x91\x05".to_vec()),
        (
            "msgpack, named",
            b"\x94\x00\x01\xacOrders.place\x91\x05".to_vec(),
        ),
        ("connect", json("/shop.v1.Orders/place")),
        ("connect, without its package", json("/Orders/place")),
        (
            "connect, in buf's style",
            json("/shop.v1.OrdersService/Place"),
        ),
    ];
    for model in MODELS {
        for place in ["", "shop.v1.Orders", "Orders", "Store"] {
            let server = Server::new().service(Orders);
            let server = match place {
                "" => server.intercept(Nobody),
                place => server.intercept_at(place, Nobody),
            };
            let running = start(*model, server);
            for (name, bytes) in rows {
                if place == "Store" && *name != "inherited" {
                    continue;
                }
                let answer = said(&running, bytes);
                assert!(
                    answer.contains("nobody may"),
                    "{model:?} {place:?} {name}: {answer:?}"
                );
            }
            running.shutdown(LONG);
        }
    }
}

#[test]
fn refusals_have_the_status_of_http() {
    for model in MODELS {
        let running = start(*model, Server::new().service(Orders).intercept(Nobody));
        let mut raw = Raw::connect(&running);
        let headers = "Content-Type: application/json\r\n";
        raw.send(&post("/shop.v1.Orders/place", headers, "{\"item\": 1"));
        let answer = response(&mut raw);
        assert_eq!(answer.status, 403, "{model:?}");
        assert_eq!(
            answer.text(),
            "{\"code\":\"permission_denied\",\"message\":\"nobody may\"}",
            "{model:?}"
        );
        running.shutdown(LONG);
    }
}

/// Places that are not there are errors at the start.
#[test]
fn unknown_places_are_refused() {
    const ROWS: &[(&str, bool)] = &[
        ("shop.v1.Orders", true),
        ("Orders", true),
        ("Orders/place", true),
        ("Store/open", true),
        ("Orders/open", true),
        ("Order", false),
        ("Orders/plac", false),
        ("shop.v2.Orders", false),
        ("", false),
    ];
    for (place, known) in ROWS {
        let server = Server::new().service(Orders).intercept_at(place, Nobody);
        let started = server.listen("tcp://127.0.0.1:0").unwrap().start();
        match started {
            Ok(running) => {
                running.shutdown(LONG);
                assert!(known, "{place}");
            }
            Err(error) => {
                assert!(!known, "{place}: {error}");
                assert_eq!(
                    error.to_string(),
                    format!(
                        "an interceptor is in front of `{place}`, which this server does not have; its services are: \
                         shop.v1.Orders, shop.v1.Store"
                    )
                );
            }
        }
    }
}

/// Changes a call, and writes down how it ends.
struct Caller(&'static str, Log);

impl ClientInterceptor for Caller {
    fn before(&self, call: &mut ClientCall<'_>) -> Result<(), Status> {
        let (service, method) = (call.service().unwrap_or_default(), call.name());
        let line = format!("{}: before {service}/{method}", self.0);
        self.1.lock().unwrap().push(line);
        match (self.0, call.header("own")) {
            ("inner", Some(b"refuse")) => {
                Err(Status::new(Code::PermissionDenied, "not out of here"))
            }
            ("inner", Some(b"mark")) => {
                call.insert_header("gate", "mark");
                Ok(())
            }
            ("inner", Some(b"short")) => {
                call.limit_timeout(Duration::from_millis(40));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn after(&self, call: &ClientCall<'_>, answer: Result<(), &Status>) {
        let answer = match answer {
            Ok(()) => "answered".to_owned(),
            Err(status) => status.code().to_string(),
        };
        let line = format!("{}: after {}: {answer}", self.0, call.name());
        self.1.lock().unwrap().push(line);
    }
}

/// A header of the channel, the item, what the caller gets, and the end of the call for the
/// interceptors.
const OUTGOING: &[(&str, &str, &str, &str)] = &[
    ("", "lamp", "lamp", "answered"),
    ("", "sold", "sold out: sold", "answered"),
    (
        "",
        "broken",
        "FAILED_PRECONDITION the shelf is broken",
        "FAILED_PRECONDITION",
    ),
    ("mark", "who", "somebody blue", "answered"),
    (
        "refuse",
        "lamp",
        "PERMISSION_DENIED not out of here",
        "PERMISSION_DENIED",
    ),
    ("short", "wait", "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"),
];

/// Compares with a row. All interceptors see the call but that around another service.
fn check_outgoing(
    what: &str,
    log: &Log,
    answer: Result<String, PlaceError>,
    (own, _, expected, ended): &(&str, &str, &str, &str),
) {
    let answer = seen(answer);
    assert!(answer.starts_with(expected), "{what}: {answer}");
    let refused = *own == "refuse";
    let named = |names: &[&str], line: &str| -> Vec<String> {
        names.iter().map(|name| format!("{name}: {line}")).collect()
    };
    let (before, after) = (
        "before shop.v1.Orders/place",
        format!("after place: {ended}"),
    );
    let wanted = match refused {
        true => [
            named(&["outer", "inner"], before),
            named(&["outer"], &after),
        ],
        false => [
            named(&["outer", "inner", "service", "method"], before),
            named(&["method", "service", "inner", "outer"], &after),
        ],
    };
    assert_eq!(
        std::mem::take(&mut *log.lock().unwrap()),
        wanted.concat(),
        "{what}"
    );
}

macro_rules! intercepted {
    ($builder:expr, $log:expr) => {{
        let around = |name| Caller(name, $log.clone());
        $builder
            .intercept_at("Orders/place", around("method"))
            .intercept_at("shop.v1.Orders", around("service"))
            .intercept_at("shop.v1.Others", around("other"))
            .intercept(around("outer"))
            .intercept(around("inner"))
            .timeout(LONG)
    }};
}

#[tokio::test]
async fn calls_of_a_channel_are_intercepted() {
    let (_, place) = ORDERS
        .iter()
        .find(|(_, known)| known.name == "place")
        .unwrap();
    let (_, server) = recorded(false);
    let running = start(Model::EventLoops(Some(2)), server);
    let address = running.addresses()[0].to_string();
    for wire in WIRES {
        let log = Log::default();
        let builder = Channel::builder(&address).unwrap();
        let channel = intercepted!(builder, log)
            .wire(wire.parse().unwrap())
            .build();
        for row @ (own, item, ..) in OUTGOING {
            let what = format!("{wire} {row:?}");
            let channel = channel.with_header("own", own.as_bytes().to_vec());
            let answer = channel.call(place, (&(*item).to_owned(),)).await;
            check_outgoing(&what, &log, answer, row);
        }
        if HTTP2.contains(wire) {
            continue;
        }
        let address = address.clone();
        let blocking = move || {
            let builder = blocking::Channel::builder(&address).unwrap();
            let channel = intercepted!(builder, log)
                .wire(wire.parse().unwrap())
                .build();
            for row @ (own, item, ..) in OUTGOING {
                let what = format!("blocking {wire} {row:?}");
                let channel = channel.with_header("own", own.as_bytes().to_vec());
                let answer = channel.call(place, (&(*item).to_owned(),));
                check_outgoing(&what, &log, answer, row);
            }
        };
        tokio::task::spawn_blocking(blocking).await.unwrap();
    }
    // Handlers wait for callers over Thrift, who cannot say that they have gone.
    let stopped = tokio::task::spawn_blocking(move || running.shutdown(Duration::ZERO));
    stopped.await.unwrap();
}
