//! Ends find out about each other's methods; large and late messages.

use crate::pair::{Methods, Pair, described, nameless};
use dovetail_protocol::dovetail::{CallError, Contract, Options};
use dovetail_protocol::{Code, ConnectionLimits, Execution, Headers};
use dovetail_wire::{Bytes, Encoding};
use std::sync::Arc;
use std::time::Duration;

fn pair(server: Contract) -> Pair {
    let methods = Methods(vec![Arc::new(server)]);
    Pair::new(methods, Options::default(), Options::default())
}

fn call(pair: &mut Pair, contract: &Arc<Contract>) -> Result<Option<u32>, CallError> {
    pair.call(
        contract,
        &Bytes::from_static(b"hello"),
        None,
        &Headers::new(),
    )
}

#[test]
fn equal_contracts_go_tagless_after_the_first_call() {
    let mut pair = pair(described("m", b"the same"));
    let client = Arc::new(described("m", b"the same"));
    for round in 0..3 {
        let id = call(&mut pair, &client).unwrap().unwrap();
        pair.settle(3);
        let tagless = matches!(pair.calls[0].encoding, Encoding::Tagless);
        assert_eq!(tagless, round > 0, "round {round}");
        pair.answer(0, Ok(&Bytes::from_static(b"there")));
        pair.settle(3);
        assert_eq!(pair.outcomes[&id].as_deref(), Ok(&b"there"[..]));
    }
}

#[test]
fn a_tagless_call_is_small() {
    let mut pair = pair(described("m", b"the same"));
    let client = Arc::new(described("m", b"the same"));
    call(&mut pair, &client).unwrap();
    pair.settle(1_000);
    call(&mut pair, &client).unwrap();
    // Header, slot, count, five bytes.
    assert_eq!(pair.sent_by_client().len(), 8 + 1 + 1 + 5);
}

#[test]
fn a_method_that_is_not_there_is_refused_without_a_round_trip() {
    let mut pair = pair(nameless("m"));
    let client = Arc::new(nameless("another"));
    let id = call(&mut pair, &client).unwrap().unwrap();
    pair.settle(7);
    let status = pair.outcomes[&id].clone().unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert_eq!(status.execution(), Execution::NotStarted);
    let Err(CallError::Status(status)) = call(&mut pair, &client) else {
        panic!("refused at once");
    };
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(pair.sent_by_client().is_empty());
}

#[test]
fn a_call_that_waits_for_a_description_is_refused_by_a_drain() {
    let mut pair = pair(described("m", b"the server's"));
    let client = Arc::new(described("m", b"the client's"));
    let id = call(&mut pair, &client).unwrap().unwrap();
    // The server has asked for the client's description, which has not been sent yet.
    pair.step(1_000);
    pair.server.drain("going down");
    pair.settle(1_000);
    assert!(pair.calls.is_empty());
    let status = pair.outcomes[&id].clone().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.execution(), Execution::NotStarted);
    assert!(pair.failures.is_empty(), "{:?}", pair.failures);
}

#[test]
fn a_message_too_large_fails_alone() {
    let small = Options {
        limits: ConnectionLimits {
            message_bytes: 100_000,
            ..ConnectionLimits::default()
        },
        ..Options::default()
    };
    let large = Bytes::from(vec![1; 300_000]);
    let contract = Arc::new(nameless("m"));
    for piece in [1_000, 70_000, 1 << 20] {
        let methods = Methods(vec![contract.clone()]);
        let mut pair = Pair::new(methods, small.clone(), small.clone());
        pair.hide_message_limits();
        let none = Headers::new();
        let first = pair.call(&contract, &large, None, &none).unwrap().unwrap();
        let second = call(&mut pair, &contract).unwrap().unwrap();
        pair.settle(piece);
        let status = pair.outcomes[&first].clone().unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.execution(), Execution::NotStarted);
        pair.answer(0, Ok(&large));
        let third = call(&mut pair, &contract).unwrap().unwrap();
        pair.settle(piece);
        let status = pair.outcomes[&second].clone().unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.execution(), Execution::Finished);
        pair.answer(0, Ok(&Bytes::from_static(b"there")));
        pair.settle(piece);
        assert!(pair.outcomes[&third].is_ok(), "the connection goes on");
        assert!(pair.failures.is_empty());
    }
}

#[test]
fn deadlines_and_headers_arrive() {
    let mut pair = pair(nameless("m"));
    let contract = Arc::new(nameless("m"));
    let headers: Headers = [("trace", "1234"), ("tenant", "a")].into_iter().collect();
    let deadline = Some(Duration::from_millis(250));
    let mut sizes = Vec::new();
    for _ in 0..3 {
        pair.call(&contract, &Bytes::new(), deadline, &headers)
            .unwrap();
        sizes.push(pair.sent_by_client().len());
        pair.settle(5);
        let call = pair.calls.pop().unwrap();
        assert_eq!(call.deadline, deadline);
        assert_eq!(call.headers, headers);
    }
    // The first headers are sent before it is known how many the other end keeps, the second ones
    // kept.
    assert!(sizes[2] < sizes[1], "headers that were sent are numbers");
}
