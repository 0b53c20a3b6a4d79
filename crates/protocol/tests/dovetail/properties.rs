//! Random operations on both ends, in any order, in pieces of any size: every call has exactly one
//! outcome.

use crate::compression::any_options;
use crate::pair::{Methods, Pair, decode, described, nameless};
use dovetail_protocol::dovetail::CallError;
use dovetail_protocol::{Code, Execution, Headers, Status};
use dovetail_wire::Bytes;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Operation {
    Call {
        method: usize,
        length: usize,
        deadline: Option<u64>,
        headers: usize,
    },
    Answer {
        which: usize,
        length: usize,
        fails: bool,
    },
    Abandon(usize),
    Carry(usize),
    Drain,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let length = prop_oneof![0_usize..100, Just(70_000), Just(200_000)];
    let operation = prop_oneof![
        8 => (0_usize..4, length.clone(), prop::option::of(0_u64..1 << 40), 0_usize..4).prop_map(
            |(method, length, deadline, headers)| Operation::Call { method, length, deadline, headers }
        ),
        6 => (any::<usize>(), length, any::<bool>()).prop_map(|(which, length, fails)| {
            Operation::Answer { which, length, fails }
        }),
        2 => any::<usize>().prop_map(Operation::Abandon),
        8 => prop_oneof![1_usize..20, Just(300_000)].prop_map(Operation::Carry),
        1 => Just(Operation::Drain),
    ];
    prop::collection::vec(operation, 0..60)
}

/// Bytes that tell calls apart.
fn blob(number: usize, length: usize) -> Bytes {
    let bytes = (0..length).map(|index| (number * 31 + index) as u8);
    bytes.collect::<Vec<u8>>().into()
}

fn headers(count: usize) -> Headers {
    (0..count)
        .map(|number| (format!("name-{number}"), Bytes::from(vec![number as u8; 9])))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_call_has_one_outcome(
        operations in operations(),
        [client, server] in any_options(),
        piece in 1_usize..5_000,
    ) {
        let contracts = [
            nameless("plain"),
            described("equal", b"the same"),
            nameless("note"),
            nameless("missing"),
        ]
        .map(Arc::new);
        let known = [nameless("plain"), described("equal", b"the same"), nameless("note")];
        let methods = Methods(known.map(Arc::new).to_vec());
        let mut pair = Pair::new(methods, client, server);
        let (mut called, mut abandoned) = (HashMap::new(), HashSet::new());
        let (mut expected, mut notes) = (HashMap::new(), 0);
        let mut drained = false;
        for (number, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Call { method, length, deadline, headers: count } => {
                    let body = blob(number, length);
                    let deadline = deadline.map(Duration::from_micros);
                    match pair.call(&contracts[method], &body, deadline, &headers(count)) {
                        Ok(Some(call)) => {
                            prop_assert!(called.insert(call, (method, body)).is_none());
                        }
                        Ok(None) => notes += 1,
                        Err(CallError::Status(status)) => {
                            let missing = method == 3 && status.code() == Code::Unimplemented;
                            prop_assert!(missing || drained, "{status}");
                        }
                        Err(CallError::Encode(error)) => prop_assert!(false, "{error}"),
                    }
                }
                Operation::Answer { which, length, fails } if !pair.calls.is_empty() => {
                    let index = which % pair.calls.len();
                    let call = &pair.calls[index];
                    if call.kind.is_oneway() {
                        pair.calls.swap_remove(index);
                        notes -= 1;
                        continue;
                    }
                    let (id, body) = (call.reply.call(), decode(call.encoding, &call.body.clone().decompress().unwrap()));
                    prop_assert_eq!(&body[..], &called[&id].1[..]);
                    let answer = blob(number, length);
                    let status = Status::new(Code::NotFound, "nothing here");
                    let status = status.with_execution(Execution::Finished);
                    match fails {
                        true => pair.answer(index, Err(&status)),
                        false => pair.answer(index, Ok(&answer)),
                    }
                    expected.insert(id, (!fails).then_some(answer));
                }
                Operation::Answer { .. } => {}
                Operation::Abandon(which) => {
                    let mut pending: Vec<u32> = pair.client.pending().collect();
                    pending.sort_unstable();
                    if let Some(call) = pending.get(which % pending.len().max(1)) {
                        pair.client.abandon(*call);
                        abandoned.insert(*call);
                    }
                }
                Operation::Carry(bytes) => drop(pair.step(bytes)),
                Operation::Drain => {
                    pair.server.drain("going down");
                    drained = true;
                }
            }
        }
        pair.settle(piece);
        while let Some(call) = pair.calls.first() {
            let (id, oneway) = (call.reply.call(), call.kind.is_oneway());
            if oneway {
                notes -= 1;
                pair.calls.swap_remove(0);
                continue;
            }
            pair.answer(0, Ok(&blob(0, 3)));
            expected.insert(id, Some(blob(0, 3)));
        }
        pair.settle(piece);
        prop_assert!(pair.failures.is_empty(), "{:?}", pair.failures);
        prop_assert_eq!(pair.client.pending().count(), 0);
        prop_assert!(notes == 0 || drained);
        for (call, (method, _)) in &called {
            let outcome = pair.outcomes.get(call);
            if abandoned.contains(call) {
                prop_assert!(outcome.is_none());
                continue;
            }
            match (outcome.expect("an outcome"), expected.get(call)) {
                (Ok(body), Some(Some(sent))) => prop_assert_eq!(&body[..], &sent[..]),
                (Err(status), Some(None)) => prop_assert_eq!(status.code(), Code::NotFound),
                (Err(status), None) => {
                    prop_assert_eq!(status.execution(), Execution::NotStarted);
                    prop_assert!(*method == 3 || drained, "{}", status);
                }
                (outcome, sent) => prop_assert!(false, "{outcome:?} for {sent:?}"),
            }
        }
        for call in &pair.cancelled {
            prop_assert!(abandoned.contains(call));
        }
    }
}
