//! Throttling: on every wire, in every model.

use crate::callbacks::until_async;
use crate::fixture::*;
use crate::health::{Asked, HEALTH, Said};
use crate::interceptors::{ORDERS, Orders, PlaceError, WIRES, lacks, start, stop};
use dovetail::intercept::{CallHead, Decision, ServerInterceptor};
use dovetail::method::Method;
use dovetail::server::Model;
use dovetail::status::Execution;
use dovetail::throttle::{Criticality, Quota, Reason, Throttle};
use dovetail::{Channel, ChannelBuilder, Code, Server, Status, blocking};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn method(name: &str) -> &'static Method {
    let mut methods = ORDERS.iter();
    methods.find(|(_, known)| known.name == name).unwrap().1
}

fn builder(address: &str, wire: &str) -> ChannelBuilder {
    let builder = Channel::builder(address).unwrap().timeout(LONG);
    builder.wire(wire.parse().unwrap())
}

fn channel(address: &str, wire: &str) -> Channel {
    builder(address, wire).build()
}

async fn place(channel: &Channel, item: &str) -> Result<String, Status> {
    let answer = channel.call(method("place"), (&item.to_owned(),)).await;
    answer.map_err(|error| match error {
        PlaceError::Status(status) => status,
        PlaceError::SoldOut(sold) => panic!("{sold}"),
    })
}

/// The wires that have headers, and those without.
fn wires(model: Model) -> impl Iterator<Item = &'static str> {
    let all = WIRES.iter().chain(&["binary", "compact", "msgpack-rpc"]);
    all.copied().filter(move |wire| !lacks(model, wire))
}

/// A quota that refuses the second call, the text of the refusal, its reason, and the shortest and
/// longest time until another attempt.
type Row = (
    fn() -> Quota,
    &'static str,
    &'static str,
    Reason,
    Duration,
    Duration,
);

const REFUSALS: &[Row] = &[
    (
        || Quota::new().rate(1, HOUR),
        "lamp",
        "`shop.v1.Orders/place` takes no more calls for now",
        Reason::Rate,
        Duration::from_secs(3000),
        HOUR,
    ),
    (
        || Quota::new().bytes(1),
        "lamp",
        "`shop.v1.Orders/place` takes no more bytes for now",
        Reason::Bytes,
        Duration::from_millis(1),
        SECOND,
    ),
    (
        || Quota::new().message(40),
        "a lamp that is so long that nobody who has seen it has ever asked for two of them",
        "the parameters have ",
        Reason::Message,
        Duration::MAX,
        Duration::MAX,
    ),
    (
        || Quota::new().in_flight(0),
        "lamp",
        "`shop.v1.Orders/place` has 0 calls under way, and takes no more for now",
        Reason::InFlight,
        Duration::from_millis(50),
        Duration::from_millis(150),
    ),
    (
        || Quota::new().in_flight(0).queue(1, Duration::from_millis(1)),
        "lamp",
        "the call has waited too long for its turn at `shop.v1.Orders/place`",
        Reason::QueueTime,
        Duration::from_millis(50),
        Duration::from_millis(150),
    ),
];

#[tokio::test]
async fn callers_are_told_why_and_when_to_come_again() {
    for model in MODELS {
        for (quota, item, text, reason, least, most) in REFUSALS {
            let throttle = Throttle::new().at("shop.v1.Orders/place", quota());
            let refusals = throttle.refusals();
            let running = start(*model, Server::new().service(Orders).throttle(throttle));
            let address = running.addresses()[0].to_string();
            if *reason == Reason::Rate {
                assert!(place(&channel(&address, "dovetail"), item).await.is_ok());
            }
            for (count, wire) in wires(*model).enumerate() {
                let channel = builder(&address, wire).pushbacks(0).build();
                let what = format!("{model:?} {wire} {reason}");
                let mut answer = place(&channel, item).await;
                if *reason == Reason::Bytes && answer.is_ok() {
                    answer = place(&channel, item).await;
                }
                let refused = answer.unwrap_err();
                assert_eq!(refused.code(), Code::ResourceExhausted, "{what}: {refused}");
                assert!(refused.message().starts_with(text), "{what}: {refused}");
                assert_eq!(refused.execution(), Execution::NotStarted, "{what}");
                let after = refused.retry_after().unwrap();
                assert!((*least..=*most).contains(&after), "{what}: {after:?}");
                let counted = (refusals.total(), refusals.of(*reason));
                let refused = count as u64 + 1;
                assert_eq!(counted, (refused, refused), "{what}");
                assert_eq!(running.counters().intercepted_calls, refused, "{what}");
            }
            stop(running).await;
        }
    }
}

