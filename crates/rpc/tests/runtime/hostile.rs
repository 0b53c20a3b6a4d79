//! A peer that breaks the rules ends its own connection, is counted, and harms no other.

use crate::fixture::*;
use crate::streams::{self, Flow};
use dovetail::Status;
use dovetail::blocking::Channel;
use dovetail::server::ServerLimits;
use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The bytes of a peer before it closes its side, and the part of the answer that tells it why.
const ROWS: &[(&str, &[u8], &str)] = &[
    ("nothing known", b"\x00\x01\x02\x03\x04\x05\x06\x07", ""),
    (
        "TLS",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\x15\x03\x01",
    ),
    (
        "half a framed message",
        b"\x00\x00\x00\x40\x80\x01\x00\x01",
        "",
    ),
    (
        "half an unframed message",
        b"\x80\x01\x00\x01\x00\x00\x00\x05sev",
        "",
    ),
    (
        "a name of two gigabytes",
        b"\x80\x01\x00\x01\x7f\xff\xff\xffaaaa",
        "the limit is 1024",
    ),
    (
        "a negative name",
        b"\x80\x01\x00\x01\xff\xff\xff\xffaaaa",
        "a length of -1",
    ),
    (
        "a list of 2^31 structs",
        b"\x80\x01\x00\x01\x00\x00\x00\x05seven\x00\x00\x00\x01\x0f\x00\x01\x0c\x7f\xff\xff\xff",
        "the limit is 67108864",
    ),
    (
        "a reply to a server",
        b"\x80\x01\x00\x02\x00\x00\x00\x05seven\x00\x00\x00\x01\x00",
        "are both ends servers",
    ),
    (
        "half a message of msgpack-rpc",
        b"\x94\x00\x2a\xa5seven\x91",
        "",
    ),
    (
        "a list of 2^32 numbers in msgpack-rpc",
        b"\x94\x00\x2a\xa5seven\xdd\xff\xff\xff\xff",
        "over the limit of 67108864",
    ),
    (
        "a response to a server over msgpack-rpc",
        b"\x94\x01\x00\xc0\xc0",
        "a response with the number 0",
    ),
    (
        "an array of three that is no message",
        b"\x93\xc0\xc0\xc0",
        "no message of msgpack-rpc",
    ),
    (
        "a request over HTTP without a length",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "HTTP/1.1 411",
    ),
];

/// A frame of Dovetail's own wire.
pub(crate) fn frame(kind_and_flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [
        &length[..3],
        &[kind_and_flags],
        &id.to_le_bytes()[..],
        payload,
    ]
    .concat()
}

