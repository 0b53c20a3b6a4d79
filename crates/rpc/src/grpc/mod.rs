//! The part of gRPC, gRPC-Web and Connect on HTTP/2 at both of its ends: metadata among headers,
//! and messages that come on a stream.

mod keepalive;
mod messages;

pub use keepalive::Keepalive;
pub(crate) use keepalive::gone;
pub(crate) use messages::{Broken, Messages};

use crate::{Code, Status};
use bytes::Bytes;
use dovetail_protocol::grpc::{InvalidMetadata, decode_value, encode_value, is_custom};
use dovetail_protocol::{Execution, Headers};
use h2::SendStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// The largest window that HTTP/2 has, for a connection on which unread streams are not to hold up
/// others. The windows of the streams limit the memory.
pub(crate) const MAX_WINDOW: u32 = (1 << 31) - 1;

/// How many of so many bytes may be sent now, at least one; an error where no more is taken.
pub(crate) fn poll_room(
    stream: &mut SendStream<Bytes>,
    wanted: usize,
    context: &mut Context<'_>,
) -> Poll<Result<usize, ()>> {
    stream.reserve_capacity(wanted);
    match stream.capacity() {
        0 => {}
        room => return Poll::Ready(Ok(room)),
    }
    match ready!(stream.poll_capacity(context)) {
        Some(Ok(room)) => Poll::Ready(Ok(room)),
        _ => Poll::Ready(Err(())),
    }
}

/// Sends bytes as the peer takes them, the `last` ones of the stream perhaps. The library keeps up
/// to `kept` of them until then. An error where the peer takes no more.
pub(crate) async fn send_bytes(
    stream: &mut SendStream<Bytes>,
    mut bytes: Bytes,
    kept: usize,
    last: bool,
) -> Result<(), ()> {
    let sent = |sent: Result<(), h2::Error>| sent.map_err(drop);
    while bytes.len() > kept {
        let room = poll_fn(|context| poll_room(stream, bytes.len(), context)).await?;
        let part = bytes.split_to(room.min(bytes.len()));
        sent(stream.send_data(part, false))?;
    }
    // A peer counts empty frames that end nothing, and ends the connection.
    match last || !bytes.is_empty() {
        true => sent(stream.send_data(bytes, last)),
        false => Ok(()),
    }
}

/// The metadata among the headers of a request or an answer.
pub(crate) fn metadata(headers: &HeaderMap) -> Result<Headers, InvalidMetadata> {
    let mut metadata = Headers::new();
    for (name, value) in headers {
        if is_custom(name.as_str()) {
            for value in decode_value(name.as_str(), value.as_bytes())? {
                metadata.push(name.as_str(), value);
            }
        }
    }
    Ok(metadata)
}

/// Returns the compression of the messages behind these headers.
pub(crate) fn coding(headers: &HeaderMap) -> Option<Bytes> {
    let coding = headers.get("grpc-encoding")?;
    Some(Bytes::copy_from_slice(coding.as_bytes()))
}

/// Adds metadata to the headers of a request.
pub(crate) fn metadata_into(
    metadata: &Headers,
    headers: &mut HeaderMap,
) -> Result<(), InvalidMetadata> {
    for (name, value) in metadata.iter() {
        let (name, value) = encode_value(name, value)?;
        // The text there is a header.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    Ok(())
}

/// Makes the status for bytes of a server that are no answer.
#[cold]
pub(crate) fn misbehaved(code: Code, what: &dyn std::fmt::Display) -> Status {
    Status::new(
        code,
        format!("the server's answer breaks the protocol: {what}"),
    )
    .with_execution(Execution::MayHaveRun)
}

/// An answer that is one message has so many.
#[cold]
pub(crate) fn no_single_message(messages: usize) -> Status {
    let what = format!("{messages} messages where one is due");
    misbehaved(Code::Unimplemented, &what)
}
