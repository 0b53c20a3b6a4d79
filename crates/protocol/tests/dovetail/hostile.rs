//! Bytes that no honest peer sends: an error with words, and nothing worse.

use crate::pair::{Methods, Pair, described, nameless};
use bytes::BytesMut;
use dovetail_protocol::dovetail::{Connection, Event, Options, Role};
use dovetail_protocol::{ConnectionLimits, Headers};
use dovetail_wire::{Bytes, EncodeError, Limits};
use std::sync::Arc;

/// Preface and HELLO of a client.
fn greeting() -> Vec<u8> {
    let mut out = Vec::new();
    Connection::new(Role::Client, Options::default()).transmit(&mut out);
    out
}

fn frame(kind_and_flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    frame.push(kind_and_flags);
    frame.extend(id.to_le_bytes());
    frame.extend(payload);
    frame
}

/// BIND of the method `m` to slot 0.
fn bound() -> Vec<u8> {
    let mut payload = vec![0, 0, 1, b'm'];
    payload.extend([0; 16]);
    [greeting(), frame(2, 0, &payload)].concat()
}

/// The payload of BIND for a one-way method.
fn oneway() -> Vec<u8> {
    let mut payload = vec![1, 0, 1, b'm'];
    payload.extend([0; 16]);
    payload
}

fn outcome(bytes: &[u8], piece: usize) -> Result<usize, String> {
    let mut server = Connection::new(
        Role::Server,
        Options {
            limits: ConnectionLimits {
                frame_bytes: 1 << 20,
                ..ConnectionLimits::default()
            },
            ..Options::default()
        },
    );
    let methods = ["m", "upload", "download"].map(|method| Arc::new(nameless(method)));
    let methods = Methods(methods.into());
    let mut input = BytesMut::new();
    let mut events = 0;
    for piece in bytes.chunks(piece) {
        input.extend_from_slice(piece);
        while let Some(_event) = server
            .receive(&mut input, &methods)
            .map_err(|error| error.to_string())?
        {
            events += 1;
        }
    }
    server.closed(&input).map_err(|error| error.to_string())?;
    Ok(events)
}

