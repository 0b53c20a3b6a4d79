//! Callers that go while the handlers of their calls wait.

use crate::fixture::*;
use crate::hostile::frame;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HalfClosed, HandlerFuture, Model};
use dovetail::{Context, Running, Server, Service, Status, descriptor};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

descriptor!(static WAITER = "Waiter" {
    wait() -> bool;
    block() -> bool;
    later() [oneway];
});

/// Handlers that wait until their caller has gone.
#[derive(Clone, Default)]
struct Waiter(Arc<Inner>);

#[derive(Default)]
struct Inner {
    started: AtomicUsize,
    /// How many were dropped, or have seen that they are cancelled.
    ended: AtomicUsize,
    /// How many one-way calls are done.
    done: AtomicUsize,
}

impl Waiter {
    fn starts(&self) -> Ends {
        self.0.started.fetch_add(1, Ordering::SeqCst);
        Ends(self.clone())
    }

    fn started(&self) -> usize {
        self.0.started.load(Ordering::SeqCst)
    }

    fn ended(&self) -> usize {
        self.0.ended.load(Ordering::SeqCst)
    }
}

/// Counts a handler that was dropped.
struct Ends(Waiter);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Blocks its thread until the call is cancelled; false where that takes too long.
fn block(context: &Context) -> bool {
    let start = Instant::now();
    while start.elapsed() < LONG / 2 {
        if context.cancelled() {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

impl Service for Waiter {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &WAITER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => call.unary((), |_: Context, ()| async move {
                let _ends = self.starts();
                std::future::pending::<()>().await;
                Ok::<_, Status>(true)
            }),
            1 => call.unary((), |context: Context, ()| async move {
                let waiter = self.clone();
                let inside = context.clone();
                let work = move || {
                    let ends = waiter.starts();
                    let cancelled = block(&inside);
                    if !cancelled {
                        std::mem::forget(ends);
                    }
                    cancelled
                };
                Ok::<_, Status>(context.blocking(work).await)
            }),
            2 => call.unary((), |context: Context, ()| async move {
                self.0.started.fetch_add(1, Ordering::SeqCst);
                context
                    .blocking(|| thread::sleep(Duration::from_millis(100)))
                    .await;
                self.0.done.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Status>(())
            }),
            _ => call.no_such_method(),
        }
    }
}

fn start(waiter: &Waiter, model: Model, half_closed: HalfClosed) -> Running {
    let server = Server::new().service(waiter.clone()).model(model);
    listen(server.half_closed(half_closed))
        .start()
        .expect("a server")
}

/// How a caller goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goes {
    /// With a FIN, behind which it may still receive.
    HalfClosed,
    /// With a RST.
    Reset,
    /// With the one, then the other.
    Both,
}

impl Raw {
    fn reset(self) {
        let socket = rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
        socket.expect("a socket");
        drop(self);
    }

    fn go(self, how: Goes) -> Option<Raw> {
        if how != Goes::Reset {
            self.0.shutdown(Shutdown::Write).expect("a socket");
        }
        if how == Goes::Both {
            settle();
        }
        match how {
            Goes::HalfClosed => return Some(self),
            Goes::Reset | Goes::Both => self.reset(),
        }
        None
    }
}

