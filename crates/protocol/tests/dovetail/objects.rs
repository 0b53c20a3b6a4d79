//! Objects that are counted, and calls on what others return: at both ends, in pieces of any size.

use crate::compression::any_options;
use crate::pair::{Methods, Pair, decode, nameless};
use dovetail_protocol::dovetail::{
    Contract, Exports, NotExported, Options, Owner, Role, Target, TooMany, of_receiver, of_result,
    of_sender, owner,
};
use dovetail_protocol::{Code, ConnectionLimits, Execution, Status};
use dovetail_wire::Bytes;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn pair(client: Options, server: Options) -> (Pair, Arc<Contract>) {
    let methods = Methods(vec![Arc::new(nameless("m"))]);
    (Pair::new(methods, client, server), Arc::new(nameless("m")))
}

fn refused() -> Status {
    Status::new(Code::NotFound, "nothing here").with_execution(Execution::Finished)
}

/// Answers the call with this id, and says what it returned.
fn answer(pair: &mut Pair, id: u32, outcome: Result<u32, Status>) {
    let index = pair.calls.iter().position(|call| call.reply.call() == id);
    let body = Bytes::from_static(b"yes");
    let outcome_sent = outcome.as_ref().map(|_| &body);
    pair.answer(index.expect("a call that runs"), outcome_sent);
    pair.server.returned(id, outcome);
}

/// The calls that run, with the objects that they are addressed to.
fn running(pair: &Pair) -> Vec<(u32, Option<u32>)> {
    let running = pair.calls.iter();
    running
        .map(|call| (call.reply.call(), call.object()))
        .collect()
}

fn failure(pair: &Pair, call: u32) -> (Code, Execution) {
    let outcome = pair.outcomes[&call].as_ref();
    let status = outcome.expect_err("a failure");
    (status.code(), status.execution())
}

#[test]
fn values_say_whose_object_it_is() {
    for (value, expected) in [
        (of_sender(7), Some(Owner::Sender(7))),
        (of_receiver(u32::MAX), Some(Owner::Receiver(u32::MAX))),
        (of_result(0), Some(Owner::Result(0))),
        (of_result(u32::MAX), Some(Owner::Result(u32::MAX))),
        (of_result(u32::MAX) + 2, None),
        (1 << 33, None),
        (u64::MAX, None),
    ] {
        assert_eq!(owner(value), expected);
    }
}

#[test]
fn a_chain_runs_link_by_link() {
    for piece in [1, 7, 1_000] {
        let (mut pair, method) = pair(Options::default(), Options::default());
        let body = Bytes::from_static(b"x");
        let first = pair.call_object(&method, &body, None, true);
        let second = pair.call_object(&method, &body, Some(Target::Result(first)), true);
        let third = pair.call_object(&method, &body, Some(Target::Result(second)), false);
        pair.settle(piece);
        assert_eq!(running(&pair), [(first, None)]);
        answer(&mut pair, first, Ok(11));
        pair.settle(piece);
        assert_eq!(running(&pair), [(second, Some(11))]);
        // Both are remembered, also behind their answers.
        let late = pair.call_object(&method, &body, Some(Target::Result(first)), false);
        answer(&mut pair, second, Ok(12));
        pair.settle(piece);
        assert_eq!(running(&pair), [(third, Some(12)), (late, Some(11))]);
        // Until they are forgotten.
        pair.client.forget(first);
        let unknown = pair.call_object(&method, &body, Some(Target::Result(first)), false);
        pair.settle(piece);
        let expected = (Code::FailedPrecondition, Execution::NotStarted);
        assert_eq!(failure(&pair, unknown), expected);
        assert!(pair.failures.is_empty() && pair.cancelled.is_empty());
    }
}

#[test]
fn parameters_wait_for_results() {
    for piece in [1, 7, 1_000] {
        let (mut pair, method) = pair(Options::default(), Options::default());
        let body = Bytes::from_static(b"x");
        let first = pair.call_object(&method, &body, None, true);
        let second = pair.call_object(&method, &body, None, true);
        let target = Some(Target::Result(first));
        let both = pair.call_with_results(&method, &body, target, true, vec![first, second]);
        let behind = pair.call_with_results(&method, &body, None, false, vec![both, second]);
        // Frames behind a call that waits take effect when it runs.
        pair.client.release(11, 1);
        pair.settle(piece);
        answer(&mut pair, first, Ok(11));
        pair.settle(piece);
        assert_eq!(running(&pair), [(second, None)]);
        answer(&mut pair, second, Ok(12));
        pair.settle(piece);
        assert_eq!(running(&pair), [(both, Some(11))]);
        let mut results = pair.calls[0].results().to_vec();
        results.sort_unstable();
        assert_eq!(results, [(first, 11), (second, 12)]);
        assert!(pair.released.is_empty());
        answer(&mut pair, both, Err(refused()));
        pair.settle(piece);
        assert_eq!(
            failure(&pair, behind),
            (Code::NotFound, Execution::NotStarted)
        );
        assert_eq!(pair.released, [(Role::Server, 11, 1)]);
        let unknown = pair.call_with_results(&method, &body, None, false, vec![behind]);
        pair.settle(piece);
        let expected = (Code::FailedPrecondition, Execution::NotStarted);
        assert_eq!(failure(&pair, unknown), expected);
        assert!(pair.failures.is_empty() && pair.cancelled.is_empty());
    }
}

