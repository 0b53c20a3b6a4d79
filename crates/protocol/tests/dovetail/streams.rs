//! Streams: items come in order and once, no more of them than there is credit, and each stream
//! ends once.

use crate::compression::any_options;
use crate::pair::{Methods, Pair, described, nameless};
use dovetail_protocol::dovetail::{Role, Sent};
use dovetail_protocol::{Code, Execution, Headers, Status};
use dovetail_wire::Bytes;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The windows of both ends.
const STREAM: usize = 256 << 10;
const ALL: usize = 4 << 20;

#[derive(Clone, Debug)]
enum Operation {
    Call(usize),
    Item {
        which: usize,
        from: Role,
        length: usize,
    },
    End {
        which: usize,
        from: Role,
        fails: bool,
    },
    Take {
        which: usize,
        at: Role,
    },
    Answer {
        which: usize,
        fails: bool,
    },
    Abandon(usize),
    Carry(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let role = prop_oneof![Just(Role::Client), Just(Role::Server)];
    let length = prop_oneof![4 => 0_usize..100, 1 => Just(70_000), 2 => Just(200_000)];
    let operation = prop_oneof![
        3 => (0_usize..4).prop_map(Operation::Call),
        12 => (any::<usize>(), role.clone(), length)
            .prop_map(|(which, from, length)| Operation::Item { which, from, length }),
        1 => (any::<usize>(), role.clone(), any::<bool>())
            .prop_map(|(which, from, fails)| Operation::End { which, from, fails }),
        3 => (any::<usize>(), role).prop_map(|(which, at)| Operation::Take { which, at }),
        3 => (any::<usize>(), prop::bool::weighted(0.2))
            .prop_map(|(which, fails)| Operation::Answer { which, fails }),
        1 => any::<usize>().prop_map(Operation::Abandon),
        8 => prop_oneof![1_usize..20, Just(300_000)].prop_map(Operation::Carry),
    ];
    prop::collection::vec(operation, 0..120)
}

/// A test's view of a call.
#[derive(Debug, Default)]
struct Call {
    /// By who sends.
    sent: [Vec<usize>; 2],
    ended: [Option<bool>; 2],
    /// The server may send: its answer was a good one.
    answered: Option<bool>,
    streams: [bool; 2],
}

fn item(number: usize, length: usize) -> Bytes {
    let bytes = (0..length).map(|index| (number * 31 + index) as u8);
    bytes.collect::<Vec<u8>>().into()
}

fn gone() -> Status {
    Status::new(Code::NotFound, "nothing here").with_execution(Execution::Finished)
}

/// Returns whether nothing but a prefix has come, in order.
fn is_prefix(arrived: &[Vec<u8>], sent: &[usize], lengths: &HashMap<usize, usize>) -> bool {
    arrived.len() <= sent.len()
        && arrived
            .iter()
            .zip(sent)
            .all(|(arrived, number)| arrived[..] == item(*number, lengths[number])[..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn streams_keep_order_and_credit(
        operations in operations(),
        [client, server] in any_options(),
        piece in 1_usize..5_000,
    ) {
        let methods = || [
            described("download", b"the same"),
            described("upload", b"the same"),
            nameless("chat"),
            nameless("plain"),
        ].map(Arc::new);
        let (ours, theirs) = (methods(), methods());
        let mut pair = Pair::new(Methods(theirs.to_vec()), client, server);
        let mut calls: HashMap<u32, Call> = HashMap::new();
        let (mut order, mut lengths) = (Vec::new(), HashMap::new());
        let mut abandoned = HashSet::new();
        for (number, operation) in operations.into_iter().enumerate() {
            let pick = |which: usize| order.get(which % order.len().max(1)).copied();
            match operation {
                Operation::Call(method) => {
                    let call = pair.call(&ours[method], &item(number, 3), None, &Headers::new());
                    let call = call.expect("nothing is refused").expect("nothing is one-way");
                    let kind = ours[method].kind;
                    calls.insert(call, Call {
                        streams: [kind.client_streams(), kind.server_streams()],
                        ..Call::default()
                    });
                    order.push(call);
                }
                Operation::Item { which, from, length } => {
                    let Some(id) = pick(which) else { continue };
                    let call = calls.get_mut(&id).expect("known");
                    if from == Role::Server && call.answered != Some(true) {
                        continue;
                    }
                    lengths.insert(number, length);
                    match pair.item(from, id, &item(number, length)) {
                        Sent::Yes => {
                            prop_assert!(call.streams[from as usize] && call.ended[from as usize].is_none());
                            call.sent[from as usize].push(number);
                        }
                        Sent::NoCredit => prop_assert!(call.ended[from as usize].is_none()),
                        Sent::Ended => {}
                    }
                }
                Operation::End { which, from, fails } => {
                    let Some(id) = pick(which) else { continue };
                    let call = calls.get_mut(&id).expect("known");
                    let open = call.streams[from as usize] && call.ended[from as usize].is_none();
                    if open && (from == Role::Client || call.answered == Some(true)) {
                        pair.end(from, id, fails.then_some(&item(0, 2)));
                        call.ended[from as usize] = Some(fails);
                    }
                }
                Operation::Take { which, at } => {
                    if let Some(id) = pick(which) {
                        pair.take(at, id);
                    }
                }
                Operation::Answer { which, fails } if !pair.calls.is_empty() => {
                    let index = which % pair.calls.len();
                    let id = pair.calls[index].reply.call();
                    calls.get_mut(&id).expect("known").answered = Some(!fails);
                    match fails {
                        true => pair.answer(index, Err(&gone())),
                        false => pair.answer(index, Ok(&item(number, 5))),
                    }
                }
                Operation::Answer { .. } => {}
                Operation::Abandon(which) => {
                    if let Some(id) = pick(which) {
                        pair.client.abandon(id);
                        abandoned.insert(id);
                    }
                }
                Operation::Carry(bytes) => drop(pair.step(bytes)),
            }
            for streams in [&pair.to_client, &pair.to_server] {
                let untaken = streams.values().map(|stream| stream.untaken.iter().sum::<usize>());
                // An item may begin with the last byte of credit.
                let most = untaken.clone().max().unwrap_or(0);
                prop_assert!(most < STREAM + 200_100, "{most} bytes wait");
                prop_assert!(untaken.sum::<usize>() < ALL + 200_100);
            }
        }
        pair.settle(piece);
        // Whoever is not done is now.
        for _ in 0..4 {
            while let Some(call) = pair.calls.first() {
                let id = call.reply.call();
                calls.get_mut(&id).expect("known").answered = Some(true);
                pair.answer(0, Ok(&item(0, 3)));
            }
            for (id, call) in &mut calls {
                for from in [Role::Client, Role::Server] {
                    pair.take(from, *id);
                    let may = from == Role::Client || call.answered == Some(true);
                    if call.streams[from as usize] && may && call.ended[from as usize].is_none() {
                        pair.end(from, *id, None);
                        call.ended[from as usize] = Some(false);
                    }
                }
            }
            pair.settle(piece);
        }
        prop_assert!(pair.failures.is_empty(), "{:?}", pair.failures);
        prop_assert_eq!(pair.client.pending().count(), 0);
        for (id, call) in &calls {
            for (from, streams) in [(Role::Client, &pair.to_server), (Role::Server, &pair.to_client)] {
                let Some(stream) = streams.get(id) else { continue };
                prop_assert!(is_prefix(&stream.items, &call.sent[from as usize], &lengths));
                if let Some(Ok(exception)) = &stream.end {
                    prop_assert_eq!(stream.items.len(), call.sent[from as usize].len());
                    prop_assert_eq!(Some(exception.is_some()), call.ended[from as usize]);
                }
            }
            if !abandoned.contains(id) {
                let outcome = pair.outcomes.get(id).expect("an outcome");
                prop_assert_eq!(outcome.is_ok(), call.answered == Some(true));
                let ended = pair.to_client.get(id).is_some_and(|stream| stream.end.is_some());
                prop_assert_eq!(ended, outcome.is_ok() && call.streams[1]);
            }
        }
    }
}
