//! Dovetail's own wire end to end: contracts that differ, callers that go, servers that go down.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, ServerLimits};
use dovetail::status::Execution;
use dovetail::{Code, Context, Running, Server, Service, Status, Wire, descriptor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn channel(address: &str) -> Channel {
    let builder = Channel::builder(address).unwrap();
    builder.wire(Wire::Dovetail).timeout(LONG).build()
}

/// How many connections were made, but for those to which they have moved.
fn made(running: &Running) -> u64 {
    let counters = running.counters();
    counters.connections - counters.local_connections
}

descriptor!(static SERVER = "Till" {
    pay(1 amount: i32, 2 tip: i32, 3 name: String) -> String;
});

/// Answers with what it got.
struct Till;

impl Service for Till {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SERVER
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary(
            (0, 0, String::new()),
            |_: Context, (amount, tip, name): (i32, i32, String)| async move {
                Ok::<_, Status>(format!("{name}: {amount} + {tip}"))
            },
        )
    }
}

/// The memory of a result that is given back holds the next one.
#[test]
fn results_are_recycled() {
    let running = listen(Server::new().service(Till)).start().unwrap();
    let channel = channel(&address(&running));
    let pay = |amount: i32| -> String {
        let paid: Result<_, Status> = channel.call(&SERVER.methods[0], (&amount, &1, "Ada"));
        paid.unwrap()
    };
    // The first answer tells that the contracts are equal.
    assert_eq!(pay(1_000_000), "Ada: 1000000 + 1");
    let first = pay(1_000_000);
    let memory = first.as_ptr();
    channel.recycle(first);
    channel.recycle(7);
    let second = pay(2);
    assert_eq!(second, "Ada: 2 + 1");
    assert_eq!(second.as_ptr(), memory);
    let third = pay(3);
    assert_ne!(third.as_ptr(), memory, "that is in use");
}

/// The trap of the Glue article: contracts that drift apart. A value never changes places without a
/// word.
#[test]
fn contracts_that_differ_work_by_tag_or_are_refused_by_name() {
    descriptor!(static RENAMED = "Till" { pay(1 sum: i32, 2 tip: i32, 3 name: String) -> String; });
    descriptor!(static REORDERED = "Till" { pay(3 name: String, 2 tip: i32, 1 amount: i32) -> String; });
    descriptor!(static SWAPPED = "Till" { pay(1 tip: i32, 2 amount: i32, 3 name: String) -> String; });
    descriptor!(static RETYPED = "Till" { pay(1 amount: i64, 2 tip: i32, 3 name: String) -> String; });
    descriptor!(static RENUMBERED = "Till" { pay(1 amount: i32, 4 tip: i32, 3 name: String) -> String; });
    descriptor!(static SHORTER = "Till" { pay(1 amount: i32, 3 name: String) -> String; });
    descriptor!(static LONGER = "Till" {
        pay(1 amount: i32, 2 tip: i32, 3 name: String, 4 note: String) -> String;
    });
    descriptor!(static ANOTHER_RESULT = "Till" {
        pay(1 amount: i32, 2 tip: i32, 3 name: String) -> i32;
    });
    let running = listen(Server::new().service(Till)).start().unwrap();
    let address = address(&running);
    // Several calls each: the first ones are sent before the contracts have been compared.
    let check = |what: &str, expected: &str, call: &dyn Fn(&Channel) -> Result<String, Status>| {
        let channel = channel(&address);
        for round in 0..3 {
            match call(&channel) {
                Ok(answer) => assert_eq!(answer, expected, "{what}, round {round}"),
                Err(status) => {
                    assert_eq!(status.code(), Code::FailedPrecondition, "{what}: {status}");
                    assert_eq!(status.execution(), Execution::NotStarted, "{what}");
                    assert!(status.message().contains(expected), "{what}: {status}");
                }
            }
        }
    };
    let (amount, tip, name) = (&7, &2, "Ada");
    check("equal", "Ada: 7 + 2", &|c| {
        c.call(&SERVER.methods[0], (amount, tip, name))
    });
    check("renamed", "Ada: 7 + 2", &|c| {
        c.call(&RENAMED.methods[0], (amount, tip, name))
    });
    check("reordered", "Ada: 7 + 2", &|c| {
        c.call(&REORDERED.methods[0], (name, tip, amount))
    });
    check("shorter", "Ada: 7 + 0", &|c| {
        c.call(&SHORTER.methods[0], (amount, name))
    });
    check("longer", "Ada: 7 + 2", &|c| {
        c.call(&LONGER.methods[0], (amount, tip, name, "x"))
    });
    check("swapped", "amount", &|c| {
        c.call(&SWAPPED.methods[0], (tip, amount, name))
    });
    check("retyped", "amount", &|c| {
        c.call(&RETYPED.methods[0], (&7_i64, tip, name))
    });
    check("renumbered", "tip", &|c| {
        c.call(&RENUMBERED.methods[0], (amount, tip, name))
    });
    check("another result", "result", &|c| {
        let sum: Result<i32, Status> = c.call(&ANOTHER_RESULT.methods[0], (amount, tip, name));
        sum.map(|sum| sum.to_string())
    });
    assert!(running.shutdown(LONG));
}

