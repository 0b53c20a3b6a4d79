//! A server that calls its client, on the connection that the client made.

use crate::fixture::{LONG, MODELS, address, listen, stock, until};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, Model, Router, ServerLimits};
use dovetail::stream::{Items, Receiver};
use dovetail::{
    Channel, Code, Context, Running, Server, Service, Status, Wire, blocking, descriptor,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

descriptor!(static MOUTH = "Mouth" {
    say(1 text: String, 2 times: i32) -> i32;
    subscribe();
    listen() -> i64;
    disturb() -> bool;
});

const SAY: usize = 0;
const SUBSCRIBE: usize = 1;
const LISTEN: usize = 2;
const DISTURB: usize = 3;

descriptor!(static EAR = "Ear" {
    hear(1 text: String) -> i32;
    notice(1 number: i32) [oneway];
    dictate(1 to: i32) -> (), stream<i32>;
    wait();
});

const HEAR: usize = 0;
const NOTICE: usize = 1;
const DICTATE: usize = 2;
const WAIT: usize = 3;

/// The server's channels.
#[derive(Clone, Default)]
struct Mouth(Arc<Mutex<Vec<Channel>>>);

impl Mouth {
    fn subscribers(&self) -> Vec<Channel> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Service for Mouth {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &MOUTH
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            SAY => call.unary(
                (String::new(), 0),
                |context: Context, (text, times): (String, i32)| async move {
                    let channel = context.client_channel()?;
                    let mut sum = 0;
                    for _ in 0..times {
                        let heard: Result<i32, Status> =
                            channel.call(&EAR.methods[HEAR], (&text,)).await;
                        sum += heard?;
                    }
                    Ok::<i32, Status>(sum)
                },
            ),
            SUBSCRIBE => call.unary((), |context: Context, ()| async move {
                let channel = context.client_channel()?;
                self.0.lock().expect("no panic").push(channel);
                Ok::<(), Status>(())
            }),
            LISTEN => call.unary((), |context: Context, ()| async move {
                let channel = context.client_channel()?;
                let opened: Result<Receiver<i32>, Status> =
                    channel.stream(&EAR.methods[DICTATE], (&10_000,)).await;
                let (mut items, mut sum) = (opened?, 0);
                while let Some(item) = items.next().await {
                    sum += i64::from(item?);
                }
                Ok::<i64, Status>(sum)
            }),
            DISTURB => call.unary((), |context: Context, ()| async move {
                let channel = context
                    .client_channel()?
                    .with_timeout(Duration::from_millis(50));
                let waited: Result<(), Status> = channel.call(&EAR.methods[WAIT], ()).await;
                let late = waited.is_err_and(|status| status.code() == Code::DeadlineExceeded);
                Ok::<bool, Status>(late)
            }),
            _ => call.no_such_method(),
        }
    }
}

/// The client's service.
#[derive(Clone, Default)]
struct Ear(Arc<Heard>);

#[derive(Default)]
struct Heard {
    sum: AtomicUsize,
    waiting: AtomicUsize,
}

struct Waits(Arc<Heard>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Service for Ear {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &EAR
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            HEAR => call.unary((String::new(),), |_: Context, (text,)| async move {
                tokio::task::yield_now().await;
                Ok::<_, Status>(text.len() as i32)
            }),
            NOTICE => call.unary((0,), |_: Context, (number,): (i32,)| async move {
                self.0.sum.fetch_add(number as usize, Ordering::SeqCst);
                Ok::<_, Status>(())
            }),
            DICTATE => call.stream((0,), |_: Context, (to,): (i32,)| async move {
                Ok::<_, Status>(Items::<i32>::iter(0..to))
            }),
            WAIT => call.unary((), |_: Context, ()| async move {
                self.0.waiting.fetch_add(1, Ordering::SeqCst);
                let _waits = Waits(self.0.clone());
                std::future::pending::<Result<(), Status>>().await
            }),
            _ => call.no_such_method(),
        }
    }
}

fn start(mouth: &Mouth, model: Model) -> Running {
    let server = Server::new().service(mouth.clone()).model(model);
    listen(server).start().expect("a server")
}