#[test]
fn what_breaks_the_rules_is_named() {
    let mut huge = greeting();
    huge.extend([0xff, 0xff, 0xff, 5, 1, 0, 0, 0]);
    let rows: Vec<(Vec<u8>, Result<usize, &str>)> = vec![
        (greeting(), Ok(0)),
        (bound(), Ok(0)),
        ([bound(), frame(0x45, 1, &[0, 7])].concat(), Ok(1)),
        ([bound(), frame(8, 1, &[])].concat(), Ok(1)),
        ([greeting(), frame(12, 0, &[0; 8])].concat(), Ok(0)),
        (b"\xd7DVX".to_vec(), Err("does not speak Dovetail's wire")),
        (b"\xd7".to_vec(), Err("ends in the middle")),
        (greeting()[..9].to_vec(), Err("a frame ends in the middle")),
        (
            [&greeting()[..4], &frame(2, 0, &[])].concat(),
            Err("HELLO comes first"),
        ),
        (
            [greeting(), frame(1, 0, &[1])].concat(),
            Err("HELLO comes first, and once"),
        ),
        (
            [&greeting()[..4], &frame(1, 0, &[2])].concat(),
            Err("version 2"),
        ),
        (
            [&greeting()[..4], &frame(1, 0, &[1, 1, 9])].concat(),
            Err("too small"),
        ),
        (
            [greeting(), frame(0, 0, &[])].concat(),
            Err("a frame of kind 0"),
        ),
        (
            [greeting(), frame(31, 0, &[])].concat(),
            Err("a frame of kind 31"),
        ),
        (
            [greeting(), frame(0x28, 1, &[])].concat(),
            Err("cannot have the flags 0x20"),
        ),
        (
            huge,
            Err("a frame of 16777215 bytes where 1048576 were agreed on"),
        ),
        (
            [greeting(), frame(5, 1, &[0])].concat(),
            Err("a method that was not bound"),
        ),
        (
            [greeting(), frame(5, 1, &[])].concat(),
            Err("ends in the middle"),
        ),
        (
            [bound(), frame(5, 1, &[0])].concat(),
            Err("not known to be equal"),
        ),
        (
            [greeting(), frame(2, 7, &[0, 0, 1, b'm'])].concat(),
            Err("slot 7 out of turn"),
        ),
        (
            [greeting(), frame(2, 0, &[0, 0, 1, b'm', 0])].concat(),
            Err("ends in the middle"),
        ),
        (
            [greeting(), frame(2, 0, &[0, 0, 2, 0xff, 0xff])].concat(),
            Err("not UTF-8"),
        ),
        (
            [greeting(), frame(3, 0, &[0, 0])].concat(),
            Err("a slot that was not bound"),
        ),
        (
            [bound(), frame(4, 0, &[])].concat(),
            Err("nobody asked for"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 0x40])].concat(),
            Err("extras of the kinds 0x40"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 2, 0, 5])].concat(),
            Err("compressed with 0, which this end did not offer"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 2, 3, 5])].concat(),
            Err("compressed with 3, which this end did not offer"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 0x20, 0])].concat(),
            Err("refer to 0 results"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 0x20, 65])].concat(),
            Err("refer to 65 results"),
        ),
        (
            [
                greeting(),
                frame(2, 0, &oneway()),
                frame(0xc5, 1, &[0, 0x20, 1, 1]),
            ]
            .concat(),
            Err("refers to objects, and has none"),
        ),
        (
            [
                bound(),
                frame(0xc5, 1, &[0, 4, 0x82, 0x80, 0x80, 0x80, 0x40]),
            ]
            .concat(),
            Err("a target of more than 33 bits"),
        ),
        // Results of no call, of the call itself, of a later one: refused, and the connection goes
        // on.
        ([bound(), frame(0xc5, 3, &[0, 4, 3])].concat(), Ok(0)),
        ([bound(), frame(0xc5, 3, &[0, 20, 7])].concat(), Ok(0)),
        ([bound(), frame(0xc5, 3, &[0, 4, 11])].concat(), Ok(0)),
        ([bound(), frame(0xc5, 1, &[0, 4, 2])].concat(), Ok(1)),
        ([bound(), frame(15, 7, &[3])].concat(), Ok(1)),
        (
            [bound(), frame(15, 7, &[0])].concat(),
            Err("a release of nothing"),
        ),
        (
            [bound(), frame(15, 7, &[])].concat(),
            Err("ends in the middle"),
        ),
        (
            [bound(), frame(15, 7, &[1, 1])].concat(),
            Err("1 bytes are left"),
        ),
        (
            [greeting(), frame(2, 0, &oneway()), frame(0xc5, 1, &[0, 16])].concat(),
            Err("promises or refers to objects, and has none"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 2, 1])].concat(),
            Err("ends in the middle"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 8, 1, 9])].concat(),
            Err("never kept"),
        ),
        (
            [bound(), frame(0xc5, 1, &[0, 1, 0x80])].concat(),
            Err("ends in the middle"),
        ),
        (
            [
                bound(),
                frame(0xc5, 1, &[&[0, 1][..], &[0xff; 10]].concat()),
            ]
            .concat(),
            Err("more than 64 bits"),
        ),
        (
            [greeting(), frame(12, 0, &[0; 3])].concat(),
            Err("ends in the middle"),
        ),
        (
            [greeting(), frame(8, 2, &[])].concat(),
            Err("CANCEL from the callee"),
        ),
        (
            [greeting(), frame(16, 0, &[13, 2, b'n', b'o'])].concat(),
            Err("gave the connection up: no (INTERNAL)"),
        ),
    ];
    for (bytes, expected) in rows {
        for piece in [1, 2, 7, 1 << 20] {
            let outcome = outcome(&bytes, piece);
            match (&outcome, &expected) {
                (Ok(events), Ok(expected)) => assert_eq!(events, expected, "{bytes:x?}"),
                (Err(error), Err(part)) => {
                    assert!(error.contains(part), "{error} for {bytes:x?}, not {part}");
                }
                _ => panic!("{outcome:?} where {expected:?} for {bytes:x?}"),
            }
        }
    }
}

