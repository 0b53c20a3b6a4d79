//! Callers that call at fixed times.

use super::super::Result;
use super::super::report::overload::Point;
use super::CALL;
use crate::peer::contract::bench::{BenchClient, Row};
use dovetail::{Channel, Code, Status, descriptor, message};
use std::sync::Arc;
use std::time::{Duration, Instant};
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
enum Fate {
    Done,
    Refused,
    Failed,
}

impl Caller {
    fn channel(&self, address: &str) -> Result<Channel> {
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

/// Makes so many calls a second for some time.
pub(super) fn measure(
    caller: &'static Caller,
    address: &str,
    load: f64,
    rate: f64,
    time: Duration,
) -> Result<Point> {
    let channels = (0..CONNECTIONS).map(|_| caller.channel(address));
    let channels: Vec<Channel> = channels.collect::<Result<_>>()?;
    let fates = Arc::<Mutex<Vec<(Fate, Duration)>>>::default();
    let calls = (rate * time.as_secs_f64()) as usize;
    let warm = (calls as f64 * WARMUP) as usize;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let begin = Instant::now() + Duration::from_millis(10);
        let mut running = JoinSet::new();
        for (number, channel) in (0..calls).zip(channels.iter().cycle()) {
            let due = begin + Duration::from_secs_f64(number as f64 / rate);
            sleep_until(due.into()).await;
            let (channel, fates) = (channel.clone(), fates.clone());
            running.spawn(async move {
                let fate = caller.call(&channel).await;
                if number >= warm {
                    fates.lock().await.push((fate, due.elapsed()));
                }
            });
            while running.try_join_next().is_some() {}
        }
        while running.join_next().await.is_some() {}
    });
    let fates = std::mem::take(&mut *fates.blocking_lock());
    let of = |wanted: fn(Fate) -> bool| -> Vec<Duration> {
        let mut times: Vec<_> = fates
            .iter()
            .filter(|(fate, _)| wanted(*fate))
            .map(|(_, time)| *time)
            .collect();
        times.sort();
        times
    };
    let counted = time.as_secs_f64() * (1.0 - WARMUP);
    let failed = of(|fate| matches!(fate, Fate::Failed)).len();
    Ok(Point::new(
        load,
        counted,
        &of(|fate| matches!(fate, Fate::Done)),
        &of(|fate| matches!(fate, Fate::Refused)),
        failed,
    ))
}
