//! Health checks of the servers of a channel.

use crate::fixture::*;
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::names::{HealthCheck, Policy, State};
use dovetail::server::{Call, HandlerFuture, Health, Model};
use dovetail::{
    Channel, Code, Context, Running, Server, Service, Status, Wire, blocking, descriptor, names,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const WIRES: &[&str] = &["dovetail", "grpc", "binary+framed", "msgpack-rpc"];

descriptor!(static TEAM = "Team" {
    number() -> i32 [idempotent];
    ping() -> ();
});

const NUMBER: &Method = &TEAM.methods[0];

/// A server with a number, and two ways to say that it is not ready.
struct Member {
    running: Running,
    health: Health,
    team: Team,
}

#[derive(Clone, Default)]
struct Team(Arc<Inner>);

#[derive(Default)]
struct Inner {
    number: i32,
    fails: AtomicBool,
    pings: AtomicUsize,
}

impl Service for Team {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &TEAM
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        let inner = &self.0;
        match method {
            0 => call.unary((), async |_: Context, ()| Ok::<_, Status>(inner.number)),
            1 => call.unary((), async |_: Context, ()| {
                inner.pings.fetch_add(1, Ordering::SeqCst);
                match inner.fails.load(Ordering::SeqCst) {
                    true => Err(Status::new(Code::Unavailable, "not now")),
                    false => Ok(()),
                }
            }),
            _ => call.no_such_method(),
        }
    }
}

impl Member {
    fn start(number: i32, with_health: bool) -> Self {
        Member::at("tcp://127.0.0.1:0", number, with_health, true)
    }

    fn at(address: &str, number: i32, with_health: bool, ready: bool) -> Self {
        let team = Team(Arc::new(Inner {
            number,
            ..Inner::default()
        }));
        let health = Health::default();
        health.set("", ready);
        let mut server = Server::new().service(team.clone());
        if with_health {
            server = server.health(&health);
        }
        let server = server.model(Model::EventLoops(Some(1)));
        let running = server.listen(address).unwrap().start().unwrap();
        Member {
            running,
            health,
            team,
        }
    }

    fn set_ready(&self, ready: bool) {
        self.health.set("", ready);
        self.team.0.fails.store(!ready, Ordering::SeqCst);
    }
}

fn list(members: &[Member]) -> String {
    let addresses = members
        .iter()
        .map(|one| one.running.addresses()[0].to_string());
    addresses.collect::<Vec<_>>().join(",")
}

fn checks() -> [HealthCheck; 2] {
    let quick = |check: HealthCheck| check.every(Duration::from_millis(5)).failures(1);
    [
        quick(HealthCheck::health("")),
        quick(HealthCheck::method("ping")),
    ]
}

fn number(channel: &blocking::Channel) -> Result<i32, Status> {
    channel.call(NUMBER, ())
}

