//! Channels to several servers: lists, files, resolvers of one's own, policies, retries, hedging.

use crate::callbacks::until_async;
use crate::fixture::*;
use dovetail::client::{HedgingPolicy, RetryPolicy};
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::names::{Backend, Outliers, Policy, Resolution, Resolver, State, Updates};
use dovetail::server::{Call, HandlerFuture, Model};
use dovetail::statistics::Statistics;
use dovetail::status::Execution;
use dovetail::{Channel, Code, Context, Running, Server, Service, Status, blocking, descriptor};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

descriptor!(static TEAM = "Team" {
    number() -> i32 [idempotent];
    change() -> i32;
});

const NUMBER: &Method = &TEAM.methods[0];
const CHANGE: &Method = &TEAM.methods[1];

/// The wires of async channels, one for each kind of connection.
const WIRES: &[&str] = &["dovetail", "grpc", "binary+framed", "msgpack-rpc"];

/// One of several servers.
#[derive(Clone, Default)]
struct Member(Arc<Inner>);

#[derive(Default)]
struct Inner {
    number: i32,
    calls: AtomicUsize,
    /// The number of calls that are still to fail, with `UNAVAILABLE` from the handler.
    failing: AtomicI32,
    /// How long a call takes.
    millis: AtomicU64,
    /// No call is answered.
    stuck: AtomicBool,
}

impl Member {
    async fn answer(&self) -> Result<i32, Status> {
        let inner = &self.0;
        inner.calls.fetch_add(1, Ordering::SeqCst);
        if inner.stuck.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let millis = inner.millis.load(Ordering::SeqCst);
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        if inner.failing.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Err(Status::new(Code::Unavailable, "as the test says"));
        }
        Ok(inner.number)
    }

    fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }
}

impl Service for Member {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &TEAM
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 | 1 => call.unary((), |_: Context, ()| self.answer()),
            _ => call.no_such_method(),
        }
    }
}

/// Servers with the numbers from 0 on.
struct Team {
    members: Vec<Member>,
    running: Vec<Option<Running>>,
}

fn start_at(member: &Member, address: &str) -> Running {
    let server = Server::new().service(member.clone());
    let server = server.model(Model::EventLoops(Some(1)));
    server.listen(address).unwrap().start().unwrap()
}

/// A loopback address that no other test listens on: a channel that goes on asking for a server
/// that has stopped must not find one of another test at its port.
fn own_address() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let process = std::process::id() % 200;
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 250;
    format!("tcp://127.{}.{}.1:0", process + 1, number + 1)
}

impl Team {
    fn of(count: i32) -> Self {
        let address = own_address();
        let member = |number| {
            Member(Arc::new(Inner {
                number,
                ..Inner::default()
            }))
        };
        let members: Vec<_> = (0..count).map(member).collect();
        let running = members.iter();
        let running = running.map(|member| Some(start_at(member, &address)));
        Team {
            running: running.collect(),
            members,
        }
    }

    fn addresses(&self) -> Vec<String> {
        let running = self.running.iter().flatten();
        running
            .map(|running| running.addresses()[0].to_string())
            .collect()
    }

    fn list(&self) -> String {
        self.addresses().join(",")
    }

    fn stop(&mut self, number: usize) {
        let running = self.running[number].take().unwrap();
        assert!(running.shutdown(LONG));
    }

    fn calls(&self) -> Vec<usize> {
        self.members.iter().map(Member::calls).collect()
    }
}

fn number(channel: &blocking::Channel) -> Result<i32, Status> {
    channel.call(NUMBER, ())
}

fn spread(channel: &blocking::Channel, calls: usize) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..calls {
        *counts.entry(number(channel).unwrap()).or_default() += 1;
    }
    counts
}

fn round_robin(target: &str) -> blocking::ChannelBuilder {
    let builder = blocking::Channel::builder(target).unwrap();
    builder.policy(Policy::RoundRobin)
}

/// Calls until all servers of a list have a connection.
fn warm_up(channel: &blocking::Channel, servers: usize) {
    until("all have connections", || {
        number(channel).unwrap();
        let backends = channel.backends();
        let ready = backends.iter().filter(|one| one.state == State::Ready);
        ready.count() == servers
    });
}

/// A file in a folder of its own.
fn file(name: &str) -> std::path::PathBuf {
    let name = format!("dovetail-names-{}-{name}", std::process::id());
    std::env::temp_dir().join(name)
}

