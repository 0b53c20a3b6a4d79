//! Call protocols as state machines.
//!
//! A machine turns bytes into call events and call events into bytes. It owns no socket, clock, thread,
//! lock or waker, so that one machine serves blocking loops, event loops, shared memory, tests with a
//! virtual clock, and foreign languages.
#![forbid(unsafe_code)]

mod compressors;
mod headers;
mod limits;
mod name;
mod status;
mod wire;

pub mod dovetail;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod msgpack_rpc;
pub mod thrift;

pub use headers::Headers;
pub use limits::ConnectionLimits;
pub use name::Name;
pub use status::{Code, Execution, Origin, Status};
pub use wire::Wire;
