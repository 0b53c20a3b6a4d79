//! Calls that are refused, and how the callers are told.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::server::{Counters, ServerLimits};
use dovetail::status::Execution;
use dovetail::throttle::{Quota, Reason, Throttle};
use dovetail::{Code, Server, Status};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(60);

#[test]
fn a_connection_too_many_is_told_so() {
    let limits = ServerLimits {
        connections: 2,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, limits);
        let channel = |_| {
            Channel::builder(&address(&running))
                .unwrap()
                .wire(stock())
                .build()
        };
        let channels: Vec<Channel> = (0..2).map(channel).collect();
        for channel in &channels {
            assert_eq!(echo(channel), Ok("hello".to_owned()), "{model:?}");
        }
        let refused = echo(&channel(2)).unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{model:?}");
        assert_eq!(
            refused.message(),
            "the server has 2 connections",
            "{model:?}"
        );
        // Those who were there first are not harmed, and one that leaves makes room.
        assert_eq!(echo(&channels[0]), Ok("hello".to_owned()), "{model:?}");
        drop(channels);
        until("room", || running.connections() == 0);
        assert_eq!(echo(&channel(3)), Ok("hello".to_owned()), "{model:?}");
        let counters = running.counters();
        assert_eq!(counters.refused_connections, 1, "{model:?}");
        assert_eq!(counters.refused_calls, 1, "{model:?}");
        assert_eq!(counters.connections, 3, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
#[cfg(feature = "async")]
fn a_call_too_many_is_told_so() {
    let limits = ServerLimits {
        calls: 3,
        ..ServerLimits::default()
    };
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, limits);
        let mut raw = Raw::connect(&running);
        for seqid in 1..=3 {
            raw.send(&numbered("wait", seqid, &[1]));
        }
        until("three wait", || probe.started() == 3);
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let refused = echo(&channel).unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{model:?}");
        assert!(
            refused
                .message()
                .ends_with("the server has 3 calls waiting"),
            "{model:?}: {refused}"
        );
        probe.open(1);
        raw.seqids(3);
        assert_eq!(echo(&channel), Ok("hello".to_owned()), "{model:?}");
        assert_eq!(running.counters().refused_calls, 1, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A peer that is too slow: what it sends, what it is told, and what is counted.
struct Slow {
    name: &'static str,
    sends: Vec<u8>,
    reported: &'static str,
    counted: fn(&Counters) -> u64,
}

fn slow_peers() -> Vec<Slow> {
    let slow = |name, sends: &[u8], reported, counted| Slow {
        name,
        sends: sends.to_vec(),
        reported,
        counted,
    };
    let whole = call("noted", 1, &[]);
    let transfer: fn(&Counters) -> u64 = |counters| counters.transfer_timeouts;
    vec![
        slow("silent from the start", b"", "", |c| c.idle_timeouts),
        slow("silent after a call", &whole, "noted", |c| c.idle_timeouts),
        slow("two bytes", &whole[..2], "", transfer),
        slow(
            "half a framed message",
            &whole[..18],
            "DEADLINE_EXCEEDED: a message that is not complete after 60ms, the limit",
            transfer,
        ),
        slow(
            "half an unframed message",
            &whole[4..16],
            "DEADLINE_EXCEEDED: a message that is not complete",
            transfer,
        ),
        slow(
            "a call and a half",
            &[&whole[..], &whole[..20]].concat(),
            "DEADLINE_EXCEEDED: a message that is not complete",
            transfer,
        ),
        slow(
            "half a THeader message",
            b"\x00\x00\x00\x40\x0f\xff\x00\x00\x00\x00\x00\x01",
            "DEADLINE_EXCEEDED: a message that is not complete",
            transfer,
        ),
        slow(
            "half a request",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nabc",
            "HTTP/1.1 408 Request Timeout",
            transfer,
        ),
    ]
}

#[test]
fn a_peer_that_is_too_slow_is_told_so() {
    let limits = ServerLimits {
        idle: SHORT,
        handshake: SHORT,
        transfer: SHORT,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, limits);
        for slow in slow_peers() {
            let what = format!("{}, {model:?}", slow.name);
            let before = (slow.counted)(&running.counters());
            let mut raw = Raw::connect(&running);
            raw.send(&slow.sends);
            let reported = String::from_utf8_lossy(&raw.rest().expect(&what)).into_owned();
            assert!(reported.contains(slow.reported), "{what}: {reported:?}");
            assert_eq!((slow.counted)(&running.counters()), before + 1, "{what}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_peer_that_does_not_read_is_let_go() {
    let limits = ServerLimits {
        transfer: SHORT,
        ..ServerLimits::default()
    };
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, limits);
        let mut raw = Raw::connect(&running);
        raw.send(&call("fill", 1, &[30 << 20]));
        until("it is let go", || running.counters().transfer_timeouts == 1);
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        assert_eq!(echo(&channel), Ok("hello".to_owned()), "{model:?}");
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A peer that is told something while it still sends must be able to read it: no reset may come
/// before.
#[test]
fn a_refusal_survives_what_the_peer_still_sends() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        // A method name of 2 GB, and the first megabyte of it.
        raw.send(b"\x80\x01\x00\x01\x7f\xff\xff\xff");
        raw.send(&vec![b'a'; 1 << 20]);
        std::thread::sleep(SHORT);
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        let reported = String::from_utf8_lossy(&raw.rest().unwrap()).into_owned();
        assert!(
            reported.contains("the limit is 1024"),
            "{model:?}: {reported:?}"
        );
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn what_a_client_refuses_by_itself() {
    let probe = Probe::default();
    let running = start(&probe, MODELS[0], ServerLimits::default());
    let channel = Channel::builder(&address(&running))
        .unwrap()
        .calls_in_flight(1)
        .build();
    let waiting = {
        let channel = channel.clone();
        std::thread::spawn(move || wait(&channel, 1))
    };
    until("one waits", || probe.started() == 1);
    let refused = echo(&channel).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.execution(), Execution::NotSent);
    probe.open(1);
    assert_eq!(waiting.join().unwrap(), Ok(1));
    assert_eq!(echo(&channel), Ok("hello".to_owned()));
    drop(channel);
    assert!(running.shutdown(LONG));
}

/// Calls wait for their turn, with a runtime and without one.
#[test]
fn a_queue_has_room_and_an_end() {
    for (model, longest, waits) in MODELS
        .iter()
        .flat_map(|model| [(*model, LONG, true), (*model, SHORT, false)])
    {
        let probe = Probe::default();
        let quota = Quota::new().in_flight(1).queue(1, longest);
        let throttle = Throttle::new().at("Probe/wait", quota);
        let refusals = throttle.refusals();
        let server = Server::new().service(probe.clone()).throttle(throttle);
        let running = listen(server.model(model)).start().unwrap();
        let channel = || {
            let builder = Channel::builder(&address(&running)).unwrap();
            builder.timeout(LONG).pushbacks(100).build()
        };
        let first = channel();
        let first = std::thread::spawn(move || wait(&first, 1));
        until("one runs", || probe.started() == 1);
        let second = channel();
        let second = std::thread::spawn(move || wait(&second, 1));
        if !waits {
            until("a refusal", || refusals.of(Reason::QueueTime) > 0);
        }
        settle();
        probe.open(1);
        assert_eq!(first.join().unwrap(), Ok(1), "{model:?}");
        // It has waited for its turn, or come again.
        assert_eq!(second.join().unwrap(), Ok(1), "{model:?}");
        assert!(running.shutdown(LONG));
    }
}

fn echo(channel: &Channel) -> Result<String, Status> {
    channel.call(&PROBE.methods[ECHO], ("hello",))
}

fn wait(channel: &Channel, gate: i32) -> Result<i32, Status> {
    channel.call(&PROBE.methods[WAIT], (&gate,))
}
