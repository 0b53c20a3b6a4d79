//! Connections that move from TCP to shared memory: nothing is lost, changes places or comes twice,
//! and what cannot move stays.

use crate::fixture::{LONG, MODELS, address, until};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, ServerLimits};
use dovetail::stream::Items;
use dovetail::{Context, Running, Server, Service, Status, Wire, blocking, descriptor};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

descriptor!(static TRACKS = "Tracks" {
    next() -> i32;
    count(1 to: i32) -> i32, stream<i32>;
    sum() -> i64, sink<i32>;
    note(1 number: i32) [oneway];
    noted() -> Vec<i32>;
});

const NEXT: usize = 0;
const COUNT: usize = 1;
const SUM: usize = 2;
const NOTE: usize = 3;
const NOTED: usize = 4;

#[derive(Clone, Default)]
struct Tracks {
    calls: Arc<AtomicI32>,
    noted: Arc<Mutex<Vec<i32>>>,
}

impl Service for Tracks {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &TRACKS
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            NEXT => call.unary((), |_: Context, ()| async move {
                Ok::<_, Status>(self.calls.fetch_add(1, Ordering::SeqCst))
            }),
            COUNT => call.stream((0,), |_: Context, (to,): (i32,)| async move {
                let items = Items::<i32>::with(move |mut out| async move {
                    for number in 0..to {
                        out.send(number).await;
                    }
                    Ok(())
                });
                Ok::<_, Status>((to, items))
            }),
            SUM => call.upload(
                (),
                |_: Context, (), mut items: dovetail::stream::Receiver<i32>| async move {
                    let mut sum = 0;
                    while let Some(item) = items.next().await {
                        sum = sum * 3 % 1_000_007 + i64::from(item?);
                    }
                    Ok::<i64, Status>(sum)
                },
            ),
            NOTE => call.unary((0,), |_: Context, (number,)| async move {
                self.noted.lock().expect("no panic").push(number);
                Ok::<_, Status>(())
            }),
            NOTED => call.unary((), |_: Context, ()| async move {
                Ok::<Vec<i32>, Status>(self.noted.lock().expect("no panic").clone())
            }),
            _ => call.no_such_method(),
        }
    }
}

fn start(tracks: &Tracks, change: impl Fn(Server) -> Server) -> Running {
    let server = change(Server::new().service(tracks.clone()));
    let server = server.listen("tcp://127.0.0.1:0").expect("a port");
    server.start().expect("a server")
}

fn builder(address: &str) -> blocking::ChannelBuilder {
    let builder = blocking::Channel::builder(address).expect("an address");
    builder.wire(Wire::Dovetail).timeout(LONG)
}

fn next(channel: &blocking::Channel) -> i32 {
    let next: Result<i32, Status> = channel.call(&TRACKS.methods[NEXT], ());
    next.expect("an answer")
}

/// A sum of a stream's items in which their order counts.
fn sum_of(items: impl IntoIterator<Item = i32>) -> i64 {
    items
        .into_iter()
        .fold(0, |sum, item| sum * 3 % 1_000_007 + i64::from(item))
}

const BUSY: usize = 64;

/// The items of a stream; many streams follow each other until the connection has moved.
const ITEMS: i32 = 12;

/// The rounds of all models together: a thousand, with those of tasks.
const ROUNDS: u64 = 200;
const ROUNDS_OF_TASKS: u64 = 800;

/// One of 64 that use a channel until its connection has moved, and once more: streams both ways,
/// and a call in between. Gives how many calls that were.
fn use_it(channel: &blocking::Channel, moved: impl Fn() -> bool) -> i32 {
    type Counted = (i32, blocking::Receiver<i32>);
    type Upload = blocking::Upload<i32, i64>;
    for turn in 1.. {
        let last = moved();
        let opened: Result<Counted, Status> = channel.stream(&TRACKS.methods[COUNT], (&ITEMS,));
        let (_, mut items) = opened.expect("an answer");
        let opened: Result<Upload, Status> = channel.upload(&TRACKS.methods[SUM], ());
        let (mut numbers, sum) = opened.expect("a call");
        for number in 0..ITEMS {
            assert_eq!(items.next(), Some(Ok(number)));
            numbers.send(&number).expect("a handler that listens");
            if number == ITEMS / 2 {
                next(channel);
            }
        }
        assert_eq!(items.next(), None);
        numbers.finish();
        assert_eq!(sum.wait(), Ok(sum_of(0..ITEMS)));
        if last {
            return turn;
        }
    }
    0
}

