//! places.capnp: the counters, objects that both ends pass to each other.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{Client, Connector, Kind, ask};
use crate::places::{Counter, CounterObject, Named, PlacesBlockingClient, PlacesClient, Total};
use crate::relay::Relay;
use dovetail::{Code, Context, Status};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The counters of a process.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    alive: Arc<AtomicU32>,
    kept: Arc<Mutex<Option<CounterObject>>>,
}

struct Number {
    total: AtomicI64,
    /// The amounts that have been added, in order.
    added: Arc<Mutex<Vec<i64>>>,
    all: Counters,
}

impl Drop for Number {
    fn drop(&mut self) {
        self.all.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Counters {
    pub(crate) fn new_counter(&self, start: i64) -> CounterObject {
        self.noting(start, &Arc::default())
    }

    fn noting(&self, start: i64, added: &Arc<Mutex<Vec<i64>>>) -> CounterObject {
        self.alive.fetch_add(1, Ordering::SeqCst);
        CounterObject::new(Number {
            total: AtomicI64::new(start),
            added: added.clone(),
            all: self.clone(),
        })
    }

    pub(crate) async fn sum(
        &self,
        first: Option<CounterObject>,
        others: Vec<Named>,
    ) -> Result<i64, Status> {
        let others = others.into_iter().map(|other| other.counter);
        let mut total = 0;
        for counter in [first].into_iter().chain(others) {
            let counter = counter.ok_or_else(|| Status::new(Code::InvalidArgument, "nothing"))?;
            total += counter.client().add(0).await?.total;
        }
        Ok(total)
    }

    pub(crate) async fn add_to(
        &self,
        counter: Option<CounterObject>,
        amount: i64,
    ) -> Result<Total, Status> {
        let counter = counter.ok_or_else(|| Status::new(Code::InvalidArgument, "nothing"))?;
        counter.client().add(amount).await
    }

    pub(crate) fn keep(&self, counter: Option<CounterObject>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = counter;
    }

    pub(crate) fn kept(&self) -> CounterObject {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone().unwrap_or_default()
    }

    pub(crate) fn alive(&self) -> u32 {
        self.alive.load(Ordering::SeqCst)
    }
}

impl Counter for Number {
    async fn add(&self, _: Context, amount: i64) -> Result<Total, Status> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        added.push(amount);
        Ok(Total {
            total: self.total.fetch_add(amount, Ordering::SeqCst) + amount,
            ..Total::default()
        })
    }

    async fn child(&self, _: Context, start: i64) -> Result<CounterObject, Status> {
        Ok(self.all.new_counter(start))
    }
}

/// Calls a method of an object as the client does that it came to.
macro_rules! tell {
    ($connector:ident, $object:ident.$method:ident($($argument:expr),*)) => {
        match &$connector.kind {
            Kind::Blocking => $object.blocking().$method($($argument),*),
            Kind::Async(runtime) => {
                runtime.block_on(async { $object.client().$method($($argument),*).await })
            }
        }
    };
}

fn objects(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    let counter = ask!(client.open(5))?;
    check(&tell!(connector, counter.add(2))?.total, &7)?;
    let child = tell!(connector, counter.child(-1))?;
    check(&tell!(connector, child.add(1))?.total, &0)?;
    check(&tell!(connector, counter.add(0))?.total, &7)?;
    pass()
}

/// Opens a counter, and calls ten times: each call is on the answer to the one before it, which is
/// not there yet.
fn ten_calls(
    connector: &Connector,
    client: &Client<PlacesBlockingClient, PlacesClient>,
) -> Result<(), Failure> {
    let mut last = ask!(client.open_pipelined(0))?;
    for start in 1..10 {
        last = tell!(connector, last.child_pipelined(start))?;
    }
    check(&tell!(connector, last.add(1))?.total, &10)
}

fn pipelined(connector: &Connector) -> Outcome {
    ten_calls(connector, &connector.places()?)?;
    pass()
}

fn callbacks(connector: &Connector) -> Outcome {
    let (client, own) = (connector.places()?, Counters::default());
    let named = |counter| Named {
        counter: Some(counter),
        ..Named::default()
    };
    let others = [
        named(own.new_counter(20)),
        named(ask!(client.open_pipelined(300))?),
        named(ask!(client.open(4000))?),
    ];
    let total = ask!(client.sum(&Some(own.new_counter(1)), &others))?;
    check(&total, &4321)?;
    pass()
}

/// An object that goes to the other end and back is the same one.
fn comes_home(connector: &Connector) -> Outcome {
    let (client, own) = (connector.places()?, Counters::default());
    let added = Arc::<Mutex<Vec<i64>>>::default();
    let counter = own.noting(0, &added);
    let back = ask!(client.give_back(&Some(counter.clone())))?;
    check(&(back == counter), &true)?;
    for amount in 0..10 {
        tell!(connector, back.add(amount))?;
    }
    let added = added.lock().unwrap_or_else(PoisonError::into_inner);
    check(&*added, &(0..10).collect())?;
    pass()
}

/// The server answers with the answer of our own object.
fn tail_call(connector: &Connector) -> Outcome {
    let (client, own) = (connector.places()?, Counters::default());
    let counter = own.new_counter(40);
    for total in [41, 42] {
        check(
            &ask!(client.add_to(&Some(counter.clone()), 1))?.total,
            &total,
        )?;
    }
    let opened = ask!(client.open(1))?;
    check(&ask!(client.add_to(&Some(opened), 1))?.total, &2)?;
    pass()
}

fn until(what: &str, mut is: impl FnMut() -> Result<bool, Status>) -> Result<(), Failure> {
    for _ in 0..200 {
        if is()? {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    fail(format!("never {what}")).map(drop)
}

fn released(connector: &Connector) -> Outcome {
    let (client, own) = (connector.places()?, Counters::default());
    let before = ask!(client.alive())?;
    let opened: Result<Vec<_>, _> = (0..10).map(|start| ask!(client.open(start))).collect();
    let opened = opened?;
    // Those of another connection may go meanwhile.
    check(&(10..=before + 10).contains(&ask!(client.alive())?), &true)?;
    drop(opened);
    until("released there", || Ok(ask!(client.alive())? <= before))?;
    ask!(client.keep(&Some(own.new_counter(7))))?;
    let kept = ask!(client.kept())?;
    check(&tell!(connector, kept.add(1))?.total, &8)?;
    drop(kept);
    check(&own.alive(), &1)?;
    ask!(client.forget())?;
    until("released here", || Ok(own.alive() == 0))?;
    pass()
}

/// Ten calls wait for one answer, and not for ten.
fn one_round_trip(connector: &Connector) -> Outcome {
    let relay = Relay::start(&connector.address)?;
    let client = connector.places_by(&relay.address)?;
    ask!(client.whoami())?;
    relay.rounds();
    ten_calls(connector, &client)?;
    check(&relay.rounds(), &1)?;
    pass()
}

/// A connection is lost before the answers to calls that wait for each other.
fn lost(connector: &Connector) -> Outcome {
    let relay = Relay::start(&connector.address)?;
    let client = connector.places_by(&relay.address)?;
    let before = ask!(client.alive())?;
    let counter = ask!(client.open(1))?;
    relay.cut();
    let mut last = tell!(connector, counter.child_pipelined(2))?;
    for start in 3..10 {
        last = tell!(connector, last.child_pipelined(start))?;
    }
    for counter in [last, counter] {
        match tell!(connector, counter.add(1)) {
            Err(status) if status.code() == Code::Unavailable => {}
            other => return fail(format!("{other:?}")),
        }
    }
    // On another connection; the server has let go of the objects of this one.
    until("released there", || Ok(ask!(client.alive())? <= before))?;
    pass()
}

pub(crate) fn all() -> Vec<Case> {
    vec![
        case("objects", objects),
        case("pipelined", pipelined),
        case("one_round_trip", one_round_trip),
        case("lost", lost),
        case("callbacks", callbacks),
        case("comes_home", comes_home),
        case("tail_call", tail_call),
        case("released", released),
    ]
}
