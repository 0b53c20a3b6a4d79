//! Five servers under 1,000 calls a second: they are restarted one after the other, killed, slow,
//! silent, out of reach.

use crate::peer::{MODELS, Role, ready};
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::names::{BackendStatus, Policy};
use dovetail::server::{Call, HandlerFuture};
use dovetail::status::Execution;
use dovetail::{Channel, ChannelBuilder, Context, Server, Service, Status, descriptor};
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

descriptor!(static FLEET = "Fleet" {
    read() -> i32 [idempotent];
    write() -> i32;
});

const READ: &Method = &FLEET.methods[0];
const WRITE: &Method = &FLEET.methods[1];

const WIRES: &[&str] = &["dovetail", "grpc", "binary+framed"];
const SERVERS: usize = 5;
const PACE: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(20);

/// The time of a call, and that at a slow server.
const WORK: Duration = Duration::from_millis(2);
const SLOW: Duration = Duration::from_millis(100);

struct Fleet(Duration);

impl Service for Fleet {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &FLEET
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |_: Context, ()| async move {
            tokio::time::sleep(self.0).await;
            Ok::<i32, Status>(1)
        })
    }
}

/// Serves until its standard input ends, and lets calls that run come to their end.
pub(crate) fn serve(address: &str, slow: bool) {
    let fleet = Fleet(if slow { SLOW } else { WORK });
    let server = Server::new().service(fleet).model(MODELS[1]);
    let running = server.listen(address).unwrap().start().unwrap();
    ready();
    let _ = std::io::stdin().read(&mut [0]);
    assert!(running.shutdown(LONG));
}

/// Processes, each with a port that it keeps.
struct Servers {
    places: Vec<String>,
    processes: Vec<Option<Child>>,
}

impl Servers {
    /// `slow` is the number of the one that is slow.
    fn start(slow: Option<usize>) -> Self {
        let listeners: Vec<_> = (0..SERVERS)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let place = |listener: &TcpListener| format!("tcp://{}", listener.local_addr().unwrap());
        let places = listeners.iter().map(place).collect();
        drop(listeners);
        let mut servers = Servers {
            places,
            processes: Vec::new(),
        };
        for number in 0..SERVERS {
            let process = servers.process(number, slow == Some(number));
            servers.processes.push(Some(process));
        }
        servers
    }

    fn process(&self, number: usize, slow: bool) -> Child {
        let role = if slow { Role::SlowFleet } else { Role::Fleet };
        let mut command = Command::new(crate::peer::program());
        role.start_by(command.stdin(Stdio::piped()), 1, &self.places[number])
    }