/// The numbers of the servers that ten calls reach.
fn reached(channel: &blocking::Channel) -> Vec<i32> {
    let mut numbers: Vec<i32> = (0..10).map(|_| number(channel).unwrap()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn a_server_that_is_not_ready_gets_no_calls() {
    for (wire, check) in WIRES
        .iter()
        .flat_map(|wire| checks().map(|check| (wire, check)))
    {
        if *wire == "grpc" {
            continue;
        }
        let members = [0, 1].map(|number| Member::start(number, true));
        let what = format!("{wire} {check:?}");
        members[1].set_ready(false);
        let channel = blocking::Channel::builder(&list(&members))
            .unwrap()
            .wire(wire.parse().unwrap())
            .policy(Policy::RoundRobin)
            .health_check(check)
            .build();
        assert_eq!(reached(&channel), [0], "{what}");
        members[1].set_ready(true);
        until(&what, || reached(&channel) == [0, 1]);
        members[0].set_ready(false);
        until(&what, || reached(&channel) == [1]);
        let backends = channel.backends();
        assert_eq!(backends[0].health, names::Health::Unhealthy, "{what}");
        assert_eq!(backends[0].state, State::Ready, "{what}");
        // Nobody is left.
        members[1].set_ready(false);
        let hasty = channel.with_timeout(Duration::from_millis(50));
        let ask = || number(&hasty);
        until(&what, || ask().is_err());
        let why = ask().unwrap_err();
        assert_eq!(why.code(), Code::Unavailable, "{what}");
        assert!(
            why.message().contains("the health check of 127.0.0.1"),
            "{what}: {why}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_channels_check_too() {
    for (wire, check) in WIRES
        .iter()
        .flat_map(|wire| checks().map(|check| (wire, check)))
    {
        let members = [0, 1].map(|number| Member::start(number, true));
        let channel = Channel::builder(&list(&members))
            .unwrap()
            .wire(wire.parse().unwrap())
            .service("Team")
            .policy(Policy::PickFirst)
            .health_check(check.clone())
            .build();
        let goes_to = async |number: i32| {
            let called = async || channel.call::<_, i32, Status>(NUMBER, ()).await;
            while called().await != Ok(number) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        for (number, other) in [(0, 1), (1, 0), (0, 1)] {
            members[number].set_ready(true);
            members[other].set_ready(false);
            let goes = tokio::time::timeout(LONG, goes_to(number as i32)).await;
            assert!(goes.is_ok(), "{wire} {check:?} {number}");
        }
    }
}

/// A stock server of msgpack-rpc, which knows no checks: it answers each call with a number.
struct Raw(Arc<TcpListener>);

impl Raw {
    fn start(number: u8) -> Self {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let accepting = listener.clone();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = accepting.accept() {
                thread::spawn(move || {
                    let mut request = [0; 64];
                    while stream.read(&mut request).is_ok_and(|length| length > 0) {
                        let answer = [0x94, 1, request[2], 0xc0, number];
                        stream.write_all(&answer).unwrap();
                    }
                });
            }
        });
        Raw(listener)
    }

    fn address(&self) -> String {
        format!("tcp://{}", self.0.local_addr().unwrap())
    }

    /// Accepts no further connections. Those that are open go on.
    fn close(&self) {
        let socket = socket2::SockRef::from(&*self.0);
        socket.shutdown(Shutdown::Both).unwrap();
    }
}

fn connection() -> HealthCheck {
    let check = HealthCheck::connection();
    check.every(Duration::from_millis(5)).failures(1)
}

#[test]
fn a_server_that_accepts_no_connections_gets_no_calls() {
    let servers = [0, 1].map(Raw::start);
    let target = servers.each_ref().map(Raw::address).join(",");
    let builder = blocking::Channel::builder(&target).unwrap();
    let builder = builder.wire(Wire::MsgpackRpc).policy(Policy::RoundRobin);
    let channel = builder.health_check(connection()).build();
    until("both are reached", || reached(&channel) == [0, 1]);
    servers[1].close();
    until("one is left", || reached(&channel) == [0]);
    assert_eq!(channel.backends()[1].health, names::Health::Unhealthy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_channels_check_connections_too() {
    let servers = [0, 1].map(Raw::start);
    let target = servers.each_ref().map(Raw::address).join(",");
    let builder = Channel::builder(&target).unwrap();
    let builder = builder.wire(Wire::MsgpackRpc).policy(Policy::PickFirst);
    let channel = builder.health_check(connection()).build();
    let answers = async |number| {
        while channel.call::<_, i32, Status>(NUMBER, ()).await != Ok(number) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let answers = async |number| tokio::time::timeout(LONG, answers(number)).await;
    assert!(answers(0).await.is_ok());
    servers[0].close();
    assert!(answers(1).await.is_ok());
}

/// As in gRPC: a server without health checks cannot say that it is not ready.
#[test]
fn a_server_without_health_checks_is_ready() {
    let members = [Member::start(7, false)];
    let channel = blocking::Channel::builder(&format!("{0},{0}", list(&members)))
        .unwrap()
        .health_check(HealthCheck::health("shop.v1.Orders"))
        .build();
    assert_eq!(number(&channel), Ok(7));
}

/// Checks end with their channel.
#[test]
fn nobody_checks_for_a_channel_that_is_gone() {
    let members = [Member::start(0, true)];
    let check = HealthCheck::method("ping").every(Duration::from_millis(5));
    let target = format!("{0},{0}", list(&members));
    let builder = blocking::Channel::builder(&target).unwrap();
    let channel = builder.health_check(check).build();
    assert_eq!(number(&channel), Ok(0));
    drop(channel);
    let checks = || members[0].team.0.pings.load(Ordering::SeqCst);
    until("they end", || {
        let before = checks();
        thread::sleep(Duration::from_millis(50));
        checks() == before
    });
    until("the connection", || members[0].running.connections() == 0);
}

/// A server that is started anew is checked before it gets calls, and at once.
#[test]
fn a_server_that_comes_back_is_checked_first() {
    let mut first = Member::start(0, true);
    let check = HealthCheck::health("").every(LONG);
    let address = first.running.addresses()[0].to_string();
    let channel = blocking::Channel::builder(&format!("{address},{address}"))
        .unwrap()
        .health_check(check)
        .build();
    assert_eq!(number(&channel), Ok(0));
    for (next, ready) in [(1, true), (2, false)] {
        assert!(first.running.shutdown(LONG));
        first = Member::at(&address, next, true, ready);
        let hasty = channel.with_timeout(Duration::from_millis(500));
        let what = format!("the server {next}");
        match ready {
            true => until(&what, || number(&hasty) == Ok(next)),
            false => until(&what, || {
                let answer = number(&hasty);
                assert_ne!(answer, Ok(next), "it is not ready");
                answer.is_err_and(|why| why.message().contains("health check"))
            }),
        }
    }
}
