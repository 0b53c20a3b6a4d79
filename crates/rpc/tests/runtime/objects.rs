//! Objects: how long they live, where they may go, and calls on those that have not been returned
//! yet.

use crate::fixture::{LONG, MODELS, address, listen, stock, tcp_place, until};
use bytes::BytesMut;
use dovetail::method::ServiceDescriptor;
use dovetail::protocol::{ConnectionLimits, Name};
use dovetail::server::{Call, HandlerFuture, Model, ServerLimits};
use dovetail::status::Execution;
use dovetail::stream::{Items, Receiver, Upload};
use dovetail::{
    Channel, Code, Context, ObjectRef, Running, Server, Service, Status, Wire, blocking,
    descriptor, object,
};
use dovetail_protocol::Headers;
use dovetail_protocol::dovetail::{
    Connection, Event, MethodKey, NoMethods, Options, OutgoingCall, Role, Target,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::watch;

descriptor!(static COUNTER = "Counter", passes [COUNTER] {
    add(1 number: i64) -> i64;
    fork(1 gate: bool) -> CounterObject [objects];
    note(1 number: i64) [oneway];
    count(1 to: i64) -> (), stream<i64>;
    add_all() -> i64, sink<i64>;
});

descriptor!(static LISTENER = "Listener", passes [COUNTER] {
    hear(1 text: String) -> i32;
    counter() -> CounterObject [objects];
});

descriptor!(static COUNTERS = "Counters", passes [COUNTER, LISTENER] {
    open(1 start: i64, 2 gate: bool) -> CounterObject [objects];
    add_to(1 counter: CounterObject, 2 number: i64) -> i64 [objects];
    tell(1 listener: ListenerObject, 2 text: String) -> i32 [objects];
    keep(1 listener: ListenerObject) [objects];
    drop_all();
    many(1 count: i32) -> Vec<CounterObject> [objects];
    chain(1 listener: ListenerObject) -> i64 [objects];
    stream_of(1 counter: CounterObject) -> i64 [objects];
});

object!(struct CounterObject of COUNTER);
object!(struct ListenerObject of LISTENER);

const OPEN: usize = 0;
const ADD_TO: usize = 1;
const TELL: usize = 2;
const KEEP: usize = 3;
const DROP_ALL: usize = 4;
const MANY: usize = 5;
const CHAIN: usize = 6;
const STREAM_OF: usize = 7;

/// How many objects there are, and what handlers wait for.
#[derive(Clone)]
struct World {
    alive: Arc<AtomicUsize>,
    open: Arc<watch::Sender<bool>>,
}

impl Default for World {
    fn default() -> Self {
        World {
            alive: Arc::default(),
            open: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl World {
    fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    fn counter(&self, start: i64) -> CounterObject {
        self.alive.fetch_add(1, Ordering::SeqCst);
        ObjectRef::new(Counter {
            value: AtomicI64::new(start),
            world: self.clone(),
        })
        .into()
    }

    async fn pass(&self, gate: bool) -> Result<(), Status> {
        if gate {
            let mut open = self.open.subscribe();
            // The sender is ours: it is still there.
            let _ = open.wait_for(|open| *open).await;
        }
        Ok(())
    }
}

struct Counter {
    value: AtomicI64,
    world: World,
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.world.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Service for Counter {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &COUNTER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let add = |number| self.value.fetch_add(number, Ordering::SeqCst) + number;
        match method {
            0 => call.unary((0,), move |_: Context, (number,)| async move {
                Ok::<i64, Status>(add(number))
            }),
            1 => call.unary((false,), |_: Context, (gate,)| async move {
                self.world.pass(gate).await?;
                Ok::<_, Status>(self.world.counter(self.value.load(Ordering::SeqCst)))
            }),
            2 => call.unary((0,), move |_: Context, (number,)| async move {
                add(number);
                Ok::<(), Status>(())
            }),
            3 => call.stream((0,), move |_: Context, (to,): (i64,)| async move {
                let from = add(0);
                Ok::<Items<'_, i64>, Status>(Items::iter(from..to))
            }),
            4 => call.upload(
                (),
                move |_: Context, (), mut items: Receiver<i64>| async move {
                    while let Some(item) = items.next().await {
                        add(item?);
                    }
                    Ok::<i64, Status>(add(0))
                },
            ),
            _ => call.no_such_method(),
        }
    }
}

#[derive(Clone, Default)]
struct Counters {
    world: World,
    kept: Arc<Mutex<Vec<ListenerObject>>>,
}

impl Service for Counters {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &COUNTERS
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            OPEN => call.unary((0, false), |_: Context, (start, gate)| async move {
                self.world.pass(gate).await?;
                match start {
                    0.. => Ok(self.world.counter(start)),
                    _ => Err(Status::new(Code::OutOfRange, "too little")),
                }
            }),
            ADD_TO => call.unary(
                (CounterObject::default(), 0),
                |_: Context, (counter, number): (CounterObject, i64)| async move {
                    if !counter.is_here() {
                        return Err(Status::new(Code::Internal, "it did not come home"));
                    }
                    let channel = counter.channel(&COUNTER);
                    let sum: Result<i64, Status> =
                        channel.call(&COUNTER.methods[0], (&number,)).await;
                    sum
                },
            ),
            TELL => call.unary(
                (ListenerObject::default(), String::new()),
                |_: Context, (listener, text): (ListenerObject, String)| async move {
                    let channel = listener.channel(&LISTENER);
                    let heard: Result<i32, Status> =
                        channel.call(&LISTENER.methods[0], (&text,)).await;
                    heard
                },
            ),
            KEEP => call.unary(
                (ListenerObject::default(),),
                |_: Context, (listener,)| async move {
                    self.kept.lock().expect("no panic").push(listener);
                    Ok::<(), Status>(())
                },
            ),
            DROP_ALL => call.unary((), |_: Context, ()| async move {
                let kept = std::mem::take(&mut *self.kept.lock().expect("no panic"));
                drop(kept);
                Ok::<(), Status>(())
            }),
            MANY => call.unary((0,), |_: Context, (count,): (i32,)| async move {
                let counters = (0..count).map(|number| self.world.counter(number.into()));
                Ok::<Vec<CounterObject>, Status>(counters.collect())
            }),
            CHAIN => call.unary(
                (ListenerObject::default(),),
                |_: Context, (listener,): (ListenerObject,)| async move {
                    let channel = listener.channel(&LISTENER);
                    let counter: CounterObject = channel
                        .pipelined::<_, _, Status>(&LISTENER.methods[1], ())
                        .await?;
                    let channel = counter.channel(&COUNTER);
                    channel
                        .call::<_, i64, Status>(&COUNTER.methods[0], (&5_i64,))
                        .await
                },
            ),
            STREAM_OF => call.unary(
                (CounterObject::default(),),
                |_: Context, (counter,): (CounterObject,)| async move { streamed(&counter).await },
            ),
            _ => call.no_such_method(),
        }
    }
}

/// The object that a client passes.
struct Listener(World);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Listener {
    fn object(world: &World) -> ListenerObject {
        world.alive.fetch_add(1, Ordering::SeqCst);
        ObjectRef::new(Listener(world.clone())).into()
    }
}

impl Service for Listener {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &LISTENER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((String::new(),), |_: Context, (text,)| async move {
                Ok::<_, Status>(text.len() as i32)
            }),
            1 => call.unary((), |_: Context, ()| async move {
                tokio::task::yield_now().await;
                Ok::<_, Status>(self.0.counter(37))
            }),
            _ => call.no_such_method(),
        }
    }
}