#[test]
fn a_chain_fails_from_its_first_link() {
    for at_once in [true, false] {
        let (mut pair, method) = pair(Options::default(), Options::default());
        let body = Bytes::from_static(b"x");
        let first = pair.call_object(&method, &body, None, true);
        if !at_once {
            pair.settle(100);
            answer(&mut pair, first, Err(refused()));
        }
        let mut links = vec![first];
        for _ in 0..900 {
            let target = Some(Target::Result(links[links.len() - 1]));
            links.push(pair.call_object(&method, &body, target, true));
        }
        pair.settle(100);
        if at_once {
            answer(&mut pair, first, Err(refused()));
            pair.settle(100);
        }
        for link in &links[1..] {
            let expected = (Code::NotFound, Execution::NotStarted);
            assert_eq!(failure(&pair, *link), expected);
            let status = pair.outcomes[link].as_ref().unwrap_err();
            assert!(status.message().len() < 200, "{status}");
        }
    }
}

#[test]
fn a_call_that_is_cancelled_while_it_waits() {
    let (mut pair, method) = pair(Options::default(), Options::default());
    let body = Bytes::from_static(b"x");
    let first = pair.call_object(&method, &body, None, true);
    let second = pair.call_object(&method, &body, Some(Target::Result(first)), true);
    let third = pair.call_object(&method, &body, Some(Target::Result(second)), false);
    pair.settle(100);
    pair.client.abandon(second);
    pair.settle(100);
    assert_eq!(
        failure(&pair, third),
        (Code::Cancelled, Execution::NotStarted)
    );
    assert!(pair.cancelled.is_empty());
    // The driver is told of one that runs; calls that have waited for it still get its object.
    let fourth = pair.call_object(&method, &body, Some(Target::Result(first)), false);
    pair.client.cancel(first);
    pair.settle(100);
    assert_eq!(pair.cancelled, [first]);
    answer(&mut pair, first, Ok(3));
    pair.settle(100);
    assert_eq!(running(&pair), [(fourth, Some(3))]);
    assert!(pair.outcomes[&first].is_ok());
}

#[test]
fn what_waits_is_bounded() {
    let limits = ConnectionLimits {
        objects: 5,
        ..ConnectionLimits::default()
    };
    let few = Options {
        limits,
        ..Options::default()
    };
    let (mut pair, method) = pair(Options::default(), few);
    let body = Bytes::from_static(b"x");
    let promises: Vec<u32> = (0..6)
        .map(|_| pair.call_object(&method, &body, None, true))
        .collect();
    let many: Vec<u32> = (0..1_001)
        .map(|_| pair.call_object(&method, &body, Some(Target::Result(promises[0])), false))
        .collect();
    pair.settle(10_000);
    let full = (Code::ResourceExhausted, Execution::NotStarted);
    assert_eq!(failure(&pair, promises[5]), full);
    assert_eq!(failure(&pair, many[1_000]), full);
    assert_eq!(pair.calls.len(), 5);
    answer(&mut pair, promises[0], Ok(1));
    pair.settle(10_000);
    assert_eq!(pair.calls.len(), 4 + 1_000);
    // A forgotten promise makes room.
    pair.client.forget(promises[0]);
    let next = pair.call_object(&method, &body, None, true);
    pair.settle(10_000);
    assert!(running(&pair).contains(&(next, None)));
}

#[test]
fn objects_are_counted() {
    let mut exports = Exports::new(2);
    let first = exports.export(10, || "a").unwrap();
    assert_eq!(exports.export(10, || "b"), Ok(first));
    let second = exports.export(20, || "c").unwrap();
    assert_eq!(exports.export(30, || "d"), Err(TooMany { limit: 2 }));
    assert_eq!(exports.get(first), Some(&"a"));
    assert_eq!(exports.release(first, 3), Err(NotExported));
    assert_eq!(exports.release(first, 1), Ok(None));
    assert_eq!(exports.take_back(first), Some("a"));
    assert_eq!(exports.release(first, 1), Err(NotExported));
    assert_eq!(exports.take_back(first), None);
    // While messages are unread, nothing goes.
    exports.lease();
    exports.lease();
    assert_eq!(exports.release(second, 1), Ok(None));
    assert_eq!(exports.release(second, 1), Err(NotExported));
    assert_eq!(exports.export(20, || "e"), Ok(second));
    assert_eq!(exports.end_lease(), Vec::<&str>::new());
    assert_eq!(exports.end_lease(), Vec::<&str>::new());
    assert_eq!(exports.get(second), Some(&"c"));
    // Numbers are not used again at once.
    let third = exports.export(10, || "f").unwrap();
    assert!(third != first && third != second);
    assert_eq!(exports.clear().len(), 2);
    assert!(exports.is_empty());
}