/// Two channels of one name, each with calls of its own.
#[test]
fn prometheus_sees_channels() {
    let mut team = Team::of(2);
    let name = file("metrics");
    std::fs::write(&name, team.addresses().join("\n")).unwrap();
    let target = format!("file://{}", name.display());
    let channels = [(); 2].map(|()| round_robin(&target).build());
    let picks = || {
        let backends = channels.iter().flat_map(blocking::Channel::backends);
        backends.map(|one| one.picks).sum::<u64>()
    };
    for channel in &channels {
        warm_up(channel, 2);
    }
    team.stop(1);
    until("it is noticed", || {
        let mut backends = channels.iter().flat_map(blocking::Channel::backends);
        channels.iter().all(|channel| number(channel) == Ok(0))
            && backends
                .all(|one| (one.state == State::Ready) == (one.backend.address == team.list()))
    });
    std::fs::remove_file(&name).unwrap();
    let text = || Statistics::new().prometheus();
    until("the file is missed", || {
        text().contains(&format!(
            "dovetail_client_resolver_failing{{channel=\"{target}\"}} 2\n"
        ))
    });
    let text = text();
    let labels = format!("{{channel=\"{target}\",backend=\"{}\"}}", team.list());
    for (metric, number) in [
        ("dovetail_client_backend_ready", 2),
        ("dovetail_client_backend_ejected", 0),
        ("dovetail_client_backend_calls_in_flight", 0),
    ] {
        assert!(
            text.contains(&format!("{metric}{labels} {number}\n")),
            "{text}"
        );
    }
    let calls = text
        .lines()
        .filter(|line| {
            line.starts_with("dovetail_client_backend_calls_total") && line.contains(&target)
        })
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    assert_eq!(calls.sum::<u64>(), picks());
    assert!(text.contains(&format!(
        "dovetail_client_retry_tokens{{channel=\"{target}\"}} "
    )));
}

#[test]
fn calls_go_to_all_servers_of_a_list() {
    for wire in ["dovetail", "binary+framed", "msgpack-rpc"] {
        let mut team = Team::of(3);
        let channel = round_robin(&team.list())
            .wire(wire.parse().unwrap())
            .build();
        warm_up(&channel, 3);
        assert_eq!(
            spread(&channel, 30),
            BTreeMap::from([(0, 10), (1, 10), (2, 10)]),
            "{wire}"
        );
        team.stop(1);
        let counts = spread(&channel, 30);
        assert_eq!((counts.len(), counts.get(&1)), (2, None), "{wire}");
        let backends = channel.backends();
        assert_eq!(backends.len(), 3);
        assert_ne!(backends[1].state, State::Ready, "{wire}");
        assert!(backends.iter().all(|one| one.in_flight == 0), "{wire}");
        drop(channel);
    }
}

