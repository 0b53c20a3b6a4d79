//! Sessions: on every wire, in every model.

use crate::callbacks::until_async;
use crate::fixture::*;
use crate::identity::tokens;
use crate::interceptors::{WIRES, lacks, start, stop};
use dovetail::identity::Authentication;
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::server::{Call, HalfClosed, HandlerFuture, Model};
use dovetail::sessions::{FileStore, HEADER, SessionEnd, Sessions};
use dovetail::{Channel, Code, Context, Message, Server, Service, Status, descriptor};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

descriptor!(static CART = "Cart" in "shop" {
    add(1 item: String) -> Vec<String>;
    items() -> Vec<String>;
    join(1 others: i32) -> i32;
    checkout() -> i32;
});

#[derive(Clone, Debug, Default, PartialEq, Message)]
struct Cart {
    items: Vec<String>,
}

#[derive(Clone)]
struct Carts {
    sessions: Sessions<Cart>,
    met: Arc<tokio::sync::Semaphore>,
}

impl Carts {
    async fn add(&self, context: Context, item: String) -> Result<Vec<String>, Status> {
        let mut cart = self.sessions.enter(&context)?;
        let before = cart.items.clone();
        match item.as_str() {
            "panic" => {
                cart.items.clear();
                panic!("the cart breaks");
            }
            "wait" => std::future::pending().await,
            // Others of the session would run meanwhile.
            _ => tokio::task::yield_now().await,
        }
        cart.items = [before, vec![item]].concat();
        Ok(cart.items.clone())
    }

    /// Ends when so many calls are in it at the same time.
    async fn join(&self, context: Context, others: i32) -> Result<i32, Status> {
        let cart = self.sessions.share(&context)?;
        self.met.add_permits(1);
        let all = self.met.acquire_many(others.unsigned_abs()).await;
        drop(all.unwrap());
        Ok(cart.items.len() as i32)
    }

    async fn checkout(&self, context: Context) -> Result<i32, Status> {
        let mut cart = self.sessions.enter(&context)?;
        cart.end();
        Ok(cart.items.len() as i32)
    }

    async fn put(
        &self,
        context: Context,
        handle: String,
        item: String,
    ) -> Result<Vec<String>, Status> {
        let mut cart = self.sessions.enter_by(&context, &handle).await?;
        cart.items.push(item);
        Ok(cart.items.clone())
    }
}

impl Service for Carts {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &CART
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let text = (String::new(),);
        match number {
            0 => call.unary(text, |context, (item,)| self.add(context, item)),
            1 => call.unary((), |context: Context, ()| async move {
                Ok::<_, Status>(self.sessions.share(&context)?.items.clone())
            }),
            2 => call.unary((0,), |context, (others,)| self.join(context, others)),
            3 => call.unary((), |context, ()| self.checkout(context)),
            _ => call.no_such_method(),
        }
    }
}

descriptor!(static CARTS = "Carts" in "shop" {
    open(1 item: String) -> String;
    put(1 cart: String, 2 item: String) -> Vec<String>;
});

/// Serves the carts by a contract that has their handles as texts.
struct ByText(Carts);

impl Service for ByText {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &CARTS
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        match number {
            0 => call.unary((String::new(),), |context: Context, (item,)| async move {
                let cart = Cart { items: vec![item] };
                let handle = self.0.sessions.begin(&context, cart)?;
                Ok::<_, Status>(handle.to_string())
            }),
            1 => call.unary((String::new(), String::new()), |context, (handle, item)| {
                self.0.put(context, handle, item)
            }),
            _ => call.no_such_method(),
        }
    }
}

/// The states of sessions that have ended, and why.
type Ends = Arc<Mutex<Vec<(usize, SessionEnd)>>>;

