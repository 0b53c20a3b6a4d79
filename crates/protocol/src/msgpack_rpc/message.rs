//! The parts of a complete message.

use super::ProtocolError;
use crate::{ConnectionLimits, Name};
use bytes::Buf;
use dovetail_wire::Bytes;
use dovetail_wire::msgpack::Head;

pub(super) const REQUEST: u64 = 0;
pub(super) const RESPONSE: u64 = 1;
pub(super) const NOTIFICATION: u64 = 2;

/// A message.
#[derive(Debug)]
pub(super) enum Message {
    /// A request, or, without an id, a notification. The parameters are one value.
    Call {
        id: Option<u32>,
        method: Name,
        params: Bytes,
    },
    /// The error and the result: two values.
    Response { id: u32, answer: Bytes },
}

impl Message {
    /// Takes a complete message apart.
    pub(super) fn read(
        mut message: Bytes,
        limits: &ConnectionLimits,
    ) -> Result<Self, ProtocolError> {
        let parts = head(&mut message)?;
        let kind = head(&mut message)?;
        match (kind, parts) {
            (Head::Unsigned(REQUEST), Head::Array(4)) => Ok(Message::Call {
                id: Some(id(&mut message)?),
                method: method(&mut message, limits)?,
                params: message,
            }),
            (Head::Unsigned(RESPONSE), Head::Array(4)) => Ok(Message::Response {
                id: id(&mut message)?,
                answer: message,
            }),
            (Head::Unsigned(NOTIFICATION), Head::Array(3)) => Ok(Message::Call {
                id: None,
                method: method(&mut message, limits)?,
                params: message,
            }),
            _ => Err(ProtocolError::malformed(
                "its first element is not 0 (request), 1 (response) or 2 (notification), or it has \
                 not as many elements as such a message",
            )),
        }
    }
}

/// The number of the request that the input begins with, as far as it has come.
pub(super) fn begun_request(input: &[u8]) -> Option<u32> {
    let mut rest = input;
    let mut next = || {
        let (head, len) = Head::read(rest).ok()?;
        rest = rest.get(len..)?;
        Some(head)
    };
    match (next()?, next()?, next()?) {
        (Head::Array(4), Head::Unsigned(REQUEST), Head::Unsigned(id)) => id.try_into().ok(),
        _ => None,
    }
}

/// Splits the next head off.
fn head(message: &mut Bytes) -> Result<Head, ProtocolError> {
    match Head::read(message) {
        Ok((head, len)) => {
            message.advance(len);
            Ok(head)
        }
        // The message was walked to its end before.
        Err(_) => Err(ProtocolError::Truncated),
    }
}

fn id(message: &mut Bytes) -> Result<u32, ProtocolError> {
    let found = head(message)?;
    let id = match found {
        Head::Unsigned(id) => u32::try_from(id).ok(),
        Head::Signed(id) => u32::try_from(id).ok(),
        _ => None,
    };
    id.ok_or_else(|| {
        let what = format!(
            "the number of a message that is {}, or too large",
            found.name()
        );
        ProtocolError::malformed(what)
    })
}

fn method(message: &mut Bytes, limits: &ConnectionLimits) -> Result<Name, ProtocolError> {
    let found = head(message)?;
    let (Head::Str(_) | Head::Bin(_)) = found else {
        let what = format!("the name of a method that is {}", found.name());
        return Err(ProtocolError::malformed(what));
    };
    let length = found.content();
    if length > limits.name_bytes {
        return Err(ProtocolError::NameTooLong {
            length,
            limit: limits.name_bytes,
        });
    }
    if length > message.len() {
        return Err(ProtocolError::Truncated);
    }
    let name = message.split_to(length);
    let name = std::str::from_utf8(&name);
    name.map(Name::new)
        .map_err(|_| ProtocolError::malformed("the name of a method that is not UTF-8"))
}
