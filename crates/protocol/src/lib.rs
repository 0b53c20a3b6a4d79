//! Call protocols as state machines.
//!
//! A machine turns bytes into call events and call events into bytes. It owns no socket, clock,
//! thread, lock or waker, so that one machine serves blocking loops, event loops, shared memory,
//! tests with a virtual clock, and foreign languages.
#![forbid(unsafe_code)]

mod ask;
mod code;
mod codec;
mod coding;
mod compressors;
mod contract_header;
mod execution;
mod failure;
mod headers;
mod limits;
mod name;
mod pushback;
mod status;
mod terms;
mod wire;

pub mod capnp;
pub mod connect;
pub mod dovetail;
pub mod envelope;
pub mod grpc;
pub mod http;
pub mod http2;
pub mod metadata;
pub mod msgpack_rpc;
pub mod thrift;
pub mod websocket;

pub use ask::Ask;
pub use code::Code;
pub use codec::Codec;
pub use coding::Coding;
pub use contract_header::{CONTRACT_HEADER, CallerContract, ContractHeader, KnownContracts};
pub use failure::Failure;
pub use headers::Headers;
pub use limits::{ConnectionLimits, repays};
pub use name::Name;
pub use status::{Execution, Origin, Status};
pub use terms::Terms;
pub use wire::Wire;