fn channel(running: &Running, ear: &Ear) -> Channel {
    channel_over(Wire::Dovetail, running, ear)
}

fn channel_over(wire: Wire, running: &Running, ear: &Ear) -> Channel {
    let builder = Channel::builder(&address(running)).expect("an address");
    let services = Router::new().service(ear.clone());
    builder.wire(wire).serve(services).build()
}

async fn ended(running: Running) -> bool {
    let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
    ended.expect("no panic")
}

pub(crate) async fn until_async(what: &'static str, condition: impl Fn() -> bool + Send + 'static) {
    let waited = tokio::task::spawn_blocking(move || until(what, condition)).await;
    waited.expect("no panic");
}

#[tokio::test]
async fn a_handler_calls_its_caller() {
    for model in MODELS {
        let (mouth, ear) = (Mouth::default(), Ear::default());
        let running = start(&mouth, *model);
        let channel = channel(&running, &ear);
        let say = |text: &'static str, times: i32| {
            let channel = channel.clone();
            async move {
                channel
                    .call::<_, i32, Status>(&MOUTH.methods[SAY], (text, &times))
                    .await
            }
        };
        assert_eq!(say("hello", 100).await, Ok(500), "{model:?}");
        // Several at a time.
        let all = futures_util::future::join_all((0..2).map(|_| say("abc", 50))).await;
        assert_eq!(all, vec![Ok(150); 2], "{model:?}");
        let sum: Result<i64, Status> = channel.call(&MOUTH.methods[LISTEN], ()).await;
        assert_eq!(sum, Ok(10_000 * 9_999 / 2), "{model:?}");
        // A call back that is given up stops the client's handler.
        let late: Result<bool, Status> = channel.call(&MOUTH.methods[DISTURB], ()).await;
        assert_eq!(late, Ok(true), "{model:?}");
        let heard = ear.0.clone();
        until_async("the client's handler has ended", move || {
            heard.waiting.load(Ordering::SeqCst) == 0
        })
        .await;
        drop(channel);
        assert!(ended(running).await, "{model:?}");
    }
}

/// Over msgpack-rpc there are calls in both directions too, but no streams and no cancellation.
#[tokio::test]
async fn a_handler_calls_its_caller_over_msgpack_rpc() {
    for model in MODELS {
        let (mouth, ear) = (Mouth::default(), Ear::default());
        let running = start(&mouth, *model);
        let channel = channel_over(Wire::MsgpackRpc, &running, &ear);
        let say = |times: i32| {
            let channel = channel.clone();
            async move {
                channel
                    .call::<_, i32, Status>(&MOUTH.methods[SAY], ("abc", &times))
                    .await
            }
        };
        assert_eq!(say(100).await, Ok(300), "{model:?}");
        let all = futures_util::future::join_all((0..2).map(|_| say(50))).await;
        assert_eq!(all, vec![Ok(150); 2], "{model:?}");
        let late: Result<bool, Status> = channel.call(&MOUTH.methods[DISTURB], ()).await;
        assert_eq!(late, Ok(true), "{model:?}");
        let streams: Result<i64, Status> = channel.call(&MOUTH.methods[LISTEN], ()).await;
        let status = streams.expect_err("it has no streams");
        assert_eq!(status.code(), Code::Unimplemented, "{model:?}: {status}");
        let subscribed: Result<(), Status> = channel.call(&MOUTH.methods[SUBSCRIBE], ()).await;
        assert_eq!(subscribed, Ok(()));
        for number in 0..5 {
            let subscriber = mouth.subscribers().remove(0);
            let sent = subscriber.notify(&EAR.methods[NOTICE], (&number,)).await;
            assert_eq!(sent, Ok(()), "{model:?}");
        }
        let heard = ear.0.clone();
        until_async("it has heard", move || {
            heard.sum.load(Ordering::SeqCst) == 10
        })
        .await;
        // The handler that still waits ends with the connection.
        drop((channel, mouth));
        assert!(ended(running).await, "{model:?}");
        let heard = ear.0.clone();
        until_async("the client's handler has ended", move || {
            heard.waiting.load(Ordering::SeqCst) == 0
        })
        .await;
    }
}