fn sessions() -> (dovetail::sessions::SessionsBuilder<Cart>, Ends) {
    let ends = Ends::default();
    let noted = ends.clone();
    let builder = Sessions::builder(|context: &Context| match context.header("closed") {
        Some(_) => Err(Status::new(Code::FailedPrecondition, "the shop is closed")),
        None => Ok(Cart::default()),
    });
    let ended = move |cart: Cart, end| noted.lock().unwrap().push((cart.items.len(), end));
    let builder = builder.ended(ended).concurrent("join").concurrent("items");
    (builder, ends)
}

fn serve(sessions: &Sessions<Cart>) -> Server {
    let carts = Carts {
        sessions: sessions.clone(),
        met: Arc::new(tokio::sync::Semaphore::new(0)),
    };
    let by_text = ByText(carts.clone());
    Server::new()
        .service(carts)
        .service(by_text)
        .sessions("shop.Cart", sessions)
}

fn method(name: &str) -> &'static Method {
    let services = [&CART, &CARTS, &SESSIONS].into_iter();
    let mut methods = services.flat_map(|service| service.iter());
    methods.find(|(_, known)| known.name == name).unwrap().1
}

descriptor!(static SESSIONS = "Sessions" in "dovetail" {
    begin_session(1 service: String) -> String;
    resume_session(1 session: String);
    end_session(1 session: String);
});

/// A caller with one connection, which may have a session.
#[derive(Clone)]
struct Caller {
    channel: Channel,
    headers: bool,
}

impl Caller {
    fn new(address: &str, wire: &str) -> Caller {
        let builder = Channel::builder(address).unwrap().timeout(LONG);
        let headers = WIRES.contains(&wire);
        let channel = builder.wire(wire.parse().unwrap()).connections(1).build();
        Caller { channel, headers }
    }

    fn of(&self, token: &str) -> Caller {
        let token = format!("Bearer {token}").into_bytes();
        let channel = self.channel.with_header("authorization", token);
        Caller { channel, ..*self }
    }

    async fn begin(&self) -> Result<String, Status> {
        let service = "Cart".to_owned();
        self.channel
            .call(method("begin_session"), (&service,))
            .await
    }

    /// Goes on with a session.
    async fn resume(&self, handle: &str) -> Result<Caller, Status> {
        let handle = handle.to_owned();
        let channel = match self.headers {
            true => self.channel.with_header(HEADER, handle.into_bytes()),
            false => {
                let resumed: Result<(), Status> = self
                    .channel
                    .call(method("resume_session"), (&handle,))
                    .await;
                resumed?;
                self.channel.clone()
            }
        };
        Ok(Caller { channel, ..*self })
    }

    async fn add(&self, item: &str) -> Result<Vec<String>, Status> {
        self.channel.call(method("add"), (&item.to_owned(),)).await
    }

    async fn end(&self, handle: &str) -> Result<(), Status> {
        let handle = handle.to_owned();
        self.channel.call(method("end_session"), (&handle,)).await
    }
}

const PLAIN: &[&str] = &[
    "binary",
    "binary+framed",
    "compact",
    "json+framed",
    "msgpack-rpc",
];

fn wires(model: Model) -> impl Iterator<Item = &'static str> {
    let wires = WIRES.iter().chain(PLAIN).copied();
    wires.filter(move |wire| !lacks(model, wire))
}