fn start(counters: &Counters, model: Model, objects: usize) -> Running {
    let limits = ServerLimits {
        connection: ConnectionLimits {
            objects,
            ..ConnectionLimits::default()
        },
        ..ServerLimits::default()
    };
    let server = Server::new()
        .service(counters.clone())
        .model(model)
        .limits(limits);
    listen(server).start().expect("a server")
}

fn channel(running: &Running) -> Channel {
    let builder = Channel::builder(&address(running)).expect("an address");
    builder.wire(Wire::Dovetail).build()
}

fn blocking_channel(running: &Running) -> blocking::Channel {
    let builder = blocking::Channel::builder(&address(running)).expect("an address");
    builder.wire(Wire::Dovetail).build()
}

async fn until_alive(world: &World, count: usize) {
    let world = world.clone();
    let waited = tokio::task::spawn_blocking(move || {
        until("the others are dropped", || world.alive() == count);
    });
    waited.await.expect("no panic");
}

async fn open(channel: &Channel, start: i64) -> Result<CounterObject, Status> {
    channel
        .call(&COUNTERS.methods[OPEN], (&start, &false))
        .await
}

async fn add(counter: &CounterObject, number: i64) -> Result<i64, Status> {
    let channel = counter.channel(&COUNTER);
    channel.call(&COUNTER.methods[0], (&number,)).await
}