#[test]
fn in_the_middle_of_64_busy_streams() {
    for model in MODELS {
        let tracks = Tracks::default();
        let running = start(&tracks, |server| server.model(*model));
        let mut calls = 0;
        for round in 1..=ROUNDS / MODELS.len() as u64 {
            let channel = builder(&address(&running)).build();
            let moved = || running.counters().local_connections == round;
            thread::scope(|scope| {
                let users: Vec<_> = (0..BUSY)
                    .map(|_| scope.spawn(|| use_it(&channel, moved)))
                    .collect();
                for user in users {
                    calls += user.join().expect("no panic");
                }
            });
            // Every call between the items once: the next number is theirs.
            let number = next(&channel);
            assert_eq!(number, calls, "{model:?}");
            calls = number + 1;
            assert!(moved(), "{model:?}");
            until("the old connection is closed", || {
                running.connections() == 1
            });
            drop(channel);
            until("the new one, too", || running.connections() == 0);
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[cfg(feature = "async")]
#[tokio::test]
async fn in_the_middle_of_64_busy_tasks() {
    use dovetail::Channel;
    use dovetail::server::Model;
    const MODELS: [Model; 2] = [Model::ThreadPerConnection, Model::EventLoops(Some(2))];
    for model in MODELS {
        let tracks = Tracks::default();
        let running = Arc::new(start(&tracks, |server| server.model(model)));
        let mut calls = 0;
        for round in 1..=ROUNDS_OF_TASKS / MODELS.len() as u64 {
            let builder = Channel::builder(&address(&running)).expect("an address");
            let channel = builder.wire(Wire::Dovetail).timeout(LONG).build();
            let users: Vec<_> = (0..BUSY)
                .map(|_| tokio::spawn(use_it_async(channel.clone(), running.clone(), round)))
                .collect();
            for user in users {
                calls += user.await.expect("no panic");
            }
            let next: Result<i32, Status> = channel.call(&TRACKS.methods[NEXT], ()).await;
            assert_eq!(next, Ok(calls), "{model:?}");
            calls += 1;
            assert_eq!(running.counters().local_connections, round, "{model:?}");
            while running.connections() > 1 {
                tokio::task::yield_now().await;
            }
            drop(channel);
            while running.connections() > 0 {
                tokio::task::yield_now().await;
            }
        }
        let running = Arc::into_inner(running).expect("the tasks are over");
        let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
        assert!(ended.expect("no panic"), "{model:?}");
    }
}

/// As [`use_it`], with streams from the server alone.
#[cfg(feature = "async")]
async fn use_it_async(channel: dovetail::Channel, running: Arc<Running>, round: u64) -> i32 {
    type Counted = (i32, dovetail::stream::Receiver<i32>);
    for turn in 1.. {
        let last = running.counters().local_connections == round;
        let next = channel.call(&TRACKS.methods[NEXT], ()).await;
        let _: i32 = Result::<_, Status>::expect(next, "an answer");
        let opened: Result<Counted, Status> =
            channel.stream(&TRACKS.methods[COUNT], (&ITEMS,)).await;
        let (_, mut items) = opened.expect("an answer");
        for number in 0..ITEMS {
            assert_eq!(items.next().await, Some(Ok(number)));
        }
        assert_eq!(items.next().await, None);
        if last {
            return turn;
        }
    }
    0
}

/// One-way calls arrive in their order, wherever a connection moves meanwhile.
#[test]
fn one_way_calls_keep_their_order() {
    for model in MODELS {
        let tracks = Tracks::default();
        let running = start(&tracks, |server| server.model(*model));
        let channel = builder(&address(&running)).build();
        next(&channel);
        next(&channel);
        let wanted: Vec<i32> = (0..500).collect();
        for number in &wanted {
            let reported = channel.notify(&TRACKS.methods[NOTE], (number,));
            reported.expect("a connection");
        }
        until("all have arrived", || {
            let noted: Result<Vec<i32>, Status> = channel.call(&TRACKS.methods[NOTED], ());
            let noted = noted.expect("an answer");
            // Under a pool of threads they may run side by side.
            let in_order = noted.is_sorted() || format!("{model:?}").contains("Pool");
            assert!(in_order, "{model:?}");
            noted.len() == wanted.len()
        });
        drop(channel);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A client and a server that stay with TCP, and why.
#[test]
fn what_stays() {
    let (tracks, same) = (Tracks::default(), |server: Server| server);
    let plain = start(&tracks, same);
    let off = start(&tracks, |server| server.local_upgrade(false));
    let full = start(&tracks, |server| {
        server.limits(ServerLimits {
            connections: 1,
            ..ServerLimits::default()
        })
    });
    let behind_a_proxy = proxy(address(&plain).trim_start_matches("tcp://").to_owned());
    let rows = [
        ("the server does not want it", &off, builder(&address(&off))),
        (
            "the client does not want it",
            &plain,
            builder(&address(&plain)).local_upgrade(false),
        ),
        ("there is no room", &full, builder(&address(&full))),
        ("somebody is in between", &plain, builder(&behind_a_proxy)),
        (
            "it speaks something else",
            &plain,
            builder(&address(&plain)).wire(crate::fixture::stock()),
        ),
    ];
    for (why, running, builder) in rows {
        let channel = builder.build();
        for _ in 0..20 {
            next(&channel);
            crate::fixture::settle();
        }
        assert_eq!(running.counters().local_connections, 0, "{why}");
    }
    for running in [plain, off, full] {
        assert!(running.shutdown(LONG));
    }
}

/// Carries a connection to a server.
fn proxy(server: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut server = TcpStream::connect(server).expect("a server");
        let (mut from, mut to) = (
            server.try_clone().expect("it"),
            client.try_clone().expect("it"),
        );
        thread::spawn(move || io::copy(&mut from, &mut to));
        let _ = io::copy(&mut client, &mut server);
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
    address
}
