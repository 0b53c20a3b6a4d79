//! The messages of a call: each is an object with one member, whose name says what it is.

use bytes::Bytes;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// `{"headers": {…}}`: the headers of the call, which a page cannot set on the request.
    Headers(Bytes),
    /// `{"params": {…}}`: the parameters, with which the call begins.
    Params(Bytes),
    /// `{"item": …}`: an item.
    Item(Bytes),
    /// `{"end": {}}`: no item follows.
    End,
}

/// The name of a server's message that is the result.
pub const RESULT: &str = "result";

/// The name of a message that is an item.
pub const ITEM: &str = "item";

/// The name of the last message.
pub const END: &str = "end";

impl Said {
    /// Reads a message; `None` for one that is none of them. The reader of the value finds out
    /// whether it has more than one member.
    pub fn read(message: &Bytes) -> Option<Self> {
        let member = message
            .trim_ascii()
            .strip_prefix(b"{")?
            .strip_suffix(b"}")?;
        let (name, rest) = split_name(member.trim_ascii_start().strip_prefix(b"\"")?)?;
        let value = rest.trim_ascii_start().strip_prefix(b":")?;
        let value = message.slice_ref(value.trim_ascii());
        match name {
            b"headers" => Some(Said::Headers(value)),
            b"params" => Some(Said::Params(value)),
            b"item" => Some(Said::Item(value)),
            b"end" => Some(Said::End),
            _ => None,
        }
    }
}

/// A name, and what follows the quotation mark behind it.
fn split_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'"')?;
    let (name, rest) = text.split_at_checked(end)?;
    Some((name, rest.split_first()?.1))
}

/// A message with this member.
pub fn write_member(name: &str, value: &[u8]) -> Vec<u8> {
    [b"{\"", name.as_bytes(), b"\":", value, b"}"].concat()
}
