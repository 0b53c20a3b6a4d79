//! Servers and clients over real sockets: what runs beside what, what is refused, what survives.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fixture;

#[cfg(feature = "async")]
mod callbacks;
mod clients;
#[cfg(all(feature = "lz4", feature = "zstd"))]
mod compression;
mod concurrency;
mod cuts;
mod drain;
mod functions;
#[cfg(feature = "grpc")]
mod grpc;
mod handlers;
mod hostile;
mod limits;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod local_upgrade;
mod msgpack_rpc;
#[cfg(feature = "async")]
mod objects;
mod own_wire;
mod pipes;
mod streams;
