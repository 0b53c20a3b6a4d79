//! A client of several servers. It calls a method each millisecond for some time, while servers come and go, and says which of them
//! have answered.
//!
//! ```text
//! cargo run -p example-balancing -- tcp://10.0.0.1:9090,tcp://10.0.0.2:9090 --wire grpc --policy round_robin --seconds 10
//! ```
//!
//! The servers have `fleet.v1.Fleet` with the methods `read`, which may run twice, and `write`. Each answers with its number.

use clap::Parser;
use dovetail::names::Policy;
use dovetail::{Channel, Code, Method, RetryPolicy, Status, Wire, descriptor};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

descriptor!(static FLEET = "Fleet" in "fleet.v1" {
    /// The number of the server.
    read() -> i32 [idempotent];
    /// The same; it may not run twice.
    write() -> i32;
});

const READ: &Method = &FLEET.methods[0];
const WRITE: &Method = &FLEET.methods[1];

/// Call several servers, and count who answers
#[derive(Parser)]
struct Options {
    /// The name: addresses with commas between them, `file:///…`, `dns:///…`
    name: String,
    #[arg(long, default_value = "dovetail")]
    wire: Wire,
    #[arg(long, default_value = "least_request")]
    policy: Policy,
    /// How long it calls
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Call the method that may not run twice
    #[arg(long)]
    write: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => {
            eprintln!("{status}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Status> {
    // A stock gRPC server in Python cancels calls that come while it ends, instead of refusing them.
    let retries = RetryPolicy::of(3).codes([Code::Unavailable, Code::Cancelled]);
    let channel = Channel::builder(&options.name)?
        .wire(options.wire)
        .policy(options.policy.clone())
        .retry(retries)
        .build();
    let method = if options.write { WRITE } else { READ };
    let ends = Instant::now() + Duration::from_secs_f64(options.seconds);
    let mut pace = interval(Duration::from_millis(1));
    let mut calls = JoinSet::new();
    while Instant::now() < ends {
        pace.tick().await;
        let channel = channel.clone();
        calls.spawn(async move { channel.call::<_, i32, Status>(method, ()).await });
    }
    let (mut answers, mut failures) = (BTreeMap::new(), Vec::new());
    for answer in calls.join_all().await {
        match answer {
            Ok(number) => *answers.entry(number).or_insert(0) += 1,
            Err(status) => failures.push(status),
        }
    }
    for (number, calls) in answers {
        println!("server {number}: {calls} calls");
    }
    println!("failed: {}", failures.len());
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
