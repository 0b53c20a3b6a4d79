//! How a server ends.

use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::{Code, ServerLimits, Status};
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
            .backoff(dovetail::Backoff {
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
