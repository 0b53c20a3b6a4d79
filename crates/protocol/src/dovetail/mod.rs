//! Dovetail's own wire: `docs/spec/wire.md` describes it byte by byte.
//!
//! Both ends of a connection are a [`Connection`]: bytes in, events out, and back. The caller owns the
//! socket and the buffers.
//!
//! ```text
//!   received ─► frame ─► reassembly ─┬─ callee ─► IncomingCall ─► ReplyTo ─┐
//!                                    └─ caller ─► Event::Reply             │
//!   sent ◄─ frame ◄─ message ◄─┬─ caller ◄─ Connection::call               │
//!                              └───────────────────────────────────────────┘
//! ```

mod callee;
mod caller;
mod compression;
mod connection;
mod contract;
mod cursor;
mod error;
mod extras;
mod frame;
mod headers;
mod incoming;
mod message;
mod reassembly;
mod settings;
mod slots;
mod splitter;
mod status;
mod streams;

pub use compression::{Body, Compression, DecompressError};
pub use connection::{CallError, Connection, Event, Options, OutgoingCall, Role, Sent};
pub use contract::{Contract, Description, Directory, MethodKind, NoMethods};
pub use error::ProtocolError;
pub use incoming::{IncomingCall, ReplyTo};
pub use slots::MethodKey;
