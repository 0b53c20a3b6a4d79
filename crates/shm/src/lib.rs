//! A connection of two processes of one machine through shared memory.
//!
//! A Unix socket brings the two together ([`Handshake`]); after that a call needs no system call as
//! long as both ends poll, and one wake-up where one of them sleeps. What is here is a stream of
//! bytes each way, with back-pressure, as a socket gives; besides, large payloads can be written
//! once, where the peer reads them ([`ChunkMut`], [`Chunk`]). `docs/spec/shared-memory.md` has
//! every byte.
//!
//! Linux only: elsewhere the crate is empty.
//!
//! # What is trusted
//!
//! Nothing that the peer writes. Each end has a segment of its own, and no other process can write
//! to that: it is a memfd, sealed with `F_SEAL_FUTURE_WRITE` after its one writable mapping was
//! made. The peer's segment is mapped read-only, and may change at any instant, if the peer breaks
//! the rules. So every number in it is read once, checked, then used; bytes are copied out before
//! anybody looks at them, and no `&[u8]` ever points there: to whoever holds one, what stands
//! behind it must not change, and a `str` that was found valid must stay so. A peer that misbehaves
//! gets its connection an [`Error::Misbehaved`], and nothing else of the process is concerned.
//!
//! # Waiting
//!
//! [`Sender`] and [`Receiver`] never poll by themselves: `try_…` looks once, `wait` sleeps. Whoever
//! expects an answer soon calls `try_read` for a while first; a peer that finds nobody asleep makes
//! no system call. For an event loop there are `arm`, a descriptor that becomes readable, and
//! `disarm`.
//!
//! # Death
//!
//! The sockets stay open. When the peer's process ends, however that comes about, whoever waits
//! finds out: at once where the wait has lasted longer than 10 ms or goes by descriptor, within 10
//! ms otherwise. What had arrived can still be read; then there is [`Error::PeerGone`].
//!
//! ```no_run
//! use dovetail_shm::{Handshake, Settings};
//! use std::os::unix::net::UnixStream;
//! use std::time::{Duration, Instant};
//!
//! # fn main() -> Result<(), dovetail_shm::Error> {
//! let socket = UnixStream::connect("/run/service")?;
//! let deadline = Instant::now() + Duration::from_secs(1);
//! let mut connection = Handshake::connect(socket, &Settings::default())?.finish(deadline)?;
//! connection.sender.write_all(&[b"hello"], Some(deadline))?;
//! let mut answer = [0; 100];
//! let length = connection.receiver.read(&mut answer, Some(deadline))?;
//! # Ok(())
//! # }
//! ```
#![cfg(target_os = "linux")]

mod atomic;
mod error;
#[cfg(all(test, loom))]
mod model_test;
mod place;
mod pool;
mod ring;
mod wake;
mod word;

// Code that touches the system is left out of loom's build, which is about the algorithms alone.
#[cfg(not(loom))]
mod connection;
#[cfg(not(loom))]
mod geometry;
#[cfg(not(loom))]
mod handshake;
#[cfg(not(loom))]
mod line;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod volatile;
#[cfg(not(loom))]
mod words;

#[cfg(not(loom))]
pub use connection::{Chunk, Connection, Credentials, Received, Receiver, Sender, Shutdown};
pub use error::{Error, Refusal};
#[cfg(not(loom))]
pub use geometry::Settings;
#[cfg(not(loom))]
pub use handshake::{Handshake, MAGIC, Progress};
#[cfg(not(loom))]
pub use segment::ChunkMut;