async fn ended(running: Running) -> bool {
    let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
    ended.expect("no panic")
}

/// Adds 1 to 10 by a stream, and the numbers that come by another one.
async fn streamed(counter: &CounterObject) -> Result<i64, Status> {
    let channel = counter.channel(&COUNTER);
    let uploaded: Result<Upload<i64, i64>, Status> = channel.upload(&COUNTER.methods[4], ()).await;
    let (mut sender, answer) = uploaded?;
    for number in 1..=10 {
        sender.send(&number).await?;
    }
    sender.finish();
    let mut sum = answer.await?;
    let opened: Result<Receiver<i64>, Status> =
        channel.stream(&COUNTER.methods[3], (&1_000_i64,)).await;
    let mut items = opened?;
    while let Some(item) = items.next().await {
        sum += item?;
    }
    Ok(sum)
}

/// Streams of a blocking client.
fn streamed_blocking(counter: &CounterObject) -> Result<i64, Status> {
    let channel = counter.blocking_channel(&COUNTER);
    let uploaded: Result<blocking::Upload<i64, i64>, Status> =
        channel.upload(&COUNTER.methods[4], ());
    let (mut sender, answer) = uploaded?;
    for number in 1..=10 {
        sender.send(&number)?;
    }
    sender.finish();
    let sum = answer.wait()?;
    let opened: Result<blocking::Receiver<i64>, Status> =
        channel.stream(&COUNTER.methods[3], (&1_000_i64,));
    opened?.try_fold(sum, |sum, item| Ok(sum + item?))
}

/// The result of both for an object that counts from `start`.
fn sum_of_streams(start: i64) -> i64 {
    let from = start + 55;
    from + (from..1_000).sum::<i64>()
}

#[tokio::test]
async fn streams_of_objects_and_promises_as_parameters() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        let opened = open(&channel, 7).await.expect("an object");
        assert_eq!(streamed(&opened).await, Ok(sum_of_streams(7)), "{model:?}");
        // The client's object, called by the server.
        let own = world.counter(9);
        let theirs: Result<i64, Status> = channel.call(&COUNTERS.methods[STREAM_OF], (&own,)).await;
        assert_eq!(theirs, Ok(sum_of_streams(9)), "{model:?}");
        // An object that has not been returned yet is passed on, more than once.
        for (beginning, sum) in [(40_i64, Some(40)), (-1, None)] {
            let promised: CounterObject = channel
                .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&beginning, &false))
                .await
                .expect("a connection");
            let fork: Result<CounterObject, Status> = promised
                .channel(&COUNTER)
                .pipelined::<_, _, Status>(&COUNTER.methods[1], (&false,))
                .await;
            for counter in [&promised, &fork.expect("a connection")] {
                let added: Result<i64, Status> = channel
                    .call(&COUNTERS.methods[ADD_TO], (counter, &0_i64))
                    .await;
                match (added, sum) {
                    (Ok(added), Some(sum)) => assert_eq!(added, sum, "{model:?}"),
                    (Err(status), None) => assert_eq!(status.code(), Code::OutOfRange, "{status}"),
                    (added, _) => panic!("{model:?}: {added:?}"),
                }
            }
        }
        drop((opened, own));
        until_alive(&world, 0).await;
        drop(channel);
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn an_object_lives_as_long_as_somebody_refers_to_it() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        let first = open(&channel, 10).await.expect("an object");
        let second = open(&channel, 20).await.expect("an object");
        assert_ne!(first, second);
        assert_eq!(add(&first, 1).await, Ok(11), "{model:?}");
        assert_eq!(add(&second, 1).await, Ok(21), "{model:?}");
        let copy = first.clone();
        drop(first);
        assert_eq!(add(&copy, 1).await, Ok(12), "{model:?}");
        assert_eq!(world.alive(), 2);
        // It comes home, as itself.
        let sum: Result<i64, Status> = channel
            .call(&COUNTERS.methods[ADD_TO], (&copy, &30_i64))
            .await;
        assert_eq!(sum, Ok(42), "{model:?}");
        assert_eq!(add(&copy, 0).await, Ok(42), "{model:?}");
        drop(copy);
        until_alive(&world, 1).await;
        assert_eq!(add(&second, 1).await, Ok(22), "{model:?}");
        // The connection ends with the last reference and the channel.
        drop((channel, second));
        until_alive(&world, 0).await;
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn the_end_of_the_connection_frees_them_all() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        let many: Result<Vec<CounterObject>, Status> =
            channel.call(&COUNTERS.methods[MANY], (&50,)).await;
        let many = many.expect("objects");
        assert_eq!(world.alive(), 50, "{model:?}");
        assert!(ended(running).await, "{model:?}: objects keep no server");
        until_alive(&world, 0).await;
        let late = add(&many[0], 1).await.expect_err("nobody answers");
        assert_eq!(late.code(), Code::Unavailable, "{model:?}");
    }
}

