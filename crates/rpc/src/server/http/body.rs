//! The messages of a request that has come as a whole.

use super::{Ask, MESSAGES};
use crate::web::{Plain, Protocol, plain};
use crate::{Code, Status};
use dovetail_protocol::envelope::Assembler;
use dovetail_protocol::grpc::Text;
use dovetail_protocol::{ConnectionLimits, Execution};
use dovetail_wire::Bytes;

/// The messages of a body, each within these limits, and how it ends: with an error where what
/// follows them is none. All of them together have at most [`MESSAGES`] times as many, also after
/// decompression.
pub(super) fn messages(
    ask: &Ask,
    body: &Bytes,
    limits: ConnectionLimits,
) -> (std::vec::IntoIter<Plain>, Result<(), Status>) {
    let mut found = Vec::new();
    let end = letters(ask, body).and_then(|body| read(ask, body, limits, &mut found));
    (found.into_iter(), end)
}

/// The body without base64.
fn letters(ask: &Ask, body: &Bytes) -> Result<Bytes, Status> {
    if ask.style.protocol != (Protocol::GrpcWeb { text: true }) {
        return Ok(body.clone());
    }
    let mut text = Text::default();
    let bytes = text.read(body).and_then(|bytes| text.end().map(|()| bytes));
    bytes.map_err(|error| refused(Code::InvalidArgument, error.to_string()))
}

fn read(
    ask: &Ask,
    mut body: Bytes,
    limits: ConnectionLimits,
    found: &mut Vec<Plain>,
) -> Result<(), Status> {
    let most = limits.message_bytes;
    let mut assembler = Assembler::new(most);
    let mut left = most.saturating_mul(MESSAGES);
    while let Some(frame) = assembler.take(&mut body)? {
        let limits = ConnectionLimits {
            message_bytes: most.min(left),
            ..limits
        };
        let message = plain(frame, ask.coding.as_deref(), &limits)?;
        left = left.saturating_sub(message.message.len());
        found.push(message);
    }
    Ok(assembler.end()?)
}

#[cold]
fn refused(code: Code, what: String) -> Status {
    Status::new(code, what).with_execution(Execution::NotStarted)
}
