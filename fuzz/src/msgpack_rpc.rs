//! The machine of msgpack-rpc on arbitrary bytes in arbitrary pieces.

use bytes::BytesMut;
use dovetail_protocol::ConnectionLimits;
use dovetail_protocol::msgpack_rpc::{Connection, Event, Options};
use dovetail_wire::{Encode, EncodeError, Writer};

/// Small, so that a fuzzer reaches them.
const LIMITS: ConnectionLimits = ConnectionLimits {
    message_bytes: 4 << 10,
    decompression_ratio: 16,
    frame_bytes: 1 << 20,
    header_bytes: 512,
    name_bytes: 64,
    depth: 16,
    objects: 8,
};

fn connection(serves: bool) -> Connection {
    Connection::new(Options {
        limits: LIMITS,
        serves,
        ..Options::default()
    })
}

/// An end that takes calls, and has made one. The first byte cuts the rest into pieces, which make
/// no difference.
pub(crate) fn server(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = events(connection(true), input, input.len().max(1));
    let pieces = events(connection(true), input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// An end that only calls: what it has to say is bounded by what it was sent.
pub(crate) fn client(data: &[u8]) {
    let Some((cut, input)) = data.split_first() else {
        return;
    };
    let whole = events(connection(false), input, input.len().max(1));
    let pieces = events(connection(false), input, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "in pieces of {}", usize::from(*cut) + 1);
}

/// Returns the events that one end makes of the bytes, in words.
fn events(mut connection: Connection, input: &[u8], piece: usize) -> Vec<String> {
    let (mut said, mut out) = (Vec::new(), Vec::new());
    for index in 0..4 {
        let call = connection.call("a", index == 1, &Nothing, &mut out);
        if let (2, Ok(Some(call))) = (index, call) {
            connection.abandon(call);
        }
    }
    out.clear();
    let mut buffer = BytesMut::new();
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        loop {
            match connection.receive(&mut buffer) {
                Ok(Some(event)) => said.push(words(event, &mut out)),
                Ok(None) => break,
                Err(error) => {
                    connection.goodbye(&mut out);
                    said.push(format!("{error:?}"));
                    return said;
                }
            }
        }
        assert!(
            buffer.len() <= LIMITS.message_bytes,
            "{} bytes kept",
            buffer.len()
        );
        assert!((1..=128 << 10).contains(&connection.needs()));
        connection.transmit(&mut out);
    }
    assert!(out.len() <= 4096 + 32 * input.len());
    said
}

fn words(event: Event, out: &mut Vec<u8>) -> String {
    match event {
        Event::Call(call) => {
            let _ = call.reply.reply(out, &Nothing, Default::default());
            let (service, method) = (&call.service, &call.method);
            format!("{service:?} {method:?} {:?}", call.params)
        }
        Event::Reply(reply) => format!("{} {:?}", reply.call, reply.result),
    }
}

/// No parameters, and no result.
struct Nothing;

impl Encode for Nothing {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_reply()?;
        writer.end_struct()
    }
}