#[tokio::test]
async fn a_client_passes_objects() {
    for model in MODELS {
        let counters = Counters::default();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        let world = World::default();
        let listener = Listener::object(&world);
        let count: Result<i32, Status> = channel
            .call(&COUNTERS.methods[TELL], (&listener, "hello"))
            .await;
        assert_eq!(count, Ok(5), "{model:?}");
        for _ in 0..3 {
            let kept: Result<(), Status> =
                channel.call(&COUNTERS.methods[KEEP], (&listener,)).await;
            assert_eq!(kept, Ok(()), "{model:?}");
        }
        drop(listener);
        let kept = counters.kept.lock().expect("no panic")[0].clone();
        let remote = kept.channel(&LISTENER);
        let heard: Result<i32, Status> = remote.call(&LISTENER.methods[0], ("again",)).await;
        assert_eq!(heard, Ok(5), "{model:?}");
        assert_eq!(world.alive(), 1, "{model:?}");
        drop((kept, remote));
        let dropped: Result<(), Status> = channel.call(&COUNTERS.methods[DROP_ALL], ()).await;
        assert_eq!(dropped, Ok(()), "{model:?}");
        until_alive(&world, 0).await;
        // Pipelined the other way round.
        let listener = Listener::object(&world);
        let chained: Result<i64, Status> =
            channel.call(&COUNTERS.methods[CHAIN], (&listener,)).await;
        assert_eq!(chained, Ok(42), "{model:?}");
        drop(listener);
        until_alive(&world, 0).await;
        drop(channel);
        assert!(ended(running).await, "{model:?}");
    }
}

/// A counter and what it returns, neither of which has been returned yet; the gates say which calls
/// wait.
async fn pipelined(
    channel: &Channel,
    start: i64,
    gates: [bool; 2],
) -> (CounterObject, CounterObject) {
    let first: CounterObject = channel
        .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&start, &gates[0]))
        .await
        .expect("a connection");
    let second: CounterObject = first
        .channel(&COUNTER)
        .pipelined::<_, _, Status>(&COUNTER.methods[1], (&gates[1],))
        .await
        .expect("a connection");
    (first, second)
}