fn blocking_channel(wire: Wire, running: &Running, services: Server) -> blocking::Channel {
    let builder = blocking::Channel::builder(&address(running)).expect("an address");
    builder.wire(wire).serve(services).build()
}

/// The handlers of a blocking client run where its callers wait.
#[test]
fn a_handler_calls_its_blocking_caller() {
    for (model, wire) in MODELS
        .iter()
        .flat_map(|model| [(model, Wire::Dovetail), (model, Wire::MsgpackRpc)])
    {
        let (mouth, ear) = (Mouth::default(), Ear::default());
        let running = start(&mouth, *model);
        let channel = blocking_channel(wire, &running, Server::new().service(ear.clone()));
        let say = |text: &str, times: i32| -> Result<i32, Status> {
            channel.call(&MOUTH.methods[SAY], (text, &times))
        };
        assert_eq!(say("hello", 20), Ok(100), "{model:?}, {wire}");
        thread::scope(|scope| {
            let several: Vec<_> = (0..3).map(|_| scope.spawn(|| say("abc", 20))).collect();
            for said in several {
                let said = said.join().expect("no panic");
                assert_eq!(said, Ok(60), "{model:?}, {wire}");
            }
        });
        let sum: Result<i64, Status> = channel.call(&MOUTH.methods[LISTEN], ());
        match wire {
            Wire::Dovetail => assert_eq!(sum, Ok(10_000 * 9_999 / 2), "{model:?}"),
            _ => assert!(sum.is_err_and(|status| status.code() == Code::Unimplemented)),
        }
        // A call that nobody waits for runs in the next call that waits.
        let subscribed: Result<(), Status> = channel.call(&MOUTH.methods[SUBSCRIBE], ());
        assert_eq!(subscribed, Ok(()));
        for subscriber in mouth.subscribers() {
            let sent = futures_util::FutureExt::now_or_never(
                subscriber.notify(&EAR.methods[NOTICE], (&7,)),
            );
            assert_eq!(sent, Some(Ok(())), "{model:?}, {wire}");
        }
        assert_eq!(ear.0.sum.load(Ordering::SeqCst), 0);
        while ear.0.sum.load(Ordering::SeqCst) == 0 {
            assert_eq!(say("x", 1), Ok(1), "{model:?}, {wire}");
        }
        let late: Result<bool, Status> = channel.call(&MOUTH.methods[DISTURB], ());
        assert_eq!(late, Ok(true), "{model:?}, {wire}");
        if wire == Wire::MsgpackRpc {
            // A handler that waits ends with the connection, where nobody can cancel it.
            assert_eq!(ear.0.waiting.load(Ordering::SeqCst), 1);
        }
        drop((channel, mouth));
        until("the client's handler has ended", || {
            ear.0.waiting.load(Ordering::SeqCst) == 0
        });
        assert!(running.shutdown(LONG), "{model:?}, {wire}");
    }
}

descriptor!(static PING = "Ping" { ping(1 left: i32) -> i32; });
descriptor!(static PONG = "Pong" { pong(1 left: i32) -> i32; });

/// Each end calls the other one back, until nothing is left.
struct Ping;

impl Service for Ping {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &PING
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((0,), |context: Context, (left,): (i32,)| async move {
            let channel = context.client_channel()?;
            match left {
                0 => Ok::<i32, Status>(0),
                _ => channel.call(&PONG.methods[0], (&left,)).await,
            }
        })
    }
}

struct Pong;

impl Service for Pong {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &PONG
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((0,), |context: Context, (left,): (i32,)| async move {
            assert!(
                context.client_channel().is_err(),
                "nobody would read for it"
            );
            let channel = context.blocking_client_channel()?;
            let pinged: Result<i32, Status> = channel.call(&PING.methods[0], (&(left - 1),));
            Ok::<i32, Status>(pinged? + 1)
        })
    }
}