#[tokio::test]
async fn a_session_goes_on_over_every_wire() {
    for model in MODELS {
        let (builder, ends) = sessions();
        let sessions = builder.build();
        let running = start(*model, serve(&sessions));
        let address = running.addresses()[0].to_string();
        let first = Caller::new(&address, "dovetail").begin().await.unwrap();
        let mut items = Vec::new();
        for wire in wires(*model) {
            let what = format!("{model:?} {wire}");
            let caller = Caller::new(&address, wire);
            let none = caller.add("lamp").await.unwrap_err();
            assert_eq!(none.code(), Code::FailedPrecondition, "{what}");
            assert!(none.message().contains("begin_session"), "{what}: {none}");

            // One that has begun elsewhere, and one of its own.
            let resumed = caller.resume(&first).await.unwrap();
            items.push(wire.to_owned());
            assert_eq!(resumed.add(wire).await.unwrap(), items, "{what}");
            let own = Caller::new(&address, wire);
            let handle = own.begin().await.unwrap();
            assert_eq!(handle.len(), 32, "{what}");
            let own = own.resume(&handle).await.unwrap();
            for count in 1..4 {
                assert_eq!(own.add(wire).await.unwrap().len(), count, "{what}");
            }
            let count: Result<i32, Status> = own.channel.call(method("checkout"), ()).await;
            assert_eq!(count.unwrap(), 3, "{what}");
            assert_eq!(
                own.add("more").await.unwrap_err().code(),
                Code::NotFound,
                "{what}"
            );
            assert_eq!(
                ends.lock().unwrap().pop(),
                Some((3, SessionEnd::Ended)),
                "{what}"
            );

            // By a parameter.
            let other = Caller::new(&address, wire).channel;
            let opened = other.call(method("open"), (&"lamp".to_owned(),)).await;
            let opened: Result<String, Status> = opened;
            let opened = opened.unwrap();
            for (handle, known) in [
                (opened.as_str(), true),
                ("", false),
                (&"0".repeat(32), false),
            ] {
                let put = other
                    .call(method("put"), (&handle.to_owned(), &"bulb".to_owned()))
                    .await;
                let put: Result<Vec<String>, Status> = put;
                assert_eq!(put.is_ok(), known, "{what} {handle}");
            }
            assert_eq!(caller.end(&opened).await, Ok(()), "{what}");
            assert_eq!(
                caller.end(&opened).await.unwrap_err().code(),
                Code::NotFound,
                "{what}"
            );
            assert_eq!(
                ends.lock().unwrap().pop(),
                Some((2, SessionEnd::Ended)),
                "{what}"
            );
        }
        let counters = sessions.counters();
        assert_eq!((counters.open, counters.ended), (1, counters.begun - 1));
        stop(running).await;
        drop(sessions);
        // A connection's thread may hold the last clone for a moment longer than the server runs.
        let noted = ends.clone();
        until_async("the end of the sessions", move || {
            !noted.lock().unwrap().is_empty()
        })
        .await;
        assert_eq!(*ends.lock().unwrap(), [(items.len(), SessionEnd::Shutdown)]);
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_principal() {
    for model in MODELS {
        let sessions = sessions().0.per_caller(2).build();
        let authentication = Authentication::new().by(tokens());
        let server = Server::new().authentication(authentication);
        let carts = Carts {
            sessions: sessions.clone(),
            met: Arc::new(tokio::sync::Semaphore::new(0)),
        };
        let server = server.service(carts).sessions("Cart", &sessions);
        let running = start(*model, server);
        let address = running.addresses()[0].to_string();
        for wire in WIRES.iter().filter(|wire| !lacks(*model, wire)) {
            let what = format!("{model:?} {wire}");
            let anybody = Caller::new(&address, wire);
            let ada = anybody.of("ada's secret");
            let handle = ada.begin().await.unwrap();
            let own = ada.resume(&handle).await.unwrap();
            assert_eq!(own.add("lamp").await.unwrap(), ["lamp"], "{what}");
            let bob = anybody.of("bob's secret");
            let guessed = "0123456789abcdef".repeat(2);
            for (session, code) in [
                (handle.as_str(), Code::PermissionDenied),
                (&guessed, Code::NotFound),
                ("not a handle", Code::InvalidArgument),
            ] {
                let stolen = bob.resume(session).await.unwrap();
                let refused = stolen.add("lamp").await.unwrap_err();
                assert_eq!(refused.code(), code, "{what}: {refused}");
                let refused = bob.end(session).await.unwrap_err();
                assert_eq!(refused.code(), code, "{what}: {refused}");
            }
            // Each caller has two at most.
            let second = ada.begin().await.unwrap();
            let third = ada.begin().await.unwrap_err();
            assert_eq!(third.code(), Code::ResourceExhausted, "{what}: {third}");
            let of_bob = bob.begin().await.unwrap();
            assert_eq!(bob.end(&of_bob).await, Ok(()), "{what}");
            for handle in [handle, second] {
                assert_eq!(ada.end(&handle).await, Ok(()), "{what}");
            }
            assert_eq!(
                own.add("lamp").await.unwrap_err().code(),
                Code::NotFound,
                "{what}"
            );
        }
        assert_eq!(sessions.counters().open, 0);
        assert_eq!(
            sessions.counters().refused as usize,
            wires_with_headers(*model)
        );
        stop(running).await;
    }
}

fn wires_with_headers(model: Model) -> usize {
    WIRES.iter().filter(|wire| !lacks(model, wire)).count()
}

#[tokio::test]
async fn calls_of_a_session_keep_their_order() {
    for model in MODELS {
        for wire in ["dovetail", "binary+header", "grpc"] {
            if lacks(*model, wire) {
                continue;
            }
            let sessions = sessions().0.build();
            let running = start(*model, serve(&sessions));
            let address = running.addresses()[0].to_string();
            let mut caller = Caller::new(&address, wire);
            let handle = caller.begin().await.unwrap();
            let callers = (0..64).map(|number| {
                let (address, handle) = (address.clone(), handle.clone());
                tokio::spawn(async move {
                    // Eight callers share a connection.
                    let caller = Caller::new(&address, wire).resume(&handle).await.unwrap();
                    for item in 0..8 {
                        let item = format!("{number}.{item}");
                        let items = caller.add(&item).await.unwrap();
                        assert_eq!(items.last(), Some(&item));
                    }
                })
            });
            for caller in callers.collect::<Vec<_>>() {
                caller.await.unwrap();
            }
            caller = caller.resume(&handle).await.unwrap();
            let items = caller.add("last").await.unwrap();
            // None has overwritten another's.
            assert_eq!(items.len(), 64 * 8 + 1, "{model:?} {wire}");
            for number in 0..64 {
                let prefix = format!("{number}.");
                let own = items.iter().filter(|item| item.starts_with(&prefix));
                let expected: Vec<_> = (0..8).map(|item| format!("{number}.{item}")).collect();
                assert!(own.eq(&expected), "{model:?} {wire}");
            }
            drop(caller);
            stop(running).await;
        }
    }
}

/// Calls that one connection sends without waiting run in the order in which they were sent.
#[tokio::test]
async fn calls_that_are_sent_together_keep_their_order() {
    for model in CONCURRENT {
        let sessions = sessions().0.build();
        let running = start(*model, serve(&sessions));
        let address = running.addresses()[0].to_string();
        let mut caller = Caller::new(&address, "dovetail");
        let handle = caller.begin().await.unwrap();
        caller = caller.resume(&handle).await.unwrap();
        let sent: Vec<_> = (0..100).map(|number: i32| number.to_string()).collect();
        let calls = sent.iter().map(|item| caller.add(item));
        for (number, items) in futures_util::future::join_all(calls)
            .await
            .into_iter()
            .enumerate()
        {
            assert_eq!(items.unwrap(), sent[..=number], "{model:?}");
        }
        drop(caller);
        stop(running).await;
    }
}

#[tokio::test]
async fn concurrent_methods_run_together_and_panics_end_a_session() {
    for model in MODELS {
        let (builder, ends) = sessions();
        let sessions = builder.build();
        let running = start(*model, serve(&sessions));
        let address = running.addresses()[0].to_string();
        let first = Caller::new(&address, "dovetail");
        let handle = first.begin().await.unwrap();
        let first = first.resume(&handle).await.unwrap();
        let second = Caller::new(&address, "dovetail")
            .resume(&handle)
            .await
            .unwrap();
        first.add("lamp").await.unwrap();
        let join = |caller: &Caller| {
            let channel = caller.channel.clone();
            async move { channel.call(method("join"), (&2,)).await }
        };
        let both: (Result<i32, Status>, Result<i32, Status>) =
            tokio::join!(join(&first), join(&second));
        assert_eq!(both, (Ok(1), Ok(1)), "{model:?}");
        let closed = first.channel.with_header("closed", "yes");
        let refused: Result<String, Status> = closed
            .call(method("begin_session"), (&"Cart".to_owned(),))
            .await;
        assert_eq!(
            refused.unwrap_err().message(),
            "the shop is closed",
            "{model:?}"
        );
        let unknown: Result<String, Status> = closed
            .call(method("begin_session"), (&"Shelf".to_owned(),))
            .await;
        assert!(
            unknown.unwrap_err().message().contains("shop.Cart"),
            "{model:?}"
        );

        let panicked = first.add("panic").await.unwrap_err();
        assert_eq!(panicked.code(), Code::Internal, "{model:?}");
        let refused = second.add("lamp").await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{model:?}");
        assert_eq!(
            *ends.lock().unwrap(),
            [(0, SessionEnd::Panicked)],
            "{model:?}"
        );
        assert_eq!(sessions.counters().panicked, 1);
        drop((first, second, closed));
        stop(running).await;
    }
}

/// The caller that has the session is gone amid its call: the session is free for others, and goes
/// on.
#[tokio::test]
async fn a_lost_connection_frees_its_session() {
    for model in CONCURRENT {
        for wire in ["dovetail", "binary+header", "grpc"] {
            let (builder, ends) = sessions();
            let sessions = builder.build();
            let server = serve(&sessions).half_closed(HalfClosed::Gone);
            let running = start(*model, server);
            let address = running.addresses()[0].to_string();
            let caller = Caller::new(&address, wire);
            let handle = caller.begin().await.unwrap();
            let lost = caller.resume(&handle).await.unwrap();
            lost.add("lamp").await.unwrap();
            let waits = tokio::spawn(async move { lost.add("wait").await });
            let counted = sessions.clone();
            until_async("the call runs", move || counted.counters().begun == 1).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let second = Caller::new(&address, "dovetail")
                .resume(&handle)
                .await
                .unwrap();
            let queued = tokio::spawn(async move { second.add("bulb").await });
            tokio::time::sleep(Duration::from_millis(20)).await;
            waits.abort();
            drop(caller);
            assert_eq!(
                queued.await.unwrap().unwrap(),
                ["lamp", "bulb"],
                "{model:?} {wire}"
            );
            assert!(ends.lock().unwrap().is_empty());
            stop(running).await;
            drop(sessions);
            assert_eq!(*ends.lock().unwrap(), [(2, SessionEnd::Shutdown)]);
        }
    }
}

#[tokio::test]
async fn a_store_keeps_sessions_across_restarts() {
    let folder = std::env::temp_dir().join(format!("dovetail-carts-{}", std::process::id()));
    let mut handle = String::new();
    for round in 0..3 {
        let (builder, ends) = sessions();
        let store = FileStore::open(&folder).unwrap();
        let sessions = builder.per_caller(1).build_with(store).unwrap();
        let carts = Carts {
            sessions: sessions.clone(),
            met: Arc::new(tokio::sync::Semaphore::new(0)),
        };
        let server = Server::new().authentication(Authentication::new().by(tokens()));
        let server = server.service(carts).sessions("Cart", &sessions);
        let running = start(Model::EventLoops(Some(2)), server);
        let caller = Caller::new(&running.addresses()[0].to_string(), "dovetail");
        let (ada, bob) = (caller.of("ada's secret"), caller.of("bob's secret"));
        if round == 0 {
            handle = ada.begin().await.unwrap();
        }
        let own = ada.resume(&handle).await.unwrap();
        assert_eq!(own.add("lamp").await.unwrap().len(), round + 1);
        let stolen = bob.resume(&handle).await.unwrap();
        assert_eq!(
            stolen.add("lamp").await.unwrap_err().code(),
            Code::PermissionDenied
        );
        // It counts as one of hers.
        assert_eq!(
            ada.begin().await.unwrap_err().code(),
            Code::ResourceExhausted
        );
        if round == 2 {
            ada.end(&handle).await.unwrap();
        }
        stop(running).await;
        drop(sessions);
        let ended = match round {
            2 => vec![(3, SessionEnd::Ended)],
            _ => vec![],
        };
        assert_eq!(*ends.lock().unwrap(), ended);
    }
    std::fs::remove_dir(&folder).unwrap();
}

#[cfg(feature = "testing")]
#[test]
fn idle_sessions_end_once() {
    const MINUTE: Duration = Duration::from_secs(60);
    let (builder, ends) = sessions();
    let sessions = builder.idle(30 * MINUTE).build();
    dovetail::testing::run(serve(&sessions), async |pair| {
        let channel = pair.channel(|builder| builder.timeout(1000 * MINUTE));
        let caller = Caller {
            channel,
            headers: true,
        };
        let [used, unused] = [caller.begin().await.unwrap(), caller.begin().await.unwrap()];
        for _ in 0..4 {
            pair.advance(20 * MINUTE).await;
            let used = caller.resume(&used).await.unwrap();
            used.add("lamp").await.unwrap();
        }
        assert_eq!(*ends.lock().unwrap(), [(0, SessionEnd::Idle)]);
        let refused = caller.resume(&unused).await.unwrap().add("lamp").await;
        assert_eq!(refused.unwrap_err().code(), Code::NotFound);
        // A call that runs is no idleness, and a connection that is cut no end.
        let running = caller.resume(&used).await.unwrap();
        let waits = tokio::task::spawn_local(async move { running.add("wait").await });
        pair.advance(100 * MINUTE).await;
        assert_eq!(sessions.counters().open, 1);
        pair.cut();
        waits.await.unwrap().unwrap_err();
        pair.advance(29 * MINUTE).await;
        assert_eq!(sessions.counters().open, 1);
        pair.advance(2 * MINUTE).await;
        assert_eq!(
            *ends.lock().unwrap(),
            [(0, SessionEnd::Idle), (4, SessionEnd::Idle)]
        );
        assert_eq!((sessions.counters().open, sessions.counters().idle), (0, 2));
    });
}

#[tokio::test]
async fn states_are_made_once_and_end_once() {
    for model in CONCURRENT {
        let (made, ended) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (making, ending) = (made.clone(), ended.clone());
        let sessions = Sessions::builder(move |_| {
            making.fetch_add(1, Ordering::Relaxed);
            Ok(Cart::default())
        });
        let sessions = sessions.ended(move |_, _| {
            ending.fetch_add(1, Ordering::Relaxed);
        });
        let sessions = sessions.build();
        let server = serve(&sessions).half_closed(HalfClosed::Gone);
        let running = start(*model, server);
        let address = running.addresses()[0].to_string();
        for _ in 0..10 {
            let caller = Caller::new(&address, "dovetail");
            let handle = caller.begin().await.unwrap();
            let lost = caller.resume(&handle).await.unwrap();
            lost.add("lamp").await.unwrap();
            // One call has the session, others wait for it, and all their callers go; somebody ends
            // it meanwhile.
            let callers: Vec<_> = (0..5)
                .map(|_| {
                    let (address, handle) = (address.clone(), handle.clone());
                    tokio::spawn(async move {
                        let caller = Caller::new(&address, "dovetail");
                        caller.resume(&handle).await.unwrap().add("wait").await
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(10)).await;
            let last = Caller::new(&address, "dovetail");
            last.end(&handle).await.unwrap();
            callers.iter().for_each(tokio::task::JoinHandle::abort);
        }
        let done = ended.clone();
        until_async("all ends", move || done.load(Ordering::Relaxed) == 10).await;
        stop(running).await;
        drop(sessions);
        let counts = [made, ended].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [10, 10], "{model:?}");
    }
}
