//! Connect's protocol (<https://connectrpc.com/docs/protocol>). A call without streams has its
//! message, JSON or protobuf, in the body of an HTTP request, the answer in that of the response:
//! whoever can POST JSON can call. Calls with streams have [envelopes](crate::envelope) in both
//! bodies, and the last one says how the call ended.
//!
//! ```text
//!   http::Request ─► Call::read ─┬─► Call                        (the driver runs it)
//!                                └─► Refusal ─► Refusal::response
//!   http::Response ◄─ message, failure ◄─── a result, a Failure
//!
//!   http::Request ─► stream_codec, stream_terms      the driver runs it
//!   http::Response ◄─ stream ◄─ envelopes ◄─ end ◄── items, and how it ended
//! ```
//!
//! A caller has [`request_headers`] and [`read_failure`] for a call without streams, for others
//! [`stream_request_headers`] and [`read_end`].
//!
//! HTTP itself is in [`http`](crate::http). `docs/http.md` says what a server makes of this.

mod caller;
mod query;
mod reply;
mod request;
mod status;
mod stream;

pub use crate::Codec;
pub use caller::{
    End, from_http, read_end, read_failure, request_headers, split_trailers, stream_request_headers,
};
pub use reply::{document, failure, goodbye, message, preflight};
pub use request::{Call, Refusal, claims, is_call, target};
pub use stream::{END, end, stream, stream_codec, stream_terms};

/// The type of a body that is one message.
const fn content_type(codec: Codec) -> &'static str {
    match codec {
        Codec::Json => "application/json",
        Codec::Proto => "application/proto",
    }
}

/// The type of a body with messages in envelopes.
const fn stream_type(codec: Codec) -> &'static str {
    match codec {
        Codec::Json => "application/connect+json",
        Codec::Proto => "application/connect+proto",
    }
}

/// The codec of a body that is one message, by its content type.
pub fn codec(content_type: &[u8]) -> Option<Codec> {
    Codec::behind(content_type, "application/")
}