#[tokio::test]
async fn calls_on_what_has_not_been_returned() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        for gate in [false, true] {
            world.open.send_replace(false);
            let (first, second) = pipelined(&channel, 40_i64, [gate, gate]).await;
            let sum = tokio::spawn({
                let second = second.clone();
                async move { add(&second, 2).await }
            });
            if gate {
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert!(!sum.is_finished(), "{model:?}");
                world.open.send_replace(true);
            }
            assert_eq!(sum.await.expect("no panic"), Ok(42), "{model:?} {gate}");
            // A returned object goes on under its number.
            assert_eq!(add(&first, 1).await, Ok(41), "{model:?} {gate}");
            assert_eq!(add(&second, 1).await, Ok(43), "{model:?} {gate}");
            let home: Result<i64, Status> = channel
                .call(&COUNTERS.methods[ADD_TO], (&second, &1_i64))
                .await;
            assert_eq!(home, Ok(44), "{model:?} {gate}");
            assert_eq!(world.alive(), 2, "{model:?} {gate}");
            drop((first, second));
            until_alive(&world, 0).await;
        }
        drop(channel);
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn the_failure_of_the_first_call_fails_the_rest() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        for gate in [false, true] {
            world.open.send_replace(false);
            let (first, second) = pipelined(&channel, -1_i64, [gate, false]).await;
            let calls = [first, second]
                .map(|counter| tokio::spawn(async move { (add(&counter, 1).await, counter) }));
            tokio::time::sleep(Duration::from_millis(10)).await;
            world.open.send_replace(true);
            for call in calls {
                let (sum, counter) = call.await.expect("no panic");
                let status = sum.expect_err("no object");
                assert_eq!(status.code(), Code::OutOfRange, "{model:?}: {status}");
                assert!(
                    status.message().contains("too little"),
                    "{model:?}: {status}"
                );
                assert_eq!(status.execution(), Execution::NotStarted, "{model:?}");
                let late = add(&counter, 1).await.expect_err("no object");
                assert_eq!(late.code(), Code::OutOfRange, "{model:?}: {late}");
            }
        }
        assert_eq!(world.alive(), 0);
        drop(channel);
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn there_is_a_limit() {
    const MAX: usize = 10_000;
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, MAX);
        let channel = channel(&running);
        let many: Result<Vec<CounterObject>, Status> = channel
            .call(&COUNTERS.methods[MANY], (&(MAX as i32),))
            .await;
        let mut many = many.expect("objects");
        let full = open(&channel, 1).await.expect_err("a refusal");
        assert_eq!(full.code(), Code::ResourceExhausted, "{model:?}: {full}");
        assert!(
            full.message().contains("10000 objects"),
            "{model:?}: {full}"
        );
        until_alive(&world, MAX).await;
        many.truncate(MAX - 1);
        until_alive(&world, MAX - 1).await;
        assert!(open(&channel, 1).await.is_ok(), "{model:?}");
        drop((many, channel));
        until_alive(&world, 0).await;
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn objects_of_answers_that_nobody_takes_are_released() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = channel(&running);
        let hasty = channel.with_timeout(Duration::from_millis(20));
        let late: Result<CounterObject, Status> =
            hasty.call(&COUNTERS.methods[OPEN], (&1_i64, &true)).await;
        assert_eq!(late.expect_err("late").code(), Code::DeadlineExceeded);
        let promised: CounterObject = channel
            .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&1_i64, &true))
            .await
            .expect("a connection");
        drop(promised);
        world.open.send_replace(true);
        let third = open(&channel, 3).await.expect("an object");
        until_alive(&world, 1).await;
        drop((hasty, channel, third));
        assert!(ended(running).await, "{model:?}");
    }
}

#[tokio::test]
async fn objects_need_the_own_wire() {
    let counters = Counters::default();
    let running = start(&counters, Model::EventLoops(Some(1)), 100);
    let builder = Channel::builder(&address(&running)).expect("an address");
    let thrift = builder.wire(stock()).build();
    let world = World::default();
    let listener = Listener::object(&world);
    let rows = [
        open(&thrift, 1).await.map(drop),
        thrift.call(&COUNTERS.methods[KEEP], (&listener,)).await,
        thrift
            .pipelined::<_, CounterObject, Status>(&COUNTERS.methods[OPEN], (&1_i64, &false))
            .await
            .map(drop),
    ];
    for (row, outcome) in rows.into_iter().enumerate() {
        let status = outcome.expect_err("Thrift has no objects");
        assert!(status.message().contains("own wire"), "{row}: {status}");
    }
    drop(thrift);
    assert!(ended(running).await);
}

