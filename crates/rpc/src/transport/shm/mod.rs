//! Shared memory between two processes of one machine, which meet on a Unix socket. A server that
//! listens there takes both: a peer that begins with the magic bytes of an offer gets shared
//! memory, every other one is served on the socket. docs/spec/shared-memory.md has the bytes.

#[cfg(all(feature = "shm", target_os = "linux"))]
mod local_upgrade;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod stream;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use local_upgrade::{admits, bind_upgrade};
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use stream::{connect, visitor};

#[cfg(all(feature = "async", feature = "shm", target_os = "linux"))]
mod async_memory;
#[cfg(all(feature = "async", feature = "shm", target_os = "linux"))]
pub(crate) use async_memory::AsyncMemory;

#[cfg(not(all(feature = "shm", target_os = "linux")))]
mod absent;
#[cfg(all(feature = "async", not(all(feature = "shm", target_os = "linux"))))]
pub(crate) use absent::AsyncMemory;
#[cfg(not(all(feature = "shm", target_os = "linux")))]
pub(crate) use absent::{admits, bind_upgrade, connect, visitor};
