//! Compressed messages: smaller on the wire, the same at the other end.

use crate::pair::{Methods, Pair, described, nameless};
use dovetail_protocol::dovetail::{Compression, Contract, Options, Role, Sent};
use dovetail_protocol::{Code, ConnectionLimits, Execution, Headers};
use dovetail_wire::Bytes;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Options of an end that may compress.
pub(crate) fn options(compression: Option<Compression>) -> Options {
    Options {
        compression,
        ..Options::default()
    }
}

/// Options of both ends, each with any compression or none.
pub(crate) fn any_options() -> impl Strategy<Value = [Options; 2]> {
    let end = prop_oneof![
        Just(None),
        Just(Some(Compression::zstd(1).at_least(50))),
        Just(Some(Compression::lz4().at_least(50))),
        Just(Some(Compression::zstd(3))),
    ];
    (end.clone(), end).prop_map(|ends| <[_; 2]>::from(ends).map(options))
}

fn pair(contract: &Arc<Contract>, client: Options, server: Options) -> Pair {
    let mut pair = Pair::new(Methods(vec![contract.clone()]), client, server);
    greet(&mut pair, contract);
    pair
}

/// A first call: both ends know each other.
fn greet(pair: &mut Pair, contract: &Arc<Contract>) {
    call(pair, contract, &Bytes::new());
    pair.settle(100);
    pair.answer(0, Ok(&Bytes::new()));
    pair.settle(100);
}

fn call(pair: &mut Pair, contract: &Arc<Contract>, body: &Bytes) -> u32 {
    let headers: Headers = [("trace", "1234")].into_iter().collect();
    let deadline = Some(Duration::from_secs(1));
    let called = pair.call(contract, body, deadline, &headers);
    called.unwrap().unwrap()
}

/// Bytes that cannot be compressed.
fn noise(length: usize) -> Bytes {
    let mut state = 1_u64;
    let bytes = (0..length).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    bytes.collect::<Vec<u8>>().into()
}

#[test]
fn calls_answers_and_items_get_smaller_and_arrive() {
    let zeros = |length| Bytes::from(vec![0; length]);
    let (zstd, lz4) = (Compression::zstd(3), Compression::lz4());
    let small = 1_100;
    // The body, its compression, and the longest compressed form.
    let rows = [
        (zeros(200_000), zstd, 200),
        (zeros(200_000), lz4, 1_000),
        // The ratio is beyond the receiver's limit.
        (zeros(5_000_000), zstd, 5_000_100),
        (zeros(5_000_000), lz4, 25_000),
        (noise(200_000), zstd, 200_200),
        (noise(200_000), lz4, 200_200),
        (zeros(1_000), zstd, small),
        (zeros(1_000), zstd.at_least(500), 100),
        (zeros(1_000), zstd.at_least(2_000), small),
        (zeros(10), zstd.at_least(0), 100),
        (zeros(0), lz4.at_least(0), 100),
    ];
    let contract = Arc::new(described("chat", b"the same"));
    for (body, compression, most) in rows {
        let what = format!("{} bytes, {compression:?}", body.len());
        let mut pair = pair(
            &contract,
            options(Some(compression)),
            options(Some(compression)),
        );
        let id = call(&mut pair, &contract, &body);
        assert!(pair.sent_by_client().len() < most + 60, "a call of {what}");
        assert_eq!(pair.item(Role::Client, id, &body), Sent::Yes);
        assert!(
            pair.sent_by_client().len() < 2 * (most + 60),
            "an item of {what}"
        );
        pair.settle(1_000);
        assert!(pair.calls[0].body.size() >= body.len());
        assert_eq!(
            pair.calls[0].headers,
            [("trace", "1234")].into_iter().collect()
        );
        assert_eq!(pair.calls[0].deadline, Some(Duration::from_secs(1)));
        pair.answer(0, Ok(&body));
        assert!(
            pair.sent_by_server().len() < most + 60,
            "an answer of {what}"
        );
        assert_eq!(pair.item(Role::Server, id, &body), Sent::Yes);
        pair.settle(1_000);
        assert_eq!(pair.outcomes[&id].as_deref(), Ok(&body[..]), "{what}");
        for arrived in [&pair.to_server, &pair.to_client] {
            assert_eq!(arrived[&id].items, [&body[..]], "{what}");
            assert!(
                arrived[&id].untaken[0] < most + 60,
                "{what}: credit is what was sent"
            );
        }
        assert!(pair.failures.is_empty(), "{:?}", pair.failures);
    }
}

#[test]
fn what_the_other_end_takes_is_not_known_before_it_says_so() {
    let contract = Arc::new(nameless("m"));
    let methods = Methods(vec![contract.clone()]);
    let zstd = options(Some(Compression::zstd(3)));
    let mut pair = Pair::new(methods, zstd, Options::default());
    let body = Bytes::from(vec![0; 10_000]);
    call(&mut pair, &contract, &body);
    assert!(pair.sent_by_client().len() > 10_000);
    pair.settle(1_000);
    call(&mut pair, &contract, &body);
    assert!(pair.sent_by_client().len() < 200);
    pair.answer(0, Ok(&body));
    assert!(
        pair.sent_by_server().len() > 10_000,
        "this end does not compress"
    );
}

#[test]
fn the_limit_of_a_message_is_for_what_it_was_before() {
    let small = |compression| Options {
        limits: ConnectionLimits {
            message_bytes: 100_000,
            ..ConnectionLimits::default()
        },
        ..options(compression)
    };
    let zstd = Some(Compression::zstd(3));
    let large = Bytes::from(vec![0; 300_000]);
    let contract = Arc::new(nameless("chat"));
    let mut pair = Pair::new(Methods(vec![contract.clone()]), small(zstd), small(zstd));
    pair.hide_message_limits();
    greet(&mut pair, &contract);
    let first = call(&mut pair, &contract, &large);
    let second = call(&mut pair, &contract, &Bytes::new());
    pair.settle(1_000);
    let status = pair.outcomes[&first].clone().unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.execution(), Execution::NotStarted);
    assert_eq!(pair.item(Role::Client, second, &large), Sent::Yes);
    pair.settle(1_000);
    let Some(Err(status)) = &pair.to_server[&second].end else {
        panic!("{:?}", pair.to_server);
    };
    assert_eq!(status.code(), Code::ResourceExhausted);
    pair.answer(0, Ok(&large));
    pair.settle(1_000);
    let status = pair.outcomes[&second].clone().unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.execution(), Execution::Finished);
    assert!(pair.failures.is_empty(), "{:?}", pair.failures);
}