#[derive(Clone, Debug)]
enum Operation {
    /// A call on a service, an object or a result; with references to objects of the client's.
    Call {
        target: usize,
        promise: bool,
        passes: Vec<usize>,
        refers: Vec<usize>,
    },
    /// An answer with a reference, or a failure.
    Answer {
        which: usize,
        object: Option<usize>,
    },
    /// One end lets go of what it has of an object.
    Release {
        client: bool,
        which: usize,
    },
    Forget(usize),
    Carry(usize),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let passes = prop::collection::vec(0_usize..4, 0..3);
    let refers = prop::collection::vec(any::<usize>(), 0..3);
    let operation = prop_oneof![
        8 => (any::<usize>(), any::<bool>(), passes, refers).prop_map(
            |(target, promise, passes, refers)| Operation::Call { target, promise, passes, refers }
        ),
        6 => (any::<usize>(), prop::option::weighted(0.8, 0_usize..4)).prop_map(|(which, object)| {
            Operation::Answer { which, object }
        }),
        3 => (any::<bool>(), any::<usize>()).prop_map(|(client, which)| {
            Operation::Release { client, which }
        }),
        2 => any::<usize>().prop_map(Operation::Forget),
        8 => prop_oneof![1_usize..20, Just(300_000)].prop_map(Operation::Carry),
    ];
    prop::collection::vec(operation, 0..60)
}

/// The objects that one end has passed, and those that it has of the other one's.
struct Side {
    exports: Exports<usize>,
    imports: HashMap<u32, u64>,
}

impl Side {
    fn new() -> Self {
        Side {
            exports: Exports::new(100),
            imports: HashMap::new(),
        }
    }

    fn export(&mut self, object: usize) -> u64 {
        let number = self.exports.export(object, || object);
        of_sender(number.expect("room"))
    }

    fn import(&mut self, values: &[u8]) {
        for value in values {
            if let Some(Owner::Sender(number)) = owner((*value).into()) {
                *self.imports.entry(number).or_default() += 1;
            }
        }
    }

    /// One of those that it has, with its count.
    fn some(&self, which: usize) -> Option<(u32, u64)> {
        let mut known: Vec<_> = self.imports.iter().collect();
        known.sort_unstable();
        let (number, count) = known.get(which % known.len().max(1))?;
        Some((**number, **count))
    }
}

/// Both ends with what they know.
struct World {
    pair: Pair,
    method: Arc<Contract>,
    client: Side,
    server: Side,
    /// Calls that were made, with what they are addressed to, and the calls whose results they
    /// refer to.
    calls: HashMap<u32, (Option<Target>, Vec<u32>)>,
    promises: Vec<u32>,
    forgotten: HashSet<u32>,
    /// The server's answer: the object, if there is one.
    answered: HashMap<u32, Option<u32>>,
    /// Those of which the client has taken in the answer.
    taken: HashSet<u32>,
    /// Calls whose parameters the server has read.
    read: HashSet<u32>,
}

impl World {
    /// Takes in what has arrived.
    fn look(&mut self) {
        for (at, object, count) in std::mem::take(&mut self.pair.released) {
            let side = match at {
                Role::Client => &mut self.client,
                Role::Server => &mut self.server,
            };
            side.exports.release(object, count).expect("honest ends");
        }
        for call in &self.pair.calls {
            let id = call.reply.call();
            if self.read.insert(id) {
                self.server.import(&decode(
                    call.encoding,
                    &call.body.clone().decompress().unwrap(),
                ));
            }
            let (target, refers) = &self.calls[&id];
            let expected = match target {
                None => None,
                Some(Target::Object(number)) => Some(*number),
                // It runs behind the answer, on its object.
                Some(Target::Result(earlier)) => self.answered[earlier],
            };
            assert_eq!(call.object(), expected);
            let mut results = call.results().to_vec();
            results.sort_unstable();
            let expected = refers
                .iter()
                .map(|call| (*call, self.answered[call].expect("an object")));
            assert_eq!(results, expected.collect::<Vec<_>>());
        }
        for (id, outcome) in &self.pair.outcomes {
            if self.taken.insert(*id)
                && let Ok(values) = outcome
            {
                self.client.import(values);
            }
        }
    }