fn http(path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn msgpack(method: &str) -> Vec<u8> {
    let mut call = b"\x94\0\x01".to_vec();
    call.push(0xa0 | method.len() as u8);
    call.extend(method.as_bytes());
    call.push(0x90);
    call
}

/// On Dovetail's own wire: the preface, HELLO, BIND, CALL.
fn own(method: &str) -> Vec<u8> {
    let method = [&[method.len() as u8], method.as_bytes()].concat();
    let bind = [b"\0\x06Waiter", &method[..], &[0; 16]].concat();
    [
        b"\xd7DVT".to_vec(),
        frame(1, 0, &[1]),
        frame(2, 0, &bind),
        frame(0x45, 1, &[0, 0]),
    ]
    .concat()
}

/// How a method is called on a wire, and whether a FIN of the caller means that it has gone, with
/// each setting.
struct Row {
    name: &'static str,
    call: fn(&str) -> Vec<u8>,
    gone: [HalfClosed; 2],
}

const OVER_HTTP: [HalfClosed; 2] = [HalfClosed::GoneOverHttp, HalfClosed::Gone];
const ONLY_GONE: [HalfClosed; 2] = [HalfClosed::Gone, HalfClosed::Gone];

const ROWS: &[Row] = &[
    Row {
        name: "Connect",
        call: |method| http(&format!("/Waiter/{method}"), "application/json", b"{}"),
        gone: OVER_HTTP,
    },
    Row {
        name: "Connect, with another request behind",
        call: |method| {
            let path = format!("/Waiter/{method}");
            http(&path, "application/json", b"{}").repeat(2)
        },
        gone: OVER_HTTP,
    },
    Row {
        name: "Thrift over HTTP",
        call: |method| http("/", "application/x-thrift", &message(1, method, 1, &[])),
        gone: OVER_HTTP,
    },
    Row {
        name: "framed Thrift",
        call: |method| call(method, 1, &[]),
        gone: ONLY_GONE,
    },
    Row {
        name: "unframed Thrift, with another call behind",
        call: |method| message(1, method, 1, &[]).repeat(2),
        gone: ONLY_GONE,
    },
    Row {
        name: "THeader",
        call: |method| numbered(method, 1, &[]),
        gone: ONLY_GONE,
    },
    Row {
        name: "msgpack-rpc",
        call: msgpack,
        gone: ONLY_GONE,
    },
    Row {
        name: "Dovetail's own wire",
        call: own,
        gone: [HalfClosed::Waits, HalfClosed::Gone],
    },
];

/// A caller that goes in this way: its handler ends, and its connection is closed, at once.
#[track_caller]
fn check(row: &Row, method: &str, goes: Goes, half_closed: HalfClosed, model: Model) {
    let what = format!(
        "{}, {method}, {goes:?}, {half_closed:?}, {model:?}",
        row.name
    );
    let waiter = Waiter::default();
    let running = start(&waiter, model, half_closed);
    let mut raw = Raw::connect(&running);
    raw.send(&(row.call)(method));
    until(&what, || waiter.started() == 1);
    let went = Instant::now();
    let _half = raw.go(goes);
    until(&what, || running.connections() == 0);
    until(&what, || waiter.ended() == waiter.started());
    assert!(went.elapsed() < Duration::from_secs(10), "{what}");
    // The call is counted after its handler was dropped.
    until(&what, || running.counters().cancelled_calls > 0);
    assert!(running.shutdown(LONG), "{what}");
}

#[test]
fn a_reset_ends_the_call_whatever_the_wire() {
    for model in MODELS {
        for row in ROWS {
            for method in ["wait", "block"] {
                check(row, method, Goes::Reset, HalfClosed::Waits, *model);
                check(row, method, Goes::Both, HalfClosed::Waits, *model);
            }
        }
    }
}

#[test]
fn a_half_closed_caller_has_gone_where_the_server_says_so() {
    for model in MODELS {
        for row in ROWS {
            for (method, half_closed) in ["wait", "block"].into_iter().zip(row.gone) {
                check(row, method, Goes::HalfClosed, half_closed, *model);
                check(row, method, Goes::HalfClosed, HalfClosed::Gone, *model);
            }
        }
    }
}

/// A caller that gives a call up, and stays: a handler that waits is dropped, whatever thread it
/// has.
#[test]
fn a_cancelled_call_ends_in_every_model() {
    for model in MODELS {
        let waiter = Waiter::default();
        let running = start(&waiter, *model, HalfClosed::Waits);
        let mut raw = Raw::connect(&running);
        raw.send(&own("wait"));
        until("it started", || waiter.started() == 1);
        raw.send(&frame(8, 1, &[]));
        until("it ended", || waiter.ended() == 1);
        until("it is counted", || running.counters().cancelled_calls == 1);
        assert_eq!(running.connections(), 1, "{model:?}");
        drop(raw);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Nobody waits for a one-way call, so that it runs to its end when its caller has gone.
#[test]
fn a_one_way_call_outlives_its_caller() {
    for model in MODELS {
        for how in [Goes::HalfClosed, Goes::Reset] {
            let waiter = Waiter::default();
            let running = start(&waiter, *model, HalfClosed::Gone);
            let mut raw = Raw::connect(&running);
            raw.send(&oneway("later", 1, &[]));
            until("it started", || waiter.started() == 1);
            let _half = raw.go(how);
            until("it is done", || waiter.0.done.load(Ordering::SeqCst) == 1);
            until("the connection is gone", || running.connections() == 0);
            assert!(running.shutdown(LONG), "{model:?}");
        }
    }
}
