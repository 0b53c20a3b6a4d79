//! The threads of handlers, and the fate of those that panic.

use crate::fixture::*;
use dovetail::blocking::Channel;
#[cfg(feature = "async")]
use dovetail::server::Model;
use dovetail::server::ServerLimits;
use dovetail::{Code, Running, Server, Status, Wire};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
#[cfg(feature = "async")]
use std::thread;

#[test]
fn a_panic_fails_its_own_call() {
    for model in MODELS {
        let probe = Probe::default();
        probe.open(0);
        let running = start(&probe, *model, ServerLimits::default());
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        for (index, method) in [PANIC, PANIC_LATER].into_iter().enumerate() {
            let failed: Result<(), Status> = channel.call(&PROBE.methods[method], ());
            let failed = failed.unwrap_err();
            assert_eq!(failed.code(), Code::Internal, "{model:?}");
            assert_eq!(failed.message(), "the handler panicked", "{model:?}");
            let text: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("on",));
            assert_eq!(text, Ok("on".to_owned()), "{model:?}");
            assert_eq!(running.counters().panics, index as u64 + 1, "{model:?}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn blocking_work_leaves_an_event_loop_and_nothing_else() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let channel = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        let in_place: Result<bool, Status> = channel.call(&PROBE.methods[WORK], ());
        #[cfg(feature = "async")]
        let expected = !matches!(model, Model::EventLoops(_) | Model::SingleThreaded);
        #[cfg(not(feature = "async"))]
        let expected = true;
        assert_eq!(in_place, Ok(expected), "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A connection inside the process has a thread under every model; its handlers still find a
/// runtime.
#[test]
fn connections_that_are_no_sockets() {
    for model in MODELS {
        let probe = Probe::default();
        probe.open(1);
        let server = Server::new().service(probe).model(*model);
        let (server, connector) = server.in_process();
        let running = server.start().unwrap();
        let channel = Channel::through(Arc::new(connector)).build();
        let waited: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (&1,));
        assert_eq!(waited, Ok(1), "{model:?}");
        assert_eq!(finds_runtime(&channel), HAS_RUNTIME, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn handlers_find_timers_and_tasks() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        for wire in [stock(), Wire::Dovetail] {
            let channel = channel(&running, wire);
            assert_eq!(finds_runtime(&channel), HAS_RUNTIME, "{model:?}, {wire}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

const HAS_RUNTIME: bool = cfg!(feature = "async");

fn finds_runtime(channel: &Channel) -> bool {
    let found: Result<bool, Status> = channel.call(&PROBE.methods[RUNTIME], ());
    found.unwrap()
}

fn channel(running: &Running, wire: Wire) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    builder.wire(wire).build()
}

/// Handlers that wait have no thread of the pool: its only one serves the others.
#[cfg(feature = "async")]
#[test]
fn handlers_that_wait_leave_the_pool_to_others() {
    const WAITING: usize = 50;
    let probe = Probe::default();
    let running = start(&probe, Model::ThreadPool(1), ServerLimits::default());
    thread::scope(|scope| {
        for _ in 0..WAITING {
            let channel = channel(&running, stock());
            scope.spawn(move || {
                let waited: Result<i32, Status> = channel.call(&PROBE.methods[WAIT], (&1,));
                assert_eq!(waited, Ok(1));
            });
        }
        until("all wait", || probe.started() == WAITING);
        for wire in [stock(), Wire::Dovetail] {
            let channel = channel(&running, wire);
            let text: Result<String, Status> = channel.call(&PROBE.methods[ECHO], ("on",));
            assert_eq!(text, Ok("on".to_owned()), "{wire}");
        }
        probe.open(1);
    });
    assert!(running.shutdown(LONG));
}

/// A one-way call over HTTP is answered at once: the caller does not wait for the handler.
#[test]
fn one_way_calls_over_http() {
    // The bytes of Apache's clients: a message of the type ONEWAY, of `note(1: 7, 2: gate)`.
    let message = |gate: u8| {
        let mut message = b"\x80\x01\0\x04\0\0\0\x04note\0\0\0\0".to_vec();
        message.extend(b"\x08\0\x01\0\0\0\x07\x08\0\x02\0\0\0");
        message.extend([gate, 0]);
        message
    };
    for model in MODELS {
        let probe = Probe::default();
        let running = start(&probe, *model, ServerLimits::default());
        for (gate, connection) in [(1, "keep-alive"), (2, "close")] {
            let mut stream = TcpStream::connect(tcp_place(&running)).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let body = message(gate);
            let head = format!(
                "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-thrift\r\n\
                 connection: {connection}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream
                .write_all(&[head.as_bytes(), &body].concat())
                .unwrap();
            let mut answer = [0; 1000];
            let read = stream.read(&mut answer).unwrap();
            let answer = String::from_utf8_lossy(&answer[..read]);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{model:?}: {answer}");
            assert!(answer.ends_with(" 0\r\n\r\n"), "{model:?}: {answer}");
            drop(stream);
        }
        // Their callers have gone, and the handlers run on.
        probe.open(1);
        probe.open(2);
        let channel = Channel::connect(&address(&running)).unwrap();
        let noted = || channel.call(&PROBE.methods[NOTED], ());
        until("both are noted", || noted() == Ok::<_, Status>(vec![7, 7]));
        drop(channel);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}
