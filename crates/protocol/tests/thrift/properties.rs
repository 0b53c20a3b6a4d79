//! Random conversations: whatever happens in whatever order, each call gets its own reply, once.

use crate::pair::{Pair, wires};
use crate::support::{options, serve, wire};
use dovetail_protocol::thrift::CallId;
use dovetail_protocol::{Code, Status};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Step {
    Call { oneway: bool },
    DeliverCalls,
    Answer { which: usize, fail: bool },
    DeliverReplies,
    Abandon { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(|oneway| Step::Call { oneway }),
        2 => Just(Step::DeliverCalls),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(which, fail)| Step::Answer { which, fail }),
        2 => Just(Step::DeliverReplies),
        1 => any::<usize>().prop_map(|which| Step::Abandon { which }),
    ]
}

fn converse(wire: usize, chunk: usize, steps: &[Step]) {
    let wires = wires();
    let mut pair = Pair::new(wires[wire % wires.len()], None, chunk);
    let mut waiting: Vec<CallId> = Vec::new();
    let mut at_server = Vec::new();
    let mut answered = BTreeSet::new();
    // At the end everything is delivered and answered.
    let end = [
        Step::DeliverCalls,
        Step::Answer {
            which: 0,
            fail: false,
        },
        Step::DeliverReplies,
    ];
    for step in steps
        .iter()
        .chain(end.iter().cycle().take(3 * (steps.len() + 1)))
    {
        match *step {
            Step::Call { oneway } => {
                let call = pair.call("greet", oneway);
                if !oneway || pair.client.answers_oneway() {
                    waiting.push(call);
                }
            }
            Step::DeliverCalls => at_server.extend(pair.calls().expect("calls")),
            Step::Answer { which, fail } if !at_server.is_empty() => {
                let index = match pair.client.ordered() {
                    true => 0,
                    false => which % at_server.len(),
                };
                let call = at_server.remove(index);
                if fail {
                    let status = Status::new(Code::Aborted, "so be it");
                    call.reply.exception(&mut pair.to_client, &status);
                } else {
                    pair.answer(&call);
                }
            }
            Step::DeliverReplies => {
                for reply in pair.replies().expect("replies") {
                    assert!(waiting.contains(&reply.call), "nobody waits for it");
                    assert!(answered.insert(reply.call), "answered twice");
                    waiting.retain(|call| *call != reply.call);
                }
            }
            Step::Abandon { which } if !waiting.is_empty() => {
                pair.client.abandon(waiting.remove(which % waiting.len()));
            }
            _ => {}
        }
        assert_eq!(pair.client.pending().collect::<Vec<_>>(), waiting);
    }
    assert!(waiting.is_empty(), "never answered");
}

proptest! {
    #[test]
    fn every_call_gets_its_own_reply(
        wire in any::<usize>(),
        chunk in 1..200_usize,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        converse(wire, chunk, &steps);
    }

    /// Pieces make no difference, whatever the bytes: same calls, same error.
    #[test]
    fn pieces_make_no_difference(
        start in prop::sample::select(vec![
            &b"\x80\x01\0\x01\0\0\0\x01a\0\0\0\0"[..], b"\x82\x21\x01\x01a", b"[1,\"a\",1,1,{",
            b"\0\0\0\x20\x80\x01\0\x01", b"\0\0\0\x20\x0f\xff\0\0\0\0\0\x01\0\x02",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n", b"",
        ]),
        rest in proptest::collection::vec(prop_oneof![0..17_u8, any::<u8>()], 0..80),
        chunk in 1..20_usize,
    ) {
        let input = [start, &rest[..]].concat();
        let options = options(|options| options.limits.message_bytes = 1 << 16);
        let whole = serve(&options, &input, usize::MAX);
        let pieces = serve(&options, &input, chunk);
        prop_assert_eq!(whole.calls.len(), pieces.calls.len());
        prop_assert_eq!(whole.result.is_ok(), pieces.result.is_ok());
        if let (Err(one), Err(other)) = (&whole.result, &pieces.result) {
            prop_assert_eq!(std::mem::discriminant(one), std::mem::discriminant(other));
        }
        for (one, other) in whole.calls.iter().zip(&pieces.calls) {
            prop_assert_eq!(&one.body, &other.body);
            prop_assert_eq!(&one.method, &other.method);
        }
    }
}

/// Names of wires survive being written and read.
#[test]
fn names_of_wires() {
    for name in [
        "binary",
        "compact+header:zlib,zstd",
        "json+http",
        "binary-old+framed",
    ] {
        assert_eq!(wire(name).to_string(), name);
    }
    for wrong in [
        "",
        "binary+",
        "binry",
        "compact+framed:zlib",
        "binary-old+header",
        "header:lz4",
    ] {
        assert!(
            wrong.parse::<dovetail_protocol::thrift::Wire>().is_err(),
            "{wrong}"
        );
    }
}