    /// Lets one come to its end.
    fn stop(&mut self, number: usize) {
        let mut process = self.processes[number].take().unwrap();
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success());
    }

    fn kill(&mut self, number: usize) {
        let mut process = self.processes[number].take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn restart(&mut self, number: usize) {
        self.processes[number] = Some(self.process(number, false));
    }

    fn list(&self) -> String {
        self.places.join(",")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().flatten() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// How the calls of a run have ended.
struct Outcomes {
    made: usize,
    failed: Vec<Status>,
    times: Vec<Duration>,
    backends: Vec<BackendStatus>,
}

impl Outcomes {
    fn p95(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times
            .get(times.len() * 95 / 100)
            .copied()
            .unwrap_or_default()
    }

    #[track_caller]
    fn none_failed(&self, what: &str) {
        let (failed, made) = (self.failed.len(), self.made);
        let first = self.failed.first();
        assert!(
            failed == 0,
            "{what}: {failed} of {made} calls failed: {first:?}"
        );
    }
}

fn channel(list: &str, wire: &str) -> ChannelBuilder {
    let builder = Channel::builder(list).unwrap();
    builder.wire(wire.parse().unwrap()).timeout(LONG)
}

/// Calls each millisecond while something happens to the servers. Its result is kept until all
/// calls have ended.
async fn load<T>(
    channel: &Channel,
    method: &'static Method,
    meanwhile: impl Future<Output = T>,
) -> Outcomes {
    let call = |channel: Channel| async move {
        let start = Instant::now();
        let answer: Result<i32, Status> = channel.call(method, ()).await;
        (answer, start.elapsed())
    };
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    tokio::pin!(meanwhile);
    let _kept = loop {
        tokio::select! {
            kept = &mut meanwhile => break kept,
            _ = pace.tick() => {
                calls.spawn(call(channel.clone()));
            }
        }
    };
    let made = calls.len();
    let answers = calls.join_all().await;
    let (mut failed, mut times) = (Vec::new(), Vec::new());
    for (answer, time) in answers {
        match answer {
            Ok(_) => times.push(time),
            Err(status) => failed.push(status),
        }
    }
    Outcomes {
        made,
        failed,
        times,
        backends: channel.backends(),
    }
}

/// Connects to all servers.
async fn warm_up(channel: &Channel, ready: usize) {
    let start = Instant::now();
    loop {
        let answer: Result<i32, Status> = channel.call(READ, ()).await;
        answer.unwrap();
        let backends = channel.backends();
        let connected = backends
            .iter()
            .filter(|one| one.state == dovetail::names::State::Ready);
        if connected.count() >= ready {
            return;
        }
        assert!(start.elapsed() < LONG, "{backends:?}");
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

async fn rolling_restart(wire: &str) {
    let mut servers = Servers::start(None);
    let channel = channel(&servers.list(), wire).build();
    warm_up(&channel, SERVERS).await;
    let restarts = async {
        for number in 0..SERVERS {
            servers = blocking(move || {
                servers.stop(number);
                servers.restart(number);
                servers
            })
            .await;
            sleep(Duration::from_millis(100)).await;
        }
        servers
    };
    let outcomes = load(&channel, WRITE, restarts).await;
    outcomes.none_failed(&format!("{wire}, restarted"));
    println!(
        "fleet, {wire}: 5 restarts, {} calls, none failed",
        outcomes.made
    );
}

/// Servers are killed amid calls: those that may have run fail, and no others; none where they may
/// run twice.
async fn kills(wire: &str, method: &'static Method) {
    let mut servers = Servers::start(None);
    let channel = channel(&servers.list(), wire).build();
    warm_up(&channel, SERVERS).await;
    let kills = async {
        for number in 0..4 {
            servers = blocking(move || {
                servers.kill(number);
                servers
            })
            .await;
            sleep(Duration::from_millis(300)).await;
            servers = blocking(move || {
                servers.restart(number);
                servers
            })
            .await;
            sleep(Duration::from_millis(200)).await;
        }
        servers
    };
    let outcomes = load(&channel, method, kills).await;
    let what = format!("{wire}, killed, {}", method.name);
    if method.idempotent {
        outcomes.none_failed(&what);
    }
    for status in &outcomes.failed {
        assert_eq!(
            status.execution(),
            Execution::MayHaveRun,
            "{what}: {status}"
        );
    }
    // 200 calls a second and server, of 2 ms each, and some room for a busy machine.
    let failed = outcomes.failed.len();
    assert!(
        failed <= 4 * 20,
        "{what}: {failed} of {} calls failed",
        outcomes.made
    );
    println!("fleet, {what}: {failed} of {} calls failed", outcomes.made);
}

async fn one_is_slow(wire: &str) {
    let healthy = {
        let servers = Servers::start(None);
        let channel = channel(&servers.list(), wire).build();
        warm_up(&channel, SERVERS).await;
        load(&channel, READ, sleep(Duration::from_secs(2))).await
    };
    let servers = Servers::start(Some(2));
    let channel = channel(&servers.list(), wire).build();
    warm_up(&channel, SERVERS).await;
    load(&channel, READ, sleep(Duration::from_secs(1)))
        .await
        .none_failed(wire);
    // If the machine itself has stalled, all servers were slow.
    for _ in 0..3 {
        let before = channel.backends()[2].picks;
        let outcomes = load(&channel, READ, sleep(Duration::from_secs(2))).await;
        outcomes.none_failed(wire);
        let picks = outcomes.backends[2].picks - before;
        println!(
            "fleet, {wire}: one 50 times slower gets {picks} of {} calls; p95 {:?}, without it {:?}",
            outcomes.made,
            outcomes.p95(),
            healthy.p95()
        );
        if (picks as f64) < 0.003 * outcomes.made as f64 {
            return;
        }
    }
    panic!("{wire}: the slow one has its share");
}

/// Takes connections, reads nothing and answers nothing.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    let taking = listener.try_clone().unwrap();
    std::thread::spawn(move || {
        let taken: Vec<_> = taking.incoming().collect();
        drop(taken);
    });
    (listener, place)
}

/// One takes connections and never answers. Turns eject it; by latency it hardly gets a call.
async fn one_is_silent(wire: &str) {
    let servers = Servers::start(None);
    let (_listener, place) = silent();
    let list = format!("{},{place}", servers.list());
    for (policy, most) in [(Policy::RoundRobin, 150), (Policy::default(), 15)] {
        let name = policy.name();
        let builder = channel(&list, wire).timeout(Duration::from_millis(300));
        let channel = builder.policy(policy.clone()).build();
        // A call that goes to the silent one while the others are connected to is lost.
        let _: Result<i32, Status> = channel.call(READ, ()).await;
        let outcomes = load(&channel, READ, sleep(Duration::from_secs(2))).await;
        let backends = outcomes.backends.iter();
        let ejected: Vec<_> = backends.filter(|one| one.ejected).collect();
        let failed = outcomes.failed.len();
        let what = format!(
            "{wire}, {name}: one never answers: {failed} of {} calls failed",
            outcomes.made
        );
        assert!(failed <= most, "{what}");
        if policy == Policy::RoundRobin {
            assert_eq!(ejected.len(), 1, "{what}");
            assert_eq!(ejected[0].backend.address, place, "{what}");
        }
        println!("fleet, {what}");
    }
}

/// One cannot be reached, and nothing says so: its queue of connections is full.
async fn one_is_out_of_reach(wire: &str) {
    let servers = Servers::start(None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let socket = || {
        let limit = Duration::from_millis(50);
        std::net::TcpStream::connect_timeout(&address, limit)
    };
    let _full: Vec<_> = std::iter::from_fn(|| socket().ok()).take(16).collect();
    let list = format!("{},tcp://{address}", servers.list());
    let channel = channel(&list, wire).build();
    warm_up(&channel, SERVERS).await;
    let outcomes = load(&channel, WRITE, sleep(Duration::from_secs(1))).await;
    outcomes.none_failed(&format!("{wire}, out of reach"));
}

pub(crate) fn test() {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    for wire in WIRES {
        runtime.block_on(async {
            rolling_restart(wire).await;
            kills(wire, WRITE).await;
            kills(wire, READ).await;
            one_is_slow(wire).await;
            one_is_silent(wire).await;
            one_is_out_of_reach(wire).await;
        });
    }
}