/// Each row: frames behind BIND of `m` (slot 0), `upload` (1) and `download` (2), and the number of
/// events or the error.
#[test]
fn ids_and_payloads_are_those_of_the_tables() {
    const CALL: u8 = 0x45;
    let bind = |slot: u32, flags: u8, name: &str| {
        let text = [&[flags, 0, name.len() as u8], name.as_bytes(), &[0; 16]].concat();
        frame(2, slot, &text)
    };
    let methods = [
        greeting(),
        bind(0, 0, "m"),
        bind(1, 2, "upload"),
        bind(2, 4, "download"),
    ];
    let call = |id| frame(CALL, id, &[0, 7]);
    let upload = |id| frame(CALL, id, &[1, 7]);
    let part = |id| frame(CALL | 0x20, id, &[0, 7]);
    type Row = (Vec<Vec<u8>>, Result<usize, &'static str>);
    let rows: Vec<Row> = vec![
        // Calls: odd numbers by the client, each higher than all before.
        (vec![call(1), call(3), call(5)], Ok(3)),
        (vec![call(7), call(9)], Ok(2)),
        (
            vec![upload(1), upload(1)],
            Err("id 1, which another one has"),
        ),
        (vec![call(1), call(1)], Err("call 1 behind call 1")),
        (vec![call(5), call(3)], Err("call 3 behind call 5")),
        (vec![call(2)], Err("id 2, which is not one of its caller's")),
        (vec![call(0)], Err("id 0, which is not one of its caller's")),
        (vec![part(1), call(3), call(1)], Ok(2)),
        (vec![part(3), call(1)], Err("call 1 behind call 3")),
        // They start again from the lowest, leaving out those in use.
        (vec![call(u32::MAX), call(1), call(3)], Ok(3)),
        (vec![call(1 << 30 | 1), call(1)], Err("call 1 behind")),
        (
            vec![upload(1), call(u32::MAX), upload(1)],
            Err("id 1, which another one has"),
        ),
        // A promise is in use until its caller forgets it.
        (
            vec![frame(0xc5, 1, &[0, 16]), call(u32::MAX), call(1)],
            Err("id 1, which another one has"),
        ),
        // Frames of the connection have the id 0, and the payloads of the table.
        (vec![frame(12, 1, &[0; 8])], Err("Ping with the id 1")),
        (vec![frame(13, 1, &[0; 8])], Err("Pong with the id 1")),
        (vec![frame(14, 1, &[0, 0])], Err("Drain with the id 1")),
        (vec![frame(16, 1, &[1, 0])], Err("Goodbye with the id 1")),
        (vec![frame(12, 0, &[0; 9])], Err("1 bytes are left")),
        (vec![frame(13, 0, &[0; 7])], Err("ends in the middle")),
        (vec![frame(13, 0, &[0; 9])], Err("1 bytes are left")),
        (vec![frame(16, 0, &[1, 0, 0])], Err("1 bytes are left")),
        (vec![call(1), frame(8, 1, &[0])], Err("1 bytes are left")),
        (vec![call(1), frame(8, 1, &[])], Ok(2)),
        // Answers are to calls of the receiver's.
        (
            vec![call(1), frame(0x46, 1, &[])],
            Err("an answer to call 1"),
        ),
        (vec![frame(7, 1, &[1, 1, 0])], Err("an answer to call 1")),
        (vec![frame(7, 0, &[1, 1, 0])], Err("an answer to call 0")),
        (
            vec![frame(7, 2, &[1, 4, 0])],
            Err("4 says nothing of a call's execution"),
        ),
        // Only the first frame of a message has extras.
        (
            vec![part(1), frame(0xc5, 1, &[0, 0])],
            Err("extras behind the beginning of a message"),
        ),
        // One-way methods have no streams, and other flags do not exist.
        (
            vec![frame(2, 3, &[3, 0, 0])],
            Err("a method with the flags 3"),
        ),
        (
            vec![frame(2, 3, &[8, 0, 0])],
            Err("a method with the flags 8"),
        ),
    ];
    for (frames, expected) in rows {
        let bytes = [methods.concat(), frames.concat()].concat();
        for piece in [1, 7, 1 << 20] {
            match (outcome(&bytes, piece), &expected) {
                (Ok(events), Ok(expected)) => assert_eq!(events, *expected, "{frames:x?}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}, not {part}"),
                (outcome, _) => panic!("{outcome:?} where {expected:?} for {frames:x?}"),
            }
        }
    }
}

/// Promises that wait for themselves, or for each other, are refused: nothing hangs.
#[test]
fn promises_do_not_wait_for_each_other() {
    const REFUSED: u8 = 9;
    let promise = |id: u32, target: u8| frame(0xc5, id, &[0, 20, target]);
    let rows = [
        (bound(), promise(3, 7), vec![3]),
        (bound(), frame(0xc5, 3, &[0, 48, 1, 3]), vec![3]),
        (
            held(),
            [promise(1, 7), promise(3, 3), frame(4, 0, b"other")].concat(),
            vec![1, 3],
        ),
    ];
    for (start, calls, refused) in rows {
        let mut server = Connection::new(Role::Server, Options::default());
        let methods = Methods(vec![
            Arc::new(nameless("m")),
            Arc::new(described("d", b"ours")),
        ]);
        let mut input = BytesMut::from(&[start, calls].concat()[..]);
        let event = server.receive(&mut input, &methods).unwrap();
        assert!(event.is_none(), "{event:?}");
        let mut said = Vec::new();
        server.transmit(&mut said);
        for call in refused {
            // STATUS of the call, FAILED_PRECONDITION, not started.
            let status = [&[7u8][..], &u32::to_le_bytes(call), &[REFUSED, 1]].concat();
            assert!(
                said.windows(status.len()).any(|part| part == status),
                "{said:x?}"
            );
        }
    }
}

/// BIND of a method whose description the server asks for.
fn held() -> Vec<u8> {
    let payload = [&[0, 0, 1, b'd'][..], &[1; 16]].concat();
    [greeting(), frame(2, 0, &payload)].concat()
}

/// A call that began before DRAIN, and whose last frame comes behind it, is told so; later ones are
/// not answered.
#[test]
fn a_drain_leaves_no_call_without_an_end() {
    let mut server = Connection::new(Role::Server, Options::default());
    let methods = Methods(vec![Arc::new(nameless("m"))]);
    let begun = [frame(0x65, 1, &[0, 7]), frame(0x45, 3, &[0, 7])];
    let mut input = BytesMut::from(&[bound(), begun.concat()].concat()[..]);
    assert!(matches!(
        server.receive(&mut input, &methods),
        Ok(Some(Event::Call(call))) if call.reply.call() == 3
    ));
    assert!(matches!(server.receive(&mut input, &methods), Ok(None)));
    server.transmit(&mut Vec::new());
    server.drain("");
    let mut said = Vec::new();
    server.transmit(&mut said);
    assert_eq!(said, frame(14, 0, &[3, 0]));
    said.clear();
    let rest = [frame(0x45, 1, &[7]), frame(0x45, 5, &[0, 7])].concat();
    input.extend_from_slice(&rest);
    assert!(matches!(server.receive(&mut input, &methods), Ok(None)));
    server.transmit(&mut said);
    let text = b"this end takes no further calls";
    let status = [&[14, 1, text.len() as u8][..], text].concat();
    assert_eq!(said, frame(7, 1, &status));
}

/// Neither end sends a message that the other one, as its HELLO says, does not take.
#[test]
fn larger_messages_than_the_other_end_takes_are_not_sent() {
    let limited = |message_bytes| {
        let mut options = Options::default();
        options.limits.message_bytes = message_bytes;
        options
    };
    let (method, small, large) = (
        Arc::new(nameless("m")),
        Bytes::from_static(&[7; 10]),
        Bytes::from_static(&[7; 1_000]),
    );
    let methods = Methods(vec![method.clone()]);
    let mut pair = Pair::new(methods.clone(), Options::default(), limited(100));
    let headers = Headers::new();
    pair.call(&method, &small, None, &headers).unwrap();
    pair.settle(64);
    let refused = pair.call(&method, &large, None, &headers).unwrap_err();
    assert!(format!("{refused:?}").contains("TooLarge"), "{refused:?}");
    let mut pair = Pair::new(methods, limited(100), Options::default());
    let headers = Headers::new();
    pair.call(&method, &small, None, &headers).unwrap();
    pair.settle(64);
    let call = pair.calls.pop().unwrap();
    let mut out = Vec::new();
    let refused = call.reply.reply(&mut out, &large, Limits::default());
    assert!(
        matches!(refused, Err(EncodeError::TooLarge { limit: 100, .. })),
        "{refused:?}"
    );
    assert!(out.is_empty());
}

/// A frame of zstd: so many blocks of 128 KiB, each of one byte again and again.
fn zstd_zeros(blocks: usize) -> Vec<u8> {
    // The magic number, a header without a size, a window of 2 MiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x58];
    for block in 1..=blocks {
        let head = 128 << 10 << 3 | 1 << 1 | u32::from(block == blocks);
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// A block of lz4: so many zeros.
fn lz4_zeros(length: usize) -> Vec<u8> {
    // A literal, copied again and again, and five literals, as the format demands.
    let copied = length - 1 - 5 - 19;
    let mut block = vec![0x1f, 0, 1, 0];
    block.resize(block.len() + copied / 255, 255);
    block.extend([(copied % 255) as u8, 0x50, 0, 0, 0, 0, 0]);
    block
}

#[test]
fn a_body_that_is_not_what_was_announced_concerns_its_call() {
    const KIB: usize = 1 << 10;
    let cut = |mut bytes: Vec<u8>, off: usize| {
        bytes.truncate(bytes.len() - off);
        bytes
    };
    let broken = |mut bytes: Vec<u8>, at: usize, byte: u8| {
        bytes[at] = byte;
        bytes
    };
    // Algorithm, the size that is announced, the body, and what its sender is told; nothing where
    // all is well.
    let rows: [(u8, u64, Vec<u8>, &str); 17] = [
        (1, 256 << 10, zstd_zeros(2), ""),
        (
            1,
            255 << 10,
            zstd_zeros(2),
            "more than the 261120 bytes that were announced",
        ),
        (
            1,
            257 << 10,
            zstd_zeros(2),
            "it has 262144 bytes where 263168 were announced",
        ),
        (1, 0, zstd_zeros(1), "more than the 0 bytes"),
        (1, 100, zstd_zeros(500), "more than the 100 bytes"),
        (1, 60 << 20, zstd_zeros(2), "`decompression_ratio`"),
        (
            1,
            256 << 10,
            cut(zstd_zeros(2), 1),
            "the frame ends too early",
        ),
        (1, 0, Vec::new(), "the frame ends too early"),
        (
            1,
            128 << 10,
            [zstd_zeros(1), vec![0]].concat(),
            "bytes follow the frame",
        ),
        (
            1,
            128 << 10,
            broken(zstd_zeros(1), 0, 0),
            "zstd cannot decompress the body",
        ),
        // A window of gigabytes.
        (
            1,
            128 << 10,
            broken(zstd_zeros(1), 5, 0xa8),
            "zstd cannot decompress the body",
        ),
        (2, 1_000, lz4_zeros(1_000), ""),
        (
            2,
            999,
            lz4_zeros(1_000),
            "more than the 999 bytes that were announced",
        ),
        (2, 60 << 20, lz4_zeros(1_000), "`decompression_ratio`"),
        (
            2,
            1_000,
            cut(lz4_zeros(1_000), 3),
            "lz4 cannot decompress the body",
        ),
        (
            2,
            1_000,
            broken(lz4_zeros(1_000), 2, 2),
            "lz4 cannot decompress the body",
        ),
        (2, 0, Vec::new(), "lz4 cannot decompress the body"),
    ];
    for (algorithm, size, body, reported) in rows {
        let what = format!("{algorithm}, {size}, {} bytes", body.len());
        let mut payload = vec![0, 2, algorithm];
        payload.extend(varint(size));
        payload.extend(body);
        let next = frame(0x45, 3, &[0, 7]);
        let (said, calls) = answers(&[bound(), frame(0xc5, 1, &payload), next].concat());
        assert!(said.contains(reported), "{what}: {said}");
        let sizes: Vec<usize> = match reported {
            "" => vec![size as usize, 1],
            _ => vec![1],
        };
        assert_eq!(calls, sizes, "{what}");
    }
    for size in [(64 << 20) + 1, u64::MAX] {
        let payload = [&[0, 2, 1][..], &varint(size), &zstd_zeros(1)].concat();
        let (said, calls) = answers(&[bound(), frame(0xc5, 1, &payload)].concat());
        assert!(
            said.contains("a message of more than 1048576 bytes"),
            "{said}"
        );
        assert!(calls.is_empty());
    }
    assert!(lz4_zeros(200 * KIB).len() < KIB);
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Returns a server's text, readable where it is text, and the sizes of the bodies of the calls
/// that it starts.
fn answers(bytes: &[u8]) -> (String, Vec<usize>) {
    let mut server = Connection::new(Role::Server, Options::default());
    let methods = Methods(vec![Arc::new(nameless("m"))]);
    let mut input = BytesMut::from(bytes);
    let (mut said, mut calls) = (Vec::new(), Vec::new());
    while let Some(event) = server.receive(&mut input, &methods).unwrap() {
        if let Event::Call(call) = event {
            match call.body.decompress() {
                Ok(body) => calls.push(body.len()),
                Err(error) => said.extend_from_slice(error.to_string().as_bytes()),
            }
        }
    }
    server.transmit(&mut said);
    (String::from_utf8_lossy(&said).into_owned(), calls)
}

/// BIND of the method with these streams to slot 0, and a call of it.
fn called(streams: u8, method: &str) -> Vec<u8> {
    let name = [&[streams, 0, method.len() as u8], method.as_bytes()].concat();
    let bind = frame(2, 0, &[name, vec![0; 16]].concat());
    [greeting(), bind, frame(0x45, 1, &[0])].concat()
}

#[test]
fn streams_that_are_not_there() {
    const ITEM: u8 = 0x49;
    const END: u8 = 10;
    const CREDIT: u8 = 11;
    let no_item = Err("an item without a stream");
    let no_end = Err("the end of no stream");
    type Frames = &'static [(u8, &'static [u8])];
    let rows: [(Vec<u8>, Frames, Result<usize, &str>); 9] = [
        (called(4, "download"), &[(ITEM, b"x")], no_item),
        (called(4, "download"), &[(END, b"")], no_end),
        (called(4, "download"), &[(CREDIT, &[5])], Ok(1)),
        (
            called(2, "upload"),
            &[(CREDIT, &[5])],
            Err("credit for no stream"),
        ),
        (called(2, "upload"), &[(ITEM, b"x"), (END, b"")], Ok(3)),
        (called(2, "upload"), &[(END, b""), (ITEM, b"x")], no_item),
        (called(2, "upload"), &[(END, b""), (END, b"")], no_end),
        // Behind CANCEL nobody minds, and of a call without streams nobody knows whether it is
        // over.
        (
            called(2, "upload"),
            &[(8, b""), (ITEM, b"x"), (END, b"")],
            Ok(2),
        ),
        (
            called(0, "m"),
            &[(ITEM, b"x"), (END, b""), (CREDIT, &[5])],
            Ok(1),
        ),
    ];
    for (mut bytes, frames, expected) in rows {
        for (kind, payload) in frames {
            bytes.extend(frame(*kind, 1, payload));
        }
        match (outcome(&bytes, 1_000), expected) {
            (Ok(events), expected) => assert_eq!(Ok(events), expected, "{frames:?}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}, not {part}"),
            (Err(error), _) => panic!("{error} for {frames:?}"),
        }
    }
    // A caller knows its own calls.
    for (kind, payload, part) in [
        (ITEM, &b"x"[..], "an item without a stream"),
        (END, b"", "the end of no stream"),
        (CREDIT, &[5], "credit for no stream"),
    ] {
        let mut pair = Pair::new(Methods::default(), Options::default(), Options::default());
        let (method, body) = (Arc::new(nameless("m")), Bytes::from_static(b"x"));
        pair.call_object(&method, &body, None, false);
        let mut input = BytesMut::from(&[greeting(), frame(kind, 1, payload)].concat()[..]);
        let error = pair.client.receive(&mut input, &Methods::default());
        let error = error.expect_err("a broken rule").to_string();
        assert!(error.contains(part), "{error}, not {part}");
    }
}

#[test]
fn what_is_too_large_is_read_as_far_as_others_need_it() {
    for drains in [false, true] {
        let mut options = Options::default();
        options.limits.message_bytes = 100;
        let mut server = Connection::new(Role::Server, options);
        let methods = Methods(vec![Arc::new(nameless("m"))]);
        let keeps = [&[0, 8, 1, 1, 1, b'a', 1, b'x'][..], &[7; 200]].concat();
        let refers = [0, 8, 1, 2, 7];
        let mut input = BytesMut::from(&bound()[..]);
        assert!(server.receive(&mut input, &methods).unwrap().is_none());
        if drains {
            server.drain("");
        }
        let mut said = Vec::new();
        server.transmit(&mut said);
        said.clear();
        input.extend_from_slice(&[frame(0xc5, 1, &keeps), frame(0xc5, 3, &refers)].concat());
        let event = server.receive(&mut input, &methods).unwrap();
        server.transmit(&mut said);
        // Calls behind DRAIN are never answered.
        assert_eq!(said.is_empty(), drains);
        match event {
            Some(Event::Call(call)) => assert_eq!(call.headers.get("a"), Some(&b"x"[..])),
            event => assert!(event.is_none() && drains, "{event:?}"),
        }
    }
}

#[test]
fn what_could_pile_up_has_an_end() {
    let many = |frame: &dyn Fn(u32) -> Vec<u8>| {
        let frames: Vec<u8> = (0..10_000).flat_map(frame).collect();
        outcome(&[bound(), frames].concat(), 1 << 20)
    };
    let bind = |slot: u32| frame(2, slot + 1, &[&[0, 0, 1, b'x'][..], &[0; 16]].concat());
    let name = |slot: u32| {
        let text = [&[0, 0, 0x81, 0x08][..], &[b'x'; 1025], &[0; 16]].concat();
        frame(2, slot + 1, &text)
    };
    let rows: [(&str, Result<usize, String>); 3] = [
        ("slot 4096 out of turn", many(&bind)),
        ("a method's name of 1025 bytes", many(&name)),
        (
            "unfinished messages",
            many(&|id| frame(0x65, 2 * id + 1, &[0])),
        ),
    ];
    for (part, outcome) in rows {
        let error = outcome.unwrap_err();
        assert!(error.contains(part), "{error}, not {part}");
    }
}

#[test]
fn a_claim_gets_no_memory() {
    let mut server = Connection::new(Role::Server, Options::default());
    let mut input = BytesMut::from(&greeting()[..]);
    input.extend_from_slice(&[0, 0, 0x10, 5, 1, 0, 0, 0]);
    assert!(matches!(
        server.receive(&mut input, &Methods::default()),
        Ok(None)
    ));
    assert!(server.needs() <= 128 << 10, "{}", server.needs());
}