/// Deeper than handlers are run one inside the other on a thread.
#[test]
fn calls_go_back_and_forth() {
    for model in MODELS {
        let server = Server::new().service(Ping).model(*model);
        let running = listen(server).start().expect("a server");
        let channel = blocking_channel(Wire::Dovetail, &running, Server::new().service(Pong));
        thread::scope(|scope| {
            for depth in &[1, 5, 30] {
                let channel = channel.clone();
                scope.spawn(move || {
                    let pinged: Result<i32, Status> = channel.call(&PING.methods[0], (depth,));
                    assert_eq!(pinged, Ok(*depth), "{model:?}");
                });
            }
        });
        drop(channel);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[tokio::test]
async fn a_client_that_serves_nothing_says_so() {
    let running = start(&Mouth::default(), Model::EventLoops(Some(1)));
    for wire in [Wire::Dovetail, Wire::MsgpackRpc] {
        let builder = Channel::builder(&address(&running)).expect("an address");
        let channel = builder.wire(wire).build();
        let said: Result<i32, Status> = channel.call(&MOUTH.methods[SAY], ("x", &1)).await;
        let status = said.expect_err("nobody listens");
        assert_eq!(status.code(), Code::Unimplemented, "{wire}");
    }
    let builder = Channel::builder(&address(&running)).expect("an address");
    let thrift = builder.wire(stock()).build();
    let said: Result<i32, Status> = thrift.call(&MOUTH.methods[SAY], ("x", &1)).await;
    let status = said.expect_err("Thrift knows no such thing");
    assert!(status.message().contains("own wire"), "{status}");
    drop(thrift);
    assert!(ended(running).await);
}

#[tokio::test]
async fn a_thousand_clients_are_called() {
    const CLIENTS: usize = 1_000;
    let (mouth, ear) = (Mouth::default(), Ear::default());
    let running = start(&mouth, Model::EventLoops(Some(2)));
    let mut channels = Vec::new();
    for _ in 0..CLIENTS {
        let channel = channel(&running, &ear);
        let subscribed: Result<(), Status> = channel.call(&MOUTH.methods[SUBSCRIBE], ()).await;
        assert_eq!(subscribed, Ok(()));
        channels.push(channel);
    }
    let subscribers = mouth.subscribers();
    assert_eq!(subscribers.len(), CLIENTS);
    for number in 1..=10 {
        for subscriber in &subscribers {
            let sent = subscriber.notify(&EAR.methods[NOTICE], (&number,)).await;
            assert_eq!(sent, Ok(()));
        }
    }
    let heard = ear.0.clone();
    until_async("all have heard", move || {
        heard.sum.load(Ordering::SeqCst) == CLIENTS * 55
    })
    .await;
    // A client that has gone is called no more.
    drop(channels);
    let gone = mouth.subscribers();
    until_async("the connections have ended", move || {
        gone.iter().all(|subscriber| {
            let sent = subscriber.notify(&EAR.methods[NOTICE], (&0,));
            futures_util::FutureExt::now_or_never(sent).is_some_and(|sent| sent.is_err())
        })
    })
    .await;
    assert!(ended(running).await);
}

#[tokio::test]
async fn a_server_cannot_flood_its_client() {
    let (mouth, ear) = (Mouth::default(), Ear::default());
    let running = start(&mouth, Model::EventLoops(Some(1)));
    let builder = Channel::builder(&address(&running)).expect("an address");
    let limits = ServerLimits {
        calls_per_connection: 10,
        ..ServerLimits::default()
    };
    let services = Server::new().service(ear.clone()).limits(limits);
    let channel = builder.wire(Wire::Dovetail).serve(services).build();
    let subscribed: Result<(), Status> = channel.call(&MOUTH.methods[SUBSCRIBE], ()).await;
    assert_eq!(subscribed, Ok(()));
    let subscriber = mouth.subscribers().remove(0);
    let subscriber = subscriber.with_timeout(Duration::from_millis(300));
    let calls = (0..30).map(|_| subscriber.call::<_, (), Status>(&EAR.methods[WAIT], ()));
    let outcomes = futures_util::future::join_all(calls).await;
    let refused = |outcome: &&Result<(), Status>| {
        outcome
            .as_ref()
            .is_err_and(|status| status.code() == Code::ResourceExhausted)
    };
    assert_eq!(outcomes.iter().filter(refused).count(), 20);
    drop((channel, mouth, subscriber));
    assert!(ended(running).await);
}
