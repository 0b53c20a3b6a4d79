//! A protocol and an encoding plugged in from outside the crates: everything is a 64-bit number or
//! bytes with a length, fields have their id before them.

use crate::support::{Greeting, options, serve};
use bytes::BytesMut;
use dovetail_protocol::Name;
use dovetail_protocol::thrift::{
    ClientConnection, CustomHead, CustomProtocol, Detect, MessageKind, Protocol, ProtocolError,
    Scan, Scanned, Transport, Wire,
};
use dovetail_wire::{
    Budget, Bytes, Codec, Cursor, DecodeError, EncodeError, Field, Kind, Limits, NextField, Reader,
    Sequence, UnknownValue, Writer,
};
use std::borrow::Cow;

/// A message is a line: `@kind number name body`.
pub(crate) struct At {
    /// Whether it finds the end of an unframed message.
    pub(crate) scannable: bool,
}

pub(crate) static AT: At = At { scannable: true };
static FRAMED_AT: At = At { scannable: false };

impl CustomProtocol for At {
    fn name(&self) -> &str {
        "at"
    }

    fn detect(&self, prefix: &[u8]) -> Detect {
        match prefix {
            [] => Detect::More,
            [b'@', ..] => Detect::Yes,
            _ => Detect::No,
        }
    }

    fn read_head(&self, message: &[u8]) -> Result<CustomHead, ProtocolError> {
        let truncated = ProtocolError::Truncated { what: "the head" };
        let text = String::from_utf8_lossy(message);
        let mut words = text.splitn(4, ' ');
        let (Some(kind), Some(seqid), Some(name), Some(body)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(truncated);
        };
        Ok(CustomHead {
            kind: match kind {
                "@1" => MessageKind::Call,
                "@2" => MessageKind::Reply,
                "@3" => MessageKind::Exception,
                _ => MessageKind::Oneway,
            },
            name: Name::new(name),
            seqid: seqid.parse().map_err(|_| truncated)?,
            body: message.len() - body.len()..message.len() - 1,
        })
    }

    fn write_head(&self, kind: MessageKind, name: &str, seqid: i32, out: &mut Vec<u8>) {
        out.extend(format!("@{} {seqid} {name} ", kind as u8).into_bytes());
    }

    fn write_end(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }

    fn codec(&self) -> &'static dyn Codec {
        &Numbers
    }

    fn scan(&self) -> Option<Box<dyn Scan>> {
        self.scannable.then(|| Box::new(Line(0)) as Box<dyn Scan>)
    }
}

/// Ends with the first line end: good enough where neither names nor numbers have one.
struct Line(usize);

impl Scan for Line {
    fn scan(&mut self, message: &[u8]) -> Result<Scanned, ProtocolError> {
        match message[self.0..].iter().position(|byte| *byte == b'\n') {
            Some(index) => Ok(Scanned::Complete(self.0 + index + 1)),
            None => {
                self.0 = message.len();
                Ok(Scanned::Need(1))
            }
        }
    }
}

struct Numbers;

impl Codec for Numbers {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        _: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        body(&mut Out(out))
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let mut reader = In(input, Budget::new(limits));
        body(&mut reader)?;
        Ok(input.len() - reader.0.len())
    }
}

struct Out<'a>(&'a mut Vec<u8>);

type Written = Result<(), EncodeError>;

impl Out<'_> {
    fn raw(&mut self, bytes: &[u8]) -> Written {
        self.i64(bytes.len() as i64)?;
        self.0.extend(bytes);
        Ok(())
    }
}

impl Writer for Out<'_> {
    fn bool(&mut self, value: bool) -> Written {
        self.i64(value.into())
    }
    fn i8(&mut self, value: i8) -> Written {
        self.i64(value.into())
    }
    fn i16(&mut self, value: i16) -> Written {
        self.i64(value.into())
    }
    fn i32(&mut self, value: i32) -> Written {
        self.i64(value.into())
    }
    fn i64(&mut self, value: i64) -> Written {
        // As text, so that no byte is a line end.
        self.0.extend(format!("{value} ").into_bytes());
        Ok(())
    }
    fn f64(&mut self, value: f64) -> Written {
        self.i64(value.to_bits().cast_signed())
    }
    fn string(&mut self, value: &str) -> Written {
        self.raw(value.as_bytes())
    }
    fn bytes(&mut self, value: &Bytes) -> Written {
        self.raw(value)
    }
    fn uuid(&mut self, value: &[u8; 16]) -> Written {
        self.raw(value)
    }
    fn begin_list(&mut self, _: Kind, len: usize) -> Written {
        self.i64(len as i64)
    }
    fn end_list(&mut self) -> Written {
        Ok(())
    }
    fn begin_map(&mut self, _: Kind, _: Kind, len: usize) -> Written {
        self.i64(len as i64)
    }
    fn end_map(&mut self) -> Written {
        Ok(())
    }
    fn begin_struct(&mut self) -> Written {
        Ok(())
    }
    fn begin_field(&mut self, field: &Field<'_>) -> Written {
        self.i64(field.id.into())
    }
    fn end_field(&mut self) -> Written {
        Ok(())
    }
    fn end_struct(&mut self) -> Written {
        self.i64(-1)
    }
    fn as_dyn(&mut self) -> &mut dyn Writer {
        self
    }
}

