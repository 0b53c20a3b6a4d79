//! How long tower's choice of a server takes.

use futures_util::task::noop_waker;
use serde_json::json;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use tower::Service;
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PendingRequests};

const ENDPOINTS: usize = 1000;
const TIME: Duration = Duration::from_secs(2);

/// A server that has answered.
struct Endpoint;

impl Service<()> for Endpoint {
    type Response = ();
    type Error = Infallible;
    type Future = Ready<Result<(), Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

/// Prints a line for each number of threads. A balancer of tower's belongs to one thread: each has
/// its own.
pub fn picks() {
    for threads in [2, 16] {
        let begin = Instant::now();
        let counts: Vec<_> = (0..threads).map(|_| thread::spawn(pick)).collect();
        let total: u64 = counts.into_iter().filter_map(|thread| thread.join().ok()).sum();
        let nanoseconds = begin.elapsed().as_nanos() as f64 / total as f64;
        println!("{}", json!({"system": "tower p2c", "threads": threads, "nanoseconds": nanoseconds}));
    }
}

fn pick() -> u64 {
    let endpoints = (0..ENDPOINTS).map(|_| PendingRequests::new(Endpoint, CompleteOnResponse::default()));
    let mut balance = Balance::new(ServiceList::new::<()>(endpoints));
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    let (end, mut count) = (Instant::now() + TIME, 0);
    while Instant::now() < end {
        for _ in 0..1000 {
            if let Poll::Ready(Ok(())) = balance.poll_ready(&mut context) {
                drop(balance.call(()));
                count += 1;
            }
        }
    }
    count
}