#[tokio::test]
async fn clients_wait_as_they_are_told() {
    let model = Model::EventLoops(Some(1));
    for wire in wires(model) {
        let quota = Quota::new().rate(1, Duration::from_millis(150));
        let throttle = Throttle::new().all(quota);
        let refusals = throttle.refusals();
        let running = start(model, Server::new().service(Orders).throttle(throttle));
        let address = running.addresses()[0].to_string();
        let channel = channel(&address, wire);
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(
                place(&channel, "lamp").await,
                Ok("lamp".to_owned()),
                "{wire}"
            );
        }
        assert!(began.elapsed() >= Duration::from_millis(280), "{wire}");
        assert!(refusals.total() >= 1, "{wire}");
        let wire = wire.parse().unwrap();
        let blocked = tokio::task::spawn_blocking(move || {
            let builder = blocking::Channel::builder(&address).unwrap();
            let channel = builder.wire(wire).timeout(LONG).build();
            (0..2).all(|_| {
                let answer: Result<String, PlaceError> =
                    channel.call(method("place"), (&"lamp".to_owned(),));
                answer.is_ok()
            })
        });
        if ![
            "grpc",
            "grpc-web",
            "grpc-web+json",
            "connect",
            "connect+json",
        ]
        .iter()
        .any(|async_only| async_only.parse() == Ok(wire))
        {
            assert!(blocked.await.unwrap(), "{wire}");
        }
        stop(running).await;
    }
}

/// Counts the calls that are inside at a time, and lets them out once it is opened.
#[derive(Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Room {
    fn enter(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// Calls that block their threads. Only as many as the quota run, some more wait, and all others
/// are refused.
#[tokio::test]
async fn calls_wait_in_front_of_handlers_that_block() {
    for model in [Model::ThreadPool(2), Model::ThreadPerConnection] {
        let room = Arc::<Room>::default();
        let inside = room.clone();
        let throttle = Throttle::new().all(Quota::new().in_flight(2).queue(3, LONG));
        let refusals = throttle.refusals();
        let server = Server::new()
            .bind("enter", move || inside.enter())
            .throttle(throttle);
        let running = start(model, server);
        let address = running.addresses()[0].to_string();
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let channel = channel(&address, "dovetail").with_timeout(LONG);
                tokio::spawn(async move { channel.call_by_name::<()>("enter", ()).await })
            })
            .collect();
        until_async("refusals", move || refusals.of(Reason::InFlight) >= 3).await;
        let inside = room.clone();
        until_async("two run", move || inside.inside.load(Ordering::SeqCst) == 2).await;
        room.open();
        // Those that were refused come again.
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
        assert_eq!(room.most.load(Ordering::SeqCst), 2, "{model:?}");
        stop(running).await;
    }
}

/// A handler that blocks its thread runs on when its caller has gone, and has its place until it
/// ends.
#[tokio::test]
async fn a_handler_that_blocks_keeps_its_place() {
    let room = Arc::<Room>::default();
    let inside = room.clone();
    let throttle = Throttle::new().all(Quota::new().in_flight(1));
    let refusals = throttle.refusals();
    let server = Server::new()
        .bind("enter", move || inside.enter())
        .throttle(throttle);
    let running = start(Model::ThreadPool(4), server);
    let address = running.addresses()[0].to_string();
    let impatient = builder(&address, "dovetail").timeout(Duration::from_millis(50));
    let late = impatient.build().call_by_name::<()>("enter", ()).await;
    assert_eq!(late.unwrap_err().code(), Code::DeadlineExceeded);
    let channel = builder(&address, "dovetail").pushbacks(0).build();
    let refused = channel.call_by_name::<()>("enter", ()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    room.open();
    let ended = room.clone();
    until_async("the end", move || ended.inside.load(Ordering::SeqCst) == 0).await;
    while channel.call_by_name::<()>("enter", ()).await.is_err() {}
    assert_eq!(room.most.load(Ordering::SeqCst), 1);
    assert!(refusals.total() >= 1);
    stop(running).await;
}

#[tokio::test]
async fn a_caller_that_goes_leaves_its_place() {
    for model in MODELS {
        let throttle = Throttle::new().at("Orders/place", Quota::new().in_flight(1).queue(1, LONG));
        let refusals = throttle.refusals();
        let running = start(*model, Server::new().service(Orders).throttle(throttle));
        let address = running.addresses()[0].to_string();
        let waiting = |item: &'static str| {
            let channel = channel(&address, "dovetail");
            tokio::spawn(async move { place(&channel, item).await })
        };
        let runs = waiting("wait");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let queued = waiting("lamp");
        let another = channel(&address, "dovetail").with_timeout(Duration::from_millis(20));
        while refusals.of(Reason::InFlight) == 0 {
            let _ = place(&another, "lamp").await;
        }
        queued.abort();
        runs.abort();
        let _ = (queued.await, runs.await);
        let channel = channel(&address, "dovetail");
        assert_eq!(
            place(&channel, "lamp").await,
            Ok("lamp".to_owned()),
            "{model:?}"
        );
        stop(running).await;
    }
}

