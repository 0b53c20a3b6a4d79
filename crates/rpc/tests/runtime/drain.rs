//! How a server ends.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::server::ServerLimits;
use dovetail::{Code, Status};
use std::io::Read as _;
use std::thread;
use std::time::Duration;

#[test]
fn calls_that_have_arrived_are_answered_first() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let address = address(&running);
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let channel = Channel::builder(&address).unwrap().wire(stock()).build();
                thread::spawn(move || wait(&channel, 1))
            })
            .collect();
        // A pool of two threads runs two of them at a time.
        until("they wait", || {
            probe.started() >= 2 && running.connections() == 3
        });
        settle();
        let ending = thread::spawn(move || running.shutdown(LONG));
        until("nobody else gets in", || {
            let channel = Channel::builder(&address).unwrap().wire(stock()).build();
            wait(&channel.with_timeout(Duration::from_millis(50)), 2).is_err()
        });
        probe.open(1);
        probe.open(2);
        for call in calls {
            assert_eq!(call.join().unwrap(), Ok(1), "{model:?}");
        }
        assert!(ending.join().unwrap(), "{model:?}");
    }
}

#[test]
fn what_takes_too_long_is_cut() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let call = thread::spawn(move || wait(&channel, 1));
        until("it waits", || probe.started() == 1);
        let letting_go = {
            let probe = probe.clone();
            thread::spawn(move || {
                // A thread that waits for its handler is not cut either: its connection is.
                thread::sleep(Duration::from_millis(300));
                probe.open(1);
            })
        };
        assert!(!running.shutdown(Duration::from_millis(50)), "{model:?}");
        let cut = call.join().unwrap().unwrap_err();
        assert_eq!(cut.code(), Code::Unavailable, "{model:?}: {cut}");
        letting_go.join().unwrap();
    }
}

#[test]
fn idle_connections_do_not_delay_it() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let idle: Vec<Raw> = (0..20).map(|_| Raw::connect(&running)).collect();
        until("they are in", || running.connections() == 20);
        assert!(running.shutdown(LONG), "{model:?}");
        for mut peer in idle {
            assert_eq!(peer.rest().unwrap(), [0_u8; 0], "{model:?}");
        }
    }
}

#[test]
fn the_port_is_free_afterwards_and_a_channel_finds_the_next_server() {
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        let address = address(&running);
        let channel = Channel::builder(&address)
            .unwrap()
            .wire(stock())
            .backoff(dovetail::client::Backoff {
                first: Duration::from_millis(1),
                most: Duration::from_millis(1),
            })
            .build();
        probe.open(1);
        assert_eq!(wait(&channel, 1), Ok(1), "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
        let gone = wait(&channel, 1).unwrap_err();
        assert_eq!(gone.code(), Code::Unavailable, "{model:?}: {gone}");

        let server = dovetail::Server::new().service(probe.clone()).model(*model);
        let again = server.listen(&place(&address)).unwrap().start().unwrap();
        until("it is found", || wait(&channel, 1) == Ok(1));
        assert!(again.shutdown(LONG), "{model:?}");
    }
}

fn wait(channel: &Channel, gate: i32) -> Result<i32, Status> {
    channel.call(&PROBE.methods[WAIT], (&gate,))
}

/// Wires without a word for the end say it in the answers to the calls that still come.
#[test]
fn calls_that_come_too_late_are_refused() {
    let thrift_call = b"\0\0\0\x12\x80\x01\0\x01\0\0\0\x05noted\0\0\0\x07\0";
    let thrift_answer = b"\x80\x01\0\x03\0\0\0\x05noted\0\0\0\x07\x0b\0\x01\0\0\0\x28UNAVAILABLE: the server is shutting down";
    // A type of 0, and field 100: the call did not run.
    let thrift_end = b"\x08\0\x02\0\0\0\0\x08\0\x64\0\0\0\x01\0";
    let thrift = [&thrift_answer[..], thrift_end].concat();
    let packed_call = b"\x94\0\x07\xa5noted\x90";
    let packed = b"\x94\x01\x07\xd9\x28UNAVAILABLE: the server is shutting down\xabnot-started";
    for model in MODELS {
        for (call, first, refused) in [
            (&thrift_call[..], &b"\x80\x01\0\x02"[..], &thrift[..]),
            (packed_call, b"\x94\x01\x07\xc0", packed),
        ] {
            let running = start(&Probe::default(), *model, ServerLimits::default());
            let mut raw = Raw::connect(&running);
            raw.send(call);
            let mut answered = [0; 256];
            let count = raw.0.read(&mut answered).unwrap();
            assert!(
                contains(&answered[..count], first),
                "{model:?}: {answered:x?}"
            );
            let ending = thread::spawn(move || running.shutdown(LONG));
            // Less than the server listens for to such peers.
            thread::sleep(Duration::from_millis(30));
            raw.send(call);
            let rest = raw.rest().unwrap();
            assert!(contains(&rest, refused), "{model:?}: {rest:x?}");
            assert!(ending.join().unwrap(), "{model:?}");
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
