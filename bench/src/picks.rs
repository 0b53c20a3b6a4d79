//! How long the choice of a server takes, beside that of peers.

use clap::Parser;
use dovetail_balance::{Backend, Balancer, LeastRequest, Outcome, Policy, Settings};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

/// The servers that a pick chooses from.
const ENDPOINTS: usize = 1000;

/// How long each row picks.
const TIME: Duration = Duration::from_secs(2);

/// The options of `dovetail-bench picks`.
#[derive(Parser)]
pub(crate) struct Options {
    /// A program of a peer, which prints its own rows.
    #[arg(long)]
    program: Vec<PathBuf>,
}

/// The time of a pick.
#[derive(Deserialize, Serialize)]
struct Row {
    system: String,
    threads: usize,
    nanoseconds: f64,
}

/// Measures our policies and those of the peers, and prints a table.
pub(crate) fn picks(options: &Options) -> ExitCode {
    let mut rows: Vec<Row> = policies().into_iter().flat_map(measure).collect();
    for program in &options.program {
        match of_peer(program) {
            Ok(others) => rows.extend(others),
            Err(why) => eprintln!("left out: {}: {why}", program.display()),
        }
    }
    println!("nanoseconds of a pick among {ENDPOINTS} servers, with its end\n");
    println!("| system | threads | ns |\n|---|---:|---:|");
    for row in rows {
        println!(
            "| {} | {} | {:.1} |",
            row.system, row.threads, row.nanoseconds
        );
    }
    ExitCode::SUCCESS
}

fn policies() -> [Policy; 3] {
    [
        Policy::RoundRobin,
        Policy::LeastRequest(LeastRequest::default()),
        Policy::Maglev,
    ]
}

fn measure(policy: Policy) -> [Row; 2] {
    let system = format!("dovetail {}", policy.name());
    let now = Instant::now();
    let settings = Settings {
        policy,
        ..Settings::default()
    };
    let balancer = Balancer::new(settings, now);
    let backends = (0..ENDPOINTS).map(|number| Backend::new(format!("tcp://10.0.0.{number}:9090")));
    balancer.update(now, backends.collect(), |_| Some(()));
    for endpoint in balancer.to_connect(now) {
        balancer.ready(now, &endpoint);
    }
    [2, 16].map(|threads| Row {
        system: system.clone(),
        threads,
        nanoseconds: time(&balancer, threads),
    })
}

/// The time of a pick in nanoseconds, of all threads together.
fn time(balancer: &Balancer<()>, threads: usize) -> f64 {
    let begin = Instant::now();
    let total: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| pick(balancer)))
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .sum()
    });
    begin.elapsed().as_nanos() as f64 / total as f64
}

fn pick(balancer: &Balancer<()>) -> u64 {
    let (end, mut count) = (Instant::now() + TIME, 0);
    while Instant::now() < end {
        for key in 0..1000 {
            // As a channel does it: the clock is read at both ends of a call.
            if let Some(picked) = balancer.pick(Instant::now(), Some(key), &[]) {
                picked.done(Instant::now(), Outcome::Succeeded);
                count += 1;
            }
        }
    }
    count
}

fn of_peer(program: &Path) -> Result<Vec<Row>, String> {
    let output = Command::new(program).arg("picks").output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}
