//! Apache Thrift's call protocol.
//!
//! A connection is a [`ServerConnection`] or a [`ClientConnection`]: bytes in, calls or replies
//! out, and back. The caller owns the socket and the buffers. The server finds out from the first
//! bytes what its peer speaks.
//!
//! ```text
//!   received ─► detect ─► incoming ─┬─ frame ───────────────┬─► message ─► IncomingCall / IncomingReply
//!                                   ├─ header ─ transform ──┤
//!                                   ├─ scan (unframed) ─────┤
//!                                   └─ http ────────────────┘
//!   sent ◄─ outgoing ◄─ message ◄─ ReplyTo / ClientConnection::call
//! ```
//!
//! HTTP itself is in [`http`](crate::http).
//!
//! `docs/spec/thrift.md` describes every wire byte by byte.

mod application_exception;
mod client;
mod custom;
mod detect;
mod error;
mod header;
mod incoming;
mod json;
mod message;
mod multiplexed;
mod outgoing;
mod scan;
mod server;
mod transform;
mod wire;

pub use crate::http::HttpTarget;
pub use client::{CallId, ClientConnection, ClientOptions, IncomingReply};
pub use custom::{CustomHead, CustomProtocol, Detect};
pub use detect::{Detection, detect, is_message};
pub use error::ProtocolError;
pub use message::MessageKind;
pub use scan::{Scan, Scanned};
pub use server::{IncomingCall, ReplyTo, ServerConnection, ServerOptions};
pub use wire::{ParseWireError, Protocol, Transform, Transforms, Transport, Wire};
