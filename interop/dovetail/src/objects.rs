//! objects.thrift: what the server answers, and the cases. Only the own wire carries them.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::Connector;
use crate::things::{
    Counter, CounterObject, Counters, CountersBlockingClient, CountersClient, Listener,
    ListenerObject, OpenError, Pair, Refused,
};
use dovetail::status::Execution;
use dovetail::stream::{Items, Receiver};
use dovetail::{Code, Context, Status};
use std::error::Error;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use tokio::runtime;

pub(crate) struct Handler;

struct Number(AtomicI64);

fn counter(start: i64) -> CounterObject {
    CounterObject::new(Number(AtomicI64::new(start)))
}

impl Counter for Number {
    async fn add(&self, _: Context, number: i64) -> Result<i64, Status> {
        Ok(self.0.fetch_add(number, Ordering::SeqCst) + number)
    }

    async fn fork(&self, _: Context) -> Result<CounterObject, Status> {
        Ok(counter(self.0.load(Ordering::SeqCst)))
    }

    async fn bump(&self, _: Context, number: i64) -> Result<(), Status> {
        self.0.fetch_add(number, Ordering::SeqCst);
        Ok(())
    }

    async fn count(&self, _: Context, to: i64) -> Result<Items<'_, i64>, Status> {
        Ok(Items::iter(self.0.load(Ordering::SeqCst)..to))
    }

    async fn add_all(&self, context: Context, mut numbers: Receiver<i64>) -> Result<i64, Status> {
        while let Some(number) = numbers.next().await {
            self.add(context.clone(), number?).await?;
        }
        self.add(context, 0).await
    }
}

fn unexpected(error: impl Error) -> Status {
    Status::new(Code::Internal, error.to_string())
}

impl Counters for Handler {
    async fn open(&self, _: Context, start: i64) -> Result<CounterObject, OpenError> {
        match start {
            0.. => Ok(counter(start)),
            _ => Err(Refused {
                why: "below zero".to_owned(),
                ..Refused::default()
            }
            .into()),
        }
    }

    async fn several(&self, _: Context, count: i32) -> Result<Vec<CounterObject>, Status> {
        Ok((0..count.into()).map(counter).collect())
    }

    async fn swap(&self, _: Context, pair: Pair) -> Result<Pair, Status> {
        let sum = pair.left.client().add(0).await?;
        let right = pair.right.unwrap_or_default();
        Ok(Pair {
            left: counter(sum + right.client().add(0).await?),
            right: Some(pair.left),
            ..Pair::default()
        })
    }

    async fn tell(
        &self,
        _: Context,
        listener: ListenerObject,
        texts: Vec<String>,
    ) -> Result<i32, Status> {
        let mut heard = 0;
        for text in &texts {
            heard += listener.client().hear(text).await?;
        }
        Ok(heard)
    }

    async fn same(&self, _: Context, listener: ListenerObject) -> Result<ListenerObject, Status> {
        Ok(listener)
    }

    async fn count_on(&self, _: Context, listener: ListenerObject) -> Result<i64, Status> {
        let tally = listener.client().tally_pipelined(40).await?;
        let other = tally.client().fork_pipelined().await?;
        let sum = other.client().add(2).await?;
        tally.client().add(0).await.map_err(unexpected)?;
        Ok(sum)
    }

    async fn count_up(&self, _: Context, counter: CounterObject) -> Result<i64, Status> {
        let mut numbers = counter.client().count(10).await?;
        let mut sum = 0;
        while let Some(number) = numbers.next().await {
            sum += number?;
        }
        Ok(sum)
    }
}

#[derive(Default)]
struct Ear(AtomicI32);

