//! Handlers that hold up event loops, by the clock of the machine: what they block is a thread.

use crate::events::Events;
use crate::fixture::*;
use dovetail::blocking::Channel;
use dovetail::server::Model;
use dovetail::{Running, Server};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Longer than a handler may have a loop, by any clock.
const BLOCKS: Duration = Duration::from_millis(60);

/// Blocks threads until the test lets one go on.
struct Gate {
    open: Sender<()>,
    opened: Mutex<Receiver<()>>,
}

impl Gate {
    fn new() -> Arc<Self> {
        let (open, opened) = channel();
        let opened = Mutex::new(opened);
        Arc::new(Gate { open, opened })
    }

    fn open(&self) {
        self.open.send(()).unwrap();
    }

    /// Returns whether the gate was opened in time.
    fn pass(&self) -> bool {
        self.opened.lock().unwrap().recv_timeout(LONG).is_ok()
    }
}

fn start(model: Model, gate: &Arc<Gate>) -> Running {
    let gate = gate.clone();
    let server = Server::new()
        .model(model)
        .bind("block", || thread::sleep(BLOCKS))
        .bind("pass", move |first: bool| match first {
            true => {
                thread::sleep(BLOCKS);
                true
            }
            false => gate.pass(),
        })
        .bind("quick", || 1);
    server.listen("tcp://127.0.0.1:0").unwrap().start().unwrap()
}

const WIRES: &[&str] = &["dovetail", "msgpack-rpc", "binary+framed", "compact+header"];

fn client(running: &Running, wire: &str) -> Channel {
    let builder = Channel::builder(&address(running)).unwrap();
    let builder = builder.wire(wire.parse().unwrap()).local_upgrade(false);
    builder.timeout(LONG).build()
}

#[test]
fn functions_that_block_run_in_the_pool_from_then_on() {
    for wire in WIRES {
        let gate = Gate::new();
        let running = start(Model::EventLoops(Some(1)), &gate);
        let (blocked, other) = (client(&running, wire), client(&running, wire));
        assert!(blocked.call_by_name::<bool>("pass", (true,)).unwrap());
        assert_eq!(running.counters().held_up_loops, 1, "{wire}");
        thread::scope(|scope| {
            let passes = scope.spawn(|| blocked.call_by_name::<bool>("pass", (false,)));
            // The only loop is free: nothing else opens the gate.
            assert_eq!(other.call_by_name::<i32>("quick", ()).unwrap(), 1, "{wire}");
            gate.open();
            assert!(passes.join().unwrap().unwrap(), "{wire}");
        });
    }
}

#[test]
fn the_only_thread_of_a_server_is_held_up_each_time() {
    let running = start(Model::SingleThreaded, &Gate::new());
    let client = client(&running, "dovetail");
    for calls in 1..=2 {
        client.call_by_name::<()>("block", ()).unwrap();
        assert_eq!(running.counters().held_up_loops, calls);
    }
}

#[test]
fn threads_of_their_own_hold_up_nobody() {
    for model in [Model::ThreadPool(1), Model::ThreadPerConnection] {
        let running = start(model, &Gate::new());
        let client = client(&running, "dovetail");
        client.call_by_name::<()>("block", ()).unwrap();
        assert_eq!(running.counters().held_up_loops, 0, "{model:?}");
    }
}

#[tokio::test]
async fn a_loop_that_is_held_up_is_an_event_with_the_method() {
    let events = Events::default();
    let _listens = tracing::subscriber::set_default(events.clone());
    let server = Server::new().bind("block", || thread::sleep(BLOCKS));
    let server = server.listen("tcp://127.0.0.1:0").unwrap();
    let address = server.addresses()[0].to_string();
    let call = async {
        let channel = dovetail::Channel::connect(&address).unwrap();
        channel.call_by_name::<()>("block", ()).await.unwrap();
    };
    server.serve(call, LONG).await.unwrap();
    let parts = [
        "WARN",
        "held up its event loop",
        "method=\"block\"",
        "millis=",
    ];
    assert!(events.has(&parts), "{events:?}");
}
