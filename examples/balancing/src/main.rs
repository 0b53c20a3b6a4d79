//! Several servers and a client of theirs. The client calls a method each millisecond for some
//! time, while servers come and go, and says which of them have answered.
//!
//! ```text
//! cargo run -p example-balancing -- serve 1 --register etcd://127.0.0.1:2379/services/fleet
//! cargo run -p example-balancing -- call etcd://127.0.0.1:2379/services/fleet --policy round_robin --seconds 10
//! cargo run -p example-balancing -- call tcp://10.0.0.1:9090,tcp://10.0.0.2:9090 --wire grpc
//! ```
//!
//! Servers have `fleet.v1.Fleet` with the methods `read`, which may run twice, and `write`. Each
//! answers with its number.

use clap::{Args, Parser};
use dovetail::client::RetryPolicy;
use dovetail::method::{Method, ServiceDescriptor};
use dovetail::names::{HealthCheck, Policy, Registration};
use dovetail::server::{Call, HandlerFuture, LoadReports};
use dovetail::{Channel, Code, Context, Server, Service, Status, Wire, descriptor};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

descriptor!(static FLEET = "Fleet" in "fleet.v1" {
    /// The number of the server.
    read() -> i32 [idempotent];
    /// Writes; it may not run twice.
    write() -> i32;
});

const READ: &Method = &FLEET.methods[0];
const WRITE: &Method = &FLEET.methods[1];

/// Several servers, and a client that counts which of them have answered
#[derive(Parser)]
enum Options {
    Call(Client),
    Serve(Fleet),
}

/// Call several servers, and count who answers
#[derive(Args)]
struct Client {
    /// The name: addresses with commas between them, `file:///…`, `dns:///…`, `etcd://…`
    name: String,
    #[arg(long, default_value = "dovetail")]
    wire: Wire,
    #[arg(long, default_value = "least_request")]
    policy: Policy,
    /// gRPC's service config, in JSON
    #[arg(long)]
    service_config: Option<String>,
    /// Check the servers by gRPC's health checks
    #[arg(long)]
    health: bool,
    /// Check the servers by a method
    #[arg(long)]
    ping: Option<String>,
    /// How long it calls
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Call the method that may not run twice
    #[arg(long)]
    write: bool,
    /// Milliseconds that one attempt may take
    #[arg(long)]
    attempt: Option<u64>,
}

/// Answer with a number, until SIGTERM
#[derive(Args)]
struct Fleet {
    number: i32,
    #[arg(long, default_value = "tcp://127.0.0.1:0")]
    listen: String,
    /// The name at which it registers: `etcd://…`
    #[arg(long)]
    register: Option<String>,
    /// How many seconds the registry remembers it without a word
    #[arg(long, default_value_t = 10)]
    ttl: u64,
    /// Report this part of its capacity as in use, with each answer over gRPC
    #[arg(long)]
    utilization: Option<f64>,
    /// Milliseconds that each call takes
    #[arg(long, default_value_t = 0)]
    delay: u64,
    /// Refuse all calls: the server cannot answer now
    #[arg(long)]
    refuse: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match Options::parse() {
        Options::Call(client) => call(&client).await.map_err(Into::into),
        Options::Serve(fleet) => serve(fleet).await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Service for Fleet {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &FLEET
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((), |_: Context, ()| async move {
            tokio::time::sleep(Duration::from_millis(self.delay)).await;
            match self.refuse {
                true => Err(Status::unavailable("not today")),
                false => Ok::<i32, Status>(self.number),
            }
        })
    }
}

async fn serve(fleet: Fleet) -> Result<(), Box<dyn Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let listen = fleet.listen.clone();
    let registration = fleet.register.as_deref().map(Registration::new);
    let ttl = Duration::from_secs(fleet.ttl);
    let load = LoadReports::default();
    load.set_utilization(fleet.utilization);
    let mut server = Server::new().load_reports(&load).service(fleet);
    if let Some(registration) = registration.transpose()? {
        server = server.register(registration.ttl(ttl));
    }
    let running = server.listen(&listen)?.start()?;
    println!("{}", running.addresses()[0]);
    terminated.recv().await;
    println!("answered: {}", running.counters().calls);
    tokio::task::spawn_blocking(move || running.shutdown(Duration::from_secs(10))).await?;
    Ok(())
}

async fn call(options: &Client) -> Result<(), Status> {
    // A stock gRPC server in Python cancels calls that come while it ends, instead of refusing
    // them.
    let mut retries = RetryPolicy::of(3).codes([Code::Unavailable, Code::Cancelled]);
    if let Some(attempt) = options.attempt {
        retries = retries.attempt_timeout(Duration::from_millis(attempt));
    }
    let mut builder = Channel::builder(&options.name)?
        .wire(options.wire)
        .policy(options.policy.clone())
        .retry(retries);
    if let Some(config) = &options.service_config {
        builder = builder.service_config(config)?;
    }
    let ping = options.ping.as_deref().map(HealthCheck::method);
    if let Some(check) = ping.or(options.health.then(|| HealthCheck::health(""))) {
        builder = builder.health_check(check.every(Duration::from_millis(100)));
    }
    let channel = builder.build();
    let method = if options.write { WRITE } else { READ };
    let began = Instant::now();
    let ends = began + Duration::from_secs_f64(options.seconds);
    let mut pace = interval(Duration::from_millis(1));
    let mut calls = JoinSet::new();
    while Instant::now() < ends {
        let due = pace.tick().await;
        let channel = channel.clone();
        calls.spawn(async move {
            let answer = channel.call::<_, i32, Status>(method, ()).await;
            (due - began, due.elapsed(), answer)
        });
    }
    let (mut answers, mut late, mut failures) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let mut times = Vec::new();
    for (due, time, answer) in calls.join_all().await {
        let settled = due >= Duration::from_secs(1);
        match answer {
            Ok(number) => {
                *answers.entry(number).or_insert(0) += 1;
                if settled {
                    *late.entry(number).or_insert(0) += 1;
                    times.push(time);
                }
            }
            Err(status) => failures.push(status),
        }
    }
    for (number, calls) in answers {
        println!("server {number}: {calls} calls");
    }
    println!("failed: {}", failures.len());
    times.sort();
    println!(
        "after a second: {late:?}, p95 {:?}",
        times.get(times.len() * 95 / 100)
    );
    for status in failures.iter().take(5) {
        println!("  {status}");
    }
    for server in channel.backends() {
        let (address, state) = (server.backend.address, server.state);
        let ejected = if server.ejected { ", ejected" } else { "" };
        println!("{address}: {state:?}{ejected}, {} picks", server.picks);
    }
    Ok(())
}
