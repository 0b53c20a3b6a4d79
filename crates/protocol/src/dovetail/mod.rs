//! Dovetail's own wire: `docs/spec/wire.md` describes it byte by byte.
//!
//! Both ends of a connection are a [`Connection`]: bytes in, events out, and back. The caller owns
//! the socket and the buffers.
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
mod events;
mod extras;
mod frame;
mod hasher;
mod headers;
mod incoming;
mod meeting_point;
mod message;
mod objects;
mod promises;
mod reassembly;
mod settings;
mod slots;
mod splitter;
mod status;
mod streams;

pub use callee::RefusedCalls;
pub use compression::{Body, Compression, DecompressError};
pub use connection::{Connection, Options, Role};
pub use contract::{Contract, Description, Directory, MethodKind, NoMethods};
pub use error::ProtocolError;
pub use events::{Awaits, CallError, Event, MAX_RESULTS, OutgoingCall, Sent, Target};
pub use incoming::{IncomingCall, ReplyTo};
pub use meeting_point::MeetingPoint;
pub use objects::{Exports, NotExported, Owner, TooMany, of_receiver, of_result, of_sender, owner};
pub use slots::MethodKey;
