//! The protocol around the encoding: how a message of CBOR begins.
//!
//! ```text
//! 55799([kind, "method", number, body])        D9D9F7 84 01 64 66696E64 05 BF…
//! ```
//!
//! Tag 55799 means "this is CBOR" (RFC 8949, section 3.4.6) and no other message begins so: that is
//! all there is to detection. A whole message is one item, so any tool for CBOR can show it.

use crate::codec::{ARRAY, Cbor, CborReader, TEXT, UNSIGNED, put_head, put_integer};
use dovetail::encoding::{Codec, DecodeError, Kind, Limits, Reader};
use dovetail::protocol::{
    CustomHead, CustomProtocol, Detect, MessageKind, Name, Protocol, ProtocolError, ThriftWire,
    Transport,
};

/// The wire that a client chooses. A server detects it, once it knows the protocol.
pub const WIRE: dovetail::Wire = dovetail::Wire::Thrift(ThriftWire::new(
    Protocol::Custom(&CborProtocol),
    Transport::Framed,
));

/// Messages of CBOR. They need frames: nothing here finds the end of an unfinished message.
pub struct CborProtocol;

/// The tag 55799, as it stands in front of every message.
const MAGIC: &[u8] = &[0xD9, 0xD9, 0xF7];

/// Kind, method, number and body.
const PARTS: u64 = 4;

impl CustomProtocol for CborProtocol {
    fn name(&self) -> &str {
        "cbor"
    }

    fn detect(&self, prefix: &[u8]) -> Detect {
        if prefix.starts_with(MAGIC) {
            Detect::Yes
        } else if MAGIC.starts_with(prefix) {
            Detect::More
        } else {
            Detect::No
        }
    }

    fn read_head(&self, message: &[u8]) -> Result<CustomHead, ProtocolError> {
        let head = message
            .strip_prefix(MAGIC)
            .ok_or_else(|| ProtocolError::malformed("a message without the tag of CBOR"))?;
        let (kind, name, seqid, start) =
            read(head).map_err(|error| ProtocolError::malformed(error.to_string()))?;
        Ok(CustomHead {
            kind: match kind {
                1 => MessageKind::Call,
                2 => MessageKind::Reply,
                3 => MessageKind::Exception,
                4 => MessageKind::Oneway,
                found => {
                    let found = i64::try_from(found).unwrap_or(i64::MAX);
                    return Err(ProtocolError::InvalidMessageKind { found });
                }
            },
            name,
            seqid,
            body: MAGIC.len() + start..message.len(),
        })
    }

    fn write_head(&self, kind: MessageKind, name: &str, seqid: i32, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        put_head(out, ARRAY, PARTS);
        put_head(out, UNSIGNED, kind as u64);
        put_head(out, TEXT, name.len() as u64);
        out.extend(name.as_bytes());
        put_integer(out, seqid.into());
    }

    fn codec(&self) -> &'static dyn Codec {
        &Cbor
    }
}

/// Kind, method and number, and where the body begins.
fn read(message: &[u8]) -> Result<(u64, Name, i32, usize), DecodeError> {
    let mut reader = CborReader::new(message, Limits::default());
    if reader.expect(ARRAY, Kind::List)? != PARTS {
        return Err(DecodeError::malformed("a message has four parts"));
    }
    let kind = reader.expect(UNSIGNED, Kind::U8)?;
    let name = Name::new(&reader.string()?);
    let seqid = reader.i32()?;
    Ok((kind, name, seqid, reader.position()))
}