#[test]
fn blocking_clients() {
    for model in MODELS {
        let counters = Counters::default();
        let world = counters.world.clone();
        let running = start(&counters, *model, 100);
        let channel = blocking_channel(&running);
        let add = |counter: &CounterObject, number: i64| -> Result<i64, Status> {
            let channel = counter.blocking_channel(&COUNTER);
            channel.call(&COUNTER.methods[0], (&number,))
        };
        let opened: Result<CounterObject, Status> =
            channel.call(&COUNTERS.methods[OPEN], (&1_i64, &false));
        let opened = opened.expect("an object");
        assert_eq!(add(&opened, 1), Ok(2), "{model:?}");
        let home: Result<i64, Status> = channel.call(&COUNTERS.methods[ADD_TO], (&opened, &1_i64));
        assert_eq!(home, Ok(3), "{model:?}");
        drop(opened);
        until("it is dropped", || world.alive() == 0);
        let first: CounterObject = channel
            .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&40_i64, &false))
            .expect("a connection");
        let second: CounterObject = first
            .blocking_channel(&COUNTER)
            .pipelined::<_, _, Status>(&COUNTER.methods[1], (&false,))
            .expect("a connection");
        assert_eq!(add(&second, 2), Ok(42), "{model:?}");
        assert_eq!(add(&first, 2), Ok(42), "{model:?}");
        drop((first, second));
        until("they are dropped", || world.alive() == 0);
        let failed: CounterObject = channel
            .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&-1_i64, &false))
            .expect("a connection");
        let status = add(&failed, 1).expect_err("no object");
        assert_eq!(status.execution(), Execution::NotStarted, "{model:?}");
        // An object that has not been returned yet is passed on.
        let promised: CounterObject = channel
            .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&40_i64, &false))
            .expect("a connection");
        let added: Result<i64, Status> =
            channel.call(&COUNTERS.methods[ADD_TO], (&promised, &2_i64));
        assert_eq!(added, Ok(42), "{model:?}");
        assert_eq!(
            streamed_blocking(&promised),
            Ok(sum_of_streams(42)),
            "{model:?}"
        );
        drop(promised);
        // Its own objects are called while it waits.
        let own = world.counter(9);
        let theirs: Result<i64, Status> = channel.call(&COUNTERS.methods[STREAM_OF], (&own,));
        assert_eq!(theirs, Ok(sum_of_streams(9)), "{model:?}");
        drop(own);
        let listener = Listener::object(&world);
        let count: Result<i32, Status> =
            channel.call(&COUNTERS.methods[TELL], (&listener, "hello"));
        assert_eq!(count, Ok(5), "{model:?}");
        let chained: Result<i64, Status> = channel.call(&COUNTERS.methods[CHAIN], (&listener,));
        assert_eq!(chained, Ok(42), "{model:?}");
        let kept: Result<(), Status> = channel.call(&COUNTERS.methods[KEEP], (&listener,));
        assert_eq!(kept, Ok(()), "{model:?}");
        drop(listener);
        // It hears of releases while it waits.
        let until_alive = |count: usize| {
            until("the others are dropped", || {
                let refused: Result<CounterObject, Status> =
                    channel.call(&COUNTERS.methods[OPEN], (&-1_i64, &false));
                refused.is_err() && world.alive() == count
            });
        };
        until_alive(1);
        let dropped: Result<(), Status> = channel.call(&COUNTERS.methods[DROP_ALL], ());
        assert_eq!(dropped, Ok(()), "{model:?}");
        until("the listener is dropped", || {
            let added: Result<i64, Status> = channel.call(
                &COUNTERS.methods[ADD_TO],
                (&CounterObject::default(), &1_i64),
            );
            added.is_err() && world.alive() == 0
        });
        drop((failed, channel));
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// How many calls there are among the frames that a client has sent so far.
fn calls(sent: &[u8]) -> usize {
    let (mut rest, mut calls) = (sent.get(4..).unwrap_or_default(), 0);
    while let [a, b, c, kind, _, _, _, _, after @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        if after.len() < length {
            break;
        }
        calls += usize::from(kind & 0x1f == 5);
        rest = &after[length..];
    }
    calls
}

