//! Two ends that understand each other, however the bytes are cut.

use super::*;
use proptest::prelude::*;

#[test]
fn messages_byte_by_byte() {
    let (mut out, mut client) = (Vec::new(), client());
    let call = client.call("add", false, &Number(Some(5)), &mut out);
    assert_eq!(call, Ok(Some(0)));
    assert_eq!(out, b"\x94\0\0\xa3add\x91\x05");
    out.clear();
    let call = client.call("note", true, &Number(None), &mut out);
    assert_eq!(call, Ok(None));
    assert_eq!(out, b"\x93\x02\xa4note\x91\xc0");

    let (said, end) = events(
        &mut server(),
        b"\x94\0\x09\xa3add\x91\x05\x93\x02\xa4note\x90",
        1,
    );
    assert_eq!(
        said,
        ["- add 9105 -> [94, 1, 9, c0, 7]", "- note 90 -> []",]
    );
    assert_eq!(end, Ok(()));
}

#[test]
fn services_stand_before_methods() {
    let options = Options {
        service: Some("pets.Shelter".to_owned()),
        ..Options::default()
    };
    let (mut out, mut client) = (Vec::new(), Connection::new(options));
    client.call("find", false, &Number(None), &mut out).unwrap();
    let (said, _) = events(&mut server(), &out, 3);
    assert_eq!(said, ["pets.Shelter find 91c0 -> [94, 1, 0, c0, 7]"]);
}

/// Both ends call, and both answer.
#[test]
fn both_directions_at_the_same_time() {
    let (mut left, mut right) = (server(), server());
    let (mut to_right, mut to_left) = (Vec::new(), Vec::new());
    left.call("a", false, &Number(Some(1)), &mut to_right)
        .unwrap();
    right
        .call("b", false, &Number(Some(2)), &mut to_left)
        .unwrap();
    to_right.extend(b"\x94\x01\0\xc0\x08");
    to_left.extend(b"\x94\x01\0\xc0\x09");
    let (said, _) = events(&mut right, &to_right, 2);
    assert_eq!(said, ["- a 9101 -> [94, 1, 0, c0, 7]", "0 c008"]);
    let (said, _) = events(&mut left, &to_left, 2);
    assert_eq!(said, ["- b 9102 -> [94, 1, 0, c0, 7]", "0 c009"]);
}

#[test]
fn who_only_calls_refuses_calls() {
    let mut client = client();
    let (said, end) = events(&mut client, b"\x94\0\x05\xa1x\x90\x93\x02\xa1y\x90", 100);
    assert_eq!((said.len(), end), (0, Ok(())));
    let mut out = Vec::new();
    client.transmit(&mut out);
    assert!(out.starts_with(b"\x94\x01\x05\xd9"));
    assert!(
        out.ends_with(b"UNIMPLEMENTED: this end of the connection takes no calls\xabnot-started")
    );
}

#[test]
fn who_is_gone_gets_no_answer() {
    let (mut out, mut client) = (Vec::new(), client());
    for _ in 0..3 {
        client.call("x", false, &Number(None), &mut out).unwrap();
    }
    client.abandon(1);
    client.abandon(77);
    let answers = b"\x94\x01\x02\xc0\x0a\x94\x01\x01\xc0\x0b\x94\x01\x00\xc0\x0c";
    let (said, end) = events(&mut client, answers, 4);
    assert_eq!(said, ["2 c00a", "0 c00c"]);
    assert_eq!(end, Ok(()));
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let (mut out, mut client) = (b"before".to_vec(), client());
    assert!(client.call("x", false, &Impossible, &mut out).is_err());
    let long = "x".repeat(2000);
    assert!(client.call(&long, false, &Number(None), &mut out).is_err());
    let mut input = BytesMut::from(&b"\x94\0\0\xa1x\x90"[..]);
    let Ok(Some(Event::Call(call))) = server().receive(&mut input) else {
        panic!("a call");
    };
    assert!(
        call.reply
            .reply(&mut out, &Impossible, Limits::default())
            .is_err()
    );
    assert_eq!(out, b"before");
    // The number was not used.
    assert_eq!(
        client.call("x", false, &Number(None), &mut out),
        Ok(Some(0))
    );
}

#[test]
fn a_one_way_method_that_is_called_as_a_request_is_answered() {
    let mut input = BytesMut::from(&b"\x94\0\x03\xa1x\x90\x93\x02\xa1x\x90"[..]);
    let (mut server, mut out) = (server(), Vec::new());
    while let Ok(Some(Event::Call(call))) = server.receive(&mut input) {
        call.reply.accepted(&mut out);
    }
    assert_eq!(out, b"\x94\x01\x03\xc0\xc0");
}

proptest! {
    /// Any number of calls, answered in any order and cut anywhere.
    #[test]
    fn every_call_gets_its_own_answer(numbers in proptest::collection::vec(any::<i64>(), 1..20), piece in 1usize..40,
        order in any::<prop::sample::Index>())
    {
        let (mut client, mut server) = (client(), server());
        let mut sent = Vec::new();
        for number in &numbers {
            client.call("echo", false, &Number(Some(*number)), &mut sent).unwrap();
        }
        let mut calls = Vec::new();
        let mut input = BytesMut::new();
        for piece in sent.chunks(piece) {
            input.extend_from_slice(piece);
            while let Some(Event::Call(call)) = server.receive(&mut input).unwrap() {
                calls.push(call);
            }
        }
        prop_assert_eq!(calls.len(), numbers.len());
        let by = order.index(numbers.len());
        calls.rotate_left(by);
        let mut answers = Vec::new();
        for call in calls {
            let mut params = (0i64,);
            let table = &[Field::new(1, "number", Kind::I64)][..];
            let encoding = dovetail_wire::Encoding::Msgpack;
            encoding.decode(&mut (&mut params, table), &call.params, Limits::default()).unwrap();
            call.reply.reply(&mut answers, &Answer(params.0), Limits::default()).unwrap();
        }
        let (said, end) = events(&mut client, &answers, piece);
        prop_assert_eq!(end, Ok(()));
        let mut expected: Vec<String> = numbers.iter().enumerate().map(|(id, number)| {
            let mut bytes = Vec::new();
            dovetail_wire::msgpack::put::signed(&mut bytes, *number);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{id} c0{hex}")
        }).collect();
        expected.rotate_left(by);
        prop_assert_eq!(said, expected);
    }

    /// The meaning of bytes does not depend on how they arrive.
    #[test]
    fn pieces_make_no_difference(bytes in messages(), piece in 1usize..20) {
        let whole = events(&mut server(), &bytes, bytes.len());
        let pieces = events(&mut server(), &bytes, piece);
        prop_assert_eq!(whole, pieces);
    }
}

/// Messages with a byte changed here and there.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    const SEEDS: &[&[u8]] = &[
        b"\x94\0\x01\xa3add\x92\x01\xa5hello",
        b"\x93\x02\xa1x\x91\x82\x01\x90\xa1k\xc4\x03abc",
        b"\x94\0\xce\0\0\0\x01\xa4S.me\xdc\0\x02\xc0\xcb\0\0\0\0\0\0\0\0",
        b"\x94\x01\0\xc0\xd6\xff\0\0\0\0",
    ];
    let seeds = proptest::collection::vec(prop::sample::select(SEEDS), 1..5);
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (seeds, changes).prop_map(|(seeds, changes)| {
        let mut bytes = seeds.concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}