/// gRPC's tools see the channels of a program to the servers of names.
#[cfg(all(
    feature = "grpc",
    feature = "macros",
    feature = "tls",
    feature = "tokens"
))]
#[test]
fn channelz_shows_a_channel_and_its_servers() {
    let mut team = Team::of(2);
    let list = team.list();
    let channel = round_robin(&list).build();
    warm_up(&channel, 2);
    let before: u64 = channel.backends().iter().map(|one| one.picks).sum();
    spread(&channel, 10);
    team.stop(1);
    until("a server that has gone", || {
        let _: Result<i32, Status> = channel.call(NUMBER, ());
        channel.backends()[1].state != State::Ready
    });
    let console = Server::new().admin(&dovetail::admin::Admin::new());
    let console = console
        .listen("tcp://127.0.0.1:0")
        .unwrap()
        .start()
        .unwrap();
    let ask = |method: &str, body: &str| {
        crate::admin::ask_service(&console, "grpc.channelz.v1.Channelz", method, body)
    };
    let all = ask("GetTopChannels", "{}");
    let mut channels = all["channel"].as_array().unwrap().iter();
    let row = channels.find(|row| row["ref"]["name"] == list.as_str());
    let row = row.unwrap_or_else(|| panic!("{all}"));
    assert_eq!(row["data"]["state"]["state"], "READY");
    let started: u64 = row["data"]["callsStarted"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(started >= before + 10, "{row}");
    let by_id = format!("{{\"channelId\": {}}}", row["ref"]["channelId"]);
    assert_eq!(ask("GetChannel", &by_id)["channel"]["ref"], row["ref"]);
    let states: Vec<_> = row["subchannelRef"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subchannel| {
            let by_id = format!("{{\"subchannelId\": {}}}", subchannel["subchannelId"]);
            let one = ask("GetSubchannel", &by_id)["subchannel"].clone();
            assert_eq!(&one["ref"], subchannel);
            one["data"]["state"]["state"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!((states.len(), &*states[0]), (2, "READY"));
    assert_ne!(states[1], "READY");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_loses_no_call() {
    for wire in WIRES {
        let mut team = Team::of(3);
        let builder = Channel::builder(&team.list()).unwrap();
        let channel = builder.wire(wire.parse().unwrap()).build();
        let calls = |channel: Channel| async move {
            for _ in 0..300 {
                let answer: Result<i32, Status> = channel.call(CHANGE, ()).await;
                answer?;
            }
            Ok::<_, Status>(())
        };
        let callers: Vec<_> = (0..8)
            .map(|_| tokio::spawn(calls(channel.clone())))
            .collect();
        tokio::task::block_in_place(|| {
            team.stop(0);
            team.stop(2);
        });
        for caller in callers {
            assert_eq!(caller.await.unwrap(), Ok(()), "{wire}");
        }
        let last: Result<i32, Status> = channel.call(NUMBER, ()).await;
        assert_eq!(last, Ok(1), "{wire}");
    }
}

#[test]
fn an_error_names_all_servers() {
    let mut team = Team::of(3);
    let (list, addresses) = (team.list(), team.addresses());
    for number in 0..3 {
        team.stop(number);
    }
    let channel = round_robin(&list).build();
    let error = number(&channel).unwrap_err();
    assert_eq!(
        (error.code(), error.execution()),
        (Code::Unavailable, Execution::NotSent)
    );
    let begins = format!("none of the 3 servers of {list} can be used: cannot connect to tcp://");
    assert!(error.message().starts_with(&begins), "{error}");
    for address in addresses {
        assert!(
            error
                .message()
                .contains(&format!("to {address}: Connection refused")),
            "{error}"
        );
    }
}

#[test]
fn a_file_is_read_again() {
    let team = Team::of(3);
    let addresses = team.addresses();
    let path = file("servers");
    let target = format!("file://{}", path.display());
    let channel = round_robin(&target).build();
    let missing = number(&channel).unwrap_err();
    let begins = format!(
        "cannot find the servers of {target}: {}: No such file",
        path.display()
    );
    assert!(missing.message().starts_with(&begins), "{missing}");
    std::fs::write(
        &path,
        format!("{} weight=3\n# none\n{}\n", addresses[0], addresses[1]),
    )
    .unwrap();
    until("the file is there", || number(&channel).is_ok());
    warm_up(&channel, 2);
    let counts = spread(&channel, 40);
    assert!((29..=31).contains(&counts[&0]), "{counts:?}");
    // Text that is no list, and a list of nothing, change nothing.
    for broken in ["nonsense\n", ""] {
        std::fs::write(&path, broken).unwrap();
        thread::sleep(Duration::from_millis(600));
        assert_eq!(spread(&channel, 8).len(), 2, "{broken:?}");
    }
    std::fs::write(&path, &addresses[2]).unwrap();
    until("the other server is called", || number(&channel) == Ok(2));
    assert_eq!(spread(&channel, 8), BTreeMap::from([(2, 8)]));
    std::fs::remove_file(&path).unwrap();
}

/// Tells what it is sent.
struct Told(Mutex<mpsc::Receiver<Result<Vec<Backend>, String>>>);

impl Resolver for Told {
    fn name(&self) -> String {
        "what the test says".to_owned()
    }

    fn watch(&self, updates: &Updates) {
        for reported in self.0.lock().unwrap().iter() {
            match reported {
                Ok(backends) => updates.found(Resolution::of(backends)),
                Err(why) => updates.failed(why),
            }
        }
        while updates.wait(Duration::from_secs(1)) {}
    }
}

#[test]
fn a_resolver_of_ones_own_is_asked() {
    let team = Team::of(2);
    let (tell, reported) = mpsc::channel();
    let channel = blocking::Channel::resolved_by(Told(Mutex::new(reported))).build();
    let address = |number: usize| Backend::new(&team.addresses()[number]);
    tell.send(Err("not yet".to_owned())).unwrap();
    until("the failure is told", || {
        let error = number(&channel).unwrap_err();
        error.message() == "cannot find the servers of what the test says: not yet"
    });
    tell.send(Ok(vec![address(0).priority(1), address(1)]))
        .unwrap();
    until("the first priority is called", || number(&channel) == Ok(1));
    tell.send(Err("later".to_owned())).unwrap();
    tell.send(Ok(Vec::new())).unwrap();
    tell.send(Ok(vec![Backend::new("nonsense")])).unwrap();
    settle();
    assert_eq!(spread(&channel, 4), BTreeMap::from([(1, 4)]));
    tell.send(Ok(vec![address(0)])).unwrap();
    until("the other one is called", || number(&channel) == Ok(0));
    drop((tell, channel));
}

#[test]
fn a_key_goes_to_one_server() {
    let team = Team::of(4);
    let channel = blocking::Channel::builder(&team.list()).unwrap();
    let channel = channel
        .policy(Policy::Maglev)
        .hash_by_header("user")
        .build();
    warm_up(&channel, 4);
    let of_user = |user: &str| {
        let counts = spread(&channel.with_header("user", user.to_owned()), 5);
        assert_eq!(counts.len(), 1, "{user}: {counts:?}");
        counts.into_keys().next()
    };
    let servers: std::collections::BTreeSet<_> =
        (0..40).map(|user| of_user(&format!("u{user}"))).collect();
    assert_eq!(servers.len(), 4);
    assert_eq!(
        spread(&channel.with_key("u7"), 5).into_keys().next(),
        of_user("u7")
    );
}

#[test]
fn calls_are_tried_again_as_a_policy_says() {
    let policy = || RetryPolicy::of(3).pauses(Duration::from_millis(1), Duration::from_millis(2));
    type Row = (
        &'static str,
        fn(blocking::ChannelBuilder, RetryPolicy) -> blocking::ChannelBuilder,
        &'static Method,
        i32,
        bool,
    );
    let rows: &[Row] = &[
        ("none", |builder, _| builder, NUMBER, 1, false),
        (
            "idempotent",
            |builder, policy| builder.retry(policy),
            NUMBER,
            2,
            true,
        ),
        (
            "too often",
            |builder, policy| builder.retry(policy),
            NUMBER,
            3,
            false,
        ),
        (
            "not idempotent",
            |builder, policy| builder.retry(policy),
            CHANGE,
            1,
            false,
        ),
        (
            "service",
            |builder, policy| builder.retry_at("Team", policy),
            CHANGE,
            2,
            true,
        ),
        (
            "method",
            |builder, policy| builder.retry_at("Team/change", policy),
            CHANGE,
            2,
            true,
        ),
        (
            "other method",
            |builder, policy| builder.retry_at("Team/number", policy),
            CHANGE,
            1,
            false,
        ),
        (
            "other code",
            |builder, policy| builder.retry_at("Team", policy.codes([Code::Aborted])),
            CHANGE,
            1,
            false,
        ),
    ];
    for wire in ["dovetail", "compact+header"] {
        for (what, configure, method, failures, succeeds) in rows {
            let team = Team::of(1);
            team.members[0].0.failing.store(*failures, Ordering::SeqCst);
            let builder = blocking::Channel::builder(&team.list()).unwrap();
            let builder = builder.wire(wire.parse().unwrap());
            let channel = configure(builder, policy()).build();
            let answer: Result<i32, Status> = channel.call(method, ());
            assert_eq!(answer.is_ok(), *succeeds, "{wire} {what}: {answer:?}");
            let expected = if *succeeds {
                failures + 1
            } else {
                (*failures).min(3)
            };
            assert_eq!(team.calls(), [expected as usize], "{wire} {what}");
        }
    }
}

#[test]
fn a_retry_goes_to_another_server() {
    let team = Team::of(2);
    let channel = round_robin(&team.list())
        .retry(RetryPolicy::of(2))
        .outliers(None)
        .build();
    warm_up(&channel, 2);
    team.members[0].0.failing.store(i32::MAX, Ordering::SeqCst);
    assert_eq!(spread(&channel, 10), BTreeMap::from([(1, 10)]));
}

#[test]
fn retries_end_where_all_servers_fail() {
    let team = Team::of(2);
    for member in &team.members {
        member.0.failing.store(i32::MAX, Ordering::SeqCst);
    }
    let policy = RetryPolicy::of(5).pauses(Duration::from_micros(1), Duration::from_micros(1));
    let channel = round_robin(&team.list()).retry(policy).build();
    for _ in 0..2000 {
        assert!(number(&channel).is_err());
    }
    let calls: usize = team.calls().iter().sum();
    assert!((2000..=2050).contains(&calls), "{calls}");
}

#[tokio::test]
async fn an_attempt_has_its_time_and_a_hedged_call_has_several() {
    for wire in WIRES {
        let team = Team::of(2);
        team.members[0].0.stuck.store(true, Ordering::SeqCst);
        let build = |configure: fn(dovetail::ChannelBuilder) -> dovetail::ChannelBuilder| {
            let builder = Channel::builder(&team.list()).unwrap();
            let builder = builder
                .policy(Policy::RoundRobin)
                .wire(wire.parse().unwrap());
            configure(builder.timeout(LONG).outliers(None)).build()
        };
        let retried = build(|builder| {
            let policy = RetryPolicy::of(2).attempt_timeout(Duration::from_millis(50));
            builder.retry(policy)
        });
        let hedged = build(|builder| {
            builder.hedge_at("Team", HedgingPolicy::of(2, Duration::from_millis(20)))
        });
        for (channel, method) in [(retried, NUMBER), (hedged, CHANGE)] {
            let start = Instant::now();
            for _ in 0..6 {
                let answer: Result<i32, Status> = channel.call(method, ()).await;
                assert_eq!(answer, Ok(1), "{wire} {}", method.name);
            }
            assert!(start.elapsed() < LONG, "{wire}");
            until_async("the stuck calls are given up", {
                let channel = channel.clone();
                move || channel.backends().iter().all(|one| one.in_flight == 0)
            })
            .await;
        }
        assert!(team.calls()[0] >= 2, "{wire}: {:?}", team.calls());
    }
}

#[test]
fn one_that_never_answers_is_ejected() {
    let team = Team::of(3);
    let outliers = |outliers: &mut Outliers| outliers.consecutive_failures = 3;
    let mut settings = Outliers::default();
    outliers(&mut settings);
    let channel = round_robin(&team.list())
        .outliers(settings)
        .timeout(Duration::from_millis(40))
        .build();
    warm_up(&channel, 3);
    team.members[1].0.stuck.store(true, Ordering::SeqCst);
    let failed = (0..60).filter(|_| number(&channel).is_err()).count();
    assert_eq!(failed, 3);
    let backends = channel.backends();
    assert_eq!(
        backends.iter().map(|one| one.ejected).collect::<Vec<_>>(),
        [false, true, false]
    );
    assert_eq!(backends[1].ejections, 1);
}

#[test]
fn calls_wait_for_a_server_where_they_are_told() {
    let mut team = Team::of(1);
    let (list, address) = (format!("{0},{0}", team.list()), team.list());
    team.stop(0);
    let channel = round_robin(&list)
        .wait_for_ready(true)
        .timeout(LONG)
        .build();
    let waiting = thread::spawn({
        let channel = channel.clone();
        move || number(&channel)
    });
    thread::sleep(Duration::from_millis(200));
    assert!(!waiting.is_finished());
    let running = start_at(&team.members[0], &address);
    assert_eq!(waiting.join().unwrap(), Ok(0));
    let short = channel.with_timeout(Duration::from_millis(50));
    assert!(running.shutdown(LONG));
    let late = number(&short).unwrap_err();
    assert!(
        matches!(late.code(), Code::Unavailable | Code::DeadlineExceeded),
        "{late}"
    );
}

/// A listener that counts connections, and closes them at once.
fn closing() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    thread::spawn(move || {
        for socket in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(socket);
        }
    });
    (address, count)
}

#[test]
fn servers_that_are_down_are_not_stormed() {
    let refused: Vec<_> = (0..2)
        .map(|_| {
            TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
        })
        .map(|address| format!("tcp://{address}"))
        .collect();
    let channel = round_robin(&refused.join(",")).build();
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let channel = channel.clone();
            thread::spawn(move || {
                let start = Instant::now();
                let mut failed = 0;
                while start.elapsed() < Duration::from_millis(500) {
                    failed += usize::from(number(&channel).is_err());
                    thread::sleep(Duration::from_micros(100));
                }
                failed
            })
        })
        .collect();
    let failed: usize = callers
        .into_iter()
        .map(|caller| caller.join().unwrap())
        .sum();
    assert!(failed > 100, "{failed}");
    // One that takes connections and closes them is no reason to connect all the time, either.
    let (address, connections) = closing();
    let channel = round_robin(&format!("{address},{}", refused[0])).build();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        assert!(number(&channel).is_err());
    }
    let connections = connections.load(Ordering::SeqCst);
    assert!(connections < 50, "{connections}");
}

