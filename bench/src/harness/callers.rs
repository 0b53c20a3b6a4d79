//! Callers: all start together, each makes its share of the calls, one after the other.

use super::{Client, Failure, Load, Report, Request, Response};
use std::io::BufRead;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The kind of callers: threads or tasks.
pub(crate) enum Runner<'a> {
    Threads,
    Tasks(&'a Runtime),
}

/// The part of one caller.
#[derive(Clone)]
struct Part {
    request: Arc<Request>,
    expected: Arc<Response>,
    number: usize,
    callers: usize,
    calls: usize,
    warmup: usize,
    rate: Option<f64>,
    limit: Duration,
    /// Passed once before the line on standard input, and once after it.
    start: Arc<Start>,
    done: mpsc::Sender<Result<Times, Failure>>,
}

/// The barrier at which callers wait for one another. Tasks wait by asking again, so that they do
/// not hold up a thread.
enum Start {
    Threads(Barrier),
    Tasks(tokio::sync::Barrier),
}

impl Start {
    async fn wait(&self) {
        match self {
            Start::Threads(barrier) => _ = barrier.wait(),
            Start::Tasks(barrier) => _ = barrier.wait().await,
        }
    }
}

/// The measurements of one caller.
pub(super) struct Times {
    /// The time of each call, in nanoseconds. A histogram for each caller would be out of the cache
    /// at most calls.
    pub(super) latencies: Vec<u64>,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// Lets a caller with each of these clients warm up, waits for a line on standard input, and
/// measures.
pub(crate) fn measure<C: Client>(
    load: &Load,
    runner: Runner<'_>,
    clients: Vec<C>,
) -> Result<Report, Failure> {
    let everybody = load.clients + 1;
    let start = Arc::new(match runner {
        Runner::Threads => Start::Threads(Barrier::new(everybody)),
        Runner::Tasks(_) => Start::Tasks(tokio::sync::Barrier::new(everybody)),
    });
    let (done, results) = mpsc::channel();
    let part = Part {
        expected: Arc::new(load.request.response()),
        request: Arc::new(load.request.clone()),
        number: 0,
        callers: load.clients,
        calls: 0,
        warmup: load.warmup,
        rate: load.rate,
        limit: load.limit,
        start: start.clone(),
        done,
    };
    for (number, client) in clients.into_iter().enumerate() {
        let part = Part {
            number,
            calls: load.calls / load.clients + usize::from(number < load.calls % load.clients),
            ..part.clone()
        };
        match runner {
            Runner::Threads => {
                thread::spawn(|| futures_executor::block_on(caller(client, part)));
            }
            Runner::Tasks(runtime) => drop(runtime.spawn(caller(client, part))),
        }
    }
    drop(part);
    futures_executor::block_on(start.wait());
    println!("READY");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let report = Report::begin()?;
    futures_executor::block_on(start.wait());
    let times: Result<Vec<Times>, Failure> = results.iter().collect();
    report.end(&times?)
}

async fn caller<C: Client>(mut client: C, part: Part) {
    let measured = part.run(&mut client).await;
    // The measuring thread is there until it has heard of everybody.
    let _ = part.done.send(measured);
}

impl Part {
    async fn run<C: Client>(&self, client: &mut C) -> Result<Times, Failure> {
        let warm = self.warm_up(client).await;
        // Also after a failure: the others wait.
        self.start.wait().await;
        self.start.wait().await;
        warm?;
        let mut latencies = Vec::new();
        let began = Instant::now();
        let (mut ended, mut last) = (began, None);
        for call in 0..self.calls {
            // Nobody keeps an answer beyond the next call: its memory would not be there for that
            // one's.
            if let Some(done) = last.take() {
                client.recycle(done);
            }
            let due = self.due(began, call).await;
            let response = client.call(&self.request).await?;
            ended = Instant::now();
            latencies.push((ended - due).as_nanos() as u64);
            last = Some(response);
            if ended - began >= self.limit {
                break;
            }
        }
        if let Some(response) = last {
            self.check(client, &response)?;
        }
        Ok(Times {
            latencies,
            began,
            ended,
        })
    }

    async fn warm_up<C: Client>(&self, client: &mut C) -> Result<(), Failure> {
        let began = Instant::now();
        for _ in 1..self.warmup {
            client.call(&self.request).await?;
            if began.elapsed() >= self.limit {
                break;
            }
        }
        let response = client.call(&self.request).await?;
        self.check(client, &response)
    }

    fn check(&self, client: &impl Client, response: &Response) -> Result<(), Failure> {
        match client.check(response, &self.expected) {
            true => Ok(()),
            false => Err(Failure::Failed(format!(
                "a wrong result of {:.80}",
                format!("{:?}", self.request)
            ))),
        }
    }

    /// When this call is due: at once, or at its time, for which it waits.
    async fn due(&self, began: Instant, call: usize) -> Instant {
        let Some(rate) = self.rate else {
            return Instant::now();
        };
        let place = (call * self.callers + self.number) as f64;
        let due = began + Duration::from_secs_f64(place / rate);
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            match &*self.start {
                Start::Threads(_) => thread::sleep(early),
                Start::Tasks(_) => tokio::time::sleep(early).await,
            }
        }
        due
    }
}
