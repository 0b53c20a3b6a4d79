//! msgpack-rpc without a network.
#![allow(clippy::unwrap_used)]

mod errors;
mod hostile;
mod pair;

use bytes::BytesMut;
use dovetail_protocol::msgpack_rpc::{Connection, Event, Options, ProtocolError};
use dovetail_wire::{Encode, EncodeError, Field, Kind, Limits, Writer};

/// A list of one number, as parameters; the number as result; or nothing.
pub(crate) struct Number(pub(crate) Option<i64>);

impl Encode for Number {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        const FIELDS: &[Field<'static>] = &[Field::new(1, "number", Kind::I64)];
        writer.begin_params(FIELDS)?;
        if let Some(number) = self.0 {
            writer.begin_field(&FIELDS[0])?;
            writer.i64(number)?;
            writer.end_field()?;
        }
        writer.end_struct()
    }
}

/// The reply with this result.
pub(crate) struct Answer(pub(crate) i64);

impl Encode for Answer {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_reply()?;
        writer.begin_field(&Field::new(0, "success", Kind::I64))?;
        writer.i64(self.0)?;
        writer.end_field()?;
        writer.end_struct()
    }
}

/// One that cannot be written.
pub(crate) struct Impossible;

impl Encode for Impossible {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.begin_reply()?;
        Err(EncodeError::TooDeep { limit: 0 })
    }
}

pub(crate) fn server() -> Connection {
    Connection::new(Options {
        serves: true,
        ..Options::default()
    })
}

pub(crate) fn client() -> Connection {
    Connection::new(Options::default())
}

/// All that comes of these bytes, received in pieces, in words.
pub(crate) fn events(
    connection: &mut Connection,
    bytes: &[u8],
    piece: usize,
) -> (Vec<String>, Result<(), ProtocolError>) {
    let (mut input, mut said) = (BytesMut::new(), Vec::new());
    for piece in bytes.chunks(piece.max(1)) {
        input.extend_from_slice(piece);
        loop {
            match connection.receive(&mut input) {
                Ok(Some(event)) => said.push(words(event)),
                Ok(None) => break,
                Err(error) => return (said, Err(error)),
            }
        }
        assert!(connection.needs() > 0);
    }
    let end = connection.end(&input);
    (said, end)
}

fn words(event: Event) -> String {
    match event {
        Event::Call(call) => {
            let mut out = Vec::new();
            let _ = call.reply.reply(&mut out, &Answer(7), Limits::default());
            let service = call.service.as_deref().unwrap_or("-");
            format!("{service} {} {:x} -> {:x?}", call.method, call.params, out)
        }
        Event::Reply(reply) => match reply.result {
            Ok((_, answer)) => format!("{} {answer:x}", reply.call),
            Err(status) => format!("{} {status}", reply.call),
        },
    }
}