/// An address that asks for TLS is not called without it.
#[cfg(feature = "tls")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_of_a_list_ask_for_tls() {
    let team = Team::of(1);
    let address = team.list().replace("tcp://", "tls://");
    let list = format!("{address},tls://127.0.0.1:1");
    let error = tokio::task::block_in_place(|| number(&round_robin(&list).build())).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    for wire in ["dovetail", "grpc"] {
        let builder = Channel::builder(&list).unwrap();
        let channel = builder.wire(wire.parse().unwrap()).build();
        let answer: Result<i32, Status> = channel.call(NUMBER, ()).await;
        assert_eq!(answer.unwrap_err().code(), Code::Unavailable, "{wire}");
    }
    assert_eq!(team.calls(), [0]);
}

#[test]
fn targets_that_are_none_are_refused() {
    let rows = [
        (
            "tcp://a:1,nonsense",
            "`tcp://a:1,nonsense`: `nonsense` is no address",
        ),
        ("file://", "`file://`: write file:///path/to/a/list"),
    ];
    for (target, expected) in rows {
        let error = blocking::Channel::builder(target).map(drop).unwrap_err();
        assert!(error.message().starts_with(expected), "{error}");
    }
}

/// A limit for each server sends calls elsewhere, and refuses those that no server has room for.
#[tokio::test]
async fn a_server_has_as_many_calls_as_it_may() {
    // Wires that cancel calls, one for each kind of connection.
    for wire in ["dovetail", "grpc"] {
        let team = Team::of(2);
        let builder = Channel::builder(&team.list()).unwrap();
        let channel = builder
            .wire(wire.parse().unwrap())
            .policy(Policy::PickFirst)
            .calls_per_server(3)
            .build();
        let call = || channel.call::<_, i32, Status>(NUMBER, ());
        assert_eq!(call().await, Ok(0), "{wire}");
        team.members[0].0.stuck.store(true, Ordering::SeqCst);
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(call())).collect();
        for call in &mut waiting {
            let pending = tokio::time::timeout(Duration::from_millis(1), call).await;
            assert!(pending.is_err(), "{wire}");
        }
        // The other one is not connected to, as the first can be reached.
        let refused = call().await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{wire}");
        assert_eq!(refused.execution(), Execution::NotSent, "{wire}");
        assert!(refused.message().contains("has 3 calls"), "{refused}");
        drop(waiting);
        team.members[0].0.stuck.store(false, Ordering::SeqCst);
        assert_eq!(call().await, Ok(0), "{wire}");
    }
    let team = Team::of(3);
    let channel = Channel::builder(&team.list()).unwrap();
    let channel = channel
        .policy(Policy::RoundRobin)
        .calls_per_server(1)
        .build();
    let call = || channel.call::<_, i32, Status>(NUMBER, ());
    while channel
        .backends()
        .iter()
        .filter(|one| one.state == State::Ready)
        .count()
        < 3
    {
        call().await.unwrap();
    }
    team.members[1].0.stuck.store(true, Ordering::SeqCst);
    let mut stuck = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..30 {
        let mut call = Box::pin(call());
        match tokio::time::timeout(LONG / 100, &mut call).await {
            Ok(answer) => answers.push(answer.unwrap()),
            Err(_) => stuck.push(call),
        }
    }
    assert_eq!(
        (stuck.len(), answers.contains(&1)),
        (1, false),
        "{answers:?}"
    );
}

/// Calls that find no server wait, up to a limit.
#[tokio::test]
async fn no_more_calls_wait_than_may() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let channel = Channel::builder(&format!("tcp://{address},tcp://{address}")).unwrap();
    let channel = channel.wait_for_ready(true).waiting_calls(2).build();
    let call = || channel.call::<_, i32, Status>(NUMBER, ());
    let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(call())).collect();
    for call in &mut waiting {
        let pending = tokio::time::timeout(Duration::from_millis(20), call).await;
        assert!(pending.is_err());
    }
    let refused = call().await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(
        refused.message().contains("2 calls wait for a server"),
        "{refused}"
    );
    // One that has given up makes room.
    waiting.pop();
    let pending = tokio::time::timeout(Duration::from_millis(20), call()).await;
    assert!(pending.is_err());
}
