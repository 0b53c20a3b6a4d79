//! msgpack-rpc, after <https://github.com/msgpack-rpc/msgpack-rpc/blob/master/spec.md>:
//! arrays of MessagePack, one behind the other.
//!
//! ```text
//! request       [0, id, method, params]
//! response      [1, id, error, result]
//! notification  [2, method, params]
//! ```
//!
//! Either end may call the other. `docs/spec/msgpack-rpc.md` says what Dovetail does where the
//! specification says nothing.

mod connection;
mod error;
mod message;
mod scan;
mod status;

pub use connection::{Connection, Event, IncomingCall, IncomingReply, Options, ReplyTo};
pub use error::ProtocolError;