/// Two calls with one id, and ids that are not the client's: GOODBYE, and nothing of the connection
/// stays.
#[test]
fn ids_of_calls_that_are_taken_or_foreign_end_the_connection() {
    let greeting = [b"\xd7DVT".to_vec(), frame(1, 0, &[1])].concat();
    let bind = [b"\x02\x04Flow\x04sink".as_slice(), &[0; 16]].concat();
    let call = |id| frame(0x45, id, &[0, 0]);
    let rows = [
        ([call(1), call(1)].concat(), "another one has"),
        ([call(1), call(3), call(3)].concat(), "another one has"),
        ([call(1), call(2)].concat(), "not one of its caller's"),
        ([call(1), call(0)].concat(), "not one of its caller's"),
        ([call(3), call(1)].concat(), "ids of calls rise"),
    ];
    for model in MODELS {
        let flow = Flow::default();
        let running = streams::start(&flow, *model);
        for (calls, why) in &rows {
            let mut raw = Raw::connect(&running);
            raw.send(&[greeting.clone(), frame(2, 0, &bind), calls.clone()].concat());
            let said = raw.rest().expect("an orderly end");
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains(why), "{model:?}: {said:?}");
        }
        until("all connections and handlers are gone", || {
            running.connections() == 0 && flow.running() == 0
        });
        assert_eq!(running.counters().panics, 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn every_model_survives_every_row() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let good = Channel::builder(&address(&running))
            .unwrap()
            .wire(stock())
            .build();
        for (index, (name, bytes, answer)) in ROWS.iter().enumerate() {
            let what = format!("{name}, {model:?}");
            let mut raw = Raw::connect(&running);
            raw.send(bytes);
            raw.0.shutdown(Shutdown::Write).expect(&what);
            // The end comes once the server has counted what it saw.
            let said = raw.rest().expect(&what);
            let text = String::from_utf8_lossy(&said).to_lowercase();
            assert!(text.contains(&answer.to_lowercase()), "{what}: {text:?}");
            let echo: Result<String, Status> = good.call(&PROBE.methods[ECHO], ("on",));
            assert_eq!(echo, Ok("on".to_owned()), "{what}");
            let errors = running.counters().protocol_errors;
            assert_eq!(errors, index as u64 + 1, "{what}");
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// A peer that never ends what it has begun: how it begins, what it sends again and again, and what
/// it is told.
struct Endless {
    name: &'static str,
    begins: Vec<u8>,
    again: Vec<u8>,
    expected: &'static str,
}

fn endless() -> Vec<Endless> {
    let row = |name, begins: &[u8], again: &[u8], expected| Endless {
        name,
        begins: begins.to_vec(),
        again: again.to_vec(),
        expected,
    };
    let own = |again: &[u8]| {
        let bind = [b"\x00\x05Probe\x04take".as_slice(), &[0; 16]].concat();
        let greeting = [
            b"\xd7DVT".as_slice(),
            &frame(1, 0, &[1]),
            &frame(2, 0, &bind),
        ];
        [greeting.concat(), again.to_vec()].concat()
    };
    let more = frame(0x65, 1, &[0]);
    let late = "100ms";
    vec![
        row("silence", b"", b"", ""),
        row("part of a preface", b"PRI * H", b"", ""),
        row(
            "half an unframed message, byte by byte",
            b"\x80\x01\x00\x01\x00\x00\x04\x00",
            b"a",
            late,
        ),
        row(
            "half a message of msgpack-rpc, byte by byte",
            b"\x94\x00\x2a\xa4take\x91\xc5\x40\x00",
            b"a",
            late,
        ),
        row(
            "chunks",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\na\r\n",
            "HTTP/1.1 408",
        ),
        row(
            "a body that does not come",
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
            b"",
            "HTTP/1.1 408",
        ),
        row(
            "headers",
            b"POST / HTTP/1.1\r\nHost: localhost\r\n",
            b"A: b\r\n",
            "HTTP/1.1 408",
        ),
        row(
            "fragments of a WebSocket's message, and pings between them",
            b"GET /Probe/echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x01\x81\0\0\0\0{",
            b"\x89\x80\0\0\0\0\x00\x81\0\0\0\0 ",
            late,
        ),
        row(
            "frames of one message",
            &own(&more),
            &frame(0x25, 1, b"a"),
            late,
        ),
        row(
            "frames of one message, and pings between them",
            &own(&more),
            &[frame(12, 0, &[0; 8]), frame(0x25, 1, b"a")].concat(),
            late,
        ),
    ]
}

/// Sends a row until the server closes, or for too long; gives what the server said, and how long
/// it took.
fn send_endless(row: &Endless, running: &dovetail::Running) -> (String, Duration) {
    let mut raw = Raw::connect(running);
    let start = Instant::now();
    raw.send(&row.begins);
    let (mut again, bytes) = (raw.0.try_clone().unwrap(), row.again.clone());
    let done = Arc::new(AtomicBool::new(false));
    let closed = done.clone();
    let sender = thread::spawn(move || {
        while !closed.load(Ordering::SeqCst) && again.write_all(&bytes).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    raw.0.set_read_timeout(Some(LONG / 4)).unwrap();
    let said = raw.rest();
    let took = start.elapsed();
    done.store(true, Ordering::SeqCst);
    raw.0.shutdown(Shutdown::Both).ok();
    sender.join().unwrap();
    // A peer that still sends may find its connection reset behind what it was told.
    (
        String::from_utf8_lossy(&said.unwrap_or_default()).into_owned(),
        took,
    )
}

/// Peers of whom each piece comes in time, but never the last one, in all models.
#[track_caller]
fn check_endless(limits: ServerLimits, rows: &[Endless]) {
    for model in MODELS {
        let running = start(&Probe::default(), *model, limits);
        for row in rows {
            let (answer, took) = send_endless(row, &running);
            let what = format!("{}, {model:?}: {took:?}, {answer:?}", row.name);
            assert!(took < LONG / 10, "{what}");
            assert!(answer.contains(row.expected), "{what}");
            until(&what, || running.connections() == 0);
        }
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

#[test]
fn a_limit_of_time_is_for_the_whole_message() {
    let limits = ServerLimits {
        handshake: Duration::from_millis(100),
        transfer: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    check_endless(limits, &endless());
}

#[test]
fn a_message_comes_at_a_rate() {
    let limits = ServerLimits {
        handshake: Duration::from_millis(100),
        rate: 10_000,
        rate_grace: Duration::from_millis(100),
        ..ServerLimits::default()
    };
    check_endless(limits, &endless());
}