impl Listener for Ear {
    async fn hear(&self, _: Context, _: String) -> Result<i32, Status> {
        Ok(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }

    async fn tally(&self, _: Context, start: i64) -> Result<CounterObject, Status> {
        Ok(counter(start))
    }
}

fn open(connector: &Connector) -> Result<CountersBlockingClient, Status> {
    Ok(connector.channel()?.into())
}

fn called(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let first = client.open(1)?;
    let second = first.blocking().fork()?;
    check(&first.blocking().add(2)?, &3)?;
    first.blocking().bump(10)?;
    check(&second.blocking().add(2)?, &3)?;
    check(&first.blocking().add(0)?, &13)?;
    drop(second);
    // RELEASE has been read before this.
    check(&first.blocking().add(0)?, &13)?;
    pass()
}

fn several(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let mut all = client.several(5)?;
    for (number, counter) in (0..).zip(&all) {
        check(&counter.blocking().add(1)?, &(number + 1))?;
    }
    all.truncate(2);
    check(&all[1].blocking().add(0)?, &2)?;
    check(&client.several(0)?.len(), &0)?;
    pass()
}

fn home(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let (left, right) = (client.open(3)?, client.open(4)?);
    for _ in 0..2 {
        let swapped = client.swap(&Pair {
            left: left.clone(),
            right: Some(right.clone()),
            ..Pair::default()
        })?;
        check(&(swapped.right.as_ref() == Some(&left)), &true)?;
        check(&swapped.left.blocking().add(0)?, &7)?;
    }
    pass()
}

/// Three calls of which no one waits for another.
fn pipelined(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    for _ in 0..2 {
        let first = client.open_pipelined(40)?;
        let second = first.blocking().fork_pipelined()?;
        check(&second.blocking().add(2)?, &42)?;
        check(&first.blocking().add(2)?, &42)?;
    }
    pass()
}

fn pipelined_refused(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let first = client.open_pipelined(-1)?;
    let second = first.blocking().fork_pipelined()?;
    match second.blocking().add(1) {
        Err(status) if status.execution() == Execution::NotStarted => {
            check(&status.code(), &Code::FailedPrecondition)?;
        }
        other => return fail(format!("{other:?}")),
    }
    check(&client.open(5)?.blocking().add(0)?, &5)?;
    pass()
}

/// An object that has not been returned yet is passed on.
fn promised(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let left = client.open_pipelined(3)?;
    let right = left.blocking().fork_pipelined()?;
    let swapped = client.swap(&Pair {
        left,
        right: Some(right),
        ..Pair::default()
    })?;
    check(&swapped.left.blocking().add(0)?, &6)?;
    pass()
}

/// Streams of objects.
fn streamed(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let opened = client.open(1)?;
    let (mut numbers, answer) = opened.blocking().add_all()?;
    for number in 1..=3 {
        numbers.send(&number)?;
    }
    numbers.finish();
    check(&answer.wait()?, &7)?;
    let numbers: Result<Vec<i64>, Status> = opened.blocking().count(10)?.collect();
    check(&numbers?, &vec![7, 8, 9])?;
    pass()
}

/// Objects of a client that has no thread of its own.
fn passed_blocking(connector: &Connector) -> Outcome {
    let client = open(connector)?;
    let listener = ListenerObject::new(Ear::default());
    let texts = ["a", "b", "c"].map(str::to_owned);
    check(&client.tell(&listener, &texts)?, &6)?;
    check(&client.count_on(&listener)?, &42)?;
    check(&(client.same(&listener)? == listener), &true)?;
    check(&client.count_up(&counter(7))?, &24)?;
    pass()
}

fn passed(connector: &Connector) -> Outcome {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let builder = connector.builder()?;
        let client = CountersClient::from(builder.build());
        let listener = ListenerObject::new(Ear::default());
        let texts = ["a", "b", "c"].map(str::to_owned);
        check(&client.tell(&listener, &texts).await?, &6)?;
        check(&client.count_on(&listener).await?, &42)?;
        let same = client.same(&listener).await?;
        check(&(same == listener), &true)?;
        check(&same.client().hear("d").await?, &4)?;
        check(&client.tell(&listener, &texts).await?, &18)?;
        Ok::<(), Failure>(())
    })?;
    pass()
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("called", called),
        case("several", several),
        case("home", home),
        case("pipelined", pipelined),
        case("pipelined_refused", pipelined_refused),
        case("promised", promised),
        case("streamed", streamed),
        case("passed_blocking", passed_blocking),
        case("passed", passed),
    ]
}
