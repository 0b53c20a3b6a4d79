//! streams.thrift: the handler, and the cases. Only our own wire carries them.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::Connector;
use crate::flows::{
    CountError, CountStreamError, NewerReading, NewerStreamsBlockingClient, Reading, Refused,
    Stopped, Streams, StreamsBlockingClient, StreamsClient, StreamsServer, SumError, SumSinkError,
};
use crate::values::pattern;
use dovetail::stream::{Items, Receiver};
use dovetail::types::{Bytes, UnknownFields};
use dovetail::{Code, Context, Server, Status};
use dovetail_wire::UnknownValue;
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;
use tokio::runtime;

pub(crate) struct Handler;

fn stopped(after: i32) -> Stopped {
    Stopped {
        after,
        ..Stopped::default()
    }
}

fn refused(why: &str) -> Refused {
    Refused {
        why: why.to_owned(),
        ..Refused::default()
    }
}

fn blob(size: i32) -> Bytes {
    pattern(size.try_into().unwrap_or(0))
}

fn unexpected(error: impl Error) -> Status {
    Status::new(Code::Internal, error.to_string())
}

impl Streams for Handler {
    async fn count(
        &self,
        _: Context,
        to: i32,
        stop_after: i32,
    ) -> Result<(String, Items<'_, i32, CountStreamError>), CountError> {
        if to < 0 {
            return Err(refused("below zero").into());
        }
        let items = Items::with(move |mut out| async move {
            for number in 0..to {
                if number == stop_after {
                    return Err(stopped(number).into());
                }
                out.send(number).await;
            }
            Ok(())
        });
        Ok((format!("to {to}"), items))
    }

    async fn sum(
        &self,
        _: Context,
        refuse_after: i32,
        mut items: Receiver<i32, SumSinkError>,
    ) -> Result<i64, SumError> {
        let mut sum = 0;
        for number in 0.. {
            if number == refuse_after {
                return Err(refused("enough").into());
            }
            match items.next().await {
                Some(Ok(item)) => sum += i64::from(item),
                Some(Err(SumSinkError::Stopped(stopped))) => {
                    return Err(refused(&format!("stopped after {}", stopped.after)).into());
                }
                Some(Err(SumSinkError::Status(status))) => return Err(status.into()),
                None => break,
            }
        }
        Ok(sum)
    }

    async fn echo(
        &self,
        _: Context,
        mut items: Receiver<Reading>,
    ) -> Result<Items<'_, Reading>, Status> {
        Ok(Items::with(|mut out| async move {
            while let Some(item) = items.next().await {
                out.send(item?).await;
            }
            Ok(())
        }))
    }

    async fn make(
        &self,
        _: Context,
        count: i32,
        size: i32,
    ) -> Result<(Bytes, Items<'_, Bytes>), Status> {
        let items = Items::iter((0..count).map(move |_| blob(size)));
        Ok((blob(size), items))
    }

    async fn measure(&self, _: Context, mut items: Receiver<Bytes>) -> Result<i64, Status> {
        let mut size = 0;
        while let Some(item) = items.next().await {
            size += item?.len() as i64;
        }
        Ok(size)
    }

    async fn wait(&self, _: Context) -> Result<Items<'_, i32>, Status> {
        Ok(Items::with(|_| std::future::pending()))
    }

    async fn gather(&self, context: Context, to: i32) -> Result<i64, Status> {
        let client = StreamsClient::from(context.client_channel()?);
        let (_, mut items) = client.count(to, -1).await.map_err(unexpected)?;
        let mut sum = 0;
        while let Some(item) = items.next().await {
            sum += i64::from(item.map_err(unexpected)?);
        }
        Ok(sum)
    }
}

fn open(connector: &Connector) -> Result<StreamsBlockingClient, Status> {
    Ok(connector.channel()?.into())
}

/// Returns the error of a result that must be one.
fn error<T: Debug, E>(result: Result<T, E>) -> Result<E, Failure> {
    match result {
        Ok(value) => Err(Failure::Fail(format!("no error but {value:?}"))),
        Err(error) => Ok(error),
    }
}

/// Makes two calls after one that was broken off. Once they have ended, so has that one.
fn goes_on(client: &StreamsBlockingClient) -> Outcome {
    for _ in 0..2 {
        let (_, items) = client.count(1, -1)?;
        check(&items.count(), &1)?;
    }
    pass()
}

fn count(connector: &Connector, to: i32) -> Outcome {
    let client = open(connector)?;
    let (text, items) = client.count(to, -1)?;
    check(&text, &format!("to {to}"))?;
    check(&items.collect::<Vec<_>>(), &(0..to).map(Ok).collect())?;
    goes_on(&client)
}

fn count_stopped(connector: &Connector, after: i32) -> Outcome {
    let client = open(connector)?;
    let (_, items) = client.count(5, after)?;
    let wanted = (0..after).map(Ok).chain([Err(stopped(after).into())]);
    check(&items.collect::<Vec<_>>(), &wanted.collect())?;
    goes_on(&client)
}

fn count_refused(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let why = client.count(-1, -1).map(|(text, _)| text);
    check(&error(why)?, &refused("below zero").into())?;
    goes_on(&client)
}

fn sum(connector: &Connector, count: i32) -> Outcome {
    let client = open(connector)?;
    for _ in 0..2 {
        let (mut items, sum) = client.sum(-1)?;
        for number in 0..count {
            items.send(&number)?;
        }
        items.finish();
        check(&sum.wait()?, &(0..count).map(i64::from).sum())?;
    }
    pass()
}

