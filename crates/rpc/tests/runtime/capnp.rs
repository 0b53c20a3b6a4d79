//! Cap'n Proto's protocol by hand: messages that break its rules, and messages that do not. Stock
//! peers are in `interop`.

use crate::fixture::*;
use dovetail::server::ServerLimits;

/// A message of one segment.
fn message(words: &[u64]) -> Vec<u8> {
    let table = (words.len() as u64) << 32;
    let words = [&[table], words].concat();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A pointer to a struct behind so many words.
fn structure(offset: u64, data: u64, pointers: u64) -> u64 {
    offset << 2 | data << 32 | pointers << 48
}

/// A message with this tag and body, whose first words are data.
fn tagged(tag: u64, data: u64, body: &[u64]) -> Vec<u8> {
    let pointers = body.len() as u64 - data;
    let head = [structure(0, 1, 1), tag, structure(0, data, pointers)];
    message(&[&head, body].concat())
}

fn bootstrap(question: u64) -> Vec<u8> {
    tagged(8, 1, &[question, 0])
}

/// A call of a method without parameters, on an object of the server's.
fn call(question: u64, object: u64, interface: u64, method: u64) -> Vec<u8> {
    let first = question | method << 32;
    // The target stands behind the three pointers of the call.
    let body = [first, interface, 0, structure(2, 1, 1), 0, 0, object, 0];
    let head = [structure(0, 1, 1), 2, structure(0, 3, 3)];
    message(&[&head[..], &body].concat())
}

/// A client's bytes behind its first message, and the server's reason before it closes the
/// connection.
fn broken() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let segments = [512u32.to_le_bytes(), [0; 4]].concat();
    let huge = [0, 0x7fff_ffffu32].map(u32::to_le_bytes).concat();
    vec![
        (
            "a question twice",
            bootstrap(0),
            "question 0 is asked twice",
        ),
        (
            "a release of nothing",
            tagged(6, 1, &[7 | 1 << 32]),
            "not so many references to object 7",
        ),
        (
            "more references than there are",
            tagged(6, 1, &[2 << 32]),
            "not so many references to object 0",
        ),
        ("a finish of nothing", tagged(4, 1, &[9]), "no question 9"),
        (
            "a finish twice",
            [tagged(4, 1, &[0]), tagged(4, 1, &[0])].concat(),
            "no question 0",
        ),
        (
            "an answer to nothing",
            tagged(3, 2, &[5, 0, 0]),
            "no question 5",
        ),
        (
            "an object that is not there",
            call(1, 5, 1, 1),
            "no object 5",
        ),
        (
            "a disembargo of nothing",
            tagged(13, 1, &[1 | 1 << 32, 0]),
            "without contents",
        ),
        (
            "a call without a target",
            tagged(2, 3, &[1, 0, 0, 0, 0, 0]),
            "without contents",
        ),
        ("513 segments", segments, "more than 512 segments"),
        ("a message of 16 GiB", huge, "larger than the limit"),
        (
            "a root beyond its segment",
            message(&[structure(100, 1, 1)]),
            "segment",
        ),
        (
            "a root that is a list",
            message(&[1]),
            "a struct is expected",
        ),
    ]
}

#[test]
fn rules_that_are_broken_end_the_connection() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        for (what, sent, expected) in broken() {
            let what = format!("{what}, {model:?}");
            let mut raw = Raw::connect(&running);
            raw.send(&[bootstrap(0), sent].concat());
            let said = raw.rest().expect(&what);
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains(expected), "{what}: {said:?}");
        }
        assert_eq!(running.counters().panics, 0);
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// An interface that is not there is a failure of the call alone.
#[test]
fn calls_of_unknown_interfaces_fail_and_the_connection_goes_on() {
    for model in MODELS {
        let running = start(&Probe::default(), *model, ServerLimits::default());
        let mut raw = Raw::connect(&running);
        let unknown = |question| call(question, 0, 0x1234, 3);
        // A message of a later version comes back as it is; a promise that nobody knows is nothing.
        let later = message(&[structure(0, 1, 1), 77, 0]);
        raw.send(&[bootstrap(0), unknown(1), later, unknown(2)].concat());
        raw.0.shutdown(std::net::Shutdown::Write).unwrap();
        let said = raw.rest().unwrap();
        let said = String::from_utf8_lossy(&said);
        let failures = said.matches("no method 3 of an interface @0x1234 here");
        assert_eq!(failures.count(), 2, "{model:?}: {said:?}");
        assert_eq!(running.counters().protocol_errors, 0, "{model:?}");
        assert!(running.shutdown(LONG), "{model:?}");
    }
}

/// Questions that nobody finishes are limited, and charged.
#[test]
fn questions_that_are_never_finished() {
    let limits = ServerLimits {
        memory: Some(64 << 20),
        memory_per_connection: Some(1 << 20),
        ..ServerLimits::default()
    };
    let running = start(&Probe::default(), MODELS[0], limits);
    let mut raw = Raw::connect(&running);
    let many: Vec<u8> = (0..100_000).flat_map(bootstrap).collect();
    // The server closes the connection before it has them all.
    let _ = std::io::Write::write_all(&mut raw.0, &many);
    until("the connection is closed", || running.connections() == 0);
    assert!(running.shutdown(LONG));
}