/// The places of one throttle are not given back by another one.
#[tokio::test]
async fn throttles_stand_behind_each_other() {
    for model in MODELS {
        let outer = Throttle::new().all(Quota::new().in_flight(1));
        let inner = Throttle::new().all(Quota::new().in_flight(5).queue(5, LONG));
        let (first, second) = (outer.refusals(), inner.refusals());
        let server = Server::new()
            .service(Orders)
            .throttle(outer)
            .throttle(inner);
        let running = start(*model, server);
        let address = running.addresses()[0].to_string();
        let waiting = builder(&address, "dovetail").build();
        let waiting = tokio::spawn(async move { place(&waiting, "wait").await });
        let another = builder(&address, "dovetail").pushbacks(0).build();
        while first.total() == 0 {
            let _ = place(&another, "lamp").await;
        }
        waiting.abort();
        let _ = waiting.await;
        let channel = channel(&address, "dovetail");
        assert_eq!(
            place(&channel, "lamp").await,
            Ok("lamp".to_owned()),
            "{model:?}"
        );
        assert_eq!(second.total(), 0, "{model:?}");
        stop(running).await;
    }
}

#[cfg(feature = "tokens")]
#[tokio::test]
async fn callers_do_not_take_from_each_other() {
    use dovetail::identity::{Authentication, Tokens};
    let line = |number| {
        let token = format!("secret-{number}-of-a-caller");
        format!("caller-{number} {}\n", Tokens::hash(&token))
    };
    let lines: String = (0..10).map(line).collect();
    for wire in ["dovetail", "grpc", "binary+header", "connect+json"] {
        let throttle = Throttle::new().each_caller(Quota::new().rate(5, HOUR));
        let refusals = throttle.refusals();
        let server = Server::new()
            .service(Orders)
            .authentication(Authentication::new().by(Tokens::from_lines(&lines).unwrap()))
            .throttle(throttle);
        let running = start(Model::EventLoops(Some(1)), server);
        let address = running.addresses()[0].to_string();
        let of = |number: usize| {
            let bearer = format!("Bearer secret-{number}-of-a-caller");
            let channel = builder(&address, wire).pushbacks(0).build();
            channel.with_header("authorization", bearer.into_bytes())
        };
        let greedy = of(0);
        let mut refused = 0;
        for _ in 0..100 {
            refused += usize::from(place(&greedy, "lamp").await.is_err());
        }
        assert_eq!((refused, refusals.total()), (95, 95), "{wire}");
        for number in 1..10 {
            for _ in 0..5 {
                assert!(place(&of(number), "lamp").await.is_ok(), "{wire} {number}");
            }
        }
        assert_eq!(refusals.callers(), 10, "{wire}");
        stop(running).await;
    }
}

/// Notes how critical calls are.
struct Levels(Arc<Mutex<Vec<String>>>);

impl ServerInterceptor for Levels {
    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        let level = call.header(Criticality::HEADER).unwrap_or(b"none");
        let level = String::from_utf8_lossy(level).into_owned();
        self.0.lock().unwrap().push(level);
        Ok(Decision::Proceed)
    }
}

#[tokio::test]
async fn a_handler_hands_on_how_critical_its_call_is() {
    let levels = Arc::default();
    let inner = Server::new()
        .bind("level", || true)
        .intercept(Levels(Arc::clone(&levels)));
    let inner = start(Model::EventLoops(Some(1)), inner);
    let inwards = channel(&inner.addresses()[0].to_string(), "dovetail");
    let outer = Server::new().bind("level", move || {
        let inwards = inwards.clone();
        async move { inwards.call_by_name::<bool>("level", ()).await }
    });
    let outer = start(Model::EventLoops(Some(1)), outer);
    let outwards = channel(&outer.addresses()[0].to_string(), "dovetail");
    let critical = outwards.with_header(Criticality::HEADER, "critical");
    for channel in [critical, outwards] {
        assert_eq!(channel.call_by_name("level", ()).await, Ok(true));
    }
    assert_eq!(*levels.lock().unwrap(), ["critical", "none"]);
    stop(outer).await;
    stop(inner).await;
}

#[test]
fn health_checks_are_no_load() {
    for (throttle, refused) in [
        (Throttle::new().all(Quota::new().in_flight(0)), false),
        (
            Throttle::new().at("Health", Quota::new().in_flight(0)),
            true,
        ),
    ] {
        let refusals = throttle.refusals();
        let health = dovetail::server::Health::default();
        let server = Server::new().health(&health).throttle(throttle);
        let running = start(Model::EventLoops(Some(1)), server);
        let channel = blocking::Channel::builder(&running.addresses()[0].to_string()).unwrap();
        let channel = channel.timeout(LONG).pushbacks(0).build();
        let check = &HEALTH.methods[0];
        let _: Result<Said, Status> = channel.call(check, (&Asked::default(),));
        assert_eq!(refusals.total() > 0, refused);
        running.shutdown(LONG);
    }
}
