//! Calls that arrive on one connection without waiting for one another's answers.
#![cfg(feature = "async")]

use crate::fixture::*;
use dovetail::server::{Model, ServerLimits};
use std::time::Duration;

/// The calls that are sent at once, and the numbers of the replies that come before the gate opens,
/// and after it.
struct Row {
    name: &'static str,
    sent: Vec<u8>,
    before: Replies,
    after: Replies,
}

enum Replies {
    InOrder(&'static [i32]),
    /// They are of calls that run side by side.
    InAnyOrder(&'static [i32]),
}

use Replies::{InAnyOrder, InOrder};

impl Replies {
    fn count(&self) -> usize {
        let (InOrder(numbers) | InAnyOrder(numbers)) = self;
        numbers.len()
    }

    fn check(&self, mut replies: Vec<i32>, what: &str) {
        let (InOrder(numbers) | InAnyOrder(numbers)) = self;
        if let InAnyOrder(_) = self {
            replies.sort_unstable();
        }
        assert_eq!(replies, *numbers, "{what}");
    }
}

fn rows() -> Vec<Row> {
    let row = |name, sent: &[Vec<u8>], before, after| Row {
        name,
        sent: sent.concat(),
        before,
        after,
    };
    vec![
        row(
            "a call overtakes one that waits",
            &[numbered("wait", 1, &[1]), numbered("noted", 2, &[])],
            InOrder(&[2]),
            InOrder(&[1]),
        ),
        row(
            "answers leave as they are ready",
            &[
                numbered("wait", 1, &[1]),
                numbered("noted", 2, &[]),
                numbered("wait", 3, &[1]),
                numbered("noted", 4, &[]),
            ],
            InAnyOrder(&[2, 4]),
            InAnyOrder(&[1, 3]),
        ),
        row(
            "a client that repeats a number gets its answers in order",
            &[
                numbered("noted", 7, &[]),
                numbered("wait", 7, &[1]),
                numbered("noted", 7, &[]),
            ],
            InOrder(&[7]),
            InOrder(&[7, 7]),
        ),
        row(
            "a plain client gets its answers in order, whatever its numbers",
            &[call("wait", 1, &[1]), call("noted", 2, &[])],
            InOrder(&[]),
            InOrder(&[1, 2]),
        ),
        row(
            "nothing overtakes a one-way call",
            &[oneway("note", 1, &[5, 1]), call("noted", 2, &[])],
            InOrder(&[]),
            InOrder(&[2]),
        ),
        row(
            "a one-way call does not overtake either",
            &[
                numbered("wait", 1, &[1]),
                numbered_oneway("note", 2, &[5, 1]),
                numbered("noted", 3, &[]),
            ],
            InOrder(&[]),
            InOrder(&[1, 3]),
        ),
    ]
}

#[test]
fn what_overtakes_what() {
    for model in CONCURRENT {
        for row in rows() {
            let what = format!("{}, {model:?}", row.name);
            let probe = Probe::default();
            let running = start(&probe, *model, ServerLimits::default());
            let mut raw = Raw::connect(&running);
            raw.send(&row.sent);
            row.before.check(raw.seqids(row.before.count()), &what);
            assert!(raw.is_silent(), "{what}");
            probe.open(1);
            row.after.check(raw.seqids(row.after.count()), &what);
            assert!(running.shutdown(LONG), "{what}");
        }
    }
}

#[test]
fn what_a_one_way_call_did_is_seen_by_the_next_call() {
    for model in MODELS {
        let probe = Probe::default();
        probe.open(1);
        let running = start(&probe, *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        for round in 0..50 {
            raw.send(&[oneway("note", 1, &[round, 1]), call("noted", 2, &[])].concat());
            let reply = raw.reply().unwrap();
            // Field 0, a list of i32; the count is behind its header of three bytes and a type.
            assert_eq!(reply.body[4..8], (round + 1).to_be_bytes(), "{model:?}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn pipelined_http_requests_are_answered_in_order() {
    let request = |seqid, method, params: &[i32], connection| {
        let body = message(1, method, seqid, params);
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\nContent-Type: application/x-thrift\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), &body].concat()
    };
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        let first = request(1, "wait", &[1], "keep-alive");
        raw.send(&[first, request(2, "noted", &[], "close")].concat());
        assert!(raw.is_silent(), "{model:?}");
        probe.open(1);
        let text = String::from_utf8_lossy(&raw.rest().unwrap()).into_owned();
        let (wait, noted) = (text.find("wait"), text.find("noted"));
        assert!(wait.is_some() && wait < noted, "{model:?}: {text:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_connection_has_only_so_many_calls_at_a_time() {
    let limits = ServerLimits {
        calls_per_connection: 4,
        ..ServerLimits::default()
    };
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, limits);
        let mut raw = Raw::connect(&running);
        let calls: Vec<_> = (1..=10)
            .map(|seqid| numbered("wait", seqid, &[1]))
            .collect();
        raw.send(&calls.concat());
        until("four started", || probe.started() == 4);
        settle();
        assert_eq!(probe.started(), 4, "{model:?}");
        probe.open(1);
        let mut replies = raw.seqids(10);
        replies.sort_unstable();
        assert_eq!(replies, (1..=10).collect::<Vec<_>>(), "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn calls_that_arrived_are_answered_after_the_peer_has_closed_its_side() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        raw.send(&call("wait", 1, &[1]));
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        until("it started", || probe.started() == 1);
        probe.open(1);
        assert_eq!(raw.seqids(1), [1], "{model:?}");
        assert_eq!(raw.rest().unwrap(), [0_u8; 0], "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn many_calls_of_many_connections() {
    for model in CONCURRENT {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let mut peers: Vec<Raw> = (0..8).map(|_| Raw::connect(&running)).collect();
        let calls: Vec<_> = (1..=500)
            .map(|seqid| match seqid % 3 {
                0 => numbered("wait", seqid, &[1]),
                _ => numbered("noted", seqid, &[]),
            })
            .collect();
        for peer in &mut peers {
            peer.send(&calls.concat());
        }
        std::thread::sleep(Duration::from_millis(5));
        probe.open(1);
        for peer in &mut peers {
            let mut replies = peer.seqids(500);
            replies.sort_unstable();
            assert_eq!(replies, (1..=500).collect::<Vec<_>>(), "{model:?}");
        }
        assert_eq!(running.counters().calls, 8 * 500, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_single_threaded_server_answers_while_a_handler_waits() {
    let probe = Probe::default();
    let running = start(&probe, Model::SingleThreaded, ServerLimits::default());
    let (mut one, mut other) = (Raw::connect(&running), Raw::connect(&running));
    one.send(&call("wait", 1, &[1]));
    until("it started", || probe.started() == 1);
    other.send(&call("noted", 9, &[]));
    assert_eq!(other.seqids(1), [9]);
    probe.open(1);
    assert_eq!(one.seqids(1), [1]);
    assert!(running.shutdown(LONG));
}
