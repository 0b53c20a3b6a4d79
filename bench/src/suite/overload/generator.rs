//! Callers that call at fixed times.

use super::super::Result;
use super::super::report::overload::{Point, Times};
use super::CALL;
use super::stalls::Stall;
use crate::peer::contract::bench::{BenchClient, Row};
use dovetail::{Channel, Code, Status, descriptor, message};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

/// How calls are made.
pub(super) enum Caller {
    /// By the contract in Thrift, over this wire.
    Contract(&'static str),
    /// By that in protobuf, over gRPC.
    Proto,
}

/// Connections: on some wires calls wait for each other on one.
const CONNECTIONS: usize = 256;

/// A call that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(5);

/// A refusal that takes longer is late.
const LATE: Duration = Duration::from_millis(10);

/// Calls of the beginning that do not count, as a part of all.
const WARMUP: f64 = 0.2;

#[derive(Clone, Debug, Default, PartialEq)]
struct WorkRequest {
    rows: i32,
    wait_ms: i32,
}

message!(WorkRequest { 1 rows: i32, 2 wait_ms: i32, });

#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    rows: Vec<Row>,
}

message!(Rows { 1 rows: Vec<Row>, });

descriptor!(static BENCH = "Bench" in "bench" {
    DbWork(1 request: WorkRequest) -> Rows [messages];
});

/// The fate of a call.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Done,
    Refused,
    Failed,
}

impl Caller {
    pub(super) fn channel(&self, address: &str) -> Result<Channel> {
        let wire = match self {
            Caller::Contract(wire) => wire,
            Caller::Proto => "grpc",
        };
        let channel = Channel::builder(address)?.wire(wire.parse()?);
        let channel = channel.local_upgrade(false).pushbacks(0);
        Ok(channel
            .timeout(LONGEST)
            .connect_wait(Duration::ZERO)
            .build())
    }

    async fn call(&self, channel: &Channel) -> Fate {
        let ms = -(CALL.as_millis() as i32);
        let answer = match self {
            Caller::Contract(_) => BenchClient::from(channel.clone())
                .db_work(0, ms)
                .await
                .map(drop),
            Caller::Proto => {
                let request = WorkRequest {
                    rows: 0,
                    wait_ms: ms,
                };
                let answer: Result<Rows, Status> =
                    channel.call(&BENCH.methods[0], (&request,)).await;
                answer.map(drop)
            }
        };
        match answer.map_err(|status| status.code()) {
            Ok(()) => Fate::Done,
            // Thrift's server refuses by closing the connection.
            Err(Code::ResourceExhausted | Code::Unavailable) => Fate::Refused,
            Err(_) => Fate::Failed,
        }
    }
}

/// Calls of one caller, which are due at fixed times.
pub(super) struct Offer {
    pub(super) channels: Vec<Channel>,
    /// Calls a second.
    pub(super) rate: f64,
    pub(super) time: Duration,
}

/// The end of a call.
pub(super) struct End {
    fate: Fate,
    due: Instant,
    at: Instant,
}

impl End {
    fn took(&self) -> Duration {
        self.at - self.due
    }
}

impl Offer {
    /// Makes the calls. The first of them do not count.
    pub(super) async fn run(self, caller: &'static Caller, begin: Instant) -> Vec<End> {
        let ends = Arc::<Mutex<Vec<End>>>::default();
        let calls = (self.rate * self.time.as_secs_f64()) as usize;
        let warm = (calls as f64 * WARMUP) as usize;
        let mut running = JoinSet::new();
        for (number, channel) in (0..calls).zip(self.channels.iter().cycle()) {
            let due = begin + Duration::from_secs_f64(number as f64 / self.rate);
            sleep_until(due.into()).await;
            let (channel, ends) = (channel.clone(), ends.clone());
            running.spawn(async move {
                let fate = caller.call(&channel).await;
                let at = Instant::now();
                if number >= warm {
                    ends.lock().await.push(End { fate, due, at });
                }
            });
            while running.try_join_next().is_some() {}
        }
        while running.join_next().await.is_some() {}
        std::mem::take(&mut *ends.lock().await)
    }
}

/// The seconds of a measurement that count.
fn counted(time: Duration) -> f64 {
    time.as_secs_f64() * (1.0 - WARMUP)
}

pub(super) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Makes so many calls a second for some time.
pub(super) fn measure(
    caller: &'static Caller,
    address: &str,
    rate: f64,
    time: Duration,
) -> Result<Vec<End>> {
    let channels = (0..CONNECTIONS).map(|_| caller.channel(address));
    let offer = Offer {
        channels: channels.collect::<Result<_>>()?,
        rate,
        time,
    };
    let begin = Instant::now() + Duration::from_millis(10);
    Ok(runtime()?.block_on(offer.run(caller, begin)))
}

/// Sums up the ends of calls, beside the stalls of the machine.
pub(super) fn point(load: f64, time: Duration, ends: &[End], stalls: &[Stall]) -> Point {
    let of = |wanted: fn(Fate) -> bool| ends.iter().filter(move |end| wanted(end.fate));
    let done = |fate| matches!(fate, Fate::Done);
    let refused = |fate| matches!(fate, Fate::Refused);
    let late = || of(refused).filter(|end| end.took() >= LATE);
    let delayed = |end: &&End| stalls.iter().any(|stall| stall.delays(end.due, end.at));
    let longest = stalls.iter().map(Stall::length).max().unwrap_or_default();
    Point {
        load,
        goodput: of(done).count() as f64 / counted(time),
        done: Times::of(of(done).map(End::took).collect()),
        refused: Times::of(of(refused).map(End::took).collect()),
        refused_late: late().count(),
        refused_late_stalled: late().filter(delayed).count(),
        failed: of(|fate| matches!(fate, Fate::Failed)).count(),
        stalls: stalls.len(),
        longest_stall_ms: longest.as_secs_f64() * 1e3,
    }
}
