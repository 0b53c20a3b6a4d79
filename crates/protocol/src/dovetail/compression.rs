//! Bodies that are compressed. `docs/spec/wire.md`, "Compression".

use super::ProtocolError;
use super::cursor::{Cursor, put_varint};
use crate::compressors::{Failure, Room, lz4, zstd};
use crate::limits::{credible, repays};
use dovetail_wire::Bytes;
use std::borrow::Cow;
use std::fmt;

/// How an end compresses the messages that it sends, where the other end has said that it can
/// decompress them. Bytes that do not get smaller are sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    algorithm: Algorithm,
    level: i32,
    least: usize,
}

/// Bodies smaller than this hardly ever repay the work.
#[cfg(any(feature = "lz4", feature = "zstd"))]
const LEAST: usize = 1 << 10;

impl Compression {
    /// Zstandard: smaller. `level` is 1 (fast) to 22 (small); 3 suits most, and negative ones are
    /// faster than 1.
    #[cfg(feature = "zstd")]
    pub fn zstd(level: i32) -> Self {
        Compression {
            algorithm: Algorithm::Zstd,
            level,
            least: LEAST,
        }
    }

    /// LZ4: faster.
    #[cfg(feature = "lz4")]
    pub fn lz4() -> Self {
        Compression {
            algorithm: Algorithm::Lz4,
            level: 0,
            least: LEAST,
        }
    }

    /// Only bodies of at least so many bytes. Default 1 KiB.
    #[must_use]
    pub fn at_least(mut self, bytes: usize) -> Self {
        self.least = bytes;
        self
    }

    /// Compresses the body that stands in `out` from `start` on. `None` where it is left as it is.
    pub(super) fn apply(&self, start: usize, out: &mut Vec<u8>) -> Option<Packed> {
        let body = &out[start..];
        let size = body.len();
        if size < self.least {
            return None;
        }
        let compressed = self.algorithm.compress(body, self.level)?;
        if !repays(compressed.len() + Packed::MAX_BYTES, size) {
            return None;
        }
        out.truncate(start);
        out.extend_from_slice(&compressed);
        Some(Packed {
            algorithm: self.algorithm,
            size,
        })
    }
}

/// As the extras name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Algorithm {
    Zstd = 1,
    Lz4 = 2,
}

impl Algorithm {
    const EVERY: [Self; 2] = [Algorithm::Zstd, Algorithm::Lz4];

    /// Returns whether this build has it.
    const fn is_here(self) -> bool {
        match self {
            Algorithm::Zstd => cfg!(feature = "zstd"),
            Algorithm::Lz4 => cfg!(feature = "lz4"),
        }
    }

    fn compress(self, body: &[u8], level: i32) -> Option<Vec<u8>> {
        match self {
            Algorithm::Zstd => zstd::compress(body, level),
            Algorithm::Lz4 => lz4::compress(body, level),
        }
    }

    fn decompress(self, body: &[u8], room: Room) -> Result<Vec<u8>, Failure> {
        match self {
            Algorithm::Zstd => zstd::decompress(body, room),
            Algorithm::Lz4 => lz4::decompress(body, room),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Zstd => "zstd",
            Algorithm::Lz4 => "lz4",
        })
    }
}

/// The algorithms that an end can decompress, as HELLO lists them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Algorithms(pub(super) u64);

impl Algorithms {
    /// All that this build has.
    pub(super) fn ours() -> Self {
        let here = Algorithm::EVERY.into_iter().filter(|one| one.is_here());
        Algorithms(here.fold(0, |bits, one| bits | Self::bit(one)))
    }

    /// The compression, where the other end can undo it.
    pub(super) fn choose(self, compression: Option<Compression>) -> Option<Compression> {
        compression.filter(|compression| self.0 & Self::bit(compression.algorithm) != 0)
    }

    fn bit(algorithm: Algorithm) -> u64 {
        1 << (algorithm as u8 - 1)
    }
}

/// The extras of a compressed body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    algorithm: Algorithm,
    /// Before compression.
    size: usize,
}

impl Packed {
    /// The most that it takes to say so: bits, algorithm and size.
    const MAX_BYTES: usize = 12;

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.push(self.algorithm as u8);
        put_varint(self.size as u64, out);
    }

    pub(super) fn read(fields: &mut Cursor<'_>) -> Result<Self, ProtocolError> {
        let (number, size) = (fields.byte()?, fields.varint()?);
        let mut here = Algorithm::EVERY.into_iter().filter(|one| one.is_here());
        let algorithm = here.find(|one| *one as u8 == number).ok_or_else(|| {
            let what = format!("a body compressed with {number}, which this end did not offer");
            ProtocolError::malformed(what)
        })?;
        Ok(Packed {
            algorithm,
            // More than there can be is too large anyway.
            size: usize::try_from(size).unwrap_or(usize::MAX),
        })
    }
}

/// A body as it came. A compressed one stays so until somebody takes it: what waits costs no more
/// memory than was sent.
#[derive(Clone, Debug)]
pub struct Body {
    bytes: Bytes,
    packed: Option<Packed>,
}

/// A body that is not compressed.
impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Body::new(bytes, None)
    }
}

impl Body {
    /// A body whose size has still to be compared with the limit.
    pub(super) fn new(bytes: Bytes, packed: Option<Packed>) -> Self {
        Body { bytes, packed }
    }

    /// The bytes that it has before compression, as announced.
    pub fn size(&self) -> usize {
        self.packed.map_or(self.bytes.len(), |packed| packed.size)
    }

    /// The bytes that it came in.
    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether it came compressed.
    pub fn is_compressed(&self) -> bool {
        self.packed.is_some()
    }

    /// Returns the encoded bytes.
    pub fn decompress(self) -> Result<Bytes, DecompressError> {
        let Body { bytes, packed } = self;
        let Some(Packed { algorithm, size }) = packed else {
            return Ok(bytes);
        };
        let room = Room {
            first: credible(size, bytes.len().saturating_mul(CREDIBLE_RATIO)),
            most: size,
        };
        let failed = |why| DecompressError { algorithm, why };
        match algorithm.decompress(&bytes, room) {
            Ok(body) if body.len() == size => Ok(body.into()),
            Ok(body) => {
                let made = body.len();
                let why = format!("it has {made} bytes where {size} were announced");
                Err(failed(why.into()))
            }
            Err(Failure::TooLarge) => {
                let why = format!("it has more than the {size} bytes that were announced");
                Err(failed(why.into()))
            }
            Err(Failure::Broken(why)) => Err(failed(why)),
        }
    }
}

/// Beyond this, memory is given as bytes come out, not as the extras claim.
const CREDIBLE_RATIO: usize = 16;

/// A compressed body is not what its sender announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecompressError {
    algorithm: Algorithm,
    why: Cow<'static, str>,
}

impl fmt::Display for DecompressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecompressError { algorithm, why } = self;
        write!(f, "{algorithm} cannot decompress the body: {why}")
    }
}

impl std::error::Error for DecompressError {}
