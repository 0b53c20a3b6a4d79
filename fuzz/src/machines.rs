//! Thrift's machines on arbitrary bytes in arbitrary pieces: nothing panics, hangs, buffers beyond
//! the limits, or depends on how the bytes were cut.

use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::thrift::{
    ClientConnection, ClientOptions, Detection, ServerConnection, ServerOptions, Wire, detect,
};
use dovetail_wire::{Encode, EncodeError, Writer};
use std::sync::Arc;

/// Small, so that a fuzzer reaches them.
const LIMITS: ConnectionLimits = ConnectionLimits {
    message_bytes: 4 << 10,
    decompression_ratio: 16,
    frame_bytes: 1 << 20,
    header_bytes: 512,
    name_bytes: 64,
    depth: 16,
    objects: 3,
};

/// The most that a driver has to keep of what has come, while more is needed.
const MAX_BUFFERED: usize = LIMITS.message_bytes + LIMITS.header_bytes + 4;

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
    input.extend(b"POST / HTTP/1.1\r\nHost: x\r\n");
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
        assert!(buffer.len() <= MAX_BUFFERED, "{} bytes kept", buffer.len());
    }
    // An error is as good an answer as none.
    let _ = connection.end(&mut buffer);
    // Four calls, of which one was abandoned and one is one-way.
    let most = 2 + usize::from(connection.answers_oneway());
    assert!(connection.pending().count() <= most);
}

/// More bytes never change what fewer have told.
pub(crate) fn detection(data: &[u8]) {
    let mut reported = None;
    for len in 0..=data.len().min(32) {
        match (detect(&data[..len], &LIMITS, &[]), reported) {
            (Detection::More(missing), None) => assert!(missing > 0),
            (detection, None) => reported = Some(detection),
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

/// Returns the events that a server makes of the bytes, in words.
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
        assert!(buffer.len() <= MAX_BUFFERED, "{} bytes kept", buffer.len());
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
