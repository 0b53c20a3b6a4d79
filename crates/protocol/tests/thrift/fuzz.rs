//! Thrift's machines on arbitrary bytes in arbitrary pieces: nothing panics, hangs, buffers beyond the
//! limits, or depends on how the bytes were cut.
//!
//! The targets are plain functions for a fuzzer; the test below runs them on mutated messages.

use bytes::BytesMut;
use dovetail_protocol::thrift::{
    ClientConnection, ClientOptions, ConnectionLimits, Detection, ServerConnection, ServerOptions,
    Wire, detect,
};
use dovetail_wire::{Encode, EncodeError, Writer};
use proptest::prelude::*;
use std::sync::Arc;

/// Small, so that a fuzzer reaches them.
const LIMITS: ConnectionLimits = ConnectionLimits {
    message_bytes: 4 << 10,
    header_bytes: 512,
    name_bytes: 64,
    depth: 16,
};

/// The most that a driver has to keep of what has come, while more is needed.
const MOST_BUFFERED: usize = LIMITS.message_bytes + LIMITS.header_bytes + 4;

const WIRES: [&str; 8] = [
    "binary",
    "compact",
    "json",
    "binary+framed",
    "compact+framed",
    "compact+header:zlib,zstd",
    "binary+http",
    "json+http",
];

/// A server that finds out what it gets. The first byte cuts the rest into pieces.
pub(crate) fn server(data: &[u8]) {
    compare(&ServerOptions::default(), data);
}

/// A server of a given wire: the first byte says which.
pub(crate) fn server_of_one_wire(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let wire = WIRES[usize::from(*first) % WIRES.len()];
    let options = ServerOptions {
        wire: wire.parse().ok(),
        ..ServerOptions::default()
    };
    compare(&options, rest);
}

/// A frame with THeader's magic around the bytes: headers and transforms.
pub(crate) fn header(data: &[u8]) {
    let mut input = vec![1];
    input.extend((data.len() as u32 + 8).to_be_bytes());
    input.extend(b"\x0f\xff\0\0\0\0\0\x01");
    input.extend(data);
    compare(&ServerOptions::default(), &input);
}

/// A request whose headers and body are the bytes.
pub(crate) fn http(data: &[u8]) {
    let mut input = vec![data.first().copied().unwrap_or_default()];
    input.extend(b"POST / HTTP/1.1\r\n");
    input.extend(data);
    compare(&ServerOptions::default(), &input);
}

/// A client with calls outstanding. The first byte says on which wire, the second cuts the rest.
pub(crate) fn client(data: &[u8]) {
    let [which, cut, input @ ..] = data else {
        return;
    };
    let Ok(wire) = WIRES[usize::from(*which) % WIRES.len()].parse::<Wire>() else {
        return;
    };
    let mut connection = ClientConnection::new(
        wire,
        ClientOptions {
            limits: LIMITS,
            ..ClientOptions::default()
        },
    );
    let mut sent = Vec::new();
    for index in 0..4 {
        let call = connection.call("a", index == 1, &Nothing, &mut sent);
        if let (2, Ok(call)) = (index, call) {
            connection.abandon(call);
        }
    }
    let mut buffer = BytesMut::new();
    for piece in input.chunks(usize::from(*cut) + 1) {
        buffer.extend_from_slice(piece);
        loop {
            match connection.receive(&mut buffer) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(buffer.len() <= MOST_BUFFERED, "{} bytes kept", buffer.len());
    }
    let _ = connection.end(&mut buffer);
    assert!(connection.pending().count() <= 2);
}

/// More bytes never change what fewer have told.
pub(crate) fn detection(data: &[u8]) {
    let mut told = None;
    for len in 0..=data.len().min(32) {
        match (detect(&data[..len], &LIMITS, &[]), told) {
            (Detection::More(missing), None) => assert!(missing > 0),
            (detection, None) => told = Some(detection),
            (detection, Some(before)) => assert_eq!(detection, before, "{:x?}", &data[..len]),
        }
    }
}

/// Feeds a server once whole and once in pieces.
fn compare(options: &ServerOptions, data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let options = Arc::new(ServerOptions {
        limits: LIMITS,
        ..options.clone()
    });
    let whole = serve(&options, input, input.len().max(1));
    let pieces = serve(&options, input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// What a server makes of the bytes, in words.
fn serve(options: &Arc<ServerOptions>, input: &[u8], piece: usize) -> Vec<String> {
    let mut connection = ServerConnection::new(options.clone());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    let mut buffer = BytesMut::new();
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            match connection.receive(&mut buffer) {
                Ok(Some(call)) => {
                    let (service, method) = (&call.service, &call.method);
                    events.push(format!("{service:?} {method:?} {:?}", call.body));
                    let _ = call.reply.reply(&mut out, &Nothing, Default::default());
                }
                Ok(None) => break,
                Err(error) => {
                    connection.goodbye(&error, &mut out);
                    let what = format!("{:?}", std::mem::discriminant(&error));
                    events.push(what);
                    return events;
                }
            }
        }
        assert!(buffer.len() <= MOST_BUFFERED, "{} bytes kept", buffer.len());
        assert!((1..=128 << 10).contains(&connection.needs()));
        connection.transmit(&mut out);
    }
    events
}

/// An empty struct.
struct Nothing;

impl Encode for Nothing {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_struct()?;
        writer.end_struct()
    }
}

/// Messages of all wires, some of them in the middle.
const SEEDS: &[&[u8]] = &[
    b"\x80\x01\0\x01\0\0\0\x01a\0\0\0\x01\x0b\0\x01\0\0\0\x02hi\x0f\0\x02\x0c\0\0\0\x02\0\0\0",
    b"\x82\x21\x01\x01a\x18\x02hi\x19\x25\x01\x02\x1b\x01\x88\x01a\x01b\0",
    b"[1,\"a\",1,1,{\"1\":{\"str\":\"hi\"}}]",
    b"\0\0\0\x0d\x80\x01\0\x01\0\0\0\0\0\0\0\x01\0",
    b"\0\0\0\x16\x0f\xff\0\0\0\0\0\x01\0\x01\0\0\0\0\x82\x21\x01\x01a\0\0\0",
    b"POST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n[1,\"a\",1,1,{}]   ",
    b"Transfer-Encoding: chunked\r\n\r\n6\r\n\x82\x21\x01\x01a\0\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\x82\x41\x01\x01a\0",
    b"\x80\x01\0\x02\0\0\0\x01a\0\0\0\x01\0",
    b"\x82\x41\x01\x01a\0",
    b"\0\x01\0\x02\x01\x01\x01a\x01b\0\x82\x21\x01\x01a\0\0\0",
];

fn messages() -> impl Strategy<Value = Vec<u8>> {
    let seeds = proptest::collection::vec(prop::sample::select(SEEDS), 1..4);
    let changes =
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..6);
    (any::<[u8; 2]>(), seeds, changes).prop_map(|(first, seeds, changes)| {
        let mut data = first.to_vec();
        seeds.iter().for_each(|seed| data.extend_from_slice(seed));
        for (index, byte, change) in changes {
            let at = index.index(data.len());
            match change {
                0 => data[at] = byte,
                1 => data.insert(at, byte),
                2 => data[at] ^= 1 << (byte % 8),
                _ => data.truncate(at.max(1)),
            }
        }
        data
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_messages(data in messages()) {
        server(&data);
        server_of_one_wire(&data);
        header(&data);
        http(&data);
        client(&data);
        detection(&data[1..]);
    }
}
