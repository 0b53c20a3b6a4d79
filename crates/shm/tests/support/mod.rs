//! Both ends of a connection in one process.
#![allow(dead_code)]

use dovetail_shm::{Connection, Handshake, Settings};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Small, so that everything fills up and wraps around.
pub(crate) const SMALL: Settings = Settings {
    ring: 4096,
    chunk: 4096,
    chunks: 3,
    largest_peer_segment: 1 << 20,
};

/// Longer than any test takes.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

pub(crate) fn pair(settings: &Settings) -> (Connection, Connection) {
    let (client, server) = UnixStream::pair().unwrap();
    let client = Handshake::connect(client, settings).unwrap();
    let server = Handshake::accept(server, settings).finish(soon()).unwrap();
    (client.finish(soon()).unwrap(), server)
}
