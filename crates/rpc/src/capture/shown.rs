//! Captured calls with their messages in JSON, for programs that know neither the contracts nor the
//! encodings: the console.

use super::format::{CapturedCall, CapturedHeader, CapturedItem, next_call};
use super::recorder::Chunks;
use crate::Status;
use dovetail_wire::{Bytes, message};
use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A captured call, as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownCall {
    /// When it began, in microseconds after the beginning of the capture.
    pub began: i64,
    /// The time that it took, in microseconds; until the end of the capture, where it went on.
    pub elapsed: i64,
    /// The service with its package; empty for functions.
    pub service: String,
    /// The method.
    pub method: String,
    /// The wire.
    pub wire: String,
    /// The caller's address.
    pub peer: String,
    /// The name of the caller's identity; empty without one.
    pub principal: String,
    /// The headers, in the order in which they came. Credentials are `…`.
    pub headers: Vec<ShownHeader>,
    /// The parameters in JSON. Sensitive fields are `…`, here and in the items and the reply.
    pub parameters: String,
    /// The items of its streams, in the order in which the handler took and gave them.
    pub items: Vec<ShownItem>,
    /// `OK`, `EXCEPTION`, or the code of a failure; empty where it went on.
    pub code: String,
    /// The message of a failure.
    pub message: String,
    /// The result or the declared exception in JSON; that of the stream, where it ended so.
    pub reply: String,
    /// The id of its trace.
    pub trace: String,
    /// Parts that are not there, and why; empty for a whole call.
    pub missing: String,
    /// Calls that have been left out so far, because they came faster than these were taken.
    pub left_out: i64,
}

message!(ShownCall {
    /// When it began, in microseconds after the beginning of the capture.
    1 began as "began_us": i64,
    /// The time that it took, in microseconds; until the end of the capture, where it went on.
    2 elapsed as "elapsed_us": i64,
    3 service: String,
    4 method: String,
    5 wire: String,
    6 peer: String,
    /// The name of the caller's identity; empty without one.
    7 principal: String,
    /// The headers, in the order in which they came. Credentials are `…`.
    8 headers: Vec<ShownHeader>,
    /// The parameters in JSON. Sensitive fields are `…`, here and in the items and the reply.
    9 parameters: String,
    /// The items of its streams, in the order in which the handler took and gave them.
    10 items: Vec<ShownItem>,
    /// `OK`, `EXCEPTION`, or the code of a failure; empty where it went on.
    11 code: String,
    /// The message of a failure.
    12 message: String,
    /// The result or the declared exception in JSON; that of the stream, where it ended so.
    13 reply: String,
    /// The id of its trace.
    14 trace as "trace_id": String,
    /// Parts that are not there, and why; empty for a whole call.
    15 missing: String,
    /// Calls that have been left out so far, because they came faster than these were taken.
    16 left_out: i64,
});

/// A header of a captured call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownHeader {
    /// The name.
    pub name: String,
    /// The value, as text.
    pub value: String,
}

message!(ShownHeader {
    1 name: String,
    2 value: String,
});

/// An item of a stream of a captured call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownItem {
    /// When the handler took or gave it, in microseconds after the beginning of the call.
    pub at: i64,
    /// The server has sent it.
    pub sent: bool,
    /// The item in JSON.
    pub item: String,
}

message!(ShownItem {
    /// When the handler took or gave it, in microseconds after the beginning of the call.
    1 at as "at_us": i64,
    /// The server has sent it.
    2 sent: bool,
    /// The item in JSON.
    3 item: String,
});

/// The calls of a capture, which ends when this is dropped.
pub(crate) struct ShownCalls {
    chunks: Chunks,
    /// Those of the last chunk that are left.
    calls: Bytes,
}

impl ShownCalls {
    pub(super) fn new(chunks: Chunks) -> Self {
        ShownCalls {
            chunks,
            calls: Bytes::new(),
        }
    }
}

impl Stream for ShownCalls {
    type Item = Result<ShownCall, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while self.calls.is_empty() {
            match ready!(Pin::new(&mut self.chunks).poll_next(context)) {
                Some(chunk) => self.calls = chunk?,
                None => return Poll::Ready(None),
            }
        }
        let call = next_call(&mut self.calls);
        let call = call.map(|call| ShownCall {
            left_out: self.chunks.left_out(),
            ..call.into()
        });
        // This process has written it, and can read it.
        Poll::Ready(call.ok().map(Ok))
    }
}

impl From<CapturedCall> for ShownCall {
    fn from(call: CapturedCall) -> Self {
        let reply = match call.thrown.is_empty() {
            true => &call.reply,
            false => &call.thrown,
        };
        ShownCall {
            parameters: text(&call.parameters),
            items: call.items.iter().map(ShownItem::from).collect(),
            reply: text(reply),
            headers: call.headers.into_iter().map(ShownHeader::from).collect(),
            began: call.began,
            elapsed: call.elapsed,
            service: call.service,
            method: call.method,
            wire: call.wire,
            peer: call.peer,
            principal: call.principal,
            code: call.code,
            message: call.message,
            trace: call.trace,
            missing: call.missing,
            left_out: 0,
        }
    }
}

impl From<&CapturedItem> for ShownItem {
    fn from(item: &CapturedItem) -> Self {
        ShownItem {
            at: item.at,
            sent: item.sent,
            item: text(&item.item),
        }
    }
}

impl From<CapturedHeader> for ShownHeader {
    fn from(header: CapturedHeader) -> Self {
        ShownHeader {
            value: text(&header.value),
            name: header.name,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
