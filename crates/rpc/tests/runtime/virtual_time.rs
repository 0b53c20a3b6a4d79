//! Hours, in no time: what takes long is tried with a clock that the test moves.

use crate::fixture::stock;
use crate::streams::{FLOW, Flow, SINK};
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture, ServerLimits};
use dovetail::stream::Upload;
use dovetail::testing::{Pair, run};
use dovetail::{Code, Context, Server, Service, Status, Wire, descriptor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

descriptor!(static SLEEPER = "Sleeper" {
    sleep(1 hours: i32) -> i32 [idempotent];
    sleep_once(1 hours: i32) -> i32;
});

/// Counts those who sleep, and who is woken early.
#[derive(Clone, Default)]
struct Sleeper(Arc<Sleepers>);

#[derive(Default)]
struct Sleepers {
    began: AtomicUsize,
    gone: AtomicUsize,
}

impl Service for Sleeper {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SLEEPER
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 | 1 => call.unary((0_i32,), |_: Context, (hours,)| async move {
                self.0.began.fetch_add(1, Ordering::Relaxed);
                let gone = Gone(&self.0.gone);
                sleep(HOUR * hours.unsigned_abs()).await;
                std::mem::forget(gone);
                Ok::<i32, Status>(hours)
            }),
            _ => call.no_such_method(),
        }
    }
}

struct Gone<'a>(&'a AtomicUsize);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a test on each wire whose calls can be told apart.
fn on_wires(test: impl AsyncFn(Pair, Sleeper, Wire)) {
    for wire in [Wire::Dovetail, Wire::MsgpackRpc, stock()] {
        let sleeper = Sleeper::default();
        let limits = ServerLimits {
            idle: 5 * HOUR,
            ..ServerLimits::default()
        };
        let server = Server::new().service(sleeper.clone()).limits(limits);
        run(server, async |pair| test(pair, sleeper, wire).await);
    }
}

#[test]
fn a_deadline_is_kept_to_the_minute() {
    on_wires(async |pair, sleeper, wire| {
        let channel = pair.channel(|builder| builder.wire(wire).timeout(4 * HOUR));
        let start = Instant::now();
        assert_eq!(channel.call_by_name("sleep", (3,)).await, Ok(3));
        assert!(start.elapsed() - 3 * HOUR < MINUTE, "{wire}");

        let caller = channel.clone();
        let call = spawn_local(async move { caller.call_by_name::<i32>("sleep", (5,)).await });
        pair.advance(4 * HOUR - MINUTE).await;
        assert!(!call.is_finished(), "{wire}");
        pair.advance(2 * MINUTE).await;
        assert!(call.is_finished(), "{wire}");
        let late = call.await.unwrap().unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded, "{wire}");
        // Dovetail's own wire cancels the call. The others have no message for it: their server
        // learns it when the connection closes.
        let cancelled = usize::from(wire == Wire::Dovetail);
        assert_eq!(sleeper.0.gone.load(Ordering::Relaxed), cancelled, "{wire}");
        drop(channel);
        pair.advance(MINUTE).await;
        assert_eq!(sleeper.0.gone.load(Ordering::Relaxed), 1, "{wire}");
    });
}

#[test]
fn who_is_idle_is_let_go_and_comes_back() {
    on_wires(async |pair, _, wire| {
        let channel = pair.channel(|builder| builder.wire(wire).timeout(HOUR));
        for _ in 0..3 {
            assert_eq!(channel.call_by_name("sleep", (0,)).await, Ok(0));
            pair.advance(4 * HOUR).await;
            assert_eq!(pair.connections(), 1, "{wire}");
            pair.advance(2 * HOUR).await;
            assert_eq!(pair.connections(), 0, "{wire}");
        }
    });
}

/// Each item has a time of its own, however long all of them take.
#[test]
fn the_items_of_a_caller_may_take_hours() {
    let limits = ServerLimits {
        idle: 5 * HOUR,
        ..ServerLimits::default()
    };
    let server = Server::new().service(Flow::default()).limits(limits);
    run(server, async |pair| {
        let channel = pair.channel(|builder| builder.wire(Wire::Dovetail));
        let opened: Result<Upload<dovetail::types::Bytes, ()>, Status> =
            channel.upload(&FLOW.methods[SINK], ()).await;
        let (mut sender, answer) = opened.unwrap();
        // Longer than what is on its way at a time.
        let blob = dovetail::types::Bytes::from(vec![7; 1 << 20]);
        for _ in 0..3 {
            sender.send(&blob).await.unwrap();
            pair.advance(HOUR).await;
        }
        sender.finish();
        assert_eq!(answer.await, Ok(()));
    });
}

#[test]
fn what_may_be_sent_again_is_when_the_connection_is_lost() {
    on_wires(async |pair, sleeper, wire| {
        let channel = pair.channel(|builder| builder.wire(wire).timeout(9 * HOUR));
        for (method, began, lost) in [(0, 2, None), (1, 3, Some(Code::Unavailable))] {
            let channel = channel.clone();
            let call = spawn_local(async move {
                let method = &SLEEPER.methods[method];
                channel.call::<_, i32, Status>(method, (&2,)).await
            });
            pair.advance(HOUR).await;
            pair.cut();
            let result = call.await.unwrap();
            assert_eq!(result.err().map(|status| status.code()), lost, "{wire}");
            assert_eq!(sleeper.0.began.load(Ordering::Relaxed), began, "{wire}");
        }
    });
}

#[test]
fn a_server_that_refuses_is_left_alone_for_a_while() {
    on_wires(async |pair, _, wire| {
        let channel = pair.channel(|builder| builder.wire(wire));
        let call = async || channel.call_by_name::<i32>("sleep", (0,)).await;
        let said = async |words: &str| {
            let refused = call().await.unwrap_err();
            assert_eq!(refused.code(), Code::Unavailable, "{wire}");
            assert!(refused.message().contains(words), "{wire} {refused}");
        };
        pair.refuse(true);
        said("is the server running").await;
        pair.refuse(false);
        said("left alone").await;
        pair.advance(MINUTE).await;
        assert_eq!(call().await, Ok(0), "{wire}");
    });
}
