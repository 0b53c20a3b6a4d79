//! Clients: deadlines, late replies, lost servers, and many callers on one connection.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Mock, ServerLimits};
use dovetail::status::Execution;
use dovetail::types::Bytes;
use dovetail::{Code, Server, Status, descriptor};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_call_ends_at_its_deadline_and_the_late_reply_is_dropped() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let short = channel.with_timeout(Duration::from_millis(40));
        let late = wait(&short, 1).unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded, "{model:?}");
        assert_eq!(late.execution(), Execution::MayHaveRun, "{model:?}");
        assert!(late.message().contains("40ms"), "{model:?}: {late}");
        probe.open(1);
        for number in 0..20 {
            assert_eq!(echo(&channel, number), Ok(number.to_string()), "{model:?}");
        }
        assert_eq!(running.counters().connections, 1, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_asked_once_and_left_alone() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    drop(listener);
    let channel = Channel::builder(&address).unwrap().wire(stock()).build();
    let first = echo(&channel, 1).unwrap_err();
    assert_eq!(first.code(), Code::Unavailable);
    assert!(
        first.message().ends_with("is the server running?"),
        "{first}"
    );
    let second = echo(&channel, 2).unwrap_err();
    assert!(second.message().contains("left alone for"), "{second}");
}

#[test]
fn many_threads_share_a_connection() {
    for model in MODELS {
        let probe = Probe::default();
        probe.open(1);
        let running = start(&probe, *model, ServerLimits::default());
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let callers: Vec<_> = (0..8)
            .map(|caller| {
                let channel = channel.clone();
                thread::spawn(move || {
                    for round in 0..200 {
                        let number = caller * 1_000 + round;
                        match round % 4 {
                            0 => assert_eq!(wait(&channel, 1), Ok(1)),
                            _ => assert_eq!(echo(&channel, number), Ok(number.to_string())),
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().expect("no caller fails");
        }
        assert_eq!(running.counters().connections, 1, "{model:?}");
        assert_eq!(running.counters().calls, 8 * 200, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_slow_call_does_not_hold_up_others_on_a_concurrent_server() {
    #[cfg(feature = "async")]
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let channel = numbering(&running);
        let slow = {
            let channel = channel.clone();
            thread::spawn(move || wait(&channel, 1))
        };
        until("it waits", || probe.started() == 1);
        assert_eq!(echo(&channel, 5), Ok("5".to_owned()), "{model:?}");
        probe.open(1);
        assert_eq!(slow.join().unwrap(), Ok(1), "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn ten_megabytes_both_ways_over_every_wire() {
    const WIRES: &[&str] = &[
        "dovetail",
        "msgpack-rpc",
        "binary",
        "binary+framed",
        "compact",
        "compact+framed",
        "json",
        "compact+header:zlib",
        #[cfg(feature = "zstd")]
        "binary+header:zstd",
        "binary+http",
    ];
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        for wire in WIRES {
            let what = format!("{wire}, {model:?}");
            let channel = Channel::builder(&address(&running))
                .unwrap()
                .wire(wire.parse().unwrap())
                .build();
            let sent = Bytes::from(vec![3; 10 << 20]);
            let taken: Result<i32, Status> = channel.call(&PROBE.methods[TAKE], (&sent,));
            assert_eq!(taken, Ok(10 << 20), "{what}");
            let filled: Result<Bytes, Status> = channel.call(&PROBE.methods[FILL], (&(10 << 20),));
            assert_eq!(filled.map(|bytes| bytes.len()), Ok(10 << 20), "{what}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_call_that_waits_for_its_turn_over_http_ends_at_its_deadline() {
    let probe = Probe::default();
    let running = start(&probe, MODELS[0], ServerLimits::default());
    let channel = Channel::builder(&address(&running))
        .unwrap()
        .wire("binary+http".parse().unwrap())
        .build();
    let slow = {
        let channel = channel.clone();
        thread::spawn(move || wait(&channel, 1))
    };
    until("it waits", || probe.started() == 1);
    let start = Instant::now();
    let late = echo(&channel.with_timeout(Duration::from_millis(40)), 1).unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded);
    assert_eq!(late.execution(), Execution::NotSent);
    assert!(start.elapsed() < LONG);
    probe.open(1);
    assert_eq!(slow.join().unwrap(), Ok(1));
    assert!(running.shutdown(LONG));
}

#[cfg(feature = "async")]
mod asynchronous {
    use super::*;

    #[tokio::test]
    async fn many_tasks_share_a_connection_and_a_dropped_call_is_given_up() {
        for model in CONCURRENT {
            let probe = Probe::default();
            let running = start(&probe, *model, ServerLimits::default());
            let channel = dovetail::Channel::builder(&address(&running))
                .unwrap()
                .wire("binary+header".parse().unwrap())
                .build();
            let abandoned: Result<Result<i32, Status>, _> = tokio::time::timeout(
                Duration::from_millis(20),
                channel.call(&PROBE.methods[WAIT], (&1,)),
            )
            .await;
            assert!(abandoned.is_err(), "{model:?}");
            let callers: Vec<_> = (0..100)
                .map(|number: i32| {
                    let channel = channel.clone();
                    tokio::spawn(async move {
                        let text = number.to_string();
                        let echo = channel.call(&PROBE.methods[ECHO], (&*text,)).await;
                        assert_eq!(echo, Ok::<String, Status>(text));
                    })
                })
                .collect();
            for caller in callers {
                caller.await.expect("no caller fails");
            }
            probe.open(1);
            let waited: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (&1,)).await;
            assert_eq!(waited, Ok(1), "{model:?}");
            assert_eq!(running.counters().connections, 1, "{model:?}");
            drop(channel);
            let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
            assert!(ended.unwrap(), "{model:?}");
        }
    }

    #[tokio::test]
    async fn a_call_ends_at_its_deadline() {
        let probe = Probe::default();
        let running = start(&probe, CONCURRENT[0], ServerLimits::default());
        let channel = dovetail::Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let short = channel.with_timeout(Duration::from_millis(40));
        let late: Result<i32, Status> = short.call(&PROBE.methods[WAIT], (&1,)).await;
        assert_eq!(late.unwrap_err().code(), Code::DeadlineExceeded);
        drop((channel, short));
        probe.open(1);
        let ended = tokio::task::spawn_blocking(|| running.shutdown(LONG)).await;
        assert!(ended.unwrap());
    }
}

/// A channel whose wire says that answers may come in any order.
#[cfg(feature = "async")]
fn numbering(running: &dovetail::Running) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire("binary+header".parse().unwrap()).build()
}

pub(crate) fn echo(channel: &Channel, number: i32) -> Result<String, Status> {
    channel.call(&PROBE.methods[ECHO], (&*number.to_string(),))
}

fn wait(channel: &Channel, gate: i32) -> Result<i32, Status> {
    channel.call(&PROBE.methods[WAIT], (&gate,))
}

descriptor!(static CATS = "Cats" {
    say() -> String;
});

descriptor!(static DOGS = "Dogs" {
    say() -> String;
});

/// Services with the same methods, called on one connection.
#[test]
fn services_share_a_connection() {
    let server = Server::new()
        .service(Mock::new(&CATS).on("say", || "meow".to_owned()))
        .service(Mock::new(&DOGS).on("say", || "woof".to_owned()));
    let running = server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap();
    let wires = [
        "dovetail",
        "msgpack-rpc",
        "binary",
        "compact+framed",
        "json+framed",
        "binary+http",
        "compact+header",
    ];
    for (before, wire) in wires.iter().enumerate() {
        let builder = Channel::builder(&running.addresses()[0].to_string()).unwrap();
        let builder = builder.wire(wire.parse().unwrap()).local_upgrade(false);
        let cats = builder.service("Cats").build();
        let dogs = cats.with_service("Dogs");
        let say = |channel: &Channel, table: &'static ServiceDescriptor| {
            channel.call::<_, String, Status>(&table.methods[0], ())
        };
        for _ in 0..3 {
            assert_eq!(say(&cats, &CATS), Ok("meow".to_owned()), "{wire}");
            assert_eq!(say(&dogs, &DOGS), Ok("woof".to_owned()), "{wire}");
            let by_name = |channel: &Channel| channel.call_by_name("say", ());
            assert_eq!(by_name(&cats), Ok("meow".to_owned()), "{wire}");
            assert_eq!(by_name(&dogs), Ok("woof".to_owned()), "{wire}");
        }
        assert_eq!(running.counters().connections, before as u64 + 1, "{wire}");
        let unknown = say(&dogs.with_service("Birds"), &DOGS).unwrap_err();
        assert_eq!(unknown.code(), Code::Unimplemented, "{wire}: {unknown}");
    }
    assert!(running.shutdown(LONG));
}
