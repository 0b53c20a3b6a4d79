//! Calls over a transport that misbehaves: in pieces all of them work, and a lost connection costs
//! one call.
#![allow(clippy::unwrap_used)]

use dovetail::blocking::{Channel, ChannelBuilder};
use dovetail::status::Execution;
use dovetail::transport::{SocketListener, memory};
use dovetail::{Code, Running, Server, Status, Wire};
use example_custom_transport::Book;
use example_custom_transport::contract::{
    AccountBlockingClient, AccountServer, Overdrawn, WithdrawError,
};
use example_custom_transport::faults::Faults;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Larger than any piece: nothing is lost by accident.
const WHOLE: usize = usize::MAX;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Dovetail's own, detected and framed, to be scanned, with headers, over HTTP.
const WIRES: [&str; 7] = [
    "dovetail",
    "binary+framed",
    "binary",
    "compact",
    "compact+header:zlib",
    "json+framed",
    "json+http",
];

/// The transport that carries the bytes in the end.
#[derive(Clone, Copy, Debug)]
enum Carrier {
    Memory,
    Tcp,
}

/// A server and a client of it, each with faults of its own.
fn start(carrier: Carrier, wire: &str, server: &Faults, client: &Faults) -> (Running, Account) {
    let (listener, connector) = match carrier {
        Carrier::Memory => {
            let (listener, connector) = memory();
            (server.listener(listener), client.connector(connector))
        }
        Carrier::Tcp => {
            let socket = SocketListener::bind(&"tcp://127.0.0.1:0".parse().unwrap()).unwrap();
            let address = socket.local().clone();
            (server.listener(socket), client.connector(address))
        }
    };
    let service = AccountServer::new(Book::default());
    let running = Server::new().service(service).listener(listener).start();
    let builder: ChannelBuilder = Channel::through(connector);
    let wire: Wire = wire.parse().unwrap();
    let channel = builder.wire(wire).timeout(TIMEOUT).build();
    (running.unwrap(), AccountBlockingClient::from(channel))
}

type Account = AccountBlockingClient;

#[test]
fn every_call_in_pieces() {
    for carrier in [Carrier::Memory, Carrier::Tcp] {
        for wire in WIRES {
            for piece in [1, 2, 7] {
                let label = format!("{wire} over {carrier:?} in pieces of {piece}");
                let faults = Faults::in_pieces(piece);
                let (running, account) = start(carrier, wire, &faults.clone(), &faults);
                assert_eq!(account.deposit(100), Ok(100), "{label}");
                assert_eq!(account.withdraw(30), Ok(70), "{label}");
                let overdrawn = Overdrawn {
                    missing: 30,
                    message: "there are only 70 cents".to_owned(),
                    ..Default::default()
                };
                let answer = account.withdraw(100);
                assert_eq!(answer, Err(WithdrawError::Overdrawn(overdrawn)), "{label}");
                assert_eq!(account.balance(), Ok(70), "{label}");
                let text = "a long note, ".repeat(100);
                account.note(&text).unwrap();
                assert_eq!(account.notes(), Ok(vec![text]), "{label}");
                assert!(running.shutdown(TIMEOUT), "{label}");
            }
        }
    }
}

/// Loses the connection after each byte of a call, as one end counts them, until a call gets
/// through: `call` says whether it did.
fn lose_everywhere(faults: &Faults, label: &str, mut call: impl FnMut(&str) -> bool) {
    for offset in 0.. {
        let label = format!("{label}, lost after {offset} bytes");
        let started = Instant::now();
        faults.lose_after(offset);
        let through = call(&label);
        assert!(started.elapsed() < TIMEOUT, "{label}");
        if through {
            assert!(offset > 20, "no call is so short: {label}");
            return;
        }
    }
}

/// An error that says what happened, and that the call may have run.
fn check_lost(status: &Status, codes: &[Code], label: &str) {
    assert!(codes.contains(&status.code()), "{label}: {status}");
    assert_eq!(
        status.execution(),
        Execution::MayHaveRun,
        "{label}: {status}"
    );
}

#[test]
fn a_connection_lost_at_the_client() {
    for carrier in [Carrier::Memory, Carrier::Tcp] {
        for wire in WIRES {
            let (faults, sound) = (Faults::in_pieces(WHOLE), Faults::in_pieces(WHOLE));
            let (_running, account) = start(carrier, wire, &sound, &faults);
            let mut calls = 0;
            lose_everywhere(&faults, &format!("{wire} over {carrier:?}"), |label| {
                calls += 1;
                if let Err(status) = account.deposit(1) {
                    check_lost(&status, &[Code::Unavailable], label);
                    // The next call works, and nothing has been deposited twice.
                    let balance = account.balance().expect(label);
                    assert!((0..=calls).contains(&balance), "{label}: {balance}");
                    return false;
                }
                // The wire tells that the call was not started, and so it has been sent again.
                faults.armed()
            });
        }
    }
}

/// The server's end is lost: the client sees what a crash looks like.
#[test]
fn a_connection_lost_at_the_server() {
    let codes = [Code::Unavailable];
    for carrier in [Carrier::Memory, Carrier::Tcp] {
        for wire in WIRES {
            let (faults, sound) = (Faults::in_pieces(WHOLE), Faults::in_pieces(WHOLE));
            let (_running, account) = start(carrier, wire, &faults, &sound);
            lose_everywhere(&faults, &format!("{wire} over {carrier:?}"), |label| {
                if let Err(status) = account.deposit(1) {
                    check_lost(&status, &codes, label);
                    account.balance().expect(label);
                    return false;
                }
                faults.armed()
            });
        }
    }
}

/// A call that may run twice is sent again: its caller does not even notice.
#[test]
fn an_idempotent_call_is_sent_again() {
    for carrier in [Carrier::Memory, Carrier::Tcp] {
        for wire in WIRES {
            let (faults, sound) = (Faults::in_pieces(WHOLE), Faults::in_pieces(WHOLE));
            let (_running, account) = start(carrier, wire, &sound, &faults);
            lose_everywhere(&faults, &format!("{wire} over {carrier:?}"), |label| {
                assert_eq!(account.balance(), Ok(0), "{label}");
                faults.armed()
            });
        }
    }
}

/// A loss ends one connection; the calls that shared it fail together, and all callers go on.
#[test]
fn callers_that_share_a_connection() {
    let (faults, sound) = (Faults::in_pieces(WHOLE), Faults::in_pieces(WHOLE));
    let (_running, account) = start(Carrier::Tcp, "binary+framed", &sound, &faults);
    let (tried, answered) = (AtomicI64::new(0), AtomicI64::new(0));
    for round in 0..20 {
        faults.lose_after(100 + 37 * round);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        tried.fetch_add(1, Ordering::Relaxed);
                        match account.deposit(1) {
                            Ok(_) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
                        }
                    }
                });
            }
        });
        assert!(!faults.armed(), "80 calls are longer than that");
        let balance = account.balance().unwrap();
        assert!(answered.load(Ordering::Relaxed) <= balance, "{balance}");
        assert!(balance <= tried.load(Ordering::Relaxed), "{balance}");
    }
    assert!(answered.load(Ordering::Relaxed) < tried.load(Ordering::Relaxed));
}

#[test]
fn the_program() {
    let program = env!("CARGO_BIN_EXE_example-custom-transport");
    let output = std::process::Command::new(program).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for line in [
        "byte by byte: the balance is 100",
        "UNAVAILABLE",
        "asked again: 100",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}