struct In<'de>(&'de [u8], Budget);

type Got<T> = Result<T, DecodeError>;

impl<'de> In<'de> {
    fn raw(&mut self) -> Got<&'de [u8]> {
        let len = self.i64()? as usize;
        let (bytes, rest) = self
            .0
            .split_at_checked(len)
            .ok_or_else(|| DecodeError::malformed("too short"))?;
        self.0 = rest;
        Ok(bytes)
    }
}

impl<'de> Reader<'de> for In<'de> {
    fn budget(&mut self) -> &mut Budget {
        &mut self.1
    }
    fn bool(&mut self) -> Got<bool> {
        Ok(self.i64()? != 0)
    }
    fn i8(&mut self) -> Got<i8> {
        Ok(self.i64()? as i8)
    }
    fn i16(&mut self) -> Got<i16> {
        Ok(self.i64()? as i16)
    }
    fn i32(&mut self) -> Got<i32> {
        Ok(self.i64()? as i32)
    }
    fn i64(&mut self) -> Got<i64> {
        let mut parts = self.0.splitn(2, |byte| *byte == b' ');
        let (digits, rest) = (parts.next().unwrap_or_default(), parts.next());
        self.0 = rest.ok_or_else(|| DecodeError::malformed("no number"))?;
        let digits = String::from_utf8_lossy(digits);
        digits
            .parse()
            .map_err(|_| DecodeError::malformed("no number"))
    }
    fn f64(&mut self) -> Got<f64> {
        Ok(f64::from_bits(self.i64()?.cast_unsigned()))
    }
    fn string(&mut self) -> Got<Cow<'de, str>> {
        Ok(String::from_utf8_lossy(self.raw()?))
    }
    fn bytes(&mut self) -> Got<Bytes> {
        Ok(Bytes::copy_from_slice(self.raw()?))
    }
    fn uuid(&mut self) -> Got<[u8; 16]> {
        let bytes = self.raw()?.first_chunk();
        bytes
            .copied()
            .ok_or_else(|| DecodeError::malformed("too short"))
    }
    fn begin_list(&mut self, _: Kind) -> Got<Sequence> {
        let state = self.i64()? as usize;
        Ok(Sequence {
            reserve: 0,
            append: false,
            state,
        })
    }
    fn begin_map(&mut self, key: Kind, _: Kind) -> Got<Sequence> {
        self.begin_list(key)
    }
    fn next_element(&mut self, sequence: &mut Sequence) -> Got<bool> {
        let left = sequence.state.checked_sub(1);
        sequence.state = left.unwrap_or(0);
        Ok(left.is_some())
    }
    fn begin_struct(&mut self) -> Got<()> {
        Ok(())
    }
    fn next_field(&mut self, fields: &[Field<'_>], _: &mut Cursor) -> Got<NextField> {
        let id = self.i32()?;
        Ok(match fields.iter().position(|field| field.id == id) {
            Some(index) => NextField::Known(index),
            None if id < 0 => NextField::End,
            None => NextField::Unknown(id),
        })
    }
    fn unknown_value(&mut self) -> Got<UnknownValue> {
        Err(DecodeError::malformed("a field that is not known"))
    }
}

/// Detected in frames, and without them where it can scan.
#[test]
fn a_protocol_from_outside() {
    for (protocol, transport, detected) in [
        (&AT, Transport::Framed, true),
        (&AT, Transport::Unframed, true),
        (&FRAMED_AT, Transport::Framed, true),
        (&FRAMED_AT, Transport::Unframed, false),
    ] {
        let wire = Wire::new(Protocol::Custom(protocol), transport);
        let mut client = ClientConnection::new(wire, Default::default());
        let mut sent = Vec::new();
        for _ in 0..2 {
            client
                .call("greet", false, &Greeting::sample(), &mut sent)
                .expect("encodes");
        }
        let options = options(|options| options.custom = vec![protocol]);
        for chunk in 1..=sent.len() {
            let outcome = serve(&options, &sent, chunk);
            assert_eq!(outcome.result.is_ok(), detected, "{:?}", outcome.result);
            assert_eq!(outcome.calls.len(), if detected { 2 } else { 0 });
            let mut replies = Vec::new();
            for call in &outcome.calls {
                assert_eq!(call.method, "greet");
                assert_eq!(
                    Greeting::decode_from(call.encoding, &call.body),
                    Greeting::sample()
                );
                call.reply
                    .reply(&mut replies, &Greeting::sample(), Limits::default())
                    .expect("encodes");
            }
            if chunk == 1 && detected {
                let mut input = BytesMut::from(&replies[..]);
                for _ in 0..2 {
                    let reply = client.receive(&mut input).expect("a reply").expect("whole");
                    let (encoding, body) = reply.result.expect("no exception");
                    assert_eq!(Greeting::decode_from(encoding, &body), Greeting::sample());
                }
            }
        }
    }
}

/// HTTP and THeader name their protocols by number; this one has none.
#[test]
fn no_number_for_it_in_theader() {
    let wire = Wire::new(Protocol::Custom(&AT), Transport::Header);
    let mut client = ClientConnection::new(wire, Default::default());
    let mut sent = vec![1, 2, 3];
    client
        .call("greet", false, &Greeting::sample(), &mut sent)
        .expect_err("no number");
    assert_eq!(sent, [1, 2, 3], "as it was");
}