fn sum_stopped(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    for _ in 0..2 {
        let (mut items, sum) = client.sum(-1)?;
        items.send(&1)?;
        items.fail(stopped(1).into())?;
        check(&error(sum.wait())?, &refused("stopped after 1").into())?;
    }
    goes_on(&client)
}

fn sum_refused(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let (mut items, sum) = client.sum(3)?;
    for number in 0..10 {
        // The call may be over by now, which the answer says.
        let _ = items.send(&number);
    }
    check(&error(sum.wait())?, &refused("enough").into())?;
    goes_on(&client)
}

fn reading(number: i32) -> Reading {
    Reading {
        number,
        text: (number % 2 == 0).then(|| format!("number {number}")),
        values: vec![0.5; number as usize],
        ..Reading::default()
    }
}

fn echo(connector: &Connector, readings: &[Reading]) -> Outcome {
    let client = open(connector)?;
    let (mut items, echoes) = client.echo()?;
    let mut echoes = echoes.wait()?;
    for reading in readings {
        items.send(reading)?;
        check(&echoes.next(), &Some(Ok(reading.clone())))?;
    }
    items.finish();
    check(&echoes.next(), &None)?;
    pass()
}

/// A message of a newer program: both ends know the same contract, and cannot write it tagless.
fn relayed() -> Reading {
    let mut unknown_fields = UnknownFields::default();
    unknown_fields.push(9, UnknownValue::I32(9));
    Reading {
        unknown_fields,
        ..reading(2)
    }
}

fn echo_newer(connector: &Connector) -> Outcome {
    let client = NewerStreamsBlockingClient::from(connector.channel()?);
    let (mut items, echoes) = client.echo()?;
    let newer = NewerReading {
        number: 7,
        unit: Some("m".to_owned()),
        ..NewerReading::default()
    };
    // Before the contracts have been compared, and after.
    items.send(&newer)?;
    let mut echoes = echoes.wait()?;
    check(&echoes.next(), &Some(Ok(newer.clone())))?;
    items.send(&newer)?;
    check(&echoes.next(), &Some(Ok(newer)))?;
    items.finish();
    check(&echoes.next(), &None)?;
    pass()
}

fn make(connector: &Connector, count: i32, size: i32) -> Outcome {
    let client = open(connector)?;
    let (first, items) = client.make(count, size)?;
    check(&first, &blob(size))?;
    for item in items {
        check(&item?, &blob(size))?;
    }
    pass()
}

fn measure(connector: &Connector, count: i32, size: i32) -> Outcome {
    let client = open(connector)?;
    let (mut items, measured) = client.measure()?;
    let blob = blob(size);
    for _ in 0..count {
        items.send(&blob)?;
    }
    items.finish();
    check(&measured.wait()?, &(i64::from(count) * i64::from(size)))?;
    pass()
}

fn dropped(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let (_, mut items) = client.make(1_000, 10_000)?;
    check(&items.next(), &Some(Ok(blob(10_000))))?;
    drop(items);
    drop(client.wait()?);
    goes_on(&client)
}

fn upload_dropped(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let (mut items, measured) = client.measure()?;
    items.send(&blob(10))?;
    drop(items);
    check(&error(measured.wait())?.code(), &Code::Cancelled)?;
    goes_on(&client)
}

fn deadline(connector: &Connector) -> Outcome {
    let channel = connector.channel()?;
    let client = StreamsBlockingClient::from(channel.with_timeout(Duration::from_millis(100)));
    match client.wait()?.next() {
        Some(Err(status)) => check(&status.code(), &Code::DeadlineExceeded)?,
        other => return fail(format!("{other:?}")),
    }
    goes_on(&channel.into())
}

/// Sent as they are at first, then kept, then named by their numbers; the last one is too long for
/// that.
fn headers(connector: &Connector) -> Outcome {
    let channel = connector.channel()?;
    let channel = channel.with_header("tenant", "blue");
    let channel = channel.with_header("trace", vec![7; 300]);
    let client = channel.into();
    goes_on(&client)?;
    goes_on(&client)
}

fn called_back(connector: &Connector) -> Outcome {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::new().service(StreamsServer::new(Handler));
        let builder = connector.builder()?;
        let client = StreamsClient::from(builder.serve(server).build());
        for _ in 0..2 {
            check(&client.gather(100).await?, &4950)?;
        }
        pass()
    })
}

/// Larger than the largest frame that Dovetail takes.
const LARGE: i32 = 1_500_000;

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("count_nothing", |connector| count(connector, 0)),
        case("count", |connector| count(connector, 100)),
        case("count_stopped", |connector| count_stopped(connector, 3)),
        case("count_stopped_at_once", |connector| {
            count_stopped(connector, 0)
        }),
        case("count_refused", count_refused),
        case("sum_nothing", |connector| sum(connector, 0)),
        case("sum", |connector| sum(connector, 100)),
        case("sum_stopped", sum_stopped),
        case("sum_refused", sum_refused),
        case("echo", |connector| echo(connector, &[0, 1, 2].map(reading))),
        case("echo_relayed", |connector| {
            echo(connector, &[relayed(), reading(1)])
        }),
        case("echo_newer", echo_newer),
        // More than half of the window of all streams together, so that both kinds of credit are
        // given.
        case("make_many", |connector| make(connector, 250, 10_000)),
        case("measure_many", |connector| measure(connector, 250, 10_000)),
        case("make_large", |connector| make(connector, 2, LARGE)),
        case("measure_large", |connector| measure(connector, 2, LARGE)),
        case("dropped", dropped),
        case("upload_dropped", upload_dropped),
        case("deadline", deadline),
        case("headers", headers),
        case("called_back", called_back),
    ]
}
