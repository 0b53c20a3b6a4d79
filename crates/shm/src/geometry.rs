//! How large the parts of a segment are, and where they begin.

use crate::error::Error;
use crate::ring::Bounds;
use crate::words::MAX_CHUNKS;

/// The first page, which holds the words.
pub(crate) const PAGE: u32 = 4096;

/// The most bytes of a ring, and of a chunk.
const MAX: u32 = 1 << 30;

/// The memory that an end offers for its outgoing direction, and accepts for the incoming one.
///
/// Memory that was never written costs nothing: the system gives it page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the ring: a power of two, from 4 KiB to 1 GiB. Default: 256 KiB.
    pub ring: u32,
    /// Bytes of a chunk: a multiple of 4 KiB, up to 1 GiB. Default: 256 KiB.
    pub chunk: u32,
    /// How many chunks there are, up to 768. Default: 16.
    pub chunks: u32,
    /// The largest segment that is taken from the peer, in bytes. Default: 64 MiB.
    pub largest_peer_segment: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            ring: 256 << 10,
            chunk: 256 << 10,
            chunks: 16,
            largest_peer_segment: 64 << 20,
        }
    }
}

impl Settings {
    pub(crate) fn bounds(&self) -> Result<Bounds, Error> {
        let bounds = Bounds {
            ring: self.ring,
            chunk: self.chunk,
            chunks: self.chunks,
        };
        bounds.check().map_err(Error::Invalid)?;
        Ok(bounds)
    }
}

impl Bounds {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if !self.ring.is_power_of_two() || !(PAGE..=MAX).contains(&self.ring) {
            return Err("a ring has a power of two of bytes, from 4 KiB to 1 GiB");
        }
        if !self.chunk.is_multiple_of(PAGE) || !(PAGE..=MAX).contains(&self.chunk) {
            return Err("a chunk has a multiple of 4 KiB of bytes, up to 1 GiB");
        }
        match self.chunks as usize <= MAX_CHUNKS {
            true => Ok(()),
            false => Err("a segment has at most 768 chunks"),
        }
    }

    /// Bytes of the segment.
    pub(crate) fn total(&self) -> u64 {
        self.chunk_start(self.chunks)
    }

    /// Returns the place of a chunk.
    pub(crate) fn chunk_start(&self, index: u32) -> u64 {
        u64::from(PAGE) + u64::from(self.ring) + u64::from(index) * u64::from(self.chunk)
    }
}