    fn call(&mut self, target: usize, promise: bool, passes: &[usize], refers: &[usize]) {
        let values: Vec<u8> = passes
            .iter()
            .map(|object| self.client.export(*object) as u8)
            .collect();
        let open: Vec<u32> = self
            .promises
            .iter()
            .copied()
            .filter(|call| !self.forgotten.contains(call))
            .collect();
        let target = match target % 3 {
            0 => None,
            1 => self
                .client
                .some(target)
                .map(|(number, _)| Target::Object(number)),
            _ => open
                .get(target % open.len().max(1))
                .map(|call| Target::Result(*call)),
        };
        let mut refers: Vec<u32> = refers
            .iter()
            .filter_map(|which| open.get(which % open.len().max(1)).copied())
            .collect();
        refers.sort_unstable();
        refers.dedup();
        let (method, body) = (self.method.clone(), values.into());
        let id = self
            .pair
            .call_with_results(&method, &body, target, promise, refers.clone());
        self.calls.insert(id, (target, refers));
        if promise {
            self.promises.push(id);
        }
    }

    fn answer(&mut self, which: usize, object: Option<usize>) {
        if self.pair.calls.is_empty() {
            return;
        }
        let index = which % self.pair.calls.len();
        let (id, promise) = (
            self.pair.calls[index].reply.call(),
            self.pair.calls[index].promises(),
        );
        let value = object.map(|object| self.server.export(object));
        let number = value.map(|value| (value >> 1) as u32);
        self.answered.insert(id, number);
        match value {
            Some(value) => self.pair.answer(index, Ok(&vec![value as u8].into())),
            None => self.pair.answer(index, Err(&refused())),
        }
        if promise {
            self.pair.server.returned(id, number.ok_or_else(refused));
        }
    }

    fn release(&mut self, client: bool, which: usize) {
        let (side, end) = match client {
            true => (&mut self.client, &mut self.pair.client),
            false => (&mut self.server, &mut self.pair.server),
        };
        if let Some((number, count)) = side.some(which) {
            side.imports.remove(&number);
            end.release(number, count);
        }
    }

    fn forget(&mut self, which: usize) {
        let taken = |call: &&u32| self.taken.contains(call) && !self.forgotten.contains(call);
        let known: Vec<u32> = self.promises.iter().filter(taken).copied().collect();
        if let Some(call) = known.get(which % known.len().max(1)) {
            self.forgotten.insert(*call);
            self.pair.client.forget(*call);
        }
    }

    fn settle(&mut self, piece: usize) {
        self.pair.settle(piece);
        self.look();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_is_lost_and_nothing_stays(
        operations in operations(),
        [client, server] in any_options(),
        piece in 1_usize..5_000,
    ) {
        let (pair, method) = pair(client, server);
        let mut world = World {
            pair,
            method,
            client: Side::new(),
            server: Side::new(),
            calls: HashMap::new(),
            promises: Vec::new(),
            forgotten: HashSet::new(),
            answered: HashMap::new(),
            taken: HashSet::new(),
            read: HashSet::new(),
        };
        for operation in operations {
            match operation {
                Operation::Call { target, promise, passes, refers } => {
                    world.call(target, promise, &passes, &refers);
                }
                Operation::Answer { which, object } => world.answer(which, object),
                Operation::Release { client, which } => world.release(client, which),
                Operation::Forget(which) => world.forget(which),
                Operation::Carry(bytes) => {
                    world.pair.step(bytes);
                    world.look();
                }
            }
        }
        world.settle(piece);
        while !world.pair.calls.is_empty() {
            world.answer(0, Some(0));
            world.settle(piece);
        }
        prop_assert!(world.pair.failures.is_empty(), "{:?}", world.pair.failures);
        for (call, (target, refers)) in &world.calls {
            let outcome = world.pair.outcomes.get(call);
            prop_assert!(outcome.is_some(), "{call} has no outcome");
            if world.read.contains(call) {
                continue;
            }
            // Calls that have not run waited for a call that failed.
            prop_assert!(matches!(target, Some(Target::Result(_))) || !refers.is_empty());
            prop_assert_eq!(failure(&world.pair, *call), (Code::NotFound, Execution::NotStarted));
            // Its references count as not sent; here nobody remembers which they were.
        }
        while world.server.some(0).is_some() || world.client.some(0).is_some() {
            world.release(true, 0);
            world.release(false, 0);
        }
        world.settle(piece);
        prop_assert!(world.server.exports.is_empty());
        if world.read.len() == world.calls.len() {
            prop_assert!(world.client.exports.is_empty());
        }
    }
}
