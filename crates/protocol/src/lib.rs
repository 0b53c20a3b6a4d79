//! Call protocols as state machines.
//!
//! A machine turns bytes into call events and call events into bytes. It owns no socket, clock, thread,
//! lock or waker, so that one machine serves blocking loops, event loops, shared memory, tests with a
//! virtual clock, and foreign languages.
#![forbid(unsafe_code)]

mod status;

pub mod thrift;

pub use status::{Code, Execution, Origin, Status};