#[test]
fn many_threads_share_a_connection() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let channel = channel(&address(&running));
        thread::scope(|scope| {
            for caller in 0..8 {
                let channel = &channel;
                scope.spawn(move || {
                    for round in 0..200 {
                        let text = (caller * 1_000 + round).to_string();
                        let echo = channel.call(&PROBE.methods[ECHO], (&*text,));
                        assert_eq!(echo, Ok::<String, Status>(text));
                    }
                });
            }
        });
        assert_eq!(made(&running), 1, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn no_call_is_lost_while_servers_take_turns() {
    for model in MODELS {
        let first = start(&Probe::default(), *model, ServerLimits::default());
        let address = address(&first);
        let over = AtomicBool::new(false);
        // On a busy machine a server may take its time to come back.
        let channel = Channel::builder(&address).unwrap();
        let channel = channel.wire(Wire::Dovetail).connect_wait(LONG).build();
        let answered = thread::scope(|scope| {
            let callers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut answered = 0;
                        while !over.load(Ordering::Relaxed) {
                            let noted = &PROBE.methods[NOTED];
                            match channel.call::<_, Vec<i32>, Status>(noted, ()) {
                                Ok(_) => answered += 1,
                                Err(status) => panic!("{model:?}: {status}"),
                            }
                        }
                        answered
                    })
                })
                .collect();
            let mut running = first;
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(50));
                assert!(running.shutdown(LONG), "{model:?}");
                running = Server::new()
                    .service(Probe::default())
                    .model(*model)
                    .listen(&place(&address))
                    .unwrap()
                    .start()
                    .unwrap();
            }
            until("the last server is called", || running.counters().calls > 0);
            over.store(true, Ordering::Relaxed);
            let counts = callers.into_iter().map(|caller| caller.join().unwrap());
            let answered: usize = counts.sum();
            running.shutdown(LONG);
            answered
        });
        assert!(answered > 0, "{model:?}");
    }
}

#[cfg(feature = "async")]
mod asynchronous {
    use super::*;
    use tokio::task::JoinSet;

    fn channel(address: &str) -> dovetail::Channel {
        let builder = dovetail::Channel::builder(address).unwrap();
        let builder = builder.wire(Wire::Dovetail).calls_in_flight(200_000);
        builder.timeout(LONG * 6).build()
    }

    /// Room for all of them.
    fn limits() -> ServerLimits {
        ServerLimits {
            calls: 200_000,
            calls_per_connection: 200_000,
            ..ServerLimits::default()
        }
    }

    #[tokio::test]
    async fn a_storm_of_cancellations_reaches_the_handlers() {
        for model in CONCURRENT {
            let probe = Probe::default();
            let running = start(&probe, *model, limits());
            let channel = channel(&address(&running));
            let mut calls = JoinSet::new();
            for _ in 0..1_000 {
                let channel = channel.clone();
                calls.spawn(async move {
                    channel
                        .call::<_, i32, Status>(&PROBE.methods[WAIT], (&1,))
                        .await
                });
            }
            until_async(|| probe.started() == 1_000).await;
            calls.abort_all();
            while calls.join_next().await.is_some() {}
            until_async(|| running.counters().cancelled_calls == 1_000).await;
            let text: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("on",)).await;
            assert_eq!(text.as_deref(), Ok("on"), "{model:?}");
            assert_eq!(made(&running), 1, "{model:?}");
            drop(channel);
            let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
            assert!(ended.unwrap(), "{model:?}");
        }
    }

    #[tokio::test]
    async fn a_storm_of_deadlines_ends_every_call_once() {
        let probe = Probe::default();
        let running = start(&probe, CONCURRENT[0], limits());
        let channel = channel(&address(&running));
        let connected: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("on",)).await;
        assert_eq!(connected.as_deref(), Ok("on"));
        let mut calls = JoinSet::new();
        for number in 0..1_000 {
            let timeout = Duration::from_millis(20 + number % 50);
            let channel = channel.with_timeout(timeout);
            calls.spawn(async move {
                channel
                    .call::<_, i32, Status>(&PROBE.methods[WAIT], (&1,))
                    .await
            });
        }
        while let Some(outcome) = calls.join_next().await {
            let status = outcome.unwrap().unwrap_err();
            assert_eq!(status.code(), Code::DeadlineExceeded);
        }
        // Which of the two notices first is a matter of chance; a call that ended before it was
        // sent, too.
        let ended = || {
            let counters = running.counters();
            counters.late_calls + counters.cancelled_calls
        };
        until_async(|| ended() == 1_000).await;
        drop(channel);
        let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
        assert!(ended.unwrap());
    }

    #[tokio::test]
    async fn a_hundred_thousand_calls_at_a_time_on_one_connection() {
        const CALLS: usize = 100_000;
        let probe = Probe::default();
        let running = start(&probe, CONCURRENT[0], limits());
        let channel = channel(&address(&running));
        let mut calls = JoinSet::new();
        for _ in 0..CALLS {
            let channel = channel.clone();
            calls.spawn(async move {
                channel
                    .call::<_, i32, Status>(&PROBE.methods[WAIT], (&1,))
                    .await
            });
        }
        until_async(|| probe.started() == CALLS).await;
        probe.open(1);
        let mut answered = 0;
        while let Some(outcome) = calls.join_next().await {
            assert_eq!(outcome.unwrap(), Ok(1));
            answered += 1;
        }
        assert_eq!(answered, CALLS);
        assert_eq!(running.counters().connections, 1);
        drop(channel);
        let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
        assert!(ended.unwrap());
    }

    async fn until_async(condition: impl Fn() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(LONG * 3, waiting).await;
        assert!(waited.is_ok(), "never");
    }
}