/// An address behind which the server's first word comes only when the client has made so many
/// calls.
fn silent_until(server: &Running, wanted: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp://{}", listener.local_addr().expect("an address"));
    let place = tcp_place(server).to_owned();
    thread::spawn(move || {
        let (mut front, _) = listener.accept().expect("a client");
        let mut back = TcpStream::connect(place).expect("a server");
        let (mut from, mut to) = (
            back.try_clone().expect("it"),
            front.try_clone().expect("it"),
        );
        let (made, all_made) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            let _ = all_made.recv();
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if to.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        });
        let (mut buffer, mut sent) = ([0; 4096], Vec::new());
        while let Ok(count @ 1..) = front.read(&mut buffer) {
            sent.extend_from_slice(&buffer[..count]);
            if calls(&sent) == wanted {
                let _ = made.send(());
            }
            if back.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    });
    address
}

#[tokio::test]
async fn a_chain_of_three_calls_takes_one_round_trip() {
    let counters = Counters::default();
    let running = start(&counters, Model::EventLoops(Some(1)), 100);
    let address = silent_until(&running, 3);
    let builder = Channel::builder(&address).expect("an address");
    let channel = builder
        .wire(Wire::Dovetail)
        .timeout(Duration::from_secs(10))
        .build();
    let first: CounterObject = channel
        .pipelined::<_, _, Status>(&COUNTERS.methods[OPEN], (&40_i64, &false))
        .await
        .expect("a connection");
    let second: CounterObject = first
        .channel(&COUNTER)
        .pipelined::<_, _, Status>(&COUNTER.methods[1], (&false,))
        .await
        .expect("a connection");
    assert_eq!(add(&second, 2).await, Ok(42));
    drop((first, second, channel));
    assert!(ended(running).await);
}

/// Returns the server's status for a call on the object with this number.
fn call_by_number(running: &Running, number: u32, service: &str) -> Status {
    let mut stream = TcpStream::connect(tcp_place(running)).expect("a listener");
    let mut machine = Connection::new(Role::Client, Options::default());
    let key = MethodKey::Name(Name::new("add"));
    let call = OutgoingCall {
        plain: false,
        method: &key,
        deadline: None,
        headers: &Headers::new(),
        target: (number > 0).then_some(Target::Object(number)),
        promise: false,
        awaits: None,
    };
    let contract = || {
        Arc::new(dovetail_protocol::dovetail::Contract {
            service: Name::new(service),
            method: Name::new("add"),
            kind: dovetail::method::MethodKind::Unary,
            description: None,
        })
    };
    let (params, mut out) = ((&1_i64,), Vec::new());
    let body = (&params, COUNTER.methods[0].params);
    machine
        .call(&call, contract, &body, &mut out)
        .expect("a call");
    stream.write_all(&out).expect("a connection");
    let (mut input, mut buffer) = (BytesMut::new(), [0; 4096]);
    loop {
        match machine.receive(&mut input, &NoMethods).expect("an answer") {
            Some(Event::Reply { result, .. }) => return result.expect_err("no such object"),
            Some(_) => {}
            None => {
                let count = stream.read(&mut buffer).expect("a connection");
                input.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

#[test]
fn numbers_that_lead_nowhere() {
    for model in MODELS {
        let running = start(&Counters::default(), *model, 100);
        for (number, service, code) in [
            (99, "Counter", Code::NotFound),
            (99, "Listener", Code::Unimplemented),
            (0, "Counter", Code::Unimplemented),
        ] {
            let status = call_by_number(&running, number, service);
            assert_eq!(status.code(), code, "{model:?}: {status}");
            assert_eq!(status.execution(), Execution::NotStarted, "{model:?}");
        }
        assert_eq!(running.counters().calls, 0, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_release_of_what_was_not_sent_ends_the_connection() {
    let running = start(&Counters::default(), Model::EventLoops(Some(1)), 100);
    let mut stream = TcpStream::connect(tcp_place(&running)).expect("a listener");
    let (mut machine, mut out) = (
        Connection::new(Role::Client, Options::default()),
        Vec::new(),
    );
    machine.release(7, 1);
    machine.transmit(&mut out);
    stream.write_all(&out).expect("a connection");
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("an end");
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("that were not sent"), "{said}");
    assert_eq!(running.counters().protocol_errors, 1);
    assert!(running.shutdown(LONG));
}
