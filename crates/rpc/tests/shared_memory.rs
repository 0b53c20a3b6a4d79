//! The tests of `runtime`, with shared memory in place of TCP: the fixture goes by the name of this
//! crate.
#![cfg(all(feature = "shm", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "for the tests of `runtime` alone")]
#[path = "runtime/fixture.rs"]
mod fixture;

#[cfg(feature = "async")]
#[path = "runtime/async_streams.rs"]
mod async_streams;
#[cfg(feature = "async")]
#[path = "runtime/callbacks.rs"]
mod callbacks;
#[path = "runtime/clients.rs"]
mod clients;
#[path = "runtime/drain.rs"]
mod drain;
#[path = "runtime/handlers.rs"]
mod handlers;
#[path = "runtime/limits.rs"]
mod limits;
#[path = "runtime/msgpack_rpc.rs"]
mod msgpack_rpc;
#[path = "runtime/native.rs"]
mod native;
#[cfg(feature = "async")]
#[path = "runtime/objects.rs"]
mod objects;
#[path = "runtime/streams.rs"]
mod streams;
